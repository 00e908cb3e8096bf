"""A scorer for scikit-learn's `cross_val_score`, `GridSearchCV` and their kin."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jax_rank_metrics._calls.evaluate import evaluate
from jax_rank_metrics._inputs.pack import pack
from jax_rank_metrics.adapters._shared import checked, framework

_sklearn = framework("sklearn.metrics", __name__)


def score(
    y_true: Any,
    y_score: Any,
    sample_weight: Any = None,
    query_ids: Any = None,
    *,
    metric: str,
    **options: Any,
) -> float:
    """One metric as one number, called as the metrics of scikit-learn are.

    Args:
        y_true: Labels. `[samples, classes]`, as of a multilabel problem: a list for each
            sample. Or `[samples]`, with `query_ids`: packed lists of one sample per item;
            without, all samples are the items of one list.
        y_score: Scores, of the same shape.
        sample_weight: `[samples]`: weights of lists, or of items where samples are items.
        query_ids: `[samples]`, the list of each sample, as `pack` takes them.
        metric: A name with at most one cutoff, as for `evaluate`.
        **options: Other arguments of `evaluate`, such as `ties` or `undefined`.

    Raises:
        ValueError: if the metric has several cutoffs; as `evaluate` and `pack`.

    >>> score([[0, 1], [1, 0]], [[0.9, 0.1], [0.8, 0.3]], metric="mrr")
    0.75
    >>> score([0, 1, 1, 0], [0.9, 0.1, 0.8, 0.3], query_ids=[7, 7, 9, 9], metric="mrr")
    0.75
    """
    one = _one(metric, options)
    if query_ids is not None:
        packed = pack(query_ids)
        options |= {
            "segment_ids": packed.segment_ids,
            "num_segments": packed.num_segments,
        }
    weights = None if sample_weight is None else np.asarray(sample_weight)
    labels, scores = np.asarray(y_true), np.asarray(y_score)
    if scores.dtype == np.float64 and options.get("relax") is None:
        # Their order, so that doubles which float32 does not tell apart do not tie.
        places = np.unique(scores, return_inverse=True)[1].reshape(scores.shape)
        scores = np.where(np.isnan(scores), -1, places).astype(np.int32)
    return float(evaluate(one, labels, scores, weights=weights, **options)[metric])


def scorer(
    metric: str,
    *,
    response_method: str | Sequence[str] = ("decision_function", "predict_proba"),
    greater_is_better: bool = True,
    **options: Any,
) -> Any:
    """A scorer of one metric, made by `sklearn.metrics.make_scorer` of `score`.

    For several, pass scikit-learn a dict of names to scorers: it asks the estimator for
    its scores once.

    Args:
        metric: A name with at most one cutoff, as for `evaluate`.
        response_method: Which methods of the estimator give scores; the first that it has
            does. Regressors, which learn to rank items, have "predict".
        greater_is_better: False for metrics of which less is better: the scorer negates.
        **options: Other arguments of `evaluate`, such as `ties` or `undefined`.

    Returns:
        A scorer `(estimator, X, y)`. With metadata routing on, what
        `set_score_request(query_ids=True)` or `sample_weight=True` asks for reaches it.

    Raises:
        ValueError: if the metric is unknown or has several cutoffs.
        TypeError: if `evaluate` has no such option.

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = np.arange(4.0)[:, None], np.array([0.0, 1, 2, 4])
    >>> scorer("ndcg@2", response_method="predict")(LinearRegression().fit(X, y), X, y)
    1.0
    """
    _one(metric, options)
    return _sklearn.make_scorer(
        score,
        response_method=response_method,
        greater_is_better=greater_is_better,
        metric=metric,
        **options,
    )


def _one(metric: str, options: Mapping[str, Any]) -> Any:
    """A metric that is one number."""
    bounds = checked(metric, options)
    if not isinstance(metric, str) or bounds[0].several is not None:
        raise ValueError(
            f"metric is {metric!r}, which is more than one number; pass one name with at "
            "most one cutoff, and a dict of scorers for several"
        )
    return bounds
