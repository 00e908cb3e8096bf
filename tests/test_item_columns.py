"""Groups of the items of a catalogue: what needs to be declared, errors, and drivers."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
import pytest
from sources import LISTS, RELEVANT, catalog, draw, make_mesh

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.formulas.groups import memberships
from jax_rank_metrics._engine.formulas.label_fns import item_exists
from jax_rank_metrics._engine.metrics import run
from jax_rank_metrics._engine.metrics.spec import Bound
from jax_rank_metrics._engine.ranking import Cache, data_of
from jax_rank_metrics._runs.drivers.engine import Values


def label_times_groups(items):
    """The merit of items in their groups."""
    return items.labels[..., None] * memberships(items)


def is_majority(items):
    """Whether items are members of the first group."""
    return items.columns["groups"][..., 0] > 0.5


@pytest.fixture
def problem(rng):
    """Draws a catalogue whose items belong to groups."""
    return dataclasses.replace(draw(rng), columns=("groups",))


def linear_in_groups(ranking):
    """Returns the ranking as a metric with `linear_in=("groups",)` reads it."""
    data = data_of(ranking)
    return jrm.Ranking(data.under("expected", Cache(), ("groups",)))


@pytest.mark.long
def test_an_undeclared_metric(problem):
    """It raises, also where a declared one has read the same functions before it."""
    lists = catalog(problem, k=3)

    def members(ranking):
        sums = ranking.expected_sum(memberships, jrm.positions(), (3,))
        first, _ = ranking.expected_first(is_majority, jnp.sqrt, (3,))
        values = sums.sum(-1) + first
        return ranking.per_list(values, True, None, item_exists)

    declared, undeclared = (
        dataclasses.replace(jrm.ndcg.spec, formula=members, options={}, linear_in=x)
        for x in (("groups",), ())
    )
    bound, other = (Bound(x.name, x, ()) for x in (declared, undeclared))
    other = other._replace(name="other")
    assert run.measure_ranking((bound,), lists)["ndcg"].values.shape == (LISTS,)
    for bounds in ((other,), (bound, other)):
        with pytest.raises(ValueError, match="other: .* declare so by"):
            run.measure_ranking(bounds, lists)


@pytest.mark.long
def test_what_a_total_cannot_tell(problem):
    """Functions that nobody called linear, or that read unlisted items one by one."""
    undeclared = catalog(problem, k=3)
    places, first = map(linear_in_groups, (catalog(problem, k=None), undeclared))
    place_fn = jrm.positions()

    def of_user(items):
        shares = memberships(items)
        return shares * taste[(0,) * (3 - shares.ndim)]

    how, counting = (place_fn, (3,)), {"counting": (memberships,)}
    for message, reading, *arguments in (
        ("declare so by @jrm.metric.linear", undeclared.pool_sum, memberships),
        ("declare so", undeclared.expected_sum, memberships, *how),
        ("one by one", first.pool_max, is_majority),
        ("label 0 are worth", places.expected_sum, memberships, *how),
        ("label 0 are worth", places.expected_first, is_majority, jnp.sqrt, (3,)),
    ):
        with pytest.raises(ValueError, match=message):
            reading(*arguments)
    with pytest.raises(ValueError, match="one by one"):
        places.expected_sum(label_times_groups, *how, **counting)
    taste = jnp.ones((1, 1, 3))
    assert first.pool_sum(of_user).shape == (LISTS, 3)


def test_wrong_ids_and_groups(problem):
    """Groups of relevant items alone, and an id without a row."""
    columns = {"groups": np.ones((LISTS, RELEVANT, 2))}
    partial = jrm.rank_ids(
        problem.relevant_ids, problem.relevant_ids, relevant_columns=columns
    )
    assert jrm.group_recall.of(partial, k=2).values.shape == (LISTS,)
    with pytest.raises(ValueError, match="retrieved_ids goes up to 5"):
        jrm.rank_ids([5], [1], item_columns={"groups": np.ones((5, 2))})


USERS, DIMS = 9, 3


@pytest.fixture(scope="module")
def users():
    """Draws a model, what its users have seen, and one user who has nothing to find."""
    rng = np.random.default_rng(5)
    queries, items = (rng.normal(size=(n, DIMS)).round() for n in (USERS, 14))
    relevant = [rng.permutation(14)[:3].tolist() for _ in range(USERS)]
    relevant[2], relevant[6] = [], relevant[6][:1]
    seen = [
        [i for i in rng.permutation(14)[:4].tolist() if i not in own]
        for own in relevant
    ]
    seen[6] = [*seen[6], *relevant[6]]  # what was seen cannot be found
    groups = rng.choice([0, 1, 0.5], (14, 2)).astype(np.float32)
    return {
        "model": (queries.astype(np.float32), items.astype(np.float32)),
        "relevant": relevant,
        "seen": seen,
        "groups": groups,
    }


METRICS = ("group_recall(group=1)@3", "recall@3")


def evaluated(users, **options):
    """Evaluates the users, among whom one has seen all that is relevant."""
    lists = users["model"], users["relevant"]
    options |= {"seen": users["seen"], "item_columns": {"groups": users["groups"]}}
    with pytest.warns(UserWarning, match="every relevant item was seen"):
        return jrm.evaluate_users(METRICS, *lists, **options)


def rows_of_users(users, metrics=METRICS):
    """Returns the values of rows."""
    queries, items = users["model"]
    labels, seen = np.zeros((2, USERS, 14), np.float32)
    for table, ids in ((labels, users["relevant"]), (seen, users["seen"])):
        for row, row_ids in enumerate(ids):
            table[row, row_ids] = 1
    groups = np.broadcast_to(users["groups"], (USERS, 14, 2))
    ranking = jrm.rank(labels, queries @ items.T, seen == 0, columns={"groups": groups})
    return jrm.measure(metrics, ranking)


def check_values(evaluation, rows):
    """Asserts the values of rows."""
    for name, lists in rows.items():
        values = evaluation.lists[name]
        np.testing.assert_allclose(values.values, lists.values, atol=1e-6)
        np.testing.assert_array_equal(values.defined, lists.defined)


def check_users(users, evaluation):
    """Asserts the values of rows, and that the rest is of the users that count."""
    check_values(evaluation, rows_of_users(users))
    counted = np.array([row not in (2, 6) for row in range(USERS)])
    np.testing.assert_array_equal(evaluation.lists["recall@3"].defined, counted)
    shown = evaluation.retrieved_ids[counted]
    assert (evaluation.retrieved_ids >= 0).all()  # recommendations are of all users
    counts = np.bincount(shown.ravel(), minlength=14)
    np.testing.assert_array_equal(evaluation.exposure.counts, counts)
    assert evaluation.exposure.non_empty == counted.sum()
    seen_by = np.bincount(np.concatenate(users["seen"]).astype(int), minlength=14)
    logs = np.log(np.maximum(seen_by, 1))[shown].mean()
    popularity = evaluation.states["popularity@3"]
    np.testing.assert_allclose(popularity.compute(), logs, rtol=1e-5)
    assert (popularity.lists, popularity.undefined) == (counted.sum(), 2)
    np.testing.assert_array_equal(evaluation.lists["novelty@3"].defined, counted)


@pytest.mark.long
@pytest.mark.parametrize("is_cut", [False, True])
def test_users_that_count(users, is_cut):
    """With undefined="skip", everything is over the users that count, on a mesh as well."""
    mesh = make_mesh((2, 2), ("users", "items"))
    over = {"mesh": mesh, "queries_axis": "users", "items_axis": "items"}
    options = over | {"batch_size": 4} if is_cut else {"block_size": 5}
    evaluation = evaluated(users, undefined="skip", **options)
    check_users(users, evaluation)
    by_kind = evaluation.by([row in (2, 6) for row in range(USERS)])
    assert by_kind[True]["popularity@3"].lists == 0


def test_a_ratio_counts_a_query_once():
    """A ratio of sums says for each cutoff where it is defined, other metrics once."""
    weights, known = np.ones(2), np.ones(2, bool)
    hits = jrm.PerList(np.array([[1.0, 2.0], [0.0, 0.0]]), weights, known)
    ratio = hits.over(jrm.PerList(np.array([[0.0, 2.0], [0.0, 0.0]]), weights, known))
    nowhere = jrm.PerList(np.zeros(2), weights, ~known)
    assert ratio.defined.shape == (2, 2)
    items = np.zeros((2, 1), np.int32)
    counted = Values([nowhere, ratio], items).counted("skip", None, 2)
    assert counted.items.tolist() == [[0], [-1]]


@pytest.mark.long
def test_embeddings(users, tmp_path):
    """All items, blocks that the host reads, and candidates that are all items."""
    queries, items = users["model"]
    groups = {"item_columns": {"groups": users["groups"]}}
    everything = np.tile(np.arange(14), (USERS, 1))
    metrics = (*METRICS, "exposure_parity@3")
    evaluate = functools.partial(
        jrm.evaluate_embeddings, metrics, relevant=users["relevant"], **groups
    )
    rows = rows_of_users(users | {"seen": [[]] * USERS}, metrics)
    for evaluation in (
        evaluate(queries, items),
        evaluate(queries, items, block_size=4),
        evaluate(queries, [items[:5], items[5:]], block_size=4),
        evaluate(queries, iter([items[:9], items[9:]]), block_size=4),
        evaluate(queries, items, candidates=everything),
    ):
        check_values(evaluation, rows)
