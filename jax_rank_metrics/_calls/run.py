"""A metric with its options, and one ranking for any number of them, compiled."""

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_rank_metrics import _inputs, _shards
from jax_rank_metrics._layouts.packed import Packed
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.lists import Depth, ScoredLists, checked
from jax_rank_metrics._sources.rank import read_lists
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.per_list import PerList, means_of
from jax_rank_metrics._types import TieReading

# The arguments that all metrics share: those of `rank`, but for k, and of the mean.
SHARED = (*inspect.signature(checked).parameters, "undefined")


@dataclasses.dataclass(frozen=True, eq=False)
class Spec:
    """What is known of a metric, as the attribute `spec` of it."""

    name: str
    formula: Callable[..., PerList]
    options: dict[str, Any]  # with their defaults
    tie_reading: TieReading | Callable[[dict[str, Any]], TieReading]
    columns: tuple[str, ...]
    optional_columns: tuple[str, ...]
    order_free: bool
    at: str  # the option that @ sets in a name, and whose tuples give a last axis

    def __reduce__(self) -> Any:
        # By reference: the name of the formula is that of the metric made of it.
        return _spec_of, (self.formula.__module__, self.formula.__qualname__)

    lower_is_better: bool | None  # None where neither is, as of a count

    def bind(self, args: tuple[Any, ...], own: dict[str, Any]) -> "Bound":
        """The metric with options, checked and made static."""
        if args:
            raise TypeError(
                f"{self.name}: got {len(args)} positional arguments too many; pass "
                f"options by name: {', '.join(self.options) or 'it has none'}"
            )
        options = self.options | {
            name: self._static(name, value) for name, value in own.items()
        }
        return Bound(self.name, self, tuple(sorted(options.items())))

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
        if isinstance(value, list):
            value = tuple(value)
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


def _spec_of(module: str, name: str) -> Spec:
    """The spec of the metric that has a name in a module."""
    metric: Any = importlib.import_module(module)
    for part in name.split("."):
        metric = getattr(metric, part)
    return metric.spec


class Bound(NamedTuple):
    """A metric with its options, hashable, under the name of its result."""

    name: str
    spec: Spec
    own: tuple[tuple[str, Any], ...]
    state: type[Mean] = Mean  # what is kept of its values

    @property
    def k(self) -> Any:
        """The cutoffs as given; None where the metric has none."""
        return dict(self.own).get("k")

    @property
    def several(self) -> int | None:
        """How many values there are along a last axis; None where there is none."""
        along = dict(self.own).get(self.spec.at)
        return len(along) if isinstance(along, tuple) else None

    @property
    def tie_reading(self) -> TieReading:
        """How the formula reads tied items; see `metric`."""
        reading = self.spec.tie_reading
        return reading(dict(self.own)) if callable(reading) else reading

    def of(self, ranking: Ranking) -> PerList:
        """Applies the formula."""
        return self.spec.formula(
            ranking._with_tie_reading(self.tie_reading), **dict(self.own)
        )


def read(bounds: Sequence[Bound], ranking: Ranking) -> list[PerList]:
    """Applies every formula to one ranking."""
    ranking = ranking._with_memo()

    def depth(i: int) -> float:
        k = _inputs.deepest(_inputs.cutoffs(bounds[i].k))
        return float("inf") if k is None else float(k)

    # The deepest first: its ideal order serves the others.
    order = sorted(range(len(bounds)), key=depth, reverse=True)
    found = {i: bounds[i].of(ranking) for i in order}
    return [found[i] for i in range(len(bounds))]


def _depth(bounds: Sequence[Bound]) -> Depth:
    """How much of an order the metrics need."""
    reading = [bound for bound in bounds if not bound.spec.order_free]
    ks = [k for bound in reading for k in _inputs.cutoffs(bound.k)]
    in_groups = all(bound.tie_reading != "order" for bound in bounds)
    return Depth(_inputs.deepest(ks) if ks else None, bool(reading), in_groups)


def _check_columns(bounds: Sequence[Bound], given: Sequence[str], unread: bool) -> None:
    readers = {name: bound.name for bound in bounds for name in bound.spec.columns}
    for name, metric in readers.items():
        if name not in given:
            raise ValueError(
                f"{metric} reads the column {name!r}, which is not given; pass "
                f"columns={{{name!r}: …}}"
            )
    optional = {name for bound in bounds for name in bound.spec.optional_columns}
    for name in given:
        if unread and name not in readers and name not in optional:
            raise ValueError(
                f"columns holds {name!r}, which no metric of this call reads; leave it out"
            )


def measure_ranking(bounds: tuple[Bound, ...], ranking: Ranking) -> dict[str, PerList]:
    """Reads every metric off what a caller says is a ranking, under their names."""
    if not isinstance(ranking, Ranking):
        raise TypeError(
            f"ranking: got {_inputs.kind_of(ranking)}; pass what jrm.rank returns"
        )
    _check_columns(bounds, ranking._column_names, unread=False)
    names = [bound.name for bound in bounds]
    if not _inputs.is_wide(ranking):
        return dict(zip(names, _measure_ranking(bounds, ranking), strict=True))
    # Ranked while x64 was on, so that it is read by keys of as many bits.
    with jax.enable_x64(True):
        values = _measure_ranking(bounds, ranking)
    return jax.tree.map(
        lambda x: x.astype(jax.dtypes.canonicalize_dtype(x.dtype)),
        dict(zip(names, values, strict=True)),
    )


@partial(jax.jit, static_argnums=0)
def _measure_ranking(bounds: tuple[Bound, ...], ranking: Ranking) -> list[PerList]:
    run: Callable[[Ranking], list[PerList]] = partial(read, bounds)
    pool = ranking._pool
    if pool is not None and isinstance(pool.axis, Packed):
        for _ in range(pool.axis.ids.ndim - 1):  # packed lists that went through vmap
            run = jax.vmap(run)
    return _shards.map_shards(run, ranking, ranking._list_exists)


def measure_lists(
    bounds: tuple[Bound, ...], lists: ScoredLists, undefined: str | None = None
) -> dict[str, Any]:
    """Ranks once, and reads every metric: its mean, or with None its `PerList`."""
    _check_columns(bounds, list(lists.given.columns), unread=True)
    values = _measure_lists(bounds, lists, undefined)
    return dict(zip([bound.name for bound in bounds], values, strict=True))


@partial(jax.jit, static_argnums=(0, 2))
def _measure_lists(
    bounds: tuple[Bound, ...], lists: ScoredLists, undefined: str | None
) -> list[PerList] | list[Mean]:
    values = read_lists(lists, _depth(bounds), partial(read, bounds))
    if undefined is None:
        return values
    return means_of(tuple(values), undefined, tuple(bound.state for bound in bounds))
