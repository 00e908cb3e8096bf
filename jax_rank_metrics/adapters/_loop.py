"""The metrics of a loop: metrics of lists, which share a ranking, and of all items."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp

from jax_rank_metrics._engine.calls import binding
from jax_rank_metrics._engine.calls.evaluate import empty, evaluate, measure
from jax_rank_metrics._engine.formulas import pooled_metrics
from jax_rank_metrics._engine.metrics import spec
from jax_rank_metrics._engine.sources import catalog
from jax_rank_metrics._names import grammar
from jax_rank_metrics._values import mean, state
from jax_rank_metrics.adapters._shared import batch_arguments, check_options

_POOLED: dict[str, Callable[..., state.State]] = {
    "pooled_roc_auc": pooled_metrics.pooled_roc_auc,
    "pooled_average_precision": pooled_metrics.pooled_average_precision,
}


class _PooledMetric(NamedTuple):
    """A metric of all items, with its options; hashable."""

    function: Callable[..., state.State]
    options: tuple[tuple[str, Any], ...]

    def empty(self) -> state.State:
        """Returns the state of no items."""
        return self.function(jnp.zeros(0), jnp.zeros(0), **dict(self.options))

    def evaluate(self, arguments: Mapping[str, Any]) -> state.State:
        """Returns the state of a batch, from the arguments of `evaluate`.

        Items without a rank in their list, such as items that were not retrieved, are not
        in the pool.

        Raises:
            ValueError: if there are weights, but the metric takes no weights.
        """
        masks = [arguments[name] for name in ("mask", "retrieved") if name in arguments]
        if "segment_ids" in arguments:
            masks.append(jnp.asarray(arguments["segment_ids"]) >= 0)
        mask = functools.reduce(jnp.logical_and, masks) if masks else None
        values = [arguments["labels"], arguments["scores"], mask]
        weights = arguments.get("weights", arguments.get("list_weights"))
        if weights is not None:
            if self.function is not pooled_metrics.pooled_roc_auc:
                raise ValueError(
                    "pooled_average_precision takes no weights; pass a mask instead"
                )
            values.append(weights)
        return self.function(*values, **dict(self.options))


class LoopMetrics(NamedTuple):
    """The metrics of a loop, hashable; metrics of all items come last in results."""

    bounds: tuple[spec.Bound, ...]
    pooled: tuple[tuple[str, _PooledMetric], ...]

    def empty(self) -> dict[str, state.State]:
        """Returns states of no lists."""
        states: dict[str, state.State] = {**(empty(self.bounds) if self.bounds else {})}
        return states | {name: metric.empty() for name, metric in self.pooled}

    def evaluate(
        self, batch: Mapping[str, Any], options: Mapping[str, Any]
    ) -> dict[str, state.State]:
        """Returns the states of a batch; entries that are not arguments are ignored.

        Raises:
            TypeError: if labels or scores are missing.
            ValueError: if a metric of all items gets a ranking or relevant ids instead of
                the labels that it reads.
        """
        arguments, states = batch_arguments(batch), dict[str, state.State]()
        if not arguments.keys().isdisjoint(("ranking", "relevant_ids")):
            return self._of_ranking(arguments, dict(options))
        if self.bounds:
            states |= evaluate(self.bounds, **arguments, **options)
        return states | {key: metric.evaluate(arguments) for key, metric in self.pooled}

    def _of_ranking(
        self, arguments: dict[str, Any], options: dict[str, Any]
    ) -> dict[str, state.State]:
        """Returns the states of a ranking, or of scores and relevant ids."""
        if self.pooled:
            raise ValueError(
                f"{self.pooled[0][0]} reads the labels of all items, which neither a "
                "ranking nor relevant ids have; pass labels"
            )
        undefined = options.pop("undefined", "zero")
        arguments.pop("labels", None)  # they are for another metric
        if "ranking" in arguments:
            ranking, _ = arguments.pop("ranking"), arguments.pop("scores", None)
            if unread := [*arguments, *options]:
                raise ValueError(
                    f"ranking is ranked already; pass {unread[0]} to the function that "
                    "makes the ranking"
                )
        else:
            if "mask" in arguments:
                arguments["item_mask"] = arguments.pop("mask")
            ranking = catalog.rank_scores(**arguments, **options)
        lists = measure(self.bounds, ranking)
        kinds = tuple(bound.state for bound in self.bounds)
        means = mean.means_of(tuple(lists.values()), undefined, kinds)
        return dict(zip(lists, means, strict=True))


def bind_loop(metrics: binding.Metrics, options: Mapping[str, Any]) -> LoopMetrics:
    """Returns the metrics of a loop in a hashable form, and checks options.

    Metrics of all items are named like other metrics, as in "pooled_roc_auc(bits=20)"; or
    they are values of a dict, such as `jrm.pooled_roc_auc` or a `functools.partial` of this
    function.

    Raises:
        ValueError: if a name is unknown, or repeats.
        TypeError: if `evaluate` or a metric has no such option.
    """
    ranked: Any = (metrics,) if isinstance(metrics, str) else metrics
    pooled: dict[str, _PooledMetric] = {}
    if isinstance(ranked, (Mapping, list, tuple)):
        values = ranked if isinstance(ranked, Mapping) else {key: key for key in ranked}
        pools = {name: _pooled_metric(value) for name, value in values.items()}
        pooled = {name: metric for name, metric in pools.items() if metric is not None}
        if isinstance(ranked, Mapping):
            ranked = {name: ranked[name] for name in ranked if name not in pooled}
        else:
            ranked = tuple(name for name in ranked if name not in pooled)
    check_options(options)
    bounds = () if pooled and not ranked else binding.bind_all(ranked)
    return LoopMetrics(bounds, tuple(pooled.items()))


def _pooled_metric(value: object) -> _PooledMetric | None:
    """Returns the metric of all items that is named or passed; None for other metrics."""
    function, options = value, dict[str, Any]()
    if isinstance(value, str):
        name, options = grammar.name_and_options(value)
        function = _POOLED.get(name)
        if function is not None and "@" in value:
            raise ValueError(
                f"metric name {value!r}: the metric has no cutoff; leave out the @"
            )
    elif isinstance(value, functools.partial):
        function, options = value.func, dict(value.keywords)
    for known in _POOLED.values():
        if function is known:
            metric = _PooledMetric(known, tuple(sorted(options.items())))
            metric.empty()  # raises if options are wrong
            return metric
    return None
