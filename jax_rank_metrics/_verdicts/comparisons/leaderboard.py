"""Orders many systems by their means over tasks, and says how sure that order is."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax import random

from jax_rank_metrics._ground import inputs, messages, types
from jax_rank_metrics._names import directions, facts
from jax_rank_metrics._values import intervals, mean
from jax_rank_metrics._values.list_arrays import ROUNDING, differ
from jax_rank_metrics._values.state import stacked_shape
from jax_rank_metrics._verdicts.comparisons import standings
from jax_rank_metrics._verdicts.inference import p_values, randomised, resample
from jax_rank_metrics._verdicts.inference.bootstrap import Bootstrap
from jax_rank_metrics._verdicts.inference.weighted_means import (
    Ratios,
    WeightedMean,
    deviations,
    error_with_seeds,
    seed_variance,
)
from jax_rank_metrics._verdicts.systems import list_values, reading, seeds

PERMUTATIONS = 100_000  # at least; with many pairs of systems, more


class TaskMeans(NamedTuple):
    """The means of all systems over the lists of a task, and how sure they are.

    Shapes:
        means: `[systems]`.
        drawn: `[samples, systems]`, means that other lists might have given; None for
            fewer than two lists, because they say nothing about other lists.
        halves: `[splits, 2, systems]`, means of two halves of the lists; None for states
            and for fewer than two lists.
        variances: `[systems, systems]`, the squared standard errors of differences
            between systems; on the diagonal, the squared standard errors of the means.
        freedoms: `[systems, systems]`, the degrees of freedom of `variances`; 0 for fewer
            than two lists.
        lists: The number of lists that count.
        rounding: Relative error below which two values are equal.
        ratios: The values and weights of all lists; None for states and with seeds.
    """

    means: np.ndarray
    drawn: np.ndarray | None
    halves: np.ndarray | None
    variances: np.ndarray
    freedoms: np.ndarray
    lists: int
    rounding: float
    ratios: Ratios | None = None


def leaderboard(
    systems: reading.Values,
    *,
    metric: str | None = None,
    ids: Mapping[Hashable, Any] | None = None,
    samples: int = 10_000,
    level: types.Number = 0.95,
    key: types.Key | None = None,
    undefined: types.Undefined | None = None,
    lower: bool | str | Sequence[str] = (),
    tasks_first: bool = False,
) -> standings.Leaderboard:
    """Puts systems in the order of their means, and says how sure that order is.

    All systems see the same lists, and a list that is hard for one system is hard for
    others. The means of all systems are therefore drawn together. The draws give ranks,
    the probability that a system is first, and the probability that it beats another
    system. The draws come from a multivariate t distribution around the observed means,
    with the covariance of systems over the lists and `n_eff` − 1 degrees of freedom.
    Like `compare`, and unlike separate intervals of means, the draws allow for the
    variation that systems share. If weights differ, they use the standard error of
    `compare` (HC3). A few lists hardly show how far means vary, and the draws allow for
    this, too: for five systems on three to 30 lists of equal weight, the intervals of
    ranks contained the true rank in 93 % of simulations or more. A single list says
    nothing about other lists: then each rank has the interval [1, number of systems],
    and all systems are first with equal probability.

    Means over tasks, such as several collections, count every task equally. Each task
    has its own draws. The tasks are taken as fixed, so results say nothing about other
    tasks. Lists that come in clusters, such as the sessions of a user, are not
    independent: join them first, by `PerList.cluster`.

    Systems form a group that cannot be told apart if no pair among them is significant
    by the permutation test of all pairs, with p corrected by Holm's procedure. A common
    group does not prove that two systems are equal.

    Call it outside `jax.jit`. 50 systems of 10,000 lists take some seconds on two cores,
    mostly for the permutations, which are at least 100,000.

    Args:
        systems: A dict from systems to the values of one metric at one cutoff, in any
            of the forms that `compare` reads, including `Seeds`; or to `Bootstrap`
            states of the same lists, made with the same ids and key; or to dicts from
            tasks to such values or states. A dict holds metrics, not tasks, if it has
            the key `metric` or if all its keys are names of metrics. Or pass `Systems`,
            which read any of these forms.
        metric: The name of the metric, if values of several metrics are passed.
        ids: How to pair lists whose values have no ids. None pairs them by position; a
            dict from systems to the ids of their lists, in any order, pairs them by
            these ids. With tasks, it is a dict from systems to dicts from tasks to ids.
        samples: Number of draws of the means.
        level: The probability with which an interval should cover the true value, in
            (0, 1); two systems are told apart if their corrected p is at most
            1 − `level`.
        key: A PRNG key. None is `jax.random.key(0)`.
        undefined: The value of lists in which the metric is undefined; see `compare`.
            "skip" keeps the lists in which it is defined for all systems. Missing
            values (NaN, None, NA, null) are counted in the same way, and raise if
            `undefined` is None.
        lower: True, or the name of the metric, if lower means are better; see
            `compare`.
        tasks_first: True if dicts have tasks as their first keys and systems below them,
            as `table` takes several collections: `{task: {system: values}}`.

    Returns:
        A `Leaderboard`, best system first. Systems whose means are equal keep the order
        of the dict, and share the mean of their ranks. The interval of a mean is
        Student's, and the interval of a rank contains a share `level` of the drawn
        ranks. `Bootstrap` states no longer hold the values that permutations need, and
        systems with `Seeds` cannot swap their values, so p is then Student's. For
        ratios whose weights differ, a permutation swaps value and weight, which takes
        10⁻⁹ seconds for each permutation, list and pair. For states, the covariance
        comes from their replicates, and `stability` is NaN. With `Seeds`, the draws of
        each system also vary with its seeds, by an independent t.

    Raises:
        ValueError: if there are fewer than two systems; if systems hold different
            metrics or tasks, or several cutoffs, or several metrics and `metric` is
            None; if lists cannot be paired, see `compare`; if states of a task have
            different numbers of samples, or only some systems are states; if neither
            direction of the metric is better; if it is a geometric mean, such as
            "gm_map".
        TypeError: if values are traced, or are not per-list values.

    References:
        Box & Tiao, Bayesian inference in statistical analysis, 1973 (multivariate t).
        Holm, A simple sequentially rejective multiple test procedure, 1979.
        Piepho, An algorithm for a letter-based representation of all-pairwise
        comparisons, Journal of Computational and Graphical Statistics 2004.
        Goldstein & Spiegelhalter, League tables and their limitations, Journal of the
        Royal Statistical Society A 1996 (intervals of ranks).
        Voorhees & Buckley, The effect of topic set size on retrieval experiment error,
        SIGIR 2002 (agreement of halves).

    >>> values = {"bm25": [0.2, 0.5, 0.5, 0.1, 0.3, 0.2, 0.4, 0.2],
    ...           "dense": [0.3, 0.4, 0.6, 0.1, 0.4, 0.3, 0.4, 0.1],
    ...           "both": [0.6, 0.8, 0.9, 0.5, 0.7, 0.7, 0.6, 0.8]}
    >>> board = leaderboard(values)
    >>> for system, mean, letters in zip(board.systems, board.means, board.letters):
    ...     print(f"{system:5} {mean:.3f} {letters}")
    both  0.700 a
    dense 0.325 b
    bm25  0.300 b
    >>> f"{board.p_beats[1, 2]:.1f}"  # dense beats bm25
    '0.8'
    """
    level = intervals.checked_level(level)
    samples = inputs.positive_integer("samples", samples)
    inputs.check_undefined(undefined)
    name, tasks = _read_tasks(systems, metric, tasks_first, undefined)
    path = [] if name is None else [name]
    directions.check_lower(lower, path)
    direction = directions.is_lower_better(path, lower)
    if direction is None:
        raise ValueError(
            f"neither direction of {name} is better, so it cannot order systems; pass "
            "another metric, or lower=True if lower means are better"
        )
    if name is not None and mean.kind_of_mean(name) is not mean.Mean:
        raise ValueError(
            f"{name} is a geometric mean, and a leaderboard ranks plain means; pass the "
            "values under another name, such as average_precision"
        )
    # Seed NumPy's generator with eight words of the key.
    rng = np.random.default_rng(np.asarray(resample.seeds_of(key, 7)))
    task_means = means_of_tasks(tasks, ids, undefined, samples, rng)
    records = [
        record for task_records in tasks.values() for record in task_records.values()
    ]
    lists = [
        record.lists for record in records if not isinstance(record.source, Bootstrap)
    ]
    if undefined is None:
        directions.warn_of_zeros([(path, run.zero_counts()) for run in lists], lower)
    seeds.check_seed_counts(lists)
    sign = -1 if direction else 1  # multiplied by it, higher means are better
    means = np.mean([task.means for task in task_means], axis=0)
    errors = _errors(task_means)
    margin = p_values.student_reach(np.diag(errors[0]), np.diag(errors[1]), level)
    p = _p_of_pairs(task_means, errors, key, level)
    # Correct each pair only once, because the matrix has it on both sides of the
    # diagonal.
    upper = np.triu_indices(len(means), 1)
    p_corrected = np.ones_like(p)
    p_corrected[upper] = p_values.holm(p[upper])
    p_corrected = np.minimum(p_corrected, p_corrected.T)
    # All orders are equally likely if a task has no errors to draw from.
    count = len(means)
    p_first, p_beats = np.full(count, 1 / count), np.full((count, count), 0.5)
    rank_lows, rank_highs = np.ones(count), np.full(count, float(count))
    drawn = [task.drawn for task in task_means if task.drawn is not None]
    if len(drawn) == len(task_means):
        ranks, p_beats = standings.ranks_and_wins(sign * np.mean(drawn, axis=0))
        p_first = standings.first_shares(ranks)
        tails = ((1 - level) / 2, (1 + level) / 2)
        rank_lows, rank_highs = (
            np.quantile(ranks, tail, axis=0, method=method)
            for tail, method in zip(tails, ("lower", "higher"), strict=True)
        )
    stability = standings.Stability(math.nan, math.nan)
    halves = [task.halves for task in task_means if task.halves is not None]
    if len(halves) == len(task_means):
        stability = standings.stability_of(sign * np.mean(halves, axis=0), rng)
    # Python's sort is stable, so systems whose means are equal keep their order.
    order = sorted(range(count), key=lambda system: -sign * means[system])
    pair_order = np.ix_(order, order)
    names = [*next(iter(tasks.values()))]
    return standings.Leaderboard(
        systems=tuple(names[system] for system in order),
        means=means[order],
        lows=(means - margin)[order],
        highs=(means + margin)[order],
        ranks=standings.ranks_and_wins(sign * means[None])[0][0][order],
        rank_lows=rank_lows[order],
        rank_highs=rank_highs[order],
        p_first=p_first[order],
        p_beats=p_beats[pair_order],
        p_corrected=p_corrected[pair_order],
        groups=_groups(p_corrected[pair_order] <= 1 - level),
        stability=stability,
        metric=name,
        tasks=tuple(task for task in tasks if task is not None),
        lists=sum(task.lists for task in task_means),
        samples=samples,
        level=level,
        lower_is_better=direction,
        undefined=max((run.undefined_lists.sum() for run in lists), default=0),
    )


@messages.short_errors()
def _read_tasks(
    systems: reading.Values,
    metric: str | None,
    tasks_first: bool,
    undefined: types.Undefined | None,
) -> tuple[str | None, dict[Hashable, dict[Hashable, reading.Record]]]:
    """Reads the values of one metric of all systems, as a dict from tasks.

    Args:
        systems: See `leaderboard`.
        metric: The name of the metric to read, if there are several.
        tasks_first: True if dicts have tasks as their first keys and systems below them.
        undefined: The value of lists in which the metric is undefined or its value missing.

    Returns:
        The name of the metric, and a dict from tasks to dicts from systems to records.
        Without tasks, its only key is None.

    Raises:
        ValueError: if systems hold different tasks or metrics.
    """
    keys: reading.Keys = (
        ("task", "system", "metric") if tasks_first else ("system", "metric")
    )
    records_of_systems = reading.by_system(
        reading.read(systems, "systems", keys, undefined)
    )
    if len(records_of_systems) < 2:
        raise ValueError("systems: pass a dict of at least two systems")
    # Use the dict as a set of names that keeps their order.
    names: dict[str | None, None] = {}
    tasks: dict[Hashable, dict[Hashable, reading.Record]] = {}
    tasks_of: dict[Hashable, list[Hashable]] = {}
    for system, records in records_of_systems.items():
        are_tasks = not tasks_first and _are_of_tasks(records, metric)
        by_task: dict[Hashable, dict[str | None, reading.Record]] = {}
        for path, record in records.items():
            task, name = (path[0], None) if are_tasks else (record.task, record.metric)
            by_task.setdefault(task, {})[name] = record
        tasks_of[system] = [*by_task]
        for task, task_records in by_task.items():
            label = reading.label_of(
                "systems", (system,) if task is None else (system, task)
            )
            name = reading.only_metric(task_records, label, metric)
            tasks.setdefault(task, {})[system] = task_records[name]
            # Values without a name get the name that was passed.
            names[name or metric] = None
    (first, expected), *following = tasks_of.items()
    for system, system_tasks in following:
        if {*system_tasks} != {*expected}:
            raise ValueError(
                f"systems hold different tasks: {first!r} has {_listed(expected)}, and "
                f"{system!r} has {_listed(system_tasks)}; pass the same tasks for all"
            )
    if len(names) > 1:
        raise ValueError(
            f"systems hold different metrics: {list_values.listing([*names])}; pass the "
            "same metric for every system"
        )
    return next(iter(names)), tasks


def _are_of_tasks(records: reading.Metrics, metric: str | None) -> bool:
    """True if each record has a single key, a task as in {"web": values}.

    The keys name metrics instead if a record says so (`is_of_metric`), if one of the
    keys is `metric`, or if all keys are names of metrics.
    """
    keys = [path[0] for path in records if len(path) == 1]
    return len(keys) == len(records) and not (
        metric in keys
        or any(record.is_of_metric for record in records.values())
        or all(map(facts.is_metric_name, keys))
    )


def _listed(tasks: list[Hashable]) -> str:
    return "none" if None in tasks else list_values.listing(tasks)


def _errors(tasks: list[TaskMeans]) -> tuple[np.ndarray, np.ndarray]:
    """Returns standard errors of means over tasks, and the degrees of freedom (Welch).

    Both are `[systems, systems]`, for differences of means; the diagonal is for the means.
    """
    # The variance of a mean over T tasks is the sum of the tasks' variances, divided by
    # T².
    variances = np.stack([task.variances for task in tasks]) / len(tasks) ** 2
    freedoms = np.stack([task.freedoms for task in tasks])
    total = variances.sum(0)
    squares = (variances**2 / np.maximum(freedoms, 1e-9)).sum(0)
    mean_freedom = np.where(
        squares > 0, total**2 / np.where(squares > 0, squares, 1), 0
    )
    # Welch's formula gives 0 if nothing varies, so take at least the smallest degrees
    # of freedom of a task. If a task has 0, the mean has 0 as well.
    smallest = freedoms.min(0)
    return np.sqrt(total), np.maximum(mean_freedom, smallest) * (smallest > 0)


def _p_of_pairs(
    tasks: list[TaskMeans],
    errors: tuple[np.ndarray, np.ndarray],
    key: types.Key | None,
    level: float,
) -> np.ndarray:
    """Returns p of the differences of all pairs of systems, `[systems, systems]`."""
    ratios = [task.ratios for task in tasks if task.ratios is not None]
    rounding = max(task.rounding for task in tasks)
    # Take four times the number of permutations with which the smallest p just survives
    # the correction.
    pairs = len(tasks[0].means) * (len(tasks[0].means) - 1) // 2
    permutations = max(PERMUTATIONS, math.ceil(4 * pairs / (1 - level)))
    key = random.key(0) if key is None else inputs.prng_key(key)
    if len(ratios) < len(
        tasks
    ):  # seeds and states hold no values that could be swapped
        means = np.mean([task.means for task in tasks], axis=0)
        # [i, j] is the mean of j minus the mean of i; the test has two sides, so the sign
        # does not matter.
        differences = means - means[:, None]
        size = np.maximum(np.abs(means), np.abs(means[:, None]))
        differences = np.where(np.abs(differences) <= rounding * size, 0, differences)
        return p_values.student_p(differences, *errors)
    if any(differ(task.weights, task.weights[:1]).any() for task in ratios):
        return randomised.pair_swap_test(ratios, key, permutations)
    # The mean over tasks is a sum over the lists of all tasks, so one test covers them
    # all.
    terms = [(task.values * task.weights / task.weights[0].sum()).T for task in ratios]
    return randomised.pair_flip_test(np.concatenate(terms), rounding, key, permutations)


def _groups(differs: np.ndarray) -> tuple[tuple[int, int], ...]:
    """Returns the longest runs of neighbours in which no pair differs: `(start, stop)`."""
    groups: list[tuple[int, int]] = []
    for start in range(len(differs)):
        stop = start + 1
        while stop < len(differs) and not differs[start:stop, stop].any():
            stop += 1
        # If a run ends at the same system as the run before, it is contained in that
        # run.
        if not groups or stop > groups[-1][1]:
            groups.append((start, stop))
    return tuple(groups)


def means_of_tasks(
    tasks: Mapping[Hashable, Mapping[Hashable, reading.Record]],
    ids: Mapping[Hashable, Any] | None,
    undefined: types.Undefined | None,
    samples: int,
    rng: np.random.Generator,
) -> list[TaskMeans]:
    """Computes the means of all systems in each task, and draws means over other lists.

    Args:
        tasks: The values of all systems in each task.
        ids: See `leaderboard`.
        undefined: See `leaderboard`.
        samples: Number of draws.
        rng: The source of the draws, which are independent for each task.
    """
    means = []
    for task, records in tasks.items():
        sources = [record.source for record in records.values()]
        states = [source for source in sources if isinstance(source, Bootstrap)]
        if ids is not None and states:
            raise TypeError(
                "ids is given, but Bootstrap states hold no lists; leave ids out"
            )
        if ids is not None and not isinstance(ids, Mapping):
            raise TypeError(
                "ids is not a dict; pass a dict from systems to the ids of their lists"
            )
        if 0 < len(states) < len(records):
            raise ValueError(
                "only some values are Bootstrap states; pass states for all systems and "
                "tasks, or values of lists for all"
            )
        if states:
            names = [record.name for record in records.values()]
            means.append(_of_states(states, names, samples, rng))
        else:
            system_lists = [
                reading.lists_at_cutoff(record) for record in records.values()
            ]
            ids_of_task = None if ids is None else _ids_of(ids, records, task)
            try:
                lists = list_values.in_one_order(system_lists, ids_of_task)
            except ValueError as error:
                if task is None:
                    raise
                raise ValueError(
                    f"{error}; if the values are {{task: {{system: values}}}}, pass "
                    "tasks_first=True"
                ) from error
            means.append(_of_lists(lists, undefined, samples, rng))
    return means


def _ids_of(
    ids: Mapping[Hashable, Any], names: Iterable[Hashable], task: Hashable
) -> list[Any]:
    """Returns the list ids of every system in a task; None is without tasks."""
    try:
        return [ids[name] if task is None else ids[name][task] for name in names]
    except KeyError as error:
        raise ValueError(f"ids lack {error}; pass ids for all systems") from error
    except (TypeError, IndexError) as error:
        form = "{system: ids}" if task is None else "{system: {task: ids}}"
        raise TypeError(
            f"ids have another form than systems; pass {form}, with the id of every list"
        ) from error


def _of_states(
    states: list[Bootstrap], names: list[str], samples: int, rng: np.random.Generator
) -> TaskMeans:
    for name, state in zip(names, states, strict=True):
        if stacked_shape(state):
            raise ValueError(
                f"{name} is a stacked state, which holds several means; pass jrm.reduce of "
                "the state"
            )
        if state.sums.high.ndim > 2:
            raise ValueError(
                f"{name} has several cutoffs, but a leaderboard needs one; measure one "
                "cutoff"
            )
        if not np.isfinite(state.compute()):
            raise ValueError(
                f"the mean of {name} is {state.compute()}; pass states with finite means"
            )
    means = np.array([float(state.compute()) for state in states])
    replicates = [np.asarray(state.replicates(), np.float64) for state in states]
    counts = {len(draws) for draws in replicates}
    if len(counts) > 1:
        raise ValueError(
            f"Bootstrap states have {list_values.listing(sorted(counts))} samples; make "
            "all of them with the same ids, key and samples"
        )
    # A `Bootstrap` draws lists that share an id together, so they count as one list.
    lists = min(int(state.lists) for state in states)
    n_eff = min(lists, *map(_effective_draws, states))
    freedom = max(n_eff - 1, 0)
    table = np.stack(replicates, axis=1)
    # The variance of resamples is too small by a factor (n − 1)/n, and scale corrects
    # it.
    scale = np.sqrt(n_eff / (freedom or 1) / len(table))
    # [samples, systems]; the sum of products over samples is the covariance of the
    # means.
    mean_deviations = scale * (table - table.mean(0))
    return _with_errors(means, mean_deviations, freedom, samples, rng, lists)


def _effective_draws(state: Bootstrap) -> float:
    """Returns the effective number of lists, or clusters, that a `Bootstrap` draws.

    The number of draws of a list, n, is Poisson with mean and variance 1, so Σ n·w has
    the mean Σ w and the variance Σ w². The resampled weights therefore show the
    effective number (Σ w)² / Σ w².
    """
    weights, *resampled = np.asarray(state.sums.round(), np.float64)[0]
    variance = np.mean((np.array(resampled) - weights) ** 2)
    return float(weights**2 / variance) if variance > 0 else 0.0


def _of_lists(
    values: list[list_values.ListValues],
    undefined: types.Undefined | None,
    samples: int,
    rng: np.random.Generator,
) -> TaskMeans:
    sides, weights = _values_of_seeds(values, undefined)
    if not (weights.sum(0) > 0).all():
        raise ValueError(
            f"no list of {values[0].name} counts in all systems; pass lists with a weight "
            "above 0 and, for undefined='skip', with a value in every system"
        )
    table = np.stack([seed_values.mean(0) for seed_values in sides], axis=1)
    rounding = max(run.rounding for run in values)
    weighted_mean = WeightedMean.of(table, weights, rounding * np.abs(table))
    # Systems are drawn together, so all take the smallest degrees of freedom of a
    # system.
    freedom = float(weighted_mean.freedom.min())
    mean_deviations = deviations(
        weighted_mean.changes, weighted_mean.n_eff.min(), freedom
    )
    task = _with_errors(
        weighted_mean.mean, mean_deviations, freedom, samples, rng, len(table)
    )
    has_seeds = any(run.has_seeds for run in values)
    if has_seeds:
        _add_seeds(task, sides, weighted_mean.share[:, 0], rng)
    ratios = Ratios(table.T, np.broadcast_to(weights, table.shape).T, rounding)
    return task._replace(
        halves=standings.means_of_halves(table, weights, rng)
        if len(table) > 1
        else None,
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
    """Returns means, with errors from their `deviations`: `of_means`, `[rows, systems]`."""
    # The variance of x − y is var x + var y − 2 cov(x, y).
    covariance = of_means.T @ of_means
    squares = np.diag(covariance)
    pair_squares = np.maximum(squares[:, None] + squares - 2 * covariance, 0)
    variances = np.where(np.eye(len(means), dtype=bool), squares, pair_squares)
    drawn = None
    if freedom > 0:
        drawn = means + standings.drawn_errors(of_means, freedom, samples, rng)
    freedoms = np.full_like(variances, freedom)
    # This rounding holds for states; `_of_lists` replaces it by the rounding of values.
    return TaskMeans(means, drawn, None, variances, freedoms, lists, ROUNDING)


def _values_of_seeds(
    values: list[list_values.ListValues], undefined: types.Undefined | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Returns values of lists that count, `[seeds, lists]` for each system, and weights.

    A system without seeds has one row. Weights are `[lists, 1]`, or `[lists, systems]` if
    the systems are ratios whose weights differ.
    """
    first = values[0]
    # Some values know their choice of `undefined`; use it for the other values as well.
    choice = undefined or list_values.common_undefined(
        (run.name, run.undefined) for run in values
    )
    are_unequal = any([list_values.weights_differ(first, run) for run in values])
    if are_unequal and any(run.has_seeds for run in values):
        raise ValueError(
            "values are Seeds of ratios whose weights differ, which cannot be compared; "
            "pass the values of a single seed, without Seeds"
        )
    # Values have one cutoff, so weights are `[lists, 1]` each.
    weights = [np.maximum(run.weights, 0) for run in values]
    weights = np.concatenate(weights if are_unequal else weights[:1], axis=1)
    counts = (weights > 0).any(1)
    sides = []
    for run in values:
        # [seeds, lists], at the only cutoff.
        sides.append(run.filled(choice, must_be_finite=True)[0][..., 0])
        # A list that is skipped for one system is skipped for all systems.
        counts = counts & (run.is_known(choice) | ~(run.weights > 0))[:, 0]
    return [seed_values[:, counts] for seed_values in sides], weights[counts]


def _add_seeds(
    task: TaskMeans,
    sides: list[np.ndarray],
    share: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Adds the errors due to the seeds of each system to the errors of lists, in place."""
    for system, values in enumerate(sides):
        if task.drawn is not None and len(values) > 1:
            error = np.sqrt(seed_variance(values @ share))
            # Draw from t, not the normal distribution, because a few seeds hardly show
            # how far seeds vary.
            draws = rng.standard_t(len(values) - 1, len(task.drawn))
            task.drawn[:, system] += error * draws
    variances, freedoms = task.variances, task.freedoms
    # The diagonal holds errors of means; the rest of the matrix holds errors of
    # differences.
    for i, j in zip(*np.triu_indices(len(sides)), strict=True):
        pair = sides[i : i + 1] if i == j else [sides[i], sides[j]]
        error, freedom = error_with_seeds(
            float(np.sqrt(variances[i, j])), float(freedoms[i, j]), pair, share
        )
        variances[[i, j], [j, i]], freedoms[[i, j], [j, i]] = error**2, freedom
