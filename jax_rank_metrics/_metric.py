"""A metric: one formula over a `Ranking`, and the ways to call it."""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec

import jax
import numpy as np

from jax_rank_metrics import _inputs, _sources
from jax_rank_metrics._mean import Mean
from jax_rank_metrics._per_list import PerList, means_of
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._types import (
    AxisNames,
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


class Metric(Generic[P]):
    """A ranking metric. Call it for a mean, or its methods for values per list.

    Every metric takes the arguments of `rank`, then its own, which its docstring names.
    """

    __name__: str

    def __init__(
        self,
        formula: Callable[Concatenate[Ranking, P], PerList],
        closed_form: Callable[[dict[str, Any]], bool],
        reads_ideal: bool,
    ):
        """Wraps a formula.

        Args:
            formula: Reads a ranking; its own parameters are keyword-only and static.
            closed_form: Whether, with these options, the formula holds for the mean over
                all orders of tied items.
            reads_ideal: Whether it reads `Ranking.ideal`.
        """
        self._formula = formula
        self._closed_form = closed_form
        self.reads_ideal = reads_ideal
        self.__name__ = formula.__name__
        self.__qualname__ = formula.__qualname__
        self.__module__ = formula.__module__
        self.__doc__ = formula.__doc__
        _, *own = inspect.signature(formula).parameters.values()
        self.options = {parameter.name: parameter.default for parameter in own}
        shared = list(inspect.signature(Metric.__call__).parameters.values())[1:]
        shared = [p for p in shared if p.kind is p.POSITIONAL_OR_KEYWORD]
        first = [p if p.name in _POSITIONAL else _keyword(p) for p in shared]
        self.__signature__ = inspect.Signature([*first, *own], return_annotation=Mean)

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
        *args: P.args,
        **own: P.kwargs,
    ) -> Mean:
        """The mean over all lists, as a mergeable state."""
        _inputs.option("undefined", undefined, _inputs.UNDEFINED)
        bound = self.bind(args, own)
        lists, options = _sources.scored_lists(
            labels,
            scores,
            mask,
            weights,
            key,
            ties,
            list_weights,
            segment_ids,
            num_segments,
            items_axis,
        )
        return evaluate_lists((bound,), lists, options, undefined)[bound.name]

    def per_list(
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
        *args: P.args,
        **own: P.kwargs,
    ) -> PerList:
        """The value of every list."""
        bound = self.bind(args, own)
        lists, options = _sources.scored_lists(
            labels,
            scores,
            mask,
            weights,
            key,
            ties,
            list_weights,
            segment_ids,
            num_segments,
            items_axis,
        )
        return _measure_lists((bound,), lists, options)[bound.name]

    def of(self, ranking: Ranking, *args: P.args, **own: P.kwargs) -> PerList:
        """The value of every list of a ranking that exists already."""
        bound = self.bind(args, own)
        return measure_ranking((bound,), ranking)[bound.name]

    def bind(self, args: tuple[Any, ...], own: dict[str, Any]) -> "Bound":
        """This metric with its options checked and made static."""
        if args:
            raise TypeError(
                f"{self.__name__}: got {len(args)} positional arguments too many; pass "
                f"options by name: {', '.join(self.options) or 'it has none'}"
            )
        return Bound(
            self.__name__,
            self,
            tuple(
                (name, self._static(name, value)) for name, value in sorted(own.items())
            ),
        )

    def _static(self, name: str, value: Any) -> Any:
        if name not in self.options:
            raise TypeError(
                f"{self.__name__} has no option {name!r}; its own are "
                f"{', '.join(self.options) or 'none'}"
            )
        if name == "k":
            ks = _inputs.cutoffs(value)
            return ks if isinstance(value, (tuple, list)) else ks[0]
        if callable(self.options[name]) and not callable(value):
            raise TypeError(f"{name} is {value!r}; pass a function of an array")
        if isinstance(value, (jax.Array, np.ndarray)):
            raise TypeError(
                f"{name} is an array; pass a Python value, options are static"
            )
        try:
            hash(value)
        except TypeError as error:
            raise TypeError(f"{name} is {value!r}; pass something hashable") from error
        return value

    def __repr__(self) -> str:
        """The name under which users know it."""
        return f"jax_rank_metrics.{self.__name__}"

    def __reduce__(self) -> str:
        """Pickled by name, like a function."""
        return self.__name__


class Bound(NamedTuple):
    """A metric and its own options, hashable, under the name of its result."""

    name: str
    metric: Any  # a Metric of any options
    own: tuple[tuple[str, Any], ...]

    @property
    def k(self) -> Any:
        """The cutoffs as given; None where the metric has none."""
        return {**self.metric.options, **dict(self.own)}.get("k")

    @property
    def closed_form(self) -> bool:
        """Whether it holds for the mean over the orders of tied items."""
        return self.metric._closed_form({**self.metric.options, **dict(self.own)})

    def of(self, ranking: Ranking) -> PerList:
        """Applies the formula."""
        return self.metric._formula(ranking, **dict(self.own))


_POSITIONAL = ("labels", "scores", "mask", "weights", "key")


def _keyword(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def metric(
    *,
    closed_form: Callable[[dict[str, Any]], bool] = lambda own: True,
    reads_ideal: bool = False,
) -> Callable[[Callable[Concatenate[Ranking, P], PerList]], Metric[P]]:
    """Makes a `Metric` of a formula; see there for the arguments."""
    return lambda formula: Metric(formula, closed_form, reads_ideal)


def read(bounds: Sequence[Bound], ranking: Ranking) -> dict[str, PerList]:
    """Applies every formula to one ranking, sharing what they share."""
    ideal_ks = (k for b in bounds if b.metric.reads_ideal for k in _inputs.cutoffs(b.k))
    shared = ranking.sharing(tuple(ideal_ks))
    return {bound.name: bound.of(shared) for bound in bounds}


def _rank(
    bounds: Sequence[Bound], lists: _sources.ScoredLists, options: _sources.Options
) -> Ranking:
    depth = _inputs.deepest([k for bound in bounds for k in _inputs.cutoffs(bound.k)])
    closed = all(bound.closed_form for bound in bounds)
    return _sources.rank_lists(lists, options, depth, in_groups=closed)


@partial(jax.jit, static_argnums=0)
def measure_ranking(bounds: tuple[Bound, ...], ranking: Ranking) -> dict[str, PerList]:
    """`read`, compiled."""
    return read(bounds, ranking)


@partial(jax.jit, static_argnums=(0, 2))
def _measure_lists(
    bounds: tuple[Bound, ...], lists: _sources.ScoredLists, options: _sources.Options
) -> dict[str, PerList]:
    return read(bounds, _rank(bounds, lists, options))


@partial(jax.jit, static_argnums=(0, 2, 3))
def evaluate_lists(
    bounds: tuple[Bound, ...],
    lists: _sources.ScoredLists,
    options: _sources.Options,
    undefined: str,
) -> dict[str, Mean]:
    """Ranks once, reads every metric, takes every mean."""
    values = read(bounds, _rank(bounds, lists, options))
    means = means_of(list(values.values()), undefined)
    return dict(zip(values, means, strict=True))
