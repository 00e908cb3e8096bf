"""Remarks on labels, scores and ids that are legal, but look like a mistake.

`jrm.check` returns the remarks. Drivers, `join` and the command warn about some of
them.

Thresholds are set so that sound data triggers no remark: what a remark reports must be
unlikely to come from chance or from a common practice.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax
import numpy as np

from jax_rank_metrics._ground import inputs
from jax_rank_metrics._ground.inputs.list_ids import IDS_OF_SIZES
from jax_rank_metrics._ground.types import Number
from jax_rank_metrics._names.cutoff_names import cutoff_names
from jax_rank_metrics._values import on_host
from jax_rank_metrics._values.mean import Mean
from jax_rank_metrics._values.per_list import PerList

ALL_EXCLUDED = "every relevant id is excluded in"
TIED = "items tie for"
REVERSED = "relevant items score below the others"
_Count = int | np.integer


class FlatLists(NamedTuple):
    """Lists of any layout, flattened to arrays of items, on the host.

    Attributes:
        labels: `[items]` float64.
        scores: `[items]` float64, the scores that metrics compare, or None.
        exists: `[items]` bool; False for items that are masked, have a negative label
            or belong to no list.
        relevant: `[items]` bool, True for some of the existing items.
        list_numbers: `[items]` int, the number of each item's list; lists of all
            leading axes are numbered consecutively.
        shape: The leading axes, whose product is the number of lists.
        exact_scores: `[items]`, the scores before rounding, if metrics round them.
        in_order: The names of metrics that read tied items in one order, which a hash
            determines.
    """

    labels: np.ndarray
    scores: np.ndarray | None
    exists: np.ndarray
    relevant: np.ndarray
    list_numbers: np.ndarray
    shape: tuple[int, ...]
    exact_scores: np.ndarray | None = None
    in_order: Sequence[str] = ()

    def count_items(self, items: np.ndarray) -> np.ndarray:
        """Counts the items of each list for which a bool array is True; `[lists]`."""
        return np.bincount(self.list_numbers[items], minlength=math.prod(self.shape))

    def sum_items(self, values: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Sums values of each list over items for which a bool array is True; `[lists]`."""
        size = math.prod(self.shape)
        return np.bincount(self.list_numbers[items], values[items], minlength=size)


def _with_example(
    flagged: np.ndarray, examined: np.ndarray, shape: tuple[int, ...]
) -> str:
    """Describes the lists of a remark: "2 of 5 lists, as in list 3", or "the list".

    `flagged` and `examined` are bool `[lists]`; 3 is the number of the first flagged
    list.
    """
    if not shape:
        return "the list"
    index = inputs.first_index(flagged.reshape(shape))
    example = index[0] if len(index) == 1 else index
    count, total = np.count_nonzero(flagged), np.count_nonzero(examined)
    return f"{count} of {total} lists, as in list {example}"


def remark_on_lists(lists: FlatLists, threshold: Number) -> list[str]:
    """Remarks on labels, and on scores if there are any."""
    if lists.scores is not None and (swapped := _swapped(lists, lists.scores)):
        return swapped  # further remarks would only follow from this one
    remarks = [
        *_single_items(lists),
        *_never_relevant(lists, threshold),
        *_always_relevant(lists, threshold),
    ]
    if lists.scores is None:
        return remarks
    return remarks + remark_on_scores(lists, lists.scores)


def remark_on_scores(lists: FlatLists, scores: np.ndarray) -> list[str]:
    """Remarks on infinite, colliding and tied scores, and on reversed orders."""
    exact_scores = scores if lists.exact_scores is None else lists.exact_scores
    return [
        *_infinite(lists, scores),
        *remark_on_collisions(lists, scores),
        *_constant(lists, exact_scores),
        *remark_on_ties(lists, exact_scores),
        *remark_on_reversal(lists, scores),
    ]


