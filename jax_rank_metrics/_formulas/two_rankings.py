"""Two rankings: how much they have in common, and whether in the same order.

Nothing here reads labels. Both rankings are matched by their ids in one sort, which takes
time in proportion to ranks·log(ranks), and memory in proportion to ranks.
"""

import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs, _shards
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._formulas.id_lists import equally_weighted, if_ranked, ranked_ids
from jax_rank_metrics._formulas.order_agreement import rho, tau
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._metrics.metric import Metric
from jax_rank_metrics._ordering.matching import RanksInBoth, match, scattered
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.retrieved import rank_in_order
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Number, RankCutoffs, RankedIds

Ids = RankedIds | Ranking
Cuts = tuple[int | None, ...]
# Values `[*lists]`, an array per cutoff, and where they are defined, `[*lists]` bool.
Values = tuple[list[jax.Array], jax.Array]


def compare_ids(
    formula: Callable[..., Values],
    first: Ids,
    second: Ids,
    k: RankCutoffs = None,
    numbers: tuple[float, ...] = (),
    reads_cutoffs: bool = False,
    is_share: bool = False,
) -> PerList:
    """Matches two lists of ids, and applies a formula to the ranks of the matches.

    Args:
        formula: `formula(matched, ks, dtype, *numbers)`.
        first: Ids or a ranking.
        second: Ids or a ranking.
        k: As the caller passed it.
        numbers: Numbers that the formula reads; traced, so that changing them does not
            compile again.
        reads_cutoffs: Whether rankings must reach k.
        is_share: Whether values must lie in [0, 1].
    """
    _inputs.same_index(of_lists=_inputs.frames_among(first=first, second=second))
    ks = _inputs.rank_cutoffs(k)
    first_ids, first_dtype = ranked_ids("first", first, ks if reads_cutoffs else ())
    second_ids, second_dtype = ranked_ids("second", second, ks if reads_cutoffs else ())
    _inputs.same_lists("second", second_ids, "first", first_ids)
    dtype = max(first_dtype, second_dtype, key=lambda dtype: dtype.itemsize)
    keep_cutoffs = isinstance(k, (tuple, list))
    static = formula, ks, keep_cutoffs, is_share, dtype.name
    return if_ranked(_apply(*static, first_ids, second_ids, numbers), first, second)


@partial(jax.jit, static_argnums=(0, 1, 2, 3, 4))
def _apply(
    formula: Callable[..., Values],
    ks: Cuts,
    keep_cutoffs: bool,
    is_share: bool,
    dtype: str,
    first: jax.Array,
    second: jax.Array,
    numbers: tuple[jax.Array, ...],
) -> PerList:
    first = _shards.reshard_like(first, second)
    second = _shards.reshard_like(second, first)
    if first.dtype != second.dtype:
        first, second = first.astype(jnp.int64), second.astype(jnp.int64)

    def apply_to_shard(
        tree: tuple[jax.Array, jax.Array, tuple[jax.Array, ...]],
    ) -> PerList:
        first, second, numbers = tree
        cast_numbers = [x.astype(dtype) for x in numbers]
        matched = match(first, second)
        values, defined = formula(matched, ks, jnp.dtype(dtype), *cast_numbers)
        stacked = jnp.stack(values, axis=-1)
        return equally_weighted(stacked, defined, keep_cutoffs, is_share)

    tree = (first, second, tuple(map(jnp.asarray, numbers)))
    return _shards.map_shards(apply_to_shard, tree, first[..., 0])


def rank_biased_overlap(first: Ids, second: Ids, p: Number = 0.9) -> PerList:
    """Rank-biased overlap, extrapolated: the similarity of rankings, top ranks first.

    .. math:: RBO = (1 − p) · Σ_{d ≥ 1} p^{d − 1} · A_d

    A_d, the agreement, is the share of the d items down to depth d that are in both
    lists. A user who continues with probability p sees this share on average.
    Beyond the end of the shorter list, its unseen items are assumed to match as often as
    its seen ones; beyond the end of the longer list, A_d is assumed to stay constant:

    .. math::

        RBO = ((1 − p)/p) · (Σ_{d ≤ l} (X_d / d) · p^d
        + Σ_{s < d ≤ l} X_s · (d − s) / (s · d) · p^d)
        + ((X_l − X_s) / l + X_s / s) · p^l

    with s ≤ l the lengths of the lists, and X_d the number of items in both down to d.

    Undefined (a list without ids): 0. Every list has the weight 1.

    Args:
        first: `[*lists, ranks]` integers, ids in rank order; negative where there is
            none. Negative and repeated ids leave the list, and later ones move up. Or a
            `Ranking`, of which `items` are read, down to where it was cut.
        second: The same of another system. It may have another number of ranks.
        p: Probability of continuing to the next rank, between 0 and 1: the first ten
            ranks have 86 % of the weight at 0.9, 98 % at 0.8. Another p does not compile
            again.

    Raises:
        ValueError: if the leading axes differ, if p is not between 0 and 1, if ids do
            not fit the integers of JAX, or if a ranking has no order or is of packed
            lists.
        TypeError: if ids are not integers, or p is not a number.

    References:
        Webber, Moffat and Zobel, A similarity measure for indefinite rankings, ACM TOIS
        28(4), 2010, equation 32.

    >>> lists = rank_biased_overlap(jnp.array([1, 2, 3]), jnp.array([1, 3, 2]), p=0.5)
    >>> float(lists.values)  # 1·1/2 + 1/2·1/4 + 1·1/8, and 1·1/8 beyond
    0.875
    """
    p = _inputs.open_fraction("p", p)
    numbers = 1 - p, math.log(p)
    return compare_ids(_rank_biased, first, second, numbers=numbers, is_share=True)


