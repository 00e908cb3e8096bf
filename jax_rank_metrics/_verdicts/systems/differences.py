"""The difference of two systems in every list: `jrm.paired`, and columns in NumPy.

`paired` runs inside `jax.jit`, and returns a `PerList`. Comparisons are computed from
`Differences`, which may also hold ratios, seeds and the values of a judge.
"""

import dataclasses
import functools
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._ground.arithmetic import widen
from jax_rank_metrics._values import clusters, list_arrays, merging
from jax_rank_metrics._values.double_floats import canonical
from jax_rank_metrics._values.per_list import PerList
from jax_rank_metrics._verdicts.inference import (
    judges,
    margin_bounds,
    weighted_means,
)
from jax_rank_metrics._verdicts.systems import list_values

T = TypeVar("T")


def paired(a: T, b: T, undefined: types.Undefined | None = None) -> T:
    """The difference b − a of every list: above 0 if b has the higher value.

    The mean of the differences merges like the mean of any metric. Its interval is a
    paired test that gathers no lists: only sums move between batches, devices and
    hosts. The interval is narrower than the separate intervals of a and b suggest,
    because lists that are hard for one system are hard for the other. Ratios that weigh
    the lists differently (`PerList.over`) have no difference in each list; pass them to
    `compare`.

    Args:
        a: The baseline: a `PerList`, or any pytree of them, as `measure` returns it.
        b: The values of another system in the same form, for the same lists in the same
            order.
        undefined: How a list counts if its metric is undefined: "zero", "one", or
            "skip", which keeps the lists in which a and b are both defined. None takes
            the `undefined` of a and b, which must be equal.

    Returns:
        The same pytree. Values are `[*lists, …]`, like the values of a and b. They are
        defined in every list, because undefined values have been filled in. Weights are
        the weights of a, except that lists that "skip" leaves out have the weight 0.

    Raises:
        ValueError: if structures or shapes differ; if `undefined` is not one of these
            choices; if a list has different weights in a and in b. If weights are
            traced by `jax.jit`, or lie on other hosts, the weights of a are used
            unchecked.
        TypeError: if a leaf is not a `PerList`.

    >>> from jax_rank_metrics import hit_rate
    >>> labels = jnp.array([[1, 0], [1, 0], [0, 1]])
    >>> a = hit_rate.per_list(labels, jnp.array([[1, 2], [1, 2], [1, 2]]), k=1)
    >>> b = hit_rate.per_list(labels, jnp.array([[2, 1], [1, 2], [1, 2]]), k=1)
    >>> lists = paired(a, b)
    >>> lists.values.tolist(), f"{lists.mean().compute():+.2f}"
    ([1.0, 0.0, 0.0], '+0.33')
    """
    inputs.check_undefined(undefined)
    merging.check_leaves(a, PerList, "a")
    merging.check_leaves(b, PerList, "b")
    # A PerList is a pytree itself, but its leaves must not be subtracted one by one.
    is_per_list = {"is_leaf": lambda leaf: isinstance(leaf, PerList)}
    structures = [jax.tree.structure(side, **is_per_list) for side in (a, b)]
    if structures[0] != structures[1]:
        raise ValueError(
            f"a and b differ in structure: {structures[0]} and {structures[1]}; pass "
            "values of the same metrics"
        )

    def difference(a: PerList, b: PerList) -> PerList:
        _check_weights(a, b)
        choice = undefined or list_values.common_undefined(
            [("a", a.undefined), ("b", b.undefined)]
        )
        return _difference(a, b, choice)

    differences = jax.tree.map(difference, canonical(a), canonical(b), **is_per_list)
    return merging.in_order(a, differences)


def _difference(a: PerList, b: PerList, undefined: types.Undefined | None) -> PerList:
    dtype = inputs.float_dtype(a.values, b.values)
    # With "skip", 0 is only a placeholder, because the list gets the weight 0 below.
    fill = float(undefined == "one")
    sides = (a.values, a.defined), (b.values, b.defined)
    values = [jnp.where(widen(defined, side), side, fill) for side, defined in sides]
    counts = a.weights > 0
    if undefined == "skip":
        counts = counts & a.defined & b.defined
    weights = jnp.where(counts, a.weights, jnp.zeros_like(a.weights))
    difference = values[1].astype(dtype) - values[0].astype(dtype)
    difference = jnp.where(widen(counts, difference), difference, 0)
    # Undefined values are filled in, so the mean of differences must not fill them again.
    defined = jnp.ones_like(counts)
    return PerList(difference, weights, defined, cutoff_weights=a.cutoff_weights)


