"""Beyond accuracy: what was recommended, whether or not it was relevant.

Nothing here reads labels. What is known of an item, such as how often it was seen in
training or its embedding, is a row of a table over the catalogue, looked up by its id.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs, _mesh, _shards, _types
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._formulas.id_lists import equally_weighted, ranked_ids
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._states.exposure import Exposure
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cutoffs

# formula(rows, is_within, table) returns the values, `[*lists, len(ks)]`, and the number of
# items that a list needs for its value to be defined. `rows` are the rows of the table for
# the items of each list, `[*lists, ranks, …]`, 0 for padding; `is_within` is 1 for items
# within a cutoff and 0 elsewhere, `[*lists, len(ks), ranks]`.
Formula = Callable[[jax.Array, jax.Array, jax.Array], tuple[jax.Array, int]]


def exposure(ids: _types.RankedIds | Ranking, num_items: int) -> Exposure:
    """Counts how often each item of a catalogue is in the lists, as a mergeable state.

    For coverage, Gini index, entropy and personalization of all lists together; see
    `Exposure`. Inside `jax.shard_map`, pass the states to `all_reduce`.

    Args:
        ids: `[*lists, ranks]` integers; those outside 0 … num_items − 1 are padding. All
            ranks count: pass `ids[..., :k]` for a cutoff. Or a `Ranking`, of which
            `items` are read, down to where it was cut.
        num_items: Number of items of the catalogue, recommended or not; static.

    Raises:
        ValueError: if ids are sharded by the type of their array; if a ranking has no
            order or is of packed lists.
        TypeError: if ids are not integers, or `num_items` is not a Python int.

    >>> state = exposure(jnp.array([[0, 1], [0, 2], [-1, -1]]), num_items=4)
    >>> state.counts.tolist(), int(state.lists), int(state.non_empty)
    ([2, 1, 1, 0], 3, 2)
    >>> state.coverage().item(), state.gini().item(), state.personalization().item()
    (0.75, 0.375, 0.5)
    """
    num_items = _inputs.positive_integer("num_items", num_items)
    id_array, _ = ranked_ids("ids", ids)
    _inputs.unsharded("ids", id_array, "and all_reduce the states")
    return _count_exposure(id_array, num_items)


def popularity(
    ids: _types.RankedIds | Ranking,
    counts: _types.PerItem,
    k: Cutoffs = None,
    *,
    log: bool = True,
) -> PerList:
    """Mean popularity of the first k items of each list.

    The popularity of an item is ln(count), or the count itself. Logarithms keep the few
    items that everybody knows from dominating the mean. Lower values mean that less
    popular items are recommended; neither direction is better in itself.

    Undefined (a list without items): 0. Every list has the weight 1.

    Args:
        ids: `[*lists, ranks]` integers in rank order, or a `Ranking`; see `exposure`.
            Padding leaves the list, and later ids move up. A repeated id counts again.
        counts: `[num_items]`, how often each item was seen in training. With `log`, an
            item that was never seen counts as if it had been seen once.
        k: Cutoff or cutoffs; None is all items.
        log: Whether to take natural logarithms.

    Raises:
        ValueError: as `exposure`; if counts have another shape; if a ranking was cut
            above k.
        TypeError: if ids are not integers.

    References:
        Abdollahpouri, Burke and Mobasher, Managing popularity bias in recommender systems
        with personalized re-ranking, FLAIRS 2019 (counts). With `log=False` it agrees
        with RecBole's `averagepopularity`.

    >>> ids, counts = jnp.array([2, 0, 1]), jnp.array([4, 1, 16])
    >>> popularity(ids, counts, k=(1, 2), log=False).values.tolist()
    [16.0, 10.0]
    >>> f"{popularity(ids, counts, k=2).values:.4f}"  # (ln 16 + ln 4) / 2 = ln 8
    '2.0794'
    """
    counts = _inputs.catalog_array("counts", counts)
    return _measure(_mean_log_count if log else _mean_count, ids, counts, k)


def novelty(
    ids: _types.RankedIds | Ranking, counts: _types.PerItem, k: Cutoffs = None
) -> PerList:
    """Novelty: the mean self-information of the first k items, in bits.

    .. math:: novelty@k = (1 / n) · Σ_i −log_2(count_i / Σ_j count_j)

    The first sum is over the n items up to rank k, the second over the catalogue. It says
    how surprising items are to somebody who knows what was seen in training.

    Undefined (a list without items): 0. Every list has the weight 1.

    Args:
        ids: `[*lists, ranks]` integers in rank order, or a `Ranking`; see `popularity`.
        counts: `[num_items]`, how often each item was seen in training. An item that was
            never seen counts as if it had been seen once, and the sum stays as it is: it
            is as novel as the rarest items, and no list is infinitely novel.
        k: Cutoff or cutoffs; None is all items.

    Raises:
        ValueError: as `popularity`.
        TypeError: if ids are not integers.

    References:
        Zhou et al., Solving the apparent diversity-accuracy dilemma of recommender
        systems, PNAS 107(10), 2010; Vargas and Castells, Rank and relevance in novelty
        and diversity metrics for recommender systems, RecSys 2011. Agrees with
        recommenders' `novelty` for lists of one length of items seen in training.

    >>> ids, counts = jnp.array([2, 0, 1]), jnp.array([4, 0, 12])
    >>> [f"{value:.4f}" for value in novelty(ids, counts, k=(2, 3)).values]
    ['1.2075', '2.1383']

    The first is the mean of 0.415 bits, for 3/4, and 2 bits, for 1/4; the second adds
    4 bits, for 1/16.
    """
    counts = _inputs.catalog_array("counts", counts)
    return _measure(_mean_information, ids, counts, k)


def intra_list_diversity(
    ids: _types.RankedIds | Ranking,
    embeddings: _types.Embeddings,
    k: Cutoffs = None,
) -> PerList:
    """Intra-list diversity: 1 − the mean cosine of all pairs of the first k items.

    It is 0 where all items point the same way, 1 where they are orthogonal, and at most
    n/(n − 1) for n items. Work and memory grow with ranks·features, not with the number
    of pairs.

    Undefined (fewer than two items): 0. Every list has the weight 1.

    Args:
        ids: `[*lists, ranks]` integers in rank order, or a `Ranking`; see `popularity`.
        embeddings: `[num_items, features]`. An embedding of zeros has the cosine 0 with
            all others.
        k: Cutoff of at least 2, or a tuple of them; None is all items.

    Raises:
        ValueError: as `popularity`; if k is 1, which leaves no pair.
        TypeError: if ids are not integers.

    References:
        Ziegler, McNee, Konstan and Lausen, Improving recommendation lists through topic
        diversification, WWW 2005; Castells, Hurley and Vargas, Novelty and diversity in
        recommender systems, Recommender Systems Handbook, 2015.

    >>> embeddings = jnp.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> lists = intra_list_diversity(jnp.array([0, 1, 2]), embeddings, k=(2, 3))
    >>> [f"{value:.4f}" for value in lists.values]  # one pair of three is parallel
    ['1.0000', '0.6667']
    """
    ks = _inputs.cutoffs(k)
    if 1 in ks:
        raise ValueError(f"k is {k}; diversity is of pairs, pass k >= 2")
    embeddings = _inputs.catalog_array("embeddings", embeddings, ("features",))
    return _measure(_mean_distance, ids, embeddings, k)


def _measure(
    formula: Formula, ids: _types.RankedIds | Ranking, table: jax.Array, k: Cutoffs
) -> PerList:
    """Looks up the rows of a table for lists of ids, and applies a formula to them.

    Args:
        formula: See `Formula`.
        ids: `[*lists, ranks]` integers or a `Ranking`; ids without a row are padding.
        table: `[num_items, …]`, a row per id.
        k: As the metric received it.
    """
    ks = _inputs.cutoffs(k)
    id_array, dtype = ranked_ids("ids", ids, ks)
    dtype = max(dtype, _inputs.float_dtype(table), key=lambda dtype: dtype.itemsize)
    keep_cutoffs = isinstance(k, (tuple, list))
    return _apply(formula, ks, keep_cutoffs, dtype.name, id_array, table)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _apply(
    formula: Formula,
    ks: tuple[int | None, ...],
    keep_cutoffs: bool,
    dtype: str,
    ids: jax.Array,
    table: jax.Array,
) -> PerList:
    def apply_to_shard(tree: tuple[jax.Array, jax.Array]) -> PerList:
        ids, table = tree
        exists = (ids >= 0) & (ids < table.shape[0])
        ranks = _arithmetic.cumulative_count(exists)
        is_within = [exists if k is None else exists & (ranks <= k) for k in ks]
        rows = table[jnp.where(exists, ids, 0).astype(jnp.int32)].astype(dtype)
        rows = jnp.where(_arithmetic.widen(exists, rows), rows, 0)
        values, items_needed = formula(
            rows, jnp.stack(is_within, -2).astype(dtype), table
        )
        defined = _arithmetic.count(exists) >= items_needed
        return equally_weighted(values, defined, keep_cutoffs)

    return _shards.map_shards(apply_to_shard, (ids, table), ids[..., 0])


def _mean_count(
    counts: jax.Array, is_within: jax.Array, table: jax.Array
) -> tuple[jax.Array, int]:
    del table
    return _mean_within(counts, is_within), 1


def _mean_log_count(
    counts: jax.Array, is_within: jax.Array, table: jax.Array
) -> tuple[jax.Array, int]:
    del table
    return _mean_within(jnp.log(_positive_or_one(counts)), is_within), 1


def _mean_information(
    counts: jax.Array, is_within: jax.Array, table: jax.Array
) -> tuple[jax.Array, int]:
    total = _arithmetic.total(jnp.maximum(table.astype(counts.dtype), 0))
    bits = jnp.log2(_positive_or_one(total)) - jnp.log2(_positive_or_one(counts))
    return _mean_within(bits, is_within), 1


def _mean_within(values: jax.Array, is_within: jax.Array) -> jax.Array:
    """Means of `[*lists, ranks]` over the items within each cutoff."""
    sums = _arithmetic.dot(is_within, values[..., None])[..., 0]
    return ratio(sums, _arithmetic.total(is_within))


def _positive_or_one(x: jax.Array) -> jax.Array:
    return jnp.where(x > 0, x, 1)


def _mean_distance(
    vectors: jax.Array, is_within: jax.Array, table: jax.Array
) -> tuple[jax.Array, int]:
    """1 − the mean cosine of all pairs, without forming pairs.

    With unit vectors u, |Σ u|² = Σ |u|² + Σ_{i≠j} u_i·u_j: the sum of the cosines of all
    ordered pairs is what remains of the squared length of the sum of the unit vectors
    when their own squared lengths are subtracted.
    """
    del table
    # Divided by the largest entry first, so that no square overflows.
    largest = jnp.max(jnp.abs(vectors), axis=-1, keepdims=True, initial=0)
    vectors = ratio(vectors, largest)
    squared_lengths = _arithmetic.total(vectors * vectors)[..., None]
    units = ratio(vectors, jnp.sqrt(_positive_or_one(squared_lengths)))
    # As computed: 0 for a vector of zeros, otherwise 1 up to rounding.
    squared_lengths = _arithmetic.total(units * units)[..., None]
    sum_of_squares = _arithmetic.dot(is_within, squared_lengths)[..., 0]
    unit_sums = _arithmetic.dot(is_within, units)  # [*lists, len(ks), features]
    cosines = _arithmetic.total(unit_sums * unit_sums) - sum_of_squares
    sizes = _arithmetic.total(is_within)
    return 1 - ratio(cosines, sizes * (sizes - 1)), 2


@partial(jax.jit, static_argnums=1)
def _count_exposure(ids: jax.Array, num_items: int) -> Exposure:
    exists = (ids >= 0) & (ids < num_items)
    # Padding is counted at an index beyond the end, which the scatter drops.
    indices = jnp.where(exists, ids, num_items).astype(jnp.int32)
    zeros = _mesh.match_varying(jnp.zeros(num_items, jnp.int32), ids)
    counts = zeros.at[indices.reshape(-1)].add(1, mode="drop")
    is_empty = ~jnp.any(exists, axis=-1)
    flags = jnp.stack([jnp.ones_like(is_empty), is_empty]).reshape(2, -1)
    num_lists = jnp.sum(flags, axis=-1, dtype=jnp.int32)  # of all, of empty ones
    return Exposure(ids.shape[-1], counts, num_lists)
