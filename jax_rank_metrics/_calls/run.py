"""Metrics with their options, measured together: one compiled ranking for all of them."""

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from jax_rank_metrics import _inputs, _shards
from jax_rank_metrics._layouts.packed import Packed
from jax_rank_metrics._ranking import Ranking, UnknownPlaceError
from jax_rank_metrics._sources import few_relevant
from jax_rank_metrics._sources.lists import Depth, ScoredLists, checked
from jax_rank_metrics._sources.rank import read_lists
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.of_lists import means_of
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._states.weights import is_readable
from jax_rank_metrics._types import Cutoffs, TieReading, Undefined

R = TypeVar("R")

# The arguments that all metrics share: those of `rank`, except k, and that of the mean.
SHARED = (*inspect.signature(checked).parameters, "undefined")


@dataclasses.dataclass(frozen=True, eq=False)
class Spec:
    """The description of a registered metric, its attribute `spec`."""

    name: str
    formula: Callable[..., PerList]
    options: dict[str, Any]  # with their defaults
    tie_reading: TieReading | Callable[[dict[str, Any]], TieReading]
    columns: tuple[str, ...]
    optional_columns: tuple[str, ...]
    order_free: bool  # it reads no order: see `metric`
    at: str  # the option that @ sets in a name, and whose tuples add a last axis
    lower_is_better: bool | None  # None if neither direction is, as for a count

    def __reduce__(self) -> tuple[Callable[..., "Spec"], tuple[str, str]]:
        """Pickles by reference: the name of the formula is that of its metric."""
        return _spec_of, (self.formula.__module__, self.formula.__qualname__)

    def bind(self, args: tuple[object, ...], options: Mapping[str, object]) -> "Bound":
        """Returns the metric with these options, checked and made static."""
        if args:
            raise TypeError(
                f"{self.name}: got {len(args)} positional arguments too many; pass "
                f"options by name: {', '.join(self.options) or 'it has none'}"
            )
        checked_options = {
            name: self._check_option(name, value) for name, value in options.items()
        }
        bound = tuple(sorted((self.options | checked_options).items()))
        return Bound(self.name, self, bound)

    def _check_option(self, name: str, value: Any) -> Any:
        if name not in self.options:
            hint = f"its options are {', '.join(self.options) or 'none'}"
            if name == "undefined":
                hint = "pass it to the mean, as in .mean('skip')"
            elif name in SHARED:
                hint += f"; {name} belongs to the ranking, pass it to jrm.rank"
            raise TypeError(f"{self.name} has no option {name!r}; {hint}")
        if name == "k":
            ks = _inputs.cutoffs(value)
            return ks if isinstance(value, (tuple, list)) else ks[0]
        if name == self.at and isinstance(value, list):
            value = tuple(value)
        value = _as_python(value)
        if callable(self.options[name]) and not callable(value):
            raise TypeError(f"{name} is {value!r}; pass a function of an array")
        if isinstance(value, type):
            raise TypeError(
                f"{name} is the class {value.__name__}; pass an instance, such as "
                "jrm.log_discount(2)"
            )
        if isinstance(value, (jax.Array, np.ndarray)):
            raise TypeError(f"{name} is an array; pass a Python value, it is static")
        try:
            hash(value)
        except TypeError as error:
            raise TypeError(f"{name} is {value!r}; pass something hashable") from error
        return value


def _as_python(value: Any) -> Any:
    """Returns a NumPy scalar, or each one of a tuple, as a Python number.

    Calls with 0.7 and with its float32 are then the same program. A float is read as the
    decimal that it prints as: 0.1, not 0.10000000149. Beside a tuple, a NumPy scalar has
    no equality of one bool, which the cache of `jax.jit` asks for.
    """
    if type(value) is tuple:
        return tuple(_as_python(x) for x in value)
    if isinstance(value, np.floating):
        return float(str(value))
    return value.item() if isinstance(value, np.generic) else value