def _swapped(lists: FlatLists, scores: np.ndarray) -> list[str]:
    """Remarks if labels look like scores, and scores like grades."""
    labels, scores = lists.labels[lists.exists], scores[lists.exists]
    grades = np.unique(scores)
    if not (labels.size >= 8 and 2 <= grades.size <= 6):
        return []
    fraction = np.mean(labels != np.floor(labels))
    num_labels = np.unique(labels).size
    are_whole = (grades == np.floor(grades)).all()
    are_grades = are_whole and 0 <= grades[0] and grades[-1] <= 10
    if not (are_grades and fraction > 0.5 and num_labels > max(grades.size, 5)):
        return []
    return [
        f"labels hold {num_labels} values, most of them fractions, and scores only "
        f"{grades.size} whole ones from {grades[0]:g} to {grades[-1]:g}; pass labels "
        "before scores, if these were swapped"
    ]


def _single_items(lists: FlatLists) -> list[str]:
    """Remarks if every list has a single item, as in arrays `[lists, items, 1]`."""
    sizes = lists.count_items(lists.exists)
    num_lists = np.count_nonzero(sizes)
    if num_lists < 2 or sizes.max() > 1:
        return []
    return [
        f"every one of {num_lists} lists has a single item, which is always ranked first; "
        "pass arrays [lists, items], without a last axis of length 1"
    ]


def _never_relevant(lists: FlatLists, threshold: Number) -> list[str]:
    """Remarks if there are positive labels, but all are below the threshold."""
    labels = lists.labels[lists.exists]
    if lists.relevant.any():
        return []
    return remark_on_grades(labels.size, labels.max(initial=0), threshold)


def remark_on_grades(num_items: int, largest: float, threshold: Number) -> list[str]:
    """Remarks if the largest label of items is positive, but below the threshold."""
    if not 0 < largest < threshold:
        return []
    return [
        f"none of {num_items} items is relevant: the largest label is {largest:g}, and "
        f"relevance_threshold is {threshold:g}; pass a lower relevance_threshold to all "
        "metrics but cg, dcg and ndcg"
    ]


def infinite_scores(subject: str) -> str:
    """Returns the remark that there are scores −inf in the subject, such as "the list"."""
    return (
        f"scores are -inf in {subject}; -inf is the lowest score, and such items are "
        "ranked and may be found: mask or exclude items that must not be found"
    )


def colliding_scores(subject: str, dtype: str, cure: str) -> str:
    """Returns the remark that scores collide in the subject, such as "the list".

    Args:
        subject: The lists in which scores collide, such as "2 of 5 lists".
        dtype: The dtype in which different scores become equal.
        cure: The advice on the scores to pass.
    """
    return (
        f"scores that differ become equal in {dtype}, in which they are compared, and "
        f"relevant items tie with others, in {subject}; {cure}"
    )


def _infinite(lists: FlatLists, scores: np.ndarray) -> list[str]:
    """Remarks on existing items with the score −inf."""
    is_lowest = lists.exists & np.isneginf(scores)
    if not is_lowest.any():
        return []
    flagged, sizes = lists.count_items(is_lowest) > 0, lists.count_items(lists.exists)
    return [infinite_scores(_with_example(flagged, sizes > 0, lists.shape))]


def collides(
    list_numbers: np.ndarray,
    scores: np.ndarray,
    exact_scores: np.ndarray,
    labels: np.ndarray,
    num_lists: int,
) -> np.ndarray:
    """Returns True for lists in which collisions may change a metric, `[lists]` bool.

    In such a list, some items have the same score, but different exact scores and
    labels.

    Args:
        list_numbers: `[items]` int, the list of each item.
        scores: `[items]`, the scores that metrics compare.
        exact_scores: `[items]`, the scores before rounding.
        labels: `[items]`.
        num_lists: The number of lists.
    """
    distinct, keys = np.unique(scores, return_inverse=True)
    keys = keys + list_numbers.astype(np.int64) * max(len(distinct), 1)
    _, first, groups = np.unique(keys, return_index=True, return_inverse=True)

    def varies(values: np.ndarray) -> np.ndarray:
        is_changed = np.zeros(len(first), bool)
        is_changed[groups[values != values[first][groups]]] = True
        return is_changed

    is_odd = varies(exact_scores) & varies(labels)
    return np.bincount(list_numbers[first[is_odd]], minlength=num_lists) > 0


