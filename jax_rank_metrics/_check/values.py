"""Reads the arguments of `jrm.check`: raises on impossible values, remarks on odd ones."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._check.remarks import (
    FlatLists,
    remark_on_excluded,
    remark_on_grades,
    remark_on_lists,
    remark_on_mask,
    remark_on_padding,
    remark_on_retrieved,
    remark_on_scores,
)
from jax_rank_metrics._gains import gains_of
from jax_rank_metrics._items import label_dtype
from jax_rank_metrics._types import Gain, Number

_NUMBERS = "pass numbers, or mask the item"
_gains_of = jax.jit(gains_of, static_argnums=0)  # in one program, as in metrics


def check_labels(
    arrays: tuple[object, object, object, object],
    packing: tuple[object, object],
    gain_fn: Gain,
    threshold: Number,
) -> list[str]:
    """Raises on impossible values in arguments of `rank`, and returns the remarks.

    `arrays` holds labels, scores, mask and weights, and `packing` the segment ids and
    their number, all as the caller passed them. `threshold` is the smallest relevant
    label.
    """
    raw_labels, raw_scores, raw_mask, raw_weights = arrays
    of_items = {"labels": raw_labels, "scores": raw_scores, "mask": raw_mask}
    of_lists = {}
    per_list = getattr(raw_labels, "ndim", 1) > 1
    (of_lists if per_list else of_items)["weights"] = raw_weights
    _inputs.same_index({**of_items, "segment_ids": packing[0]}, of_lists)
    labels, mask = _inputs.item_arrays("labels", raw_labels, raw_mask)
    segment_ids, num_segments = _inputs.segments(labels, *packing)
    item_weights, list_weights = _inputs.weights_for(
        labels, raw_weights, None, num_segments
    )
    weights = list_weights if item_weights is None else item_weights
    scores = exact_scores = None
    if raw_scores is not None:
        scores = _inputs.real("scores", raw_scores)
        _inputs.same_shape("scores", scores, "labels", labels.shape)
        exact_scores = _exact_scores(raw_scores, scores)
    least_relevant = _inputs.rounded_threshold(
        threshold, label_dtype(labels, np.float64)
    )

    unmasked = np.ones(labels.shape, bool) if mask is None else np.asarray(mask)
    shape = labels.shape[:-1]
    list_numbers = np.arange(math.prod(shape)).reshape(*shape, 1)
    if segment_ids is not None and num_segments is not None:
        unmasked = unmasked & (np.asarray(segment_ids) >= 0)
        list_numbers = list_numbers * num_segments + np.asarray(segment_ids)
        shape = (*shape, num_segments)
    list_numbers = np.broadcast_to(np.where(unmasked, list_numbers, 0), labels.shape)

    values = np.asarray(labels)
    grades = values.astype(np.float64)
    _raise_where(unmasked & np.isnan(grades), "labels", values, _NUMBERS)
    exists = unmasked & (grades >= 0)
    if weights is not None:
        weight_values = np.asarray(weights)
        is_read = exists if item_weights is not None else np.True_
        bad = is_read & ~(weight_values.astype(np.float64) >= 0)
        _raise_where(bad, "weights", weight_values, "pass weights of at least 0")
    score_values = None
    if scores is not None:
        score_values = _checked_scores(scores, exists).reshape(-1)
    check_gains(gain_fn, values, exists)

    lists = FlatLists(
        labels=grades.reshape(-1),
        scores=score_values,
        exists=exists.reshape(-1),
        relevant=(exists & (grades >= least_relevant)).reshape(-1),
        list_numbers=list_numbers.reshape(-1),
        shape=shape,
        exact_scores=exact_scores,
    )
    packed = segment_ids is not None
    remarks = remark_on_lists(lists, threshold)
    remarks += remark_on_padding(grades, unmasked, packed)
    return remarks if mask is None else remarks + remark_on_mask(np.asarray(mask))


def _exact_scores(raw_scores: object, scores: jax.Array) -> np.ndarray | None:
    """Returns scores as they were passed, flat, or None if their dtype stays."""
    if isinstance(raw_scores, jax.Array):
        return None
    exact = _inputs.numpy_array("scores", raw_scores)
    return None if exact.dtype.itemsize <= scores.dtype.itemsize else exact.reshape(-1)


def _checked_scores(scores: jax.Array, exists: np.ndarray) -> np.ndarray:
    """Returns scores as float64; raises where the score of an existing item is NaN."""
    raw_values = np.asarray(scores)
    values = raw_values.astype(np.float64)
    _raise_where(exists & np.isnan(values), "scores", raw_values, _NUMBERS)
    return values


def check_gains(gain_fn: Gain, labels: np.ndarray, exists: np.ndarray) -> None:
    """Raises where the gain of an existing item is infinite, NaN or negative."""
    readable = np.where(exists, labels, np.zeros_like(labels))
    dtype = _inputs.float_dtype(jnp.asarray(readable))
    gains = np.asarray(_gains_of(gain_fn, readable.astype(dtype)))
    name, cure = "the gain of labels", "scale the labels down, or pass another gain_fn"
    _raise_where(exists & ~np.isfinite(gains), name, gains, cure)
    _raise_where(
        exists & (gains < 0), name, gains, "pass a gain_fn that is not negative"
    )


def check_ids(
    arrays: tuple[object, object, object, object],
    raw_scores: object,
    num_items: object,
    gain_fn: Gain,
    threshold: Number,
    skips_infinite: bool = False,
    item_mask: np.ndarray | None = None,
) -> list[str]:
    """Raises on impossible ids of `rank_ids`, `rank_scores` or `rank_catalog`.

    `arrays` holds retrieved ids, relevant ids, relevant labels and excluded ids, as the
    caller passed them; all but the relevant ids may be None. `raw_scores`, if any, cover
    the catalogue, and `num_items` must agree with them. With `skips_infinite`, the score
    −inf says that an item has no rank, as in `evaluate_users`; `item_mask` is `[items]`.
    Returns the remarks.
    """
    raw_retrieved, raw_relevant, raw_labels, raw_excluded = arrays
    _inputs.same_index(
        of_lists=_inputs.frames_among(
            retrieved_ids=raw_retrieved,
            relevant_ids=raw_relevant,
            exclude_ids=raw_excluded,
            scores=raw_scores,
        )
    )
    relevant_ids, relevant_labels, _ = _inputs.relevant_items(
        raw_relevant, raw_labels, None
    )
    shape, scores = relevant_ids.shape[:-1], None
    if raw_scores is not None:
        if _inputs.is_frame(raw_scores):
            raw_scores = _inputs.by_items_of_rows("scores", raw_scores, None)
        scores = _inputs.real("scores", _inputs.by_items("scores", raw_scores))
        _inputs.same_lists("scores", scores, "relevant_ids", relevant_ids)
        if num_items not in (None, scores.shape[-1]):
            raise ValueError(
                f"num_items is {num_items}, but scores has {scores.shape[-1]} items; "
                "leave num_items out"
            )
        num_items = scores.shape[-1]
    ids = {"relevant_ids": np.asarray(relevant_ids)}
    for name, raw_ids in (
        ("retrieved_ids", raw_retrieved),
        ("exclude_ids", raw_excluded),
    ):
        if raw_ids is not None:
            array = _inputs.ids(name, raw_ids)
            _inputs.same_lists(name, array, "relevant_ids", relevant_ids)
            ids[name] = np.asarray(array)
    if num_items is not None:
        count = _inputs.positive_integer("num_items", num_items)
        cure = f"there are {count} items; pass ids from 0, and -1 for padding"
        for name, values in ids.items():
            _raise_where(values >= count, name, values, cure)
    # From here on, all leading axes are flattened into one.
    rows = {
        name: values.reshape(math.prod(shape), values.shape[-1])
        for name, values in ids.items()
    }
    relevant_rows = rows["relevant_ids"]
    _inputs.check_distinct("relevant_ids", ids["relevant_ids"])
    relevant, exists = relevant_rows >= 0, ids["relevant_ids"] >= 0
    grades = exists.astype(np.float64)
    if relevant_labels is not None:
        labels = np.asarray(relevant_labels)
        grades = labels.astype(np.float64)
        _raise_where(exists & np.isnan(grades), "relevant_labels", labels, _NUMBERS)
        check_gains(gain_fn, labels, exists & (grades >= 0))
        least_relevant = _inputs.rounded_threshold(
            threshold, label_dtype(relevant_labels, np.float64)
        )
        relevant = relevant & (grades >= least_relevant).reshape(relevant.shape)

    remarks: list[str] = []
    if relevant_labels is not None and not relevant.any():
        graded = grades[exists & (grades >= 0)]
        remarks += remark_on_grades(graded.size, graded.max(initial=0), threshold)
    exclude_rows = rows.get("exclude_ids")
    if exclude_rows is not None:
        remarks += remark_on_excluded(relevant_rows, relevant, exclude_rows, shape)
    if "retrieved_ids" in rows:
        remarks += remark_on_retrieved(
            rows["retrieved_ids"], relevant_rows, relevant, shape
        )
    if scores is not None:
        exact_scores = _exact_scores(raw_scores, scores)
        exists = np.ones((math.prod(shape), scores.shape[-1]), bool)
        exists &= True if item_mask is None else item_mask
        if exclude_rows is not None:
            lists, slots = np.nonzero(exclude_rows >= 0)
            exists[lists, exclude_rows[lists, slots]] = False
        values = _checked_scores(scores, exists.reshape(scores.shape))
        if skips_infinite:
            exists &= ~np.isneginf(values).reshape(exists.shape)
        remarks += _remarks_on_catalog_scores(
            values, exact_scores, relevant_rows, relevant, exists
        )
    return remarks


def _remarks_on_catalog_scores(
    scores: np.ndarray,
    exact_scores: np.ndarray | None,
    relevant_ids: np.ndarray,
    relevant: np.ndarray,
    exists: np.ndarray,
) -> list[str]:
    """Remarks on scores `[*lists, items]`; ids `[lists, …]` index the items that exist."""
    *shape, _ = scores.shape
    list_numbers = np.arange(len(exists))[:, None]
    labels = np.zeros(exists.shape)
    relevant_lists = np.broadcast_to(list_numbers, relevant.shape)[relevant]
    labels[relevant_lists, relevant_ids[relevant]] = 1
    values = scores.reshape(-1)
    lists = FlatLists(
        labels=labels.reshape(-1),
        scores=values,
        exists=exists.reshape(-1),
        relevant=(exists & (labels > 0)).reshape(-1),
        list_numbers=np.broadcast_to(list_numbers, exists.shape).reshape(-1),
        shape=tuple(shape),
        exact_scores=exact_scores,
    )
    return remark_on_scores(lists, values)


def _raise_where(bad: np.ndarray, name: str, values: np.ndarray, cure: str) -> None:
    """Raises ValueError where `bad`, of the shape of `values`, is True.

    The message holds the first such value, its index, and what to pass instead.
    """
    if bad.any():
        index = _inputs.first_index(bad)
        raise ValueError(f"{name} is {values[index]} at {index}; {cure}")
