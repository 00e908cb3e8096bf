"""`rank_scores` and the scores of `rank_catalog`: few relevant items among many scores.

`test_layouts.py` compares every metric on them with rows.
"""

import jax
import numpy as np
import pytest
from marks import long_rows
from sources import LISTS, check_same, draw, scored

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.ordering import outranking_cpu
from jax_rank_metrics._engine.ordering.outranking import MAX_COUNTED
from jax_rank_metrics._engine.ranking import data_of

SOME = ("map@5", "mrr")


@pytest.mark.parametrize("copies, k", [(1, 8), *long_rows((1, None), (100, None))])
def test_repeated_ids_count_once(copies, k):
    """They count inside jit, which cannot raise, and have the label of the first copy."""
    scores = np.tile(np.float32([5, 3, 4, 1]), (2, 1))
    ids = np.tile([[2, 2, 3], [0, -1, -1]], (1, copies))
    labels = np.tile([[1, 9, 1], [1, 1, 1]], (1, copies))
    names = ("recall@2", "ndcg@2")

    def run(ids, labels):
        rankings = [
            jrm.rank_scores(scores, ids, labels, k=k, ties="best"),
            jrm.rank_ids(np.array([[0, 2, 1, 3]] * 2), ids, labels),
        ]
        return [jrm.measure(names, ranking) for ranking in rankings]

    run = jax.jit(run)
    distinct = run(np.array([[2, 3], [0, -1]]), np.ones((2, 2), int))
    for actual, expected in zip(run(ids, labels), distinct, strict=True):
        for name in names:
            values = expected[name].values
            np.testing.assert_allclose(actual[name].values, values, rtol=1e-6)


@pytest.fixture
def problem(rng):
    """Draws ties, padding ids, graded labels, masked and excluded relevant items."""
    return draw(rng)


@pytest.mark.long
@pytest.mark.parametrize(
    "ties, dtype",
    [
        ("worst", np.int32),
        (None, np.float32),
        ("random", "f"),
        ("random", "i"),
        ("expected", np.int32),
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
    is_listed = np.zeros((LISTS, items + 1), bool)
    np.put_along_axis(is_listed, relevant, True, axis=-1)
    judged = {"judged": is_listed[:, :-1]}  # as the listed items are
    dense = jrm.rank(labels, scores, mask, columns=judged, **options)
    names = ("map@5,50", "mrr", "ndcg")
    if ties is None:
        names = (*names, "map", "bpref", "rprec")
    check_same(*(jrm.measure(names, ranking) for ranking in (few, dense)))
    ranked_items, held = (
        np.asarray(dense.items).tolist(),
        jax.device_get(data_of(few).items_held),
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
    relevant = np.argsort(rng.random(scores.shape), axis=-1)[:, :5]
    relevant[::2, 3], relevant[5] = -1, -1
    held = data_of(jrm.rank_scores(scores, relevant, ties="stable")).items_held
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
def test_a_mask_for_every_list(problem):
    """`item_mask` may be shared by all lists, or differ between them."""
    wide = np.tile(problem.item_mask, (LISTS, 1))
    of_items, of_lists = scored(problem), scored(problem, item_mask=wide)
    for x, y in zip(jax.tree.leaves(of_items), jax.tree.leaves(of_lists), strict=True):
        np.testing.assert_array_equal(x, y)
    per_list = scored(problem, item_mask=problem.mask, exclude_ids=None)
    actual, expected = data_of(per_list), data_of(of_items)
    np.testing.assert_array_equal(actual.length, expected.length)
    np.testing.assert_array_equal(actual.items_held.above, expected.items_held.above)
    np.testing.assert_array_equal(actual.items_held.tied, expected.items_held.tied)


@pytest.mark.long
@pytest.mark.parametrize(
    "ties, num_relevant",
    [("random", 3), (None, 1), ("stable", 1), ("best", 3), ("worst", 1)],
)
def test_programs_that_count_instead(rng, ties, num_relevant):
    """In a program, few relevant items are counted even if k asks for a top-k."""
    scores = rng.integers(0, 5, (6, 30)).astype(np.float32)
    scores[0, :20] = -np.inf
    ids = np.argsort(rng.random((6, 30)))[:, :num_relevant].astype(np.int32)
    ids[1] = -1
    key = jax.random.key(3) if ties == "random" else None
    names = ("ndcg@7", "mrr@7")

    def lists(scores, k, names=names):
        ranking = jrm.rank_scores(
            *(scores, ids, 2 * np.ones_like(ids)),
            k=k,
            item_mask=np.arange(30) != 4,
            exclude_ids=(ids[:, :1] + 3) % 30,
            ties=ties,
            key=key,
        )
        return jrm.measure(names, ranking)

    def step(k, *names):
        return jax.jit(lambda scores: lists(scores, k, names))(scores)

    check_same(step(7, *names), lists(scores, 7))
    # A cutoff beyond the list reads whole lists, and one within it no rank beyond.
    check_same(step(40, "ndcg", "mrr"), lists(scores, None, ("ndcg", "mrr")))
    for name in ("mrr", "recall@8"):
        with pytest.raises(ValueError, match="was cut at k=7"):
            step(7, name)


def test_an_ideal_of_all_items(metric_names):
    """An ideal that counts items of label 0 reads all of them, in a program too."""

    @jrm.metric(names=("ideal_of_all",))
    def ideal_of_all(ranking, *, k=None):
        ks = ranking.cutoffs(k)
        sums = ranking.ideal_sum(lambda items: items.labels + 1, jrm.log2_discount, ks)
        return ranking.per_list(sums, True, k, lambda items: items.labels)

    scores, ids = np.float32([[3, 2, 1, 0]]), np.array([[1]])

    def value(scores, k=3):
        return ideal_of_all.of(jrm.rank_scores(scores, ids, k=k), k=3).values

    expected = 2 + 1 / np.log2(3) + 1 / 2
    for actual in (value(scores), jax.jit(value)(scores)):
        np.testing.assert_allclose(actual, [expected], rtol=1e-6)
    with pytest.raises(ValueError, match="label 0 has the value 1.0"):
        value(scores, None)


def test_no_relevant_ids_at_all():
    """Lists may have no slot for a relevant item."""
    scores, ids = np.zeros((2, 30), np.float32), np.zeros((2, 0), np.int32)

    def value(scores):
        return jrm.ndcg.of(jrm.rank_scores(scores, ids, k=5), k=5)

    lists = jax.jit(value)(scores)
    assert not lists.defined.any() and not lists.values.any()
