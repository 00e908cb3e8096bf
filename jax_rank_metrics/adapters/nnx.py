"""An `nnx.Metric`, for the train and evaluation steps of Flax NNX."""

from typing import Any

from jax_rank_metrics._calls.evaluate import empty
from jax_rank_metrics._calls.names import Metrics
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.merging import compute, in_order, merge
from jax_rank_metrics.adapters._shared import checked, evaluate_named, framework

_nnx = framework("flax.nnx", __name__)


class RankingMetrics(_nnx.Metric):
    """Metrics of ranking whose states are updated in place, by one ranking per batch.

    Alone, or in an `nnx.MultiMetric` beside others; inside `nnx.jit`, `nnx.scan` and the
    rest. Two of the same metrics and options are equal to `nnx.jit`: what is made anew
    for each evaluation compiles nothing anew.

    >>> import jax.numpy as jnp
    >>> metrics = RankingMetrics(("mrr", "recall@1,2"), ties="stable")
    >>> labels, scores = jnp.array([[0, 1], [1, 0]]), jnp.array([[0.9, 0.1], [0.8, 0.3]])
    >>> metrics.update(labels=labels, scores=scores, loss=0.3)
    >>> {name: float(value) for name, value in metrics.compute().items()}
    {'mrr': 0.75, 'recall@1': 0.5, 'recall@2': 1.0}
    >>> metrics.states["mrr"]
    Mean(0.750 ± 0.250, 2 lists, 0 undefined)
    """

    def __init__(self, metrics: Metrics, **options: Any):
        """Metrics of no lists yet.

        Args:
            metrics: As for `evaluate`.
            **options: Those arguments of `evaluate` that no batch changes, such as `ties`,
                `undefined` or `num_segments`. They are static, and so hashable.

        Raises:
            ValueError: if a name is unknown.
            TypeError: if `evaluate` has no such option.
        """
        # Plain hashable values, by which nnx tells programs apart.
        self._bounds = checked(metrics, options)
        self._options = tuple(sorted(options.items()))
        self._sums = _nnx.metrics.MetricState(empty(self._bounds))

    @property
    def states(self) -> dict[str, Mean]:
        """The state of each metric, which merges and has a standard error."""
        return in_order(empty(self._bounds), self._sums.get_value())

    def update(self, **batch: Any) -> None:
        """Adds the lists of a batch.

        Args:
            **batch: `labels`, `scores` and whatever else of `evaluate` comes with a batch:
                `mask`, `weights`, `key`, `list_weights`, `segment_ids`, `retrieved`,
                `columns`. All other names are ignored, since a `MultiMetric` gives the
                same to all that it holds. A mask may be `[*lists]`, of whole lists.

        Raises:
            TypeError: if labels or scores are missing; as `evaluate`.
            ValueError: as `evaluate`.
        """
        new = evaluate_named(self._bounds, batch, dict(self._options))
        self._sums.set_value(merge(self._sums.get_value(), new))

    def reset(self) -> None:
        """Forgets all lists."""
        self._sums.set_value(empty(self._bounds))

    def compute(self) -> dict[str, Any]:
        """A scalar for each metric and cutoff, by names such as "recall@5"."""
        return compute(self.states, flat=True)
