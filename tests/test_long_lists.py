"""Long lists, which are ranked and summed in other ways than short ones."""

import functools

import jax
import numpy as np
import oracle
import pytest
from cases import CORE, POLICIES, compare, metrics, policy

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.ordering import sort_cpu
from jax_rank_metrics._engine.ranking import data_of
from jax_rank_metrics._engine.sources import few_relevant
from jax_rank_metrics._ground import arithmetic


def draw(rng, items, lists=3):
    """Draws distinct scores, padding, and graded labels; one list has fractions."""
    labels = rng.integers(-1, 4, (lists, items)).astype(np.float32)
    labels[-1] /= 2
    scores = rng.permuted(np.broadcast_to(np.arange(items), labels.shape), axis=-1)
    mask = rng.random(labels.shape) > 0.1
    return labels, (scores - items // 2).astype(np.float32), mask


@pytest.mark.long
@pytest.mark.parametrize(
    "ties, is_whole", [("stable", True), ("expected", False)], ids=["whole", "halves"]
)
def test_long_lists_equal_loops(rng, ties, is_whole):
    """Ideal orders by counting, sums by chunks, and top-k by blocks and their tail."""
    labels, scores, mask = (x[: 2 if is_whole else 3] for x in draw(rng, 700))
    ks = (1, 2, None)
    cases = {n: c for n, c in CORE.items() if c.closed_form}
    lists = oracle.lists(labels, scores, mask)
    ranking = jrm.rank(labels, scores, mask, ties=ties)
    actual = jrm.measure(metrics(ks, ties), ranking)
    for name, case in cases.items():
        compare(actual[name], case, lists, "stable", ks)
    cut = {n: c for n, c in cases.items() if c.has_k}
    actual = jrm.measure(
        metrics((1, 2), ties, cut), jrm.rank(labels, scores, mask, k=2, ties=ties)
    )
    for name, case in cut.items():
        compare(actual[name], case, lists, "stable", (1, 2))


def test_large_terms_leave_the_sums_before_them():
    """Sums up to an item do not lose digits to items that follow it."""
    terms = np.full(100, 0.25, np.float32)
    terms[-1] = 2.0**40
    sums = jax.jit(arithmetic.cumulative_sum)(terms)
    np.testing.assert_array_equal(sums[:-1], np.arange(1, 100) / 4)


@pytest.mark.long
def test_few_relevant_items_are_counted(rng, monkeypatch):
    """Outside of jit, a CPU counts the places of few relevant items, and sorts nothing."""
    shape, counted = (3, 4200), []
    labels = np.where(rng.random(shape) < 0.005, rng.integers(1, 4, shape) / 2, 0)
    labels[1] = np.where(labels[1] > 0, 0, -1)  # nothing relevant, and padding
    scores = rng.integers(0, 900, shape).astype(np.float32)
    scores[2, ::7] = -np.inf
    arrays = labels.astype(np.float32), scores, rng.random(shape) > 0.1

    def rank(*args):
        counted.append(args)
        return rank_few(*args)

    rank_few = few_relevant.rank_few
    monkeypatch.setattr(few_relevant, "rank_few", rank)
    names = ("map", "ndcg")
    actual = jrm.evaluate(names, *arrays)
    assert counted
    counted.clear()
    expected = jax.jit(functools.partial(jrm.evaluate, (*names, "tau")))(*arrays)
    assert not counted
    for name, state in actual.items():
        np.testing.assert_allclose(state.compute(), expected[name].compute(), 1e-6)
        assert (state.lists, state.undefined) == (3, 1)
    # A metric that reads the places of other items too gets them all.
    for name, state in jrm.evaluate(("map", "tau"), *arrays).items():
        np.testing.assert_allclose(state.compute(), expected[name].compute(), 1e-6)


@pytest.mark.long
def test_blocks_rank_as_a_sort_does(rng, lowering):
    """The top-k of long lists, with ties inside blocks, across them and across the cut."""
    items = 5003
    labels = rng.permuted(np.broadcast_to(np.arange(items), (6, items)), axis=-1)
    scores = rng.integers(0, 300, labels.shape).astype(np.float32)
    scores[3] = scores[3] < 150
    # Few blocks hold many of the first items.
    scores[4, :96] = 300 + rng.integers(0, 30, 96)
    scores[0] = np.where(rng.random(items) < 0.001, 1, np.finfo(np.float32).min)
    scores[1] = np.where(rng.random(items) < 0.001, 1, -np.inf)
    mask = rng.random(labels.shape) > 0.2
    mask[2] = rng.random(items) < 0.001
    for ties in POLICIES:
        actual = data_of(jrm.rank(labels, scores, mask, k=12, **policy(ties)))
        with lowering("sort"):
            expected = data_of(jrm.rank(labels, scores, mask, k=12, **policy(ties)))
        for x, y in (
            (actual.items_held.items.labels, expected.items_held.items.labels),
            (actual.items_held.items.exists, expected.items_held.items.exists),
            (actual.length, expected.length),
        ):
            np.testing.assert_array_equal(x, y, str(ties))


@pytest.mark.long
def test_sorts_in_chunks_rank_as_one(rng, compiled_with):
    """Sorts in chunks give the same ranking as one sort, if lists are fewer or more."""
    labels = rng.integers(0, 4, (3, 7, 30)).astype(np.float32)
    scores = rng.integers(0, 9, labels.shape).astype(np.float32)
    mask = rng.random(labels.shape) > 0.2
    for ties in ("random", "worst"):
        expected = jrm.rank(labels, scores, mask, **policy(ties))
        with compiled_with(sort_cpu, "CHUNKED_FROM", 1):
            actual = jrm.rank(labels, scores, mask, **policy(ties))
        for x, y in zip(
            jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True
        ):
            np.testing.assert_array_equal(x, y, str(ties))


@pytest.mark.long
def test_packed_lists_of_any_length(rng):
    """Any number of lists works, although it decides how many bits are left for items."""
    labels, scores, _ = draw(rng, 700)
    ids = np.repeat(np.arange(3, dtype=np.int32), 700)
    order = rng.permutation(ids.size)
    flat = [x.reshape(-1)[order] for x in (labels, scores, ids)]
    expected = jrm.ndcg.per_list(labels, scores, k=(3, None)).values
    for number in (2**20, 2**22):
        actual = jrm.ndcg.per_list(
            *flat[:2], segment_ids=flat[2], num_segments=number, k=(3, None)
        )
        np.testing.assert_allclose(actual.values[:3], expected, rtol=1e-6)
        assert not actual.defined[3:].any()


@pytest.mark.long
def test_subnormal_scores_of_long_lists(rng):
    """Subnormal scores differ, although processors flush them when floats are compared."""
    bits = np.arange(1, 12001, 2, dtype=np.int32)  # the least two tie
    bits = rng.permuted(np.tile(bits, (3, 1)), axis=-1)
    scores = bits.view(np.float32)
    scores[1] = -scores[1]
    scores[2, ::2] = -scores[2, ::2]
    order = np.argsort(-scores.astype(np.float64), axis=-1)
    labels, relevant = np.ones_like(scores), order[:, 50:55]

    def in_catalog(k):
        return jrm.rank_catalog(
            *(np.arange(3), scores.T, relevant),
            k=k,
            similarity=lambda queries, block: block.T[queries],
        )

    for ranking in (
        jrm.rank(labels, scores, k=3),
        jrm.rank(labels, scores),
        jrm.rank_scores(scores, relevant, k=3),
        in_catalog(3),
    ):
        ranks = ranking.items.shape[-1]
        np.testing.assert_array_equal(ranking.items, order[:, :ranks])
    for ranking in (jrm.rank_scores(scores, relevant), in_catalog(None)):
        mean_rank = jrm.average_relevance_position.of(ranking).values
        np.testing.assert_array_equal(mean_rank, 53)


@pytest.mark.long
def test_stops_by_chance_in_long_lists(rng):
    """Means over all orders: of whole and cut lists, pairs, and counted places."""
    scores = rng.integers(0, 8, (3, 400)).astype(np.float32)
    scores[0] = 0
    scores[2] = rng.permutation(400) // 2
    labels = np.where(rng.random((3, 400)) < 0.1, rng.integers(1, 9, (3, 400)) / 2, 0)
    ids = np.stack([rng.permutation(np.argsort(-x)[:60]) for x in labels])
    listed = np.take_along_axis(labels, ids, axis=-1)
    labels = labels.astype(np.float32)
    metric, ks, ranks = jrm.expected_reciprocal_rank, (10, 100, None), np.arange(1, 401)
    pairs = np.tile(scores[2], (3, 1))  # no more than two items tie
    for number, tied, ranking in (
        (3, scores, jrm.rank(labels, scores)),
        (3, pairs, jrm.rank(labels, pairs)),
        (1, scores, jrm.rank(labels, scores, k=10)),
        (3, scores, jrm.rank_scores(scores, ids, listed.astype(np.float32))),
    ):
        lists = zip(tied, (2**labels - 1) / 16, strict=True)
        stops = [oracle.stops_by_rank(*x) for x in lists]
        expected = np.cumsum(stops / ranks, axis=-1)[:, [9, 99, 399]][:, :number]
        values = metric.of(ranking, k=ks[:number]).values
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-7)
