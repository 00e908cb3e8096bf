"""`jrm.check`: raises on impossible values, and remarks on those that look unintended."""

from jax.core import Tracer

from jax_rank_metrics import _inputs
from jax_rank_metrics._check.values import check_ids, check_labels
from jax_rank_metrics._gains import exponential_gain
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
    """Raises on impossible values, and returns remarks on values that look unintended.

    Pass what you pass to the call that is to be checked: labels and scores as to `rank`,
    packed or not; ids as to `rank_ids` and `rank_catalog`; scores and ids as to
    `rank_scores`. Everything is read on the host, so call it outside `jax.jit`, once for
    a data set or on its first batch.

    Each remark says how many lists or items it is about, names the first of them, and
    says what to pass if they were not intended. There are remarks on

    - labels and scores that seem to be swapped;
    - lists that all have a single item, as arrays `[lists, items, 1]` have;
    - items of which none is relevant, or all are, at this threshold;
    - negative labels, unless they are padding: one value, at the end of rows;
    - lists in which all scores are equal;
    - relevant items that score below the others, as if scores were ranks or distances;
    - masks that hide whole lists before others;
    - lists whose relevant items are all excluded;
    - ids that are retrieved twice, and relevant ids that are never retrieved.

    Args:
        labels: See `rank`.
        scores: See `rank`. NaN raises where an item exists.
        mask: See `rank`.
        weights: See `rank`. Negative and NaN weights raise, of lists and of items that
            exist.
        gain_fn: The gain function; its values must be finite and not negative.
        relevance_threshold: The smallest label of a relevant item.
        segment_ids: See `rank`.
        num_segments: See `rank`. Segment ids that are not below it raise.
        retrieved_ids: See `rank_ids`.
        relevant_ids: See `rank_ids` and `rank_catalog`. A repeated id in a list raises.
        relevant_labels: See `rank_ids`; None makes every listed id relevant.
        exclude_ids: See `rank_catalog`.
        num_items: The number of items in the catalogue. Ids count from 0, so those that
            are not below it raise. Read off the scores where these are passed with ids.

    Returns:
        The remarks; an empty list if nothing looks odd.

    Raises:
        ValueError: if a value is impossible; it names the argument, the first index and
            the value there.
        TypeError: if an argument is traced; or as `rank`.

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
    arguments = {
        "labels": labels,
        "scores": scores,
        "mask": mask,
        "weights": weights,
        "segment_ids": segment_ids,
        "num_segments": num_segments,
        "retrieved_ids": retrieved_ids,
        "relevant_ids": relevant_ids,
        "relevant_labels": relevant_labels,
        "exclude_ids": exclude_ids,
        "num_items": num_items,
    }
    for name, value in arguments.items():
        if isinstance(value, Tracer):
            raise TypeError(f"{name} is traced; call check outside jax.jit")
    _inputs.positive("relevance_threshold", relevance_threshold)
    if relevant_ids is None:
        for name in ("retrieved_ids", "relevant_labels", "exclude_ids", "num_items"):
            if arguments[name] is not None:
                raise ValueError(f"{name} is given but relevant_ids is None; pass both")
    if labels is None:
        for name in ("mask", "weights", "segment_ids", "num_segments"):
            if arguments[name] is not None:
                raise ValueError(f"{name} is given but labels is None; pass both")
        if relevant_ids is None:
            raise ValueError("labels and relevant_ids are both None; pass one of them")
    remarks: list[str] = []
    if labels is not None:
        remarks += check_labels(
            (labels, scores, mask, weights),
            (segment_ids, num_segments),
            gain_fn,
            relevance_threshold,
        )
    if relevant_ids is not None:
        remarks += check_ids(
            (retrieved_ids, relevant_ids, relevant_labels, exclude_ids),
            scores if labels is None else None,
            num_items,
            gain_fn,
            relevance_threshold,
        )
    return remarks
