"""Two rankings: how much of one is in the other, and in the same order.

Nothing here reads labels. Both are matched by their ids, in one sort of all of them, so
that time is of ranks · log(ranks) and memory of ranks, however long the lists are.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs, _shards
from jax_rank_metrics._arithmetic import ratio
from jax_rank_metrics._calls.metric import Metric
from jax_rank_metrics._formulas.agreement import rho, tau
from jax_rank_metrics._formulas.shared import per_list, ranked_ids
from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._ordering.matching import Matched, match, scattered
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.retrieved import whole
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cutoffs, Number, RankedIds

Ranked = RankedIds | Ranking
Found = tuple[list[jax.Array], jax.Array]  # values of each cutoff; where defined


def rank_biased_overlap(first: Ranked, second: Ranked, p: Number = 0.9) -> PerList:
    """Rank-biased overlap, extrapolated: how alike two rankings are, top ranks first.

    `(1 − p)·Σ p^(d−1)·A_d` over all depths d, where A_d is the share of the d items to
    depth d that both lists hold. A user who looks at each further rank with the chance p
    sees this share on average. Beyond the end of the shorter list, it is taken to find
    there what it found before; beyond the longer one, A_d is taken to stay as it is:

        (1−p)/p·(Σ_{d≤l} X_d/d·p^d + Σ_{s<d≤l} X_s·(d−s)/(s·d)·p^d)
            + ((X_l − X_s)/l + X_s/s)·p^l

    with s ≤ l the lengths, and X_d how many items are in both lists to depth d.

    Undefined (a list without ids): 0. Every list has the weight 1.

    Args:
        first: `[*lists, ranks]` integers, ids in rank order: any integers, below 0 where
            there is none. Such, and ids that their list has before, leave the list, and
            later ones move up. Or a `Ranking`, of which `items` are read, up to its cut.
        second: The same of another system. It may have another number of ranks.
        p: The chance to go on from one rank to the next, between 0 and 1: the first ten
            ranks have 86 % of the weight at 0.9, 98 % at 0.8. Not recompiled for another.

    Raises:
        ValueError: if the leading axes differ, if p is not between 0 and 1, if ids do
            not fit the integers of JAX, or if a ranking has no order or is of packed
            lists.
        TypeError: if ids are not integers, or p is no number.

    References:
        Webber, Moffat and Zobel, A similarity measure for indefinite rankings, ACM TOIS
        28(4), 2010, equation 32.

    >>> lists = rank_biased_overlap(jnp.array([1, 2, 3]), jnp.array([1, 3, 2]), p=0.5)
    >>> float(lists.values)  # 1·1/2 + 1/2·1/4 + 1·1/8, and 1·1/8 beyond
    0.875
    """
    p = _inputs.open_fraction("p", p)
    return _of_two(_rank_biased, first, second, numbers=(1 - p, math.log(p)))


def overlap(first: Ranked, second: Ranked, k: Cutoffs = None) -> PerList:
    """Overlap: the share of the first k ids of one list that are among those of the other.

    `|A ∩ B| / min(k, |A|, |B|)`, which is 1 where the shorter list is within the other.

    Undefined (a list without ids): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same of another system.
        k: Cutoff, or a tuple of them; None is all ids.

    Raises:
        ValueError: as `rank_biased_overlap`; if a ranking was cut above k.
        TypeError: if ids are not integers.

    >>> a, b = jnp.array([5, 2, 3, 9]), jnp.array([2, 5, 4])
    >>> [f"{value:.2f}" for value in overlap(a, b, k=(1, 2, 3)).values]
    ['0.00', '1.00', '0.67']
    """
    return _of_two(_overlap, first, second, k, cuts=True)


def jaccard(first: Ranked, second: Ranked, k: Cutoffs = None) -> PerList:
    """Jaccard index of the first k ids of two lists: `|A ∩ B| / |A ∪ B|`.

    Undefined (neither list has an id): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same of another system.
        k: Cutoff, or a tuple of them; None is all ids.

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
    return _of_two(_jaccard, first, second, k, cuts=True)


def kendall_tau(first: Ranked, second: Ranked) -> PerList:
    """Kendall's tau of the order of the ids that are in both lists.

    `1 − 2·(pairs in another order)/(pairs)`: 1 where the order is the same, −1 where it
    is reversed. There are no ties, so that tau-a and tau-b agree.

    Undefined (fewer than two ids in both lists): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same of another system.

    Raises:
        ValueError: as `rank_biased_overlap`.
        TypeError: if ids are not integers.

    References:
        Kendall, A new measure of rank correlation, Biometrika 30, 1938; The treatment of
        ties in ranking problems, Biometrika 33, 1945. The same as
        `scipy.stats.kendalltau` of the ranks of the ids in both lists.

    >>> a, b = jnp.array([1, 2, 3, 4]), jnp.array([2, 1, 7, 3])
    >>> f"{kendall_tau(a, b).values:.3f}"  # of 3 pairs, that of 1 and 2 is reversed
    '0.333'
    """
    return _of_two(_kendall, first, second)


def spearman_rho(first: Ranked, second: Ranked) -> PerList:
    """Spearman's rho: how the ranks of the ids that are in both lists correlate.

    `1 − 6·Σ d²/(n·(n² − 1))`, d being by how many ranks an id is moved, when ranks are
    counted among the n ids that are in both lists.

    Undefined (fewer than two ids in both lists): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same of another system.

    Raises:
        ValueError: as `rank_biased_overlap`.
        TypeError: if ids are not integers.

    References:
        Spearman, The proof and measurement of association between two things, American
        Journal of Psychology 15, 1904. The same as `scipy.stats.spearmanr` of the ranks
        of the ids in both lists.

    >>> a, b = jnp.array([1, 2, 3, 4]), jnp.array([2, 1, 7, 3])
    >>> f"{spearman_rho(a, b).values:.3f}"  # d is 1, 1 and 0: 1 - 6·2/(3·8)
    '0.500'
    """
    return _of_two(_spearman, first, second)


