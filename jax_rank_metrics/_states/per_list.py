"""One value per list, before any mean is taken."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jax_rank_metrics import _inputs
from jax_rank_metrics._arithmetic import widen
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._states import moments, show
from jax_rank_metrics._states.double_floats import canonical
from jax_rank_metrics._states.geometric import FLOOR, GeometricMean
from jax_rank_metrics._states.group_sums import sums_by_group
from jax_rank_metrics._states.histogram import Histogram, edges_of, histogram_of
from jax_rank_metrics._states.mean import Mean, states_of
from jax_rank_metrics._states.moments import ValuesOfLists
from jax_rank_metrics._types import Number, PerListInput, Undefined


@pytree("undefined")
class PerList:
    """The values of a metric, one per list.

    Shapes:
        values: `[*lists]`, or `[*lists, len(k)]` where k is a tuple; 0 where undefined.
        weights: `[*lists]`, the weight of each list in a mean; 0 for a list that does not
            count: one without items, or whose weight is not above 0.
        defined: `[*lists]` bool, whether the metric is defined for the list.
        undefined: The default of the argument `undefined` of `mean` and the other methods:
            "zero", "one" or "skip"; static.

    Indexing selects lists, never cutoffs, by an integer, a slice, an array of integers or
    of bools, or a tuple of these. An index out of bounds raises IndexError where it is
    known; a traced index is treated as JAX treats it.

    >>> lists = PerList(jnp.array([1.0, 0.5, 0.0]), jnp.ones(3),
    ...                 jnp.array([True, True, False]))
    >>> lists
    PerList(mean 0.500, 3 lists, 1 undefined)
    >>> lists[lists.defined]
    PerList(mean 0.750, 2 lists, 0 undefined)
    >>> len(lists), [float(part.values) for part in lists]
    (3, [1.0, 0.5, 0.0])
    """

    values: jax.Array
    weights: jax.Array
    defined: jax.Array
    undefined: Undefined = "zero"

    __repr__ = show.per_list_repr

    def __len__(self) -> int:
        """Returns the length of the first axis of lists."""
        if not jnp.ndim(self.weights):
            raise TypeError("a PerList of a single list has no length")
        return len(self.weights)

    def __getitem__(self, index: Any) -> "PerList":
        """Selects lists."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(
            [np.asarray(i or np.arange(0)) if isinstance(i, list) else i for i in index]
        )
        if not any(isinstance(i, Tracer) for i in index):
            # Out of bounds, JAX would return the last list; NumPy raises.
            np.broadcast_to(False, jnp.shape(self.weights))[index]
        has_cutoffs = jnp.ndim(self.values) > jnp.ndim(self.weights)
        values = self.values[(*index, slice(None)) if has_cutoffs else index]
        weights, defined = self.weights[index], self.defined[index]
        return PerList(values, weights, defined, self.undefined)

    def __iter__(self) -> Iterator["PerList"]:
        """Iterates over the first axis of lists."""
        parts = zip(self.values, self.weights, self.defined, strict=True)
        return (PerList(*part, self.undefined) for part in parts)

    def mean(self, undefined: Undefined | None = None) -> Mean:
        """Returns the weighted mean over all lists, as a state that can be merged.

        Args:
            undefined: The value that a list counts for where the metric is undefined:
                "zero", "one", or "skip", which leaves the list out. None takes the choice
                that the values were made with: "zero", unless a call such as
                `evaluate_users` was passed another.

        Raises:
            ValueError: if `undefined` is none of these.

        >>> lists = PerList(jnp.array([1.0, 0.5, 0.0]), jnp.ones(3),
        ...                 jnp.array([True, True, False]))
        >>> [f"{lists.mean(choice).compute():.2f}" for choice in ("zero", "one", "skip")]
        ['0.50', '0.83', '0.75']
        """
        undefined = checked_undefined(self, undefined)
        return means_of((canonical(self),), undefined, (Mean,))[0]

    def geometric_mean(
        self, floor: Number = FLOOR, undefined: Undefined | None = None
    ) -> GeometricMean:
        """Returns the weighted geometric mean over all lists, as a state.

        For the average precision of queries it is GMAP, trec_eval's `gm_map`.

        Args:
            floor: Every smaller value is raised to this number, which must be above 0;
                static. It applies to undefined lists too, whose value is 0.
            undefined: See `mean`.

        Raises:
            TypeError: if the floor is not a Python number.
            ValueError: if it is not above 0, or so small that JAX's default floats round
                it to 0; if `undefined` is none of the options.

        >>> lists = PerList(jnp.array([0.25, 1.0, 0.0]), jnp.ones(3), jnp.ones(3, bool))
        >>> f"{lists[:2].geometric_mean():.3f}", f"{lists.geometric_mean(1 / 32):.3f}"
        ('0.500', '0.198')
        """
        floor = _inputs.positive("floor", floor)
        dtype = jax.dtypes.canonicalize_dtype(float)
        if floor < jnp.finfo(dtype).tiny:
            raise ValueError(
                f"floor is {floor}, which {dtype.name} arithmetic rounds to 0; pass at "
                f"least {jnp.finfo(dtype).tiny:.1e}"
            )
        undefined = checked_undefined(self, undefined)
        return _geometric_mean_of(canonical(self), floor, undefined)

    def quantiles(
        self,
        edges: Sequence[Number] | np.ndarray | None = None,
        bins: int = 100,
        undefined: Undefined | None = None,
    ) -> Histogram:
        """Returns the distribution of the values of lists, as a state that can be merged.

        Weights only decide which lists count.

        Args:
            edges: The edges of the bins, ascending; static. None is bins of equal width
                on [0, 1].
            bins: Number of bins where `edges` is None; otherwise ignored.
            undefined: See `mean`.

        Raises:
            TypeError: if edges are not concrete numbers, or `bins` is not a Python int.
            ValueError: if edges do not ascend, or are fewer than two; if `bins` is below 1;
                if `undefined` is none of the options.

        >>> lists = PerList(jnp.array([0.0, 0.2, 0.7, 1.0]), jnp.ones(4), jnp.ones(4, bool))
        >>> [f"{lists.quantiles().quantile(q):.2f}" for q in (0, 0.5, 1)]
        ['0.00', '0.45', '1.00']
        """
        undefined = checked_undefined(self, undefined)
        return _histogram_of(canonical(self), edges_of(edges, bins), undefined)

    def by(
        self, groups: PerListInput, num_groups: int, undefined: Undefined | None = None
    ) -> Mean:
        """Returns a mean for each group of lists, such as new and returning users.

        Args:
            groups: `[*lists]` integers, or bools for two groups. Lists with a number
                outside 0 … num_groups − 1 belong to no group.
            num_groups: Number of groups; static.
            undefined: See `mean`.

        Returns:
            States stacked along a first axis `[num_groups]`. They merge with those of
            other batches and devices; `reduce` gives the mean of all groups together.

        Raises:
            TypeError: if groups are not integers, or `num_groups` is not a Python int.
            ValueError: if shapes differ, or the type of an array says that the lists are
                sharded: then call inside `jax.shard_map`, and `all_reduce` the states; if
                `undefined` is none of the options.

        >>> lists = PerList(jnp.array([1.0, 0.5, 0.0]), jnp.ones(3), jnp.ones(3, bool))
        >>> states = lists.by(jnp.array([0, 1, 1]), num_groups=2)
        >>> states.compute().tolist(), states.lists.tolist(), states.reduce()
        ([1.0, 0.25], [1, 2], Mean(0.500 ± 0.289, 3 lists, 0 undefined))
        """
        undefined = checked_undefined(self, undefined)
        num_groups = _inputs.positive_integer("num_groups", num_groups)
        groups = _inputs.array("groups", groups)
        if groups.dtype != jnp.bool_:
            groups = _inputs.integers("groups", groups)
        _inputs.same_shape("groups", groups, "weights", jnp.shape(self.weights))
        for name, x in (("groups", groups), ("values", self.values)):
            _inputs.unsharded(name, x, "and all_reduce the states")
        return _by(canonical(self), groups, num_groups, undefined)


