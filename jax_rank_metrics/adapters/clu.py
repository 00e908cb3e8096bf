"""A `clu.metrics.Metric`, for a `Collection` of the Common Loop Utils."""

from collections.abc import Mapping
from typing import Any, Self

import jax

from jax_rank_metrics._engine.calls import binding
from jax_rank_metrics._values import merging, state
from jax_rank_metrics._values.merging import compute, merge, reduce
from jax_rank_metrics.adapters._flax import register_states
from jax_rank_metrics.adapters._loop import bind_loop
from jax_rank_metrics.adapters._shared import framework

_clu = framework("clu.metrics", __name__)
_values, _struct = framework("clu.values", __name__), framework("flax.struct", __name__)
register_states()


def metric(metrics: binding.Metrics, **options: Any) -> type[Any]:
    """Makes a class for a `clu.metrics.Collection`: several metrics from one ranking.

    `from_model_output` reads `labels` and `scores` from the outputs of a model, and any
    other arguments of `evaluate` that come with a batch: `mask`, `weights`, `key`,
    `list_weights`, `segment_ids`, `retrieved`, `columns`. Instead of labels, outputs may
    hold `relevant_ids` for `rank_scores`, or only a `ranking` of any source. Other outputs
    are ignored, but a name that is almost the name of an argument raises. To rename
    outputs, use clu's `from_fun`. A mask may be `[*lists]`, for whole lists, and may hold
    numbers, like masks of clu. `compute` returns a dict with a scalar for each metric and
    cutoff. The attribute `states` is a dict from metrics to states. For clu's
    `write_values`, see `flatten`.

    Args:
        metrics: As for `evaluate`; also "pooled_roc_auc(bits=20)" and
            "pooled_average_precision", which come last in results.
        **options: The arguments of `evaluate` that no batch changes, such as `ties`.

    Returns:
        A subclass of `clu.metrics.Metric`. Make it only once, because the states of the
        classes of two calls do not merge.

    Raises:
        ValueError: if a name is unknown.
        TypeError: if `evaluate` has no such option.

    >>> import jax.numpy as jnp
    >>> from clu.metrics import Average, Collection
    >>> Evaluation = Collection.create(
    ...     rank=metric(("mrr", "recall@1,2")), loss=Average.from_output("loss")
    ... )
    >>> labels, scores = jnp.array([[0, 1], [1, 0]]), jnp.array([[0.9, 0.1], [0.8, 0.3]])
    >>> results = Evaluation.single_from_model_output(
    ...     labels=labels, scores=scores, loss=0.5
    ... )
    >>> {name: float(value) for name, value in results.compute()["rank"].items()}
    {'mrr': 0.75, 'recall@1': 0.5, 'recall@2': 1.0}
    >>> results.merge(results).rank.states["mrr"]
    Mean(0.750 ± 0.144, 4 lists, 0 undefined)
    """
    loop = bind_loop(metrics, options)

    @_struct.dataclass
    class RankingMetrics(_clu.Metric):
        """Ranking metrics that clu merges and reduces."""

        states: dict[str, state.State]

        @classmethod
        def empty(cls) -> Self:
            return cls(loop.empty())

        @classmethod
        def from_model_output(cls, **outputs: Any) -> Self:
            return cls(loop.evaluate(outputs, options))

        def merge(self, other: Self) -> Self:
            return type(self)(merge(self.states, other.states))

        def reduce(self) -> Self:
            return type(self)(reduce(self.states))

        def compute(self) -> dict[str, jax.Array]:
            return compute(merging.in_order(loop.empty(), self.states), flat=True)

        def compute_value(self) -> dict[str, Any]:
            values = self.compute()
            return {name: _values.Scalar(value) for name, value in values.items()}

    return RankingMetrics


def flatten(results: Mapping[str, Any]) -> dict[str, Any]:
    """Flattens the results of a `Collection`, whose ranking metrics are nested dicts.

    clu's writers take one level of names:
    `metric_writers.write_values(writer, step, flatten(collection.compute_values()))`.

    Args:
        results: The result of `Collection.compute` or `Collection.compute_values`.

    Returns:
        The same values, with the names of nested dicts joined by "/".

    >>> flatten({"rank": {"mrr": 0.75, "recall@1": 0.5}, "loss": 0.3})
    {'rank/mrr': 0.75, 'rank/recall@1': 0.5, 'loss': 0.3}
    """
    flat: dict[str, Any] = {}
    for name, value in results.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}/{key}": leaf for key, leaf in flatten(value).items()}
        else:
            flat[name] = value
    return flat
