"""Comparisons of a call: their tests, and the family in which p is corrected."""

import math
import warnings
from collections.abc import Sequence

import numpy as np

from jax_rank_metrics._results.comparisons.comparison import Comparison
from jax_rank_metrics._results.comparisons.outcomes import tested
from jax_rank_metrics._results.inference import p_values
from jax_rank_metrics._results.inference.means import Summary
from jax_rank_metrics._results.inference.question import Question, Subject
from jax_rank_metrics._results.systems.differences import Differences
from jax_rank_metrics._results.systems.seed_scores import summary_of

# Effective numbers of lists below which resamples mislead where weights differ, and below
# which they mean nothing.
FEW_TO_RESAMPLE, FEWEST_TO_RESAMPLE = 50, 3


def compared(
    lists: Differences,
    subjects: Sequence[Subject],
    question: Question,
    cluster_indices: np.ndarray | None = None,
) -> list[Comparison]:
    """Makes a `Comparison` for every column of differences.

    Args:
        lists: The differences.
        subjects: What each comparison compares.
        question: What is asked of all of them.
        cluster_indices: `[lists]`, the number of each list's cluster; None if every list
            is independent of the others.

    Raises:
        ValueError: if the differences are not fit for the test.
    """
    columns = lists if cluster_indices is None else lists.by_cluster(cluster_indices)
    tests = _tests_of(lists, question, cluster_indices is not None)
    in_family = np.array([subject.in_family for subject in subjects], bool)
    summary = columns.summary()
    by_judge = None if columns.judged is None else columns.judged.means()
    unit = "lists" if cluster_indices is None else "clusters"
    _check_heavy_lists(tests == "bootstrap", columns, summary.n_eff, unit)
    # p is that of a single comparison, and `reach` the half-width of its interval.
    p, corrected, reach = np.ones((3, len(subjects)))
    samples = np.zeros(len(subjects), int)
    # The comparisons of a family with maxT are tested by themselves.
    is_apart = ~in_family & (question.correction == "maxT")
    has_ratios = np.array([x is not None for x in columns.ratios], bool)
    # Comparisons of one group are tested under the same random patterns.
    groups = list(zip(tests.tolist(), is_apart.tolist(), has_ratios, strict=True))
    for group in sorted(set(groups)):
        test, is_outside, _ = group
        chosen = np.flatnonzero([x == group for x in groups])
        outcome = tested(
            question._replace(test=test),
            columns.at(chosen),
            Summary(*(x[chosen] for x in summary)),
            [subjects[column] for column in chosen.tolist()],
            not is_outside,
        )
        p[chosen], reach[chosen], samples[chosen] = outcome[:3]
        corrected[chosen] = outcome.p if outcome.p_max is None else outcome.p_max
    correct = {
        "holm": p_values.holm,
        "fdr": p_values.false_discovery_rate,
    }.get(question.correction)
    if correct and question.test != "tukey":
        corrected[in_family] = correct(p[in_family])
    # A one-sided question leaves the end open that its answer does not depend on.
    low, high = summary.mean - reach, summary.mean + reach
    if question.alternative != "two-sided":
        unbounded = high if question.alternative == "greater" else low
        unbounded[:] = math.inf if question.alternative == "greater" else -math.inf
    _warn_of_few_samples(samples, in_family, question)
    # Wins are of lists, also where clusters were compared.
    counts = lists.weights > 0
    above, ties, below = (
        np.sum(counts & mask, axis=0).tolist()
        for mask in (lists.signs > 0, lists.signs == 0, lists.signs < 0)
    )
    # By whether lower is better: a list in which b is lower is then its win.
    wins_and_losses: dict[bool | None, tuple[list[int] | None, list[int] | None]] = {
        False: (above, below),
        True: (below, above),
        None: (None, None),
    }
    # [comparisons, 6], in the order of the first fields of a `Comparison`.
    numbers = np.stack([summary.mean, low, high, p, corrected, summary.effect], axis=1)
    cluster_counts = np.sum(columns.weights > 0, axis=0).tolist()
    comparisons = []
    for column, subject in enumerate(subjects):
        wins, losses = wins_and_losses[subject.direction]
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
                lower_is_better=subject.direction,
                clusters=None if cluster_indices is None else cluster_counts[column],
                seeds=summary_of(
                    lists.sides[column],
                    lists.weights[:, column],
                    subject.direction,
                    question,
                ),
                judge=None if by_judge is None else by_judge.at(column),
                **subject.names._asdict(),
            )
        )
    return comparisons


