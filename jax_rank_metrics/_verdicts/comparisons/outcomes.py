"""Turns differences into comparisons: the question, the tests, and the correction of p.

`Question` holds the options of a call, `Subject` says what a column of differences
compares, `compared` makes a `Comparison` of each column, and `tested` runs one test.
"""

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_rank_metrics._ground import choices
from jax_rank_metrics._values import list_arrays
from jax_rank_metrics._verdicts.comparisons.comparisons import Comparison
from jax_rank_metrics._verdicts.comparisons.lists import ListPairs
from jax_rank_metrics._verdicts.inference import (
    margin_bounds,
    p_values,
    randomised,
    studentised,
)
from jax_rank_metrics._verdicts.inference.resample import FEW
from jax_rank_metrics._verdicts.inference.weighted_means import Summary
from jax_rank_metrics._verdicts.systems.differences import Differences
from jax_rank_metrics._verdicts.systems.seeds import summary_of

# If weights differ and the effective number of lists is below the first number,
# resamples mislead, so warn. Below the second number they mean nothing, so raise,
# except for `Seeds`.
FEW_TO_RESAMPLE, FEWEST_TO_RESAMPLE = 50, 3


class Question(NamedTuple):
    """The options of a call of `compare`, which hold for all of its comparisons."""

    key: jax.Array
    samples: int
    level: float
    test: choices.ComparisonTest = "permutation"
    correction: choices.Correction = "holm"
    alternative: choices.Alternative = "two-sided"
    margin: float | None = None
    mid_p: bool = False

    def check(self, of_judges: Sequence[str] | None = None) -> None:
        """Raises ValueError if an option does not apply beside another option.

        If there is a judge, pass the tests that a judge allows as `of_judges`.
        """
        pair_tests = ("permutation", "bootstrap", "t", "mcnemar")
        # A dict from options to a pair: whether the option was passed, and the tests
        # that take it.
        options = {
            "correction='maxT'": (self.correction == "maxT", ("permutation",)),
            "correction='fdr'": (self.correction == "fdr", pair_tests),
            "mid_p": (self.mid_p, ("permutation", "mcnemar")),
            "margin": (self.margin, ("permutation", "bootstrap", "t")),
            f"alternative={self.alternative!r}": (
                self.alternative != "two-sided",
                pair_tests,
            ),
        }
        for option, (is_passed, tests) in options.items():
            if is_passed and self.test not in tests:
                known = [repr(test) for test in tests if test in (of_judges or tests)]
                cure = f"pass the test {' or '.join(known)}, or " if known else ""
                raise ValueError(
                    f"test is {self.test!r}, which does not take {option}; {cure}leave "
                    "that option out"
                )
        if (
            self.correction == "maxT"
            and self.margin
            and self.alternative == "two-sided"
        ):
            raise ValueError(
                "correction is 'maxT', which does not take a two-sided margin; pass "
                "correction='holm', or alternative='greater' or 'less'"
            )

    def hypotheses(self) -> list[tuple[float, choices.Alternative]]:
        """Returns null hypotheses: a shift of differences, and the side that refutes.

        A test of equivalence has to refute two hypotheses, so its p is the larger p of
        the two.
        """
        if self.margin is None:
            return [(0.0, self.alternative)]
        # b − a is above −margin if b − a + margin is above 0, so shift by the margin.
        sides: list[tuple[float, choices.Alternative]] = [
            (self.margin, "greater"),
            (-self.margin, "less"),
        ]
        return [side for side in sides if self.alternative in ("two-sided", side[1])]


class Subject(NamedTuple):
    """The systems, the metric and the names of a comparison."""

    direction: bool | None  # `Comparison.lower_is_better`
    systems: tuple[int, int] = (0, 1)
    metric: int = 0  # the number of the metric and the cutoff
    names: Mapping[str, Any] = {}  # `NAME_FIELDS` and the signature


