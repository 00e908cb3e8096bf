"""A `compute_metrics` for the `Trainer` of Hugging Face Transformers."""

from typing import Any

import numpy as np

from jax_rank_metrics._engine.calls import binding
from jax_rank_metrics._engine.calls.evaluate import empty, evaluate
from jax_rank_metrics._values import mean, merging
from jax_rank_metrics.adapters._shared import (
    BATCH_ARGUMENTS,
    bind_metrics,
    evaluate_lists,
    framework,
    require_lists,
)

framework("transformers", __name__)


class compute_metrics:
    """Computes metrics for `Trainer(compute_metrics=…)`.

    The predictions are scores and the `label_ids` are labels, both `[lists, items]`.
    Negative labels are padding, such as the −100 with which the Trainer pads lists of
    different lengths. If there are several predictions, the first is read. Lists are
    evaluated in blocks of a few shapes, so batches and evaluations of any size share a few
    compiled programs.

    With `batch_eval_metrics=True`, the states of batches are merged, and nothing else is
    kept. The Trainer does not tell when an evaluation begins, so call `reset()` if an
    evaluation was interrupted; otherwise the next evaluation would include the interrupted
    batches. After an evaluation, `states` is a dict from metrics to states, which merge and
    have standard errors.

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

    states: dict[str, mean.Mean]

    def __init__(self, metrics: binding.Metrics, **options: Any):
        """Creates metrics of no lists.

        Args:
            metrics: As for `evaluate`.
            **options: Other arguments of `evaluate`, such as `ties` or `undefined`.

        Raises:
            ValueError: if a name is unknown.
            TypeError: if `evaluate` has no such option.
        """
        self._bounds, self._options = bind_metrics(metrics, options), options
        self.states = empty(self._bounds)
        self.reset()

    def __call__(
        self, prediction: Any, compute_result: bool = True
    ) -> dict[str, float]:
        """Adds lists, and returns the metrics of all lists since the previous result.

        After an error, all lists since the previous result are forgotten.

        Args:
            prediction: An `EvalPrediction` of arrays or of tensors.
            compute_result: True if these are the last lists of an evaluation; otherwise the
                result is empty.

        Raises:
            ValueError: if predictions and labels differ in shape, have no axis of items, or
                have an axis of items with length 1; as `evaluate`.
            TypeError: if there are several label_ids.
        """
        try:
            batch = self._evaluate(prediction)
        except BaseException:
            self.reset()
            raise
        self._running = merging.merge(self._running, batch)
        if not compute_result:
            return {}
        self.states = self._running
        self.reset()
        return merging.compute(self.states, flat=True, host=True)

    def reset(self) -> None:
        """Forgets the batches of an interrupted evaluation; `states` remain."""
        self._running = empty(self._bounds)

    def _evaluate(self, prediction: Any) -> dict[str, mean.Mean]:
        """Returns the states of the lists of one prediction."""
        scores, labels = prediction.predictions, prediction.label_ids
        if isinstance(labels, (tuple, list)):
            raise TypeError(
                f"label_ids holds {len(labels)} arrays; name the array with the labels of "
                "items, as in TrainingArguments(label_names=['labels'])"
            )
        scores = scores[0] if isinstance(scores, (tuple, list)) else scores
        labels, scores = _array(labels), _array(scores)
        cure = "pass [lists, items], such as logits.reshape(lists, items)"
        require_lists("label_ids", labels.shape, cure)
        require_lists("predictions", scores.shape, cure)
        batch = {"labels": labels, "scores": scores}
        is_regular = labels.shape == scores.shape and labels.size > 0
        if not is_regular or not {*self._options}.isdisjoint(BATCH_ARGUMENTS):
            # Call `evaluate` directly. If the arrays are wrong, it raises.
            return evaluate(self._bounds, **batch, **self._options)
        starts = np.arange(0, labels.size + 1, labels.shape[-1])
        items = {name: values.reshape(-1) for name, values in batch.items()}
        return evaluate_lists(self._bounds, starts, items, {}, self._options)


def _array(values: Any) -> np.ndarray:
    """Returns values as a NumPy array.

    Batches come as PyTorch tensors on any device, and whole evaluations as arrays.
    """
    if isinstance(values, np.ndarray):
        return values
    values = values.detach().cpu()  # NumPy has no bfloat16
    return (values.float() if values.is_floating_point() else values).numpy()
