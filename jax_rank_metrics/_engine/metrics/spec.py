"""`Spec`, the description of a metric; and `Bound`, a metric with its options."""

import dataclasses
import difflib
import functools
import importlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_rank_metrics._engine.ranking import ranking_data
from jax_rank_metrics._engine.ranking.cache import Cache
from jax_rank_metrics._engine.ranking.ranked_items import UnknownPlaceError
from jax_rank_metrics._engine.ranking.ranking import Ranking
from jax_rank_metrics._engine.sources import list_arguments
from jax_rank_metrics._ground import gains, inputs, messages, types
from jax_rank_metrics._values import mean, per_list

THRESHOLD = "relevance_threshold"  # an option that is compared with labels

# The arguments that all metrics share: the arguments of `rank` except k, and `undefined`.
SHARED = (
    *("labels", "scores", "mask", "weights", "key"),
    *(*list_arguments.ListOptions.__annotations__, "undefined"),
)


@dataclasses.dataclass(frozen=True, eq=False)
class Spec:
    """The description of a registered metric, its attribute `spec`."""

    name: str
    formula: Callable[..., per_list.PerList]
    options: dict[str, Any]  # with their defaults
    tie_reading: types.TieReading | Callable[[dict[str, Any]], types.TieReading]
    columns: tuple[str, ...]
    optional_columns: tuple[str, ...]
    # True if the formula reads no order, see `metric`; or a function of the options.
    order_free: bool | Callable[[dict[str, Any]], bool]
    at: str  # the option that @ sets in a name, and whose tuples add a last axis
    linear: bool = False  # a sum of gains, each of a label alone: see `metric`
    item_columns: tuple[str, ...] = ()  # the names in `columns` that are known by id
    # Pairs of the name of such a column and the key of the prepared column; see `metric`.
    prepared: tuple[tuple[str, str], ...] = ()
    reads_labels: bool = True  # see `metric`
    order_columns: tuple[str, ...] = ()  # if one is passed, the formula reads one order
    # True if values lie in [0, 1]; or a function of the options.
    is_share: bool | Callable[[dict[str, Any]], bool] = False

    def __reduce__(self) -> tuple[Callable[..., "Spec"], tuple[str, str]]:
        """Pickles by reference, because a formula has the name of its metric."""
        return _spec_of, (self.formula.__module__, self.formula.__qualname__)

    def key_of(self, name: str) -> str:
        """Returns the key of the column that the metric reads for the column `name`."""
        return dict(self.prepared).get(name, name)

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The columns that the formula may read, including optional columns."""
        return (*self.columns, *self.optional_columns)

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
        bound = Bound(
            self.name, self, tuple(sorted((self.options | checked_options).items()))
        )
        _ = bound.tie_reading  # raises if it is a function that refuses options
        return bound

    @messages.short_errors()
    def _check_option(self, name: str, value: Any) -> object:
        if name not in self.options:
            hint = f"its options are {', '.join(self.options) or 'none'}"
            if name == "undefined":
                hint = "pass it to the mean, as in .mean('skip')"
            elif name in SHARED:
                hint += f"; {name} belongs to the ranking, pass it to jrm.rank"
            raise TypeError(f"{self.name} has no option {name!r}; {hint}")
        if name == "k":
            ks = inputs.cutoffs(value)
            return ks if isinstance(value, (tuple, list)) else ks[0]
        if isinstance(value, list):
            value = tuple(value)
        value = _as_bound(_as_python(value))
        if callable(self.options[name]) and not callable(value):
            raise TypeError(
                f"{name} is {value!r}; pass a function of an array{_nearest(value)}"
            )
        if isinstance(value, type):
            raise TypeError(
                f"{name} is the class {value.__name__}; pass an instance, such as "
                "jrm.log_discount(2)"
            )
        if isinstance(value, (jax.Array, np.ndarray)):
            raise TypeError(
                f"{name} is an array; pass a Python value, because options are static"
            )
        try:
            hash(value)
        except TypeError as error:
            raise TypeError(
                f"{name} is {value!r}, which has no hash; pass a hashable value, such as "
                f"the default {self.options[name]!r}"
            ) from error
        return value


def _nearest(name: object) -> str:
    """Returns the end of a message: the most similar gain or discount, or all of them."""
    known = [
        f"{name}(2)" if isinstance(function, type) else name
        for name, function in gains.FUNCTIONS.items()
    ]
    similar = difflib.get_close_matches(str(name), known, n=1, cutoff=0.6)
    return f", such as {similar[0]}" if similar else f": one of {', '.join(known)}"


def _as_python(value: object) -> object:
    """Returns a NumPy scalar, or each scalar of a tuple, as a Python number.

    Calls with 0.7 and with its float32 then share one program. A float is read as the
    decimal that it prints as: 0.1, not 0.10000000149. NumPy scalars cannot stay: compared
    with a tuple they give no single bool, which the cache of `jax.jit` needs.
    """
    if type(value) is tuple:
        return tuple(_as_python(part) for part in value)
    if isinstance(value, np.floating):
        return float(str(value))
    return value.item() if isinstance(value, np.generic) else value


def _as_bound(value: object) -> object:
    """Returns a metric, or a `functools.partial` of a metric, as a `Bound`.

    `Bound`s are equal if their metrics and options are equal. Other values are returned
    unchanged.
    """
    metric, args, options = value, (), {}
    if isinstance(value, functools.partial):
        metric, args, options = value.func, value.args, value.keywords
    spec = getattr(metric, "spec", None)
    if isinstance(value, Bound) or not isinstance(spec, Spec):
        return value
    return spec.bind(args, options)


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
    state: type[mean.Mean] = mean.Mean  # what its values are aggregated into

    @property
    def k(self) -> types.Cutoffs:
        """The cutoffs as passed; None if the metric has none."""
        return dict(self.options).get("k")

    @property
    def depth(self) -> int | None:
        """The largest cutoff; None if the metric reads whole lists."""
        return inputs.deepest(inputs.cutoffs(self.k))

    @property
    def num_values(self) -> int | None:
        """The length of the last axis of the values, such as 2 for cutoffs `(1, 5)`.

        None if the values have no such axis, as for `k=5`.
        """
        cutoffs = dict(self.options).get(self.spec.at)
        return len(cutoffs) if isinstance(cutoffs, tuple) else None

    @property
    def tie_reading(self) -> types.TieReading:
        """The way in which the formula reads tied items with these options.

        One of the values of `ties` in `metric`: "expected", "order" or "own".
        """
        reading = self.spec.tie_reading
        return reading(dict(self.options)) if callable(reading) else reading

    def tie_reading_with(self, columns: Collection[str]) -> types.TieReading:
        """Returns the tie reading for items with these columns."""
        needs_order = any(name in columns for name in self.spec.order_columns)
        return "order" if needs_order else self.tie_reading

    @property
    def order_free(self) -> bool:
        """True if the metric reads no order with these options; see `metric`."""
        order_free = self.spec.order_free
        return order_free(dict(self.options)) if callable(order_free) else order_free

    def of(self, data: ranking_data.RankingData, cache: Cache) -> per_list.PerList:
        """Applies the formula; errors of the formula then name the metric.

        Args:
            data: The data of the ranking that the formula reads.
            cache: The results that metrics traced together share.
        """
        try:
            tie_reading = self.tie_reading_with(data.column_names)
            prepared = dict(self.spec.prepared)
            ranking = Ranking(data.under(tie_reading, cache, prepared))
            options = dict(self.options)
            if THRESHOLD in options:
                dtype = data.label_dtype
                options[THRESHOLD] = inputs.rounded_threshold(options[THRESHOLD], dtype)
            values = self.spec.formula(ranking, **options)
        except (TypeError, ValueError) as error:
            if type(error) not in (TypeError, ValueError, UnknownPlaceError):
                raise  # a subclass, raised by JAX, whose type must survive
            raise type(error)(messages.short(f"{self.name}: {error}")) from error
        if not isinstance(values, per_list.PerList):
            raise TypeError(
                f"{self.name}: the formula returned {inputs.kind_of(values)}; return "
                "ranking.per_list(values, defined, k, item_fn), where defined is True, or "
                "a bool for every list"
            )
        is_share = self.spec.is_share
        if callable(is_share):
            is_share = is_share(dict(self.options))
        return dataclasses.replace(values, is_share=is_share)


def threshold_of(bounds: Iterable[Bound]) -> types.Number:
    """Returns the largest relevance threshold of the metrics; 0 if none has a threshold."""
    return max((dict(bound.options).get(THRESHOLD) or 0 for bound in bounds), default=0)