@partial(jax.jit, static_argnums=(1, 2))
def means_of(
    lists: tuple[PerList, ...],
    undefined: Undefined | None,
    kinds: tuple[type[Mean], ...],
) -> list[Mean]:
    """Computes the states of several metrics of the same lists in one reduction.

    Args:
        lists: The values of each metric.
        undefined: See `PerList.mean`; for all metrics.
        kinds: The kind of state for each metric.
    """
    return states_of([filled_values(metric, undefined) for metric in lists], kinds)


def checked_undefined(lists: PerList, undefined: Undefined | None) -> Undefined:
    """Returns `undefined`, or the default that the lists hold where it is None.

    Raises:
        ValueError: if `undefined` is none of the options.
    """
    choice = lists.undefined if undefined is None else undefined
    _inputs.option("undefined", choice, Undefined)
    return choice


def filled_values(lists: PerList, undefined: Undefined | None = None) -> ValuesOfLists:
    """Returns the values and weights that enter a mean, with undefined values filled in."""
    undefined = lists.undefined if undefined is None else undefined
    values, defined = lists.values, lists.defined
    if undefined == "one":
        values = jnp.where(widen(defined, values), values, jnp.ones_like(values))
    counts = defined if undefined == "skip" else None
    return ValuesOfLists(values, lists.weights, defined, counts)


@partial(jax.jit, static_argnums=(1, 2))
def _geometric_mean_of(
    lists: PerList, floor: float, undefined: Undefined
) -> GeometricMean:
    filled = filled_values(lists, undefined)
    logs = filled._replace(values=GeometricMean._transform(filled.values, floor))
    return GeometricMean(*moments.of_metrics([logs])[0])


@partial(jax.jit, static_argnums=(1, 2))
def _histogram_of(
    lists: PerList, edges: tuple[float, ...], undefined: Undefined
) -> Histogram:
    return histogram_of(filled_values(lists, undefined), edges)


@partial(jax.jit, static_argnums=(2, 3))
def _by(
    lists: PerList, groups: jax.Array, num_groups: int, undefined: Undefined
) -> Mean:
    shape = lists.values.shape[groups.ndim :]
    terms, flags = moments.terms_of_metrics([filled_values(lists, undefined)])
    sums, counts = sums_by_group(terms, tuple(flags[..., 0]), groups, num_groups)
    return Mean(jax.tree.map(lambda x: x.reshape(*x.shape[:2], *shape), sums), counts)
