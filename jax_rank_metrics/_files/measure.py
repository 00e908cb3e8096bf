"""Metrics of every query from the places of its judged documents alone."""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._files.packed import labels_of
from jax_rank_metrics._files.places import Places
from jax_rank_metrics._gains import overflow_message
from jax_rank_metrics._inputs.blocks import make_blocks
from jax_rank_metrics._items import RawItems
from jax_rank_metrics._metrics.run import Reading, check_columns, raise_refused, read
from jax_rank_metrics._metrics.spec import Bound
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._ranking import UnknownPlaceError
from jax_rank_metrics._sources.places import MAX_RANKS, rank_at_places
from jax_rank_metrics._states.per_list import PerList

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("judged", "pooled")  # of `Joined`


class Documents(NamedTuple):
    """The judged documents of a block of lists, the argument of its program."""

    labels: jax.Array  # [lists, documents]
    above: jax.Array  # [lists, documents] int32
    tied: jax.Array  # [lists, documents] int32
    exists: jax.Array  # [lists, documents] bool, False for padding
    retrieved: jax.Array  # [lists, documents] bool
    judged: jax.Array  # [lists, documents] bool, whether the relevance is not below 0
    num_retrieved: jax.Array  # [lists] int32
    list_weights: jax.Array  # [lists]


class Known(NamedTuple):
    """Properties of all places together, static in programs."""

    ties: str  # "tied" if any documents tie, else "none"
    max_ranks: int


def measure_places(
    bounds: tuple[Bound, ...],
    places: Places,
    list_weights: np.ndarray,
    query_ids: "Sequence[object] | pl.Series",
) -> dict[str, PerList]:
    """Computes the metrics that ask for no more than the places of judged documents.

    Args:
        bounds: The metrics.
        places: Of all judged documents.
        list_weights: `[lists]`.
        query_ids: The id of each list, for messages.

    Returns:
        By name, values as NumPy arrays. Metrics that read other documents are left out:
        those that give them a value, and those that need an order of tied documents.

    Raises:
        ValueError: if a metric reads another column than those of `Joined`; if a gain
            overflows.
    """
    check_columns(bounds, COLUMNS, allow_unread=True)
    known = Known(
        "tied" if (places.tied[places.retrieved] > 1).any() else "none",
        next(ranks for ranks in MAX_RANKS if (places.num_retrieved <= ranks).all()),
    )
    of_documents = (
        labels_of(places.relevance), places.above, places.tied,
        np.ones_like(places.retrieved), places.retrieved, places.relevance >= 0,
    )  # fmt: skip
    of_lists = places.num_retrieved, list_weights
    parts: list[Reading] = []
    indices: list[np.ndarray] = []
    for block in make_blocks(places.starts):
        arrays = (*map(block.items, of_documents), *map(block.per_list, of_lists))
        documents = Documents(*jax.device_put(arrays))
        if not parts:  # What a metric asks for does not depend on the shape of a block.
            shapes = jax.tree.map(
                lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), documents
            )
            bounds = _readable(bounds, known, shapes)
            if not bounds:
                return {}
        reading = jax.device_get(_program()(documents, bounds=bounds, known=known))
        size = len(block.indices)
        parts.append(jax.tree.map(lambda x, size=size: x[:size], reading))
        indices.append(block.indices)
    order = np.concatenate(indices)

    def combine(*arrays: np.ndarray) -> np.ndarray:
        in_blocks = np.concatenate(arrays)
        in_lists = np.empty_like(in_blocks)
        in_lists[order] = in_blocks
        return in_lists

    values, refused, overflowing = jax.tree.map(combine, *parts)
    raise_refused(refused)
    raise_overflowing(overflowing, query_ids)
    return {bound.name: lists for bound, lists in zip(bounds, values, strict=True)}


def raise_overflowing(
    overflowing: np.ndarray | jax.Array | None,
    query_ids: "Sequence[object] | pl.Series",
) -> None:
    """Raises ValueError where a gain overflows.

    Args:
        overflowing: Of a `Reading`.
        query_ids: The id of each list.
    """
    if overflowing is not None and np.any(overflowing):
        first = query_ids[int(np.argmax(overflowing))]
        raise ValueError(overflow_message(f"query {first!r}"))


def _measure_block(
    documents: Documents, *, bounds: tuple[Bound, ...], known: Known
) -> Reading:
    labels, above, tied, exists, retrieved, judged, num_retrieved, weights = documents
    dtype = _inputs.float_dtype(labels, weights).name
    columns = {"judged": judged, "pooled": exists}
    items = RawItems(labels, dtype, exists, None, retrieved, columns)
    ranking = rank_at_places(
        items, above, tied, num_retrieved, weights, **known._asdict(), in_order=True
    )
    return read(bounds, ranking)


_program = one_off_jit(_measure_block, ("bounds", "known"))


@functools.lru_cache(maxsize=256)
def _readable(
    bounds: tuple[Bound, ...], known: Known, documents: Documents
) -> tuple[Bound, ...]:
    """Returns the metrics that can be read from places, which tracing them tells.

    Args:
        bounds: The metrics.
        known: See `Known`.
        documents: The shapes and dtypes of a block.
    """
    try:
        # JAX keeps the trace for the call that follows.
        _program().trace(documents, bounds=bounds, known=known)
    except UnknownPlaceError:
        if len(bounds) == 1:
            return ()
        parts = [_readable((bound,), known, documents) for bound in bounds]
        return tuple(bound for part in parts for bound in part)
    return bounds
