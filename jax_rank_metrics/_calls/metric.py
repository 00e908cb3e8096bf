"""Metrics are functions, each made of one formula over a `Ranking`."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, cast, runtime_checkable

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._calls import run
from jax_rank_metrics._calls.run import SHARED, Spec
from jax_rank_metrics._places.soft import sigmoid_ranks
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.lists import ScoredLists, checked
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.merging import DEFAULT_CUTOFFS
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
        **own: P.kwargs,
    ) -> PerList: ...


@runtime_checkable
class _Of(Protocol[P]):
    def __call__(self, ranking: Ranking, *args: P.args, **own: P.kwargs) -> PerList: ...


@runtime_checkable
class Metric(Protocol[P]):
    """The type of a metric: a function that gives a mean, with two more beside it.

    `metric(labels, scores, …)` is the mean over all lists, `.per_list(…)` the value of
    every list, and `.of(ranking, …)` that of the lists of a ranking. Metrics take the
    arguments of `rank`, but for k, which is one of their own.
    """

    __name__: str
    spec: Spec
    per_list: _PerListCall[P]
    of: _Of[P]

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
        **own: P.kwargs,
    ) -> Mean:
        """The mean over all lists, as a mergeable state."""
        ...


# Every name of a metric, in lower case.
NAMES: dict[str, Metric[...]] = {}

_POSITIONAL = ("labels", "scores", "mask", "weights", "key")


def _signature(protocol: Any, own: Sequence[inspect.Parameter]) -> inspect.Signature:
    """The arguments that a protocol spells out, those after the key by keyword."""
    spelled = inspect.signature(protocol.__call__)
    _, *shared = [*spelled.parameters.values()][:-2]
    first = len(_POSITIONAL)
    by_name = [one.replace(kind=one.KEYWORD_ONLY) for one in shared[first:]]
    return spelled.replace(parameters=[*shared[:first], *by_name, *own])


def metric(
    *,
    names: Sequence[str] = (),
    ties: _types.TieReading
    | Callable[[dict[str, Any]], _types.TieReading] = "expected",
    columns: Sequence[str] = (),
    optional_columns: Sequence[str] = (),
    order_free: bool = False,
    at: str = "k",
    lower_is_better: bool | None = False,
) -> Callable[[Callable[Concatenate[Ranking, P], PerList]], Metric[P]]:
    """Makes a metric of a formula, and registers its names.

    A formula is a function of a `Ranking` and of keyword options of its own, hashable
    and with defaults; `k`, if there is one, is its cutoffs. It reads `expected_sum`,
    `expected_first` and totals over the pool, and returns `ranking.per_list(…)`. So
    written it holds on every layout and under every policy.

    Args:
        names: Other names for it, beside that of the function, for `evaluate` and
            `measure`; in lower case.
        ties: What the formula is given where scores tie and no policy says otherwise;
            a function of the options may choose.

            - "expected": tie groups, over all orders of which it is exact.
            - "order": one definite order, by a hash where there is no key.
            - "own": tie groups under every policy; it says itself what ties mean.
        columns: What it reads beside labels; calls must pass these as `columns=`.
        optional_columns: The same, but calls may leave these out: the formula looks for
            them in `items.columns`.
        order_free: Whether all that it reads of the order is `expected_first` of bools,
            which counts: then nothing is sorted for it.
        at: The option that a name sets after its @; a tuple of them gives the values a
            last axis.
        lower_is_better: True for errors and costs; None where neither direction is
            better, as for counts. Tables, comparisons and plots read it to say which
            system is the better one.

    Raises:
        ValueError: if another metric has one of the names.

    >>> import jax.numpy as jnp
    >>> import jax_rank_metrics as jrm
    >>> @metric(names=("top",))
    ... def top_label(ranking, *, k=1):
    ...     ks, label = ranking.cutoffs(k), lambda items: items.labels
    ...     values = ranking.expected_sum(label, jrm.positions(), ks)
    ...     return ranking.per_list(values, True, k, label)
    >>> state = jrm.evaluate("top@1", jnp.array([2, 3]), jnp.array([0.9, 0.9]))["top@1"]
    >>> f"{state.compute():.1f}"  # either may be first
    '2.5'
    """

    def make(formula: Callable[Concatenate[Ranking, P], PerList]) -> Metric[P]:
        _, *own = inspect.signature(formula).parameters.values()
        options = {parameter.name: parameter.default for parameter in own}
        name = formula.__name__
        read = (tuple(columns), tuple(optional_columns))
        spec = Spec(
            name, formula, options, ties, *read, order_free, at, lower_is_better
        )

        def lists_of(
            args: tuple[Any, ...], given: dict[str, Any]
        ) -> tuple[tuple[run.Bound], ScoredLists]:
            if len(args) > len(_POSITIONAL):
                spec.bind(args[len(_POSITIONAL) :], {})
            given |= zip(_POSITIONAL, args, strict=False)
            shared = {key: given.pop(key, None) for key in SHARED if key != "undefined"}
            return (spec.bind((), given),), checked(**shared)

        @functools.wraps(formula, updated=())
        def call(
            *args: Any, undefined: _types.Undefined = "zero", **given: Any
        ) -> Mean:
            _inputs.option("undefined", undefined, _types.Undefined)
            return run.measure_lists(*lists_of(args, given), undefined)[name]

        def per_list(*args: Any, **given: Any) -> PerList:
            """The value of every list."""
            return run.measure_lists(*lists_of(args, given))[name]

        def of(ranking: Ranking, *args: Any, **given: Any) -> PerList:
            """The value of every list of a ranking that exists already."""
            return run.measure_ranking((spec.bind(args, given),), ranking)[name]

        kinds = ((call, Metric), (per_list, _PerListCall), (of, _Of))
        for function, protocol in kinds:
            function.__signature__ = _signature(protocol, own)  # type: ignore
        for function in (per_list, of):
            function.__qualname__ = f"{formula.__qualname__}.{function.__name__}"
            function.__module__ = formula.__module__
        call.per_list, call.of, call.spec = per_list, of, spec  # type: ignore
        made = cast(Metric[P], call)
        _register((name, *names), made)
        along = options.get(at)
        if isinstance(along, tuple):
            DEFAULT_CUTOFFS.update(dict.fromkeys((name, *names), along))
        return made

    return make


def _register(names: Sequence[str], made: Any) -> None:
    for name in names:
        known: Any = NAMES.get(name.lower(), made)
        origins = {(one.__module__, one.__qualname__) for one in (known, made)}
        if len(origins) > 1:  # a cell of a notebook may run twice
            raise ValueError(
                f"metric name {name!r} is taken by {known.__name__}; choose another"
            )
    NAMES.update((name.lower(), made) for name in names)
