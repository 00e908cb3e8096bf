"""The differences of two systems in every list, or their ratios."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._results.inference.judged_lists import JudgedLists
from jax_rank_metrics._results.inference.means import Ratios, Summary, pseudo_values
from jax_rank_metrics._results.systems.paired import common_undefined
from jax_rank_metrics._results.systems.values import ListValues, weights_differ
from jax_rank_metrics._states.clusters import join_clusters
from jax_rank_metrics._types import Undefined


class Differences(NamedTuple):
    """b − a of every list, in a column for each comparison: of a metric at a cutoff.

    Where the weights of two ratios differ, `values` are pseudo-values of equal weight; see
    `pseudo_values`.

    Shapes:
        values: `[lists, columns]`; 0 for a tie. Those of clusters, once lists are joined.
        weights: `[lists, columns]`, 0 for lists that do not count.
        noise: `[lists, columns]`, how far rounding may move each difference.
        signs: `[lists, columns]`, 1 where b is higher, −1 where a is, 0 for a tie; NaN for
            lists that do not count on both sides. Always of lists, never of clusters.
        is_binary: `[columns]`, whether all values of both systems are 0 or 1.
        sides: For each column, the values of a and b, `[seeds, lists]`; none without seeds.
        ratios: For each column, the ratios of a and b, if their weights differ, or None.
        judged: The same differences beside those of a judge; None without a judge.
    """

    values: np.ndarray
    weights: np.ndarray
    noise: np.ndarray
    signs: np.ndarray
    is_binary: np.ndarray
    sides: tuple[tuple[np.ndarray, ...], ...]
    ratios: tuple[Ratios | None, ...]
    judged: JudgedLists | None = None

    @classmethod
    def side_by_side(cls, metrics: Sequence["Differences"]) -> "Differences":
        """Puts the columns of all metrics side by side."""
        arrays = [
            np.concatenate(x, axis=-1)
            for x in zip(*(metric[:5] for metric in metrics), strict=True)
        ]
        sides = tuple(column for metric in metrics for column in metric.sides)
        ratios = tuple(column for metric in metrics for column in metric.ratios)
        return cls._make([*arrays, sides, ratios, None])

    def at(self, columns: np.ndarray) -> "Differences":
        """Selects columns, by their indices."""
        arrays = [x[..., columns] for x in self[:5]]
        chosen = [
            tuple(x[i] for i in columns.tolist()) for x in (self.sides, self.ratios)
        ]
        judged = None if self.judged is None else self.judged.at(columns)
        return self._make([*arrays, *chosen, judged])

    def summary(self) -> Summary:
        """Computes the mean difference of each column, and how sure it is."""
        if self.judged is not None:
            return self.judged.summary()
        return Summary.of(
            self.values, self.weights, self.noise, self.sides, self.ratios
        )

    def by_cluster(self, cluster_indices: np.ndarray) -> "Differences":
        """Joins the lists of each cluster to their weighted mean, with summed weight.

        Args:
            cluster_indices: `[lists]`, 0, 1, …
        """
        count = int(cluster_indices.max(initial=-1)) + 1

        def joined(x: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Joins rows `[rows, lists]`, all of the same weights or each of its own."""
            weights = np.broadcast_to(weights, x.shape)
            means, totals = join_clusters(x.T, weights.T, cluster_indices, count)
            return means.T, totals.T

        values, weights = joined(self.values.T, self.weights.T)
        noise, _ = joined(self.noise.T, self.weights.T)
        # Differences may cancel within a cluster, up to rounding.
        values = np.where(np.abs(values) <= noise, 0, values)
        sides = tuple(
            tuple(joined(of_seeds, w)[0] for of_seeds in of_column)
            for w, of_column in zip(self.weights.T, self.sides, strict=True)
        )
        ratios = tuple(
            x and Ratios(*joined(x.values, x.weights), x.rounding) for x in self.ratios
        )
        for column, x in enumerate(ratios):
            if x is not None:
                values[column], weights[column] = pseudo_values(x)
        return self._replace(
            values=values.T,
            weights=weights.T,
            noise=noise.T,
            sides=sides,
            ratios=ratios,
        )


def differences_of(
    a: ListValues, b: ListValues, undefined: Undefined | None
) -> Differences:
    """The difference b − a of every list at every cutoff.

    A difference that rounding alone may explain becomes 0, a tie.

    Args:
        a: The baseline.
        b: The compared system, with the same lists in one order.
        undefined: As for `compare`: None is the choice that a or b was measured with, or
            "zero" if neither has one.

    Raises:
        ValueError: if cutoffs or weights differ; if a and b were measured with
            different choices of `undefined`; if a value that counts is not finite, or a
            weight is infinite.
    """
    if a.weights.shape[1] != b.weights.shape[1] or a.has_cutoffs != b.has_cutoffs:
        raise ValueError(f"{a.name} and {b.name} have different cutoffs")
    undefined = undefined or common_undefined(a.name, a.undefined, b.name, b.undefined)
    is_infinite = np.isposinf(np.maximum(a.weights, b.weights))
    if is_infinite.any():
        index, _ = _inputs.first_index(is_infinite)
        raise ValueError(
            f"list {a.id_of(index)!r} has an infinite weight in {a.name} or {b.name}; pass "
            "finite weights"
        )
    are_ratios, have_seeds = weights_differ(a, b), a.has_seeds or b.has_seeds
    if are_ratios and have_seeds:
        raise ValueError(
            f"{a.name} and {b.name} are ratios that weigh the lists differently, which "
            "cannot be compared over seeds; pass the ratios of a single seed"
        )
    # With "skip", a list that is undefined for one side counts for neither.
    is_known = a.is_known(undefined) & b.is_known(undefined)
    seeds_a, weights_a = a.finite(undefined, is_known)
    seeds_b, weights_b = b.finite(undefined, is_known)
    # Wins and effects are those of means over seeds, `[2, lists, cutoffs]`.
    means = np.stack([seeds_a.mean(0), seeds_b.mean(0)])
    # A difference that may be rounding alone is a tie, and no evidence.
    rounding = max(a.rounding, b.rounding)
    noise = rounding * np.abs(means).max(0)
    values = means[1] - means[0]
    values = np.where(np.abs(values) <= noise, 0, values)
    signs = np.where((weights_a > 0) & (weights_b > 0), np.sign(values), np.nan)
    is_binary = ((means == 0) | (means == 1)).all((0, 1))
    columns = range(values.shape[1])
    sides = tuple(
        (seeds_a[..., i], seeds_b[..., i]) if have_seeds else () for i in columns
    )
    differences = Differences(
        values, weights_a, noise, signs, is_binary, sides, (None,) * len(columns)
    )
    if not are_ratios:
        return differences
    # A side without any weight has no ratio, and then no list counts.
    has_ratio = (weights_a > 0).any(0) & (weights_b > 0).any(0)
    weights = np.where(has_ratio, np.stack([weights_a, weights_b]), 0)
    # A tie of both ratios is one without rounding, too.
    means[1] = means[0] + values
    ratios = tuple(Ratios(means[..., i], weights[..., i], rounding) for i in columns)
    pseudo, counts = (
        np.stack(x, 1) for x in zip(*map(pseudo_values, ratios), strict=True)
    )
    return differences._replace(
        values=pseudo, weights=counts, noise=rounding * np.abs(pseudo), ratios=ratios
    )
