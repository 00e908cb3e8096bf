"""Comparison of two rankings: their common ids, and the order of these ids.

Nothing here reads labels. Both rankings are matched by their ids in one sort, which takes
time in proportion to ranks·log(ranks), and memory in proportion to ranks.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.formulas import id_lists, label_fns
from jax_rank_metrics._engine.formulas.order_agreement import tau
from jax_rank_metrics._engine.items import ItemArrays
from jax_rank_metrics._engine.ordering import matching
from jax_rank_metrics._engine.ranking import Ranking, concordance, traced_data
from jax_rank_metrics._engine.sources.rank import rank
from jax_rank_metrics._engine.sources.retrieved import rank_in_order
from jax_rank_metrics._ground import arithmetic, inputs, meshes, shards, types
from jax_rank_metrics._ground.arithmetic import ratio
from jax_rank_metrics._values.per_list import PerList

Ids = types.RankedIds | Ranking
Cuts = tuple[int | None, ...]
# Values, an array `[*lists]` per cutoff, and `[*lists]` bool, True if they are defined.
Values = tuple[list[jax.Array], jax.Array]


def compare_ids(
    formula: Callable[..., Values],
    first: Ids,
    second: Ids,
    k: types.RankCutoffs = None,
    numbers: tuple[float, ...] = (),
    reads_cutoffs: bool = False,
    is_share: bool = False,
    ties: id_lists.Ties = "groups",
) -> PerList:
    """Matches two lists of ids, and applies a formula to the ranks of the matches.

    Args:
        formula: `formula(pair, ks, dtype, *numbers)`; `pair` is an `ItemsInBoth`.
        first: Ids or a ranking.
        second: Ids or a ranking.
        k: The argument of the caller.
        numbers: Numbers that the formula reads; traced, so that changing them does not
            compile again.
        reads_cutoffs: True if rankings must reach k.
        is_share: True if values must lie in [0, 1].
        ties: How tied items are read; see `ranked_items`.
    """
    inputs.same_index(of_lists=inputs.frames_among(first=first, second=second))
    are_arrays = (Ranking, np.ndarray, jax.Array)
    if not any(isinstance(ids, are_arrays) for ids in (first, second)):
        padded = inputs.padded_ids(first, second, names=("first", "second"))
        if padded is not None:
            assert padded.relevant is not None  # a second side was passed
            first, second = padded.retrieved, padded.relevant
    ks = inputs.rank_cutoffs(k)
    ks_read = ks if reads_cutoffs else ()
    first_items, first_dtype = id_lists.ranked_items("first", first, ks_read, ties)
    second_items, second_dtype = id_lists.ranked_items("second", second, ks_read, ties)
    inputs.same_lists("second", second_items.ids, "first", first_items.ids)
    dtype, keep_cutoffs = (
        id_lists.wider(first_dtype, second_dtype),
        isinstance(k, (tuple, list)),
    )
    pair = first_items, second_items
    known_items = [dataclasses.replace(items, is_unknown=None) for items in pair]
    static = formula, ks, keep_cutoffs, is_share, dtype.name
    return id_lists.if_known(_apply(*static, *known_items, numbers), *pair)


@dataclasses.dataclass(frozen=True)
class ItemsInBoth:
    """The items of two lists, matched by their ids.

    Arrays of items are `[*lists, firsts]`: one entry for each item of the first list.
    """

    matched: matching.RanksInBoth
    lists: tuple[id_lists.RankedItems, id_lists.RankedItems]

    @property
    def lengths(self) -> list[jax.Array]:
        """The number of ranks of both lists that count, `[*lists]` int32 each."""
        lengths = self.matched.first_length, self.matched.second_length
        pairs = zip(lengths, self.lists, strict=True)
        return [jnp.minimum(length, items.limit) for length, items in pairs]

    def places(self) -> list[tuple[jax.Array, jax.Array]]:
        """Returns the places of items in each list, as `RankedItems.places` does."""
        matched, (first, second) = self.matched, self.lists
        # In lists with ties, the slot of an item is its rank less 1.
        slot = jnp.maximum(matched.second_ranks - 1, 0)
        above, last = matched.second_ranks - 1, matched.second_ranks
        if second.keys is not None:
            above, last = second.places(second.ids >= 0)
            above, last = arithmetic.take(above, slot), arithmetic.take(last, slot)
        return [first.places(matched.first_ranks > 0), (above, last)]


@partial(jax.jit, static_argnums=(0, 1, 2, 3, 4))
def _apply(
    formula: Callable[..., Values],
    ks: Cuts,
    keep_cutoffs: bool,
    is_share: bool,
    dtype: str,
    first: id_lists.RankedItems,
    second: id_lists.RankedItems,
    numbers: tuple[jax.Array, ...],
) -> PerList:
    first = shards.reshard_like(first, second.ids)
    second = shards.reshard_like(second, first.ids)

    def apply_to_shard(
        tree: tuple[id_lists.RankedItems, id_lists.RankedItems, tuple[jax.Array, ...]],
    ) -> PerList:
        first, second, numbers = tree
        cast_numbers = [number.astype(dtype) for number in numbers]
        ids = first.ids, second.ids
        if ids[0].dtype != ids[1].dtype:
            ids = ids[0].astype(jnp.int64), ids[1].astype(jnp.int64)
        pair = ItemsInBoth(matching.match(*ids), (first, second))
        values, defined = formula(pair, ks, jnp.dtype(dtype), *cast_numbers)
        stacked = jnp.stack(values, axis=-1)
        return id_lists.equally_weighted(stacked, defined, keep_cutoffs, is_share)

    tree = (first, second, tuple(map(jnp.asarray, numbers)))
    return shards.map_shards(apply_to_shard, tree, first.ids[..., 0])


def rank_biased_overlap(first: Ids, second: Ids, p: types.Number = 0.9) -> PerList:
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

    with s ≤ l the lengths of the lists, and X_d the number of items that are in both lists
    down to depth d.

    If items of a `Ranking` tie, the value is the mean over the orders of the tied items of
    both lists, which Corsi and Urbano call RBO^a. A list with ties therefore has a value
    below 1 with itself; rank with `ties="stable"` to compare by one order.

    Undefined (a list without ids): 0. Every list has the weight 1.

    Args:
        first: `[*lists, ranks]` integers, ids in rank order; negative ids are padding.
            Padding and repeated ids leave the list, and later ids move up. Or lists or a
            dict of ids on both sides, as for `rank_ids`, in which only −1 is padding. Or a
            `Ranking`, whose `items` and ties are read down to its depth.
        second: The same for another system. It may have another number of ranks.
        p: Probability of continuing to the next rank, between 0 and 1: the first ten
            ranks have 86 % of the weight at 0.9, 98 % at 0.8. A new p does not compile
            again.

    Raises:
        ValueError: if the leading axes differ, if p is not between 0 and 1, if ids do
            not fit the integers of JAX, or if a ranking has no order or is of packed
            lists; if items tie across the cut of a ranking that does not hold all its
            scores, such as a ranking of a catalogue or of items sharded over devices.
            Inside `jax.jit` the value of such a list is NaN.
        TypeError: if ids are not integers, or p is not a number.

    References:
        Webber, Moffat and Zobel, A similarity measure for indefinite rankings, ACM TOIS
        28(4), 2010, equation 32; Corsi and Urbano, The treatment of ties in rank-biased
        overlap, SIGIR 2024. Agrees with their code for lists of one length.

    >>> lists = rank_biased_overlap(jnp.array([1, 2, 3]), jnp.array([1, 3, 2]), p=0.5)
    >>> float(lists.values)  # 1·1/2 + 1/2·1/4 + 1·1/8, and 1·1/8 beyond
    0.875
    """
    p = inputs.open_fraction("p", p)
    numbers = 1 - p, math.log(p)
    return compare_ids(_rank_biased, first, second, numbers=numbers, is_share=True)


