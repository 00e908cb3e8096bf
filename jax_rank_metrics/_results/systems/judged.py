"""Lists that people have labelled, found among those that a judge has labelled."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._results.inference.judged_lists import JudgedLists
from jax_rank_metrics._results.systems.differences import Differences
from jax_rank_metrics._results.systems.paired import common_undefined
from jax_rank_metrics._results.systems.systems import Record, Values, read
from jax_rank_metrics._results.systems.values import ListValues, listing
from jax_rank_metrics._states.weights import differ
from jax_rank_metrics._types import Undefined

Columns = tuple[np.ndarray, np.ndarray]  # values and weights, `[lists, columns]` each


def judged_records(human: Values, judge: Values) -> list[tuple[Record, Record]]:
    """Pairs the records of people with those of the judge, by system, task and metric.

    Raises:
        ValueError: if the judge has no such record.
    """
    of_judge = {x.keys: x for x in read(judge, "judge")}
    records = read(human, "human")
    if missing := [x.keys for x in records if x.keys not in of_judge]:
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
    undefined = _undefined_of([human], [judge], undefined)
    (values,), weights = human.finite(undefined)
    (judge_values,), judge_weights = judge.finite(undefined)
    largest = [np.abs(x).max(0, initial=0) for x in (values, judge_values)]
    return JudgedLists.of(
        (values, weights),
        (judge_values, judge_weights),
        max(human.rounding, judge.rounding) * np.maximum(*largest),
        _indices_in(human, judge, weights, judge_weights),
        None if clusters is None else judge.cluster_indices(clusters),
    )


def beside_judge(
    human: tuple[Sequence[ListValues], Differences],
    judge: tuple[Sequence[ListValues], Differences],
    clusters: Any,
    undefined: Undefined | None,
) -> tuple[Differences, np.ndarray | None]:
    """Returns the differences by people, with those of a judge beside them.

    Args:
        human: The values by labels of people, and their differences.
        judge: Those of the judge, which has more lists.
        clusters: As for `compare`.
        undefined: As for `compare`.

    Returns:
        The differences, and the cluster of each list of people, if there are clusters.

    Raises:
        ValueError: as for `prediction_powered`.
    """
    (lists, by_people), (judge_lists, by_judge) = human, judge
    _undefined_of(lists, judge_lists, undefined)
    sides = [(x.values, x.weights) for x in (by_people, by_judge)]
    indices = _indices_in(lists[0], judge_lists[0], sides[0][1], sides[1][1])
    noise = np.maximum(*(x.noise.max(0, initial=0) for x in (by_people, by_judge)))
    numbers = None if clusters is None else judge_lists[0].cluster_indices(clusters)
    # A list that does not count for the judge does not count for people.
    counts = by_judge.weights[indices] > 0
    differences = by_people._replace(
        weights=np.where(counts, by_people.weights, 0),
        signs=np.where(counts, by_people.signs, np.nan),
        judged=JudgedLists.of(sides[0], sides[1], noise, indices, numbers),
    )
    return differences, None if numbers is None else numbers[indices]


def _undefined_of(
    human: Sequence[ListValues],
    judge: Sequence[ListValues],
    undefined: Undefined | None,
) -> Undefined | None:
    """Returns the choice that people and judge share.

    Raises:
        ValueError: if they differ, if lists have no ids, or if they are of several seeds.
    """
    for lists in (*human, *judge):
        if lists.ids is None or lists.has_seeds:
            problem = "is Seeds" if lists.has_seeds else "has no list ids"
            raise ValueError(
                f"{lists.name} {problem}, so that nothing says which lists both people and "
                "judge have labelled; pass a Series, a frame or a dict of ids to values"
            )
    for x, y in zip(human, judge, strict=True):
        undefined = undefined or common_undefined(
            x.name, x.undefined, y.name, y.undefined
        )
    return undefined


def _indices_in(
    human: ListValues,
    judge: ListValues,
    weights: np.ndarray,
    judge_weights: np.ndarray,
) -> np.ndarray:
    """Finds the lists of people among those of the judge, `[labelled]`.

    Args:
        human: The values of people, for their ids and their name.
        judge: Those of the judge.
        weights: `[labelled, columns]`; 0 for lists that do not count.
        judge_weights: `[lists, columns]`.

    Raises:
        ValueError: if the judge lacks a list, or weighs it differently; if a weight is
            infinite.
    """
    index_of = {name: index for index, name in enumerate(judge.ids or [])}
    ids = human.ids or []
    if missing := [name for name in ids if name not in index_of]:
        raise ValueError(
            f"ids: of the lists in {human.name}, {len(missing)} are not in {judge.name}: "
            f"{listing(missing)}; pass the judge's values of all lists"
        )
    if weights.shape[1] != judge_weights.shape[1]:
        raise ValueError(f"{human.name} and {judge.name} have different cutoffs")
    indices = np.array([index_of[name] for name in ids], np.int64)
    of_judge = judge_weights[indices]
    is_other = (weights > 0) & (of_judge > 0) & differ(weights, of_judge)
    for owner, is_wrong in ((judge, np.isposinf(judge_weights)), (human, is_other)):
        if is_wrong.any():
            name = owner.id_of(_inputs.first_index(is_wrong)[0])
            raise ValueError(
                f"list {name!r} has an infinite weight in {judge.name}, or another one "
                f"than in {human.name}; pass the same finite weights"
            )
    return indices
