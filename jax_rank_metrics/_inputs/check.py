"""`jrm.check`: values that are legal, and probably not meant, which no call may tell."""

from jax.core import Tracer

from jax_rank_metrics import _inputs
from jax_rank_metrics._gains import exponential_gain
from jax_rank_metrics._inputs.values import of_ids, of_labels
from jax_rank_metrics._types import (
    ExcludedIds,
    Gain,
    Labels,
    Mask,
    Number,
    RelevantIds,
    RetrievedIds,
    Scores,
    SegmentIds,
    Weights,
)


def check(
    labels: Labels | None = None,
    scores: Scores | None = None,
    mask: Mask | None = None,
    weights: Weights | None = None,
    *,
    gain_fn: Gain = exponential_gain,
    relevance_threshold: Number = 1,
    segment_ids: SegmentIds | None = None,
    num_segments: int | None = None,
    retrieved_ids: RetrievedIds | None = None,
    relevant_ids: RelevantIds | None = None,
    relevant_labels: RelevantIds | None = None,
    exclude_ids: ExcludedIds | None = None,
    num_items: int | None = None,
) -> list[str]:
    """Raises on values that cannot be meant, and returns remarks on what looks odd.

    Pass what the call to be checked takes: labels and scores as to `rank`, packed or
    not; ids as to `rank_ids` and `rank_catalog`; scores and ids as to `rank_scores`.
    Everything is read on the host, so call it outside `jax.jit`, once for a data set or
    on its first batch.

    A remark says how many lists or items it is about, gives the place of one, and what
    to pass instead if it was not meant. It looks for these: lists whose relevant items
    are all excluded; relevant ids that were never retrieved; ids retrieved twice; labels
    and scores that were swapped; labels that are all below the threshold, or none;
    negative labels among others (those at the end of a row are padding, and none is
    remarked on that follows all others of its row); lists that have a single item, all
    of them, as in arrays `[lists, items, 1]`; lists in which all scores are equal;
    relevant items that score below the others, as where scores are ranks or distances;
    and masks that hide whole lists before others.

    Args:
        labels: As for `rank`, as are the next three.
        scores: NaN among items that exist raises.
        mask: As for `rank`.
        weights: Negative or NaN ones raise, of lists and of items that exist.
        gain_fn: The gain whose values must be finite and not negative.
        relevance_threshold: The label from which an item is relevant.
        segment_ids: As for `rank`, as is the next.
        num_segments: Ids that are not below it raise.
        retrieved_ids: As for `rank_ids`.
        relevant_ids: As for `rank_ids` and `rank_catalog`; a list that has one twice
            raises.
        relevant_labels: The same shape, or None for labels that are relevant.
        exclude_ids: As for `rank_catalog`.
        num_items: How many items a catalogue has, of which ids count from 0: ids that
            are not below it raise. Where scores come with ids, they tell.

    Returns:
        The remarks; none where nothing looks odd.

    Raises:
        ValueError: naming the argument, the first place, and the value there.
        TypeError: if an argument is traced, or as for `rank`.

    >>> check([1, 0], [0.5, float("nan")])
    Traceback (most recent call last):
        ...
    ValueError: scores is nan at (1,); pass numbers, or mask the item
    >>> check([[3, 0, 1], [0, 2, 0]], [[0.5, 0.1, 0.3], [0.2, 0.4, 0.3]])
    []
    >>> ratings, scores = [[5, 3, 4], [2, 1, 4]], [[0.5, 0.1, 0.3], [0.2, 0.4, 0.3]]
    >>> [remark] = check(ratings, scores)
    >>> remark.partition(":")[0]
    'every one of 6 items is relevant'
    """
    given = {
        "labels": labels,
        "scores": scores,
        "mask": mask,
        "weights": weights,
        "segment_ids": segment_ids,
        "retrieved_ids": retrieved_ids,
        "relevant_ids": relevant_ids,
        "relevant_labels": relevant_labels,
        "exclude_ids": exclude_ids,
        "num_items": num_items,
    }
    for name, value in given.items():
        if isinstance(value, Tracer):
            raise TypeError(f"{name} is traced; call check outside jax.jit")
    _inputs.positive("relevance_threshold", relevance_threshold)
    if relevant_ids is None:
        for name in ("retrieved_ids", "relevant_labels", "exclude_ids", "num_items"):
            if given[name] is not None:
                raise ValueError(f"{name} is given but relevant_ids is None; pass both")
    if labels is None:
        for name in ("mask", "weights", "segment_ids"):
            if given[name] is not None:
                raise ValueError(f"{name} is given but labels is None; pass both")
        if relevant_ids is None:
            raise ValueError("labels and relevant_ids are both None; pass one of them")
    remarks: list[str] = []
    if labels is not None:
        remarks += of_labels(
            (labels, scores, mask, weights),
            (segment_ids, num_segments),
            gain_fn,
            relevance_threshold,
        )
    if relevant_ids is not None:
        remarks += of_ids(
            (retrieved_ids, relevant_ids, relevant_labels, exclude_ids),
            scores if labels is None else None,
            num_items,
            gain_fn,
            relevance_threshold,
        )
    return remarks