def overlap(first: Ids, second: Ids, k: RankCutoffs = None) -> PerList:
    """Overlap: the share of the first k ids of one list that another list has there too.

    .. math:: |A ∩ B| / min(k, |A|, |B|)

    A and B are the first k distinct ids of each list. The value is 1 where the shorter
    list is within the other, however short it is. So it is not the recall of nearest
    neighbours: a list that repeats a single right id has an overlap of 1. That recall
    divides by the number of true neighbours: by ids, `recall` of `rank_ids` gives it, and
    `neighbor_recall` by distances, which also counts neighbours as near as the k-th.

    Undefined (a list without ids): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same of another system.
        k: Cutoff or cutoffs; None is all ids.

    Raises:
        ValueError: as `rank_biased_overlap`; if a ranking was cut above k.
        TypeError: if ids are not integers.

    >>> a, b = jnp.array([5, 2, 3, 9]), jnp.array([2, 5, 4])
    >>> [f"{value:.2f}" for value in overlap(a, b, k=(1, 2, 3)).values]
    ['0.00', '1.00', '0.67']

    One of three true neighbours is returned, three times:

    >>> import jax_rank_metrics as jrm
    >>> returned, neighbours = jnp.array([1, 1, 1]), jnp.array([1, 2, 3])
    >>> f"{overlap(returned, neighbours).values:.2f}"
    '1.00'
    >>> f"{jrm.recall.of(jrm.rank_ids(returned, neighbours), k=3).values:.2f}"
    '0.33'
    """
    return compare_ids(_overlap, first, second, k, reads_cutoffs=True, is_share=True)


def jaccard(first: Ids, second: Ids, k: RankCutoffs = None) -> PerList:
    """Jaccard index of the first k ids of two lists.

    .. math:: |A ∩ B| / |A ∪ B|

    A and B are the first k distinct ids of each list.

    Undefined (neither list has an id): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same of another system.
        k: Cutoff or cutoffs; None is all ids.

    Raises:
        ValueError: as `rank_biased_overlap`; if a ranking was cut above k.
        TypeError: if ids are not integers.

    References:
        Jaccard, The distribution of the flora in the alpine zone, New Phytologist 11,
        1912.

    >>> a, b = jnp.array([5, 2, 3, 9]), jnp.array([2, 5, 4])
    >>> [f"{value:.2f}" for value in jaccard(a, b, k=(1, 2, 3)).values]
    ['0.00', '1.00', '0.50']
    """
    return compare_ids(_jaccard, first, second, k, reads_cutoffs=True, is_share=True)


def _rank_biased(
    matched: RanksInBoth,
    ks: Cuts,
    dtype: jnp.dtype,
    stop_chance: jax.Array,
    log_p: jax.Array,
) -> Values:
    """Equation 32 of Webber et al.; `stop_chance` is 1 − p."""
    del ks
    lengths = matched.first_length, matched.second_length
    shorter, longer = jnp.minimum(*lengths), jnp.maximum(*lengths)
    # An id is common from the deeper of its two ranks on. At each depth at most two ids
    # become common: one that has its deeper rank in each list.
    common_from = jnp.maximum(matched.first_ranks, matched.second_ranks)
    is_deeper_in_first = matched.first_ranks >= matched.second_ranks
    ones = jnp.ones_like(common_from)
    becomes_common = [
        scattered(common_from - 1, ones, matched.in_both & mask, matched.max_length) > 0
        for mask in (is_deeper_in_first, ~is_deeper_in_first)
    ]  # [*lists, depths]
    first_counts, second_counts = map(_arithmetic.cumulative_count, becomes_common)
    num_common = (first_counts + second_counts).astype(dtype)  # X_d
    common_at_end = num_common[..., -1:]  # X_l
    common_at_shorter = _num_common_to(matched, shorter)[..., None].astype(dtype)  # X_s
    shorter, longer = (x[..., None].astype(dtype) for x in (shorter, longer))

    depth = (_arithmetic.iota(num_common) + 1).astype(dtype)
    assumed = jnp.where(depth > shorter, common_at_shorter * (depth - shorter), 0)
    agreement = num_common / depth + ratio(assumed, shorter * depth)
    agreement = jnp.where(depth <= longer, agreement, 0)
    # Powers by the logarithm: a float32 near 1 holds few digits of its distance from 1.
    terms = agreement * jnp.exp((depth - 1) * log_p)
    last_agreement = ratio(common_at_end - common_at_shorter, longer)
    last_agreement = last_agreement + ratio(common_at_shorter, shorter)
    tail = (last_agreement * jnp.exp(longer * log_p))[..., 0]
    return [stop_chance * _arithmetic.total(terms) + tail], shorter[..., 0] > 0


