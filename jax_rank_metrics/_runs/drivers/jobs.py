"""A whole evaluation: its options, its queries, and the arrays of its batches."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import jax
import numpy as np

from jax_rank_metrics._engine.calls import binding
from jax_rank_metrics._engine.items import GROUPS
from jax_rank_metrics._engine.metrics import run, spec
from jax_rank_metrics._engine.sources import attributes, item_columns, lists
from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._runs.drivers import batching
from jax_rank_metrics._runs.drivers.devices import Devices
from jax_rank_metrics._runs.drivers.interactions import USER, Unit, Vocabularies
from jax_rank_metrics._runs.drivers.judgements import Judgements
from jax_rank_metrics._runs.drivers.scorers import Embeddings, Scores, ScoreSource

# A batch holds at most this many scores at once, if all items are in one block: 128 MiB. A
# batch also gathers at most this many numbers from the embeddings of its candidates.
MAX_AT_ONCE = 2**25

# How long a CPU takes to gather one number of an embedding and to multiply it.
NANOSECONDS_A_NUMBER = 2.0

# Batches are never made smaller than this to save memory.
MIN_SIZE = 32

# How many items are scored at a time, unless all of them must be in one block.
BLOCK_SIZE = 4096


class Options(NamedTuple):
    """The static options of programs, which all batches share.

    Attributes:
        bounds: The metrics, with their options.
        k: How many items are returned for each query.
        block_size: How many items `rank_catalog` scores at a time.
        ties: The tie policy.
        label_fn: The function that labels items by attributes; None if relevant items are
            known by ids.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which items are cut.
        num_items: How many items all parts have; None in programs that do not read it.
        counts_all: True if metrics with a cutoff, too, read counted ranks, not the top-k.
            The top-k then has `k` ranks.
        skips_inf: True if an item with a score of −∞ has no rank.
        finds_inf: True if the result tells, for each query, whether an item has a rank and
            a score of −∞. All items must be in one block.
        missed_from: The smallest number of an unknown item. Unknown items count as missed
            if they are relevant. None if there are no such items.
    """

    bounds: tuple[spec.Bound, ...]
    k: int
    block_size: int
    ties: types.Ties | None
    label_fn: attributes.LabelFn | None = None
    items_axis: types.AxisNames | None = None
    num_items: int | None = None
    counts_all: bool = False
    skips_inf: bool = False
    finds_inf: bool = False
    missed_from: int | None = None

    @property
    def top_k_metrics(self) -> tuple[spec.Bound, ...]:
        """The metrics that read the top-k."""
        bounds = () if self.counts_all else self.bounds
        return tuple(bound for bound in bounds if bound.depth)

    @property
    def whole_list_metrics(self) -> tuple[spec.Bound, ...]:
        """The metrics that read counted ranks: without a cutoff, or all (`counts_all`)."""
        return tuple(
            bound for bound in self.bounds if self.counts_all or bound.depth is None
        )

    def reads_hash(self, bound: spec.Bound) -> bool:
        """True if a metric reads tied items in the order of a hash."""
        return self.ties is None and bound.tie_reading == "order"

    @property
    def ties_of_places(self) -> str | None:
        """The tie policy for counted ranks.

        None and "expected" become "tied", unless a metric reads an order of tied items.
        """
        # An expected value needs only the number of tied items, so no hash orders them.
        readings = [bound.tie_reading for bound in self.whole_list_metrics]
        is_grouped = self.ties in (None, "expected")
        return "tied" if is_grouped and "order" not in readings else self.ties

    @property
    def depth(self) -> int:
        """The number of ranks in the top-k: the largest of `k` and the cutoffs."""
        depths = [bound.depth for bound in self.top_k_metrics]
        return max([self.k, *(depth for depth in depths if depth is not None)])


class EvaluationJob(NamedTuple):
    """The queries of a call, their judgements, and the metrics to measure.

    Attributes:
        options: The options that all batches share, including the metrics.
        scorer: The source of scores, which knows the devices.
        judgements: The items that each query is judged on; row i belongs to query i.
        rows: `[queries]`, the row of each query in the scorer: all rows, or the rows of
            chosen users.
        ids: The ids of all rows and of all items.
        unit: The nouns for a query in messages.
        batch_size: How many queries share a batch at most.
        key: The key of all random ties, or None.
        choices: Choices of the caller that are not among the options; see `signature`.
    """

    options: Options
    scorer: ScoreSource
    judgements: Judgements
    rows: np.ndarray
    ids: Vocabularies
    unit: Unit
    batch_size: int
    key: jax.Array | None
    choices: Mapping[str, str] = MappingProxyType({})

    @property
    def devices(self) -> Devices:
        """The devices that share the work."""
        return self.scorer.devices

    @property
    def parts(self) -> np.ndarray:
        """The queries of each part of the devices; see `query_parts`."""
        return batching.query_parts(self.devices, self.rows, self.scorer.queries)

    def batches(self, num_items: int) -> list[batching.Batch]:
        """Divides queries into batches, each of similar numbers of ids or candidates.

        Args:
            num_items: The number of items, or a lower bound of it.
        """
        scorer, num_queries = self.scorer, self.rows.size
        if self.judgements.membership is not None:
            row_size = scorer.numbers_per_pair
            max_size = batching.batch_size_for(num_queries, self.batch_size)

            def size_for(width: int) -> int:
                size = bounded(max_size, width * row_size, min_size=1)
                return self.devices.batch_size(size)

            # Lists of similar lengths share a batch, because the vectors of padding are
            # gathered, too.
            widths = np.diff(self.judgements.membership.indptr)
            cost = NANOSECONDS_A_NUMBER * row_size
            return list(batching.batches_by_width(widths, size_for, cost, self.parts))
        # [queries, 2]: the numbers of excluded and of relevant ids; 0 without ids.
        lengths = np.zeros((num_queries, 2), np.int64)
        for column, rows in enumerate(
            (self.judgements.exclude, self.judgements.relevant)
        ):
            if rows is not None:
                lengths[:, column] = np.diff(rows.indptr)
        block_size = self.options.block_size
        row_size = scorer.numbers_per_query(block_size, num_items)
        size = batching.batch_size_for(num_queries, self.batch_size, row_size)
        if not isinstance(scorer, Scores):  # `batch_size` alone bounds `Scores`
            size = bounded(size, row_size)
        num_blocks = (
            -(-num_items // block_size) if isinstance(scorer, Embeddings) else 1
        )
        cost = batching.Cost(
            num_items, num_blocks, bool(self.options.whole_list_metrics)
        )
        size = self.devices.batch_size(size)
        return list(batching.make_batches(lengths, size, cost, self.parts))

    def arrays(
        self, number: int, batch: batching.Batch, mask: np.ndarray | None
    ) -> batching.QueryBatch:
        """Returns the arrays of a batch; NumPy arrays are later put on devices together.

        Args:
            number: The number of the batch, which makes its random ties differ from other
                batches.
            batch: The batch.
            mask: `[items]` bool, the items that exist; None for all.
        """
        judged, devices, scorer = self.judgements, self.devices, self.scorer
        indices, rows = batch.indices.astype(np.int32), self.rows[batch.indices]
        key = None if self.key is None else jax.random.fold_in(self.key, number)
        # Give tied items another order for each user, because recommendations are counted
        # over all users. Other queries share one order.
        tie_ids = rows.astype(np.int32) if key is None and self.unit == USER else None
        if judged.membership is not None:
            width = batch.widths[1]
            ids, labels = batching.pad_rows(judged.listed_labels, indices, width)
            _, membership = batching.pad_rows(judged.membership, indices, width)
            known = ids
            if self.options.missed_from is not None:
                known = np.where(ids < self.options.missed_from, ids, -1)
            if mask is not None:
                is_listed = mask[known] | (known != ids)
                ids = np.where(is_listed, ids, -1)
                labels, membership = labels * is_listed, membership * is_listed
            vectors, items = scorer.pairs(rows, known)
            arrays = batching.QueryBatch(indices, vectors, key, tie_ids, ids, labels)
            return arrays._replace(
                items=items,
                membership=membership.astype(np.int8),
                profile_ids=self._profiles(indices),
            )
        arrays = batching.QueryBatch(
            indices,
            scorer.rows(rows),
            key,
            tie_ids,
            attributes=jax.tree.map(
                lambda table: devices.rows(
                    "query_attributes", table, indices, devices.of_queries
                ),
                judged.query_attributes,
            ),
        )
        if judged.relevant is not None:
            ids, labels = batching.pad_rows(judged.relevant, indices, batch.widths[1])
            arrays = arrays._replace(listed_ids=ids, labels=labels)
        if judged.exclude is not None:
            ids, _ = batching.pad_rows(judged.exclude, indices, batch.widths[0])
            profile_ids = self._profiles(indices)
            arrays = arrays._replace(excluded_ids=ids, profile_ids=profile_ids)
        if judged.shared_candidates is not None:
            masks = judged.shared_candidates.masks(indices)
            arrays = arrays._replace(candidates=masks)
        return arrays

    def _profiles(self, indices: np.ndarray) -> np.ndarray | None:
        """Returns the items that users have seen, `[queries, profile]`; None if not needed.

        Only metrics that read columns of items need them. Unknown items are left out,
        because they have no columns.
        """
        seen, bounds = self.judgements.exclude, self.options.bounds
        reads_items = any(bound.spec.item_columns for bound in bounds)
        if seen is None or self.unit != USER or not reads_items:
            return None
        longest = np.diff(seen.indptr)[indices[indices >= 0]].max(initial=0)
        width = batching.padded_width(max(int(longest), batching.NARROW[0]))
        ids, _ = batching.pad_rows(seen, indices, width)
        missed_from = self.options.missed_from
        return ids if missed_from is None else np.where(ids < missed_from, ids, -1)


# Columns with more numbers an item than this are cut over the devices like the items.
_MAX_WHOLE = 32


def read_item_columns(
    columns: Mapping[str, Any], options: Options, num_items: int | None
) -> tuple[dict[str, jax.Array], dict[str, jax.Array]]:
    """Checks and prepares the columns of items; each must be read by a metric.

    Args:
        columns: A dict from names to columns, `[num_items, …]`.
        options: The options; columns are refused if items are labelled by attributes.
        num_items: How many items there are; None if that is not known yet.

    Returns:
        The columns that are whole on every device, and the columns that are cut.
    """
    if columns and options.label_fn is not None:
        raise ValueError(
            "item_columns is given, but relevant is by attributes; pass the ids of "
            "relevant items together with item_columns"
        )
    arrays = inputs.item_columns(
        columns, None, () if num_items is None else {num_items}
    )
    if GROUPS in arrays:
        # NaN means unknown. Infinite weights such as 1/0 are clipped when they are read.
        group_weights = inputs.by_items("item_columns['groups']", columns[GROUPS])
        lowest = np.nanmin(np.asarray(group_weights), initial=0)
        if lowest < 0 or not arrays[GROUPS].any():
            raise ValueError(
                "item_columns['groups'] holds "
                f"{lowest if lowest < 0 else 'no number above 0'}; pass how much of each "
                "item belongs to each group, and 0 or nan if that is not known"
            )
    run.check_columns(options.bounds, arrays, allow_unread=True)
    read = {name for bound in options.bounds for name in bound.spec.all_columns}
    if unread := sorted(arrays.keys() - read):
        raise ValueError(
            f"item_columns holds {unread[0]!r}, which no metric of this call reads; leave "
            "it out"
        )
    pairs = [pair for bound in options.bounds for pair in bound.spec.prepared]
    arrays = item_columns.made_of(arrays, dict.fromkeys(pairs))
    # Drop a column that was passed if all its readers read a prepared form of it.
    kept = {
        bound.spec.key_of(name)
        for bound in options.bounds
        for name in bound.spec.all_columns
    }
    arrays = {name: values for name, values in arrays.items() if name in kept}
    wide = {
        name: values
        for name, values in arrays.items()
        if math.prod(values.shape[1:]) > _MAX_WHOLE
    }
    return {name: arrays[name] for name in arrays if name not in wide}, wide


def make_options(
    metrics: binding.Metrics,
    k: int | None,
    block_size: int | None,
    ties: types.Ties | None,
    key: types.Key | None,
    **flags: Any,
) -> tuple[Options, jax.Array | None]:
    """Checks the options that all batches share; see `Options`.

    Without `k`, the deepest cutoff of a metric on the top-k tells how many items are
    returned. Without `block_size`, the driver sets the size once the number of items is
    known.

    Args:
        metrics: The argument.
        k: The argument.
        block_size: The argument.
        ties: The argument.
        key: The argument.
        **flags: Fields of the options that the driver sets.

    Returns:
        The options, and the key of random ties or None; a key cannot be a static option.
    """
    bounds, (policy, key) = binding.bind_all(metrics), lists.resolve(ties, key)
    block_size = 1 if block_size is None else block_size
    block_size = inputs.positive_integer("block_size", block_size)
    name = cast(types.Ties | None, policy.name)
    options = Options(bounds, 0, block_size, name, **flags)
    if k is None and not options.top_k_metrics and not options.counts_all:
        raise ValueError(
            "no metric has a cutoff that is a number of items; pass the number of items to "
            "return as k"
        )
    # Metrics may need more than k ranks; see `Options.depth`.
    k = options.depth if k is None else inputs.positive_integer("k", k)
    return options._replace(k=k), key


def block_size_for(options: Options, judgements: Judgements, num_items: int) -> int:
    """Chooses how many items are scored at a time: all if labels need that and all fit.

    Args:
        options: The options.
        judgements: The judgements, which may have a function that labels items.
        num_items: How many items there are.
    """
    # With a label function, all items must be in one block if labels are numbers, or if
    # ranks are counted.
    dtype = judgements.label_dtype
    needs_one_block = dtype is not None and (
        bool(options.whole_list_metrics) or dtype != np.bool_
    )
    if needs_one_block and num_items * MIN_SIZE <= MAX_AT_ONCE:
        return num_items
    return BLOCK_SIZE


def bounded(size: int, numbers_per_query: int, min_size: int = MIN_SIZE) -> int:
    """Returns the size of a batch, reduced so that its numbers fit in `MAX_AT_ONCE`.

    It is not reduced below `min_size`.
    """
    return max(min(size, MAX_AT_ONCE // max(numbers_per_query, 1)), min(size, min_size))
