"""Metrics that users write, on every layout; and attributes of functions of `metric`."""

import ast
import contextlib
import functools
import inspect
import pickle
import pydoc

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from drawn import draw_short
from marks import long_rows

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.calls.binding import bind_all
from jax_rank_metrics._engine.metrics import metric as calls
from jax_rank_metrics._engine.metrics.spec import SHARED


def relevant(items):
    return items.relevant(1)


def patience(persistence, ranks):
    return (1 - persistence) * persistence ** (ranks - 1)


def patient_precision(ranking, *, k=None, persistence=0.8):
    """Relevance seen by a user who continues with a probability at each rank."""
    ks = ranking.cutoffs(k)
    seen = jrm.positions(functools.partial(patience, persistence))
    values = ranking.expected_sum(relevant, seen, ks)
    return ranking.per_list(values, ranking.num_relevant(1) > 0, k, relevant)


@pytest.fixture
def patient(metric_names):
    """The metric made of `patient_precision`."""
    return jrm.metric(names=("patient",))(patient_precision)


def loop(rows, k=None, persistence=0.8):
    """Computes the metric as a mean over all orders of tied items, list by list."""

    def of_order(case, order, k):
        gains = patience(persistence, np.arange(1, len(order) + 1))
        taken = zip(order[:k], gains, strict=False)
        return sum((case.labels[i] >= 1) * gain for i, gain in taken)

    return oracle.values(of_order, rows, "expected", (k,))[:, 0]


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)


def test_every_way_to_call_it(rng, patient):
    """It is called directly, per list, on a ranking, by name, in a dict, as a partial."""
    data = draw_short(rng, 5)[:3]
    rows = oracle.lists(*data)
    values, whole = loop(rows, 3), loop(rows)
    close(patient.per_list(*data, k=3).values, values)
    close(patient(*data, k=3, undefined="skip").compute(), values[whole > 0].mean())
    half = loop(rows, persistence=0.5)
    actual = jrm.evaluate(("patient@3", "PATIENT(persistence=0.5)"), *data)
    close(actual["patient@3"].compute(), values.mean())
    close(actual["PATIENT(persistence=0.5)"].compute(), half.mean())
    ranking = jrm.rank(*data)
    close(patient.of(ranking, k=(3, None)).values, np.stack([values, whole], -1))
    half_at_3 = functools.partial(patient, k=(3,), persistence=0.5)
    table = {"plain": patient, "of": half_at_3}
    lists = jrm.measure(table, ranking)
    close(lists["plain"].values, whole)
    close(lists["of"].values[:, 0], loop(rows, 3, 0.5))
    assert patient.__name__ == "patient_precision"
    assert isinstance(patient, jrm.Metric)


def test_names_are_taken_once(metric_names, patient):
    """A taken name raises, but a notebook cell may define its metric twice."""
    redefined = jrm.metric(names=("patient", "patience"))(patient_precision)
    assert metric_names["patient"] is redefined
    assert metric_names["patience"] is redefined

    for taken in ("ndcg", "MAP"):
        before = dict(metric_names)
        with pytest.raises(ValueError, match=f"'{taken}' is taken by"):

            @jrm.metric(names=(taken,))
            def new_metric(ranking, *, k=None):
                """Never registered."""

        assert metric_names == before  # not even by the name of the function

    with pytest.raises(ValueError, match="'recall' is taken"):

        @jrm.metric()
        def recall(ranking, *, k=None):
            """Another recall."""


def own(item_fn, place_fn=None, verb="expected_sum", then=lambda values: values, **how):
    """Makes a metric, which is called `own`, of one sum over the items of a list."""

    def own(ranking, *, k=None):
        sums_of = getattr(ranking, verb)
        values = sums_of(item_fn, place_fn or jrm.positions(), ranking.cutoffs(k))
        return ranking.per_list(then(values), True, k, item_fn)

    return jrm.metric(**how)(own)


def graded(items):
    return items.labels


def exists(items):
    return items.exists


def seen(items):
    return items.columns["seen"]


def of_the_batch(items):
    return items.labels / jnp.maximum(items.labels.sum(), 1)


def group_size(place, k):
    return place.tied


def share(place, k):
    return place.within(k) / place.tied


def two_hits(hits):
    """A threshold on a count is no sum, so that it needs one definite order."""
    return (hits >= 2).astype(hits.dtype)


def test_functions_made_anew(metric_names):
    """`check_metric` refuses a formula whose functions nothing can share."""

    @jrm.metric()
    def anew(ranking, *, k=None):
        labels, ks = lambda items: items.labels, ranking.cutoffs(k)
        values = ranking.expected_sum(labels, jrm.positions(), ks)
        return ranking.per_list(values, True, k, relevant)

    with pytest.raises(AssertionError, match="<lambda> is made anew in each call"):
        jrm.testing.check_metric(anew)


