"""What `jrm.check` remarks on: values that are legal, and look odd.

Each remark is made where chance or a common habit hardly explains what it says, so that
data that are well have none.
"""

import math
from typing import NamedTuple

import numpy as np

from jax_rank_metrics._inputs.arrays import first_place


class Lists(NamedTuple):
    """Lists of any layout, item by item, on the host.

    Attributes:
        labels: `[items]` float64.
        scores: The same, or None.
        exists: `[items]` bool: neither masked, nor of a negative label or of no list.
        relevant: `[items]` bool, of those that exist.
        number: `[items]`, the list of each item, counted through all lists.
        shape: The axes of lists.
    """

    labels: np.ndarray
    scores: np.ndarray | None
    exists: np.ndarray
    relevant: np.ndarray
    number: np.ndarray
    shape: tuple[int, ...]

    def how_many(self, items: np.ndarray) -> np.ndarray:
        """How many of some items each list has."""
        return np.bincount(self.number[items], minlength=math.prod(self.shape))

    def total(self, values: np.ndarray, items: np.ndarray) -> np.ndarray:
        """What values of some items add up to in each list."""
        size = math.prod(self.shape)
        return np.bincount(self.number[items], values[items], minlength=size)


def told(which: np.ndarray, among: np.ndarray, shape: tuple[int, ...]) -> str:
    """How many lists, and one of them."""
    number, of = np.count_nonzero(which), np.count_nonzero(among)
    if not shape:
        return "the list"
    place = first_place(which.reshape(shape))
    first = place[0] if len(place) == 1 else place
    return f"{number} of {of} lists, as in list {first}"


def of_lists(lists: Lists, threshold: float) -> list[str]:
    """What is odd about labels, and about scores beside them."""
    if lists.scores is not None and (swapped := _swapped(lists, lists.scores)):
        return swapped  # what else is odd follows from it
    remarks = [
        *_single_items(lists),
        *_never_relevant(lists, threshold),
        *_always_relevant(lists, threshold),
    ]
    return remarks if lists.scores is None else remarks + of_scores(lists, lists.scores)


def of_scores(lists: Lists, scores: np.ndarray) -> list[str]:
    """What is odd about scores."""
    return [*_tied(lists, scores), *_turned(lists, scores)]


def _swapped(lists: Lists, scores: np.ndarray) -> list[str]:
    labels, scores = lists.labels[lists.exists], scores[lists.exists]
    grades = np.unique(scores)
    if not (labels.size >= 8 and 2 <= grades.size <= 6):
        return []
    fractions = np.mean(labels != np.floor(labels))
    values = np.unique(labels).size
    as_grades = (grades == np.floor(grades)).all() and 0 <= grades[0] <= grades[
        -1
    ] <= 10
    if not (as_grades and fractions > 0.5 and values > max(grades.size, 5)):
        return []
    return [
        f"labels hold {values} values, most of them fractions, and scores only "
        f"{grades.size} whole ones from {grades[0]:g} to {grades[-1]:g}; pass labels "
        "before scores, if these were swapped"
    ]


def _single_items(lists: Lists) -> list[str]:
    """Lists of one item each, as arrays `[lists, items, 1]` make of every item."""
    sizes = lists.how_many(lists.exists)
    count = np.count_nonzero(sizes)
    if count < 2 or sizes.max() > 1:
        return []
    return [
        f"every one of {count} lists has a single item, which is always ranked first; pass "
        "arrays [lists, items], without a last axis of length 1"
    ]


def _never_relevant(lists: Lists, threshold: float) -> list[str]:
    labels = lists.labels[lists.exists]
    most = labels.max(initial=0)
    if lists.relevant.any() or most <= 0:
        return []
    return [
        f"none of {labels.size} items is relevant: the largest label is {most:g}, and "
        f"relevance_threshold is {threshold:g}; pass a lower relevance_threshold to all "
        "metrics but cg, dcg and ndcg"
    ]


def _always_relevant(lists: Lists, threshold: float) -> list[str]:
    items = np.count_nonzero(lists.exists)
    among_others = (lists.how_many(lists.exists) > 1).any()
    if items < 5 or not among_others or (lists.exists & ~lists.relevant).any():
        return []
    least = lists.labels[lists.exists].min()
    return [
        f"every one of {items} items is relevant: the least label is {least:g}, and "
        f"relevance_threshold is {threshold:g}; pass a higher relevance_threshold, as "
        "for ratings, or items that are not relevant too"
    ]


def _tied(lists: Lists, scores: np.ndarray) -> list[str]:
    """Lists of one score: long ones, or all of them; few coarse scores tie by chance."""
    size = lists.how_many(lists.exists)
    several = size > 1
    highest = np.full(size.shape, -np.inf)
    np.maximum.at(highest, lists.number[lists.exists], scores[lists.exists])
    below = lists.how_many(lists.exists & (scores < highest[lists.number]))
    tied = several & (below == 0)
    if not tied[several].all():
        tied &= size >= 5
    if not tied.any():
        return []
    return [
        f"all scores are equal in {told(tied, several, lists.shape)}; pass scores that "
        "tell items apart, or know that the metrics there are those of a random order"
    ]


