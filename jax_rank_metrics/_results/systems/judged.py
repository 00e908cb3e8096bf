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

# Values, weights, and how far rounding may move a value, `[lists, columns]` each.
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


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
    choice = undefined or human.undefined or judge.undefined
    arrays: list[Arrays] = []
    for lists in (human, judge):
        values, weights = lists.finite(choice)
        arrays.append((values[0], weights, lists.rounding * np.abs(values[0])))
    return _joined([human], [judge], arrays, clusters, undefined)[0]


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
    arrays = by_people[:3], by_judge[:3]
    judged, indices, numbers = _joined(lists, judge_lists, arrays, clusters, undefined)
    # A list that does not count for the judge does not count for people.
    counts = by_judge.weights[indices] > 0
    differences = by_people._replace(
        weights=np.where(counts, by_people.weights, 0),
        signs=np.where(counts, by_people.signs, np.nan),
        judged=judged,
    )
    return differences, None if numbers is None else numbers[indices]


def _joined(
    human: Sequence[ListValues],
    judge: Sequence[ListValues],
    arrays: Sequence[Arrays],
    clusters: Any,
    undefined: Undefined | None,
) -> tuple[JudgedLists, np.ndarray, np.ndarray | None]:
    """Finds the lists of people among those of the judge, by their ids.

    Args:
        human: The values by people, all of the same lists.
        judge: Those of the judge.
        arrays: What is made of both.
        clusters: As for `prediction_powered`.
        undefined: The choice of the call, or None.

    Returns:
        The lists, the number of each list of people among the judge's, `[labelled]`, and
        the cluster of each list of the judge, if there are clusters.
    """
    for x, y in zip(human, judge, strict=True):
        _ = undefined or common_undefined(x.name, x.undefined, y.name, y.undefined)
        for side in (x, y):
            if side.ids is None or side.has_seeds:
                problem = "is Seeds" if side.has_seeds else "has no list ids"
                raise ValueError(
                    f"{side.name} {problem}, and a judge is joined to people by single "
                    "values with ids; pass a Series, a frame or a dict of ids to values"
                )
    people, model = human[0], judge[0]
    (values, weights, noise), (judge_values, judge_weights, judge_noise) = arrays
    ids, index_of = people.ids or [], {x: i for i, x in enumerate(model.ids or [])}
    if missing := [name for name in ids if name not in index_of]:
        raise ValueError(
            f"ids: of the lists in {people.name}, {len(missing)} are not in {model.name}: "
            f"{listing(missing)}; pass the judge's values of all lists"
        )
    if weights.shape[1] != judge_weights.shape[1]:
        raise ValueError(f"{people.name} and {model.name} have different cutoffs")
    indices = np.array([index_of[name] for name in ids], np.int64)
    of_judge = judge_weights[indices]
    is_other = (weights > 0) & (of_judge > 0) & differ(weights, of_judge)
    for owner, is_wrong in ((model, np.isposinf(judge_weights)), (people, is_other)):
        if is_wrong.any():
            name = owner.id_of(_inputs.first_index(is_wrong)[0])
            raise ValueError(
                f"list {name!r} has an infinite weight in {model.name}, or another one "
                f"than in {people.name}; pass the same finite weights"
            )
    numbers = None if clusters is None else model.cluster_indices(clusters)
    largest = np.maximum(noise.max(0, initial=0), judge_noise.max(0, initial=0))
    sides = (values, weights), (judge_values, judge_weights)
    return JudgedLists.of(*sides, largest, indices, numbers), indices, numbers
