"""The dtype in which vectors are multiplied, by every way to hand them in."""

import jax
import ml_dtypes
import numpy as np
import pytest
import scipy.sparse
from marks import long_but

import jax_rank_metrics as jrm

# Dot products of these 16-bit and 32-bit vectors exceed 2³¹.
WIDE = {"int16": 2**14, "uint16": 2**15, "int32": 2**20, "uint32": 2**21}


def rank_catalog(queries, items, relevant):
    """Ranks all items in the caller's program."""
    ranking = jrm.rank_catalog(queries, items, relevant, k=6, block_size=4)
    return np.asarray(ranking.items)


def as_tokens(queries, items, relevant, **options):
    """Ranks vectors as items of one token each, in lists of arrays."""
    return jrm.evaluate_embeddings(
        "mrr@6", list(queries[:, None]), list(items[:, None]), relevant,
        similarity="maxsim", **options,
    ).retrieved_ids  # fmt: skip


WAYS = {
    "rank_catalog": rank_catalog,
    "users": lambda q, x, y: jrm.evaluate_users("mrr@6", (q, x), y).retrieved_ids,
    "queries": lambda q, x, y: jrm.evaluate_embeddings("mrr@6", q, x, y).retrieved_ids,
    "blocks": lambda q, x, y: (
        jrm.evaluate_embeddings(
            "mrr@6", q, [x[:3], x[3:]], y, block_size=4
        ).retrieved_ids
    ),
    "candidates": lambda q, x, y: (
        jrm.evaluate_embeddings(
            "mrr@6", q, x, y, candidates=[range(8)] * len(q)
        ).retrieved_ids
    ),
    "sparse": lambda q, x, y: (
        jrm.evaluate_embeddings(
            "mrr@6", *map(scipy.sparse.csr_array, (q, x)), y
        ).retrieved_ids
    ),
    "tokens": as_tokens,
    "tokens of candidates": lambda *data: as_tokens(*data, candidates=[range(8)] * 3),
}


@pytest.mark.parametrize(
    "way", long_but(("sparse", "tokens", "tokens of candidates"), WAYS)
)
def test_wide_integers_do_not_wrap(way):
    """The order equals the order of products in float64."""
    rng = np.random.default_rng(0)
    for name in WIDE:
        high = WIDE[name]
        low = 0 if name.startswith("u") else -high
        queries, items = (
            rng.integers(low, high, (size, 40)).astype(name) for size in (3, 8)
        )
        products = queries.astype(np.float64) @ items.T.astype(np.float64)
        expected = np.argsort(-products, axis=1)[:, :6]
        actual = WAYS[way](queries, items, [[0]] * 3)
        np.testing.assert_array_equal(actual, expected, err_msg=name)


@pytest.mark.parametrize(
    "dtype, dims", [("int8", 1200), ("uint8", 1200), (ml_dtypes.bfloat16, 1000)]
)
def test_products_are_exact(dtype, dims):
    """Products that differ by 1 do not tie: of bytes beyond 2²⁴, of bfloat16 below."""
    queries = np.full((1, dims), 127, dtype)
    items = np.stack([queries[0]] * 2)
    items[0, 0] -= 1
    queries[0, 0] = 1
    assert rank_catalog(queries, items, [[0]])[0, :2].tolist() == [1, 0]


def test_one_dtype_under_x64():
    """Integers are multiplied in float32 there, too, and sums of bytes in int32."""
    with jax.enable_x64(True):
        for dtype, expected in (("int64", "float32"), ("int8", "int32")):
            vectors = np.ones((2, 3), dtype)
            scores = jax.eval_shape(
                jrm._engine.sources.similarities.products, vectors, vectors
            )
            assert scores.dtype == expected
