"""Sparse queries and items. For their values see test_drivers.py."""

import numpy as np
import pytest
import scipy.sparse

import jax_rank_metrics as jrm
from jax_rank_metrics._runs.drivers import jobs, scorers


def test_equal_items_tie(monkeypatch):
    """Whatever the order of their entries is, and in how many parts they are stored."""
    rng = np.random.default_rng(0)
    queries = scipy.sparse.random_array((40, 500), density=0.1, rng=rng)
    columns = rng.permutation(500)[:300]
    values = rng.standard_normal(300, np.float32)
    part = values * np.float32(0.7)  # the rest and the sum are exact
    orders = [rng.permutation(300) for _ in range(7)]
    items = scipy.sparse.csr_array(
        (
            np.concatenate([*(values[x] for x in orders), part, values - part]),
            np.concatenate([*(columns[x] for x in orders), columns, columns]),
            [*range(0, 2101, 300), 2700],
        ),
        (8, 500),
    )
    before = items.data.copy()
    monkeypatch.setattr(scorers, "PAIRS_AT_ONCE", 7)
    for candidates in (None, np.tile(np.arange(8), (40, 1))):
        found = jrm.evaluate_embeddings(
            "mrr",
            queries,
            items,
            [[i % 8] for i in range(40)],
            k=8,
            candidates=candidates,
        )
        # The mean of 1/rank over 8 items that tie.
        expected = np.mean(1 / np.arange(1, 9))
        np.testing.assert_allclose(found.lists["mrr"].values, expected, rtol=1e-6)
    np.testing.assert_array_equal(items.data, before)


@pytest.mark.long
def test_memory_bounds_batches(monkeypatch):
    """A batch holds no more scores than it may, whatever size was asked for."""
    monkeypatch.setattr(jobs, "MAX_AT_ONCE", 33 * 300)
    rng, done = np.random.default_rng(0), []
    queries, items = (
        scipy.sparse.random_array((size, 12), density=0.4, rng=rng)
        for size in (280, 300)
    )
    relevant = rng.integers(0, 300, (280, 4))
    jrm.evaluate_embeddings(
        ("recall@5", "map"),
        queries,
        items,
        relevant,
        progress=lambda x, _: done.append(x),
    )
    assert max(np.diff(done)) <= 33