def _tests_of(lists: Differences, question: Question, has_clusters: bool) -> np.ndarray:
    """The test of each comparison: the one asked for, or the bootstrap for seeds."""
    tests = []
    for column, (sides, ratios) in enumerate(
        zip(lists.sides, lists.ratios, strict=True)
    ):
        test = question.test
        if lists.judged is not None and ratios is not None:
            raise ValueError(
                "a and b are ratios that weigh the lists differently, which a judge cannot "
                "help to compare; leave judge out"
            )
        if sides or ratios is not None:
            reason = (
                "values are Seeds"
                if sides
                else "a and b are ratios that weigh the lists differently"
            )
            if test not in ("permutation", "bootstrap", "t"):
                raise ValueError(
                    f"test is {test!r}, but {reason}; pass 'permutation' or 't'"
                )
            for option, is_passed in (
                ("correction is 'maxT'", question.correction == "maxT"),
                ("mid_p is True", question.mid_p),
            ):
                if is_passed:
                    raise ValueError(
                        f"{option}, which flips signs of lists, but {reason}; leave it out"
                    )
            # Signs cannot be flipped where the lists of both sides hold several seeds.
            test = "bootstrap" if sides and test == "permutation" else test
        if test == "mcnemar":
            weights = lists.weights[:, column]
            if not lists.is_binary[column]:
                raise ValueError("test is 'mcnemar', but some values are not 0 or 1")
            if has_clusters or len(set(weights[weights > 0].tolist())) > 1:
                raise ValueError(
                    "test is 'mcnemar', which counts lists: it takes no clusters, and no "
                    "weights that differ; pass 'permutation'"
                )
        tests.append(test)
    return np.array(tests)


def _check_heavy_lists(
    is_resampled: np.ndarray, columns: Differences, n_eff: np.ndarray, unit: str
) -> None:
    """Checks that no few lists have so much weight that resamples mislead.

    Raises:
        ValueError: if fewer than three lists count, of values that are no `Seeds`.
    """
    lists = np.sum(columns.weights > 0, axis=0)
    is_heavy = is_resampled & (n_eff < FEW_TO_RESAMPLE) & (n_eff < 0.9 * lists)
    if not is_heavy.any():
        return
    has_seeds = np.array([len(sides) > 0 for sides in columns.sides], bool)
    message = (
        "weights differ so much that {} {} count as {:.3g} (n_eff), too few to "
        "resample: equal systems would differ too often; pass test={}"
    )
    # The message is about the worst of them.
    column = np.flatnonzero(is_heavy)[np.argmin(n_eff[is_heavy])]
    instead = "'t'" if has_seeds[column] else "'t' or 'permutation'"
    message = message.format(lists[column], unit, n_eff[column], instead)
    if (is_heavy & ~has_seeds & (n_eff < FEWEST_TO_RESAMPLE)).any():
        raise ValueError(f"test is 'bootstrap', but {message}")
    warnings.warn(message, stacklevel=4)


def _warn_of_few_samples(
    samples: np.ndarray, in_family: np.ndarray, question: Question
) -> None:
    """Warns where samples are too few for the correction to leave anything significant."""
    # maxT and Tukey compare with a largest value, whose p is not multiplied.
    is_multiplied = question.correction != "maxT" and question.test != "tukey"
    comparisons = int(in_family.sum()) if is_multiplied else 1
    floor = 1 / (1 + question.samples)
    if (samples > 0).any() and floor * comparisons > 1 - question.level:
        of_family = f" once corrected for {comparisons} comparisons"
        # Ten times as many as let the least p just pass.
        samples_needed = math.ceil(10 * comparisons / (1 - question.level))
        warnings.warn(
            f"p is never below 1 / (1 + samples) = {floor:.2g}, and so never below "
            f"{1 - question.level:.2g}{of_family if comparisons > 1 else ''}: "
            f"{question.samples} samples cannot resolve smaller p values; pass "
            f"samples={samples_needed} or more",
            stacklevel=4,
        )
