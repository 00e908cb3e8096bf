"""What `jrm.check` reads: it raises on values, and asks for remarks on the rest."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._gains import gains_of
from jax_rank_metrics._inputs.arrays import first_place
from jax_rank_metrics._inputs.remarks import (
    Lists,
    of_excluded,
    of_lists,
    of_mask,
    of_padding,
    of_retrieved,
    of_scores,
    repeated,
)
from jax_rank_metrics._types import Gain

_NUMBERS = "pass numbers, or mask the item"


def of_labels(
    arrays: tuple[Any, Any, Any, Any],
    packing: tuple[Any, Any],
    gain_fn: Gain,
    threshold: float,
) -> list[str]:
    """Of labels that are given item by item, as are scores."""
    labels, scores, mask, weights = arrays
    labels, mask = _inputs.item_arrays("labels", labels, mask)
    segment_ids, num_segments = _inputs.segments(labels, *packing)
    packed = segment_ids is not None
    per_item, per_list = _inputs.weights_for(labels, weights, None, num_segments)
    weights = per_list if per_item is None else per_item
    if scores is not None:
        scores = _inputs.real("scores", scores)
        _inputs.same_shape("scores", scores, "labels", labels.shape)
    # As formulas compare them: 0.7 is relevant where 0.7 is the threshold.
    dtype = _inputs.float_dtype(labels, weights, scores)
    least = float(dtype.type(threshold))
    counted = np.ones(labels.shape, bool) if mask is None else np.asarray(mask)
    rows = labels.shape[:-1]
    number = np.arange(math.prod(rows)).reshape(*rows, 1)
    shape = rows
    if segment_ids is not None and num_segments is not None:
        counted = counted & (np.asarray(segment_ids) >= 0)
        number = number * num_segments + np.asarray(segment_ids)
        shape = (*rows, num_segments)
    number = np.broadcast_to(np.where(counted, number, 0), labels.shape)
    labels = np.asarray(labels)
    real = labels.astype(np.float64)
    _report("labels", labels, counted & np.isnan(real), _NUMBERS)
    exists = counted & (real >= 0)
    if weights is not None:
        values = np.asarray(weights)
        read = np.ones(values.shape, bool) if per_item is None else exists
        bad = read & ~(values.astype(np.float64) >= 0)
        _report("weights", values, bad, "pass weights of at least 0")
    scored = None
    if scores is not None:
        scored = _scores(scores, exists).reshape(-1)
    _check_gains(gain_fn, labels, exists)
    lists = Lists(
        labels=real.reshape(-1),
        scores=scored,
        exists=exists.reshape(-1),
        relevant=(exists & (real >= least)).reshape(-1),
        number=number.reshape(-1),
        shape=shape,
    )
    remarks = of_lists(lists, threshold)
    remarks += of_padding(real, counted, packed)
    return remarks if mask is None else remarks + of_mask(np.asarray(mask))


def _scores(scores: jax.Array, exists: np.ndarray) -> np.ndarray:
    """Scores that are numbers wherever items exist."""
    values = np.asarray(scores)
    real = values.astype(np.float64)
    _report("scores", values, exists & np.isnan(real), _NUMBERS)
    return real


def _check_gains(gain_fn: Gain, labels: np.ndarray, exists: np.ndarray) -> None:
    known = jnp.asarray(np.where(exists, labels, np.zeros_like(labels)))
    dtype = _inputs.float_dtype(known)
    gains = np.asarray(gains_of(gain_fn, known.astype(dtype)))
    name, fix = "the gain of labels", "scale the labels down, or pass another gain_fn"
    _report(name, gains, exists & ~np.isfinite(gains), fix)
    _report(name, gains, exists & (gains < 0), "pass a gain_fn that is not negative")


def of_ids(
    arrays: tuple[Any, Any, Any, Any],
    scores: Any,
    num_items: int | None,
    gain_fn: Gain,
    threshold: float,
) -> list[str]:
    """Of lists that are given by the ids of what is relevant."""
    retrieved_ids, relevant_ids, relevant_labels, exclude_ids = arrays
    relevant_ids, relevant_labels, _ = _inputs.relevant_items(
        relevant_ids, relevant_labels, None, "", None
    )
    shape = relevant_ids.shape[:-1]
    if scores is not None:
        scores = _inputs.real("scores", scores)
        _inputs.same_lists("scores", scores, "relevant_ids", relevant_ids)
        num_items = scores.shape[-1]
    given = {"relevant_ids": relevant_ids}
    for name, ids in (("retrieved_ids", retrieved_ids), ("exclude_ids", exclude_ids)):
        if ids is not None:
            given[name] = _inputs.ids(name, ids)
            _inputs.same_lists(name, given[name], "relevant_ids", relevant_ids)
    found: dict[str, np.ndarray] = {}
    for name, ids in given.items():
        values = np.asarray(ids)
        if num_items is not None:
            fix = f"there are {_inputs.count('num_items', num_items)} items; pass ids "
            _report(
                name, values, values >= num_items, fix + "from 0, and -1 for padding"
            )
        found[name] = values.reshape(math.prod(shape), values.shape[-1])
    relevant_ids = found["relevant_ids"]
    _report(
        "relevant_ids",
        np.asarray(given["relevant_ids"]),
        repeated(relevant_ids).reshape(given["relevant_ids"].shape),
        "its list has it before; pass each id once, and -1 for padding",
    )
    relevant = relevant_ids >= 0
    if relevant_labels is not None:
        exists = np.asarray(given["relevant_ids"]) >= 0
        values = np.asarray(relevant_labels)
        real = values.astype(np.float64)
        _report("relevant_labels", values, exists & np.isnan(real), _NUMBERS)
        _check_gains(gain_fn, values, exists & (real >= 0))
        least = float(_inputs.float_dtype(relevant_labels).type(threshold))
        relevant = relevant & (real >= least).reshape(relevant.shape)
    remarks: list[str] = []
    if "exclude_ids" in found:
        remarks += of_excluded(relevant_ids, relevant, found["exclude_ids"], shape)
    if "retrieved_ids" in found:
        remarks += of_retrieved(found["retrieved_ids"], relevant_ids, relevant, shape)
    if scores is not None:
        remarks += _of_scores(scores, relevant_ids, relevant, found.get("exclude_ids"))
    return remarks


def _of_scores(
    scores: jax.Array,
    relevant_ids: np.ndarray,
    relevant: np.ndarray,
    exclude_ids: np.ndarray | None,
) -> list[str]:
    """Of scores of all items, in which ids are places; ids are `[lists, …]`."""
    *shape, size = scores.shape
    number = np.arange(math.prod(shape))[:, None]
    exists = np.ones((math.prod(shape), size), bool)
    if exclude_ids is not None:
        rows = np.broadcast_to(number, exclude_ids.shape)[exclude_ids >= 0]
        exists[rows, exclude_ids[exclude_ids >= 0]] = False
    labels = np.zeros(exists.shape)
    labels[
        np.broadcast_to(number, relevant.shape)[relevant], relevant_ids[relevant]
    ] = 1
    values = _scores(scores, exists.reshape(scores.shape))
    number = np.broadcast_to(number, exists.shape)
    lists = Lists(
        labels=labels.reshape(-1),
        scores=values.reshape(-1),
        exists=exists.reshape(-1),
        relevant=(exists & (labels > 0)).reshape(-1),
        number=number.reshape(-1),
        shape=tuple(shape),
    )
    return of_scores(lists, values.reshape(-1))


def _report(name: str, values: np.ndarray, bad: np.ndarray, fix: str) -> None:
    if bad.any():
        place = first_place(bad)
        raise ValueError(f"{name} is {values[place]} at {place}; {fix}")
