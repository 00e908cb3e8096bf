"""Metrics are functions, each made of one formula over a `Ranking`."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import (
    Any,
    Concatenate,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    cast,
    runtime_checkable,
)

import jax
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._calls import run
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.rank import checked
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import (
    AxisNames,
    Columns,
    Key,
    Labels,
    ListWeights,
    Mask,
    Scores,
    Ties,
    Undefined,
    Weights,
)

P = ParamSpec("P")
ReadsTies = Literal["expected", "order", "own"]


@runtime_checkable
class _PerListCall(Protocol[P]):
    def __call__(
        self,
        labels: Labels,
        scores: Scores,
        mask: Mask | None = None,
        weights: Weights | None = None,
        key: Key | None = None,
        ties: Ties | None = None,
        list_weights: ListWeights | None = None,
        segment_ids: Scores | None = None,
        num_segments: int | None = None,
        items_axis: AxisNames | None = None,
        retrieved: Mask | None = None,
        columns: Columns | None = None,
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
    spec: "Spec"
    per_list: _PerListCall[P]
    of: _Of[P]

    def __call__(
        self,
        labels: Labels,
        scores: Scores,
        mask: Mask | None = None,
        weights: Weights | None = None,
        key: Key | None = None,
        ties: Ties | None = None,
        list_weights: ListWeights | None = None,
        undefined: Undefined = "zero",
        segment_ids: Scores | None = None,
        num_segments: int | None = None,
        items_axis: AxisNames | None = None,
        retrieved: Mask | None = None,
        columns: Columns | None = None,
        *args: P.args,
        **own: P.kwargs,
    ) -> Mean:
        """The mean over all lists, as a mergeable state."""
        ...


class Spec(NamedTuple):
    """What is known of a metric, as the attribute `spec` of it."""

    name: str
    formula: Callable[..., PerList]
    options: dict[str, Any]  # with their defaults
    ties: ReadsTies | Callable[[dict[str, Any]], ReadsTies]
    columns: tuple[str, ...]
    order_free: bool

    def __hash__(self) -> int:
        """By formula, as they are compared."""
        return hash(self.formula)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same formula."""
        return isinstance(other, Spec) and self.formula is other.formula

    def bind(self, args: tuple[Any, ...], own: dict[str, Any]) -> run.Bound:
        """The metric with options, checked and made static."""
        if args:
            raise TypeError(
                f"{self.name}: got {len(args)} positional arguments too many; pass "
                f"options by name: {', '.join(self.options) or 'it has none'}"
            )
        options = self.options | {
            name: self._static(name, value) for name, value in own.items()
        }
        ties: str = self.ties(options) if callable(self.ties) else self.ties
        return run.Bound(
            self.name,
            self.formula,
            tuple(sorted(options.items())),
            ties,
            self.columns,
            self.order_free,
        )

    def _static(self, name: str, value: Any) -> Any:
        if name not in self.options:
            own = f"its own are {', '.join(self.options) or 'none'}"
            if name == "undefined":
                own = "pass it to the mean, as in .mean('skip')"
            elif name in SHARED:
                own += f"; {name} is of the ranking, pass it to jrm.rank"
            raise TypeError(f"{self.name} has no option {name!r}; {own}")
        if name == "k":
            ks = _inputs.cutoffs(value)
            return ks if isinstance(value, (tuple, list)) else ks[0]
        if callable(self.options[name]) and not callable(value):
            raise TypeError(f"{name} is {value!r}; pass a function of an array")
        if isinstance(value, type):
            raise TypeError(
                f"{name} is the class {value.__name__}; pass one made of it, such as "
                "jrm.log_discount(2)"
            )
        if isinstance(value, (jax.Array, np.ndarray)):
            raise TypeError(f"{name} is an array; pass a Python value, it is static")
        try:
            hash(value)
        except TypeError as error:
            raise TypeError(f"{name} is {value!r}; pass something hashable") from error
        return value


# Every name of a metric, in lower case.
NAMES: dict[str, Metric[...]] = {}

_CALL = [*inspect.signature(Metric.__call__).parameters.values()][1:-2]
_POSITIONAL = ("labels", "scores", "mask", "weights", "key")
SHARED = tuple(parameter.name for parameter in _CALL)


def _signature(formula: Any, without: Sequence[str], gives: Any) -> inspect.Signature:
    """Shared arguments, those but the first five by keyword, and a formula's own."""
    shared = [
        one
        if one.name in _POSITIONAL
        else one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for one in _CALL
        if one.name not in without
    ]
    _, *own = inspect.signature(formula).parameters.values()
    return inspect.Signature([*shared, *own], return_annotation=gives)


