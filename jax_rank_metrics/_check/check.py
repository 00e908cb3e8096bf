"""`jrm.check`: finds values that are legal, but probably not intended."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jax_rank_metrics._engine import items
from jax_rank_metrics._engine.calls import binding
from jax_rank_metrics._engine.metrics import run, spec
from jax_rank_metrics._engine.sources import list_arguments
from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._ground.gains import exponential_gain, gains_of
from jax_rank_metrics._runs import evaluation
from jax_rank_metrics._runs.files import joined
from jax_rank_metrics._values import per_list, remarks

# Arguments that only make sense together with another argument, keyed by that argument.
_COMPANIONS = {
    "relevant_ids": ("retrieved_ids", "relevant_labels", "exclude_ids", "num_items"),
    "labels": ("mask", "weights", "segment_ids", "num_segments"),
}
_NUMBERS = "pass numbers, or mask the item"
_gains_of = jax.jit(gains_of, static_argnums=0)  # one program, as in metrics


class _Options(NamedTuple):
    """The options of `check`.

    Attributes:
        gain_fn: The gain function.
        threshold: The smallest relevant label.
        bounds: The metrics with their options; () if none were passed.
    """

    gain_fn: types.Gain
    threshold: types.Number
    bounds: tuple[spec.Bound, ...]

    @property
    def in_order(self) -> list[str]:
        """The names of metrics that read tied items in one order, by a hash."""
        return [bound.name for bound in self.bounds if bound.tie_reading == "order"]


def check(
    labels: types.Labels | joined.Joined | evaluation.Evaluation | None = None,
    scores: types.Scores | None = None,
    mask: types.Mask | None = None,
    weights: types.Weights | None = None,
    *,
    gain_fn: types.Gain = exponential_gain,
    relevance_threshold: types.Number = 1,
    segment_ids: types.SegmentIds | None = None,
    num_segments: int | None = None,
    retrieved_ids: types.RetrievedIds | types.RaggedIds | None = None,
    relevant_ids: types.RelevantIds | types.RaggedIds | None = None,
    relevant_labels: types.RelevantIds | types.RaggedIds | None = None,
    exclude_ids: types.ExcludedIds | None = None,
    num_items: int | None = None,
    metrics: binding.Metrics | None = None,
) -> list[str]:
    """Raises on impossible values, and returns remarks on values that look unintended.

    Pass the arguments of the call that you want to check: labels and scores as to `rank`,
    packed or not; ids as to `rank_ids` and `rank_catalog`; scores and ids as to
    `rank_scores`. Or pass the result of `join` or of a driver, which have already
    warned about most of this. For an `Evaluation`, `check` only repeats the warnings of
    its driver, which does not see everything: if all metrics have a cutoff and the
    scores of a model stay on its device, for instance, the driver cannot notice that
    scores are distances. Everything is read on the host, so call `check` outside
    `jax.jit`, once for a data set or on its first batch. For a model or embeddings,
    pass the scores of some queries, with their `relevant_ids` and `exclude_ids`.

    Each remark says how many lists or items it is about, names the first of them, and
    says what to pass if the values were not intended. There are remarks on

    - labels and scores that seem to be swapped;
    - lists that all have a single item, as arrays `[lists, items, 1]` have;
    - labels without a relevant item at this threshold, or with only relevant items;
    - negative labels, unless they look like padding: a single value, at the end of
      rows;
    - lists in which all scores are equal;
    - relevant items whose scores differ from the scores of other items, but not in
      float32;
    - items with different labels and equal scores, if one of the `metrics` has no
      closed form over ties;
    - items with different labels that tie across a cutoff of one of the `metrics`, if
      their order can move the metric's mean by more than its standard error;
    - scores of −inf, which is the lowest score;
    - relevant items that score below other items, as if scores were ranks or distances;
    - masks that hide whole lists before others;
    - segment ids that seem to be the sizes of lists;
    - lists whose relevant items are all excluded;
    - ids that are retrieved twice, and relevant ids that are never retrieved;
    - ids of a `Joined` that never match.

    Args:
        labels: See `rank`. Or a `Joined` or an `Evaluation`; then pass no other array.
        scores: See `rank`. NaN raises if the item exists.
        mask: See `rank`.
        weights: See `rank`. Negative and NaN weights of lists, and of items that exist,
            raise.
        gain_fn: The gain function; gains must be finite and not negative.
        relevance_threshold: The smallest label of a relevant item.
        segment_ids: See `rank`.
        num_segments: See `rank`. Segment ids that are not below this number raise.
        retrieved_ids: See `rank_ids`.
        relevant_ids: See `rank_ids` and `rank_catalog`. A repeated id in a list raises.
        relevant_labels: See `rank_ids`; None makes every listed id relevant.
        exclude_ids: See `rank_catalog`.
        num_items: The number of items in the catalogue. Ids count from 0, so ids that
            are not below this number raise. If scores are passed with ids, the number
            is read from the scores.
        metrics: As for `evaluate`; `check` then also remarks on ties that these metrics
            read in one order, and on ties that can move their means.

    Returns:
        The remarks; an empty list if nothing looks odd.

    Raises:
        ValueError: if a value is impossible; the message names the argument, the first
            index and the value there.
        TypeError: if an argument is traced; and whenever `rank` raises it.

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
            raise TypeError(
                f"{name} is traced; call check outside jax.jit and jax.grad (in a loss, "
                "pass relax= to a metric, because without it the gradient by scores is 0)"
            )
    inputs.positive("relevance_threshold", relevance_threshold)
    bounds = () if metrics is None else binding.bind_all(metrics)
    passed = [name for name, value in arguments.items() if value is not None]
    options = _Options(gain_fn, relevance_threshold, bounds)
    if isinstance(labels, (joined.Joined, evaluation.Evaluation)):
        for name in passed[1:]:
            raise ValueError(
                f"labels is a {type(labels).__name__}, which has all arrays, but {name} "
                "is given; leave it out"
            )
        if isinstance(labels, evaluation.Evaluation):
            return [*labels.remarks]
        _check_gains(gain_fn, labels.labels, labels.mask)
        lists: Any = joined.lists_of_joined(labels, relevance_threshold, bounds)
        known = labels.remarks_at(relevance_threshold)  # these include remarks on order
        score_remarks = remarks.remark_on_scores(lists, lists.scores)
        score_remarks += _on_cutoffs(lists, bounds, labels.arguments())
        return [
            *known,
            *(text for text in score_remarks if remarks.REVERSED not in text),
        ]
    for partner, names in _COMPANIONS.items():
        for name in names:
            if partner not in passed and name in passed:
                raise ValueError(f"{name} is given but {partner} is None; pass both")
    if labels is None and relevant_ids is None:
        raise ValueError("labels and relevant_ids are both None; pass one of them")
    texts: list[str] = []
    if labels is not None:
        arrays, packing = (labels, scores, mask, weights), (segment_ids, num_segments)
        texts += _check_labels(arrays, packing, options)
    if retrieved_ids is not None:
        padded = inputs.padded_ids(retrieved_ids, relevant_ids, relevant_labels)
        if padded is not None:
            retrieved_ids, relevant_ids = padded.retrieved, padded.relevant
            relevant_labels = padded.relevant_labels
    if relevant_ids is not None:
        ids = retrieved_ids, relevant_ids, relevant_labels, exclude_ids
        catalog_scores = scores if labels is None else None
        texts += _check_ids(ids, catalog_scores, num_items, options)
    return texts


