"""A `compute_metrics` for the `Trainer` of Hugging Face Transformers."""

from typing import Any

import numpy as np

from jax_rank_metrics._calls.evaluate import empty, evaluate
from jax_rank_metrics._calls.names import Metrics
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.merging import compute, merge
from jax_rank_metrics.adapters._shared import checked, framework

framework("transformers", __name__)


class compute_metrics:
    """For `Trainer(compute_metrics=…)`: predictions are scores, label_ids are labels.

    Both are `[lists, items]`. Negative labels are padding: the −100 too by which the
    Trainer pads lists of several lengths. Of several predictions the first is read.

    It serves `batch_eval_metrics=True` as well: the states of batches are merged, and
    nothing else is kept of them. After an evaluation `states` has the state of each
    metric, which merges and has a standard error.

    >>> import numpy as np
    >>> from transformers import EvalPrediction
    >>> metrics = compute_metrics(("mrr", "recall@1,2"))
    >>> labels = np.array([[0, 1, -100], [1, 0, 0]])
    >>> scores = np.array([[0.9, 0.1, 0.0], [0.8, 0.3, 0.1]], np.float32)
    >>> metrics(EvalPrediction(predictions=scores, label_ids=labels))
    {'mrr': 0.75, 'recall@1': 0.5, 'recall@2': 1.0}
    >>> metrics.states["mrr"]
    Mean(0.750 ± 0.250, 2 lists, 0 undefined)
    """

    states: dict[str, Mean]

    def __init__(self, metrics: Metrics, **options: Any):
        """Metrics of no lists yet.

        Args:
            metrics: As for `evaluate`.
            **options: Other arguments of `evaluate`, such as `ties` or `undefined`.

        Raises:
            ValueError: if a name is unknown.
            TypeError: if `evaluate` has no such option.
        """
        self._bounds, self._options = checked(metrics, options), options
        self.states = self._so_far = empty(self._bounds)

    def __call__(
        self, prediction: Any, compute_result: bool = True
    ) -> dict[str, float]:
        """The metrics of all lists since the last result; nothing yet if not asked.

        Args:
            prediction: An `EvalPrediction` of arrays or of tensors.
            compute_result: Whether these were the last lists of an evaluation.
        """
        scores, labels = prediction.predictions, prediction.label_ids
        scores = scores[0] if isinstance(scores, (tuple, list)) else scores
        new = evaluate(self._bounds, _array(labels), _array(scores), **self._options)
        self._so_far = merge(self._so_far, new)
        if not compute_result:
            return {}
        self.states, self._so_far = self._so_far, empty(self._bounds)
        return compute(self.states, flat=True, host=True)


def _array(values: Any) -> np.ndarray:
    """Batches are tensors, on any device; whole evaluations are arrays already."""
    if isinstance(values, np.ndarray):
        return values
    values = values.detach().cpu()  # NumPy has no bfloat16
    return (values.float() if values.is_floating_point() else values).numpy()