def _check_weights(a: PerList, b: PerList) -> None:
    for field in ("values", "weights"):
        shapes = [jnp.shape(getattr(side, field)) for side in (a, b)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"a and b differ in the shape of their {field}: {shapes[0]} and "
                f"{shapes[1]}; pass values of the same lists and cutoffs"
            )
    list_arrays.check_same_weights(a, b, ("a", "b"))


@dataclasses.dataclass(frozen=True, eq=False)
class Differences:
    """The values of a and b in every list; a column compares one metric at one cutoff.

    If a and b are ratios that weigh the lists differently, `values` are pseudo-values of
    equal weight; see `pseudo_values`.

    Shapes:
        sides: `[2, lists, columns]`, the values of a and b, as means over seeds. They
            are equal if rounding alone may explain their difference. If lists have been
            joined into clusters, the second axis is clusters.
        side_weights: `[2, lists, columns]`, 0 for lists that do not count.
        noise: `[lists, columns]`, how much rounding may change each difference.
        rounding: `[columns]`, the relative error below which values are equal.
        are_ratios: `[columns]`, True if a and b are ratios whose weights differ.
        undefined: `[columns]`, the number of lists in which a or b is undefined.
        ranges: `[columns]`, the largest possible difference.
        seeds: For each column, the values of a and b, `[seeds, lists]`; () without seeds.
        judged: The same differences together with the judge's; None without a judge.
        ids: The id of each list, not of each cluster; None without ids.
    """

    sides: np.ndarray
    side_weights: np.ndarray
    noise: np.ndarray
    rounding: np.ndarray
    are_ratios: np.ndarray
    undefined: np.ndarray
    ranges: np.ndarray
    seeds: tuple[tuple[np.ndarray, ...], ...]
    judged: judges.JudgedLists | None = None
    ids: Sequence[Hashable] | None = None

    @classmethod
    def of_pairs(
        cls,
        lists: Sequence[list_values.ListValues],
        undefined: types.Undefined | None,
    ) -> "Differences":
        """Returns differences of pairs of systems, with a column for each pair and cutoff.

        Args:
            lists: The values `[a, b, a, b, …]`, with the same lists in one order.
            undefined: As for `compare`: None takes the choice that a or b was measured
                with, or "zero" if neither was measured with a choice.

        Raises:
            ValueError: if cutoffs or weights of a and b differ; if they were measured with
                different choices of `undefined`; if a value that counts is not finite, or a
                weight is infinite.
        """
        # Both lists get an array `[2, lists, cutoffs]` for each pair.
        sides, side_weights = [], []
        # The first three lists get an entry for each column, the others an array for
        # each pair.
        rounding, are_ratios, seeds, undefined_counts = [], [], [], []
        ranges = []
        for a, b in zip(lists[::2], lists[1::2], strict=True):
            if (
                a.weights.shape[1] != b.weights.shape[1]
                or a.has_cutoffs != b.has_cutoffs
            ):
                raise ValueError(
                    f"{a.name} and {b.name} have different cutoffs; pass values at the "
                    "same cutoffs"
                )
            choice = undefined or list_values.common_undefined(
                (side.name, side.undefined) for side in (a, b)
            )
            is_ratio, have_seeds = _weigh_differently(a, b), a.has_seeds or b.has_seeds
            # With "skip", a list that is undefined for one side counts for neither.
            is_known = a.is_known(choice) & b.is_known(choice)
            seeds_a, weights_a = a.filled(choice, is_known, must_be_finite=True)
            seeds_b, weights_b = b.filled(choice, is_known, must_be_finite=True)
            # A list that people have labelled for only one of the systems counts for
            # neither.
            is_labelled = a.is_known("zero") & b.is_known("zero")
            are_undefined = (a.undefined_lists | b.undefined_lists) & is_labelled
            undefined_counts.append(are_undefined.sum(0))
            # Wins and effects compare means over seeds.
            sides.append(np.stack([seeds_a.mean(0), seeds_b.mean(0)]))
            side_weights.append(
                np.stack([weights_a, weights_b if is_ratio else weights_a])
            )
            is_share = a.is_share or b.is_share
            ranges.append(
                margin_bounds.ranges_of(sides[-1], side_weights[-1], is_share)
            )
            for column in range(weights_a.shape[1]):
                rounding.append(max(a.rounding, b.rounding))
                are_ratios.append(is_ratio)
                column_seeds = seeds_a[..., column], seeds_b[..., column]
                seeds.append(column_seeds if have_seeds else ())
        values = np.concatenate(sides, axis=2)
        weights = np.concatenate(side_weights, axis=2)
        # If a or b has no weight at all, it has no ratio, and then no list counts.
        weights = np.where((weights > 0).any(1).all(0), weights, 0)
        noise = np.array(rounding) * np.abs(values).max(0)
        return cls(
            _without_noise(values, noise),
            weights,
            noise,
            np.array(rounding),
            np.array(are_ratios),
            np.concatenate(undefined_counts),
            np.concatenate(ranges),
            tuple(seeds),
            ids=lists[0].ids,
        )

    def at(self, columns: np.ndarray) -> "Differences":
        """Selects columns, by their indices."""
        fields = "sides side_weights noise rounding are_ratios undefined ranges".split()
        arrays: dict[str, Any] = {key: vars(self)[key][..., columns] for key in fields}
        seeds = tuple(self.seeds[column] for column in columns.tolist())
        judged = None if self.judged is None else self.judged.at(columns)
        return dataclasses.replace(self, **arrays, seeds=seeds, judged=judged)

    @functools.cached_property
    def ratios(self) -> dict[int, weighted_means.Ratios]:
        """The ratios of a and b for each column in which their weights differ."""
        return {
            column: weighted_means.Ratios(
                self.sides[..., column],
                self.side_weights[..., column],
                float(self.rounding[column]),
            )
            for column in np.flatnonzero(self.are_ratios).tolist()
        }

    @functools.cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray]:
        values, weights = self.sides[1] - self.sides[0], self.side_weights[0].copy()
        for column, ratio in self.ratios.items():
            values[:, column], weights[:, column] = weighted_means.pseudo_values(ratio)
        return values, weights

    @property
    def values(self) -> np.ndarray:
        """B − a, `[lists, columns]`; 0 for a tie."""
        return self._columns[0]

    @property
    def weights(self) -> np.ndarray:
        """The weights of differences, `[lists, columns]`."""
        return self._columns[1]

    @property
    def signs(self) -> np.ndarray:
        """1 if b is higher, −1 if a is, 0 for ties; NaN if a or b does not count."""
        signs = np.sign(self.sides[1] - self.sides[0])
        return np.where((self.side_weights > 0).all(0), signs, np.nan)

    @property
    def is_binary(self) -> np.ndarray:
        """True for columns in which all values of both systems are 0 or 1, `[columns]`."""
        return ((self.sides == 0) | (self.sides == 1)).all((0, 1))

    def summary(self) -> weighted_means.Summary:
        """Returns the mean difference of each column, with its error."""
        if self.judged is not None:
            return self.judged.summary()
        columns = self.values, self.weights, self.noise
        return weighted_means.Summary.of(*columns, self.seeds, self.ratios)

    def margin_bounds(self) -> margin_bounds.MarginBounds:
        """Returns the bounds that are compared with a margin."""
        columns = self.values, self.weights, self.ranges, self.noise
        return margin_bounds.MarginBounds.of(*columns)

    def by_cluster(self, cluster_indices: np.ndarray) -> "Differences":
        """Replaces the lists of each cluster by their weighted mean, with summed weights.

        Args:
            cluster_indices: `[lists]`, 0, 1, …
        """
        count = int(cluster_indices.max(initial=-1)) + 1

        joined = functools.partial(
            clusters.join_clusters, clusters=cluster_indices, num_clusters=count
        )
        sides = map(joined, self.sides, self.side_weights)
        values, weights = (np.stack(parts) for parts in zip(*sides, strict=True))
        noise, _ = joined(self.noise, self.side_weights[0])
        seeds = tuple(
            tuple(joined(side.T, np.tile(w[:, None], len(side)))[0].T for side in pair)
            for w, pair in zip(self.side_weights[0].T, self.seeds, strict=True)
        )
        # Differences within a cluster may cancel up to rounding.
        values = _without_noise(values, noise)
        return dataclasses.replace(
            self, sides=values, side_weights=weights, noise=noise, seeds=seeds
        )


def _weigh_differently(a: list_values.ListValues, b: list_values.ListValues) -> bool:
    """True if a and b are ratios that weigh the lists differently.

    Raises:
        ValueError: if a weight is infinite; if a and b are not both ratios and have
            different weights; if ratios that weigh the lists differently are `Seeds`.
    """
    is_infinite = np.isposinf(np.maximum(a.weights, b.weights))
    if is_infinite.any():
        index, _ = inputs.first_index(is_infinite)
        raise ValueError(
            f"list {a.id_of(index)!r} has an infinite weight in {a.name} or {b.name}; pass "
            "finite weights"
        )
    are_ratios = list_values.weights_differ(a, b)
    if are_ratios and (a.has_seeds or b.has_seeds):
        raise ValueError(
            f"{a.name} and {b.name} are ratios that weigh the lists differently, which "
            "cannot be compared over seeds; pass the ratios of a single seed"
        )
    return are_ratios


def _without_noise(sides: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Sets b to a if rounding alone may explain their difference."""
    a, b = sides
    return np.stack([a, np.where(np.abs(b - a) <= noise, a, b)])