def metric(
    *,
    names: Sequence[str] = (),
    ties: ReadsTies | Callable[[dict[str, Any]], ReadsTies] = "expected",
    columns: Sequence[str] = (),
    order_free: bool = False,
) -> Callable[[Callable[Concatenate[Ranking, P], PerList]], Metric[P]]:
    """Makes a metric of a formula, and registers its names.

    A formula is a function of a `Ranking` and of keyword options of its own, hashable
    and with defaults; `k`, if there is one, is its cutoffs. It reads `expected_sum`,
    `expected_first` and totals over the pool, and returns `ranking.per_list(…)`. So
    written it holds on every layout and under every policy.

    Args:
        names: Other names for it, beside that of the function, for `evaluate` and
            `measure`; in lower case.
        ties: What the formula is given where scores tie and no policy says otherwise:
            "expected": tie groups, over all orders of which it is exact.
            "order": one definite order, by a hash where there is no key.
            "own": tie groups under every policy; it says itself what ties mean.
            A function of the options may choose.
        columns: What it reads beside labels; calls must pass these as `columns=`.
        order_free: Whether all that it reads of the order is `expected_first` of bools,
            which counts: then nothing is sorted for it.

    Raises:
        ValueError: if another metric has one of the names.

    >>> import jax.numpy as jnp
    >>> import jax_rank_metrics as jrm
    >>> @metric(names=("top",))
    ... def top_label(ranking, *, k=1):
    ...     ks, label = ranking.cutoffs(k), lambda items: items.labels
    ...     values = ranking.expected_sum(label, jrm.positions(), ks)
    ...     return ranking.per_list(values, ranking.counts, k, label)
    >>> state = jrm.evaluate("top@1", jnp.array([2, 3]), jnp.array([0.9, 0.9]))["top@1"]
    >>> f"{state.compute():.1f}"  # either may be first
    '2.5'
    """

    def make(formula: Callable[Concatenate[Ranking, P], PerList]) -> Metric[P]:
        _, *own = inspect.signature(formula).parameters.values()
        options = {parameter.name: parameter.default for parameter in own}
        name = formula.__name__
        spec = Spec(name, formula, options, ties, tuple(columns), order_free)

        def lists_of(args: tuple[Any, ...], arrays: dict[str, Any]) -> Any:
            arrays |= dict(zip(_POSITIONAL, args, strict=False))
            if len(args) > len(_POSITIONAL):
                spec.bind(args[len(_POSITIONAL) :], {})
            shared = {
                key: arrays.pop(key, None) for key in SHARED if key != "undefined"
            }
            bound = spec.bind((), arrays)
            positional = [shared.pop(key) for key in _POSITIONAL]
            lists, options = checked(*positional, **shared)
            return (bound,), lists, options

        @functools.wraps(formula, updated=())
        def call(*args: Any, undefined: Undefined = "zero", **arrays: Any) -> Mean:
            _inputs.option("undefined", undefined, Undefined)
            bounds, lists, options = lists_of(args, arrays)
            return run.evaluate_lists(bounds, lists, options, undefined)[name]

        def per_list(*args: Any, **arrays: Any) -> PerList:
            """The value of every list."""
            if "undefined" in arrays:
                spec.bind((), {"undefined": None})  # says where to pass it
            return run.measure_lists(*lists_of(args, arrays))[name]

        def of(ranking: Ranking, *args: Any, **own: Any) -> PerList:
            """The value of every list of a ranking that exists already."""
            return run.measure_ranking((spec.bind(args, own),), ranking)[name]

        for function, without, gives in (
            (call, (), Mean),
            (per_list, ("undefined",), PerList),
        ):
            function.__signature__ = _signature(formula, without, gives)  # type: ignore
        kind = inspect.Parameter.POSITIONAL_ONLY
        ranking = inspect.Parameter("ranking", kind, annotation=Ranking)
        of.__signature__ = inspect.Signature(  # type: ignore
            [ranking, *own], return_annotation=PerList
        )
        for function in (per_list, of):
            function.__qualname__ = f"{formula.__qualname__}.{function.__name__}"
            function.__module__ = formula.__module__
        call.per_list, call.of, call.spec = per_list, of, spec  # type: ignore
        made = cast(Metric[P], call)
        _register((name, *names), made)
        return made

    return make


def _register(names: Sequence[str], made: Metric[...]) -> None:
    for name in names:
        known = NAMES.get(name.lower())
        # A cell of a notebook may run twice.
        if known is not None and _origin(known) != _origin(made):
            raise ValueError(
                f"metric name {name!r} is taken by {known.__name__}; choose another"
            )
    NAMES.update((name.lower(), made) for name in names)


def _origin(made: Metric[...]) -> tuple[str, str]:
    return made.spec.formula.__module__, made.spec.formula.__qualname__
