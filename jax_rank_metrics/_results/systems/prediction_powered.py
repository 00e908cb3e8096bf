"""Prediction-powered means of metrics: `jrm.prediction_powered`."""

import dataclasses
from typing import Any

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._results.inference.prediction_powered import PredictionPowered
from jax_rank_metrics._results.systems.direction import warn_of_zeros
from jax_rank_metrics._results.systems.judged import judged_lists, judged_records
from jax_rank_metrics._results.systems.systems import Nested, Record, Values, nested
from jax_rank_metrics._types import Undefined


def prediction_powered(
    human: Values,
    judge: Values,
    *,
    clusters: Any = None,
    undefined: Undefined | None = None,
) -> Nested[PredictionPowered]:
    """Joins the labels of people, for few lists, and those of a judge, for many.

    The mean by a judge's labels, such as those of a language model, is sure but biased, and
    the mean by people's is unbiased but unsure. With n lists that both have labelled (y, f)
    and N that only the judge has, the estimate is

    .. math:: λ · mean_N(f) + mean_n(y − λ·f)

    which is unbiased whatever the judge says, if the n lists are a random sample. λ is the
    one of the smallest error, cov(y, f) / ((1 + n/N) · var(f)), within 0 and 1: a judge
    that is no help leaves the mean of people. The squared error is var_n(y − λ·f)/n +
    λ²·var_N(f)/N, with n − 2 as the divisor of the first variance, and intervals are those
    of Student's t with n − 2 degrees of freedom.

    Where weights differ, moments are weighted, n and N are effective numbers of lists, and
    the error allows for heavy lists (HC3), as everywhere in this package. What a cluster
    adds to the error in both parts is summed before it is squared.

    Args:
        human: The values by people's labels, for a random sample of the judge's lists:
            those of a metric, or of several metrics or systems, as `Systems` reads them.
            They need the ids of their lists: a dict of list ids to numbers, a pandas
            Series or frame (as `to_frame` makes it), or the result of a driver.
        judge: The values of the same systems and metrics by the judge's labels, with the
            same ids and weights.
        clusters: The id of a cluster for every list: a dict or a Series of list ids to
            these, or a sequence in the order of the judge's lists. n then counts labelled
            clusters.
        undefined: What a value counts as where the metric is undefined: "zero", "one", or
            "skip", which keeps the lists that are defined by all of their labels. None is
            what values were measured with, or else "zero".

    Returns:
        A `PredictionPowered`, or dicts of these by system, task and metric. `table` and
        `plots` take them as they take means.

    Raises:
        ValueError: if values have no ids of lists; if the judge lacks a list, a system or a
            metric of people, or weighs a list differently; if values are `Seeds`, or not
            finite; if a list has no cluster.
        TypeError: if values are traced, or are no values of lists.

    References:
        Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, Prediction-powered inference,
        Science 2023.
        Angelopoulos, Duchi & Zrnic, PPI++: efficient prediction-powered inference,
        arXiv 2311.01453.

    >>> human = {"q1": 0.5, "q3": 0.0, "q4": 1.0, "q7": 0.3}
    >>> judge = dict(zip("q1 q2 q3 q4 q5 q6 q7 q8 q9".split(),
    ...                  [0.9, 0.6, 0.2, 1.0, 0.9, 0.4, 0.3, 0.2, 1.0]))
    >>> result = prediction_powered(human, judge)
    >>> result
    PredictionPowered(0.464 ± 0.166, 4 lists, 5 of the judge alone, worth 6.44)
    >>> f"the judge is {result.judge_bias:.2f} above people; tuning {result.tuning:.2f}"
    'the judge is 0.15 above people; tuning 0.72'
    """
    if undefined is not None:
        _inputs.option("undefined", undefined, Undefined)
    pairs = judged_records(human, judge)
    if undefined is None:
        zeros = [(x.path, x.lists.zero_counts()) for pair in pairs for x in pair]
        warn_of_zeros(zeros)
    return nested(
        {
            of_people.keys: _powered(of_people, of_judge, clusters, undefined)
            for of_people, of_judge in pairs
        }
    )


def _powered(
    human: Record, judge: Record, clusters: Any, undefined: Undefined | None
) -> PredictionPowered:
    """Joins the values of a metric by people and judge."""
    people = human.lists
    means = judged_lists(people, judge.lists, clusters, undefined).means()
    is_undefined = ((people.weights > 0) & ~people.defined.all(0)).any(1)
    if not people.has_cutoffs:
        means = means.at(0)
    return dataclasses.replace(
        means,
        lists=int(np.max(means.lists)),
        other_lists=int(np.max(means.other_lists)),
        undefined=int(is_undefined.sum()),
    )
