"""Sparse queries and items rank as the same numbers do in dense arrays, ties and all."""

import jax
import numpy as np
import pytest
import scipy.sparse
from evaluations import check_same
from marks import long
from sources import make_mesh

import jax_rank_metrics as jrm
from jax_rank_metrics._drivers import job, scorers

METRICS = ("recall@5", "map")
NUM_QUERIES, NUM_ITEMS = 70, 300


def draw(seed=0):
    """Returns small whole numbers, most of them 0: scores tie, cancel and are negative."""
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-2, 3, (NUM_QUERIES + NUM_ITEMS, 12))
    vectors = vectors * (rng.random(vectors.shape) < 0.4)
    relevant = [rng.integers(0, NUM_ITEMS, rng.integers(0, 9)) for _ in range(70)]
    return vectors[:NUM_QUERIES], vectors[NUM_QUERIES:], relevant


QUERIES, ITEMS, RELEVANT = draw()
MASK = np.arange(NUM_ITEMS) % 5 > 0
EXCLUDED = np.arange(140).reshape(70, 2)
CANDIDATES = np.random.default_rng(1).integers(-1, NUM_ITEMS, (NUM_QUERIES, 40))
GROUPS = np.eye(3)[np.arange(NUM_ITEMS) % 3]
MESH = make_mesh((2, 4), ("q", "i"))


def same_parity(query, item):
    """Labels items whose number is as odd as that of the query."""
    return query[:, None] % 2 == item[None] % 2


@pytest.mark.parametrize(
    "options",
    [
        {"candidates": CANDIDATES, "item_mask": MASK, "exclude": EXCLUDED},
        *long(
            {},
            {"item_mask": MASK, "exclude": EXCLUDED, "ties": "stable", "k": 30},
            {"mesh": MESH, "queries_axis": "q", "items_axis": "i"},
            {"relevant": jrm.by_attributes(same_parity, range(70), range(300))},
            {"mesh": MESH, "queries_axis": "q", "candidates": CANDIDATES},
            {"batch_size": 9, "key": jax.random.key(0), "ties": "random"},
            {"item_groups": GROUPS, "metrics": "group_recall@9"},
        ),
    ],
)
def test_equal_to_dense(options):
    """Integers are exact, so that ids and values are those of dense arrays to the bit.

    Entries of masked items are never read, and may be NaN.
    """
    options = {"metrics": METRICS, "relevant": RELEVANT, **options}
    items = ITEMS.astype(np.float32)
    dense = jrm.evaluate_embeddings(
        queries=QUERIES.astype(np.float32), items=items, **options
    )
    if "item_mask" in options:
        items = np.where(MASK[:, None], items, np.nan)
    queries, items = scipy.sparse.csr_array(QUERIES), scipy.sparse.csc_matrix(items)
    sparse = jrm.evaluate_embeddings(queries=queries, items=items, **options)
    check_same(sparse, dense)


def test_equal_items_tie(monkeypatch):
    """Whatever the order of their entries is, and in how many parts they are stored."""
    rng = np.random.default_rng(0)
    queries = scipy.sparse.random_array((40, 500), density=0.1, rng=rng)
    columns = rng.permutation(500)[:300]
    values = rng.standard_normal(300, np.float32)
    part = values * np.float32(0.7)  # the rest is exact, and so is the sum
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
        # Of 8 items that tie, the mean of 1/rank.
        expected = np.mean(1 / np.arange(1, 9))
        np.testing.assert_allclose(found.lists["mrr"].values, expected, rtol=1e-6)
    np.testing.assert_array_equal(items.data, before)


def test_small_integers_do_not_overflow():
    """The products of int8 are larger than int8."""
    items = scipy.sparse.csr_array(np.array([[100], [1]], np.int8))
    found = jrm.evaluate_embeddings("mrr", items, items, [[0], [0]], k=2)
    assert found.items.tolist() == [[0, 1], [0, 1]]


@pytest.mark.long
def test_memory_bounds_batches(monkeypatch):
    """A batch holds no more scores than it may, whatever its size is to be."""
    monkeypatch.setattr(job, "MAX_AT_ONCE", 33 * NUM_ITEMS)
    queries = scipy.sparse.csr_array(np.tile(QUERIES, (4, 1)))
    items, done = scipy.sparse.csr_array(ITEMS), []
    jrm.evaluate_embeddings(
        METRICS, queries, items, RELEVANT * 4, progress=lambda x, _: done.append(x)
    )
    assert max(np.diff(done)) <= 33
