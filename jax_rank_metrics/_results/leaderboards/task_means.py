"""The means of many systems over the same lists, of each of several tasks."""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jax import random

from jax_rank_metrics._results.inference.two_way import draws_of_seeds, error_with_seeds
from jax_rank_metrics._results.leaderboards.orders import ROUNDING, resampled_means
from jax_rank_metrics._results.systems import pairing
from jax_rank_metrics._results.systems.differences import in_order_of
from jax_rank_metrics._results.systems.paired import common_undefined
from jax_rank_metrics._results.systems.seeds import filled_seeds
from jax_rank_metrics._results.systems.systems import Systems
from jax_rank_metrics._results.systems.values import listing
from jax_rank_metrics._states.weights import differ
from jax_rank_metrics._types import Undefined


class TaskMeans(NamedTuple):
    """The means of all systems over the lists of a task, and of its resamples.

    Shapes:
        means: `[systems]`.
        resampled: `[samples, systems]`.
        terms: `[lists, systems]`, what each list adds to the means; None for states, for
            seeds, and where weights of ratios differ.
        variances: `[systems, systems]`, the squared errors of differences of systems; on
            the diagonal, those of the means.
        freedoms: Their degrees of freedom; 0 for fewer than two lists.
        lists: The number of lists that count.
        rounding: Relative error below which two values are equal.
    """

    means: np.ndarray
    resampled: np.ndarray
    terms: np.ndarray | None
    variances: np.ndarray
    freedoms: np.ndarray
    lists: int
    rounding: float

    def of_systems(self, order: list[int]) -> "TaskMeans":
        """Returns the systems in this order."""
        terms = None if self.terms is None else self.terms[:, order]
        return self._replace(
            means=self.means[order],
            resampled=self.resampled[:, order],
            terms=terms,
            variances=self.variances[np.ix_(order, order)],
            freedoms=self.freedoms[np.ix_(order, order)],
        )


def means_of_tasks(
    systems: Systems,
    names: list[Hashable],
    ids: Mapping[Hashable, Any] | None,
    undefined: Undefined | None,
    samples: int,
    rng: np.random.Generator,
) -> list[TaskMeans]:
    """Computes the means of all systems, and resamples the lists of each task.

    Args:
        systems: The values of systems.
        names: Their names.
        ids: See `leaderboard`, also for the arguments below.
        undefined: What undefined values count as.
        samples: Number of resamples.
        rng: The source of the draws.
    """
    if ids is not None and (systems.are_states or not isinstance(ids, Mapping)):
        raise TypeError(
            "ids: pass a dict of systems to the ids of lists, of values alone"
        )
    tasks = []
    for task, values in systems.tasks.items():
        if systems.are_states:
            tasks.append(_of_states(values, names, rng))
        else:
            list_ids = None if ids is None else _ids_of(ids, names, task)
            tasks.append(_of_lists(values, list_ids, undefined, samples, rng))
    if len({len(task.resampled) for task in tasks}) > 1:
        raise ValueError("Bootstrap states of tasks have different numbers of samples")
    return tasks


def _ids_of(
    ids: Mapping[Hashable, Any], names: list[Hashable], task: Hashable
) -> list[Any]:
    """Returns the ids of the lists of every system in a task, or without tasks."""
    try:
        return [ids[x] if task is None else ids[x][task] for x in names]
    except KeyError as error:
        raise ValueError(f"ids hold no {error}; pass ids for all systems") from error
    except (TypeError, IndexError) as error:
        form = "{system: ids}" if task is None else "{system: {task: ids}}"
        raise TypeError(f"ids: pass {form}, the ids of the lists of each") from error


def _of_states(
    states: list[Any], names: list[Hashable], rng: np.random.Generator
) -> TaskMeans:
    replicates = [np.asarray(state.replicates(), np.float64) for state in states]
    counts = {len(x) for x in replicates}
    if len(counts) > 1:
        raise ValueError(
            f"Bootstrap states have {listing(sorted(counts))} samples; make all of them "
            "with the same ids, key and samples"
        )
    means = np.array([float(state.compute()) for state in states])
    for index in np.flatnonzero(~np.isfinite(means))[:1]:
        raise ValueError(f"the mean of {names[index]!r} is {means[index]}")
    # Tasks whose lists have the same ids share their draws. In another order of the
    # resamples, the same for all systems, tasks are independent.
    order = rng.permutation(counts.pop())
    lists = min(int(state.lists) for state in states)
    n_eff = min(lists, *map(_effective_draws, states))
    resampled = np.stack(replicates, axis=1)[order]
    # The variance of resamples is smaller by a factor (n − 1)/n, as that of values.
    freedom = max(n_eff - 1, 0)
    covariance = np.cov(resampled, rowvar=False, ddof=0) * n_eff / (freedom or 1)
    variances = _variances(covariance)
    freedoms = np.full_like(variances, freedom)
    return TaskMeans(means, resampled, None, variances, freedoms, lists, ROUNDING)


