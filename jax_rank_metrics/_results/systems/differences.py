"""The difference of two systems in every list, or their ratios."""

from typing import NamedTuple

import jax
import numpy as np

from jax_rank_metrics._results.inference.means import Ratios, pseudo_values
from jax_rank_metrics._results.systems.paired import common_undefined, filled
from jax_rank_metrics._results.systems.values import ListValues, listing
from jax_rank_metrics._states.weights import differ
from jax_rank_metrics._types import Undefined


class Differences(NamedTuple):
    """b − a of every list, at every cutoff.

    Where the weights of two ratios differ, `values` are pseudo-values of equal weight; see
    `pseudo_values`.

    Shapes:
        values: `[lists, cutoffs]`, one column without cutoffs; 0 for a tie.
        weights: `[lists, cutoffs]`, 0 for lists that do not count.
        noise: `[lists, cutoffs]`, how far rounding may move each difference.
        signs: `[lists, cutoffs]`, 1 where b is higher, −1 where a is, 0 for a tie; NaN for
            lists that do not count on both sides.
    """

    values: np.ndarray
    weights: np.ndarray
    noise: np.ndarray
    signs: np.ndarray
    has_cutoffs: bool
    is_binary: bool = False  # whether all values of both systems are 0 or 1
    # The values of a and b, `[seeds, lists, cutoffs]`, if either has several seeds.
    sides: tuple[np.ndarray, ...] = ()
    ratios: tuple[Ratios, ...] = ()  # at each cutoff, if their weights differ

    @property
    def is_pseudo(self) -> bool:
        """Whether values are pseudo-values."""
        return bool(self.ratios)


def differences_of(
    a: ListValues, b: ListValues, undefined: Undefined | None
) -> Differences:
    """The difference b − a of every list, in the order of a.

    A difference that rounding alone may explain becomes 0, a tie.

    Args:
        a: The baseline, with ids.
        b: The compared system, with the same ids in any order.
        undefined: As for `compare`: None is the choice that a or b was measured with, or
            "zero" if neither has one.

    Raises:
        ValueError: if cutoffs, ids or weights differ; if a and b were measured with
            different choices of `undefined`; if a value that counts is not finite, or a
            weight is infinite.
    """
    if (
        a.lists.values.shape[1] != b.lists.values.shape[1]
        or a.has_cutoffs != b.has_cutoffs
    ):
        raise ValueError(f"{a.name} and {b.name} have different cutoffs")
    undefined = undefined or common_undefined(a.name, a.undefined, b.name, b.undefined)
    ids, b = a.ids or [], in_order_of(a, b)
    lists_a, lists_b = a.lists, b.lists
    weights_a, weights_b = np.asarray(lists_a.weights), np.asarray(lists_b.weights)
    for index, _ in np.argwhere(np.isposinf(np.maximum(weights_a, weights_b)))[:1]:
        raise ValueError(
            f"list {ids[index]!r} has an infinite weight in {a.name} or {b.name}; pass "
            "finite weights"
        )
    are_unequal = differ(weights_a, weights_b)
    for index, cutoff in np.argwhere(are_unequal)[:1]:
        if lists_a.is_ratio and lists_b.is_ratio:
            break
        raise ValueError(
            f"list {ids[index]!r} has weight {weights_a[index, cutoff]:g} in {a.name} and "
            f"{weights_b[index, cutoff]:g} in {b.name}; pass lists of the same weights"
        )
    is_known = undefined != "skip" or defined_lists(a) & defined_lists(b)
    sides = []
    for x, weights in ((a, weights_a), (b, weights_b)):
        weights = np.where(is_known & (weights > 0), weights, 0)
        runs = [filled(run, undefined, np) for run in x.runs or (x.lists,)]
        of_seeds = np.where(weights > 0, np.stack(runs), 0)
        for seed, index in np.argwhere(~np.isfinite(of_seeds).all(2))[:1]:
            raise ValueError(
                f"{x.name} holds a value that is not finite, at list {ids[index]!r}: "
                f"{of_seeds[seed, index].tolist()}; pass finite values, or a PerList in "
                "which it is undefined"
            )
        sides.append((of_seeds, weights))
    (seeds_a, weights_a), (seeds_b, weights_b) = sides
    values_a, values_b = seeds_a.mean(0), seeds_b.mean(0)
    # A difference that may be rounding alone is a tie, and no evidence.
    size = np.maximum(np.abs(values_a), np.abs(values_b))
    noise = max(a.rounding, b.rounding) * size
    difference = values_b - values_a
    difference = np.where(np.abs(difference) <= noise, 0, difference)
    counts_twice = (weights_a > 0) & (weights_b > 0)
    signs = np.where(counts_twice, np.sign(difference), np.nan)
    is_binary = all(bool(((x == 0) | (x == 1)).all()) for x in (values_a, values_b))
    if not are_unequal.any():
        columns = (difference, weights_a, noise, signs)
        of_seeds = (seeds_a, seeds_b) if a.runs or b.runs else ()
        return Differences(*columns, a.has_cutoffs, is_binary=is_binary, sides=of_seeds)
    if a.runs or b.runs:
        raise ValueError(
            f"{a.name} and {b.name} are ratios that weigh the lists differently, which "
            "cannot be compared over seeds; pass the ratios of a single seed"
        )
    # A side without any weight has no ratio, and then no list counts.
    has_ratio = (weights_a > 0).any(0) & (weights_b > 0).any(0)
    values = np.stack([values_a, values_a + difference])
    weights = np.where(has_ratio, np.stack([weights_a, weights_b]), 0)
    rounding = max(a.rounding, b.rounding)
    ratios = tuple(
        Ratios(values[..., cutoff], weights[..., cutoff], rounding)
        for cutoff in range(values.shape[2])
    )
    columns = zip(*map(pseudo_values, ratios), strict=True)
    values, weights = (np.stack(x, axis=1) for x in columns)
    columns = (values, weights, rounding * np.abs(values), signs)
    return Differences(*columns, a.has_cutoffs, ratios=ratios)


def defined_lists(x: ListValues) -> np.ndarray:
    """Whether the metric is defined for each list and all seeds, `[lists, cutoffs]`."""
    return np.all([run.defined for run in x.runs or (x.lists,)], axis=0)


def in_order_of(a: ListValues, b: ListValues) -> ListValues:
    """Puts the lists of b in the order of those of a; ValueError if their ids differ."""
    ids_a, ids_b = a.ids or [], b.ids or []
    if ids_a == ids_b:
        return b
    index_in_b = {name: index for index, name in enumerate(ids_b)}
    known = set(ids_a)
    for owner, holder, missing in (
        (a, b, [name for name in ids_a if name not in index_in_b]),
        (b, a, [name for name in ids_b if name not in known]),
    ):
        if missing:
            raise ValueError(
                f"ids: of the lists in {owner.name}, {len(missing)} are not in "
                f"{holder.name}: {listing(missing)}; pass the lists that both have"
            )
    order = np.array([index_in_b[name] for name in ids_a], np.int64)
    lists, runs = jax.tree.map(lambda x: x[order], (b.lists, b.runs))
    return b._replace(lists=lists, runs=runs, ids=ids_a)
