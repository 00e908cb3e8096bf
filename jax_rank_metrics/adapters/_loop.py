"""The metrics of a loop: those of one ranking of each list, and those of all items."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp

from jax_rank_metrics._calls.evaluate import empty, evaluate
from jax_rank_metrics._calls.names import Metrics, name_and_options
from jax_rank_metrics._formulas.pooled import pooled_average_precision, pooled_roc_auc
from jax_rank_metrics._metrics.spec import Bound
from jax_rank_metrics._states.pooled import PooledAveragePrecision, PooledRocAuc
from jax_rank_metrics._states.state import State
from jax_rank_metrics.adapters._shared import batch_arguments, bind_metrics

_POOLED = {
    function.__name__: (function, kind)
    for function, kind in (
        (pooled_roc_auc, PooledRocAuc),
        (pooled_average_precision, PooledAveragePrecision),
    )
}


class _PooledMetric(NamedTuple):
    """A metric of all items, with its options; hashable."""

    name: str
    function: Callable[..., State]
    options: tuple[tuple[str, Any], ...]

    def empty(self) -> State:
        """Returns the state of no items."""
        _, kind = _POOLED[self.function.__name__]
        return kind.empty(dict(self.options).get("bits", 16))

    def evaluate(self, arguments: Mapping[str, Any]) -> State:
        """Returns the state of a batch, from the arguments of `evaluate`.

        What has no rank in its list, such as an item that was not retrieved, is not in the
        pool. Average precision counts all items of a weight above 0 alike.
        """
        labels, scores = arguments["labels"], arguments["scores"]
        exists = jnp.ones(jnp.shape(labels), bool)
        for name in ("mask", "retrieved"):
            if name in arguments:
                exists = exists & jnp.asarray(arguments[name])
        weights, ids = arguments.get("weights"), arguments.get("segment_ids")
        if weights is None:
            weights = arguments.get("list_weights")
            if weights is not None and ids is not None:
                indices = jnp.maximum(jnp.asarray(ids), 0)
                weights = jnp.take_along_axis(jnp.asarray(weights), indices, axis=-1)
        if ids is not None:
            exists = exists & (jnp.asarray(ids) >= 0)
        if self.function is pooled_roc_auc:
            return self.function(labels, scores, exists, weights, **dict(self.options))
        if weights is not None:
            has_weight = jnp.asarray(weights) > 0
            if has_weight.ndim < exists.ndim:
                has_weight = has_weight[..., None]
            exists = exists & jnp.broadcast_to(has_weight, exists.shape)
        return self.function(labels, scores, exists, **dict(self.options))


class LoopMetrics(NamedTuple):
    """The metrics of a loop, hashable; those of all items come last in results."""

    bounds: tuple[Bound, ...]
    pooled: tuple[_PooledMetric, ...]

    def empty(self) -> dict[str, State]:
        """Returns states of no lists."""
        states: dict[str, State] = {**(empty(self.bounds) if self.bounds else {})}
        return states | {metric.name: metric.empty() for metric in self.pooled}

    def evaluate(
        self, batch: Mapping[str, Any], options: Mapping[str, Any]
    ) -> dict[str, State]:
        """Returns the states of a batch, whose other entries are ignored.

        Raises:
            TypeError: if labels or scores are missing.
        """
        arguments, states = batch_arguments(batch), dict[str, State]()
        if self.bounds:
            states |= evaluate(self.bounds, **arguments, **options)
        return states | {x.name: x.evaluate(arguments) for x in self.pooled}


def bind_loop(metrics: Metrics, options: Mapping[str, Any]) -> LoopMetrics:
    """Returns the metrics of a loop in a hashable form, and checks options.

    Metrics of all items are named as the others are, "pooled_roc_auc(bits=20)", or passed
    in a dict, as `jrm.pooled_roc_auc` or a `functools.partial` of it.

    Raises:
        ValueError: if a name is unknown, or repeats.
        TypeError: if `evaluate` or a metric has no such option.
    """
    entries: Any = (metrics,) if isinstance(metrics, str) else metrics
    pooled, ranked = list[_PooledMetric | None](), entries
    if isinstance(entries, Mapping):
        pooled = [_pooled_metric(name, value) for name, value in entries.items()]
        names = {x.name for x in pooled if x is not None}
        ranked = {name: x for name, x in entries.items() if name not in names}
    elif isinstance(entries, (list, tuple)):
        pooled = [_pooled_metric(entry, entry) for entry in entries]
        ranked = tuple(x for x in entries if _pooled_metric(x, x) is None)
    bound_pooled = tuple(x for x in pooled if x is not None)
    if bound_pooled and not ranked:
        inspect.signature(evaluate).bind_partial((), **options)
        bounds = ()
    else:
        bounds = bind_metrics(ranked, options)
    names = [x.name for x in (*bounds, *bound_pooled)]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"metrics names {name!r} twice; pass each once")
    return LoopMetrics(bounds, bound_pooled)


def _pooled_metric(name: object, value: object) -> _PooledMetric | None:
    """Returns a metric of all items as named or passed; None for any other metric."""
    function, options = value, dict[str, Any]()
    if isinstance(value, str):
        base, options = name_and_options(value)
        function, _ = _POOLED.get(base, (None, None))
    elif isinstance(value, functools.partial):
        function, options = value.func, dict(value.keywords)
    if function not in [function for function, _ in _POOLED.values()]:
        return None
    if isinstance(value, str) and "@" in value:
        raise ValueError(
            f"metric name {value!r}: all items have no cutoff; leave out @"
        )
    parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    known = [x.name for x in parameters.values() if x.kind == x.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            raise TypeError(
                f"metrics: {name!r} sets {option!r}; its options are {', '.join(known)}"
            )
    metric = _PooledMetric(str(name), function, tuple(sorted(options.items())))  # type: ignore[arg-type]
    metric.empty()  # raises for bits out of range
    return metric