def _effective_draws(state: Any) -> float:
    """Effective number of the lists, or clusters, that a `Bootstrap` draws apart.

    Poisson draws n of mean and variance 1 make Σ w the mean of Σ n·w and Σ w² its
    variance; so (Σ w)² / Σ w² shows in the resampled weights.
    """
    weights, *resampled = np.asarray(state.sums.round(), np.float64)[0]
    variance = np.mean((np.array(resampled) - weights) ** 2)
    return float(weights**2 / variance) if variance > 0 else 0.0


def _of_lists(
    values: list[Any],
    ids: list[Any] | None,
    undefined: Undefined | None,
    samples: int,
    rng: np.random.Generator,
) -> TaskMeans:
    sides, weights = _values_of_seeds(values, ids, undefined)
    if not (weights.sum(0) > 0).all():
        raise ValueError(f"no list of {values[0].name} and of all other systems counts")
    table = np.stack([of_seeds.mean(0) for of_seeds in sides], axis=1)
    shares = weights / weights.sum(0)
    means = (shares * table).sum(0)
    n_eff = float(1 / (shares**2).sum(0).max())
    freedom = max(n_eff - 1, 0)
    residuals = shares * (table - means)
    variances = _variances(residuals.T @ residuals * n_eff / (freedom or 1))
    freedoms = np.full_like(variances, freedom)
    has_seeds = any(x.runs for x in values)
    if has_seeds:
        resampled = _means_of_drawn_seeds(sides, weights, samples, rng)
        _add_seeds(variances, freedoms, sides, shares[:, 0])
    else:
        resampled = resampled_means(table, weights, samples, rng)
    return TaskMeans(
        means=means,
        resampled=resampled,
        terms=None if has_seeds or weights.shape[1] > 1 else shares * table,
        variances=variances,
        freedoms=freedoms,
        lists=len(table),
        rounding=max(x.rounding for x in values),
    )


def _values_of_seeds(
    values: list[Any], ids: list[Any] | None, undefined: Undefined | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Returns values of the lists that count, `[seeds, lists]` of each system, and weights.

    A system without seeds has a single one. Weights are `[lists, 1]`, or
    `[lists, systems]` where those of ratios differ.
    """
    first = values[0]
    measured = next((x for x in values if x.undefined), first)
    sides, weights, counts = [], [], True
    for index, x in enumerate(values):
        choice: Undefined = undefined or common_undefined(
            measured.name, measured.undefined, x.name, x.undefined
        )
        pair_ids = None if ids is None else (ids[0], ids[index])
        pair = pairing.with_ids({(): pairing.Pair(first, x)}, pair_ids)[()]
        in_order = in_order_of(pair.a, pair.b)
        of_seeds, weight_or_skipped = filled_seeds(in_order, choice)
        if not np.isfinite(of_seeds).all():
            raise ValueError(
                f"{x.name} holds a value that is not finite; pass finite values, or a "
                "PerList in which it is undefined"
            )
        weight = np.maximum(np.reshape(in_order.lists.weights, -1), 0)
        counts = counts & ((weight_or_skipped[:, 0] > 0) | (weight == 0))
        sides.append(of_seeds[..., 0])
        weights.append(weight)
        are_ratios = first.lists.is_ratio and x.lists.is_ratio
        if differ(weights[0], weight).any() and not are_ratios:
            raise ValueError(
                f"{first.name} and {x.name} have different weights; pass lists of the "
                "same weights"
            )
    all_weights = np.stack(weights, axis=1)
    if not any(differ(weights[0], weight).any() for weight in weights):
        all_weights = all_weights[:, :1]
    elif any(x.runs for x in values):
        raise ValueError("Seeds of ratios whose weights differ are not compared")
    counts = counts & (all_weights > 0).any(1)
    return [of_seeds[:, counts] for of_seeds in sides], all_weights[counts]


def _means_of_drawn_seeds(
    sides: list[np.ndarray], weights: np.ndarray, samples: int, rng: np.random.Generator
) -> np.ndarray:
    """Means over drawn lists, which systems share, and over drawn seeds of each system."""
    seed_means = resampled_means(np.concatenate(sides).T, weights, samples, rng)
    ends = np.cumsum([len(of_seeds) for of_seeds in sides])[:-1]
    columns = []
    for part in np.split(seed_means, ends, axis=1):
        key = random.key(int(rng.integers(2**31)))
        draws = draws_of_seeds(part.shape[1], samples, key)
        columns.append((draws * part).mean(1))
    return np.stack(columns, axis=1)


def _add_seeds(
    variances: np.ndarray,
    freedoms: np.ndarray,
    sides: list[np.ndarray],
    share: np.ndarray,
) -> None:
    """Adds to variances between lists those between seeds, in place."""
    for i, j in zip(*np.triu_indices(len(sides)), strict=True):
        pair = sides[i : i + 1] if i == j else [sides[i], sides[j]]
        error, freedom = error_with_seeds(
            float(np.sqrt(variances[i, j])), float(freedoms[i, j]), pair, share
        )
        variances[[i, j], [j, i]], freedoms[[i, j], [j, i]] = error**2, freedom


def _variances(covariance: np.ndarray) -> np.ndarray:
    """Variances of differences of systems; on the diagonal, those of the means."""
    of_means = np.diag(covariance)
    of_pairs = np.maximum(of_means[:, None] + of_means - 2 * covariance, 0)
    return np.where(np.eye(len(covariance), dtype=bool), of_means, of_pairs)