def _spec_of(module: str, name: str) -> Spec:
    """Returns the spec of the metric with this qualified name in this module."""
    metric: Any = importlib.import_module(module)
    for part in name.split("."):
        metric = getattr(metric, part)
    return metric.spec


class Bound(NamedTuple):
    """A metric with its options, hashable, and the name of its result."""

    name: str
    spec: Spec
    options: tuple[tuple[str, Any], ...]  # sorted by name
    state: type[Mean] = Mean  # what its values are aggregated into

    @property
    def k(self) -> Cutoffs:
        """The cutoffs as passed; None if the metric has none."""
        return dict(self.options).get("k")

    @property
    def num_values(self) -> int | None:
        """The length of the last axis of the values, such as 2 for cutoffs `(1, 5)`.

        None if the values have no such axis, as for `k=5`.
        """
        at = dict(self.options).get(self.spec.at)
        return len(at) if isinstance(at, tuple) else None

    @property
    def tie_reading(self) -> TieReading:
        """The way in which the formula reads tied items with these options.

        One of the values of `ties` in `metric`: "expected", "order" or "own".
        """
        reading = self.spec.tie_reading
        return reading(dict(self.options)) if callable(reading) else reading

    def of(self, ranking: Ranking) -> PerList:
        """Applies the formula; an error in it names the metric."""
        try:
            ranking = ranking._with_tie_reading(self.tie_reading)
            return self.spec.formula(ranking, **dict(self.options))
        except ValueError as error:
            if type(error) not in (ValueError, UnknownPlaceError):
                raise  # a subclass, raised by JAX, whose type must survive
            raise type(error)(f"{self.name}: {error}") from error


class Reading(NamedTuple):
    """The result of reading metrics from one ranking, inside a program.

    Attributes:
        values: Those of every metric.
        refused: By reason, the lists `[*lists]` that a metric cannot read.
    """

    values: list[PerList]
    refused: dict[str, jax.Array]


def read(bounds: Sequence[Bound], ranking: Ranking) -> Reading:
    """Returns the values of every metric for one ranking, in the order of `bounds`.

    Runs inside `jax.jit`. The metrics share the work that they have in common.
    """
    ranking = ranking._with_memo()

    def depth(i: int) -> float:
        k = _inputs.deepest(_inputs.cutoffs(bounds[i].k))
        return float("inf") if k is None else float(k)

    # The deepest metric first: the others reuse the ideal order that it stores.
    order = sorted(range(len(bounds)), key=depth, reverse=True)
    values = {i: bounds[i].of(ranking) for i in order}
    return Reading([values[i] for i in range(len(bounds))], ranking._memo.refused)


def raise_refused(refused: Mapping[str, jax.Array | np.ndarray]) -> None:
    """Raises ValueError where a list is known that a metric cannot read.

    Args:
        refused: Of a `Reading`; inside `jax.jit` it is not known.
    """
    for reason, lists in refused.items():
        for index in np.argwhere(lists)[:1].tolist() if is_readable(lists) else ():
            where = tuple(index) if index[1:] else index[0] if index else None
            raise ValueError(
                reason.format("" if where is None else f" in list {where}")
            )


def _depth(bounds: tuple[Bound, ...], lists: ScoredLists) -> Depth:
    """Returns the depth to which the metrics together need the items in rank order."""
    readers = [bound for bound in bounds if not bound.spec.order_free]
    ks = [k for bound in readers for k in _inputs.cutoffs(bound.k)]
    in_groups = all(bound.tie_reading != "order" for bound in bounds)
    depth = Depth(_inputs.deepest(ks) if ks else None, bool(readers), in_groups)
    is_counted = few_relevant.pays(lists, depth, read, bounds)
    return depth._replace(few_relevant=is_counted)


