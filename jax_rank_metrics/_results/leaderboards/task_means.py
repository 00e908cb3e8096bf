"""The means of many systems over the same lists, of each of several tasks."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jax_rank_metrics._results.inference.bootstrap import Bootstrap
from jax_rank_metrics._results.inference.means import (
    Ratios,
    WeightedMean,
    deviations,
    error_with_seeds,
    seed_variance,
)
from jax_rank_metrics._results.leaderboards.orders import drawn_errors, means_of_halves
from jax_rank_metrics._results.systems.paired import common_undefined
from jax_rank_metrics._results.systems.systems import Record, lists_at_cutoff
from jax_rank_metrics._results.systems.values import (
    ListValues,
    in_one_order,
    listing,
    weights_differ,
)
from jax_rank_metrics._states.state import stacked_shape
from jax_rank_metrics._states.weights import ROUNDING
from jax_rank_metrics._types import Undefined


class TaskMeans(NamedTuple):
    """The means of all systems over the lists of a task, and how sure they are.

    Shapes:
        means: `[systems]`.
        drawn: `[samples, systems]`, means as they may be over other lists; None for fewer
            than two lists, which say nothing of others.
        halves: `[splits, 2, systems]`, means of two halves of the lists; None for states
            and for fewer than two lists.
        variances: `[systems, systems]`, the squared errors of differences of systems; on
            the diagonal, those of the means.
        freedoms: Their degrees of freedom; 0 for fewer than two lists.
        lists: The number of lists that count.
        rounding: Relative error below which two values are equal.
        ratios: The values and weights of all lists, unless there are seeds; None for
            states.
    """

    means: np.ndarray
    drawn: np.ndarray | None
    halves: np.ndarray | None
    variances: np.ndarray
    freedoms: np.ndarray
    lists: int
    rounding: float
    ratios: Ratios | None = None


def means_of_tasks(
    tasks: Mapping[Hashable, Mapping[Hashable, Record]],
    ids: Mapping[Hashable, Any] | None,
    undefined: Undefined | None,
    samples: int,
    rng: np.random.Generator,
) -> list[TaskMeans]:
    """Computes the means of all systems, and draws means over other lists of each task.

    Args:
        tasks: The values of all systems in each task.
        ids: See `leaderboard`, also for the arguments below.
        undefined: What undefined values count as.
        samples: Number of draws.
        rng: The source of the draws, which those of tasks are independent of each other by.
    """
    means = []
    for task, records in tasks.items():
        states = [x.source for x in records.values() if isinstance(x.source, Bootstrap)]
        if ids is not None and (states or not isinstance(ids, Mapping)):
            raise TypeError(
                "ids: pass a dict of systems to the ids of lists, of values alone"
            )
        if 0 < len(states) < len(records):
            raise ValueError(
                "only some values are Bootstrap states; pass states for all systems and "
                "tasks, or values of lists for all"
            )
        if states:
            names = [x.name for x in records.values()]
            means.append(_of_states(states, names, samples, rng))
        else:
            of_systems = [lists_at_cutoff(x) for x in records.values()]
            ids_of_task = None if ids is None else _ids_of(ids, records, task)
            try:
                lists = in_one_order(of_systems, ids_of_task)
            except ValueError as error:
                if task is None:
                    raise
                raise ValueError(
                    f"{error}; tasks_first=True reads {{task: {{system: values}}}}"
                ) from error
            means.append(_of_lists(lists, undefined, samples, rng))
    return means


def _ids_of(
    ids: Mapping[Hashable, Any], names: Iterable[Hashable], task: Hashable
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
    states: list[Bootstrap], names: list[str], samples: int, rng: np.random.Generator
) -> TaskMeans:
    for name, state in zip(names, states, strict=True):
        if stacked_shape(state):
            raise ValueError(f"{name} is stacked; pass reduce of it")
        if state.sums.high.ndim > 2:
            raise ValueError(f"{name} has several cutoffs; measure one")
        if not np.isfinite(state.compute()):
            raise ValueError(f"the mean of {name} is {state.compute()}")
    means = np.array([float(state.compute()) for state in states])
    replicates = [np.asarray(state.replicates(), np.float64) for state in states]
    counts = {len(x) for x in replicates}
    if len(counts) > 1:
        raise ValueError(
            f"Bootstrap states have {listing(sorted(counts))} samples; make all of them "
            "with the same ids, key and samples"
        )
    # Lists of one id are drawn together, and then count as one.
    lists = min(int(state.lists) for state in states)
    n_eff = min(lists, *map(_effective_draws, states))
    freedom = max(n_eff - 1, 0)
    table = np.stack(replicates, axis=1)
    # The variance of resamples is smaller by a factor (n − 1)/n, as that of values.
    scale = np.sqrt(n_eff / (freedom or 1) / len(table))
    # [samples, systems], of which the products sum to the covariance of the means.
    of_means = scale * (table - table.mean(0))
    return _with_errors(means, of_means, freedom, samples, rng, lists)


def _effective_draws(state: Bootstrap) -> float:
    """Effective number of the lists, or clusters, that a `Bootstrap` draws apart.

    Poisson draws n of mean and variance 1 make Σ w the mean of Σ n·w and Σ w² its
    variance; so (Σ w)² / Σ w² shows in the resampled weights.
    """
    weights, *resampled = np.asarray(state.sums.round(), np.float64)[0]
    variance = np.mean((np.array(resampled) - weights) ** 2)
    return float(weights**2 / variance) if variance > 0 else 0.0


def _of_lists(
    values: list[ListValues],
    undefined: Undefined | None,
    samples: int,
    rng: np.random.Generator,
) -> TaskMeans:
    sides, weights = _values_of_seeds(values, undefined)
    if not (weights.sum(0) > 0).all():
        raise ValueError(f"no list of {values[0].name} and of all other systems counts")
    table = np.stack([of_seeds.mean(0) for of_seeds in sides], axis=1)
    rounding = max(x.rounding for x in values)
    of_lists = WeightedMean.of(table, weights, rounding * np.abs(table))
    # Systems are drawn together, and so as surely as the least sure of them.
    freedom = float(of_lists.freedom.min())
    of_means = deviations(of_lists.changes, of_lists.n_eff.min(), freedom)
    task = _with_errors(of_lists.mean, of_means, freedom, samples, rng, len(table))
    has_seeds = any(x.has_seeds for x in values)
    if has_seeds:
        _add_seeds(task, sides, of_lists.share[:, 0], rng)
    ratios = Ratios(table.T, np.broadcast_to(weights, table.shape).T, rounding)
    return task._replace(
        halves=means_of_halves(table, weights, rng) if len(table) > 1 else None,
        ratios=None if has_seeds else ratios,
        rounding=rounding,
    )


def _with_errors(
    means: np.ndarray,
    of_means: np.ndarray,
    freedom: float,
    samples: int,
    rng: np.random.Generator,
    lists: int,
) -> TaskMeans:
    """Returns means with the errors that their `deviations` give, `[rows, systems]`."""
    # The variance of x − y is var x + var y − 2 cov(x, y).
    covariance = of_means.T @ of_means
    squares = np.diag(covariance)
    of_pairs = np.maximum(squares[:, None] + squares - 2 * covariance, 0)
    variances = np.where(np.eye(len(means), dtype=bool), squares, of_pairs)
    drawn = None
    if freedom > 0:
        drawn = means + drawn_errors(of_means, freedom, samples, rng)
    freedoms = np.full_like(variances, freedom)
    # That of states; values of lists put their own in its place.
    return TaskMeans(means, drawn, None, variances, freedoms, lists, ROUNDING)


def _values_of_seeds(
    values: list[ListValues], undefined: Undefined | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Returns values of the lists that count, `[seeds, lists]` of each system, and weights.

    A system without seeds has a single one. Weights are `[lists, 1]`, or
    `[lists, systems]` where those of ratios differ.
    """
    first = values[0]
    # Values that say what undefined ones count as decide for those that do not.
    measured = next((x for x in values if x.undefined), first)
    are_unequal = any([weights_differ(first, x) for x in values])
    if are_unequal and any(x.has_seeds for x in values):
        raise ValueError("Seeds of ratios whose weights differ are not compared")
    # Values have one cutoff, so that weights are `[lists, 1]` each.
    weights = [np.maximum(x.weights, 0) for x in values]
    weights = np.concatenate(weights if are_unequal else weights[:1], axis=1)
    counts = (weights > 0).any(1)
    sides = []
    for x in values:
        choice: Undefined = undefined or common_undefined(
            measured.name, measured.undefined, x.name, x.undefined
        )
        # [seeds, lists], at the only cutoff.
        sides.append(x.finite(choice)[0][..., 0])
        # A list that is skipped for one system counts for none.
        counts = counts & (x.is_known(choice) | ~(x.weights > 0))[:, 0]
    return [of_seeds[:, counts] for of_seeds in sides], weights[counts]


def _add_seeds(
    task: TaskMeans,
    sides: list[np.ndarray],
    share: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Adds to errors due to lists those due to the seeds of each system, in place."""
    for system, values in enumerate(sides):
        if task.drawn is not None and len(values) > 1:
            error = np.sqrt(seed_variance(values @ share))
            # Of t, since a few seeds hardly show how far seeds vary.
            draws = rng.standard_t(len(values) - 1, len(task.drawn))
            task.drawn[:, system] += error * draws
    variances, freedoms = task.variances, task.freedoms
    # The diagonal holds the errors of means, and all else those of differences.
    for i, j in zip(*np.triu_indices(len(sides)), strict=True):
        pair = sides[i : i + 1] if i == j else [sides[i], sides[j]]
        error, freedom = error_with_seeds(
            float(np.sqrt(variances[i, j])), float(freedoms[i, j]), pair, share
        )
        variances[[i, j], [j, i]], freedoms[[i, j], [j, i]] = error**2, freedom
