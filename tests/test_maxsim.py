"""Late interaction: `maxsim` beside loops, in every form, and its errors.

For values of batches, candidates and meshes see test_drivers.py, and for ties of equal items
test_equal_rows.py.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.sharding import PartitionSpec as P
from padded_tokens import by_loops, padded
from sources import make_mesh

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.sources.similarities import maxsim
from jax_rank_metrics._engine.sources.tokens import TokenItems, packed, padded_width

DIMS = 6

on_device = partial(padded, wrap=jnp.asarray)


def draw(rng, lengths, dtype=np.float32):
    """Arrays of tokens of some lengths."""
    return [rng.normal(size=(n, DIMS)).astype(dtype) for n in lengths]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
def test_scores(rng, dtype):
    """Scores equal the scores of loops; padding counts neither in queries nor in items."""
    queries, items = draw(rng, [3, 1, 0, 4]), draw(rng, [5, 0, 2, 7, 1])
    queries, items = ([(9 * x).astype(dtype) for x in y] for y in (queries, items))
    expected = by_loops(*([x.astype(float) for x in y] for y in (queries, items)))
    queries, items = on_device(queries, 5, fill=77), on_device(items, 9, fill=77)
    actual = maxsim(packed("queries", queries), packed("items", items))
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-5)
    assert actual.dtype == jnp.zeros(()).dtype


@pytest.mark.long
def test_catalog_in_programs(rng):
    """`rank_catalog` takes tokens in programs, under vmap and with items cut."""
    queries, items = draw(rng, [2, 4, 3, 1]), draw(rng, rng.integers(0, 8, 24))
    scores = by_loops(queries, items)
    relevant = rng.integers(0, 24, (4, 1)).astype(np.int32)
    queries, items = on_device(queries, 4), on_device(items, 8)
    rank = partial(jrm.rank_catalog, k=24, similarity="maxsim", ties="stable")
    expected = np.argsort(-scores, axis=1, kind="stable")

    @partial(jax.jit, static_argnames="block_size")
    def ids(queries, relevant, block_size):
        return rank(queries, items, relevant, block_size=block_size).items

    for block_size in (24, 7):
        np.testing.assert_array_equal(ids(queries, relevant, block_size), expected)
    mapped = jax.vmap(partial(ids, block_size=24))(queries, relevant)
    np.testing.assert_array_equal(mapped, expected)
    mesh = make_mesh((2, 4), ("q", "i"))

    @partial(
        jax.shard_map, mesh=mesh, in_specs=(P("q"), P("i"), P("q")), out_specs=P("q")
    )
    def on_devices(queries, items, relevant):
        return rank(queries, items, relevant, block_size=4, items_axis="i").items

    np.testing.assert_array_equal(on_devices(queries, items, relevant), expected)


@given(st.integers(0, 10**6))
def test_padded_width(length):
    """It depends on the length alone, and less than a fifth of it is padding."""
    width = padded_width(length)
    assert width - length <= max(width - 1, 0) / 5
    assert padded_width(width) == width


def test_blocks_hold_equally_many_items(rng):
    """The last block of each width does, too; items without tokens are in no block."""
    items = TokenItems("items", draw(rng, [0, 3, 9, 10, 3, 0, 9, 3]))
    blocks = list(items.blocks(2))
    assert [x.vectors.shape for x in blocks] == [
        (10, 2, DIMS),
        (3, 2, DIMS),
        (10, 2, DIMS),
        (3, 2, DIMS),
    ]
    assert [x.ids.tolist() for x in blocks] == [[2, 3], [1, 4], [6], [7]]
    assert not blocks[-1].exists[:, 1].any() and len(items) == 8


@pytest.mark.long
def test_nan_and_masks(rng):
    """NaN in an item stops the call, unless the item does not exist."""
    queries, items = draw(rng, [2, 3]), draw(rng, [2, 4, 1, 5])
    items[2][0, 0] = np.nan
    call = partial(
        jrm.evaluate_embeddings, "mrr@2", relevant=[[0], [3]], similarity="maxsim"
    )
    mask = np.arange(4) != 2
    for forms in ((queries, items), (on_device(queries, 3), on_device(items, 5))):
        with pytest.raises(ValueError, match=r"1 of 4 items, such as item 2"):
            call(queries=forms[0], items=forms[1])
        found = call(queries=forms[0], items=forms[1], item_mask=mask)
        assert 2 not in found.retrieved_ids


TOKENS = [np.ones((2, DIMS), np.float32)] * 3


def test_queries_without_tokens():
    """They score 0 with every item that has tokens, also if no query has any."""
    empty, items = np.ones((2, 0, DIMS), np.float32), jrm.Tokens(np.ones((5, 2, DIMS)))
    relevant = np.array([[0], [1]])
    ranking = jrm.rank_catalog(
        jrm.Tokens(empty), items, relevant, k=3, similarity="maxsim"
    )
    found = jrm.evaluate_embeddings(
        "mrr@3", [*empty], TOKENS + TOKENS[:2], relevant, similarity="maxsim"
    )
    expected = (1 + 1 / 2 + 1 / 3) / 5
    for values in (
        jrm.reciprocal_rank.of(ranking, k=3).values,
        found.lists["mrr@3"].values,
    ):
        np.testing.assert_allclose(values, expected, rtol=1e-6)
