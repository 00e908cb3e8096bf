"""The difference of two systems in every list, or their ratios."""

from typing import NamedTuple

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._results.inference.means import Ratios, pseudo_values
from jax_rank_metrics._results.systems.paired import common_undefined
from jax_rank_metrics._results.systems.values import ListValues, weights_differ
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
    if a.weights.shape[1] != b.weights.shape[1] or a.has_cutoffs != b.has_cutoffs:
        raise ValueError(f"{a.name} and {b.name} have different cutoffs")
    undefined = undefined or common_undefined(a.name, a.undefined, b.name, b.undefined)
    b = b.in_order_of(a)
    is_infinite = np.isposinf(np.maximum(a.weights, b.weights))
    if is_infinite.any():
        index, _ = _inputs.first_index(is_infinite)
        raise ValueError(
            f"list {a.id_of(index)!r} has an infinite weight in {a.name} or {b.name}; pass "
            "finite weights"
        )
    are_ratios = weights_differ(a, b)
    if are_ratios and (a.has_seeds or b.has_seeds):
        raise ValueError(
            f"{a.name} and {b.name} are ratios that weigh the lists differently, which "
            "cannot be compared over seeds; pass the ratios of a single seed"
        )
    is_known = a.is_known(undefined) & b.is_known(undefined)
    (seeds_a, weights_a), (seeds_b, weights_b) = (
        x.finite(undefined, is_known) for x in (a, b)
    )
    values_a, values_b = seeds_a.mean(0), seeds_b.mean(0)
    # A difference that may be rounding alone is a tie, and no evidence.
    rounding = max(a.rounding, b.rounding)
    noise = rounding * np.maximum(np.abs(values_a), np.abs(values_b))
    difference = values_b - values_a
    difference = np.where(np.abs(difference) <= noise, 0, difference)
    counts_twice = (weights_a > 0) & (weights_b > 0)
    signs = np.where(counts_twice, np.sign(difference), np.nan)
    if not are_ratios:
        is_binary = all(bool(((x == 0) | (x == 1)).all()) for x in (values_a, values_b))
        of_seeds = (seeds_a, seeds_b) if a.has_seeds or b.has_seeds else ()
        return Differences(difference, weights_a, noise, signs, is_binary, of_seeds)
    # A side without any weight has no ratio, and then no list counts.
    has_ratio = (weights_a > 0).any(0) & (weights_b > 0).any(0)
    values = np.stack([values_a, values_a + difference])
    weights = np.where(has_ratio, np.stack([weights_a, weights_b]), 0)
    ratios = tuple(
        Ratios(values[..., cutoff], weights[..., cutoff], rounding)
        for cutoff in range(values.shape[2])
    )
    columns = zip(*map(pseudo_values, ratios), strict=True)
    values, weights = (np.stack(x, axis=1) for x in columns)
    noise = rounding * np.abs(values)
    return Differences(values, weights, noise, signs, ratios=ratios)
