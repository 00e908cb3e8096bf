"""Lists that people have labelled, found among those that a judge has labelled."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._results.inference.judged_lists import JudgedLists
from jax_rank_metrics._results.systems.differences import Differences
from jax_rank_metrics._results.systems.paired import common_undefined
from jax_rank_metrics._results.systems.systems import (
    Record,
    Values,
    read,
)
from jax_rank_metrics._results.systems.values import ListValues, listing
from jax_rank_metrics._states.weights import differ
from jax_rank_metrics._types import Undefined


def judged_records(human: Values, judge: Values) -> list[tuple[Record, Record]]:
    """Pairs the records of people with those of the judge, by system, task and metric.

    Raises:
        ValueError: if the judge has no such record.
    """
    of_judge = {x.keys: x for x in read(judge, "judge")}
    records = read(human, "human")
    missing = [x.keys for x in records if x.keys not in of_judge]
    if missing:
        raise ValueError(
            f"judge lacks {listing(missing)}, which human holds; it has "
            f"{listing(list(of_judge))}: pass the same systems and metrics"
        )
    return [(x, of_judge[x.keys]) for x in records]


def judged_lists(
    human: ListValues,
    judge: ListValues,
    clusters: Any = None,
    undefined: Undefined | None = None,
) -> JudgedLists:
    """Joins the values of a metric by people and judge; `prediction_powered` has errors."""
    indices = indices_in([judge], [human], undefined)
    undefined = undefined or human.undefined or judge.undefined
    (values,), weights = human.finite(undefined)
    (judge_values,), judge_weights = judge.finite(undefined)
    check_weights(human, weights, judge, judge_weights, indices)
    largest = np.maximum(*(np.abs(x).max(0, initial=0) for x in (values, judge_values)))
    return JudgedLists.of(
        values,
        weights,
        judge_values,
        judge_weights,
        max(human.rounding, judge.rounding) * largest,
        indices,
        None if clusters is None else judge.cluster_indices(clusters),
    )


def beside_judge(
    human: Differences,
    judge: Differences,
    lists: Sequence[ListValues],
    judge_lists: Sequence[ListValues],
    clusters: Any,
    undefined: Undefined | None,
) -> tuple[Differences, np.ndarray | None]:
    """Returns the differences by people, with those of a judge beside them.

    Args:
        human: The differences by labels of people.
        judge: Those of the judge, which has more lists.
        lists: The values by people, in the order of the differences.
        judge_lists: Those of the judge.
        clusters: As for `compare`.
        undefined: As for `compare`.

    Returns:
        The differences, and the cluster of each list of people, if there are clusters.

    Raises:
        ValueError: as for `prediction_powered`.
    """
    indices = indices_in(judge_lists, lists, undefined)
    weights, judge_weights = human.weights, judge.weights
    check_weights(lists[0], weights, judge_lists[0], judge_weights, indices)
    noise = np.maximum(*(x.noise.max(0, initial=0) for x in (human, judge)))
    numbers = None if clusters is None else judge_lists[0].cluster_indices(clusters)
    judged = JudgedLists.of(
        human.values, weights, judge.values, judge_weights, noise, indices, numbers
    )
    # A list that does not count for the judge does not count for people.
    counts = judge_weights[indices] > 0
    human = human._replace(
        weights=np.where(counts, weights, 0),
        signs=np.where(counts, human.signs, np.nan),
        judged=judged,
    )
    return human, None if numbers is None else numbers[indices]


def indices_in(
    judge: Sequence[ListValues],
    human: Sequence[ListValues],
    undefined: Undefined | None,
) -> np.ndarray:
    """Finds the lists of people among those of the judge, `[labelled]`.

    Args:
        judge: The values of metrics by the judge, all in one order.
        human: The same by people.
        undefined: The choice of the call, or None.

    Raises:
        ValueError: if any has no ids, or several seeds; if the judge lacks a list; if
            people and judge were measured with different choices of `undefined`.
    """
    for lists in (*human, *judge):
        if lists.ids is None:
            raise ValueError(
                f"{lists.name} has no list ids, so nothing says which lists both people "
                "and judge have labelled; pass a Series, a frame or a dict of ids to values"
            )
        if lists.has_seeds:
            raise ValueError(
                f"{lists.name} is Seeds, which no judge is for; pass values of one seed"
            )
    for x, y in zip(human, judge, strict=True):
        _ = undefined or common_undefined(x.name, x.undefined, y.name, y.undefined)
    ids = human[0].ids or []
    index_of = {name: index for index, name in enumerate(judge[0].ids or [])}
    if missing := [name for name in ids if name not in index_of]:
        raise ValueError(
            f"ids: of the lists in {human[0].name}, {len(missing)} are not in "
            f"{judge[0].name}: {listing(missing)}; pass the judge's values of all lists"
        )
    return np.array([index_of[name] for name in ids], np.int64)


def check_weights(
    human: ListValues,
    weights: np.ndarray,
    judge: ListValues,
    judge_weights: np.ndarray,
    indices: np.ndarray,
) -> None:
    """Raises ValueError unless people and judge have equal, finite weights.

    Args:
        human: The values of people, for their name.
        weights: `[labelled, columns]`; 0 for lists that do not count.
        judge: Those of the judge.
        judge_weights: `[lists, columns]`.
        indices: As of `indices_in`.
    """
    if weights.shape[1] != judge_weights.shape[1]:
        raise ValueError(f"{human.name} and {judge.name} have different cutoffs")
    of_judge = judge_weights[indices]
    for owner, is_wrong in (
        (judge, np.isposinf(judge_weights)),
        (human, (weights > 0) & (of_judge > 0) & differ(weights, of_judge)),
    ):
        if is_wrong.any():
            name = owner.id_of(_inputs.first_index(is_wrong)[0])
            raise ValueError(
                f"list {name!r} has an infinite weight in {judge.name}, or another one "
                f"than in {human.name}; pass the same finite weights"
            )