def _of_two(
    formula: Callable[..., Found],
    first: Any,
    second: Any,
    k: Cutoffs = None,
    numbers: tuple[float, ...] = (),
    cuts: bool = False,
) -> PerList:
    """Checks two rankings, and reads by a formula what is in both."""
    ks = _inputs.cutoffs(k)
    first, dtype = ranked_ids("first", first, ks if cuts else ())
    second, other = ranked_ids("second", second, ks if cuts else ())
    _inputs.same_lists("second", second, "first", first)
    dtype = max(dtype, other, key=lambda one: one.itemsize)
    several = isinstance(k, (tuple, list))
    return _read(formula, ks, several, dtype.name, first, second, numbers)


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _read(
    formula: Callable[..., Found],
    ks: tuple[int | None, ...],
    several: bool,
    dtype: str,
    first: jax.Array,
    second: jax.Array,
    numbers: tuple[jax.Array, ...],
) -> PerList:
    first = _shards.reshard_like(first, second)
    second = _shards.reshard_like(second, first)
    if first.dtype != second.dtype:
        first, second = first.astype(jnp.int64), second.astype(jnp.int64)

    def local(tree: Any) -> PerList:
        first, second, numbers = tree
        found = match(first, second)
        numbers = [x.astype(dtype) for x in numbers]
        values, defined = formula(found, ks, jnp.dtype(dtype), *numbers)
        return per_list(jnp.stack(values, axis=-1), defined, several)

    tree = (first, second, tuple(map(jnp.asarray, numbers)))
    return _shards.map_shards(local, tree, first[..., 0])


def _rank_biased(
    found: Matched, ks: Any, dtype: jnp.dtype, stops: jax.Array, log_p: jax.Array
) -> Found:
    del ks
    lengths = found.first_length, found.second_length
    short, long = jnp.minimum(*lengths), jnp.maximum(*lengths)
    # An item is common from the larger of its ranks on; at each there are at most two.
    size, deeper = found.max_length, jnp.maximum(found.first_ranks, found.second_ranks)
    of_first = found.first_ranks >= found.second_ranks
    new = [
        scattered(deeper - 1, jnp.ones_like(deeper), found.in_both & here, size) > 0
        for here in (of_first, ~of_first)
    ]
    counts = [_arithmetic.cumulative_count(x) for x in new]
    common = (counts[0] + counts[1]).astype(dtype)
    every = common[..., -1]
    of_short = _within(found, short)
    short, long, of_short = (
        x[..., None].astype(dtype) for x in (short, long, of_short)
    )
    depth = (_arithmetic.iota(common) + 1).astype(dtype)
    beyond = jnp.where(depth > short, of_short * (depth - short), 0)
    shares = common / depth + ratio(beyond, short * depth)
    shares = jnp.where(depth <= long, shares, 0)
    # Powers by the logarithm: a float of p holds few digits of what is left to 1.
    terms = shares * jnp.exp((depth - 1) * log_p)
    share = ratio(every - of_short[..., 0], long[..., 0])
    share = share + ratio(of_short, short)[..., 0]
    value = stops * _arithmetic.total(terms) + share * jnp.exp(long[..., 0] * log_p)
    return [value], short[..., 0] > 0


def _within(found: Matched, depth: Any) -> jax.Array:
    """How many items are in both lists to a depth, `[*lists]` int32."""
    deeper = jnp.maximum(found.first_ranks, found.second_ranks)
    depth = depth if isinstance(depth, int) else depth[..., None]
    return _arithmetic.count(found.in_both & (deeper <= depth))


def _overlap(found: Matched, ks: tuple[int | None, ...], dtype: jnp.dtype) -> Found:
    values = []
    for both, one, other in _sizes(found, ks, dtype):
        values.append(ratio(both, jnp.minimum(one, other)))
    return values, (found.first_length > 0) & (found.second_length > 0)


def _jaccard(found: Matched, ks: tuple[int | None, ...], dtype: jnp.dtype) -> Found:
    sizes = _sizes(found, ks, dtype)
    values = [ratio(both, one + other - both) for both, one, other in sizes]
    return values, (found.first_length > 0) | (found.second_length > 0)


def _sizes(
    found: Matched, ks: tuple[int | None, ...], dtype: jnp.dtype
) -> list[tuple[jax.Array, ...]]:
    """How many ids both lists have within each cutoff, and each of them, in floats."""
    sizes = []
    for k in ks:
        depth = found.max_length if k is None else k
        lengths = [
            jnp.minimum(x, depth) for x in (found.first_length, found.second_length)
        ]
        sizes.append(tuple(x.astype(dtype) for x in (_within(found, depth), *lengths)))
    return sizes


def _kendall(found: Matched, ks: Any, dtype: jnp.dtype) -> Found:
    del ks
    return _correlation(tau, found, dtype)


def _spearman(found: Matched, ks: Any, dtype: jnp.dtype) -> Found:
    del ks
    return _correlation(rho, found, dtype)


def _correlation(metric: Metric[[]], found: Matched, dtype: jnp.dtype) -> Found:
    """What a metric makes of the items of both: the first order them, the second label."""
    common = found.in_both
    labels = jnp.where(common, found.max_length - found.second_ranks, 0).astype(dtype)
    lists = metric.of(whole(ItemArrays(labels, common), None, None, None))
    return [lists.values], lists.defined
