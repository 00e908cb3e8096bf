"""Comparisons of a call: their tests, and the family in which p is corrected."""

import math
import warnings
from collections.abc import Sequence

import numpy as np

from jax_rank_metrics._results.comparisons.columns import Columns, Summary
from jax_rank_metrics._results.comparisons.comparison import Comparison, is_bound
from jax_rank_metrics._results.comparisons.outcomes import tested
from jax_rank_metrics._results.inference import corrections
from jax_rank_metrics._results.inference.question import Place, Question
from jax_rank_metrics._results.systems.differences import Differences
from jax_rank_metrics._results.systems.seed_scores import summary_of


def compared(
    differences: list[Differences],
    places: Sequence[Place],
    question: Question,
    cluster_indices: np.ndarray | None = None,
) -> list[Comparison]:
    """Makes a `Comparison` for every cutoff of every metric.

    Args:
        differences: The differences of each metric.
        places: The place of each comparison.
        question: What is asked of all of them.
        cluster_indices: `[lists]`, the number of each list's cluster; None if every list
            is independent of the others.

    Raises:
        ValueError: if the differences are not fit for the test.
    """
    lists = Columns.of(differences)
    columns = lists if cluster_indices is None else lists.by_cluster(cluster_indices)
    tests = _tests_of(differences, question, cluster_indices is not None)
    in_family = np.array([place.in_family for place in places], bool)
    summary = Summary.of(columns)
    p, corrected, reach = np.ones((3, len(places)))
    samples = np.zeros(len(places), int)
    # The comparisons of a family with maxT are tested by themselves.
    is_apart = ~in_family & (question.correction == "maxT")
    for test, is_outside in sorted(
        set(zip(tests.tolist(), is_apart.tolist(), strict=True))
    ):
        chosen = np.flatnonzero((tests == test) & (is_apart == is_outside))
        outcome = tested(
            question._replace(test=test),
            columns.at(chosen),
            Summary(*(x[chosen] for x in summary)),
            [places[column] for column in chosen.tolist()],
            not is_outside,
        )
        p[chosen], reach[chosen], samples[chosen] = outcome[:3]
        corrected[chosen] = outcome.p if outcome.p_max is None else outcome.p_max
    correct = {
        "holm": corrections.holm,
        "fdr": corrections.false_discovery_rate,
    }.get(question.correction)
    if correct and question.test != "tukey":
        corrected[in_family] = correct(p[in_family])
    low, high = summary.mean - reach, summary.mean + reach
    if question.alternative != "two-sided":
        unbounded = high if question.alternative == "greater" else low
        unbounded[:] = math.inf if question.alternative == "greater" else -math.inf
    _warn_of_few_samples(p, samples, in_family, question)
    signs = np.concatenate([metric.signs for metric in differences], axis=1)
    counts = lists.weights > 0
    above, ties, below = (
        np.sum(counts & mask, axis=0).tolist()
        for mask in (signs > 0, signs == 0, signs < 0)
    )
    wins_and_losses: dict[bool | None, tuple[list[int] | None, list[int] | None]] = {
        False: (above, below),
        True: (below, above),
        None: (None, None),
    }
    numbers = np.stack([summary.mean, low, high, p, corrected, summary.effect], axis=1)
    cluster_counts = np.sum(columns.weights > 0, axis=0).tolist()
    comparisons = []
    for column, place in enumerate(places):
        wins, losses = wins_and_losses[place.direction]
        comparisons.append(
            Comparison(
                *numbers[column].tolist(),
                wins=None if wins is None else wins[column],
                ties=ties[column],
                losses=None if losses is None else losses[column],
                lists=int(counts[:, column].sum()),
                n_eff=float(summary.n_eff[column]),
                test=str(tests[column]),
                correction="tukey" if question.test == "tukey" else question.correction,
                alternative=question.alternative,
                margin=question.margin,
                samples=int(samples[column]),
                level=question.level,
                lower_is_better=place.direction,
                clusters=None if cluster_indices is None else cluster_counts[column],
                seeds=summary_of(
                    lists.sides[column],
                    lists.weights[:, column],
                    place.direction,
                    question,
                ),
            )
        )
    return comparisons


def _tests_of(
    differences: list[Differences], question: Question, has_clusters: bool
) -> np.ndarray:
    """The test of each comparison: the one asked for, or the bootstrap.

    Signs of lists can be flipped neither for ratios that weigh the lists differently nor
    for systems of several seeds.
    """
    tests = []
    for metric in differences:
        test = question.test
        if metric.sides or metric.is_pseudo:
            reason = (
                "values are Seeds"
                if metric.sides
                else "a and b are ratios that weigh the lists differently"
            )
            if test not in ("permutation", "bootstrap", "t"):
                raise ValueError(
                    f"test is {test!r}, but {reason}; pass 'bootstrap' or 't'"
                )
            for option, is_passed in (
                ("correction is 'maxT'", question.correction == "maxT"),
                ("mid_p is True", question.mid_p),
            ):
                if is_passed:
                    raise ValueError(
                        f"{option}, which flips signs of lists, but {reason}; leave it out"
                    )
            test = "bootstrap" if test == "permutation" else test
        if test == "mcnemar":
            weights = metric.weights[metric.weights > 0]
            if not metric.is_binary:
                raise ValueError("test is 'mcnemar', but some values are not 0 or 1")
            if has_clusters or (weights != weights.max(initial=0)).any():
                raise ValueError(
                    "test is 'mcnemar', which counts lists: it takes no clusters, and no "
                    "weights that differ; pass 'permutation'"
                )
        tests += [test] * metric.values.shape[1]
    return np.array(tests)


def _warn_of_few_samples(
    p: np.ndarray, samples: np.ndarray, in_family: np.ndarray, question: Question
) -> None:
    """Warns where samples are too few for the correction to leave anything significant."""
    is_multiplied = question.correction != "maxT" and question.test != "tukey"
    comparisons = int(in_family.sum()) if is_multiplied else 1
    floor = 1 / (1 + question.samples)
    if (samples > 0).any() and floor * comparisons > 1 - question.level:
        bounds = sum(map(is_bound, p.tolist(), samples.tolist()))
        samples_needed = math.ceil(10 * comparisons / (1 - question.level))
        warnings.warn(
            f"p is at most 1 / (1 + samples) = {floor:.2g} in {bounds} of {len(p)} "
            f"comparisons, and above {1 - question.level:.2g} once corrected for their "
            f"number: {question.samples} samples cannot resolve smaller p values; pass "
            f"samples={samples_needed} or more",
            stacklevel=4,
        )