def _num_common_to(matched: RanksInBoth, depth: int | jax.Array) -> jax.Array:
    """Counts the ids that are in both lists down to a depth, `[*lists]` int32."""
    common_from = jnp.maximum(matched.first_ranks, matched.second_ranks)
    depth = depth if isinstance(depth, int) else depth[..., None]
    return _arithmetic.count(matched.in_both & (common_from <= depth))


def _overlap(matched: RanksInBoth, ks: Cuts, dtype: jnp.dtype) -> Values:
    sizes = _set_sizes(matched, ks, dtype)
    values = [
        ratio(common, jnp.minimum(first, second)) for common, first, second in sizes
    ]
    return values, (matched.first_length > 0) & (matched.second_length > 0)


def _jaccard(matched: RanksInBoth, ks: Cuts, dtype: jnp.dtype) -> Values:
    sizes = _set_sizes(matched, ks, dtype)
    values = [ratio(common, first + second - common) for common, first, second in sizes]
    return values, (matched.first_length > 0) | (matched.second_length > 0)


def _set_sizes(
    matched: RanksInBoth, ks: Cuts, dtype: jnp.dtype
) -> list[tuple[jax.Array, jax.Array, jax.Array]]:
    """Returns |A ∩ B|, |A| and |B| for each cutoff, as floats `[*lists]`.

    A and B are the first k distinct ids of each list, or all of them where k is None. The
    lists [1, 2, 3] and [1, 3] have the sizes (1, 2, 2) at k = 2, and (2, 3, 2) at None.
    """
    sizes = []
    for k in ks:
        depth = matched.max_length if k is None else k
        counts = (
            _num_common_to(matched, depth),
            jnp.minimum(matched.first_length, depth),
            jnp.minimum(matched.second_length, depth),
        )
        sizes.append(tuple(count.astype(dtype) for count in counts))
    return sizes


def kendall_tau(first: Ids, second: Ids) -> PerList:
    """Kendall's tau of the order of the ids that are in both lists.

    .. math:: τ = 1 − 2 · D / P

    D of the P pairs of common ids are in opposite orders: 1 where the order is the same,
    −1 where it is reversed. There are no ties, so that tau-a and tau-b agree.

    Undefined (fewer than two common ids): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same of another system.

    Raises:
        ValueError: as `rank_biased_overlap`.
        TypeError: if ids are not integers.

    References:
        Kendall, A new measure of rank correlation, Biometrika 30, 1938; The treatment of
        ties in ranking problems, Biometrika 33, 1945. Agrees with
        `scipy.stats.kendalltau` of the ranks of the common ids.

    >>> a, b = jnp.array([1, 2, 3, 4]), jnp.array([2, 1, 7, 3])
    >>> f"{kendall_tau(a, b).values:.3f}"  # of 3 pairs, that of 1 and 2 is reversed
    '0.333'
    """
    return compare_ids(_kendall, first, second)


def spearman_rho(first: Ids, second: Ids) -> PerList:
    """Spearman's rho: the correlation of the ranks of the ids that are in both lists.

    .. math:: ρ = 1 − 6 · Σ_i d_i^2 / (n · (n^2 − 1))

    d_i is the number of ranks by which id i moves, where ranks are counted among the n
    common ids.

    Undefined (fewer than two common ids): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same of another system.

    Raises:
        ValueError: as `rank_biased_overlap`.
        TypeError: if ids are not integers.

    References:
        Spearman, The proof and measurement of association between two things, American
        Journal of Psychology 15, 1904. Agrees with `scipy.stats.spearmanr` of the ranks
        of the common ids.

    >>> a, b = jnp.array([1, 2, 3, 4]), jnp.array([2, 1, 7, 3])
    >>> f"{spearman_rho(a, b).values:.3f}"  # d is 1, 1 and 0: 1 - 6·2/(3·8)
    '0.500'
    """
    return compare_ids(_spearman, first, second)


def _kendall(matched: RanksInBoth, ks: Cuts, dtype: jnp.dtype) -> Values:
    del ks
    return _correlation(tau, matched, dtype)


def _spearman(matched: RanksInBoth, ks: Cuts, dtype: jnp.dtype) -> Values:
    del ks
    return _correlation(rho, matched, dtype)


def _correlation(metric: Metric[[]], matched: RanksInBoth, dtype: jnp.dtype) -> Values:
    """Applies a correlation of ranks and labels to the ids that are in both lists.

    The first list is the ranking; labels fall with the rank in the second list.
    """
    labels = matched.max_length - matched.second_ranks
    labels = jnp.where(matched.in_both, labels, 0).astype(dtype)
    data = rank_in_order(ItemArrays(labels, matched.in_both), None, None, None)
    lists = metric.of(Ranking(data))
    return [lists.values], lists.defined
