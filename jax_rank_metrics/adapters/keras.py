"""A metric for Keras 3 on its JAX backend.

The environment variable KERAS_BACKEND=jax says so, before Keras is imported: without it
Keras looks for TensorFlow.
"""

from typing import Any

import jax

from jax_rank_metrics._calls.evaluate import empty, evaluate
from jax_rank_metrics._calls.names import Metrics
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.merging import compute, in_order, merge
from jax_rank_metrics.adapters._shared import checked, framework

_keras = framework("keras", __name__)


@_keras.saving.register_keras_serializable("jax_rank_metrics")
class RankingMetrics(_keras.metrics.Metric):
    """Metrics of ranking for `compile`, `fit` and `evaluate`, as one object.

    `y_true` holds labels and `y_pred` scores, both `[lists, items]`; negative labels are
    padding. Its result is a dict, which Keras spreads in its logs: there they are
    "ndcg@10" and "val_ndcg@10", for callbacks too. So two in one model need other metrics,
    or other names: those of a dict are anyone's.

    `compile(metrics=[…])` gives it no sample weights, as Keras does with any metric, and
    `compile(weighted_metrics=[…])` does: `[lists]`, or `[lists, items]` for item weights.

    >>> import jax.numpy as jnp
    >>> metric = RankingMetrics(("mrr", "recall@1,2"))
    >>> labels, scores = jnp.array([[0, 1], [1, 0]]), jnp.array([[0.9, 0.1], [0.8, 0.3]])
    >>> metric.update_state(labels, scores)
    >>> {name: float(value) for name, value in metric.result().items()}
    {'mrr': 0.75, 'recall@1': 0.5, 'recall@2': 1.0}
    >>> metric.states["mrr"]
    Mean(0.750 ± 0.250, 2 lists, 0 undefined)
    """

    def __init__(
        self,
        metrics: Metrics,
        name: str = "ranking",
        dtype: Any = None,
        **options: Any,
    ):
        """Metrics of no lists yet.

        Args:
            metrics: As for `evaluate`; by names, if the model is to be saved.
            name: The name of the Keras metric, which no log shows.
            dtype: What Keras takes; sums are floats of JAX's default dtype in any case.
            **options: Those arguments of `evaluate` that no batch changes, such as `ties`
                or `undefined`.

        Raises:
            ValueError: if a metric is unknown.
            TypeError: if `evaluate` has no such option.
            RuntimeError: if Keras runs on another backend than JAX.
        """
        if _keras.backend.backend() != "jax":
            raise RuntimeError(
                f"Keras runs on {_keras.backend.backend()}; set the environment variable "
                "KERAS_BACKEND=jax before it is imported"
            )
        # Before Keras takes over attributes, and would wrap what they hold.
        self._metrics_given, self._options = metrics, options
        self._bounds = checked(metrics, options)
        super().__init__(name=name, dtype=dtype)
        for place, leaf in enumerate(jax.tree.leaves(empty(self._bounds))):
            self.add_variable(leaf.shape, "zeros", leaf.dtype.name, name=f"sum_{place}")

    @property
    def states(self) -> dict[str, Mean]:
        """The state of each metric, which merges and has a standard error."""
        nothing = empty(self._bounds)
        leaves = [variable.value for variable in self.variables]
        return in_order(nothing, jax.tree.structure(nothing).unflatten(leaves))

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Adds the lists of a batch.

        Args:
            y_true: Labels, `[*lists, items]`; padding is negative.
            y_pred: Scores, of the same shape.
            sample_weight: `[*lists]` or `[*lists, items]`, or None.

        Raises:
            ValueError: if shapes differ; as `evaluate`.
        """
        new = evaluate(
            self._bounds, y_true, y_pred, weights=sample_weight, **self._options
        )
        for variable, leaf in zip(
            self.variables, jax.tree.leaves(merge(self.states, new)), strict=True
        ):
            variable.assign(leaf)

    def result(self) -> dict[str, Any]:
        """A scalar for each metric and cutoff, by names such as "recall@5"."""
        return compute(self.states, flat=True)

    def get_config(self) -> dict[str, Any]:
        """What makes an equal metric of no lists."""
        given = self._metrics_given
        names = given if isinstance(given, (str, dict)) else list(given)
        return {**super().get_config(), "metrics": names, **self._options}
