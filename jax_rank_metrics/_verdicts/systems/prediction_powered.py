"""`jrm.prediction_powered`: lists that people labelled are joined to a judge's lists."""

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
    """Estimates a mean from people's labels of few lists and a judge's labels of many.

    The mean of values from the labels of a judge, such as a language model, is precise
    but biased; the mean of values from people's labels is unbiased but imprecise. If
    both have labelled n lists (with values y from people and f from the judge), and
    only the judge has labelled N further lists, the estimate is

    .. math:: λ · mean_N(f) + mean_n(y − λ·f)

    which is unbiased for any judge, if the n lists are a random sample. λ minimises the
    error: it is cov(y, f) / ((1 + n/N) · var(f)), clipped to [0, 1]. If the judge does
    not help, λ is 0, and the estimate is the mean of people's values. The squared error
    is var_n(y − λ·f)/n + λ²·var_N(f)/N, with n − 2 as the divisor of the first
    variance, and intervals use Student's t with n − 2 degrees of freedom.

    If weights differ, moments are weighted, n and N are effective numbers of lists, and
    the error allows for heavy lists (HC3), as everywhere in this package. A cluster
    contributes to both terms of the error; its two contributions are summed before they
    are squared.

    Args:
        human: The values from people's labels, for a random sample of the judge's
            lists: one metric, or several metrics or systems, as `Systems` reads them.
            They need list ids: a dict from list ids to numbers, a pandas Series or
            frame (as `to_frame` makes it), or the result of a driver.
        judge: The values of the same systems and metrics from the judge's labels, with
            the same ids and weights.
        clusters: The id of a cluster for every list: a dict or a Series from list ids
            to cluster ids, or a sequence in the order of the judge's lists. n then
            counts labelled clusters.
        undefined: How a list counts if its metric is undefined: "zero", "one", or
            "skip", which keeps the lists whose values are all defined. None takes the
            choice that values were measured with, or else "zero". With None, a missing
            value (NaN, None, NA, null) of people means that they have not labelled the
            list, and a missing value of the judge is an error.

    Returns:
        A `PredictionPowered`, or dicts of them keyed by system, task and metric.
        `table` and `plots` accept these instead of means.

    Raises:
        ValueError: if values have no list ids; if the judge lacks a list, a system or a
            metric of people, or weighs a list differently; if values are `Seeds`, or not
            finite; if a value of the judge is missing; if a list has no cluster.
        TypeError: if values are traced, or are not per-list values.

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
            human_record.keys: _powered(human_record, judge_record, clusters, undefined)
            for human_record, judge_record in pairs
        }
    )


def _powered(
    human: reading.Record,
    judge: reading.Record,
    clusters: Any,
    undefined: types.Undefined | None,
) -> judges.PredictionPowered:
    """Returns the estimate of one metric from people's and the judge's values."""
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
    """Pairs people's records with the judge's records of the same system and metric.

    Args:
        human: The values from people's labels.
        judge: The values from the judge's labels.
        undefined: As for `prediction_powered`. With None, a missing value of people
            means a list that they have not labelled, and a missing value of the judge
            is an error.
        fix_missing: The advice of the error about missing values. If it is passed,
            missing values of people are also errors, unless `undefined` is passed.

    Raises:
        ValueError: if the judge lacks a record that people have.
    """
    judge_records = {
        record.keys: record
        for record in reading.read(
            judge, "judge", ("metric",), undefined, fix_missing or reading.FIX_MISSING
        )
    }
    records = reading.read(human, "human", ("metric",), undefined, fix_missing or "")
    if missing := [
        record.keys for record in records if record.keys not in judge_records
    ]:
        raise ValueError(
            f"judge lacks {list_values.listing(missing)}, which human holds; judge has "
            f"{list_values.listing(list(judge_records))}, so pass the same systems and "
            "metrics"
        )
    return [(record, judge_records[record.keys]) for record in records]


def judged_lists(
    human: list_values.ListValues,
    judge: list_values.ListValues,
    clusters: Any = None,
    undefined: types.Undefined | None = None,
) -> judges.JudgedLists:
    """Joins people's and judge's values of one metric; raises as `prediction_powered`."""
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
    """Joins differences from people's labels to differences from a judge's labels.

    Args:
        human: The values from people's labels, in pairs as for `Differences.of_pairs`.
        by_people: The differences of `human`.
        judge: The values from the judge's labels, in the same pairs, for more lists.
        clusters: As for `compare`.
        undefined: As for `compare`.

    Returns:
        The differences, and the cluster of each of people's lists; None without clusters.

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
    # A list that does not count for the judge does not count for people either.
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
    """Joins people's lists to the judge's lists by their ids.

    Args:
        human: The values from people's labels, all of the same lists.
        judge: The values from the judge's labels.
        arrays: The arrays of people's lists, then the arrays of the judge's lists.
        labelled: `[labelled, columns]`, True for lists that people have labelled.
        clusters: As for `prediction_powered`.
        undefined: The choice of the call, or None.

    Returns:
        The joined lists, the index of each list of people in the judge's lists,
        `[labelled]`, and the cluster of each list of the judge; None without clusters.
    """
    for sides in zip(human, judge, strict=True):
        _ = undefined or list_values.common_undefined(
            (side.name, side.undefined) for side in sides
        )
        for side in sides:
            if side.ids is None or side.has_seeds:
                problem = "is Seeds" if side.has_seeds else "has no list ids"
                raise ValueError(
                    f"{side.name} {problem}, but people's values and a judge's are joined "
                    "by list ids, with one value for each list; pass a Series, a frame or "
                    "a dict from ids to values"
                )
    people, model = human[0], judge[0]
    (values, weights, noise), (judge_values, judge_weights, judge_noise) = arrays
    indices = people.indices_in(model, "pass the judge's values of all lists")
    if weights.shape[1] != judge_weights.shape[1]:
        raise ValueError(
            f"{people.name} and {model.name} have different cutoffs; pass values at the "
            "same cutoffs"
        )
    matched_weights = judge_weights[indices]
    is_other = (
        (weights > 0)
        & (matched_weights > 0)
        & list_arrays.differ(weights, matched_weights)
    )
    for owner, is_wrong in ((model, np.isposinf(judge_weights)), (people, is_other)):
        if is_wrong.any():
            name = owner.id_of(inputs.first_index(is_wrong)[0])
            raise ValueError(
                f"list {name!r} has an infinite weight in {model.name}, or another weight "
                f"than in {people.name}; pass the same finite weights"
            )
    numbers = None if clusters is None else model.cluster_indices(clusters)
    largest = np.maximum(noise.max(0, initial=0), judge_noise.max(0, initial=0))
    sides = (values, weights), (judge_values, judge_weights)
    judged = judges.JudgedLists.of(*sides, largest, indices, numbers, labelled)
    return judged, indices, numbers