@pytest.mark.parametrize(
    ("functions", "k", "error"),
    [
        ({"item_fn": relevant, "place_fn": share, "then": two_hits, "ties": "order"}, 5, None),
        ({"item_fn": relevant, "place_fn": share, "then": two_hits}, 5, "not the mean over all orders of tied"),
        *long_rows(
            ({"item_fn": seen, "columns": ("seen",)}, (2, None), None),
            ({"item_fn": of_the_batch}, 2, "own: jax.vmap"),
        ),
    ],
    ids=["order", "orders", "lists", "batch"],
)  # fmt: skip
def test_laws_of_a_metric(metric_names, functions, k, error):
    """`check_metric` accepts sums over single lists, and refuses other functions."""
    metric = own(**functions)
    raises = pytest.raises(AssertionError, match=error)
    with raises if error else contextlib.nullcontext():
        jrm.testing.check_metric(metric, k=k)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:the metric 'own'")
def test_ties_as_a_metric_reads_them(metric_names):
    """A metric reads one definite order, or the true groups under every policy."""
    labels = jnp.array([[3, 1, 2, 0], [0, 1, 2, 3]])
    scores = jnp.array([[2, 2, 2, 1], [2, 2, 2, 1]])
    top = own(graded, ties="order")
    actual = top.per_list(labels, scores, k=1)
    first = np.asarray(jrm.rank(labels, scores).items)[:, 0]  # by a hash
    close(actual.values, labels[jnp.arange(2), first])
    assert first[0] == first[1]
    close(top.per_list(labels, scores, k=1, ties="best").values, [3, 2])
    with pytest.raises(ValueError, match="no closed form"):
        top.per_list(labels, scores, ties="expected")
    with pytest.raises(ValueError, match="no closed form"):
        top.of(jrm.rank(labels, scores, ties="expected"))
    # In one call, each metric reads ties in its way.
    states = jrm.evaluate(("own@1", "cg@1"), labels, scores)
    close(states["own@1"].compute(), np.mean(actual.values))
    close(states["cg@1"].compute(), (2 + 1) / 2)

    size = own(exists, group_size, ties="own")
    for how in ({"ties": "stable"}, {"key": jax.random.key(0)}):
        assert size.per_list(labels, scores, **how).values.tolist() == [10, 10]
    plain = own(exists, group_size)
    assert plain.per_list(labels, scores, ties="stable").values.tolist() == [4, 4]


@pytest.mark.filterwarnings("ignore:the metric 'own'")
def test_ties_own_across_a_cut(metric_names):
    """A group across the cut is complete, also under policies that give an order."""
    labels, scores = jnp.ones((1, 6)), jnp.array([[5, 4, 4, 4, 4, 1]])
    size = own(exists, group_size, ties="own")
    for ties in (None, "stable"):
        actual = size.of(jrm.rank(labels, scores, k=2, ties=ties), k=2)
        # Each of the four tied items counts four.
        assert actual.values.tolist() == [1 + 4 * 4], ties

    largest = own(graded, verb="expected_max", ties="own")
    labels = jnp.array([[1, 1, 2, 5, 1, 1]])  # the largest is not held
    assert largest.of(jrm.rank(labels, scores), k=2).values.tolist() == [5 / 4]
    with pytest.raises(ValueError, match="needs all items"):
        largest.of(jrm.rank(labels, scores, k=2), k=2)


def test_a_factory_says_that_it_replaces_a_metric(metric_names):
    """It does not if both do the same, or if each has a name of its own."""

    def make(item_fn, name="made"):
        def made(ranking, *, k=None):
            values = ranking.expected_sum(item_fn, jrm.positions(), ranking.cutoffs(k))
            return ranking.per_list(values, True, k, item_fn)

        made.__name__ = name
        return jrm.metric()(made)

    make(graded), make(graded), make(exists, "made_of_others")
    with pytest.warns(UserWarning, match="'made' of .* set the __name__") as caught:
        make(exists)
    assert caught[0].filename == __file__


def test_columns_of_relevant_items_alone(metric_names):
    """Numbers that a metric of the caller reads as 0 elsewhere make a remark."""

    def cost(items):
        return items.columns["cost"]

    @jrm.metric(columns=("cost",))
    def total_cost(ranking, *, k=None):
        values = ranking.expected_sum(cost, jrm.positions(), ranking.cutoffs(k))
        return ranking.per_list(values, True, k, cost)

    scores, ids = np.arange(6.0)[None], np.array([[1, 2]])
    ranking = jrm.rank_scores(
        scores, ids, relevant_columns={"cost": np.array([[1.0, 2]])}
    )
    with pytest.warns(UserWarning, match="total_cost reads the column 'cost' as 0"):
        total_cost.of(ranking)
    total_cost.of(jrm.rank_scores(scores, ids, relevant_columns={"cost": ids > 1}))
    of_all = {"cost": np.ones((1, 6))}
    ranking = jrm.rank(np.eye(1, 6), scores, columns=of_all)
    assert total_cost.of(ranking).values.tolist() == [6]


