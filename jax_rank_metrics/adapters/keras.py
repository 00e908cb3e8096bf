"""A metric for Keras 3 on its JAX backend.

Set the environment variable KERAS_BACKEND=jax before Keras is imported; otherwise, Keras
looks for TensorFlow.
"""

from typing import Any

import jax

from jax_rank_metrics._engine.calls import binding
from jax_rank_metrics._values import merging, state
from jax_rank_metrics.adapters._loop import bind_loop
from jax_rank_metrics.adapters._shared import framework, require_lists

_keras = framework("keras", __name__)


class RankingMetrics(_keras.metrics.Metric):
    """Ranking metrics for `compile`, `fit` and `evaluate`, as one object.

    `y_true` holds labels and `y_pred` scores, both `[lists, items]`; negative labels are
    padding. A model that ends with `Dense(1)` returns `[lists, items, 1]`: drop the last
    axis by `keras.layers.Reshape((items,))`, and also drop it from the labels.

    The result is a dict. Keras adds the entries of the dict to the logs, which callbacks
    can read, under names such as "ndcg@10" and "val_ndcg@10". If two entries have the same
    name, Keras keeps only one entry, so give the metrics of each output a `prefix` if a
    model has several outputs.

    As with any metric, Keras passes sample weights only to metrics in
    `compile(weighted_metrics=[…])`, not to metrics in `compile(metrics=[…])`. Weights are
    `[lists]`, or `[lists, items]` for item weights.

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
        metrics: binding.Metrics,
        name: str = "ranking",
        dtype: Any = None,
        *,
        prefix: str = "",
        **options: Any,
    ):
        """Creates metrics of no lists.

        Args:
            metrics: As for `evaluate`; only names, if the model will be saved. Also
                "pooled_roc_auc(bits=20)" and "pooled_average_precision", which come last
                in results. If there are no other metrics, `y_true` and `y_pred` may have
                any shape, such as `[examples, 1]`.
            name: The name of the Keras metric; logs do not show this name.
            dtype: As for any Keras metric, but sums always have JAX's default float dtype.
            prefix: The start of the name of every result, such as "left_" for
                "left_ndcg@10".
            **options: The arguments of `evaluate` that no batch changes, such as `ties`
                or `undefined`.

        Raises:
            ValueError: if a metric is unknown.
            TypeError: if `evaluate` has no such option.
            RuntimeError: if Keras runs on another backend than JAX.
        """
        if _keras.backend.backend() != "jax":
            raise RuntimeError(
                f"Keras runs on {_keras.backend.backend()}; set the environment variable "
                "KERAS_BACKEND=jax before Keras is imported"
            )
        # Set these before Keras tracks attributes, because it would wrap containers.
        self._ranking_metrics, self._options, self._prefix = metrics, options, prefix
        self._loop = bind_loop(metrics, options)
        super().__init__(name=name, dtype=dtype)
        for index, leaf in enumerate(jax.tree.leaves(self._loop.empty())):
            self.add_variable(leaf.shape, "zeros", leaf.dtype.name, name=f"sum_{index}")

    @property
    def states(self) -> dict[str, state.State]:
        """A dict from metrics to states, which merge and have standard errors."""
        zeros = self._loop.empty()
        leaves = [variable.value for variable in self.variables]
        return merging.in_order(zeros, jax.tree.structure(zeros).unflatten(leaves))

    def update_state(
        self,
        y_true: jax.Array,
        y_pred: jax.Array,
        sample_weight: jax.Array | None = None,
    ) -> None:
        """Adds the lists of a batch.

        Args:
            y_true: Labels, `[*lists, items]`; padding is negative.
            y_pred: Scores, of the same shape.
            sample_weight: `[*lists]` or `[*lists, items]`, or None.

        Raises:
            ValueError: if shapes differ; if a metric reads lists, and the last axis has the
                length 1 or is the only axis; as `evaluate`.
        """
        cure = "pass [lists, items], by keras.layers.Reshape((items,)) after a Dense(1)"
        if self._loop.bounds:
            require_lists("y_true", tuple(y_true.shape), cure)
            require_lists("y_pred", tuple(y_pred.shape), cure)
        batch = {"labels": y_true, "scores": y_pred, "weights": sample_weight}
        states = self._loop.evaluate(batch, self._options)
        leaves = jax.tree.leaves(merging.merge(self.states, states))
        for variable, leaf in zip(self.variables, leaves, strict=True):
            variable.assign(leaf)

    def result(self) -> dict[str, jax.Array]:
        """Returns a dict of scalars, one for each metric and cutoff, such as "recall@5".

        Every name starts with the prefix. Without lists, values are 0.
        """
        values = merging.compute(self.states, flat=True)
        return {f"{self._prefix}{name}": value for name, value in values.items()}

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments that create a metric with the same settings.

        Raises:
            ValueError: if metrics are a dict of functions, which cannot be saved.
        """
        if isinstance(self._ranking_metrics, dict):
            raise ValueError(
                "RankingMetrics of a dict of functions cannot be saved; pass names, and a "
                "prefix if two outputs have the same metrics"
            )
        names = (
            self._ranking_metrics
            if isinstance(self._ranking_metrics, str)
            else list(self._ranking_metrics)
        )
        config = {"metrics": names, "prefix": self._prefix, **self._options}
        return {**super().get_config(), **config}


# Do not use a decorator here: if Keras is missing, the documentation site imitates Keras,
# and an imitated decorator would hide the class.
_keras.saving.register_keras_serializable("jax_rank_metrics")(RankingMetrics)
