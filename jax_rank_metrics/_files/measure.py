"""The places of judged documents, as trec_eval reads them, and metrics of these places."""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._files.frames import polars
from jax_rank_metrics._files.sides import Sides, labels_of
from jax_rank_metrics._gains import overflow_message
from jax_rank_metrics._inputs.padding import make_blocks
from jax_rank_metrics._items import RawItems
from jax_rank_metrics._metrics.run import Reading, check_columns, raise_refused, read
from jax_rank_metrics._metrics.spec import Bound
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._ordering.order_on_host import (
    best_rows,
    count_places,
    in_rank_order,
)
from jax_rank_metrics._ranking import UnknownPlaceError
from jax_rank_metrics._sources.places import MAX_RANKS, rank_at_places
from jax_rank_metrics._states.per_list import PerList

if TYPE_CHECKING:
    import polars as pl

_UNRANKED = 2**31 - 1  # the key of documents without a rank, which come last


class Places(NamedTuple):
    """All judged documents, list after list, each list in rank order.

    Documents that were not retrieved come last in their list.
    """

    starts: np.ndarray  # [lists + 1], where the documents of each list begin and end
    relevance: np.ndarray  # [documents]
    retrieved: np.ndarray  # [documents] bool, whether it has a rank
    above: np.ndarray  # [documents] int32, how many rank strictly above its tie group
    tied: np.ndarray  # [documents] int32, how many tie with it, itself included
    num_retrieved: np.ndarray  # [lists] int32


def keep_first(sides: Sides, depth: int) -> Sides:
    """Returns the first documents of each list of the run, those with the last ids of ties.

    Args:
        sides: Judgements and a run.
        depth: How many documents of each list to keep.
    """
    rows, above = _in_definite_order(sides)
    is_kept = np.zeros(len(sides.retrieved.values), bool)
    is_kept[rows[above < depth]] = True
    return sides.keep(is_kept)


def without_ties(sides: Sides) -> Sides:
    """Returns a run whose values tell documents with equal scores apart by their ids.

    They are the negative numbers of documents above each.
    """
    rows, above = _in_definite_order(sides)
    values = sides.retrieved.values.copy()
    values[rows] = -above
    return sides._replace(retrieved=sides.retrieved._replace(values=values))


def _in_definite_order(sides: Sides) -> tuple[np.ndarray, np.ndarray]:
    """Returns the rows of the run, list after list in rank order, and their places.

    Documents with equal scores are in the order of trec_eval.
    """
    retrieved, ranges = sides.retrieved, sides.retrieved.ranges()
    rows = best_rows(retrieved.values, ranges)
    values, counts = retrieved.values[rows], retrieved.counts
    first_of_list = np.repeat(np.cumsum(counts) - counts, counts)
    # Scores 9 7 7 5 of a list make the groups 1 2 2 3, of which the middle one is tied.
    begins = np.ones(len(rows), bool)
    begins[1:] = values[1:] != values[:-1]
    begins[first_of_list] = True
    tied = np.flatnonzero(~begins | ~np.append(begins[1:], True))
    if len(tied):
        ids = sides.doc_ids()[1][rows[tied]].cast(polars("jrm.join").String)
        order = _by_last_id(np.cumsum(begins)[tied], ids)
        rows[tied] = rows[tied][order]
    return rows, np.arange(len(rows)) - first_of_list


def _by_last_id(groups: np.ndarray, ids: "pl.Series") -> np.ndarray:
    """Returns the indices that sort documents by group, and by falling id within each.

    Ids are strings and compare by their bytes. Equal ids stay in order.
    """
    pl = polars("jrm.join")
    frame = pl.DataFrame({"group": groups, "id": ids})
    keys = pl.arg_sort_by("group", "id", descending=[False, True], maintain_order=True)
    return frame.select(keys).to_series().to_numpy()


def places_of(sides: Sides, ties: str) -> Places:
    """Counts the documents above each judged one, and those that tie with it.

    Args:
        sides: Judgements and a run.
        ties: See `join`. With "trec", no documents tie.
    """
    counts, values = sides.retrieved.counts, sides.retrieved.values
    is_ranked, lists = sides.is_retrieved, sides.judged.list_ids()
    above, tied = np.zeros((2, len(lists)), np.int32)
    above[is_ranked], tied[is_ranked] = count_places(
        [values[rows] for rows in sides.retrieved.ranges()],
        sides.scores[is_ranked],
        _starts(np.bincount(lists[is_ranked], minlength=len(counts))),
    )
    if ties == "trec":
        rows = np.flatnonzero(tied > 1)
        if len(rows):
            above[rows] += _count_later_ids(sides, rows, above[rows], tied[rows])
        tied[rows] = 1
    order = in_rank_order(lists, np.where(is_ranked, above, _UNRANKED))
    return Places(
        starts=_starts(sides.judged.counts),
        relevance=sides.judged.values[order],
        retrieved=is_ranked[order],
        above=above[order],
        tied=tied[order],
        num_retrieved=counts.astype(np.int32),
    )


def _count_later_ids(
    sides: Sides, judged_rows: np.ndarray, above: np.ndarray, tied: np.ndarray
) -> np.ndarray:
    """Counts the documents of the run with the score of a judged one and a later id.

    Only tie groups that hold one of these are sorted by id.

    Args:
        sides: Judgements and a run.
        judged_rows: `[documents]`, at least one, rows of judgements that the run has.
        above: `[documents]`, as in `Places`.
        tied: `[documents]`, as in `Places`.
    """
    retrieved, lists = sides.retrieved, sides.judged.list_ids()[judged_rows]
    with_ties, list_of_judged = np.unique(lists, return_inverse=True)
    starts_of_lists = _starts(retrieved.counts[with_ties])
    # Tie groups by the place of their first document among those of all these lists.
    first, index, group_of_judged = np.unique(
        starts_of_lists[list_of_judged] + above, return_index=True, return_inverse=True
    )
    sizes = tied[index]
    starts, groups = _starts(sizes), np.repeat(np.arange(len(first)), sizes)
    places = np.arange(starts[-1]) + (first - starts[:-1])[groups]
    ranges = retrieved.ranges()
    rows = best_rows(retrieved.values, [ranges[i] for i in with_ties])[places]
    pl, (judged_ids, run_ids) = polars("jrm.join"), sides.doc_ids()
    # Judged documents stand before the run, so that they precede their equals there.
    ids = [judged_ids[judged_rows].cast(pl.String), run_ids[rows].cast(pl.String)]
    order = _by_last_id(np.concatenate([group_of_judged, groups]), pl.concat(ids))
    is_judged = order < len(judged_rows)
    num_before, in_order = np.cumsum(~is_judged)[is_judged], order[is_judged]
    later = np.empty(len(judged_rows), np.int32)
    later[in_order] = num_before - starts[group_of_judged[in_order]]
    return later


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])


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


class PlaceProperties(NamedTuple):
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
    known = PlaceProperties(
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
    documents: Documents, *, bounds: tuple[Bound, ...], known: PlaceProperties
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
    bounds: tuple[Bound, ...], known: PlaceProperties, documents: Documents
) -> tuple[Bound, ...]:
    """Returns the metrics that can be read from places, which tracing them tells.

    Args:
        bounds: The metrics.
        known: See `PlaceProperties`.
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
