"""A scorer for scikit-learn's `cross_val_score`, `GridSearchCV` and similar tools."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from jax_rank_metrics._engine.calls.evaluate import evaluate
from jax_rank_metrics._engine.metrics import spec
from jax_rank_metrics._engine.ordering import order_on_host
from jax_rank_metrics._ground.inputs.list_ids import pack, refuse_sizes
from jax_rank_metrics.adapters._shared import (
    BATCH_ARGUMENTS,
    bind_metrics,
    evaluate_lists,
    framework,
)

_sklearn = framework("sklearn.metrics", __name__)


class EstimatorScorer(Protocol):
    """Function that scikit-learn calls with an estimator and held-out samples."""

    def __call__(
        self, estimator: Any, X: Any, y_true: Any, /, **metadata: Any
    ) -> float:
        """Returns the value of the metric."""
        ...

    def set_score_request(self, **requests: bool | str | None) -> "EstimatorScorer":
        """Requests metadata, such as `query_ids`, if metadata routing is enabled."""
        ...


def score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    query_ids: Iterable[Hashable] | None = None,
    *,
    metric: str,
    **options: Any,
) -> float:
    """Computes one metric as a float, with the arguments of scikit-learn's metrics.

    Lists are evaluated in blocks of a few shapes, so folds of any size share a few compiled
    programs.

    Args:
        y_true: Labels. `[samples, classes]`, as in a multilabel problem: every sample is a
            list. Or `[samples]` with `query_ids`: every sample is an item, and lists are
            packed. `[samples]` without `query_ids` is a single list.
        y_score: Scores, of the same shape.
        sample_weight: `[samples]`, weights of lists, or of items if samples are items.
        query_ids: `[samples]`, the list of each sample, in a form that `pack` accepts.
        metric: A name with at most one cutoff, as for `evaluate`.
        **options: Other arguments of `evaluate`, such as `ties` or `undefined`.

    Raises:
        ValueError: if the metric has several cutoffs; as `evaluate` and `pack`.

    >>> score([[0, 1], [1, 0]], [[0.9, 0.1], [0.8, 0.3]], metric="mrr")
    0.75
    >>> score([0, 1, 1, 0], [0.9, 0.1, 0.8, 0.3], query_ids=[7, 7, 9, 9], metric="mrr")
    0.75
    """
    bounds = _bind_scalar(metric, options)
    labels, scores = np.asarray(y_true), np.asarray(y_score)
    if scores.dtype == np.float64 and options.get("relax") is None:
        # Take dense ranks, because doubles that only float32 makes equal must not tie.
        ranks = np.unique(scores, return_inverse=True)[1].reshape(scores.shape)
        scores = np.where(np.isnan(scores), -1, ranks).astype(np.int32)
    items, per_list, packed = {"labels": labels, "scores": scores}, {}, None
    sample_arrays = []  # arrays [samples]
    if query_ids is not None:
        packed = pack(query_ids)
        shape = packed.segment_ids.shape
        refuse_sizes("query_ids", packed.segment_ids, "y_true", labels.shape)
        if labels.shape == scores.shape != shape:
            raise ValueError(
                f"query_ids has shape {shape}, and y_true {labels.shape}; pass the query "
                "id of each sample"
            )
        sample_arrays.append(packed.segment_ids)
    if sample_weight is not None:
        weighed = items if labels.ndim == 1 else per_list
        weighed["weights"] = np.asarray(sample_weight)
        sample_arrays.append(weighed["weights"])
    is_regular = labels.shape == scores.shape and labels.size > 0
    is_regular &= labels.ndim == 1 or (labels.ndim == 2 and packed is None)
    is_regular &= all(array.shape == labels.shape[:1] for array in sample_arrays)
    if not is_regular or not {*options}.isdisjoint(BATCH_ARGUMENTS):
        # Call `evaluate` directly. If the arrays are wrong, it raises.
        segments = {}
        if packed is not None:
            segments["segment_ids"] = packed.segment_ids
            segments["num_segments"] = packed.num_segments
        return float(
            evaluate(bounds, **items, **per_list, **segments, **options)[metric]
        )
    starts = np.arange(0, labels.size + 1, labels.shape[-1])
    if packed is not None:
        # Sort items by list; within a list, items keep their order.
        order = order_on_host.in_rank_order(packed.segment_ids, np.arange(labels.size))
        items = {name: values[order] for name, values in items.items()}
        starts = np.cumsum(np.bincount(packed.segment_ids + 1))
    items = {name: values.reshape(-1) for name, values in items.items()}
    return float(evaluate_lists(bounds, starts, items, per_list, options)[metric])


def scorer(
    metric: str,
    *,
    response_method: str | Sequence[str] = ("decision_function", "predict_proba"),
    greater_is_better: bool = True,
    **options: Any,
) -> EstimatorScorer:
    """Makes a scorer of one metric, with `score` and `sklearn.metrics.make_scorer`.

    For several metrics, pass scikit-learn a dict from names to scorers; scikit-learn then
    asks the estimator for scores only once.

    Args:
        metric: A name with at most one cutoff, as for `evaluate`.
        response_method: The methods of the estimator that return scores; the first that the
            estimator has is called. Pass "predict" for regressors that learn to rank items.
        greater_is_better: False for metrics that are better when lower; the scorer then
            returns minus the metric.
        **options: Other arguments of `evaluate`, such as `ties` or `undefined`.

    Returns:
        A scorer `(estimator, X, y)`. If metadata routing is enabled, it receives the
        metadata that `set_score_request(query_ids=True)` or `sample_weight=True` requests.

    Raises:
        ValueError: if the metric is unknown or has several cutoffs.
        TypeError: if `evaluate` has no such option.

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = np.arange(4.0)[:, None], np.array([0.0, 1, 2, 4])
    >>> scorer("ndcg@2", response_method="predict")(LinearRegression().fit(X, y), X, y)
    1.0
    """
    _bind_scalar(metric, options)
    return _sklearn.make_scorer(
        score,
        response_method=response_method,
        greater_is_better=greater_is_better,
        metric=metric,
        **options,
    )


def _bind_scalar(metric: str, options: Mapping[str, Any]) -> tuple[spec.Bound, ...]:
    """Returns the metric of one name with at most one cutoff, by `bind_metrics`.

    Raises:
        ValueError: if there are several names or cutoffs.
    """
    bounds = bind_metrics(metric, options)
    if not isinstance(metric, str) or bounds[0].num_values is not None:
        raise ValueError(
            f"metric is {metric!r}, which has more than one value; pass one name with at "
            "most one cutoff, or pass scikit-learn a dict of scorers for several metrics"
        )
    return bounds
