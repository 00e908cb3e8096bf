"""Metrics that users write, on every layout; and what functions made by `metric` are."""

import ast
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

import jax_rank_metrics as jrm
from jax_rank_metrics._metrics import metric as calls
from jax_rank_metrics._metrics.spec import SHARED


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

    def of_order(labels, order):
        gains = patience(persistence, np.arange(1, len(order) + 1))
        return sum((labels[i] >= 1) * g for i, g in zip(order[:k], gains, strict=False))

    return np.array(
        [np.mean([of_order(x.labels, y) for y in x.all_orders]) for x in rows]
    )


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


def own_formula(values_of):
    """Returns a metric whose values a function of the ranking and ks computes."""

    def own(ranking, *, k=None):
        values = values_of(ranking, ranking.cutoffs(k))
        return ranking.per_list(values, True, k, relevant)

    return jrm.metric()(own)


def test_functions_made_anew(metric_names):
    """`check_metric` refuses a formula whose functions nothing can share."""
    own = own_formula(
        lambda x, ks: x.expected_sum(lambda i: i.labels, jrm.positions(), ks)
    )
    with pytest.raises(AssertionError, match="<lambda> is made anew in each call"):
        jrm.testing.check_metric(own)


def top_label(ranking, *, k=1):
    """The label at the first rank of a definite order."""
    values = ranking.expected_sum(
        lambda x: x.labels, jrm.positions(), ranking.cutoffs(k)
    )
    return ranking.per_list(values, True, k, lambda x: x.labels)


def group_size(ranking, *, k=None):
    """The sum over all items of the size of their tie groups."""
    values = ranking.expected_sum(
        lambda x: x.exists, lambda place, k: place.tied, ranking.cutoffs(k)
    )
    return ranking.per_list(values, True, k, lambda x: x.exists)


@pytest.mark.long
def test_ties_as_a_metric_reads_them(metric_names):
    """A metric reads one definite order, or the true groups under every policy."""
    labels = jnp.array([[3, 1, 2, 0], [0, 1, 2, 3]])
    scores = jnp.array([[2, 2, 2, 1], [2, 2, 2, 1]])
    top = jrm.metric(ties="order")(top_label)
    actual = top.per_list(labels, scores)
    first = np.asarray(jrm.rank(labels, scores).items)[:, 0]  # by a hash
    close(actual.values, labels[jnp.arange(2), first])
    assert first[0] == first[1]
    close(top.per_list(labels, scores, ties="best").values, [3, 2])
    with pytest.raises(ValueError, match="no closed form"):
        top.per_list(labels, scores, ties="expected")
    with pytest.raises(ValueError, match="no closed form"):
        top.of(jrm.rank(labels, scores, ties="expected"))
    # In one call, each metric reads ties in its way.
    states = jrm.evaluate(("top_label", "cg@1"), labels, scores)
    close(states["top_label"].compute(), np.mean(actual.values))
    close(states["cg@1"].compute(), (2 + 1) / 2)

    size = jrm.metric(ties="own")(group_size)
    for how in ({"ties": "stable"}, {"key": jax.random.key(0)}):
        assert size.per_list(labels, scores, **how).values.tolist() == [10, 10]
    plain = jrm.metric()(lambda ranking, *, k=None: group_size(ranking, k=k))
    assert plain.per_list(labels, scores, ties="stable").values.tolist() == [4, 4]


def test_ties_own_across_a_cut(metric_names):
    """A group across the cut is complete, also under policies that give an order."""
    labels, scores = jnp.ones((1, 6)), jnp.array([[5, 4, 4, 4, 4, 1]])
    size = jrm.metric(ties="own")(group_size)
    for ties in (None, "stable"):
        actual = size.of(jrm.rank(labels, scores, k=2, ties=ties), k=2)
        # Each of the four tied items counts four.
        assert actual.values.tolist() == [1 + 4 * 4], ties

    @jrm.metric(ties="own")
    def largest(ranking, *, k=None):
        values = ranking.expected_max(graded, jrm.positions(), ranking.cutoffs(k))
        return ranking.per_list(values, True, k, graded)

    def graded(items):
        return items.labels

    labels = jnp.array([[1, 1, 2, 5, 1, 1]])  # the largest is not held
    assert largest.of(jrm.rank(labels, scores), k=2).values.tolist() == [5 / 4]
    with pytest.raises(ValueError, match="needs all items"):
        largest.of(jrm.rank(labels, scores, k=2), k=2)


def test_help_shows_signatures(patient):
    """Signatures hold the shared arguments, a metric's options, and what it returns."""
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
    assert inspect.isroutine(jrm.ndcg)  # which `help` and doctest take for functions


def test_metrics_are_pickled():
    """Metrics and their functions are pickled by reference."""
    for function in (jrm.ndcg, jrm.ndcg.per_list, jrm.ndcg.of, jrm.r_precision):
        assert pickle.loads(pickle.dumps(function)) is function
    bound = pickle.loads(pickle.dumps(functools.partial(jrm.recall, k=3)))
    assert bound.func is jrm.recall and bound.keywords == {"k": 3}


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
            text = ast.unparse(arg.annotation).replace("_types.", "").replace(" ", "")
            assert text == types[arg.arg], (stub.name, arg.arg)
        assert {arg.arg for arg in stub.args.args[1:]} | {"undefined"} == {*SHARED}


@pytest.mark.long
def test_the_laws_of_a_metric(metric_names):
    """`check_metric` accepts a metric of single lists, and finds one that mixes lists."""

    def of_the_batch(ranking, *, k=None):
        ks = ranking.cutoffs(k)

        def share(items):
            return items.labels / jnp.maximum(items.labels.sum(), 1)

        values = ranking.expected_sum(share, jrm.positions(), ks)
        return ranking.per_list(values, True, k, relevant)

    def of_the_list(ranking, *, k=None):
        values = ranking.expected_sum(seen, jrm.positions(), ranking.cutoffs(k))
        return ranking.per_list(values, True, k, relevant)

    def seen(items):
        return items.columns["seen"]

    jrm.testing.check_metric(jrm.metric(columns=("seen",))(of_the_list), k=(2, None))
    with pytest.raises(AssertionError, match=r"of_the_batch: jax.vmap"):
        jrm.testing.check_metric(jrm.metric()(of_the_batch), k=2)


def test_a_ranking_shows_what_metrics_may_read():
    """Completion lists the extension interface; every other attribute is private."""
    verbs = "expected_sum expected_first expected_max pairs"
    totals = "pool_sum pool_max num_relevant depth ideal_sum ideal_first"
    attributes = "cutoffs per_list items segment_ids"
    visible = {name for name in dir(jrm.Ranking) if not name.startswith("_")}
    assert visible == {*verbs.split(), *totals.split(), *attributes.split()}
    ranking = jax.eval_shape(lambda: jrm.rank_retrieved(np.ones(3)))
    assert {name for name in dir(ranking) if not name.startswith("_")} == visible


def test_check_metric_asks_for_the_mean_over_orders():
    """A threshold on a count is no sum, so that it needs one definite order."""

    def share(place, k):
        return place.within(k) / place.tied

    def relevant(items):
        return items.relevant(1)

    def two_hits(ranking, *, k=None):
        hits = ranking.expected_sum(relevant, share, ranking.cutoffs(k))
        return ranking.per_list((hits >= 2).astype(hits.dtype), True, k, relevant)

    jrm.testing.check_metric(jrm.metric(ties="order")(two_hits), k=5)
    with pytest.raises(AssertionError, match="not the mean over all orders of tied"):
        jrm.testing.check_metric(jrm.metric()(two_hits), k=5)
