"""The differences of all comparisons, side by side, and their means."""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jax_rank_metrics._results.inference.two_way import error_with_seeds
from jax_rank_metrics._results.systems.differences import Differences
from jax_rank_metrics._results.systems.values import checked_ids, is_series, listing
from jax_rank_metrics._states.clusters import cluster_numbers, join_clusters


class Columns(NamedTuple):
    """The differences of all comparisons, `[lists, comparisons]` each."""

    values: np.ndarray
    weights: np.ndarray
    noise: np.ndarray  # how far rounding may move a difference
    # For each comparison, the values of a and b, `[seeds, lists]`; none without seeds.
    sides: tuple[tuple[np.ndarray, ...], ...]

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
        return cls(values, weights, noise, sides)

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
        return Columns(values, weights, noise, sides)

    def at(self, columns: np.ndarray) -> "Columns":
        """Selects comparisons, by their indices."""
        values, weights, noise = (x[:, columns] for x in self[:3])
        sides = tuple(self.sides[column] for column in columns.tolist())
        return Columns(values, weights, noise, sides)


class Summary(NamedTuple):
    """The mean difference of each comparison, and how sure it is; `[comparisons]` each."""

    mean: np.ndarray
    error: np.ndarray  # the standard error of the mean
    freedom: np.ndarray  # degrees of freedom of the error; 0 for fewer than two lists
    effect: np.ndarray
    n_eff: np.ndarray

    @classmethod
    def of(cls, columns: Columns) -> "Summary":
        """Computes the summary of lists, or of clusters as if they were lists."""
        counts = columns.weights > 0
        lists = counts.sum(0)
        share = columns.weights / np.where(lists > 0, columns.weights.sum(0), 1)
        mean = (share * columns.values).sum(0)
        # A residual that may be rounding alone is 0: equal differences have no error.
        residuals = np.where(counts, columns.values - mean, 0)
        residuals = np.where(np.abs(residuals) <= columns.noise, 0, residuals)
        n_eff = 1 / np.where(lists > 0, (share**2).sum(0), np.inf)
        freedom = np.where(lists > 1, np.maximum(n_eff - 1, 0), 0)
        # HC3: a list with a share h of the weight pulls the mean towards its own value,
        # and its residual is smaller by a factor 1 − h than from the mean of the others.
        # The factor (n − 1)/n makes this Student's error where weights are equal.
        leverage = np.where(share < 1, 1 - share, 1)
        error = np.sqrt((share**2 * (residuals / leverage) ** 2).sum(0))
        error = error * np.sqrt(freedom / np.maximum(n_eff, 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt((share * residuals**2).sum(0) * n_eff / freedom)
            effect = np.where(mean == 0, 0, mean / spread)
        for column, sides in enumerate(columns.sides):
            if sides:
                error[column], freedom[column] = error_with_seeds(
                    error[column], freedom[column], sides, share[:, column]
                )
        return cls(mean, error, freedom, np.where(lists > 1, effect, np.nan), n_eff)


def cluster_indices_of(clusters: Any, ids: list[Hashable]) -> np.ndarray:
    """Numbers the cluster of each list, `[lists]`, in the order of first appearance.

    Args:
        clusters: The id of a cluster for each list, in the order of `ids`; or a mapping or
            a Series from ids of lists to ids of clusters.
        ids: The ids of the lists.

    Raises:
        TypeError: if `clusters` is neither, or ids cannot be the keys of a dict.
        ValueError: if there is not one for each list, or if one is missing.
    """
    if is_series(clusters):
        names = checked_ids("clusters", clusters.index, len(clusters))
        clusters = dict(zip(names, clusters.to_numpy().tolist(), strict=True))
    if isinstance(clusters, Mapping):
        missing = [name for name in ids if name not in clusters]
        if missing:
            raise ValueError(
                f"clusters: {len(missing)} lists have none: {listing(missing)}; pass the "
                "cluster of every list, by its id or as an array in the order of lists"
            )
        clusters = [clusters[name] for name in ids]
    elif isinstance(clusters, str) or not hasattr(clusters, "__len__"):
        raise TypeError(
            f"clusters are {clusters!r}; pass the id of a cluster for each list, or a "
            "dict of list ids to these"
        )
    return cluster_numbers("clusters", clusters, (len(ids),))[0]