def compared(
    lists: Differences,
    subjects: Sequence[Subject],
    question: Question,
    cluster_indices: np.ndarray | None = None,
) -> list[Comparison]:
    """Makes a `Comparison` for every column of differences.

    Args:
        lists: The differences.
        subjects: The systems and the metric of each comparison.
        question: The options, which hold for all comparisons.
        cluster_indices: `[lists]`, the number of each list's cluster; None if every list
            is independent of the others.

    Raises:
        ValueError: if the test cannot be applied to the differences.
    """
    columns = lists if cluster_indices is None else lists.by_cluster(cluster_indices)
    tests = _tests_of(lists, question, cluster_indices is not None)
    summary = columns.summary()
    by_judge = None if columns.judged is None else columns.judged.means()
    unit = "lists" if cluster_indices is None else "clusters"
    _warn_of_few_differences(columns, question)
    _check_heavy_lists(tests == "bootstrap", columns, summary.n_eff, unit)
    # p is not corrected: it is computed as if each comparison were the only one.
    p, corrected = np.ones((2, len(subjects)))
    reach = np.stack([_student_reach(question, summary)] * 2)  # to both ends
    samples = np.zeros(len(subjects), int)
    # Comparisons of the same test and kind of values share their random patterns.
    groups = list(zip(tests.tolist(), columns.are_ratios, strict=True))
    for group in sorted(set(groups)):
        test, _ = group
        chosen = np.flatnonzero([column_group == group for column_group in groups])
        outcome = tested(
            question._replace(test=test),
            columns.at(chosen),
            Summary(*(field[chosen] for field in summary)),
            [subjects[column] for column in chosen.tolist()],
        )
        p[chosen], samples[chosen] = outcome.p, outcome.samples
        if outcome.reach is not None:
            reach[:, chosen] = outcome.reach
        corrected[chosen] = outcome.p if outcome.p_max is None else outcome.p_max
    correct = {
        "holm": p_values.holm,
        "fdr": p_values.false_discovery_rate,
    }.get(question.correction)
    if correct and question.test != "tukey":
        corrected = correct(p)
    # A one-sided interval is unbounded on the side that the answer does not depend on.
    low, high = summary.mean - reach[0], summary.mean + reach[1]
    if question.alternative == "less":
        low[:] = -math.inf
    elif question.alternative == "greater":
        high[:] = math.inf
    _warn_of_few_samples(samples, question)
    # Count wins over lists, even if clusters were compared.
    counts, signs = lists.weights > 0, lists.signs
    above, ties, below = (
        np.sum(counts & (signs == sign), axis=0).tolist() for sign in (1, 0, -1)
    )
    # [comparisons, 6], in the order of the first fields of a `Comparison`.
    numbers = np.stack([summary.mean, low, high, p, corrected, summary.effect], axis=1)
    values = *lists.sides, np.where(counts, lists.side_weights[0], 0)
    cluster_counts = np.sum(columns.weights > 0, axis=0).tolist()
    comparisons = []
    for column, subject in enumerate(subjects):
        # If lower is better, b wins the lists in which it is below a.
        wins, losses = {
            False: (above[column], below[column]),
            True: (below[column], above[column]),
            None: (None, None),
        }[subject.direction]
        comparisons.append(
            Comparison(
                *numbers[column].tolist(),
                wins=wins,
                ties=ties[column],
                losses=losses,
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
                    lists.seeds[column],
                    lists.weights[:, column],
                    subject.direction,
                    question.key,
                    question.samples,
                    question.level,
                ),
                undefined=int(lists.undefined[column]),
                judge=None if by_judge is None else by_judge.at(column),
                values=ListPairs(
                    lists.ids,
                    *(part[:, column] for part in values),
                    largest=float(lists.ranges[column]),
                ),
                **subject.names,
            )
        )
    return comparisons


def _tests_of(lists: Differences, question: Question, has_clusters: bool) -> np.ndarray:
    """Returns the test of each comparison: usually the test of the question.

    If values have seeds, the bootstrap replaces the permutation test.

    Raises:
        ValueError: if a test or an option does not fit the values.
    """
    tests = []
    for column, (seeds, is_ratio) in enumerate(
        zip(lists.seeds, lists.are_ratios, strict=True)
    ):
        test = question.test
        if lists.judged is not None and is_ratio:
            raise ValueError(
                "a and b are ratios that weigh the lists differently, and a judge cannot "
                "help to compare them; leave judge out"
            )
        if seeds or is_ratio:
            reason = (
                "values are Seeds"
                if seeds
                else "a and b are ratios that weigh the lists differently"
            )
            if test not in ("permutation", "bootstrap", "t"):
                raise ValueError(
                    f"test is {test!r}, which is not possible because {reason}; pass "
                    "test='permutation' or test='t'"
                )
            for option, is_passed in (
                ("correction is 'maxT'", question.correction == "maxT"),
                ("mid_p is True", question.mid_p),
            ):
                if is_passed:
                    raise ValueError(
                        f"{option}, which needs differences whose signs can be flipped, "
                        f"but {reason}; leave that option out"
                    )
            # A list with several seeds has no single difference whose sign could be
            # flipped.
            test = "bootstrap" if seeds and test == "permutation" else test
        if test == "mcnemar":
            weights = lists.weights[:, column]
            if not lists.is_binary[column]:
                raise ValueError(
                    "test is 'mcnemar', but some values are not 0 or 1; pass "
                    "test='permutation'"
                )
            if has_clusters or len(set(weights[weights > 0].tolist())) > 1:
                raise ValueError(
                    "test is 'mcnemar', which counts lists and takes neither clusters nor "
                    "weights that differ; pass test='permutation'"
                )
        tests.append(test)
    return np.array(tests)