def _where_labels_collide(
    lists: FlatLists, scores: np.ndarray, exact_scores: np.ndarray
) -> str:
    """Describes the lists for which `collides` is True; "" if there are none."""
    exists, num_lists = lists.exists, math.prod(lists.shape)
    labels, numbers = lists.labels[exists], lists.list_numbers[exists]
    flagged = collides(numbers, scores[exists], exact_scores[exists], labels, num_lists)
    if not flagged.any():
        return ""
    return _with_example(flagged, lists.count_items(exists) > 0, lists.shape)


def remark_on_collisions(lists: FlatLists, scores: np.ndarray) -> list[str]:
    """Remarks on different scores that metrics cannot tell apart."""
    if lists.exact_scores is None:
        return []
    where = _where_labels_collide(lists, scores, lists.exact_scores)
    cure = (
        "subtract the same number from all scores of a list, or rank them in float64 "
        "and pass the negative ranks, or enable jax_enable_x64"
    )
    return [colliding_scores(where, "float32", cure)] if where else []


def remark_on_ties(lists: FlatLists, scores: np.ndarray) -> list[str]:
    """Remarks if items with different labels tie, and a metric reads them in one order."""
    if not lists.in_order:
        return []
    where = _where_labels_collide(lists, scores, lists.labels)
    return [read_in_one_order(where, lists.in_order)] if where else []


def read_in_one_order(where: str, names: Sequence[str]) -> str:
    """Returns the remark that items tie in `where`, and metrics read them in one order."""
    return (
        f"{TIED} {where}, and {', '.join(names)} has no formula for the mean over their "
        "orders: one order by a hash was read; pass key= to draw an order for each list"
    )


def remark_on_cutoffs(
    lists: FlatLists,
    scores: np.ndarray,
    cutoffs: Mapping[str, Sequence[object]],
    measure: Callable[[np.ndarray], Mapping[str, PerList]],
) -> list[str]:
    """Remarks if ties across a cutoff can move a mean by more than its standard error.

    Args:
        lists: The lists.
        scores: `[items]`, the scores that metrics compare.
        cutoffs: A dict from names of metrics to their cutoffs; only ints are used.
        measure: A function from other scores, `[items]` int32, to the values of these
            metrics.
    """
    ks = {
        k
        for metric_cutoffs in cutoffs.values()
        for k in metric_cutoffs
        if isinstance(k, int)
    }
    if not ks:
        return []
    slots = np.flatnonzero(lists.exists)
    numbers, labels = lists.list_numbers[slots].astype(np.int64), lists.labels[slots]
    _, start_of_list, _ = _divided(numbers, np.zeros(slots.size))
    groups, start, size = _divided(numbers, -scores[slots])
    above = start - start_of_list
    # If all labels of tied items are equal, their order changes nothing.
    orders = [_divided(groups, sign * labels) for sign in (-1, 1)]
    varies = orders[0][2] < size
    crosses = {k: varies & (above < k) & (k < above + size) for k in sorted(ks)}
    crosses = {k: items for k, items in crosses.items() if items.any()}
    if not crosses:
        return []

    def means(ranks: np.ndarray) -> dict[str, list[on_host.Estimate]]:
        new_scores = np.zeros(lists.exists.shape, np.int32)
        new_scores[slots] = -ranks
        sums = {
            name: on_host.HostSums.of_lists(values, Mean)
            for name, values in jax.device_get(measure(new_scores)).items()
        }
        return {
            name: metric_sums.estimates(0.95, "t") for name, metric_sums in sums.items()
        }

    known, moved, flagged = means(start), [], np.zeros(math.prod(lists.shape), bool)
    for k, items in crosses.items():
        bounds = [means(np.where(items, before, start)) for _, before, _ in orders]
        for name, metric_cutoffs in cutoffs.items():
            names = (
                cutoff_names(name, len(metric_cutoffs))
                if metric_cutoffs[1:]
                else [name]
            )
            for i in (i for i, cutoff in enumerate(metric_cutoffs) if cutoff == k):
                value, error = known[name][i].mean, known[name][i].std_error
                low, high = sorted(bound[name][i].mean for bound in bounds)
                if max(high - value, value - low) > error + 1e-6:
                    flagged[numbers[items]] = True
                    span = f"{low:.4g} to {high:.4g}"
                    moved.append(f"{names[i]} {value:.4g} ± {error:.2g} ({span})")
    if not moved:
        return []
    where = _with_example(flagged, lists.count_items(lists.exists) > 0, lists.shape)
    return [
        f"items of different labels tie across a cutoff in {where}, and their order can "
        f"move a mean beyond its standard error: {', '.join(moved)}; pass scores that "
        "tell these items apart, or report the range"
    ]


