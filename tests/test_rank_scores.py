"""`rank_scores` and the scores of `rank_catalog`: few relevant items among many scores.

The same lists are given as dense labels to `rank`, or to loops.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from cases import CASES, CORE, KEYLESS_ORDERS, TOP, as_if_stable, compare, metrics
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from quick_programs import quick_jit, quick_measure

import jax_rank_metrics as jrm
from jax_rank_metrics._ordering import outranking_cpu
from jax_rank_metrics._ordering.outranking import MAX_COUNTED
from jax_rank_metrics._ranking import data_of

LISTS, ITEMS, RELEVANT = 6, 40, 7
# Metrics that read labels, and in which items of the label 0 are worth nothing.
GIVEN = {
    name: case
    for name, case in CASES.items()
    if not case.columns and not case.refused and name != "ndcg-own-functions"
}
SOME = ("map@5", "mrr")


@pytest.mark.parametrize("copies, k", [(1, None), (1, 8), (100, None)])
def test_repeated_ids_count_once(copies, k):
    """Inside jit, where nothing can raise: with the label of the first of them."""
    scores = np.tile(np.float32([5, 3, 4, 1]), (2, 1))
    ids = np.tile([[2, 2, 3], [0, -1, -1]], (1, copies))
    labels = np.tile([[1, 9, 1], [1, 1, 1]], (1, copies))
    names = ("map@3", "recall@2", "ndcg@2")

    def run(ids, labels):
        rankings = [
            jrm.rank_scores(scores, ids, labels, k=k, ties="best"),
            jrm.rank_ids(np.array([[0, 2, 1, 3]] * 2), ids, labels),
        ]
        return [jrm.measure(names, ranking) for ranking in rankings]

    run = quick_jit(run)
    distinct = run(np.array([[2, 3], [0, -1]]), np.ones((2, 2), int))
    for actual, expected in zip(run(ids, labels), distinct, strict=True):
        for name in names:
            values = expected[name].values
            np.testing.assert_allclose(actual[name].values, values, rtol=1e-6)


@dataclasses.dataclass(frozen=True)
class Problem:
    """The same lists, with ids of few relevant items and with a label for every item."""

    scores: np.ndarray
    relevant_ids: np.ndarray
    options: dict  # arguments of `rank_scores`
    labels: np.ndarray
    mask: np.ndarray

    def dense(self, **how):
        """Ranks the lists by `rank`."""
        weights = self.options["list_weights"]
        return jrm.rank(
            self.labels, self.scores, self.mask, list_weights=weights, **how
        )

    def few(self, **how):
        """Ranks the lists by `rank_scores`."""
        return jrm.rank_scores(self.scores, self.relevant_ids, **(self.options | how))


@pytest.fixture
def problem(rng):
    """Draws ties, padding ids, graded labels, masked and excluded relevant items."""
    scores = rng.integers(0, 7, (LISTS, ITEMS)).astype(np.float32)
    scores[4] = rng.permutation(ITEMS)
    scores[5] = 1
    relevant = np.stack([rng.permutation(ITEMS)[:RELEVANT] for _ in range(LISTS)])
    relevant[0] = -1
    relevant[1, 2:] = -1
    relevant[2, 3] = -7
    relevant_labels = rng.choice([0, 0.5, 1, 1.75, 2, 3], relevant.shape).astype(
        np.float32
    )
    relevant_labels[:, 1] = TOP
    item_mask = rng.random(ITEMS) > 0.1
    exclude = np.stack([rng.permutation(ITEMS)[:4] for _ in range(LISTS)])
    exclude[3] = -1
    exclude[2, 0] = relevant[2, 0]
    labels = np.zeros(scores.shape, np.float32)
    mask = np.tile(item_mask, (LISTS, 1))
    for row in range(LISTS):
        for i, label in zip(relevant[row], relevant_labels[row], strict=True):
            if i >= 0:
                labels[row, i] = label
        mask[row, exclude[row][exclude[row] >= 0]] = False
    options = {
        "relevant_labels": relevant_labels,
        "item_mask": item_mask,
        "exclude_ids": exclude.astype(np.int32),
        "list_weights": rng.gamma(2, size=LISTS).astype(np.float32),
    }
    return Problem(scores, relevant.astype(np.int32), options, labels, mask)


def check_same(actual, expected):
    """Checks that values, weights and defined lists are the same."""
    assert actual.keys() == expected.keys()
    for name, lists in expected.items():
        for field in ("values", "weights"):
            np.testing.assert_allclose(
                *(getattr(x, field) for x in (actual[name], lists)),
                rtol=1e-6,
                atol=1e-6,
                err_msg=name,
            )
        np.testing.assert_array_equal(actual[name].defined, lists.defined, name)


def compare_all(actual, cases, data, ties, ks):
    """Compares all metrics with loops."""
    lists = oracle.lists(*data)
    for name, case in cases.items():
        compare(actual[name], case, lists, ties, ks)


@pytest.mark.long
def test_every_metric_over_all_orders(problem, rng):
    """Counted places give the values of loops through all orders of tied items."""
    scores = np.round(rng.permuted(np.tile(np.arange(ITEMS), (LISTS, 1)), axis=-1))
    scores = np.where(scores < 36, scores, 36).astype(np.float32)  # four tie
    scores = np.where((scores > 5) | (scores < 3), scores, 3)  # three tie
    scores[0] = scores[1]
    problem = dataclasses.replace(problem, scores=scores)
    closed = {name: case for name, case in GIVEN.items() if case.closed_form}
    actual = jrm.measure(metrics((1, 5, None), None, closed), problem.few())
    data = (problem.labels, scores, problem.mask, None)
    compare_all(actual, closed, data, "expected", (1, 5, None))


@pytest.mark.long
def test_every_metric_of_one_order(problem):
    """Counted places give the values of loops under every policy of one order."""
    cases = {name: case for name, case in GIVEN.items() if name in ("cg", *CORE)}
    table = metrics((1, 5, None), None, cases)
    data = (problem.labels, problem.scores, problem.mask, None)
    for ties in KEYLESS_ORDERS:
        ranking = problem.few(ties=ties)
        actual = quick_measure(table, as_if_stable(ranking))
        compare_all(actual, cases, data, ties, (1, 5, None))
        weights = problem.options["list_weights"]
        np.testing.assert_allclose(
            actual["cg"].weights, np.where(problem.mask.any(-1), weights, 0), rtol=1e-6
        )


@pytest.mark.parametrize(
    "ties, dtype",
    [
        ("worst", np.int32),
        pytest.param(None, np.float32, marks=pytest.mark.long),
        *(pytest.param("random", x, marks=pytest.mark.long) for x in ("f", "i")),
        pytest.param("expected", np.int32, marks=pytest.mark.long),
    ],
)
def test_many_relevant_items(rng, ties, dtype):
    """Many are found in a sort: at the places of loops, with the values of dense labels."""
    items = 2 * MAX_COUNTED
    relevant = np.argsort(rng.random((LISTS, items)), axis=-1)[:, : MAX_COUNTED + 1]
    relevant[0] = -1
    relevant[1, ::2] = -1
    grades = rng.choice([0, 1, 3], relevant.shape).astype(np.float32)
    labels = np.zeros((LISTS, items + 1), np.float32)
    np.put_along_axis(labels, relevant, grades, axis=-1)  # padding goes to the last
    labels, mask = labels[:, :-1], rng.random((LISTS, items)) > 0.2
    scores = rng.integers(0, 30, labels.shape).astype(dtype)
    scores[2] = rng.permutation(items)
    least = -np.inf if scores.dtype.kind == "f" else np.iinfo(dtype).min
    scores[3, ::3] = least  # which shares its key with items that do not exist
    options = {"ties": ties, "key": jax.random.key(1) if ties == "random" else None}
    few = jrm.rank_scores(scores, relevant, grades, item_mask=mask, **options)
    dense = jrm.rank(labels, scores, mask, **options)
    names = ("map@5,50", "mrr", "ndcg")
    if ties is None:
        names = (*names, "map", "bpref", "rprec")
    check_same(*(quick_measure(names, ranking) for ranking in (few, dense)))
    ranked_items, held = (
        np.asarray(dense.items).tolist(),
        jax.device_get(data_of(few).held),
    )
    for row, ids in enumerate(relevant):
        places = []
        for item in ids[(ids >= 0) & mask[row, ids]]:
            score, others = scores[row, item], scores[row, mask[row]]
            above, tied = (others > score).sum(), (others == score).sum()
            index = above if ties == "expected" else ranked_items[row].index(item)
            places.append((index, above, tied))
        arrays = (held.rank_above, held.above, held.tied)
        counted = np.stack([x[row][held.items.exists[row]] for x in arrays], -1)
        assert counted.tolist() == [list(map(int, place)) for place in sorted(places)]


def test_parts_of_many_lists(rng, monkeypatch):
    """Many lists are counted in parts of their items, the last of them shorter."""
    lists, items = 40, 23
    monkeypatch.setattr(outranking_cpu, "_PART", 8 * lists)
    scores = rng.integers(0, 6, (lists, items)).astype(np.float32)
    relevant = np.argsort(rng.random(scores.shape), axis=-1)[:, :4]
    relevant[::2, 3], relevant[5] = -1, -1
    held = data_of(jrm.rank_scores(scores, relevant, ties="stable")).held
    for row, ids in enumerate(relevant):
        above, tied, rank = (
            np.array(x[row])[held.items.exists[row]].tolist()
            for x in (held.above, held.tied, held.rank_above)
        )
        order = np.argsort(-scores[row], kind="stable").tolist()
        ids = sorted(ids[ids >= 0].tolist(), key=order.index)
        assert rank == [order.index(i) for i in ids]
        assert above == [(scores[row] > scores[row, i]).sum() for i in ids]
        assert tied == [(scores[row] == scores[row, i]).sum() for i in ids]


@pytest.mark.long
def test_the_first_ten(problem):
    """A top-k gives the metrics at k that dense labels give, in the order of the policy."""
    check_same(
        *(jrm.measure(("p@10",), rank(k=10)) for rank in (problem.few, problem.dense))
    )
    for ties in ("worst",):
        for row, items in enumerate(np.asarray(problem.few(k=10, ties=ties).items)):
            exists = oracle.existing(problem.labels[row], problem.mask[row])
            order = oracle.one_order(
                oracle.tie_groups(exists, problem.scores[row]),
                problem.labels[row].tolist(),
                None,
                ties,
            )
            assert items.tolist() == order[:10], ties


@pytest.mark.long
def test_random_ties_as_of_dense_labels(problem):
    """A key draws the same order of the same scores, whether places are counted or not."""
    key = jax.random.key(4)
    items = np.asarray(problem.dense(key=key).items)
    actual = jrm.reciprocal_rank.of(problem.few(key=key)).values
    for row in range(LISTS):
        hits = [
            rank
            for rank, i in enumerate(items[row], 1)
            if i >= 0 and problem.labels[row, i] >= 1
        ]
        np.testing.assert_allclose(actual[row], 1 / hits[0] if hits else 0, rtol=1e-6)


@pytest.mark.long
def test_a_mask_for_every_list(problem):
    """`item_mask` may be shared by all lists, or differ between them."""
    wide = np.tile(problem.options["item_mask"], (LISTS, 1))
    of_items = problem.few()
    of_lists = problem.few(item_mask=wide)
    for x, y in zip(jax.tree.leaves(of_items), jax.tree.leaves(of_lists), strict=True):
        np.testing.assert_array_equal(x, y)
    per_list = jrm.rank_scores(
        problem.scores,
        problem.relevant_ids,
        problem.options["relevant_labels"],
        item_mask=problem.mask,
        list_weights=problem.options["list_weights"],
    )
    actual, expected = data_of(per_list), data_of(of_items)
    np.testing.assert_array_equal(actual.length, expected.length)
    np.testing.assert_array_equal(actual.held.above, expected.held.above)
    np.testing.assert_array_equal(actual.held.tied, expected.held.tied)


@pytest.mark.long
def test_scores_over_devices(problem):
    """Each device counts its items; any device may hold the relevant ones."""
    mesh = jax.make_mesh(
        (4,), ("model",), axis_types=(AxisType.Auto,), devices=jax.devices()[:4]
    )
    options = {name: x for name, x in problem.options.items() if name != "item_mask"}

    @jax.jit
    @jax.shard_map(
        mesh=mesh, in_specs=(P(None, "model"), P("model"), P(), P()), out_specs=P()
    )
    def run(scores, item_mask, relevant_ids, options):
        rank = functools.partial(
            jrm.rank_scores,
            *(scores, relevant_ids),
            **options,
            item_mask=item_mask,
            items_axis="model",
        )
        return jrm.measure(SOME, rank()), rank(k=10, ties="worst").items

    actual, items = run(
        problem.scores, problem.options["item_mask"], problem.relevant_ids, options
    )
    check_same(actual, jrm.measure(SOME, problem.few()))
    np.testing.assert_array_equal(items, problem.few(k=10, ties="worst").items)


def test_in_batch_negatives():
    """In-batch negatives, where every query should find its item, take one line."""
    scores = np.array([[3, 2, 1], [5, 4, 4], [1, 2, 2]], np.float32)
    ids, ones = np.arange(3)[:, None], np.ones(3, np.float32)
    lists = jrm.reciprocal_rank.of(jrm.rank_scores(scores, ids, list_weights=ones))
    np.testing.assert_allclose(lists.values, [1, 5 / 12, 3 / 4], rtol=1e-6)
    # A query that is padding counts, unless its weight is 0.
    ids[2] = -1
    for weights, mean in ((ones, (1 + 5 / 12) / 3), (ids[:, 0] >= 0, (1 + 5 / 12) / 2)):
        weights = weights.astype(np.float32)
        lists = jrm.reciprocal_rank.of(
            jrm.rank_scores(scores, ids, list_weights=weights)
        )
        np.testing.assert_allclose(lists.mean().compute(), mean, rtol=1e-6)


SCORES = np.zeros((2, 3), np.float32)
IDS = np.zeros((2, 1), np.int32)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: jrm.rank_scores(np.float32(1), IDS), ValueError, "scores has shape"),
        (lambda: jrm.rank_scores(SCORES[:, :0], IDS), ValueError, "at least one item"),
        (lambda: jrm.rank_scores(SCORES, IDS[:1]), ValueError, "relevant_ids"),
        (lambda: jrm.rank_scores(SCORES, IDS + 0.5), TypeError, "relevant_ids"),
        (
            lambda: jrm.rank_scores(SCORES, IDS, IDS[:, :0]),
            ValueError,
            "relevant_labels",
        ),
        (
            lambda: jrm.rank_scores(SCORES, IDS, item_mask=np.ones(2, bool)),
            ValueError,
            "item_mask has shape",
        ),
        (
            lambda: jrm.rank_scores(SCORES, IDS, item_mask=np.ones(3, np.int32)),
            TypeError,
            "item_mask",
        ),
        (
            lambda: jrm.rank_scores(SCORES, IDS, exclude_ids=IDS[:1]),
            ValueError,
            "exclude",
        ),
        (
            lambda: jrm.rank_scores(SCORES, IDS, list_weights=np.ones(3)),
            ValueError,
            "list_w",
        ),
        (lambda: jrm.rank_scores(SCORES, IDS, k=0), ValueError, "k is 0"),
        (lambda: jrm.rank_scores(SCORES, IDS, ties="first"), ValueError, "ties"),
        (lambda: jrm.rank_scores(SCORES, IDS, ties="random"), ValueError, "key"),
        (
            lambda: jrm.rank_scores(SCORES, IDS, items_axis="model"),
            ValueError,
            "items_axis",
        ),
        (
            lambda: jrm.ndcg.of(
                jrm.rank_scores(SCORES, IDS),
                gain_fn=CASES["ndcg-own-functions"].options["gain_fn"],
            ),
            ValueError,
            "label 0",
        ),
    ],
)
def test_wrong_arguments_raise(call, error, text):
    """The error names the argument and says what to pass."""
    with pytest.raises(error, match=text):
        call()


# Scores that are not products.


def nearness(queries, items):
    """Returns minus the squared distance."""
    return -jnp.sum((queries[..., None, :] - items[None]) ** 2, axis=-1)


@pytest.mark.long
def test_any_score_of_a_catalogue(rng):
    """Blocks of any size give the ranking of the dense matrix."""
    queries = rng.integers(-3, 4, (LISTS, 4)).astype(np.float32)
    items = rng.integers(-3, 4, (ITEMS, 4)).astype(np.float32)
    relevant = np.stack([rng.permutation(ITEMS)[:RELEVANT] for _ in range(LISTS)])
    scores = -((queries[:, None] - items) ** 2).sum(-1)
    labels = np.zeros(scores.shape, np.float32)
    np.put_along_axis(labels, relevant, 1, -1)
    order = np.argsort(-scores, axis=-1, kind="stable")
    cases = {name: CASES[name] for name in ("average_precision", "recall")}
    table, ks = metrics((1, 5, None), "stable", cases), (1, 5, None)
    rank = functools.partial(
        jrm.rank_catalog, queries, items, relevant, similarity=nearness, ties="stable"
    )
    for block_size in (17, 1000):
        actual = jrm.measure(table, rank(k=None, block_size=block_size))
        compare_all(actual, cases, (labels, scores, None, None), "stable", ks)
    for block_size in (3,):
        np.testing.assert_array_equal(
            rank(k=9, block_size=block_size).items, order[:, :9]
        )


def test_wrong_scores_of_a_catalogue_raise():
    """`similarity` must be a function that returns a score for every query and item."""
    queries, items = jnp.zeros((2, 4)), jnp.zeros((5, 3, 2))
    rank = functools.partial(jrm.rank_catalog, queries, items, IDS, k=None)
    for similarity in (
        lambda queries, items: jnp.zeros((2,)),
        lambda queries, items: jnp.zeros((2, 5)),  # of all items, not of the block
        lambda queries, items: (jnp.zeros((2, items.shape[0])),),
    ):
        with pytest.raises(ValueError, match="similarity gives"):
            rank(similarity=similarity, block_size=3)
    with pytest.raises(ValueError, match="similarity is 'dots'"):
        rank(similarity="dots")
    with pytest.raises(ValueError, match="or a function as similarity"):
        rank()
