"""Which lists of two systems belong together, and what each of them brings."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from jax_rank_metrics._results.paired import ROUNDING, counted, differ, filled
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._states.state import State

Path = tuple[Hashable, ...]


class Lists(NamedTuple):
    """Per-list values in NumPy, under the name by which messages call them."""

    name: str
    lists: PerList  # values `[lists, len(k)]` float64, of one column without cutoffs
    several: bool  # whether there are cutoffs
    rounding: float  # by how much equal values may differ, relative to their size

    @property
    def number(self) -> int:
        """How many lists there are."""
        return len(self.lists.weights)


class Differences(NamedTuple):
    """b − a and the weights of lists, `[lists, len(k)]` and `[lists]`, 0 where none."""

    values: np.ndarray
    weights: np.ndarray
    several: bool


def pairs_of(a: Any, b: Any) -> dict[Path, tuple[Lists, Lists]]:
    """What is compared with what, under the keys that lead there in the result."""
    ours, theirs = dict(_leaves(a)), dict(_leaves(b))
    systems: list[Path] = [()]
    if ours.keys() != theirs.keys():
        each = b.items() if isinstance(b, Mapping) else ()
        systems = [(name,) for name, _ in each]
        if not systems or any(dict(_leaves(x)).keys() != ours.keys() for _, x in each):
            raise ValueError(
                f"a holds {_keys(ours)} and b holds {_keys(theirs)}; pass values of the "
                "same metrics, or as b a dict of systems, each with the metrics of a"
            )
    ours = {path: _lists("a", path, leaf) for path, leaf in ours.items()}
    theirs = {path: _lists("b", path, leaf) for path, leaf in theirs.items()}
    for side in (ours, theirs):
        first, *others = side.values()
        for other in others:
            if other.number != first.number:
                raise ValueError(
                    f"{first.name} has {first.number} lists and {other.name} has "
                    f"{other.number}; pass values of the same lists"
                )
    return {
        (*system, *path): (one, theirs[*system, *path])
        for system in systems
        for path, one in ours.items()
    }


def nested(results: dict[Path, Any]) -> Any:
    """Results under the keys that lead to them, as dicts in dicts."""
    if set(results) == {()}:
        return results[()]
    parts: dict[Hashable, dict[Path, Any]] = {}
    for (key, *rest), result in results.items():
        parts.setdefault(key, {})[tuple(rest)] = result
    return {key: nested(part) for key, part in parts.items()}


def orders(ids: Any, a: int, b: int) -> tuple[np.ndarray, list[Any]]:
    """Where in b each list of a is, and what messages call the lists of a."""
    if ids is None:
        if a != b:
            raise ValueError(
                f"a has {a} lists and b has {b}; pass ids=(ids_a, ids_b), which say "
                "which of them belong together"
            )
        return np.arange(a), list(range(a))
    if not isinstance(ids, (tuple, list)) or len(ids) != 2:
        raise TypeError("ids: pass a tuple (ids_a, ids_b)")
    ids_a, ids_b = (_ids(*x) for x in (("a", ids[0], a), ("b", ids[1], b)))
    at = {name: place for place, name in enumerate(ids_b)}
    known = set(ids_a)
    for here, there, missing in (
        ("a", "b", [name for name in ids_a if name not in at]),
        ("b", "a", [name for name in ids_b if name not in known]),
    ):
        if missing:
            raise ValueError(
                f"ids: of the lists in {here}, {len(missing)} are not in {there}: "
                f"{_some(missing)}; pass the lists that both have"
            )
    return np.array([at[name] for name in ids_a], np.int64), ids_a


def differences(
    one: Lists, two: Lists, order: np.ndarray, ids: Sequence[Any], undefined: str
) -> Differences:
    """The difference b − a of every list, those of b being taken in an order."""
    a: Any = one.lists
    b: Any = jax.tree.map(lambda x: x[order], two.lists)
    if a.values.shape != b.values.shape or one.several != two.several:
        raise ValueError(f"{one.name} and {two.name} have different cutoffs")
    for place in np.flatnonzero(differ(a.weights, b.weights))[:1]:
        raise ValueError(
            f"list {ids[place]!r} has weight {a.weights[place]:g} in {one.name} and "
            f"{b.weights[place]:g} in {two.name}; pass lists of the same weights"
        )
    counts = counted(a, b, undefined)
    values = [np.where(counts[:, None], filled(x, undefined, np), 0) for x in (a, b)]
    for name, side in ((one.name, values[0]), (two.name, values[1])):
        for place in np.flatnonzero(~np.isfinite(side).all(1))[:1]:
            raise ValueError(
                f"{name} holds a value that is not finite, at list {ids[place]!r}: "
                f"{side[place].tolist()}; pass finite values, or a PerList in which it "
                "is undefined"
            )
    # What only rounding keeps apart is a tie, and no evidence.
    size = np.maximum(np.abs(values[0]), np.abs(values[1]))
    difference = values[1] - values[0]
    tied = np.abs(difference) <= max(one.rounding, two.rounding) * size
    weights = np.where(counts, a.weights, 0)
    return Differences(np.where(tied, 0, difference), weights, one.several)


def _leaves(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if not isinstance(tree, Mapping):
        yield path, tree
        return
    for key, value in tree.items():
        yield from _leaves(value, (*path, key))


def _keys(leaves: dict[Path, Any]) -> str:
    if set(leaves) == {()}:
        return "one array"
    return _some([path[0] if len(path) == 1 else path for path in leaves])


def _some(names: Sequence[Any]) -> str:
    more = ", …" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more


def _lists(side: str, path: Path, leaf: Any) -> Lists:
    name = side + "".join(f"[{key!r}]" for key in path)
    if any(isinstance(x, Tracer) for x in jax.tree.leaves(leaf)):
        raise TypeError(
            f"{name} is traced; compare runs outside of jax.jit, and `paired` inside"
        )
    if isinstance(leaf, PerList):
        numbers, weights, defined = (
            np.asarray(x) for x in (leaf.values, leaf.weights, leaf.defined)
        )
        several = numbers.ndim > weights.ndim
    else:
        numbers, several = _array(name, leaf)
        weights, defined = np.ones(len(numbers)), np.ones(len(numbers), bool)
    k = numbers.shape[-1] if several else 1
    lists = PerList(
        numbers.astype(np.float64).reshape(weights.size, k),  # type: ignore[arg-type]
        weights.astype(np.float64).ravel(),  # type: ignore[arg-type]
        defined.ravel(),  # type: ignore[arg-type]
    )
    return Lists(
        name, lists, several, 1e-14 if numbers.dtype.itemsize == 8 else ROUNDING
    )


def _array(name: str, leaf: Any) -> tuple[np.ndarray, bool]:
    fix = "pass a PerList, or an array with a value for every list"
    if isinstance(leaf, State):
        raise TypeError(
            f"{name} is a {type(leaf).__name__}, which has forgotten its lists; {fix}"
        )
    try:
        numbers = np.asarray(leaf)
        several = {1: False, 2: True}.get(numbers.ndim)
        numbers = numbers if numbers.dtype.kind in "biuf" else _extended(numbers)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is no array of numbers; {fix}") from error
    if several is None:
        raise ValueError(
            f"{name} has shape {numbers.shape}; {fix}, or [lists, cutoffs] of them"
        )
    return numbers, several


def _extended(numbers: np.ndarray) -> np.ndarray:
    if numbers.dtype.kind != "V":  # what NumPy makes of bfloat16
        raise TypeError(f"got {numbers.dtype}")
    return numbers.astype(np.float32)


def _ids(side: str, ids: Any, number: int) -> list[Any]:
    names = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if len(names) != number:
        raise ValueError(
            f"ids of {side} are {len(names)}, and {side} has {number} lists; pass one id "
            "for each"
        )
    seen: set[Any] = set()
    twice = [name for name in names if name in seen or seen.add(name)]
    if twice:
        raise ValueError(
            f"ids of {side} hold {_some(twice)} more than once; pass one id for each list"
        )
    return names
