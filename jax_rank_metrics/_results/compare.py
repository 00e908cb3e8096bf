"""Compares systems: how large a difference is, and whether it may be chance."""

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import random

from jax_rank_metrics import _inputs
from jax_rank_metrics._choices import ComparisonTest
from jax_rank_metrics._results import chance, pairing
from jax_rank_metrics._results.comparison import Comparison, is_bound
from jax_rank_metrics._results.direction import check_lower, direction_of
from jax_rank_metrics._states.intervals import checked_level
from jax_rank_metrics._types import Key, Number, Undefined


def compare(
    a: Any,
    b: Any,
    *,
    ids: tuple[Any, Any] | None = None,
    test: ComparisonTest = "permutation",
    samples: int = 100_000,
    level: Number = 0.95,
    key: Key | None = None,
    undefined: Undefined | None = None,
    lower: bool | str | Sequence[str] = (),
) -> Any:
    """Compares b with the baseline a, list by list, by the differences b − a.

    Two intervals that overlap are no test. Each tells how a system's mean would vary over
    other lists; but the lists are the same, and one that is hard for a is hard for b.
    Their differences vary less than either, so systems whose intervals overlap may well
    differ beyond doubt. Look at the interval of the difference instead.

    "permutation" is the test to prefer (Fisher's randomisation test, on the mean): it
    assumes nothing but that a and b might have been swapped in each list. "bootstrap"
    assumes that the lists are a sample of many, and agrees with it above some 50 lists (an
    `n_eff` of 50 where weights differ).
    "t" also assumes that the mean of differences is normally distributed, and takes no
    time; differences that are all equal leave it no error, and then p is 0. Smucker et
    al. find that the three hardly differ on 50 lists, and that the sign and the Wilcoxon
    tests, which this function does not offer, are often misleading about means. Look at
    the size of a difference before its p: over many lists, any difference is significant.

    All tests take lists to be independent. Where they come in clusters, as the sessions of
    a user do, compare one mean per cluster.

    It runs as it is called, not inside `jax.jit`, where `paired` and `bootstrap` work.
    100,000 permutations of 10,000 lists take about a second on two cores, as many
    resamples for "bootstrap" about seven. Both need some 30 MiB, and "bootstrap" 10 bytes
    more for each sample and comparison.

    Args:
        a: The baseline. Values of one metric are a `PerList`, an array `[lists]` or
            `[lists, cutoffs]`, a pandas Series, or a dict of list ids to numbers. For
            several metrics, a dict of these, as `measure` gives it, or of such dicts; a
            pandas DataFrame with a column for each metric; or the result of
            `evaluate_users`.
        b: The same for another system; or a dict of systems, each with what a holds.
        ids: How lists are paired where values have no ids. None pairs them by position;
            `(ids_a, ids_b)` has an id for every list, integers or strings or anything
            hashable, in any order. The ids of b are those of all its systems. A Series and
            a frame are always paired by their index, a dict by its keys and the result
            of `evaluate_users` by its users.
        test: "permutation", "bootstrap" or "t".
        samples: Number of permutations or resamples. All 2ⁿ permutations are taken instead
            where they are no more than this, n being the lists in which anything differs.
        level: The probability with which the interval should cover the difference, in
            (0, 1). The interval is that of Student's t with `n_eff` − 1 degrees of freedom
            and, where weights differ, an error that allows for heavy lists (HC3); with
            "bootstrap", that of the resampled t statistic.
        key: A PRNG key. None is `jax.random.key(0)`, so that a p value is the same in
            every run.
        undefined: What a value counts as where the metric is undefined: "zero", "one",
            or "skip", which keeps the lists in which both are defined. None is what values
            were measured with, as by `evaluate_users`, or else "zero".
        lower: Names of metrics, with or without their cutoffs, of which lower values are
            better, or True for all; it decides who wins. The metrics of this package are
            known by their names, and values without a name are better when higher.

    Returns:
        A `Comparison` for every metric of every system, in dicts like those of b; where
        there are several cutoffs, a tuple of them. p is the share of all permutations in
        which t* is at least as far from 0 as t. With random samples both numbers of the
        share are raised by 1, so that p is never 0. For permutations, t is the mean
        difference, and t* the same with its sign flipped in random lists. For the
        bootstrap, t is the mean difference over its standard error, and t* the same for
        resampled lists, of their mean difference from the mean of all. p is 1 where nothing
        differs, and for fewer than two lists. Lists without a weight above 0 do not count;
        if no list counts, the difference is 0, from −inf to inf.

    Raises:
        ValueError: if a and b hold other metrics or cutoffs; if their lists differ in
            number without ids, or in weights; if ids repeat or are missing on one side, or
            only one side has them; if a dict holds means instead of per-list values; if a
            value is NaN or infinite; if an option is none of those above.
        TypeError: if a or b is traced, or holds no per-list values.

    References:
        Smucker, Allan & Carterette, A comparison of statistical significance tests for
        information retrieval evaluation, CIKM 2007.
        Fisher, The design of experiments, 1935, section 21.
        Holm, A simple sequentially rejective multiple test procedure, 1979.
        Sakai, Evaluating evaluation metrics based on the bootstrap, SIGIR 2006; Laboratory
        experiments in information retrieval, 2018 (effect sizes).
        Efron & Tibshirani, An introduction to the bootstrap, 1993, algorithm 16.2.
        MacKinnon & White, Some heteroskedasticity-consistent covariance matrix estimators
        with improved finite sample properties, Journal of Econometrics 1985 (HC3).
        Kish, Survey sampling, 1965 (the effective sample size).

    >>> a, b = [0.2, 0.5, 0.5, 0.1], [0.4, 0.6, 0.5, 0.4]
    >>> compare(a, b)
    Comparison(+0.15 [-0.0554, 0.355], p=0.25, 3 wins 1 tie 0 losses, 4 lists)
    >>> compare({"map": a}, {"larger": {"map": b}, "smaller": {"map": a}})["larger"]["map"]
    Comparison(+0.15 [-0.0554, 0.355], p=0.25 (Holm 0.5), 3 wins 1 tie 0 losses, 4 lists)
    >>> compare({"q1": 0.2, "q2": 0.5}, {"q2": 0.6, "q1": 0.4})
    Comparison(+0.15 [-0.485, 0.785], p=0.5, 2 wins 0 ties 0 losses, 2 lists)
    """
    _inputs.option("test", test, ComparisonTest)
    if undefined is not None:
        _inputs.option("undefined", undefined, Undefined)
    samples, level = _inputs.positive_integer("samples", samples), checked_level(level)
    key = random.key(0) if key is None else _inputs.prng_key(key)
    pairs = pairing.with_ids(pairing.pairs_of(a, b), ids)
    check_lower(lower, [key for path in pairs for key in path])
    differences = {
        path: pairing.differences(*pair, undefined) for path, pair in pairs.items()
    }
    directions = [
        direction_of(path, lower)
        for path, difference in differences.items()
        for _ in range(difference.values.shape[1])
    ]
    comparisons = iter(
        compared(list(differences.values()), directions, test, samples, level, key)
    )
    results: dict[pairing.Path, Any] = {}
    for path, difference in differences.items():
        cutoffs = range(difference.values.shape[1])
        at_cutoffs = tuple(next(comparisons) for _ in cutoffs)
        results[path] = at_cutoffs if difference.has_cutoffs else at_cutoffs[0]
    return pairing.nested(results)