def _turned(lists: Lists, scores: np.ndarray) -> list[str]:
    """Relevant items below the others in so many lists that no chance explains it."""
    known = lists.exists & np.isfinite(scores)
    relevant, others = known & lists.relevant, known & ~lists.relevant
    numbers = lists.how_many(relevant), lists.how_many(others)
    both = (numbers[0] > 0) & (numbers[1] > 0)
    means = [
        lists.total(scores, items) / np.maximum(number, 1)
        for items, number in zip((relevant, others), numbers, strict=True)
    ]
    below, above = both & (means[0] < means[1]), both & (means[0] > means[1])
    losses, wins = np.count_nonzero(below), np.count_nonzero(above)
    decided = losses + wins
    # Four standard deviations of fair coins, and four lists in five whatever their number.
    if losses - wins < max(4 * decided**0.5, 0.6 * decided) or not decided:
        return []
    return [
        f"relevant items score below the others in {told(below, both, lists.shape)}; "
        "higher scores rank first: pass -scores, if they are ranks, distances or losses"
    ]


def of_padding(labels: np.ndarray, counted: np.ndarray, packed: bool) -> list[str]:
    """Negative labels, but for one value at the end of rows, which is padding.

    `counted` is what the mask and the segments leave, both `[*lists, items]`.
    """
    negative = counted & (labels < 0)
    odd = negative
    if not packed and np.unique(labels[negative]).size < 2:
        kept = counted & ~negative
        later = np.flip(np.logical_or.accumulate(np.flip(kept, -1), axis=-1), -1)
        odd = negative & later
    if not odd.any():
        return []
    place = first_place(odd)
    return [
        f"{np.count_nonzero(negative)} of {np.count_nonzero(counted)} labels are "
        f"negative, as {labels[place]:g} at {place}, and leave the ranking as padding "
        "does; pass 0 for items that are not relevant, and mask what is padding"
    ]


def of_mask(mask: np.ndarray) -> list[str]:
    """Lists that are hidden whole, but for those after all others, which are padding."""
    shape = mask.shape[:-1]
    exists = np.any(mask, axis=-1).reshape(-1)
    hidden = ~exists
    cure = "pass ~mask, if it is True where there is padding: True is what exists"
    if mask.size and not exists.any():
        return [f"the mask hides every item of every list; {cure}"]
    last = exists.size - np.argmax(exists[::-1]) if exists.size else 0
    hidden[last:] = False
    if np.count_nonzero(hidden) < max(2, 0.1 * last):
        return []
    among = np.ones_like(hidden)
    return [f"the mask hides every item of {told(hidden, among, shape)}; {cure}"]


def keys(*ids: np.ndarray) -> list[np.ndarray]:
    """A number for every id `[lists, …]` in its list: equal where both are equal."""
    lists = ids[0].shape[0]
    flat = np.concatenate([one.reshape(-1) for one in ids])
    _, dense = np.unique(flat, return_inverse=True)
    parts = np.split(dense, np.cumsum([one.size for one in ids])[:-1])
    rows = np.arange(lists, dtype=np.int64)[:, None] * (flat.size + 1)
    return [
        part.reshape(one.shape) + rows for part, one in zip(parts, ids, strict=True)
    ]


def of_excluded(
    relevant_ids: np.ndarray,
    relevant: np.ndarray,
    exclude_ids: np.ndarray,
    shape: tuple[int, ...],
) -> list[str]:
    """Lists of which nothing relevant is left; arrays are `[lists, …]`."""
    of_relevant, of_excluded = keys(relevant_ids, exclude_ids)
    left = relevant & ~np.isin(of_relevant, of_excluded)
    some = np.any(relevant, axis=-1)
    empty = some & ~np.any(left, axis=-1)
    if not empty.any():
        return []
    row = int(np.argmax(empty))
    one = relevant_ids[row, np.argmax(relevant[row])]
    return [
        f"every relevant id is excluded in {told(empty, some, shape)}, {one} among them, "
        "so that metrics are undefined there; leave what is to be found out of exclude_ids"
    ]


def of_retrieved(
    retrieved_ids: np.ndarray,
    relevant_ids: np.ndarray,
    relevant: np.ndarray,
    shape: tuple[int, ...],
) -> list[str]:
    """Ids retrieved twice, or of which none is ever relevant; arrays are `[lists, …]`."""
    remarks = []
    twice = repeated(retrieved_ids)
    lists, some = np.any(twice, axis=-1), np.any(retrieved_ids >= 0, axis=-1)
    if lists.any():
        row = int(np.argmax(lists))
        one = retrieved_ids[row, np.argmax(twice[row])]
        remarks.append(
            f"retrieved_ids hold an id twice in {told(lists, some, shape)}, "
            f"{one} there; pass each once, later ones are not relevant and keep their rank"
        )
    of_relevant, of_retrieved = keys(relevant_ids, retrieved_ids)
    found = relevant & np.isin(of_relevant, of_retrieved)
    number = np.count_nonzero(np.any(relevant, axis=-1) & some)
    if number >= 10 and not found.any():
        remarks.append(
            f"none of the relevant ids was retrieved in any of {number} lists; pass ids "
            "that number items alike, such as both from 0"
        )
    return remarks


def repeated(ids: np.ndarray) -> np.ndarray:
    """Where an id that is no padding stands again in its list; `[lists, ids]`."""
    [key] = keys(ids)
    again = np.ones(key.size, bool)
    _, first = np.unique(key, return_index=True)
    again[first] = False
    return again.reshape(ids.shape) & (ids >= 0)
