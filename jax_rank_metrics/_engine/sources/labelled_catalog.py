"""Catalogues whose items a function labels, as rows or streamed block by block."""

import dataclasses

import jax
import jax.numpy as jnp
from jax import lax

from jax_rank_metrics._engine.items import ItemArrays
from jax_rank_metrics._engine.ordering import outranking
from jax_rank_metrics._engine.ordering.candidates import RawCandidates
from jax_rank_metrics._engine.ordering.streaming import BestSoFar
from jax_rank_metrics._engine.places import first_stop
from jax_rank_metrics._engine.ranking import pools, ranking, ranking_data
from jax_rank_metrics._engine.ranking.item_fns import ItemFn, item_predicate
from jax_rank_metrics._engine.sources import attributes, list_arguments, rank, streams
from jax_rank_metrics._engine.sources.blocks import Block, Catalog, map_catalog_shards
from jax_rank_metrics._ground import arithmetic, pytrees


def rank_labelled(catalog: Catalog) -> ranking_data.RankingData:
    """Ranks a catalogue whose items a function labels.

    Items that fit in one block are ranked as rows, whose order is known to the end. More
    items are streamed in blocks: the ranking keeps the first ranks if the catalogue has a
    depth, and the catalogue is read again to find first stops.
    """
    if not _is_streamed(catalog):
        labels, scores, mask, retrieved = _rows(catalog)
        lists = list_arguments.checked(
            *(labels, scores, mask),
            key=catalog.key,
            list_weights=catalog.list_weights,
            items_axis=catalog.items_axis,
            retrieved=retrieved,
        )
        lists = dataclasses.replace(lists, ranks=catalog.depth, policy=catalog.policy)
        return ranking.data_of(rank.rank_checked(lists))
    data = _first_ranks(catalog)
    # Add the catalogue here, because a compiled program would return copies of its arrays.
    return dataclasses.replace(data, pool=StreamedPool.of(data.pool, catalog))


def rank_labelled_twice(
    catalog: Catalog, ties_of_stops: str | None
) -> tuple[ranking_data.RankingData | None, ranking_data.RankingData]:
    """Ranks twice by `rank_labelled`: to the depth of the catalogue, and without a depth.

    The first ranking is None if the catalogue has no depth. The second has the tie policy
    `ties_of_stops`. If there are two rankings and items are streamed, nothing is streamed
    for the second ranking until a metric reads it.
    """
    policy = dataclasses.replace(catalog.policy, name=ties_of_stops)
    uncut = dataclasses.replace(catalog, depth=None, policy=policy)
    if catalog.depth is None:
        return None, rank_labelled(uncut)
    first_ranks = rank_labelled(catalog)
    if not _is_streamed(catalog):
        return first_ranks, rank_labelled(uncut)
    stops = ranking_data.RankingData(
        items_held=None,
        # Totals of the pool do not depend on ties, so one pool serves both rankings.
        pool=StreamedPool.of(first_ranks.pool, uncut),
        length=first_ranks.length,
        list_exists=first_ranks.list_exists,
        list_weights=first_ranks.list_weights,
        ties=ties_of_stops,
        has_nan=first_ranks.has_nan,
        label_dtype=first_ranks.label_dtype,
    )
    return first_ranks, stops