def _check_heavy_lists(
    is_resampled: np.ndarray, columns: Differences, n_eff: np.ndarray, unit: str
) -> None:
    """Warns if a few lists carry so much of the weight that resamples mislead.

    Raises:
        ValueError: if the effective number of lists is below three, unless values are
            `Seeds`.
    """
    lists = np.sum(columns.weights > 0, axis=0)
    is_heavy = is_resampled & (n_eff < FEW_TO_RESAMPLE) & (n_eff < 0.9 * lists)
    if not is_heavy.any():
        return
    has_seeds = np.array(
        [len(column_seeds) > 0 for column_seeds in columns.seeds], bool
    )
    message = (
        "weights differ so much that {} {} count as {:.3g} (n_eff), too few to "
        "resample, so equal systems would seem to differ too often; pass {}"
    )
    # The message states the numbers of the comparison with the smallest n_eff.
    column = np.flatnonzero(is_heavy)[np.argmin(n_eff[is_heavy])]
    instead = "test='t'" + " or test='permutation'" * (not has_seeds[column])
    message = message.format(lists[column], unit, n_eff[column], instead)
    if (is_heavy & ~has_seeds & (n_eff < FEWEST_TO_RESAMPLE)).any():
        raise ValueError(f"test is 'bootstrap', but {message}")
    warnings.warn(message, stacklevel=4)


def _warn_of_few_differences(columns: Differences, question: Question) -> None:
    """Warns if a margin is tested and hardly any lists differ."""
    if question.margin is None or question.test == "t" or columns.judged is not None:
        return
    num_differing = columns.margin_bounds().num_differing
    lists = np.sum(columns.weights > 0, axis=0)
    is_few = num_differing < np.minimum(lists, margin_bounds.FEW)
    if is_few.any():
        warnings.warn(
            f"only {num_differing[is_few].min()} of {lists[is_few].max()} lists differ, "
            f"and test={question.test!r} does not allow for losses that these lists do not "
            "show; pass test='t', whose bounds for a margin do",
            stacklevel=4,
        )


def _warn_of_few_samples(samples: np.ndarray, question: Question) -> None:
    """Warns if samples are so few that even the least corrected p is above 1 − level."""
    # maxT and Tukey compare with the largest value, so no factor corrects their p.
    is_multiplied = question.correction != "maxT" and question.test != "tukey"
    comparisons = len(samples) if is_multiplied else 1
    floor = 1 / (1 + question.samples)
    if (samples > 0).any() and floor * comparisons > 1 - question.level:
        family_text = f" once corrected for {comparisons} comparisons"
        # Advise ten times the number of samples with which the least p just passes.
        samples_needed = math.ceil(10 * comparisons / (1 - question.level))
        warnings.warn(
            f"p is never below 1 / (1 + samples) = {floor:.2g}, and so never below "
            f"{1 - question.level:.2g}{family_text if comparisons > 1 else ''}: "
            f"{question.samples} samples cannot resolve smaller p values; pass "
            f"samples={samples_needed} or more",
            stacklevel=4,
        )


def tested(
    question: Question,
    columns: Differences,
    summary: Summary,
    subjects: Sequence[Subject],
) -> p_values.Outcome:
    """Tests comparisons with one test.

    Args:
        question: The options, with the test to use.
        columns: The differences. Either all of them or none come from ratios whose
            weights differ.
        summary: The means of the differences.
        subjects: The systems and the metric of each comparison.
    """
    if question.test == "tukey":
        return _tukey(columns, subjects, question)
    if question.test == "bootstrap":
        return _bootstrap(columns, summary, question)
    if question.test == "t":
        return _student(columns, summary, question)
    options = question.key, question.samples
    outcomes = []
    for shift, side in question.hypotheses():
        if question.test == "mcnemar":
            # A list that does not count is treated as a tie, which changes no p.
            changes = np.where(columns.weights > 0, columns.values, 0)
            outcome = p_values.Outcome(
                p_values.mcnemar_test(changes, side, question.mid_p)
            )
        elif columns.are_ratios.any():
            outcome = randomised.swap_test(
                [*columns.ratios.values()], *options, side, shift
            )
        else:
            terms = columns.weights * (columns.values + shift)
            with_max = question.correction == "maxT"
            outcome = randomised.sign_flip_test(
                terms, *options, side, question.mid_p, with_max
            )
        outcomes.append(outcome)
    return outcomes[0]._replace(p=_of_all([outcome.p for outcome in outcomes]))