class _Columns(NamedTuple):
    """The differences of all comparisons, `[lists, comparisons]` each."""

    values: np.ndarray
    weights: np.ndarray
    noise: np.ndarray  # how far rounding may move a difference

    @classmethod
    def of(cls, differences: list[pairing.Differences]) -> "_Columns":
        weights = [
            np.broadcast_to(metric.weights[:, None], metric.values.shape)
            for metric in differences
        ]
        return cls(
            np.concatenate([metric.values for metric in differences], axis=1),
            np.concatenate(weights, axis=1),
            np.concatenate([metric.noise for metric in differences], axis=1),
        )


class _Summary(NamedTuple):
    """The mean difference of each comparison, and how sure it is; `[comparisons]` each."""

    mean: np.ndarray
    error: np.ndarray  # the standard error of the mean
    freedom: np.ndarray  # degrees of freedom of the error; 0 for fewer than two lists
    effect: np.ndarray
    n_eff: np.ndarray

    @classmethod
    def of(cls, columns: _Columns) -> "_Summary":
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
        return cls(mean, error, freedom, np.where(lists > 1, effect, np.nan), n_eff)


def compared(
    differences: list[pairing.Differences],
    directions: list[bool | None],
    test: ComparisonTest,
    samples: int,
    level: float,
    key: jax.Array,
) -> list[Comparison]:
    """Makes a `Comparison` for every cutoff of every metric.

    Args:
        differences: The differences of each metric.
        directions: Whether lower values are better, for each comparison; see `Comparison`.
        test: See `compare`, also for `samples` and `level`.
        samples: Number of permutations or resamples.
        level: Coverage of the intervals.
        key: A typed PRNG key.
    """
    columns = _Columns.of(differences)
    values, weights = columns.values, columns.weights
    counts = weights > 0
    lists = counts.sum(0)
    mean, error, freedom, effect, n_eff = _Summary.of(columns)
    margin = chance.student_margin(error, freedom, level)
    if test == "t":
        p, samples = chance.student_p(mean, error, freedom), 0
    elif test == "permutation":
        p, samples = chance.sign_flip_test(weights * values, key, samples)
    else:
        # Differences that are all equal cannot be studentised. Only resamples that draw
        # one list alone are no evidence for them.
        p = np.where(mean == 0, 1.0, chance.probability_of_one_list(lists))
        p = np.where(lists > 1, np.maximum(p, 1 / (1 + samples)), 1)
        margin = np.where((mean != 0) & (p > 1 - level), np.inf, margin)
        varied = np.flatnonzero((lists > 1) & (error > 0))
        if varied.size:
            p[varied], margin[varied] = chance.studentised_bootstrap(
                values[:, varied], weights[:, varied], key, samples, level
            )
    p_holm = chance.holm(p)
    _warn_of_few_samples(p, p_holm, samples, level)
    above, ties, below = (
        np.sum(counts & mask, axis=0).tolist()
        for mask in (values > 0, values == 0, values < 0)
    )
    numbers = np.stack([mean, mean - margin, mean + margin, p, p_holm, effect], axis=1)
    wins_and_losses: dict[bool | None, tuple[list[int] | None, list[int] | None]] = {
        False: (above, below),
        True: (below, above),
        None: (None, None),
    }
    comparisons = []
    for column, lower in enumerate(directions):
        wins, losses = wins_and_losses[lower]
        comparisons.append(
            Comparison(
                *numbers[column].tolist(),
                wins=None if wins is None else wins[column],
                ties=ties[column],
                losses=None if losses is None else losses[column],
                lists=int(lists[column]),
                n_eff=float(n_eff[column]),
                test=test,
                samples=samples,
                level=level,
                lower_is_better=lower,
            )
        )
    return comparisons


def _warn_of_few_samples(
    p: np.ndarray, p_holm: np.ndarray, samples: int, level: float
) -> None:
    """Warns where samples are too few for the correction to leave anything significant."""
    bounds = [is_bound(value, samples) for value in p.tolist()]
    if np.any(bounds & (p_holm > 1 - level)):
        samples_needed = math.ceil(10 * len(p) / (1 - level))
        warnings.warn(
            f"p is at most 1 / (1 + samples) = {1 / (1 + samples):.2g} in {sum(bounds)} of "
            f"{len(p)} comparisons, and above {1 - level:.2g} once corrected for their "
            f"number: {samples} samples cannot resolve smaller p values; pass "
            f"samples={samples_needed} or more",
            stacklevel=4,
        )
