"""The differences of all comparisons, side by side, and their means."""

from typing import NamedTuple

import numpy as np

from jax_rank_metrics._results.inference.means import Ratios, Summary, pseudo_values
from jax_rank_metrics._results.systems.differences import Differences
from jax_rank_metrics._states.clusters import join_clusters


class Columns(NamedTuple):
    """The differences of all comparisons, `[lists, comparisons]` each."""

    values: np.ndarray
    weights: np.ndarray
    noise: np.ndarray  # how far rounding may move a difference
    # For each comparison, the values of a and b, `[seeds, lists]`; none without seeds.
    sides: tuple[tuple[np.ndarray, ...], ...]
    # The ratios of a and b, if their weights differ; `values` are then pseudo-values.
    ratios: tuple[Ratios | None, ...]

    @classmethod
    def of(cls, differences: list[Differences]) -> "Columns":
        """Puts the cutoffs of all metrics side by side."""
        values, weights, noise = (
            np.concatenate([getattr(metric, name) for metric in differences], axis=1)
            for name in ("values", "weights", "noise")
        )
        sides = tuple(
            tuple(of_seeds[..., cutoff] for of_seeds in metric.sides)
            for metric in differences
            for cutoff in range(metric.values.shape[1])
        )
        ratios = tuple(
            of_cutoff
            for metric in differences
            for of_cutoff in metric.ratios or (None,) * metric.values.shape[1]
        )
        return cls(values, weights, noise, sides, ratios)

    def by_cluster(self, cluster_indices: np.ndarray) -> "Columns":
        """Joins the lists of each cluster to their weighted mean, with summed weight.

        Args:
            cluster_indices: `[lists]`, 0, 1, …
        """
        count = int(cluster_indices.max(initial=-1)) + 1
        (values, weights), (noise, _) = (
            join_clusters(x, self.weights, cluster_indices, count)
            for x in (self.values, self.noise)
        )
        sides = tuple(
            tuple(
                join_clusters(x.T, w[:, None], cluster_indices, count)[0].T
                for x in of_seeds
            )
            for w, of_seeds in zip(self.weights.T, self.sides, strict=True)
        )
        values = np.where(np.abs(values) <= noise, 0, values)
        ratios: list[Ratios | None] = []
        for column, of_lists in enumerate(self.ratios):
            of_clusters = None
            if of_lists is not None:
                joined = [
                    join_clusters(x[:, None], w[:, None], cluster_indices, count)
                    for x, w in zip(of_lists.values, of_lists.weights, strict=True)
                ]
                means, totals = (np.stack(x)[..., 0] for x in zip(*joined, strict=True))
                of_clusters = Ratios(means, totals, of_lists.rounding)
                values[:, column], weights[:, column] = pseudo_values(of_clusters)
            ratios.append(of_clusters)
        return Columns(values, weights, noise, sides, tuple(ratios))

    def at(self, columns: np.ndarray) -> "Columns":
        """Selects comparisons, by their indices."""
        values, weights, noise = (x[:, columns] for x in self[:3])
        sides, ratios = (
            tuple(x[column] for column in columns.tolist()) for x in self[3:]
        )
        return Columns(values, weights, noise, sides, ratios)

    def summary(self) -> Summary:
        """Computes the mean difference of each comparison, and how sure it is."""
        return Summary.of(*self)
