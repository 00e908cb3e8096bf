"""`jrm.metric`: turns a formula over a `Ranking` into a metric, and registers its names."""

from __future__ import annotations  # `help` shows the names of types, not their unions

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, cast, runtime_checkable

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._calls import run
from jax_rank_metrics._calls.spec import SHARED, Bound, Spec
from jax_rank_metrics._places.soft import sigmoid_ranks
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._share import share
from jax_rank_metrics._sources.lists import ScoredLists, checked
from jax_rank_metrics._states.cutoff_names import DEFAULT_CUTOFFS
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList

P = ParamSpec("P")


@runtime_checkable
class _PerListCall(Protocol[P]):
    def __call__(
        self,
        labels: _types.Labels,
        scores: _types.Scores,
        mask: _types.Mask | None = None,
        weights: _types.Weights | None = None,
        key: _types.Key | None = None,
        ties: _types.Ties | None = None,
        list_weights: _types.ListWeights | None = None,
        segment_ids: _types.SegmentIds | None = None,
        num_segments: int | None = None,
        items_axis: _types.AxisNames | None = None,
        retrieved: _types.Mask | None = None,
        columns: _types.Columns | None = None,
        relax: sigmoid_ranks | None = None,
        *args: P.args,
        **options: P.kwargs,
    ) -> PerList: ...


@runtime_checkable
class _RankingCall(Protocol[P]):
    def __call__(
        self, ranking: Ranking, *args: P.args, **options: P.kwargs
    ) -> PerList: ...


@runtime_checkable
class Metric(Protocol[P]):
    """The type of a metric: a function that returns a mean and has two other forms.

    `metric(labels, scores, …)` returns the mean over all lists, `metric.per_list(…)` the
    value of every list, and `metric.of(ranking, …)` the values of a ranking that exists
    already. The first two accept the arguments of `rank`, except `k`: a metric that has
    cutoffs has its own option of that name.
    """

    __name__: str
    __qualname__: str
    spec: Spec
    per_list: _PerListCall[P]
    of: _RankingCall[P]

    def __call__(
        self,
        labels: _types.Labels,
        scores: _types.Scores,
        mask: _types.Mask | None = None,
        weights: _types.Weights | None = None,
        key: _types.Key | None = None,
        ties: _types.Ties | None = None,
        list_weights: _types.ListWeights | None = None,
        undefined: _types.Undefined = "zero",
        segment_ids: _types.SegmentIds | None = None,
        num_segments: int | None = None,
        items_axis: _types.AxisNames | None = None,
        retrieved: _types.Mask | None = None,
        columns: _types.Columns | None = None,
        relax: sigmoid_ranks | None = None,
        *args: P.args,
        **options: P.kwargs,
    ) -> Mean:
        """Returns the mean over all lists, as a mergeable state."""
        ...


# Every registered name, in lower case.
NAMES: dict[str, Metric[...]] = {}

_POSITIONAL = ("labels", "scores", "mask", "weights", "key")

# The name in `_types` of each type there, by identity: equal types have several names.
_TYPE_NAMES = {id(alias): name for name, alias in vars(_types).items()}


def _signature(
    protocol: type, options: Sequence[inspect.Parameter], returns: type
) -> inspect.Signature:
    """Returns the signature for `help`: the shared arguments, then a metric's options.

    Types appear under their names in `_types`, and arguments after the key are
    keyword-only, which `ParamSpec` cannot express in a protocol.
    """
    by_name = [_by_name(parameter) for parameter in options]
    return inspect.Signature(
        [*_shared_parameters(protocol), *by_name], return_annotation=returns
    )


@functools.cache  # Every metric has the same ones.
def _shared_parameters(protocol: type) -> list[inspect.Parameter]:
    parameters = inspect.signature(protocol.__call__).parameters.values()
    _, *shared, _, _ = parameters  # without self, args and options
    positional = [_short(parameter) for parameter in shared[: len(_POSITIONAL)]]
    return positional + [
        _by_name(parameter) for parameter in shared[len(_POSITIONAL) :]
    ]


def _short(parameter: inspect.Parameter) -> inspect.Parameter:
    annotation = parameter.annotation
    if isinstance(annotation, str):
        return parameter.replace(annotation=annotation.replace("_types.", ""))
    name = _TYPE_NAMES.get(id(annotation), annotation)
    return parameter.replace(annotation=name)


def _by_name(parameter: inspect.Parameter) -> inspect.Parameter:
    return _short(parameter).replace(kind=inspect.Parameter.KEYWORD_ONLY)


