"""A batch of queries with candidates of their own, which alone have a rank."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._drivers import step
from jax_rank_metrics._drivers.interactions import SparseRows
from jax_rank_metrics._drivers.plan import Plan
from jax_rank_metrics._items import GROUPS
from jax_rank_metrics._ranking import data_of
from jax_rank_metrics._sources.item_groups import memberships_of
from jax_rank_metrics._sources.rank import rank


class Listed(NamedTuple):
    """The candidates of all queries and their relevant items, as sparse rows.

    Both have the same entries, sorted by id.

    Attributes:
        labels: `[queries, items]`, the relevance of each listed item; 0 is stored.
        kinds: `[queries, items]`, 1 for candidates that were not judged, 2 for judged
            items that are no candidates, and 3 for both.
    """

    labels: SparseRows
    kinds: SparseRows

    @classmethod
    def of(
        cls,
        candidates: SparseRows,
        relevant: SparseRows,
        excluded: SparseRows | None,
    ) -> "Listed":
        """Joins candidates and relevant items, without those that leave the lists.

        Args:
            candidates: `[queries, items]`, 1 where an item is a candidate.
            relevant: `[queries, items]`, labels, of which 0 may be stored.
            excluded: `[queries, items]`, what leaves the lists; or None.
        """
        import scipy.sparse

        # Codes of a sum say which of the matrices hold an entry: 1 is a candidate that is
        # not judged, 2 a judged item that was missed, 3 both, and 4 and more leave.
        is_judged = relevant.astype(np.int8)
        is_judged.data[:] = 1
        codes = (candidates > 0) * 1 + is_judged * 2
        if excluded is not None:
            codes = codes + (excluded > 0) * 4
        codes = scipy.sparse.csr_array(codes)
        # Labels and kinds have the same entries, so that both are padded alike.
        codes.data *= codes.data < 4
        codes.eliminate_zeros()
        codes.sort_indices()
        labels = codes.astype(np.float64)
        labels.data[:] = 1
        # 1 more than the label, since a sum of sparse matrices does not store zeros.
        labels = scipy.sparse.csr_array(labels + relevant.multiply(codes > 0))
        labels.sort_indices()
        labels.data -= 1
        return cls(labels, codes.astype(np.float32))

    @property
    def widths(self) -> np.ndarray:
        """The number of items of each list, `[queries]`."""
        return np.diff(self.labels.indptr)


def measure_candidates(
    plan: Plan, catalog: step.CatalogArrays, queries: step.CandidateBatch
) -> step.BatchValues:
    """Ranks the candidates of each query of a batch, and measures these rankings.

    Returns:
        As `measure_queries`.
    """
    # [queries, listed]; scores of padding are computed too, and never read.
    scores = catalog.similarity.of_pairs(
        jnp.asarray(queries.rows), jnp.asarray(queries.items)
    )
    exists = jnp.asarray(queries.ids) >= 0
    # Where nothing is listed, an item without a rank stands for all those not listed: such
    # a query counts like any other without a relevant item.
    is_empty = ~jnp.any(exists, axis=-1, keepdims=True)
    in_pool = exists | (is_empty & (jnp.arange(exists.shape[-1]) == 0)[None])
    # As for a catalogue, items that no label was passed of were not judged.
    kinds = jnp.asarray(queries.kinds)
    is_judged, retrieved = kinds >= 2, (kinds == 1) | (kinds == 3)
    if plan.skips_inf:
        retrieved &= scores != -jnp.inf
    columns = {"judged": is_judged, "pooled": is_judged}
    if catalog.groups is not None:
        columns |= {GROUPS: memberships_of(catalog.groups, jnp.asarray(queries.ids))}
    ranking = rank(
        queries.labels,
        scores,
        in_pool,
        step.list_weights(queries),
        queries.key,
        k=None if plan.whole_list_metrics else plan.depth,
        ties=plan.ties,
        retrieved=retrieved,
        columns=columns,
    )
    values, faults = step.read_by_name(plan.bounds, data_of(ranking))
    # The ranking knows items by their slots in the lists, [queries, k].
    slots = ranking.items[..., : plan.k]
    ids = jnp.take_along_axis(queries.ids, jnp.maximum(slots, 0), axis=-1)
    ids = jnp.where(slots >= 0, ids, -1)
    lists = [values[bound.name] for bound in plan.bounds]
    lists += [measure(ids) for measure in step.measures_of_ids(plan, catalog).values()]
    return lists, ids, faults
