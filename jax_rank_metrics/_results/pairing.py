"""Pairs the lists of two systems, by their ids or by their position."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jax_rank_metrics._results.paired import common_undefined, counted, differ, filled
from jax_rank_metrics._results.values import (
    ListValues,
    Path,
    checked_ids,
    listing,
    read_values,
)
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Undefined

Ids = tuple[Any, Any] | None


class Differences(NamedTuple):
    """b − a of every list, at every cutoff.

    Shapes:
        values: `[lists, cutoffs]`, one column without cutoffs; 0 for a tie.
        weights: `[lists]`, 0 for lists that do not count.
        noise: `[lists, cutoffs]`, how far rounding may move each difference.
    """

    values: np.ndarray
    weights: np.ndarray
    noise: np.ndarray
    has_cutoffs: bool


def pairs_of(a: Any, b: Any) -> dict[Path, tuple[ListValues, ListValues]]:
    """Pairs the metrics of a with those of b, or of every system in b.

    Returns:
        The values of a and of b, under the keys that lead to the values in b.

    Raises:
        ValueError: if either holds no metric, if their metrics differ, or if the values
            within a side differ in the number of lists.
    """
    baseline, compared = read_values(a, "a"), read_values(b, "b")
    for name, values in (("a", baseline), ("b", compared)):
        if not values:
            raise ValueError(f"{name} holds no metric; pass at least one")
    systems: list[Path] = [()]
    if baseline.keys() != compared.keys():
        # All keys of b must be a system's name followed by a metric of a.
        is_nested = isinstance(b, Mapping) and () not in compared
        systems = [(name,) for name in b] if is_nested else []
        expected = {(*system, *path) for system in systems for path in baseline}
        if compared.keys() != expected:
            raise ValueError(
                f"a holds {_keys(baseline)} and b holds {_keys(compared)}; pass values of "
                "the same metrics, or as b a dict of systems, each with the metrics of a"
            )
    for side in (baseline, compared):
        first, *following = side.values()
        for values in following:
            if values.list_count != first.list_count:
                raise ValueError(
                    f"{first.name} has {first.list_count} lists and {values.name} has "
                    f"{values.list_count}; pass values of the same lists"
                )
    return {
        (*system, *path): (values, compared[*system, *path])
        for system in systems
        for path, values in baseline.items()
    }


def nested(results: dict[Path, Any]) -> Any:
    """Returns the results as nested dicts; a result with the empty path, as it is.

    >>> nested({("mine", "map"): 1, ("mine", "mrr"): 2}), nested({(): 3})
    ({'mine': {'map': 1, 'mrr': 2}}, 3)
    """
    if set(results) == {()}:
        return results[()]
    parts: dict[Any, dict[Path, Any]] = {}
    for (key, *following), result in results.items():
        parts.setdefault(key, {})[tuple(following)] = result
    return {key: nested(part) for key, part in parts.items()}


def with_ids(
    pairs: dict[Path, tuple[ListValues, ListValues]], ids: Ids
) -> dict[Path, tuple[ListValues, ListValues]]:
    """Returns the pairs with an id for each list on both sides.

    Values that came with ids keep them. The other values take `ids`, which is
    `(ids_a, ids_b)`; if that is None, lists are numbered 0, 1, … on both sides.

    Raises:
        ValueError: if only one side has ids; if there are no ids and the sides differ in
            the number of lists; if `ids` is passed for values that came with ids.
        TypeError: if `ids` is not a tuple of two sequences.
    """
    first_a, first_b = next(iter(pairs.values()))
    sides = [values for pair in pairs.values() for values in pair]
    named = [values for values in sides if values.ids is not None]
    unnamed = [values for values in sides if values.ids is None]
    if ids is not None:
        if named:
            raise ValueError(f"{named[0].name} has list ids of its own; leave ids out")
        if not isinstance(ids, (tuple, list)) or len(ids) != 2:
            raise TypeError("ids: pass a tuple (ids_a, ids_b)")
        ids_a = checked_ids("a", ids[0], first_a.list_count)
        ids_b = checked_ids("b", ids[1], first_b.list_count)
    elif named and unnamed:
        raise ValueError(
            f"{named[0].name} has list ids and {unnamed[0].name} has none, so nothing says "
            "which lists belong together; pass both as a Series or a dict of ids to "
            "values, or both without ids, as arrays, with ids=(ids_a, ids_b)"
        )
    elif named:
        return pairs
    else:
        if first_a.list_count != first_b.list_count:
            raise ValueError(
                f"a has {first_a.list_count} lists and b has {first_b.list_count}; pass "
                "ids=(ids_a, ids_b), which say which of them belong together"
            )
        ids_a = ids_b = list(range(first_a.list_count))
    return {
        path: (a._replace(ids=ids_a), b._replace(ids=ids_b))
        for path, (a, b) in pairs.items()
    }


def differences(
    a: ListValues, b: ListValues, undefined: Undefined | None
) -> Differences:
    """The difference b − a of every list, in the order of a.

    A difference that rounding alone may explain becomes 0, a tie.

    Args:
        a: The baseline, with ids.
        b: The compared system, with the same ids in any order.
        undefined: As for `compare`: None is the choice that a or b was measured with, or
            "zero" if neither has one.

    Raises:
        ValueError: if cutoffs, ids or weights differ; if a and b were measured with
            different choices of `undefined`; if a value that counts is not finite.
    """
    if (
        a.lists.values.shape[1] != b.lists.values.shape[1]
        or a.has_cutoffs != b.has_cutoffs
    ):
        raise ValueError(f"{a.name} and {b.name} have different cutoffs")
    undefined = undefined or common_undefined(a.name, a.undefined, b.name, b.undefined)
    ids, lists_a, lists_b = a.ids or [], a.lists, _in_order_of(a, b)
    weights_a, weights_b = (np.asarray(x.weights) for x in (lists_a, lists_b))
    for index in np.flatnonzero(differ(weights_a, weights_b))[:1]:
        raise ValueError(
            f"list {ids[index]!r} has weight {weights_a[index]:g} in {a.name} and "
            f"{weights_b[index]:g} in {b.name}; pass lists of the same weights"
        )
    counts = counted(lists_a, lists_b, undefined)
    values = [
        np.where(counts[:, None], filled(x, undefined, np), 0)
        for x in (lists_a, lists_b)
    ]
    for name, side in zip((a.name, b.name), values, strict=True):
        for index in np.flatnonzero(~np.isfinite(side).all(1))[:1]:
            raise ValueError(
                f"{name} holds a value that is not finite, at list {ids[index]!r}: "
                f"{side[index].tolist()}; pass finite values, or a PerList in which it "
                "is undefined"
            )
    # A difference that may be rounding alone is a tie, and no evidence.
    size = np.maximum(np.abs(values[0]), np.abs(values[1]))
    noise = max(a.rounding, b.rounding) * size
    difference = values[1] - values[0]
    difference = np.where(np.abs(difference) <= noise, 0, difference)
    return Differences(difference, np.where(counts, weights_a, 0), noise, a.has_cutoffs)


def _in_order_of(a: ListValues, b: ListValues) -> PerList:
    """The lists of b in the order of those of a; ValueError if their ids differ."""
    ids_a, ids_b = a.ids or [], b.ids or []
    if ids_a == ids_b:
        return b.lists
    index_in_b = {name: index for index, name in enumerate(ids_b)}
    known = set(ids_a)
    for owner, holder, missing in (
        (a, b, [name for name in ids_a if name not in index_in_b]),
        (b, a, [name for name in ids_b if name not in known]),
    ):
        if missing:
            raise ValueError(
                f"ids: of the lists in {owner.name}, {len(missing)} are not in "
                f"{holder.name}: {listing(missing)}; pass the lists that both have"
            )
    order = np.array([index_in_b[name] for name in ids_a], np.int64)
    return jax.tree.map(lambda x: x[order], b.lists)


def _keys(values: dict[Path, ListValues]) -> str:
    if set(values) == {()}:
        return "one array"
    return listing([path[0] if len(path) == 1 else path for path in values])