def _check_labels(
    arrays: tuple[object, object, object, object],
    packing: tuple[object, object],
    options: _Options,
) -> list[str]:
    """Raises on impossible values in arguments of `rank`, and returns the remarks.

    `arrays` holds labels, scores, mask and weights; `packing` holds the segment ids and
    the number of segments. All are as the caller passed them.
    """
    raw_labels, raw_scores, raw_mask, raw_weights = arrays
    item_values = {"labels": raw_labels, "scores": raw_scores, "mask": raw_mask}
    list_values = {}
    per_list = getattr(raw_labels, "ndim", 1) > 1
    (list_values if per_list else item_values)["weights"] = raw_weights
    inputs.same_index({**item_values, "segment_ids": packing[0]}, list_values)
    labels, mask = inputs.item_arrays("labels", raw_labels, raw_mask)
    segment_ids, num_segments = inputs.read_segments(labels, *packing)
    item_weights, list_weights = inputs.weights_for(
        labels, raw_weights, None, num_segments
    )
    weights = list_weights if item_weights is None else item_weights
    scores = exact_scores = None
    if raw_scores is not None:
        scores = inputs.real("scores", raw_scores)
        inputs.same_shape("scores", scores, "labels", labels.shape)
        exact_scores = _exact_scores(raw_scores, scores)
    least_relevant = inputs.rounded_threshold(
        options.threshold, items.label_dtype(labels, np.float64)
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
    _check_gains(options.gain_fn, values, exists)

    lists = remarks.FlatLists(
        labels=grades.reshape(-1),
        scores=score_values,
        exists=exists.reshape(-1),
        relevant=(exists & (grades >= least_relevant)).reshape(-1),
        list_numbers=list_numbers.reshape(-1),
        shape=shape,
        exact_scores=exact_scores,
        in_order=options.in_order,
    )
    texts = remarks.remark_on_lists(lists, options.threshold)
    if scores is not None:
        arguments = {"labels": labels, "mask": mask, "weights": weights}
        arguments |= {"segment_ids": segment_ids, "num_segments": num_segments}
        arguments |= {"scores": scores}
        if segment_ids is not None:
            arguments |= {"weights": item_weights, "list_weights": list_weights}
        texts += _on_cutoffs(lists, options.bounds, arguments)
    if num_segments is not None:
        texts += remarks.remark_on_segments(np.asarray(segment_ids), num_segments)
    texts += remarks.remark_on_padding(grades, unmasked, segment_ids is not None)
    return texts if mask is None else texts + remarks.remark_on_mask(np.asarray(mask))


def _exact_scores(raw_scores: object, scores: jax.Array) -> np.ndarray | None:
    """Returns the flattened scores as passed, if JAX narrows their dtype; else None."""
    if isinstance(raw_scores, jax.Array):
        return None
    exact = inputs.numpy_array("scores", raw_scores)
    return None if exact.dtype.itemsize <= scores.dtype.itemsize else exact.reshape(-1)


def _checked_scores(
    scores: jax.Array, exists: np.ndarray, cure: str = _NUMBERS
) -> np.ndarray:
    """Returns scores as float64; raises if the score of an existing item is NaN."""
    raw_values = np.asarray(scores)
    values = raw_values.astype(np.float64)
    _raise_where(exists & np.isnan(values), "scores", raw_values, cure)
    return values


def _check_gains(gain_fn: types.Gain, labels: np.ndarray, exists: np.ndarray) -> None:
    """Raises if the gain of an existing item is infinite, NaN or negative."""
    readable = np.where(exists, labels, np.zeros_like(labels))
    dtype = inputs.float_dtype(jnp.asarray(readable))
    gains = np.asarray(_gains_of(gain_fn, readable.astype(dtype)))
    name, cure = "the gain of labels", "scale the labels down, or pass another gain_fn"
    _raise_where(exists & ~np.isfinite(gains), name, gains, cure)
    _raise_where(
        exists & (gains < 0), name, gains, "pass a gain_fn that is not negative"
    )


def _check_ids(
    arrays: tuple[object, object, object, object],
    raw_scores: object,
    num_items: object,
    options: _Options,
) -> list[str]:
    """Checks ids of `rank_ids`, `rank_scores` or `rank_catalog`, and returns the remarks.

    `arrays` holds retrieved ids, relevant ids, relevant labels and excluded ids, as the
    caller passed them; all except the relevant ids may be None. `raw_scores` are None
    or cover the catalogue, and `num_items` must agree with them. Raises if ids are
    impossible.
    """
    raw_retrieved, raw_relevant, raw_labels, raw_excluded = arrays
    further = {"retrieved_ids": raw_retrieved, "exclude_ids": raw_excluded}
    list_values = {"relevant_ids": raw_relevant, **further, "scores": raw_scores}
    inputs.same_index(of_lists=inputs.frames_among(**list_values))
    relevant_ids, relevant_labels, _ = inputs.relevant_items(
        raw_relevant, raw_labels, None
    )
    shape, scores = relevant_ids.shape[:-1], None
    if raw_scores is not None:
        if inputs.is_frame(raw_scores):
            raw_scores = inputs.by_items_of_rows("scores", raw_scores, None)
        scores = inputs.real("scores", inputs.by_items("scores", raw_scores))
        inputs.same_lists("scores", scores, "relevant_ids", relevant_ids)
        if num_items not in (None, scores.shape[-1]):
            raise ValueError(
                f"num_items is {num_items}, but scores has {scores.shape[-1]} items; "
                "leave num_items out"
            )
        num_items = scores.shape[-1]
    ids = {"relevant_ids": np.asarray(relevant_ids)}
    for name, raw_ids in further.items():
        if raw_ids is not None:
            array = inputs.ids(name, raw_ids)
            inputs.same_lists(name, array, "relevant_ids", relevant_ids)
            ids[name] = np.asarray(array)
    if num_items is not None:
        count = inputs.positive_integer("num_items", num_items)
        cure = f"there are {count} items; pass ids from 0, and -1 for padding"
        for name, values in ids.items():
            _raise_where(values >= count, name, values, cure)
    # Flatten all leading axes into one.
    num_lists = math.prod(shape)
    rows = {
        name: array.reshape(num_lists, array.shape[-1]) for name, array in ids.items()
    }
    relevant_rows = rows["relevant_ids"]
    inputs.check_distinct("relevant_ids", ids["relevant_ids"])
    relevant, exists = relevant_rows >= 0, ids["relevant_ids"] >= 0
    grades = exists.astype(np.float64)
    if relevant_labels is not None:
        labels = np.asarray(relevant_labels)
        grades = labels.astype(np.float64)
        cure = "pass numbers, or -1 as the ids of such items"
        _raise_where(exists & np.isnan(grades), "relevant_labels", labels, cure)
        _check_gains(options.gain_fn, labels, exists & (grades >= 0))
        least_relevant = inputs.rounded_threshold(
            options.threshold, items.label_dtype(relevant_labels, np.float64)
        )
        relevant = relevant & (grades >= least_relevant).reshape(relevant.shape)

    texts: list[str] = []
    if relevant_labels is not None and not relevant.any():
        graded = grades[exists & (grades >= 0)]
        largest = graded.max(initial=0)
        texts += remarks.remark_on_grades(graded.size, largest, options.threshold)
    exclude_rows = rows.get("exclude_ids")
    if exclude_rows is not None:
        texts += remarks.remark_on_excluded(
            relevant_rows, relevant, exclude_rows, shape
        )
    if "retrieved_ids" in rows:
        texts += remarks.remark_on_retrieved(
            rows["retrieved_ids"], relevant_rows, relevant, shape
        )
    if scores is not None:
        exact_scores = _exact_scores(raw_scores, scores)
        exists = np.ones((num_lists, scores.shape[-1]), bool)
        if exclude_rows is not None:
            lists, slots = np.nonzero(exclude_rows >= 0)
            exists[lists, exclude_rows[lists, slots]] = False
        cure = "pass numbers, and -inf for items that are not to be retrieved"
        values = _checked_scores(scores, exists.reshape(scores.shape), cure)
        texts += _remarks_on_catalog_scores(
            values, exact_scores, relevant_rows, relevant, exists, options
        )
    return texts


def _remarks_on_catalog_scores(
    scores: np.ndarray,
    exact_scores: np.ndarray | None,
    relevant_ids: np.ndarray,
    relevant: np.ndarray,
    exists: np.ndarray,
    options: _Options,
) -> list[str]:
    """Remarks on scores `[*lists, items]` of a catalogue; ids are positions in it."""
    *shape, _ = scores.shape
    list_numbers = np.arange(len(exists))[:, None]
    labels = np.zeros(exists.shape)
    relevant_lists = np.broadcast_to(list_numbers, relevant.shape)[relevant]
    labels[relevant_lists, relevant_ids[relevant]] = 1
    values = scores.reshape(-1)
    lists = remarks.FlatLists(
        labels=labels.reshape(-1),
        scores=values,
        exists=exists.reshape(-1),
        relevant=(exists & (labels > 0)).reshape(-1),
        list_numbers=np.broadcast_to(list_numbers, exists.shape).reshape(-1),
        shape=tuple(shape),
        exact_scores=exact_scores,
        in_order=options.in_order,
    )
    arguments = {"labels": labels.reshape(scores.shape), "scores": scores}
    arguments |= {"mask": exists.reshape(scores.shape)}
    return [
        *remarks.remark_on_scores(lists, values),
        *_on_cutoffs(lists, options.bounds, arguments),
    ]


def _on_cutoffs(
    lists: remarks.FlatLists, bounds: Sequence[spec.Bound], arguments: dict[str, Any]
) -> list[str]:
    """Remarks on ties across cutoffs, for metrics whose columns were all passed."""
    columns = arguments.get("columns", {})
    bounds = tuple(bound for bound in bounds if columns.keys() >= {*bound.spec.columns})
    read = {name for bound in bounds for name in bound.spec.all_columns}
    columns = {name: columns[name] for name in columns if name in read}
    shape = np.shape(arguments["labels"])

    def measure(scores: np.ndarray) -> Mapping[str, per_list.PerList]:
        changed = {"scores": scores.reshape(shape), "columns": columns}
        return run.measure_lists(bounds, list_arguments.checked(**arguments | changed))

    assert lists.scores is not None
    cutoffs = {bound.name: inputs.cutoffs(bound.k) for bound in bounds}
    return remarks.remark_on_cutoffs(lists, lists.scores, cutoffs, measure)


def _raise_where(bad: np.ndarray, name: str, values: np.ndarray, cure: str) -> None:
    """Raises ValueError if `bad`, which has the shape of `values`, is true anywhere.

    The message names the first bad value and its index, and ends in `cure`.
    """
    if bad.any():
        index = inputs.first_index(bad)
        raise ValueError(f"{name} is {values[index]} at {index}; {cure}")
