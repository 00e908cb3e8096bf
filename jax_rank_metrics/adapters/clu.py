"""A `clu.metrics.Metric`, for a `Collection` of the Common Loop Utils."""

from typing import Any

from jax_rank_metrics._calls.evaluate import empty
from jax_rank_metrics._calls.names import Metrics
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.merging import compute, in_order, merge, reduce
from jax_rank_metrics.adapters._shared import checked, evaluate_named, framework

_clu = framework("clu.metrics", __name__)
_values, _struct = framework("clu.values", __name__), framework("flax.struct", __name__)


def metric(metrics: Metrics, **options: Any) -> type[Any]:
    """A class for a `clu.metrics.Collection`: several metrics, from one ranking.

    `from_model_output` takes from the outputs of a model `labels`, `scores` and whatever
    else of `evaluate` comes with a batch: `mask`, `weights`, `key`, `list_weights`,
    `segment_ids`, `retrieved`, `columns`. All others are ignored. Outputs under other names
    are renamed by clu's own `from_fun`. A mask may be `[*lists]`, of whole lists, and of
    numbers, as clu has it. `compute` gives a dict of a scalar for each metric and cutoff;
    the attribute `states` has the state of each metric.

    Args:
        metrics: As for `evaluate`.
        **options: Those arguments of `evaluate` that no batch changes, such as `ties`.

    Returns:
        A subclass of `clu.metrics.Metric`. Make it once: another call gives another
        class, whose states do not merge with these.

    Raises:
        ValueError: if a name is unknown.
        TypeError: if `evaluate` has no such option.

    >>> import jax.numpy as jnp
    >>> from clu.metrics import Average, Collection
    >>> both = Collection.create(
    ...     rank=metric(("mrr", "recall@1,2")), loss=Average.from_output("loss")
    ... )
    >>> labels, scores = jnp.array([[0, 1], [1, 0]]), jnp.array([[0.9, 0.1], [0.8, 0.3]])
    >>> found = both.single_from_model_output(labels=labels, scores=scores, loss=0.5)
    >>> {name: float(value) for name, value in found.compute()["rank"].items()}
    {'mrr': 0.75, 'recall@1': 0.5, 'recall@2': 1.0}
    >>> found.merge(found).rank.states["mrr"]
    Mean(0.750 ± 0.144, 4 lists, 0 undefined)
    """
    bounds = checked(metrics, options)

    @_struct.dataclass
    class RankingMetrics(_clu.Metric):
        """Metrics of ranking, as clu merges and reduces them."""

        states: dict[str, Mean]

        @classmethod
        def empty(cls) -> Any:
            return cls(empty(bounds))

        @classmethod
        def from_model_output(cls, **outputs: Any) -> Any:
            return cls(evaluate_named(bounds, outputs, options))

        def merge(self, other: Any) -> Any:
            return type(self)(merge(self.states, other.states))

        def reduce(self) -> Any:
            return type(self)(reduce(self.states))

        def compute(self) -> Any:
            return compute(in_order(empty(bounds), self.states), flat=True)

        def compute_value(self) -> Any:
            return {k: _values.Scalar(v) for k, v in self.compute().items()}

    return RankingMetrics
