"""Beyond accuracy: what was recommended, whether or not it was relevant.

Nothing here reads labels. What is asked of items, how often they were seen in training and
where they lie in a space of embeddings, is an array over the catalogue, read by their ids.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs, _mesh, _shards, _types
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._formulas.shared import per_list, ranked_ids
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._states.exposure import Exposure
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cutoffs

# Of what the catalogue has of the items `[*lists, ranks, …]`, of the items within each
# cutoff `[*lists, len(ks), ranks]` as 0 or 1, and of all of the catalogue: values
# `[*lists, len(ks)]`, and how many items they need.
Formula = Callable[[jax.Array, jax.Array, jax.Array], tuple[jax.Array, int]]


def exposure(ids: _types.RankedIds | Ranking, num_items: int) -> Exposure:
    """Counts how often each item of a catalogue is in the lists, as a mergeable state.

    For coverage, Gini index, entropy and personalization of all lists together; see
    `Exposure`. Inside `jax.shard_map`, `all_reduce` the states.

    Args:
        ids: `[*lists, ranks]` integers; others than 0 … num_items − 1 are padding. All
            ranks count: pass `ids[..., :k]` for those up to k. Or a `Ranking`, of which
            `items` are read, up to its cut.
        num_items: How many items there are, recommended or not; static.

    Raises:
        ValueError: if ids are sharded by the type of their array; if a ranking has no
            order or is of packed lists.
        TypeError: if ids are not integers, or `num_items` is no Python int.

    >>> state = exposure(jnp.array([[0, 1], [0, 2], [-1, -1]]), num_items=4)
    >>> state.counts.tolist(), int(state.lists), int(state.non_empty)
    ([2, 1, 1, 0], 3, 2)
    >>> state.coverage().item(), state.gini().item(), state.personalization().item()
    (0.75, 0.375, 0.5)
    """
    num_items = _inputs.positive_integer("num_items", num_items)
    places, _ = ranked_ids("ids", ids)
    _inputs.unsharded("ids", places, "and all_reduce the states")
    return _exposure(places, num_items)


def popularity(
    ids: _types.RankedIds | Ranking,
    counts: _types.PerItem,
    k: Cutoffs = None,
    *,
    log: bool = True,
) -> PerList:
    """Mean popularity of the first k items of each list, of logarithms or plain.

    The mean of `ln count`, or of `count`. The logarithm keeps the few items that
    everybody knows from being all that is seen.

    Undefined (a list without items): 0. Every list has the weight 1.

    Args:
        ids: `[*lists, ranks]` integers in rank order, or a `Ranking`; see `exposure`.
            Padding leaves the list, and later ids move up. A repeated id counts again.
        counts: `[num_items]`, how often each item was seen in training. With `log`, one
            that was never seen counts as if it had been seen once.
        k: Cutoff, or a tuple of them; None is all items.
        log: Whether to take natural logarithms.

    Raises:
        ValueError: as `exposure`; if counts have another shape; if a ranking was cut
            above k.
        TypeError: if ids are not integers.

    References:
        Abdollahpouri, Burke and Mobasher, Managing popularity bias in recommender systems
        with personalized re-ranking, FLAIRS 2019 (plain). With `log=False` the same as
        RecBole's `averagepopularity`.

    >>> ids, counts = jnp.array([2, 0, 1]), jnp.array([4, 1, 16])
    >>> popularity(ids, counts, k=(1, 2), log=False).values.tolist()
    [16.0, 10.0]
    >>> f"{popularity(ids, counts, k=2).values:.4f}"  # (ln 16 + ln 4) / 2 = ln 8
    '2.0794'
    """
    counts = _inputs.catalog_array("counts", counts)
    return _of_items(_logs if log else _plain, ids, counts, k)


def novelty(
    ids: _types.RankedIds | Ranking, counts: _types.PerItem, k: Cutoffs = None
) -> PerList:
    """Novelty: mean self-information `−log2(count/Σ counts)` of the first k items, in bits.

    How surprising items are to somebody who knows what was seen in training.

    Undefined (a list without items): 0. Every list has the weight 1.

    Args:
        ids: `[*lists, ranks]` integers in rank order, or a `Ranking`; see `popularity`.
        counts: `[num_items]`, how often each item was seen in training. One that was
            never seen counts as if it had been seen once, and `Σ counts` stays as it is:
            it is as novel as the rarest items, and no list is infinitely novel.
        k: Cutoff, or a tuple of them; None is all items.

    Raises:
        ValueError: as `popularity`.
        TypeError: if ids are not integers.

    References:
        Zhou et al., Solving the apparent diversity-accuracy dilemma of recommender
        systems, PNAS 107(10), 2010; Vargas and Castells, Rank and relevance in novelty
        and diversity metrics for recommender systems, RecSys 2011. The same as
        recommenders' `novelty` for lists of one length of items seen in training.

    >>> ids, counts = jnp.array([2, 0, 1]), jnp.array([4, 0, 12])
    >>> [f"{value:.4f}" for value in novelty(ids, counts, k=(2, 3)).values]
    ['1.2075', '2.1383']

    The mean of 0.415 bits, for 3/4, and 2, for 1/4; and of 4, for 1/16, too.
    """
    counts = _inputs.catalog_array("counts", counts)
    return _of_items(_bits, ids, counts, k)


def intra_list_diversity(
    ids: _types.RankedIds | Ranking,
    embeddings: _types.Embeddings,
    k: Cutoffs = None,
) -> PerList:
    """Intra-list diversity: 1 − the mean cosine of all pairs of the first k items.

    0 where all items point the same way, 1 where they are at right angles, and at most
    n/(n − 1) for n items. Work and memory are of ranks · features, not of pairs: the
    cosines of all pairs sum up to what is left of the squared length of the sum of unit
    vectors, when their own lengths are taken away.

    Undefined (fewer than two items): 0. Every list has the weight 1.

    Args:
        ids: `[*lists, ranks]` integers in rank order, or a `Ranking`; see `popularity`.
        embeddings: `[num_items, features]`. An item of zeros has the cosine 0 to all.
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
    >>> [f"{value:.4f}" for value in lists.values]  # one pair of three is alike
    ['1.0000', '0.6667']
    """
    ks = _inputs.cutoffs(k)
    if 1 in ks:
        raise ValueError(f"k is {k}; diversity is of pairs, pass k >= 2")
    embeddings = _inputs.catalog_array("embeddings", embeddings, ("features",))
    return _of_items(_diversity, ids, embeddings, k)


def _of_items(formula: Formula, ids: Any, table: jax.Array, k: Cutoffs) -> PerList:
    """Checks lists, and reads them by a formula of what a table has of each item."""
    ks = _inputs.cutoffs(k)
    ids, dtype = ranked_ids("ids", ids, ks)
    dtype = max(dtype, _inputs.float_dtype(table), key=lambda one: one.itemsize)
    several = isinstance(k, (tuple, list))
    return _read(formula, ks, several, dtype.name, ids, table)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _read(
    formula: Formula,
    ks: tuple[int | None, ...],
    several: bool,
    dtype: str,
    ids: jax.Array,
    table: jax.Array,
) -> PerList:
    def local(tree: tuple[jax.Array, jax.Array]) -> PerList:
        ids, table = tree
        exists = (ids >= 0) & (ids < table.shape[0])
        rank = _arithmetic.cumulative_count(exists)
        within = [exists if k is None else exists & (rank <= k) for k in ks]
        found = table[jnp.where(exists, ids, 0).astype(jnp.int32)].astype(dtype)
        found = jnp.where(_arithmetic.widen(exists, found), found, 0)
        values, least = formula(found, jnp.stack(within, -2).astype(dtype), table)
        return per_list(values, _arithmetic.count(exists) >= least, several)

    return _shards.map_shards(local, (ids, table), ids[..., 0])


def _plain(
    counts: jax.Array, within: jax.Array, table: jax.Array
) -> tuple[jax.Array, int]:
    del table
    return _mean(counts, within), 1


def _logs(
    counts: jax.Array, within: jax.Array, table: jax.Array
) -> tuple[jax.Array, int]:
    del table
    return _mean(jnp.log(_seen(counts)), within), 1


def _bits(
    counts: jax.Array, within: jax.Array, table: jax.Array
) -> tuple[jax.Array, int]:
    every = _arithmetic.total(jnp.maximum(table.astype(counts.dtype), 0))
    return _mean(jnp.log2(_seen(every)) - jnp.log2(_seen(counts)), within), 1


def _mean(values: jax.Array, within: jax.Array) -> jax.Array:
    sums = _arithmetic.dot(within, values[..., None])[..., 0]
    return ratio(sums, _arithmetic.total(within))


def _seen(counts: jax.Array) -> jax.Array:
    """Counts, 1 where they are not above 0."""
    return jnp.where(counts > 0, counts, 1)


def _diversity(
    vectors: jax.Array, within: jax.Array, table: jax.Array
) -> tuple[jax.Array, int]:
    del table
    # To a largest entry of 1 before squares are taken, which else may overflow.
    most = jnp.max(jnp.abs(vectors), axis=-1, keepdims=True, initial=0)
    vectors = ratio(vectors, most)
    squares = _arithmetic.total(vectors * vectors)[..., None]
    units = ratio(vectors, jnp.sqrt(_seen(squares)))
    # Lengths as they are: 0 for an item of zeros, and nearly 1 for others.
    lengths = _arithmetic.total(units * units)[..., None]
    lengths = _arithmetic.dot(within, lengths)[..., 0]
    sums = _arithmetic.dot(within, units)
    both = _arithmetic.total(sums * sums) - lengths
    size = _arithmetic.total(within)
    return 1 - ratio(both, size * (size - 1)), 2


@partial(jax.jit, static_argnums=1)
def _exposure(ids: jax.Array, num_items: int) -> Exposure:
    exists = (ids >= 0) & (ids < num_items)
    places = jnp.where(exists, ids, num_items).astype(jnp.int32)
    none = _mesh.match_varying(jnp.zeros(num_items, jnp.int32), ids)
    counts = none.at[places.reshape(-1)].add(1, mode="drop")
    empty = ~jnp.any(exists, axis=-1)
    tally = jnp.stack([jnp.ones_like(empty), empty]).reshape(2, -1)
    return Exposure(ids.shape[-1], counts, jnp.sum(tally, axis=-1, dtype=jnp.int32))
