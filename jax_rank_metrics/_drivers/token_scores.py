"""The scores of `evaluate_embeddings` by late interaction, over tokens on the host."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from jax_rank_metrics._drivers.devices import Array, Devices
from jax_rank_metrics._drivers.model import OVERFLOW, Model
from jax_rank_metrics._inputs.libraries import is_of_jax
from jax_rank_metrics._sources.token_items import TokenItems
from jax_rank_metrics._sources.tokens import (
    Tokens,
    packed,
    packed_on_host,
    scores_of_tokens,
)

# How many items of one width are scored at a time, on a CPU: products of a token of these
# with those of queries stay in its cache. Other devices take their time to start a product.
CPU_BLOCK_SIZE, BLOCK_SIZE = 64, 1024

# Blocks that devices work on while the host fills the next one.
_BLOCKS_AHEAD = 4


@dataclasses.dataclass(frozen=True)
class TokenScores:
    """Scores all items for some queries by late interaction; called with their rows.

    Attributes:
        queries: `[queries, tokens, dims + 1]`, packed.
        items: The items.
        devices: The devices that share the queries and the items of each block.
        block_size: How many items are scored at a time.
    """

    queries: Array
    items: TokenItems
    devices: Devices
    block_size: int

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Returns the scores `[rows, items]`, float32 (or float64 under x64)."""
        devices, size = self.devices, self.block_size
        # The devices of several processes cannot be read by one: each computes all.
        if devices.mesh is not None and devices.mesh.is_multi_process:
            devices = Devices()
        queries = devices.put(jnp.asarray(self.queries[rows]), devices.of_queries)
        program, of_items = _program(devices), PartitionSpec(None, devices.items_axis)
        columns, parts = [], []
        for block in self.items.blocks(size):
            arrays = (devices.put(x, of_items) for x in block[1:])
            parts.append(program(queries, *arrays))
            columns.append(block.ids)
            if len(parts) > _BLOCKS_AHEAD:
                jax.block_until_ready(parts[-_BLOCKS_AHEAD])
        dtype = parts[0].dtype if parts else np.float32
        # Items without tokens rank last.
        scores = np.full((len(rows), len(self.items)), -np.inf, dtype)
        for ids, part in zip(columns, parts, strict=True):
            scores[:, ids] = np.asarray(part)[: len(rows), : len(ids)]
        return scores


@functools.lru_cache(maxsize=16)
def _program(devices: Devices) -> Callable[..., jax.Array]:
    """Returns the program that scores a block, each device with its own part."""
    of_tokens = PartitionSpec(None, devices.items_axis)
    in_specs = (devices.of_queries, of_tokens, of_tokens)
    return jax.jit(devices.map(scores_of_tokens, in_specs, devices.of_scores))


def read_tokens(queries: Any, items: Any) -> tuple[Any, Any, TokenItems | None]:
    """Reads tokens: where devices hold all of them, as packed arrays like any vectors.

    Returns:
        queries: `[queries, tokens, dims + 1]`, packed.
        items: `[items, tokens, dims + 1]`, packed; None if the host groups them.
        tokens: The items that the host groups by their numbers of tokens, or None.
    """
    if all(isinstance(x, Tokens) and is_of_jax(x.vectors) for x in (queries, items)):
        return packed("queries", queries), packed("items", items), None
    rows = TokenItems("queries", queries)
    packed_rows = packed_on_host(list(rows), rows.width)
    return packed_rows, None, TokenItems("items", items, packed_rows.shape[-1] - 1)


def token_model(
    queries: Array,
    items: TokenItems,
    devices: Devices,
    block_size: int | None,
    ranks_all: bool,
) -> Model:
    """Returns the model of tokens on the host; the number of items is known afterwards.

    Args:
        queries: From `read_tokens`.
        items: The items.
        devices: The devices that share the work.
        block_size: How many items are scored at a time; None chooses.
        ranks_all: Whether queries rank all items, and not candidates.
    """
    names, cause = ("queries", "items"), OVERFLOW
    if block_size is None:
        on_cpu = jax.default_backend() == "cpu"
        block_size = CPU_BLOCK_SIZE if on_cpu else BLOCK_SIZE
    scores = TokenScores(queries, items, devices, block_size)
    if not items.is_repeatable:
        if not ranks_all:
            raise ValueError(
                "candidates is given, and items come in blocks; pass items as jrm.Tokens "
                "or a list, of which candidates are gathered"
            )
        # What can be read once is scored for all queries at once.
        table = devices.table(scores(np.arange(len(queries))), devices.of_scores)
        return Model(names, table, None, None, "the scores of", cause)
    score_fn = scores if ranks_all else None
    return Model(names, queries, items, score_fn, "the scores of", cause)
