"""The argument `metrics` of calls: names, or a dict from names to metrics."""

import functools
from collections.abc import Iterable, Mapping, Sequence

import jax

from jax_rank_metrics._engine import formulas as formulas  # registers the metrics
from jax_rank_metrics._engine.metrics.metric import Metric, parse
from jax_rank_metrics._engine.metrics.spec import SHARED, Bound
from jax_rank_metrics._ground import inputs, messages
from jax_rank_metrics._names import trec
from jax_rank_metrics._values.mean import Mean

# A name, several names (as text or parsed), or a dict from names of results to metrics.
Metrics = (
    str | Sequence[str | Bound] | Mapping[str, Metric[...] | functools.partial[Mean]]
)


@messages.short_errors()
def bind_all(metrics: Metrics) -> tuple[Bound, ...]:
    """Returns each metric with its options and the name of its result.

    The name of a set of trec_eval is replaced by the measures in it that are metrics here.

    >>> [(bound.name, bound.k) for bound in bind_all(("map", "recall@1,5"))]
    [('map', None), ('recall@1,5', (1, 5))]
    >>> [bound.name for bound in bind_all("set")][-3:]
    ['set_relative_P', 'set_map', 'set_F']
    """
    if isinstance(metrics, str):
        metrics = (metrics,)
    if not isinstance(metrics, Iterable) or isinstance(metrics, jax.Array):
        example = "{'ndcg': jrm.ndcg}"
        raise TypeError(
            f"metrics: got {inputs.kind_of(metrics)}; pass names such as 'ndcg@10', or "
            f"a dict of names to metrics such as {example}"
        )
    if isinstance(metrics, Mapping):
        bounds = [_bind(name, value) for name, value in metrics.items()]
    else:
        bounds = [
            metric if isinstance(metric, Bound) else parse(metric)
            for entry in metrics
            for metric in (isinstance(entry, str) and trec.members(entry)) or [entry]
        ]
    if not bounds:
        raise ValueError("metrics is empty; pass at least one, such as ('ndcg@10',)")
    names = [bound.name for bound in bounds]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"metrics names {repeated[0]!r} twice; pass each name once")
    return tuple(bounds)


def _bind(name: object, value: object) -> Bound:
    """Returns the metric of one entry of a dict: a metric, or a partial of one."""
    if not isinstance(name, str):
        raise TypeError(f"metrics: key {name!r} is not a string; pass names as keys")
    options: Mapping[str, object] = {}
    metric, args = value, ()
    if isinstance(value, functools.partial):
        metric, args, options = value.func, value.args, value.keywords
    if not isinstance(metric, Metric):
        raise TypeError(
            f"metrics: {name!r} is {value!r}; pass a metric such as jrm.ndcg, or "
            "functools.partial(jrm.ndcg, k=10)"
        )
    for option in options:
        if option not in metric.spec.options and option in SHARED:
            raise TypeError(
                f"metrics: {name!r} sets {option!r}, which belongs to the ranking that all "
                f"metrics share; pass {option} to the call instead"
            )
    return metric.spec.bind(args, options)._replace(name=name, state=metric.state)