def _of_all(p: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """Returns the p of refuting all hypotheses, `[comparisons]`: their largest p."""
    return np.max(p, axis=0)


def _student(
    columns: Differences, summary: Summary, question: Question
) -> p_values.Outcome:
    """Tests means by Student's t, or by bounds for a margin.

    The bounds do not know the errors of seeds, ratios and judges; these are tested by
    Student's t, also with a margin.
    """
    error_and_freedom = summary.error, summary.freedom
    hypotheses = question.hypotheses()
    p = np.stack(
        [
            p_values.student_p(summary.mean + shift, *error_and_freedom, side)
            for shift, side in hypotheses
        ]
    )
    reach = None
    if question.margin is not None and columns.judged is None:
        is_plain = (
            np.array([not seeds for seeds in columns.seeds]) & ~columns.are_ratios
        )
        bounds, level = columns.margin_bounds(), question.level
        if question.alternative == "two-sided":
            level = (1 + level) / 2
        p = np.where(is_plain, [bounds.p(*pair) for pair in hypotheses], p)
        reach = np.where(
            is_plain, bounds.reach(level), _student_reach(question, summary)
        )
    return p_values.Outcome(_of_all(p), reach=reach)


def _bootstrap(
    columns: Differences, summary: Summary, question: Question
) -> p_values.Outcome:
    """Tests means by resamples, which all hypotheses share."""
    lists = np.sum(columns.weights > 0, axis=0)
    # If all differences are equal, there is no error to divide by. Then every resample
    # supports the difference, unless it draws a single list again and again.
    smallest_p = np.maximum(
        studentised.probability_of_one_list(lists), 1 / (1 + question.samples)
    )
    is_unknown = (summary.mean != 0) & (smallest_p > 1 - question.level)
    reach = np.where(is_unknown, np.inf, _student_reach(question, summary))
    hypotheses = question.hypotheses()
    p = np.ones((len(hypotheses), len(lists)))
    for row, (shift, side) in enumerate(hypotheses):
        mean = summary.mean + shift
        is_evidence = {"greater": mean > 0, "less": mean < 0}.get(side, mean != 0)
        p[row] = np.where(is_evidence & (lists > 1), smallest_p, 1)
    is_known = (summary.error > 0) & np.isfinite(summary.error)
    varied = np.flatnonzero((lists > 1) & is_known)
    # Comparisons of one kind share their draws; with a judge, all comparisons share
    # them.
    kinds: list[Hashable] = [None] * len(varied)
    if columns.judged is None:
        # The kind is the number of seeds of each system, and the number of lists that
        # count, if it is small.
        kinds = [
            (tuple(map(len, columns.seeds[column])), min(lists[column], FEW + 1))
            for column in varied
        ]
    options = question.key, question.samples
    for kind in set(kinds):
        chosen = varied[[column_kind == kind for column_kind in kinds]]
        drawn = columns.at(chosen)
        if drawn.judged is not None:
            resamples = studentised.judged_bootstrap(drawn.judged, *options)
        else:
            differences = [(column[None],) for column in drawn.values.T]
            sides = drawn.seeds if drawn.seeds[0] else differences
            resamples = studentised.studentised_bootstrap(
                sides, drawn.weights, *options
            )
        all_p = [studentised.resampled_p(resamples, *pair) for pair in hypotheses]
        p[:, chosen] = all_p
        reach[chosen] = studentised.resampled_reach(
            resamples, question.level, question.alternative
        )
    return p_values.Outcome(_of_all(p), question.samples, reach=reach)


def _student_reach(question: Question, summary: Summary) -> np.ndarray:
    """Returns how far Student's intervals reach on each side of their means."""
    errors = summary.error, summary.freedom
    return p_values.student_reach(*errors, question.level, question.alternative)


def _tukey(
    columns: Differences, subjects: Sequence[Subject], question: Question
) -> p_values.Outcome:
    """Tests all pairs of systems by Tukey's test, for each metric and cutoff alone."""
    p = np.ones(len(subjects))
    samples = 0
    for metric in {subject.metric for subject in subjects}:
        members = [
            column
            for column, subject in enumerate(subjects)
            if subject.metric == metric
        ]
        weights = columns.weights[:, members]
        if list_arrays.differ(weights, weights[:, :1]).any():
            raise ValueError(
                "test is 'tukey', which needs the same lists for all systems, but "
                "undefined='skip' leaves out different lists for each pair; pass "
                "undefined='zero' or undefined='one'"
            )
        # Use differences from the baseline instead of values: the result of the test
        # does not change if the same amount is subtracted from all systems in a list.
        system_values = {0: np.zeros(len(weights))}
        for column in members:
            baseline, system = subjects[column].systems
            if baseline == 0:
                system_values[system] = columns.values[:, column]
        values = np.stack(
            [system_values[system] for system in range(len(system_values))]
        )
        p_of_pairs, samples = randomised.tukey_test(
            values, weights[:, 0], question.key, question.samples
        )
        p[members] = [p_of_pairs[subjects[column].systems] for column in members]
    return p_values.Outcome(p, samples)