def check_columns(
    bounds: Sequence[Bound], columns: Collection[str], *, allow_unread: bool
) -> None:
    """Raises if a metric lacks a column, or if no metric reads one that was passed."""
    readers = {name: bound.name for bound in bounds for name in bound.spec.columns}
    for name, metric in readers.items():
        if name not in columns:
            raise ValueError(
                f"{metric} reads the column {name!r}, which was not passed; pass "
                f"columns={{{name!r}: …}}"
            )
    optional = {name for bound in bounds for name in bound.spec.optional_columns}
    for name in columns:
        if not allow_unread and name not in readers and name not in optional:
            raise ValueError(
                f"columns holds {name!r}, which no metric of this call reads; leave it out"
            )


def measure_ranking(bounds: tuple[Bound, ...], ranking: object) -> dict[str, PerList]:
    """Reads every metric from a ranking that a caller passed; returns values by name."""
    return _values_by_name(bounds, read_ranking(bounds, ranking))


def read_ranking(bounds: tuple[Bound, ...], ranking: object) -> Reading:
    """Reads every metric from a ranking that a caller passed; raises for no list."""
    if not isinstance(ranking, Ranking):
        raise TypeError(
            f"ranking: got {_inputs.kind_of(ranking)}; pass what jrm.rank returns"
        )
    check_columns(bounds, ranking._column_names, allow_unread=True)
    if not _inputs.is_wide(ranking):
        return _measure_ranking(bounds, ranking)
    # The ranking was made while x64 was on: its 64-bit sort keys need 64-bit constants.
    with jax.enable_x64(True):
        reading = _measure_ranking(bounds, ranking)
    return jax.tree.map(
        lambda x: x.astype(jax.dtypes.canonicalize_dtype(x.dtype)), reading
    )


@partial(jax.jit, static_argnums=0)
def _measure_ranking(bounds: tuple[Bound, ...], ranking: Ranking) -> Reading:
    read_all: Callable[[Ranking], Reading] = partial(read, bounds)
    pool = ranking._pool
    if pool is not None and isinstance(pool.layout, Packed):
        for _ in range(pool.layout.ids.ndim - 1):  # packed lists that went through vmap
            read_all = jax.vmap(read_all)
    # Arrays of one call may have been sharded in different ways.
    ranking = _shards.align_lists(ranking, ranking._list_exists)
    return _shards.map_shards(read_all, ranking, ranking._list_exists)


def measure_lists(bounds: tuple[Bound, ...], lists: ScoredLists) -> dict[str, PerList]:
    """Ranks once and reads every metric; returns values by name."""
    check_columns(bounds, lists.raw_items.columns, allow_unread=False)
    return _values_by_name(bounds, _measure_lists(bounds, lists, _depth(bounds, lists)))


@partial(jax.jit, static_argnums=(0, 2))
def _measure_lists(
    bounds: tuple[Bound, ...], lists: ScoredLists, depth: Depth
) -> Reading:
    return read_lists(lists, depth, partial(read, bounds))


def mean_lists(
    bounds: tuple[Bound, ...], lists: ScoredLists, undefined: Undefined
) -> dict[str, Mean]:
    """Ranks once and reads the mean of every metric; returns states by name."""
    check_columns(bounds, lists.raw_items.columns, allow_unread=False)
    means, refused = _mean_lists(bounds, lists, undefined, _depth(bounds, lists))
    raise_refused(refused)
    return _by_name(bounds, means)


@partial(jax.jit, static_argnums=(0, 2, 3))
def _mean_lists(
    bounds: tuple[Bound, ...], lists: ScoredLists, undefined: Undefined, depth: Depth
) -> tuple[list[Mean], dict[str, jax.Array]]:
    values, refused = read_lists(lists, depth, partial(read, bounds))
    kinds = tuple(bound.state for bound in bounds)
    return means_of(tuple(values), undefined, kinds), refused


def _values_by_name(bounds: Sequence[Bound], reading: Reading) -> dict[str, PerList]:
    raise_refused(reading.refused)
    return _by_name(bounds, reading.values)


def _by_name(bounds: Sequence[Bound], results: Sequence[R]) -> dict[str, R]:
    return dict(zip([bound.name for bound in bounds], results, strict=True))
