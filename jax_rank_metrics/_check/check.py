"""`jrm.check`: raises on impossible values, and remarks on those that look unintended."""

from typing import Any

import numpy as np
from jax.core import Tracer

from jax_rank_metrics import _inputs
from jax_rank_metrics._check.remarks import ALL_EXCLUDED, FlatLists, remark_on_scores
from jax_rank_metrics._check.values import check_gains, check_ids, check_labels
from jax_rank_metrics._drivers.evaluate_users import remark_on_seen
from jax_rank_metrics._drivers.evaluation import Evaluation
from jax_rank_metrics._drivers.interactions import (
    Interactions,
    RawInteractions,
    SparseRows,
    read_users,
)
from jax_rank_metrics._files.joined import Joined
from jax_rank_metrics._gains import exponential_gain
from jax_rank_metrics._types import (
    ArrayLike,
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
    labels: Labels | Joined | Evaluation | None = None,
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
    relevant: RawInteractions | None = None,
    seen: RawInteractions | None = None,
    model: Any = None,
    users: ArrayLike | None = None,
) -> list[str]:
    """Raises on impossible values, and returns remarks on values that look unintended.

    Pass what you pass to the call that is to be checked: labels and scores as to `rank`,
    packed or not; ids as to `rank_ids` and `rank_catalog`; scores and ids as to
    `rank_scores`; and `relevant` to `evaluate_users` or, as exclude is `seen` here, to
    `evaluate_embeddings`. Or pass what `join` or a driver has returned, which warned of the
    same. Everything is read on the host, so call it outside `jax.jit`, once for a data set
    or on its first batch.

    Each remark says how many lists or items it is about, names the first of them, and
    says what to pass if they were not intended. There are remarks on

    - labels and scores that seem to be swapped;
    - lists that all have a single item, as arrays `[lists, items, 1]` have;
    - items of which none is relevant, or all are, at this threshold;
    - negative labels, unless they are padding: one value, at the end of rows;
    - lists in which all scores are equal, and relevant items whose scores float32 does
      not tell from those of others;
    - scores of −inf, which is the lowest score (for a `model`, no recommendation);
    - relevant items that score below the others, as if scores were ranks or distances;
    - masks that hide whole lists before others;
    - lists whose relevant items are all excluded;
    - ids that are retrieved twice, and relevant ids that are never retrieved;
    - ids of a `Joined` that never match.

    Args:
        labels: See `rank`. Or a `Joined` or an `Evaluation`, with none of the other arrays.
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
        relevant: See `evaluate_users`, as the next three.
        seen: See there.
        model: See there; only scores `[users, items]` are looked at.
        users: See there.

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
    if isinstance(labels, (Joined, Evaluation)):
        further_names = [
            x for x in arguments if x != "labels" and arguments[x] is not None
        ]
        if further_names:
            raise ValueError(
                f"labels is a {type(labels).__name__}, which has all arrays, but "
                f"{further_names[0]} is given; leave it out"
            )
        if isinstance(labels, Evaluation):
            return [*labels.remarks]
        return _check_joined(labels, gain_fn, relevance_threshold)
    of_driver = {"seen": seen, "model": model, "users": users}
    if relevant is not None:
        further_names = [name for name in arguments if arguments[name] is not None]
        if further_names:
            raise ValueError(
                f"relevant and {further_names[0]} are both given; pass the arguments of "
                "one call"
            )
        return _check_users(relevant, seen, model, users, gain_fn, relevance_threshold)
    for name, value in of_driver.items():
        if value is not None:
            raise ValueError(f"{name} is given but relevant is None; pass both")
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


def _check_joined(joined: Joined, gain_fn: Gain, threshold: Number) -> list[str]:
    """Returns the remarks of `join`, and those on the documents of the run."""
    arrays = joined.arguments()
    labels, retrieved = arrays["labels"], arrays["retrieved"]
    check_gains(gain_fn, labels, arrays["mask"])
    lists = FlatLists(
        labels=labels.astype(np.float64),
        scores=(scores := arrays["scores"].astype(np.float64)),
        exists=retrieved,
        relevant=retrieved & (labels >= labels.dtype.type(threshold)),
        list_numbers=np.where(retrieved, arrays["segment_ids"], 0),
        shape=(joined.num_segments,),
    )
    return [*joined.remarks_at(threshold), *remark_on_scores(lists, scores)]


def _check_users(
    raw_relevant: RawInteractions,
    raw_seen: RawInteractions | None,
    model: Any,
    users: ArrayLike | None,
    gain_fn: Gain,
    threshold: Number,
) -> list[str]:
    """Checks the arguments of `evaluate_users` as ids, and the scores of these users."""
    relevant, excluded = Interactions.of("relevant", raw_relevant), None
    seen = None if raw_seen is None else Interactions.of("seen", raw_seen)
    scores = None
    if model is not None and not isinstance(model, tuple) and not callable(model):
        scores = _inputs.numpy_array("model", model)
    num_users = None if scores is None else len(scores)
    user_ids = read_users(users, relevant, seen, num_users)
    ids, labels = _padded(relevant.rows(user_ids))
    if seen is not None:
        excluded, _ = _padded(seen.rows(user_ids))
    if scores is not None:
        scores = scores[user_ids]
    arrays = None, ids, labels, excluded
    remarks = check_ids(arrays, scores, None, gain_fn, threshold, skips_infinite=True)
    # The driver says the same of what was seen, in words that suit its arguments.
    remarks = [x for x in remarks if not x.startswith(ALL_EXCLUDED)]
    seen_rows = None if seen is None else seen.rows(user_ids)
    text = remark_on_seen(relevant.rows(user_ids), seen_rows, user_ids)
    return remarks if text is None else [text, *remarks]


def _padded(rows: SparseRows) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ids of sparse rows, padded with −1, and their values."""
    counts = np.diff(rows.indptr)
    exists = np.arange(counts.max(initial=0)) < counts[:, None]
    ids, values = (
        np.full(exists.shape, -1, np.int32),
        np.zeros(exists.shape, np.float32),
    )
    ids[exists], values[exists] = rows.indices, rows.data
    return ids, values