def overlap(first: Ids, second: Ids, k: types.RankCutoffs = None) -> PerList:
    """Overlap: the share of common ids among the first k ids of two lists.

    .. math:: |A ∩ B| / min(k, |A|, |B|)

    A and B are the first k distinct ids of each list. The value is 1 if the other list
    contains all ids of the shorter list, however short this list is. It is therefore not
    the recall of nearest neighbours, which divides by the number of true neighbours: a list
    that repeats a single right id has an overlap of 1. For recall by ids, use `recall` of
    `rank_ids`; for recall by distances, use `neighbor_recall`, which also counts items as
    near as the k-th neighbour. If items of a `Ranking` tie, the value is the mean over
    their orders; see `rank_biased_overlap`.

    Undefined (a list without ids): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same for another system.
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


def jaccard(first: Ids, second: Ids, k: types.RankCutoffs = None) -> PerList:
    """Jaccard index of the first k ids of two lists.

    .. math:: |A ∩ B| / |A ∪ B|

    A and B are the first k distinct ids of each list. Both sizes depend on the order of
    tied items, so their ratio has no mean in closed form: tied items are read in the order
    of their hash, which is the same in both lists.

    Undefined (neither list has an id): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same for another system.
        k: Cutoff or cutoffs; None is all ids.

    Raises:
        ValueError: as `rank_biased_overlap`; if a ranking was cut above k, or made with
            `ties="expected"`.
        TypeError: if ids are not integers.

    References:
        Jaccard, The distribution of the flora in the alpine zone, New Phytologist 11,
        1912.

    >>> a, b = jnp.array([5, 2, 3, 9]), jnp.array([2, 5, 4])
    >>> [f"{value:.2f}" for value in jaccard(a, b, k=(1, 2, 3)).values]
    ['0.00', '1.00', '0.50']
    """
    return compare_ids(
        *(_jaccard, first, second, k), reads_cutoffs=True, is_share=True, ties="order"
    )


def _rank_biased(
    pair: ItemsInBoth,
    ks: Cuts,
    dtype: jnp.dtype,
    stop_chance: jax.Array,
    log_p: jax.Array,
) -> Values:
    """Equation 32 of Webber et al.; `stop_chance` is 1 − p."""
    del ks
    lengths = pair.lengths
    shorter, longer = jnp.minimum(*lengths), jnp.maximum(*lengths)
    num_common = _mean_common(pair, dtype)  # X_d
    common_at_end = num_common[..., -1:]  # X_l
    at_shorter = jnp.maximum(shorter - 1, 0)[..., None]
    common_at_shorter = arithmetic.take(num_common, at_shorter)  # X_s
    shorter, longer = (length[..., None].astype(dtype) for length in (shorter, longer))

    depth = (arithmetic.iota(num_common) + 1).astype(dtype)
    assumed = jnp.where(depth > shorter, common_at_shorter * (depth - shorter), 0)
    agreement = num_common / depth + ratio(assumed, shorter * depth)
    agreement = jnp.where(depth <= longer, agreement, 0)
    # Compute powers from log p, because a float32 near 1 holds few digits of 1 − p.
    terms = agreement * jnp.exp((depth - 1) * log_p)
    last_agreement = ratio(common_at_end - common_at_shorter, longer)
    last_agreement = last_agreement + ratio(common_at_shorter, shorter)
    tail = (last_agreement * jnp.exp(longer * log_p))[..., 0]
    return [stop_chance * arithmetic.total(terms) + tail], shorter[..., 0] > 0


def _mean_common(pair: ItemsInBoth, dtype: jnp.dtype) -> jax.Array:
    """Counts the ids that are in both lists down to each depth, `[*lists, depths]`.

    If items tie, the count is the mean over their orders. A depth cuts at most one tie
    group of each list, and contains a share of the group's items. The ids in a group that
    is cut, in one list or in both, are counted and then multiplied by these shares. So
    counts are exact, and products that depend on depth are never summed.
    """
    size, is_common = max(items.limit for items in pair.lists), pair.matched.in_both
    places, lengths = pair.places(), [length[..., None] for length in pair.lengths]
    shape = (1,) * (lengths[0].ndim - 1) + (size,)
    depth = jnp.arange(1, size + 1, dtype=jnp.int32).reshape(shape)
    # For each list, spans of depths: the first depth that counts an item, the first depth
    # that no longer counts it, and the share of the item that counts.
    spans: list[list[tuple[jax.Array, jax.Array, jax.Array | int]]] = []
    for items, (above, last), length in zip(pair.lists, places, lengths, strict=True):
        is_common = is_common & (above < length)
        # A group across the end of a list is never whole.
        whole_from = jnp.where(last <= length, last, size + 1)
        spans.append([(whole_from, jnp.full_like(last, size + 1), 1)])
        if items.keys is not None:
            reached = jnp.minimum(depth, length)
            slot = jnp.maximum(reached - 1, 0)
            bounds = items.places(items.ids >= 0)
            parted = [arithmetic.take(bound, slot) for bound in bounds]
            share = id_lists.chance(parted, parted[1] > parted[0], reached, dtype)
            spans[-1].append((above + 1, whole_from, share))

    def count(start: jax.Array, stop: jax.Array) -> jax.Array:
        """Counts, for each depth, the items with start ≤ depth < stop."""
        ones = (is_common & (start < stop)).astype(jnp.int32)
        changes = jnp.zeros((*ones.shape[:-1], size), jnp.int32)
        changes = meshes.match_varying(changes, (ones, start, stop))
        changes = arithmetic.put(changes, start - 1, ones, add=True)
        changes = arithmetic.put(changes, stop - 1, -ones, add=True)
        return arithmetic.cumulative_count(changes).astype(dtype)

    common = jnp.zeros((), dtype)
    for first, second in itertools.product(*spans):
        number = count(
            jnp.maximum(first[0], second[0]), jnp.minimum(first[1], second[1])
        )
        common += first[2] * second[2] * number
    return common


def _overlap(pair: ItemsInBoth, ks: Cuts, dtype: jnp.dtype) -> Values:
    sizes, (first, second) = _set_sizes(pair, ks, dtype), pair.lengths
    values = [ratio(common, jnp.minimum(*both_sizes)) for common, *both_sizes in sizes]
    return values, (first > 0) & (second > 0)


def _jaccard(pair: ItemsInBoth, ks: Cuts, dtype: jnp.dtype) -> Values:
    sizes, (first, second) = _set_sizes(pair, ks, dtype), pair.lengths
    values = [ratio(common, sum(both_sizes) - common) for common, *both_sizes in sizes]
    return values, (first > 0) | (second > 0)


def _set_sizes(
    pair: ItemsInBoth, ks: Cuts, dtype: jnp.dtype
) -> list[tuple[jax.Array, jax.Array, jax.Array]]:
    """Returns |A ∩ B|, |A| and |B| for each cutoff, as floats `[*lists]`.

    A and B are the first k distinct ids of each list, or all ids if k is None. The lists
    [1, 2, 3] and [1, 3] have the sizes (1, 2, 2) at k = 2, and (2, 3, 2) at None. If items
    tie, |A ∩ B| is the mean over their orders: the chances that an item is in A and in B
    are multiplied, because the orders of two lists are independent.
    """
    sizes, places = [], pair.places()
    for k in ks:
        depths = [end if k is None else jnp.minimum(end, k) for end in pair.lengths]
        in_first, in_second = (
            id_lists.chance(place, pair.matched.in_both, depth[..., None], dtype)
            for place, depth in zip(places, depths, strict=True)
        )
        common = arithmetic.total(in_first * in_second)
        first, second = (depth.astype(dtype) for depth in depths)
        sizes.append((common, first, second))
    return sizes


def kendall_tau(first: Ids, second: Ids, variant: types.TauVariant = "a") -> PerList:
    """Kendall's tau of the order of the ids that are in both lists.

    .. math:: τ = 1 − 2 · D / P

    D of the P pairs of common ids are in opposite order, so τ is 1 for equal orders and −1
    for reversed ones. A pair that ties in either list adds ½ to D, which makes the value
    the mean over the orders of tied items.

    Undefined (fewer than two common ids, or, for the variant "b", all tied in a list): 0.
    Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same for another system.
        variant: "a" is the formula above; "b" is the surplus of pairs in order, divided by
            the geometric mean of the numbers of pairs that do not tie in each list. "b" is
            1 if both lists have the same order and the same ties. Without ties, both
            variants agree.

    Raises:
        ValueError: as `rank_biased_overlap`; if items tie across the cut of a ranking,
            because their order then decides which ids are common; if `variant` is
            neither of the two.
        TypeError: if ids are not integers.

    References:
        Kendall, A new measure of rank correlation, Biometrika 30, 1938; The treatment of
        ties in ranking problems, Biometrika 33, 1945. "b" agrees with
        `scipy.stats.kendalltau` of the ranks of the common ids.

    >>> a, b = jnp.array([1, 2, 3, 4]), jnp.array([2, 1, 7, 3])
    >>> f"{kendall_tau(a, b).values:.3f}"  # 1 of 3 pairs, (1, 2), is reversed
    '0.333'
    """
    inputs.option("variant", variant, types.TauVariant)
    return compare_ids(_TAU[variant], first, second, ties="held groups")


def spearman_rho(first: Ids, second: Ids) -> PerList:
    """Spearman's rho: the correlation of the ranks of the ids that are in both lists.

    .. math:: ρ = 1 − 6 · Σ_i d_i^2 / (n · (n^2 − 1))

    d_i is the number of ranks by which id i moves, and ranks count only the n common ids.
    If items of a `Ranking` tie, the value is the mean over their orders.

    Undefined (fewer than two common ids): 0. Every list has the weight 1.

    Args:
        first: Ids or a `Ranking`; see `rank_biased_overlap`.
        second: The same for another system.

    Raises:
        ValueError: as `kendall_tau`.
        TypeError: if ids are not integers.

    References:
        Spearman, The proof and measurement of association between two things, American
        Journal of Psychology 15, 1904. Agrees with `scipy.stats.spearmanr` of the ranks
        of the common ids.

    >>> a, b = jnp.array([1, 2, 3, 4]), jnp.array([2, 1, 7, 3])
    >>> f"{spearman_rho(a, b).values:.3f}"  # d is 1, 1 and 0: 1 - 6·2/(3·8)
    '0.500'
    """
    return compare_ids(_spearman, first, second, ties="held groups")


def _kendall(
    pair: ItemsInBoth, ks: Cuts, dtype: jnp.dtype, variant: types.TauVariant
) -> Values:
    del ks
    ranking, num_pairs = _common_items(pair, dtype)
    if variant == "b":
        lists = tau.of(ranking)
        return [lists.values], lists.defined
    pairs = ranking.pairs(label_fns.label_of)
    return [ratio(pairs.in_order - pairs.opposed, num_pairs)], num_pairs > 0


def _spearman(pair: ItemsInBoth, ks: Cuts, dtype: jnp.dtype) -> Values:
    del ks
    ranking, num_pairs = _common_items(pair, dtype)
    products = concordance.products(traced_data(ranking), label_fns.label_of)
    size = arithmetic.count(pair.matched.in_both).astype(dtype)
    return [ratio(products.by_both, num_pairs * (size + 1) / 6)], num_pairs > 0


def _common_items(pair: ItemsInBoth, dtype: jnp.dtype) -> tuple[Ranking, jax.Array]:
    """Returns the items that are in both lists, and the number of their pairs.

    The ranking has the order of the first list; labels fall with the rank in the second.
    """
    matched = pair.matched
    size = arithmetic.count(matched.in_both).astype(dtype)
    num_pairs = size * (size - 1) / 2
    labels = matched.max_length - matched.second_ranks
    if all(items.keys is None for items in pair.lists):
        labels = jnp.where(matched.in_both, labels, 0).astype(dtype)
        data = rank_in_order(ItemArrays(labels, matched.in_both), None, None, None)
        return Ranking(data), num_pairs
    (first_above, _), (second_above, _) = pair.places()
    labels = (matched.max_length - second_above).astype(dtype)
    scores = -first_above.astype(dtype)
    return rank(labels, scores, matched.in_both, ties="expected"), num_pairs


_TAU = {name: partial(_kendall, variant=name) for name in get_args(types.TauVariant)}
