"""Recall of nearest neighbours by distance, against loops from its definition."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._ground.one_off import one_off_jit

KS = (1, 3, 5, None)


def by_loops(returned, nearest, ids, k, epsilon):
    """Returns the recall of one query, None if it has no neighbour."""
    neighbours = [distance for distance in nearest if np.isfinite(distance)]
    neighbours = neighbours if k is None else neighbours[:k]
    if not neighbours:
        return None
    bound = neighbours[-1] + np.float32(epsilon) * abs(neighbours[-1])
    seen, near = set(), 0
    for item, distance in zip(ids, returned, strict=True):
        if item >= 0 and item not in seen and len(seen) < len(neighbours):
            seen.add(item)
            near += distance <= bound
    return near / len(neighbours)


def draw(rng, queries=40, returned=7, neighbours=6):
    """Draws few distances, many of them tied or beyond 0, with repeats and padding."""
    nearest = np.sort(rng.integers(-2, 6, (queries, neighbours)) / 4)
    nearest[0], nearest[1, 2:], nearest[2, 4:] = np.inf, np.nan, np.inf
    distances = np.sort(rng.integers(-2, 8, (queries, returned)) / 4)
    ids = rng.integers(-1, returned, (queries, returned))
    distances[3, 3:], ids[3, 3:] = np.nan, -1
    return distances.astype(np.float32), nearest.astype(np.float32), ids


recall = one_off_jit(jrm.neighbor_recall, ("k", "epsilon"))()


def test_values_are_those_of_loops(rng):
    """Ties at the k-th neighbour, repeated ids, fewer neighbours than k, and none."""
    distances, nearest, ids = draw(rng)
    order = np.tile(np.arange(distances.shape[1]), (len(ids), 1))
    for epsilon in (0, 0.5):
        for known in (ids, None):
            lists = recall(distances, nearest, KS, epsilon, known)
            rows = (distances, nearest, order if known is None else ids)
            for row, arrays in enumerate(zip(*rows, strict=True)):
                values = [by_loops(*arrays, k, epsilon) for k in KS]
                assert bool(lists.defined[row]) == (values[0] is not None)
                values = [0 if value is None else value for value in values]
                np.testing.assert_allclose(lists.values[row], values, atol=1e-6)
            np.testing.assert_array_equal(lists.weights, np.ones(len(ids)))
            assert lists.values.dtype == jnp.float32
    assert not lists.defined.all() and 0 < lists.values.mean() < 1


def test_an_exact_search_finds_all(rng):
    """Whichever of the tied neighbours it returns; the overlap of ids says less."""
    points = rng.integers(0, 3, (60, 4)).astype(np.float32)
    squares = ((points[:10, None] - points) ** 2).sum(-1)
    best = np.argsort(squares, axis=1, kind="stable")[:, :8]
    last = 59 - np.argsort(squares[:, ::-1], axis=1, kind="stable")[:, :8]
    nearest, returned = (np.take_along_axis(squares, x, 1) for x in (best, last))
    found = jrm.neighbor_recall(returned, nearest, 8, ids=last)
    np.testing.assert_array_equal(found.values, 1)
    assert (jrm.overlap(last, best, 8).values < 1).any()
    # Distances of Hamming are integers.
    whole = jrm.neighbor_recall(returned.astype(int), nearest.astype(int), 8)
    np.testing.assert_array_equal(whole.values, 1)


def test_nothing_returned():
    """Queries for which nothing was returned have the recall 0, none without neighbours."""
    empty, nearest = np.zeros((2, 0)), np.array([[1.0, 2.0], [np.inf, np.inf]])
    for ids in (None, empty.astype(int)):
        lists = jrm.neighbor_recall(empty, nearest, ids=ids)
        assert lists.values.tolist() == [0, 0]
        assert lists.defined.tolist() == [True, False]
    assert not jrm.neighbor_recall(nearest, empty).defined.any()


@pytest.mark.long
def test_double_precision(rng):
    """Distances that differ in float64 alone do not tie, and ids may exceed int32."""
    distances, nearest, ids = draw(rng)
    expected = jrm.neighbor_recall(distances, nearest, KS, 0.1, ids)
    with jax.enable_x64(True):
        large = np.where(ids < 0, ids, ids + 2**40)
        wide = distances.astype(np.float64), nearest.astype(np.float64)
        lists = jrm.neighbor_recall(*wide, KS, 0.1, large)
        chex.assert_trees_all_close(lists, expected, atol=1e-6)
        assert lists.values.dtype == jnp.float64
        exact = np.ones((2, 3))
        farther = np.nextafter(exact, 2)
        assert not jrm.neighbor_recall(farther, exact).values.any()
