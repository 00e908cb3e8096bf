"""Metrics with their options, measured together: one compiled ranking for all of them."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.layouts import packed
from jax_rank_metrics._engine.metrics.spec import Bound
from jax_rank_metrics._engine.ordering import policies
from jax_rank_metrics._engine.ranking import ranked_items
from jax_rank_metrics._engine.ranking.cache import UNIT_WEIGHTS, Cache
from jax_rank_metrics._engine.ranking.ranking import Ranking, counted_data_of, data_of
from jax_rank_metrics._engine.ranking.ranking_data import RankingData
from jax_rank_metrics._engine.sources import few_relevant, rank
from jax_rank_metrics._engine.sources.list_arguments import ScoredLists
from jax_rank_metrics._ground import inputs, messages, shards, types
from jax_rank_metrics._values import mean
from jax_rank_metrics._values.per_list import PerList

R = TypeVar("R")


class Reading(NamedTuple):
    """The result of reading metrics from one ranking, inside a program.

    Attributes:
        values: The values of every metric.
        refused: A dict from reasons to bools `[*lists]`, True for lists that a metric
            cannot read.
        overflowing: `[*lists]` bool, True for lists that count and have a gain that is not
            finite, so that a value is NaN; None if no metric reads gains.
    """

    values: list[PerList]
    refused: dict[str, jax.Array]
    overflowing: jax.Array | None


def read(
    bounds: Sequence[Bound], data: RankingData, cache: Cache | None = None
) -> Reading:
    """Returns the values of every metric for one ranking, in the order of `bounds`.

    Runs inside `jax.jit`. The metrics share common work through the cache.
    """
    cache = cache or Cache()

    def depth(i: int) -> float:
        k = bounds[i].depth
        return float("inf") if k is None else float(k)

    # Read the deepest metric first, because others reuse the ideal order that it stores.
    order = sorted(range(len(bounds)), key=depth, reverse=True)
    values = {i: bounds[i].of(data, cache) for i in order}
    in_order = [values[i] for i in range(len(bounds))]
    return Reading(in_order, cache.refused, cache.overflowing)


def raise_refused(refused: Mapping[str, jax.Array | np.ndarray]) -> None:
    """Raises ValueError if a metric cannot read a list.

    Args:
        refused: The attribute of a `Reading`. Inside `jax.jit` it is not known, and nothing
            is raised.
    """
    for reason, lists in refused.items():
        if inputs.is_readable(lists) and np.any(lists):
            index = inputs.first_index(np.asarray(lists))
            where = f" in list {index if index[1:] else index[0]}" if index else ""
            raise ValueError(reason.format(where))


def lists_as_read(bounds: tuple[Bound, ...], lists: ScoredLists) -> ScoredLists:
    """Returns the lists with the depth and tie policy that the metrics together need."""
    ks = [bound.depth for bound in bounds if not bound.order_free]
    policy = lists.policy
    columns = lists.raw_items.columns
    readings = {bound.tie_reading_with(columns) for bound in bounds}
    if policy.is_grouped and "order" not in readings:
        policy = policies.Policy("tied")  # nothing reads the order within tie groups
    ranks = inputs.deepest(ks) if ks else 0
    lists = dataclasses.replace(lists, policy=policy, ranks=ranks)
    return dataclasses.replace(lists, few_relevant=few_relevant.is_faster(lists))


def check_columns(
    bounds: Sequence[Bound], columns: Collection[str], *, allow_unread: bool
) -> None:
    """Raises if a metric lacks a column, or if no metric reads a column that was passed."""
    readers = {name: bound for bound in bounds for name in bound.spec.columns}
    for name, bound in readers.items():
        if name not in columns and bound.spec.key_of(name) not in columns:
            cure = f"columns={{{name!r}: …}}"
            if name in bound.spec.item_columns:
                cure = f"item_{cure}, or columns= if items are not known by id"
            raise ValueError(
                f"{bound.name} reads the column {name!r}, which was not passed; pass {cure}"
            )
    known = {name for bound in bounds for name in bound.spec.all_columns}
    for name in columns:
        if not allow_unread and name not in known:
            raise ValueError(
                f"columns holds {name!r}, which no metric of this call reads; leave it out"
            )


def measure_ranking(bounds: tuple[Bound, ...], ranking: object) -> dict[str, PerList]:
    """Reads every metric from a caller's ranking; returns a dict from names to values."""
    if not isinstance(ranking, Ranking):
        raise TypeError(
            f"ranking: got {inputs.kind_of(ranking)}; pass a Ranking, which jrm.rank "
            "returns"
        )
    counted = counted_data_of(ranking)
    _warn_of_partial_columns(bounds, data_of(ranking) if counted is None else counted)
    if counted is not None:
        try:
            return _values_by_name(bounds, read_ranking(bounds, counted))
        except ranked_items.UnknownPlaceError:
            pass  # a metric needs the places of other items too
    return _values_by_name(bounds, read_ranking(bounds, data_of(ranking)))


