"""`jrm.prediction_powered`: lists of people are found among those of a judge."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._names import directions
from jax_rank_metrics._values import list_arrays
from jax_rank_metrics._verdicts.inference import judges
from jax_rank_metrics._verdicts.systems import list_values, reading
from jax_rank_metrics._verdicts.systems.differences import Differences

# Values, weights, and how far rounding may move a value, `[lists, columns]` each.
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def prediction_powered(
    human: reading.Values,
    judge: reading.Values,
    *,
    clusters: Any = None,
    undefined: types.Undefined | None = None,
) -> reading.Nested[judges.PredictionPowered]:
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
            what values were measured with, or else "zero". Of values that are missing (NaN,
            None, NA, null), None takes those of people for lists that they have not
            labelled, and raises for those of the judge.

    Returns:
        A `PredictionPowered`, or dicts of these by system, task and metric. `table` and
        `plots` take them as they take means.

    Raises:
        ValueError: if values have no ids of lists; if the judge lacks a list, a system or a
            metric of people, or weighs a list differently; if values are `Seeds`, or not
            finite; if a value of the judge is missing; if a list has no cluster.
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
    inputs.check_undefined(undefined)
    pairs = judged_records(human, judge, undefined)
    if undefined is None:
        zeros = [
            (side.path, side.lists.zero_counts()) for pair in pairs for side in pair
        ]
        directions.warn_of_zeros(zeros)
    return reading.nested(
        {
            of_people.keys: _powered(of_people, of_judge, clusters, undefined)
            for of_people, of_judge in pairs
        }
    )


def _powered(
    human: reading.Record,
    judge: reading.Record,
    clusters: Any,
    undefined: types.Undefined | None,
) -> judges.PredictionPowered:
    """Joins the values of a metric by people and judge."""
    people = human.lists
    means = judged_lists(people, judge.lists, clusters, undefined).means()
    if not people.has_cutoffs:
        means = means.at(0)
    return dataclasses.replace(
        means,
        lists=int(np.max(means.lists)),
        other_lists=int(np.max(means.other_lists)),
        undefined=int(people.undefined_lists.any(1).sum()),
    )


def judged_records(
    human: reading.Values,
    judge: reading.Values,
    undefined: types.Undefined | None = None,
    fix_missing: str | None = None,
) -> list[tuple[reading.Record, reading.Record]]:
    """Pairs the records of people with those of the judge, by system, task and metric.

    Args:
        human: The values of people; what is missing they have not labelled.
        judge: Those of the judge, of which none may be missing.
        undefined: As for `prediction_powered`.
        fix_missing: What to do about values that are missing, in those of people, too.

    Raises:
        ValueError: if the judge has no such record.
    """
    of_judge = {
        record.keys: record
        for record in reading.read(
            judge, "judge", ("metric",), undefined, fix_missing or reading.FIX_MISSING
        )
    }
    records = reading.read(human, "human", ("metric",), undefined, fix_missing or "")
    if missing := [record.keys for record in records if record.keys not in of_judge]:
        raise ValueError(
            f"judge lacks {list_values.listing(missing)}, which human holds; it has "
            f"{list_values.listing(list(of_judge))}: pass the same systems and metrics"
        )
    return [(record, of_judge[record.keys]) for record in records]


def judged_lists(
    human: list_values.ListValues,
    judge: list_values.ListValues,
    clusters: Any = None,
    undefined: types.Undefined | None = None,
) -> judges.JudgedLists:
    """Joins the values of a metric by people and judge; `prediction_powered` has errors."""
    choice = undefined or human.undefined or judge.undefined
    arrays: list[Arrays] = []
    for lists in (human, judge):
        values, weights = lists.filled(choice, must_be_finite=True)
        arrays.append((values[0], weights, lists.rounding * np.abs(values[0])))
    labelled = human.is_known("zero")
    return _joined([human], [judge], arrays, labelled, clusters, undefined)[0]


def beside_judge(
    human: Sequence[list_values.ListValues],
    by_people: Differences,
    judge: Sequence[list_values.ListValues],
    clusters: Any,
    undefined: types.Undefined | None,
) -> tuple[Differences, np.ndarray | None]:
    """Returns the differences by people, with those of a judge beside them.

    Args:
        human: The values by labels of people, as of `Differences.of_pairs`.
        by_people: Their differences.
        judge: Those of the judge, which has more lists.
        clusters: As for `compare`.
        undefined: As for `compare`.

    Returns:
        The differences, and the cluster of each list of people, if there are clusters.

    Raises:
        ValueError: as for `prediction_powered`.
    """
    by_judge = Differences.of_pairs(judge, undefined)
    arrays = [(side.values, side.weights, side.noise) for side in (by_people, by_judge)]
    labelled = np.concatenate(
        [
            a.is_known("zero") & b.is_known("zero")
            for a, b in zip(human[::2], human[1::2], strict=True)
        ],
        axis=1,
    )
    judged, indices, numbers = _joined(
        human, judge, arrays, labelled, clusters, undefined
    )
    # A list that does not count for the judge does not count for people.
    weights = np.where(by_judge.weights[indices] > 0, by_people.side_weights, 0)
    differences = dataclasses.replace(by_people, side_weights=weights, judged=judged)
    return differences, None if numbers is None else numbers[indices]


def _joined(
    human: Sequence[list_values.ListValues],
    judge: Sequence[list_values.ListValues],
    arrays: Sequence[Arrays],
    labelled: np.ndarray,
    clusters: Any,
    undefined: types.Undefined | None,
) -> tuple[judges.JudgedLists, np.ndarray, np.ndarray | None]:
    """Finds the lists of people among those of the judge, by their ids.

    Args:
        human: The values by people, all of the same lists.
        judge: Those of the judge.
        arrays: What is made of both.
        labelled: `[labelled, columns]`, which of their lists people have looked at.
        clusters: As for `prediction_powered`.
        undefined: The choice of the call, or None.

    Returns:
        The lists, the number of each list of people among the judge's, `[labelled]`, and
        the cluster of each list of the judge, if there are clusters.
    """
    for sides in zip(human, judge, strict=True):
        _ = undefined or list_values.common_undefined(
            (side.name, side.undefined) for side in sides
        )
        for side in sides:
            if side.ids is None or side.has_seeds:
                problem = "is Seeds" if side.has_seeds else "has no list ids"
                raise ValueError(
                    f"{side.name} {problem}, and a judge is joined to people by single "
                    "values with ids; pass a Series, a frame or a dict of ids to values"
                )
    people, model = human[0], judge[0]
    (values, weights, noise), (judge_values, judge_weights, judge_noise) = arrays
    indices = people.indices_in(model, "pass the judge's values of all lists")
    if weights.shape[1] != judge_weights.shape[1]:
        raise ValueError(f"{people.name} and {model.name} have different cutoffs")
    of_judge = judge_weights[indices]
    is_other = (weights > 0) & (of_judge > 0) & list_arrays.differ(weights, of_judge)
    for owner, is_wrong in ((model, np.isposinf(judge_weights)), (people, is_other)):
        if is_wrong.any():
            name = owner.id_of(inputs.first_index(is_wrong)[0])
            raise ValueError(
                f"list {name!r} has an infinite weight in {model.name}, or another one "
                f"than in {people.name}; pass the same finite weights"
            )
    numbers = None if clusters is None else model.cluster_indices(clusters)
    largest = np.maximum(noise.max(0, initial=0), judge_noise.max(0, initial=0))
    sides = (values, weights), (judge_values, judge_weights)
    judged = judges.JudgedLists.of(*sides, largest, indices, numbers, labelled)
    return judged, indices, numbers