def test_help_shows_signatures(patient):
    """Signatures hold the shared arguments, a metric's options, and its return type."""
    shared = [*inspect.signature(jrm.evaluate).parameters][1:]
    for metric, options in (
        (jrm.ndcg, ["k", "gain_fn", "discount_fn"]),
        (patient, ["k", "persistence"]),
    ):
        signature, per_list = map(inspect.signature, (metric, metric.per_list))
        parameters = signature.parameters
        assert sorted(parameters) == sorted(shared + options)
        assert [*parameters][-len(options) :] == options
        kinds = {parameters[name].kind for name in options}
        assert kinds == {inspect.Parameter.KEYWORD_ONLY}
        assert {*per_list.parameters} == {*shared, *options} - {"undefined"}
        assert per_list.return_annotation is jrm.PerList
        assert [*inspect.signature(metric.of).parameters] == ["ranking", *options]
        assert signature.return_annotation is jrm.Mean
        text = pydoc.plain(pydoc.render_doc(metric))
        assert "labels" in text and inspect.getdoc(metric).splitlines()[0] in text
        for part in (metric, metric.per_list, metric.of):
            assert inspect.getdoc(part), part
            assert options[-1] in pydoc.plain(pydoc.render_doc(part))
    signature = str(inspect.signature(jrm.ndcg))
    assert len(signature) < 700 and "mask: 'Mask | None' = None" in signature
    assert inspect.isroutine(jrm.ndcg)  # which `help` and doctest take for functions


def test_metrics_are_pickled():
    """Metrics and their functions are pickled by reference."""
    for function in (jrm.ndcg, jrm.ndcg.per_list, jrm.ndcg.of, jrm.r_precision):
        assert pickle.loads(pickle.dumps(function)) is function
    bound = pickle.loads(pickle.dumps(functools.partial(jrm.recall, k=3)))
    assert bound.func is jrm.recall and bound.keywords == {"k": 3}
    # A copy is equal, and compiles nothing anew.
    bounds = bind_all(("ndcg(gain_fn=linear_gain)@10", "recall(rel=2)@1,5", "gm_map"))
    assert pickle.loads(pickle.dumps(bounds)) == bounds


def test_what_is_a_metric():
    """`isinstance` tells metrics from other functions."""
    for value in (jrm.rank, jrm.ndcg.of, print, None, jrm.PerList):
        assert not isinstance(value, jrm.Metric)


def test_the_shared_arguments_agree():
    """`rank`, `evaluate` and metrics have the same shared arguments, also for editors."""
    own = {"metrics", "k", "undefined", "gain_fn", "discount_fn"}
    seen = [
        {n: (p.kind, p.default) for n, p in parameters.items() if n not in own}
        for parameters in (
            inspect.signature(function).parameters
            for function in (jrm.rank, jrm.evaluate, jrm.ndcg, jrm.ndcg.per_list)
        )
    ]
    assert all([*shared.items()] == [*seen[0].items()] for shared in seen)
    assert {*seen[0], "undefined"} == {*SHARED}
    types = {
        n: p.annotation.replace(" ", "")
        for n, p in inspect.signature(jrm.ndcg).parameters.items()
    }
    stubs = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(calls.Metric)))
        if isinstance(node, ast.FunctionDef) and "relax" in ast.unparse(node.args)
    ]
    assert [stub.name for stub in stubs] == ["__call__", "per_list"]
    for stub in stubs:
        for arg in stub.args.args[1:]:
            text = ast.unparse(arg.annotation).replace("types.", "").replace(" ", "")
            assert text == types[arg.arg], (stub.name, arg.arg)
        assert {arg.arg for arg in stub.args.args[1:]} | {"undefined"} == {*SHARED}


def test_a_ranking_shows_what_metrics_may_read():
    """Completion lists the extension interface; every other attribute is private."""
    verbs = "expected_sum expected_first expected_max pairs"
    totals = "pool_sum pool_max profile_sum num_relevant depth ideal_sum ideal_first"
    attributes = "cutoffs per_list items segment_ids"
    visible = {name for name in dir(jrm.Ranking) if not name.startswith("_")}
    assert visible == {*verbs.split(), *totals.split(), *attributes.split()}
    ranking = jax.eval_shape(lambda: jrm.rank_retrieved(np.ones(3)))
    assert {name for name in dir(ranking) if not name.startswith("_")} == visible