@pytrees.pytree()
class StreamedPool(pools.Pool):
    """A pool that finds first stops by streaming its catalogue twice.

    A stop is an item for which a metric's `stop_fn` is true, such as a relevant item. The
    first pass finds the first stop, and how many other stops tie with it. The second pass
    counts the items that rank above the first stop.
    """

    catalog: Catalog

    @classmethod
    def of(cls, pool: pools.Pool | None, catalog: Catalog) -> "StreamedPool":
        """Adds the catalogue of the items to a pool."""
        assert pool is not None
        return cls(pool.items, pool.layout, catalog)

    @property
    def finds_stops(self) -> bool:
        """True: the catalogue is read again."""
        return True

    @property
    def order_error(self) -> str:
        """The message for a metric that reads ranks that this ranking does not hold."""
        where, cure = "in one block", f", or block_size={self.catalog.total_items}"
        if self.catalog.items_axis is not None:
            where, cure = "on one device", ""
        return (
            "this metric reads ranks, but this ranking holds none: with label_fn and no "
            "cutoff, only the items above the first relevant one are counted, unless all "
            f"items are {where}; pass a cutoff, such as map@100 to a driver or k=100 to "
            f"rank_catalog{cure}"
        )

    def first_stop(self, stop_fn: ItemFn, in_groups: bool) -> first_stop.FirstStop:
        """Finds the first item that stops; see `Pool.first_stop`."""
        stream, axis = streams.Stream.of(self.catalog), self.catalog.items_axis
        if in_groups:
            stream = stream.under("tied")  # without tie-breaks

        def add(
            state: tuple[BestSoFar, jax.Array], block: Block, candidates: RawCandidates
        ) -> tuple[BestSoFar, jax.Array]:
            del block
            best, length = state
            items = candidates.read().items
            # Mask all other items, so that the best item that is left is the first stop.
            stop = item_predicate(stop_fn, items)
            length = length + arithmetic.count(stop)
            candidates = candidates._replace(items=ItemArrays(items.labels, stop))
            return best.extended(candidates, stream.policy, length), length

        lists = stream.relevant_ids.shape[:-1]
        zeros = jnp.zeros(lists, jnp.int32)
        # One rank: `dropped` then counts the other stops that tie with the best one.
        start = (BestSoFar(stream.no_candidates((*lists, 1)), zeros), zeros)
        best, _ = stream.fold(add, start)
        first, dropped = best.in_order(stream.policy, axis)
        # The second pass counts all items that rank above the stop, not only other stops.
        counts = stream.outranked(outranking.Outranking.zeros((*lists, 1)), first)
        if axis is not None:
            counts = lax.psum(counts, axis)
        # `[*lists, 1]` each: the first stop is the only target.
        above, tied, before = (count[..., 0] for count in counts[:3])
        exists = first.items.exists[..., 0]
        if not in_groups:
            return first_stop.at_known_rank(before, exists)
        stops = jnp.where(exists, dropped + 1, 0)
        return first_stop.FirstStop(above, tied, stops)


def _is_streamed(catalog: Catalog) -> bool:
    """True if items are in several blocks, or sharded over devices without a depth.

    Raises:
        ValueError: if items are streamed, but labels are not bools.
    """
    # Rows that are sharded over devices cannot be ranked to their end.
    is_cut = catalog.items_axis is not None and catalog.depth is None
    if catalog.num_blocks == 1 and not is_cut:
        return False
    labels = jax.eval_shape(lambda: catalog.block(jnp.int32(0)).labels)
    assert labels is not None and catalog.attributes is not None
    cure = f"a block_size of at least the number of items, {catalog.num_items}"
    attributes.refuse_numbers(labels.dtype, "a cutoff k" if is_cut else cure)
    return True


_Rows = tuple[jax.Array, jax.Array, jax.Array, jax.Array | None]


@jax.jit
def _rows(catalog: Catalog) -> _Rows:
    """Returns four arrays `[*lists, items]` of a catalogue in one block.

    They are labels, scores, a bool that is true for items that exist, and a bool that is
    true for items that have a rank; the last is None if every item that exists has a rank.
    """
    return map_catalog_shards(_rows_of_shard, catalog, has_items=True)


def _rows_of_shard(catalog: Catalog) -> _Rows:
    block = catalog.block(jnp.zeros((), jnp.int32))
    assert block.labels is not None
    labels = jnp.where(block.exists, block.labels, jnp.zeros_like(block.labels))
    # Return the result of the function itself, so that known scores are not copied.
    scores = catalog.similarity.scores(catalog.queries, catalog.items)
    return labels, scores, block.exists, block.retrieved


# Returns the ranking without its catalogue.
_first_ranks = jax.jit(streams.rank_listed)