def _warn_of_partial_columns(bounds: Sequence[Bound], data: RankingData) -> None:
    """Warns if a user's metric reads numbers that are known only for relevant items."""
    part = data.items_held or data.pool
    for spec in (bound.spec for bound in bounds):
        if part is None or str(spec.formula.__module__).startswith(messages.PACKAGE):
            continue
        for name in {*spec.all_columns} & {*data.partial_columns}:
            if jnp.issubdtype(part.items.columns[name].dtype, jnp.floating):
                messages.warn(
                    f"{spec.name} reads the column {name!r} as 0 for all items that are "
                    "not listed as relevant; if these items have other numbers, pass the "
                    "labels and columns of all items, [lists, items], to jrm.rank"
                )


def read_ranking(bounds: tuple[Bound, ...], data: RankingData) -> Reading:
    """Reads every metric from the data of a ranking; refused lists do not raise here."""
    check_columns(bounds, data.column_names, allow_unread=True)
    for bound in () if data.has_labels else bounds:
        if bound.spec.reads_labels:
            raise ValueError(
                f"{bound.name} reads labels, but relevant_ids is None; pass relevant_ids "
                "to rank_ids"
            )
    if not inputs.is_wide(data):
        return _measure_ranking(bounds, data)
    # The ranking was made while x64 was on: its 64-bit sort keys need 64-bit constants.
    with jax.enable_x64(True):
        reading = _measure_ranking(bounds, data)
    return jax.tree.map(
        lambda array: array.astype(jax.dtypes.canonicalize_dtype(array.dtype)), reading
    )


@partial(jax.jit, static_argnums=0)
def _measure_ranking(bounds: tuple[Bound, ...], data: RankingData) -> Reading:
    read_all: Callable[[RankingData], Reading] = partial(read, bounds)
    pool = data.pool
    if pool is not None and isinstance(pool.layout, packed.Packed):
        for _ in range(pool.layout.ids.ndim - 1):  # packed lists that went through vmap
            read_all = jax.vmap(read_all)
    # Align first, because arrays of one call may have been sharded in different ways.
    data = shards.align_lists(data, data.list_exists)
    return shards.map_shards(read_all, data, data.list_exists)


def measure_lists(bounds: tuple[Bound, ...], lists: ScoredLists) -> dict[str, PerList]:
    """Ranks once and reads every metric; returns a dict of values by name."""
    check_columns(bounds, lists.raw_items.columns, allow_unread=False)
    return _values_by_name(bounds, _measure_lists(bounds, lists_as_read(bounds, lists)))


@partial(jax.jit, static_argnums=0)
def _measure_lists(bounds: tuple[Bound, ...], lists: ScoredLists) -> Reading:
    return rank.read_lists(lists, partial(read, bounds))


def mean_lists(
    bounds: tuple[Bound, ...], lists: ScoredLists, undefined: types.Undefined
) -> dict[str, mean.Mean]:
    """Ranks once and reads the mean of every metric; returns a dict of states by name."""
    check_columns(bounds, lists.raw_items.columns, allow_unread=False)
    means, refused = _mean_lists(bounds, lists_as_read(bounds, lists), undefined)
    raise_refused(refused)
    return _by_name(bounds, means)


@partial(jax.jit, static_argnums=(0, 2))
def _mean_lists(
    bounds: tuple[Bound, ...], lists: ScoredLists, undefined: types.Undefined
) -> tuple[list[mean.Mean], dict[str, jax.Array]]:
    cache = Cache()
    values, refused, _ = rank.read_lists(lists, partial(read, bounds, cache=cache))
    kinds, unit_weights = [bound.state for bound in bounds], cache.get(UNIT_WEIGHTS)
    options = unit_weights, lists.ranks is None and lists.segment_ids is None
    return mean.traced_means_of(values, undefined, kinds, *options), refused


def _values_by_name(bounds: Sequence[Bound], reading: Reading) -> dict[str, PerList]:
    raise_refused(reading.refused)
    return _by_name(bounds, reading.values)


def _by_name(bounds: Sequence[Bound], results: Sequence[R]) -> dict[str, R]:
    return dict(zip([bound.name for bound in bounds], results, strict=True))