def metric(
    *,
    names: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
    ties: _types.TieReading
    | Callable[[dict[str, Any]], _types.TieReading] = "expected",
    columns: Sequence[str] = (),
    optional_columns: Sequence[str] = (),
    order_free: bool = False,
    at: str = "k",
    lower_is_better: bool | None | Callable[[dict[str, Any]], bool | None] = False,
    linear: bool = False,
) -> Callable[[Callable[Concatenate[Ranking, P], PerList]], Metric[P]]:
    """Turns a formula into a metric, and registers its names.

    A formula is a function of a `Ranking` and of keyword-only options, each hashable and
    with a default; an option `k` holds the cutoffs. It reads the ranking through
    `expected_sum`, `expected_first` and totals over the pool, and returns
    `ranking.per_list(…)`. Such a formula is right on every layout and under every tie
    policy.

    Args:
        names: Further names of the metric for `evaluate` and `measure`, in lower case;
            the name of the function is always one. A dict maps each to the options that
            it stands for: `{"nerr": {"normalized": True}}`.
        ties: How the formula reads tied items when the caller chose no policy; or a
            function of the options that returns it.

            - "expected": it reads tie groups, and returns the exact mean over all orders
              of tied items.
            - "order": it needs one definite order, which is a hash if there is no key.
            - "own": it reads tie groups under every policy, and defines itself what they
              mean.
        columns: Columns that it reads beside the labels; calls must pass them in
            `columns=`.
        optional_columns: Columns that calls may omit; the formula looks for them in
            `items.columns`.
        order_free: True if all it reads of the order is `expected_first` of bools. That
            is found by counting, so nothing is sorted for the metric.
        at: The option that `@` sets in a name. If it is a tuple, the values have a last
            axis with one entry for each of its elements.
        lower_is_better: True for errors and costs; None if neither direction is better,
            as for a count; or a function of the options that returns one of these.
            Tables, comparisons and plots read it to tell which system is better.
        linear: True if the value of a list is a sum over its items: each adds a function
            of its label times what its place is worth, and what divides the sum depends
            on no label. `residual` takes such metrics.

    Raises:
        ValueError: if another metric has one of the names, or a linear metric needs
            columns.

    >>> import jax.numpy as jnp
    >>> import jax_rank_metrics as jrm
    >>> def label(items):
    ...     return items.labels
    >>> @metric(names=("top",))
    ... def top_label(ranking, *, k=1):
    ...     ks = ranking.cutoffs(k)
    ...     values = ranking.expected_sum(label, jrm.positions(), ks)
    ...     return ranking.per_list(values, True, k, label)
    >>> state = jrm.evaluate("top@1", jnp.array([2, 3]), jnp.array([0.9, 0.9]))["top@1"]
    >>> f"{state.compute():.1f}"  # either may be first
    '2.5'
    """

    def register(formula: Callable[Concatenate[Ranking, P], PerList]) -> Metric[P]:
        _, *parameters = inspect.signature(formula).parameters.values()
        options = {parameter.name: parameter.default for parameter in parameters}
        name = formula.__name__
        if linear and columns:
            raise ValueError(
                f"{name}: a metric with linear=True reads labels alone; leave out columns"
            )
        spec = Spec(
            name=name,
            formula=formula,
            options=options,
            tie_reading=ties,
            columns=tuple(columns),
            optional_columns=tuple(optional_columns),
            order_free=order_free,
            at=at,
            lower_is_better=lower_is_better,
            presets=names if isinstance(names, Mapping) else {},
            linear=linear,
        )

        def bind(
            args: tuple[Any, ...], arguments: dict[str, Any]
        ) -> tuple[tuple[Bound], ScoredLists]:
            """Separates the metric's options from the shared arguments, and checks both."""
            if len(args) > len(_POSITIONAL):
                spec.bind(args[len(_POSITIONAL) :], {})  # raises
            arguments |= zip(_POSITIONAL, args, strict=False)
            shared = {
                key: arguments.pop(key, None) for key in SHARED if key != "undefined"
            }
            return (spec.bind((), arguments),), checked(**shared)

        @functools.wraps(formula, updated=())
        def call(
            *args: Any, undefined: _types.Undefined = "zero", **arguments: Any
        ) -> Mean:
            _inputs.option("undefined", undefined, _types.Undefined)
            return run.mean_lists(*bind(args, arguments), undefined)[name]

        def per_list(*args: Any, **arguments: Any) -> PerList:
            """Returns the value of every list, from the arguments of the metric."""
            return run.measure_lists(*bind(args, arguments))[name]

        def of(ranking: Ranking, *args: Any, **options: Any) -> PerList:
            """Returns the value of every list of a ranking that exists already."""
            return run.measure_ranking((spec.bind(args, options),), ranking)[name]

        kinds = (
            (call, Metric, Mean),
            (per_list, _PerListCall, PerList),
            (of, _RankingCall, PerList),
        )
        for function, protocol, returns in kinds:
            signature = _signature(protocol, parameters, returns)
            function.__signature__ = signature  # type: ignore
        for function in (per_list, of):
            function.__qualname__ = f"{formula.__qualname__}.{function.__name__}"
            function.__module__ = formula.__module__
        call.per_list, call.of, call.spec = per_list, of, spec  # type: ignore
        registered = cast(Metric[P], call)
        _register((name, *names), registered)
        cutoffs = options.get(at)
        if isinstance(cutoffs, tuple):
            texts = tuple(str(k) if isinstance(k, share) else f"{k:g}" for k in cutoffs)
            DEFAULT_CUTOFFS.update(dict.fromkeys((name, *names), texts))
        return registered

    return register


def _register(names: Sequence[str], registered: Metric[...]) -> None:
    """Adds a metric to `NAMES`; raises if a different metric has one of the names."""
    for name in names:
        known: Any = NAMES.get(name.lower(), registered)
        origins = {
            (metric.__module__, metric.__qualname__) for metric in (known, registered)
        }
        if len(origins) > 1:  # a cell of a notebook may run twice
            raise ValueError(
                f"metric name {name!r} is taken by {known.__name__}; choose another"
            )
    NAMES.update((name.lower(), registered) for name in names)