def _divided(
    groups: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divides groups into smaller groups of equal values, the smallest value first.

    Args:
        groups: `[items]` int64, the group of each item.
        values: `[items]`.

    Returns:
        For each item: its new group, the number of items in earlier groups, and the
        size of its group.
    """
    distinct, keys = np.unique(values, return_inverse=True)
    _, new, sizes = np.unique(
        groups * max(distinct.size, 1) + keys, return_inverse=True, return_counts=True
    )
    return new, (np.cumsum(sizes) - sizes)[new], sizes[new]


def _always_relevant(lists: FlatLists, threshold: Number) -> list[str]:
    """Remarks if all of at least 5 items are relevant, and a list has more than one."""
    num_items = np.count_nonzero(lists.exists)
    has_longer_lists = (lists.count_items(lists.exists) > 1).any()
    if num_items < 5 or not has_longer_lists or (lists.exists & ~lists.relevant).any():
        return []
    smallest = lists.labels[lists.exists].min()
    return [
        f"every one of {num_items} items is relevant: the smallest label is {smallest:g}, "
        f"and relevance_threshold is {threshold:g}; pass a higher relevance_threshold, as "
        "for ratings, or add items that are not relevant"
    ]


def _constant(lists: FlatLists, scores: np.ndarray) -> list[str]:
    """Remarks on lists whose scores are all equal.

    Lists of fewer than 5 items, which may tie by chance, are left out, unless the
    scores of every list are all equal.
    """
    sizes = lists.count_items(lists.exists)
    comparable = sizes > 1
    highest = np.full(sizes.shape, -np.inf)
    np.maximum.at(highest, lists.list_numbers[lists.exists], scores[lists.exists])
    below = lists.count_items(lists.exists & (scores < highest[lists.list_numbers]))
    constant = comparable & (below == 0)
    if not constant[comparable].all():
        constant &= sizes >= 5
    if not constant.any():
        return []
    return [
        f"all scores are equal in {_with_example(constant, comparable, lists.shape)}; "
        "pass scores that tell items apart, or expect the metrics of a random order there "
        "(a metric without a closed form over ties, such as inst, takes the same order in "
        "every list, unless a key draws them)"
    ]


def remark_on_reversal(lists: FlatLists, scores: np.ndarray) -> list[str]:
    """Remarks if relevant items score below the other items more often than by chance."""
    finite = lists.exists & np.isfinite(scores)
    relevant, irrelevant = finite & lists.relevant, finite & ~lists.relevant
    num_relevant = lists.count_items(relevant)
    num_irrelevant = lists.count_items(irrelevant)
    comparable = (num_relevant > 0) & (num_irrelevant > 0)
    relevant_mean = lists.sum_items(scores, relevant) / np.maximum(num_relevant, 1)
    irrelevant_sum = lists.sum_items(scores, irrelevant)
    irrelevant_mean = irrelevant_sum / np.maximum(num_irrelevant, 1)
    below = comparable & (relevant_mean < irrelevant_mean)
    above = comparable & (relevant_mean > irrelevant_mean)
    if not is_reversed(np.count_nonzero(below), np.count_nonzero(above)):
        return []
    return [reversed_scores(_with_example(below, comparable, lists.shape))]


def is_reversed(losses: _Count, wins: _Count) -> bool:
    """Returns True if an order loses so often that the reverse order must be meant.

    It has to lose in at least four of five lists, and by at least four standard
    deviations of fair coin flips.
    """
    decided = losses + wins
    return bool(decided and losses - wins >= max(4 * decided**0.5, 0.6 * decided))


def reversed_scores(where: str) -> str:
    """Returns the remark that relevant items score below the others in `where`."""
    return (
        f"{REVERSED} in {where}; higher scores rank first: "
        "pass -scores, if they are ranks, distances or losses"
    )


def remark_on_weights(name: str, weights: np.ndarray) -> list[str]:
    """Remarks on weights that are NaN or negative, which mask items or lists."""
    is_odd = ~(weights >= 0)
    if not is_odd.any():
        return []
    index = inputs.first_index(is_odd)
    return [
        f"{name} is {weights[index]} at {index}, which leaves out the item or list, as a "
        "weight of 0 does; pass 0 there if that is meant"
    ]


def remark_on_one_list(num_items: _Count, num_relevant: _Count, cure: str) -> list[str]:
    """Remarks if a single list is so long that it may hold the items of many queries."""
    if num_items <= 1000 or num_relevant < 50:
        return []
    return [
        f"there is only one list, of {num_items} items, {num_relevant} of them relevant; "
        f"if it holds the items of several queries, {cure}"
    ]


def remark_on_padding(
    labels: np.ndarray, unmasked: np.ndarray, packed: bool
) -> list[str]:
    """Remarks on negative labels, unless they look like padding.

    Padding has a single value, at the end of rows: `[2, 0, -1, -1]`. Packed lists need
    no padding, so any negative label in them is odd. `labels` and `unmasked` are
    `[*lists, items]`; `unmasked` is True for items that mask and segments keep.
    """
    odd = negative = unmasked & (labels < 0)
    if not packed and np.unique(labels[negative]).size < 2:
        kept = unmasked & ~negative
        before_kept = np.flip(np.logical_or.accumulate(np.flip(kept, -1), axis=-1), -1)
        odd = negative & before_kept
    if not odd.any():
        return []
    index = inputs.first_index(odd)
    return [
        f"{np.count_nonzero(negative)} of {np.count_nonzero(unmasked)} labels are "
        f"negative, as {labels[index]:g} at {index}, and their items are left out as "
        "padding; pass 0 for items that are not relevant, and mask padding"
    ]


def remark_on_mask(mask: np.ndarray) -> list[str]:
    """Remarks on lists whose items are all masked, except for padding lists at the end."""
    exists = np.any(mask, axis=-1).reshape(-1)
    hidden = ~exists
    cure = "pass ~mask, if mask is True for padding: it must be True for existing items"
    if mask.size and not exists.any():
        return [f"the mask hides every item of every list; {cure}"]
    num_lists = exists.size - np.argmax(exists[::-1]) if exists.size else 0
    hidden[num_lists:] = False
    if np.count_nonzero(hidden) < max(2, 0.1 * num_lists):
        return []
    example = _with_example(hidden, np.ones_like(hidden), mask.shape[:-1])
    return [f"the mask hides every item of {example}; {cure}"]


def remark_on_segments(segment_ids: np.ndarray, num_segments: int) -> list[str]:
    """Remarks if items seem to have the size of their list as id, instead of its number.

    The id n then occurs at n consecutive items, or at a multiple of n if neighbouring
    lists have the same size. Two ids may look so by chance, so there have to be at
    least three ids, or a single id for all lists.
    """
    if segment_ids.ndim > 1 or segment_ids.min(initial=1) < 1:
        return []
    starts = np.flatnonzero(np.diff(segment_ids, prepend=0))
    sizes, lengths = segment_ids[starts], np.diff(starts, append=segment_ids.size)
    num_lists = lengths // sizes
    are_many = len(sizes) > 2 and np.median(num_lists) == 1
    if (lengths % sizes).any() or not (are_many or [*num_lists] == [num_segments]):
        return []
    return [
        f"segment_ids are {sizes[0]} at the first {sizes[0]} items, and so on, as if they "
        "were the sizes of lists; pass the number of each item's list, as "
        f"{IDS_OF_SIZES} has it"
    ]


def _keys(*ids: np.ndarray) -> list[np.ndarray]:
    """Returns integer keys of ids `[lists, …]`, equal if list and id are equal."""
    flat = np.concatenate([array.reshape(-1) for array in ids])
    _, dense = np.unique(flat, return_inverse=True)
    parts = np.split(dense, np.cumsum([array.size for array in ids])[:-1])
    offsets = np.arange(len(ids[0]), dtype=np.int64)[:, None] * (flat.size + 1)
    return [
        part.reshape(array.shape) + offsets
        for part, array in zip(parts, ids, strict=True)
    ]


def remark_on_excluded(
    relevant_ids: np.ndarray,
    relevant: np.ndarray,
    exclude_ids: np.ndarray,
    shape: tuple[int, ...],
) -> list[str]:
    """Remarks on lists whose relevant items are all excluded.

    `relevant_ids` and `relevant` are `[lists, ids]`; `relevant` is True for relevant ids.
    `exclude_ids` is `[lists, excluded]`. `shape` holds the leading axes of the caller's
    arrays.
    """
    relevant_keys, excluded_keys = _keys(relevant_ids, exclude_ids)
    reachable = relevant & ~np.isin(relevant_keys, excluded_keys)
    has_relevant = np.any(relevant, axis=-1)
    unreachable = has_relevant & ~np.any(reachable, axis=-1)
    if not unreachable.any():
        return []
    row = int(np.argmax(unreachable))
    example = relevant_ids[row, np.argmax(relevant[row])]
    return [
        f"{ALL_EXCLUDED} "
        f"{_with_example(unreachable, has_relevant, shape)} (such as id {example}), so "
        "metrics are undefined there; take relevant ids out of exclude_ids"
    ]


def remark_on_retrieved(
    retrieved_ids: np.ndarray,
    relevant_ids: np.ndarray,
    relevant: np.ndarray,
    shape: tuple[int, ...],
) -> list[str]:
    """Remarks if ids are retrieved twice, and if no list retrieved anything relevant.

    See `remark_on_excluded`; `retrieved_ids` is `[lists, retrieved]`.
    """
    remarks = []
    repeats = inputs.repeated(retrieved_ids)
    has_repeat = np.any(repeats, axis=-1)
    has_retrieved = np.any(retrieved_ids >= 0, axis=-1)
    if has_repeat.any():
        row = int(np.argmax(has_repeat))
        example = retrieved_ids[row, np.argmax(repeats[row])]
        remarks.append(
            "retrieved_ids hold an id twice in "
            f"{_with_example(has_repeat, has_retrieved, shape)} (id {example}); pass each "
            "id once, because repeats are not relevant but keep their rank"
        )
    relevant_keys, retrieved_keys = _keys(relevant_ids, retrieved_ids)
    hits = relevant & np.isin(relevant_keys, retrieved_keys)
    num_lists = np.count_nonzero(np.any(relevant, axis=-1) & has_retrieved)
    if num_lists >= 10 and not hits.any():
        remarks.append(
            f"none of the relevant ids was retrieved in any of {num_lists} lists; pass "
            "ids that number items in the same way, such as both from 0"
        )
    return remarks
