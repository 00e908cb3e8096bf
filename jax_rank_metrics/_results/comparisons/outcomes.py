"""Runs the tests of comparisons: p values, and how far intervals reach."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jax_rank_metrics._choices import Alternative
from jax_rank_metrics._results.inference.draws import FEW
from jax_rank_metrics._results.inference.judged_bootstrap import judged_bootstrap
from jax_rank_metrics._results.inference.means import Summary
from jax_rank_metrics._results.inference.p_values import (
    mcnemar_test,
    student_p,
    student_reach,
)
from jax_rank_metrics._results.inference.permutations import sign_flip_test, tukey_test
from jax_rank_metrics._results.inference.question import Question, Subject
from jax_rank_metrics._results.inference.ratio_swaps import swap_test
from jax_rank_metrics._results.inference.studentised import (
    probability_of_one_list,
    studentised_bootstrap,
)
from jax_rank_metrics._results.systems.differences import Differences
from jax_rank_metrics._states.weights import differ


class Outcome(NamedTuple):
    """P values of a test, and how far intervals reach; `[comparisons]` each."""

    p: np.ndarray
    reach: np.ndarray  # the distance from the mean to the ends of its interval
    samples: int | np.ndarray  # random permutations or resamples; 0 without
    p_max: np.ndarray | None = None  # corrected by the largest of the family


def tested(
    question: Question,
    columns: Differences,
    summary: Summary,
    subjects: Sequence[Subject],
    is_family: bool,
) -> Outcome:
    """Tests comparisons by one test.

    Args:
        question: What is asked, with the test to use.
        columns: The differences, all of ratios whose weights differ, or none.
        summary: Their means.
        subjects: What each comparison compares.
        is_family: Whether the comparisons are those to correct p for, which "maxT" needs.
    """
    reach = student_reach(
        summary.error, summary.freedom, question.level, question.alternative
    )
    if question.test == "tukey":
        p, samples = _tukey_p(columns, subjects, question)
        return Outcome(p, reach, samples)
    outcomes = [
        _refuted(question, columns, summary, reach, is_family, *hypothesis)
        for hypothesis in question.hypotheses()
    ]
    reach = outcomes[0].reach
    # Each hypothesis has resampled one side of it; the interval of equivalence has two.
    if question.test == "bootstrap" and len(outcomes) > 1:
        reach = _bootstrap(question, columns, summary, reach).reach
    # Equivalence refutes both of its hypotheses, so that the weaker evidence counts.
    p = np.max([outcome.p for outcome in outcomes], axis=0)
    return outcomes[0]._replace(p=p, reach=reach)


def _refuted(
    question: Question,
    columns: Differences,
    summary: Summary,
    reach: np.ndarray,
    is_family: bool,
    shift: float,
    side: Alternative,
) -> Outcome:
    """Tests a hypothesis about shifted differences; arguments as of `tested`."""
    if question.test == "bootstrap":
        return _bootstrap(question, columns, summary, reach, shift, side)
    if question.test == "t":
        mean = summary.mean + shift
        p = student_p(mean, summary.error, summary.freedom, side)
        return Outcome(p, reach, 0)
    if question.test == "mcnemar":
        # A list that does not count is as one in which both systems agree.
        changes = np.where(columns.weights > 0, columns.values, 0)
        return Outcome(mcnemar_test(changes, side, question.mid_p), reach, 0)
    draws = question.key, question.samples, side
    if any(columns.ratios):
        ratios = [x for x in columns.ratios if x is not None]
        p, samples = swap_test(ratios, *draws, shift)
        return Outcome(p, reach, samples)
    terms = columns.weights * (columns.values + shift)
    with_max = is_family and question.correction == "maxT"
    flips = sign_flip_test(terms, *draws, question.mid_p, with_max)
    return Outcome(flips.p, reach, flips.samples, flips.p_max)


def _bootstrap(
    question: Question,
    columns: Differences,
    summary: Summary,
    reach: np.ndarray,
    shift: float = 0.0,
    alternative: Alternative = "two-sided",
) -> Outcome:
    """Tests means of shifted differences by resampling; `reach` is Student's."""
    lists = np.sum(columns.weights > 0, axis=0)
    # Differences that are all equal cannot be studentised. Only resamples that draw one
    # list alone are no evidence for them.
    p = np.maximum(probability_of_one_list(lists), 1 / (1 + question.samples))
    is_unknown = (summary.mean != 0) & (p > 1 - question.level)
    reach = np.where(is_unknown, np.inf, reach)
    mean = summary.mean + shift
    is_evidence = {"greater": mean > 0, "less": mean < 0}.get(alternative, mean != 0)
    p = np.where(is_evidence & (lists > 1), p, 1)
    is_known = (summary.error > 0) & np.isfinite(summary.error)
    varied = np.flatnonzero((lists > 1) & is_known)
    # How many seeds each side has, and how many lists count, if they are few.
    kinds = [
        (tuple(map(len, columns.sides[column])), min(lists[column], FEW + 1))
        for column in varied
    ]
    options = (question.key, question.samples, question.level, alternative)
    if columns.judged is not None and len(varied):
        drawn = columns.judged.at(varied)
        p[varied], reach[varied] = judged_bootstrap(drawn, shift, *options)
        return Outcome(p, reach, question.samples)
    for kind in set(kinds):
        # Comparisons of one kind share their draws.
        chosen = varied[[x == kind for x in kinds]]
        drawn = columns.at(chosen)
        sides = drawn.sides if kind[0] else [(x[None],) for x in drawn.values.T]
        p[chosen], reach[chosen] = studentised_bootstrap(
            sides, drawn.weights, shift, *options
        )
    return Outcome(p, reach, question.samples)


def _tukey_p(
    columns: Differences, subjects: Sequence[Subject], question: Question
) -> tuple[np.ndarray, int]:
    """P values of pairs of systems, of each metric and cutoff by itself."""
    p = np.ones(len(subjects))
    samples = 0
    for metric in {subject.metric for subject in subjects}:
        members = [i for i, subject in enumerate(subjects) if subject.metric == metric]
        weights = columns.weights[:, members]
        if differ(weights, weights[:, :1]).any():
            raise ValueError(
                "test is 'tukey', which needs the same lists for all systems, and "
                "undefined='skip' leaves out others for each pair; pass 'zero' or 'one'"
            )
        # Whatever the baseline has in a list, all systems have more or less by their
        # difference from it.
        of_systems = {0: np.zeros(len(weights))}
        for i in members:
            baseline, system = subjects[i].systems
            if baseline == 0:
                of_systems[system] = columns.values[:, i]
        values = np.stack([of_systems[system] for system in range(len(of_systems))])
        p_of_pairs, samples = tukey_test(
            values, weights[:, 0], question.key, question.samples
        )
        p[members] = [p_of_pairs[subjects[i].systems] for i in members]
    return p, samples
