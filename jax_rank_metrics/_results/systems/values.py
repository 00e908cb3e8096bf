"""Per-list values as the package and other tools hold them, read into NumPy.

Values of one metric are a `PerList`, an array `[lists]` or `[lists, cutoffs]`, a pandas
Series, or a dict of list ids to numbers. A dict of metrics, a pandas DataFrame with a
column for each metric, and the result of `evaluate_users` hold several. A Series, a frame,
a dict and a `UserEvaluation` say which list each value belongs to. `Seeds` hold values of
several training seeds.
"""

import collections
import numbers
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer

from jax_rank_metrics import _inputs
from jax_rank_metrics._metrics.metric import NAMES
from jax_rank_metrics._states.by_name import StatesByName
from jax_rank_metrics._states.list_arrays import columns_of
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._states.state import State
from jax_rank_metrics._states.weights import ROUNDING
from jax_rank_metrics._trec import metric_part
from jax_rank_metrics._types import Undefined

Path = tuple[Hashable, ...]  # the keys that lead to values in nested dicts

_FIX = "pass a PerList, or an array with a value for every list"


class ListValues(NamedTuple):
    """Values of one metric for every list, in NumPy."""

    name: str  # as error messages call it
    lists: PerList  # arrays `[lists, cutoffs]`, floats as float64; one column without
    has_cutoffs: bool
    rounding: float  # relative error below which two values are equal
    ids: list[Any] | None  # None where lists are known by their position alone
    undefined: Undefined | None  # the choice that the values were measured with
    was_asked_for: bool = True  # False for popularity that `evaluate_users` added
    runs: tuple[PerList, ...] = ()  # of each training seed; `lists` is then their mean

    @property
    def list_count(self) -> int:
        """Number of lists."""
        return len(self.lists.weights)


class SeedValues:
    """The base of `Seeds`: the values of each metric, over several training seeds."""

    values_of_seeds: dict[Path, ListValues]


class _Leaf(NamedTuple):
    """Values as they were passed, with the ids and `undefined` that came with them."""

    values: Any
    ids: Any = None
    undefined: Undefined | None = None
    was_asked_for: bool = True


def read_values(tree: Any, name: str) -> dict[Path, ListValues]:
    """Reads all values in `tree`, under the keys that lead to them.

    The values of a single metric have the empty path `()`, and those of
    `{"mine": {"mrr": lists}}` the path `("mine", "mrr")`.

    Args:
        tree: Values in any form that this module's docstring lists, or dicts of them.
        name: The name of the argument, for messages.

    Raises:
        TypeError: if values are traced, or are not numbers.
        ValueError: if values have neither one axis nor two; if a dict maps names of
            metrics to single numbers, which are means; if ids repeat, or if there are
            more or fewer ids than lists.
    """
    return {path: _read(name, path, leaf) for path, leaf in _leaves(tree, name)}


def is_by_list(tree: Any) -> bool:
    """Whether `tree` is a dict of list ids to numbers."""
    return (
        isinstance(tree, Mapping) and bool(tree) and all(map(_is_number, tree.values()))
    )


def is_frame(tree: Any) -> bool:
    """Whether `tree` is a pandas DataFrame."""
    return _inputs.is_pandas_frame(tree)


def is_series(values: Any) -> bool:
    """Whether values are a pandas Series."""
    return _inputs.is_series(values)


def as_per_list(values: Any, name: str) -> PerList | None:
    """Reads an array, a Series or a dict of list ids to numbers; None for anything else."""
    is_array = isinstance(values, np.ndarray | jax.Array)
    if not (is_array or is_by_list(values) or is_series(values)):
        return None
    (metric,) = read_values(values, name).values()
    lists = metric.lists
    if metric.has_cutoffs:
        return lists
    return PerList(lists.values[:, 0], lists.weights[:, 0], lists.defined[:, 0])


def is_metric_name(key: Any) -> bool:
    """Whether a key of a dict names a metric of this package, as typed or as in results.

    Options and cutoffs may follow, and the names of trec_eval count as well. Names that a
    caller has made up do not.

    >>> [is_metric_name(key) for key in ("P@5", "ndcg(gain=exp2)@10", "map_cut_10", "mine")]
    [True, True, True, False]
    """
    return isinstance(key, str) and metric_part(key) in NAMES


def listing(names: Sequence[Any]) -> str:
    """Lists up to five names for an error message, and marks further names by an ellipsis.

    >>> listing(["q1", 7]), listing(range(9))
    ("'q1', 7", '0, 1, 2, 3, 4, …')
    """
    ellipsis = ", …" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + ellipsis


def _leaves(tree: Any, name: str, path: Path = ()) -> Iterator[tuple[Path, _Leaf]]:
    """Yields the values in `tree`, each under the keys that lead to it."""
    if isinstance(tree, SeedValues):
        for metric, values in tree.values_of_seeds.items():
            yield (*path, *metric), _Leaf(values)
    elif isinstance(tree, StatesByName):
        for metric, lists in tree.lists.items():
            # No metric that a caller may name is called so.
            was_asked_for = metric.partition("@")[0] not in ("popularity", "novelty")
            yield (
                (*path, metric),
                _Leaf(lists, tree.list_ids, tree.undefined, was_asked_for),
            )
    elif is_frame(tree):
        for metric in tree.columns:
            yield (*path, metric), _Leaf(tree[metric], tree.index)
    elif is_series(tree):
        yield path, _Leaf(tree, tree.index)
    elif is_by_list(tree):
        # A single letter, such as the "p" of precision, is more likely an id.
        metrics = [key for key in tree if is_metric_name(key) and len(key) > 1]
        if metrics:
            raise ValueError(
                f"{_label(name, path)} holds one number for {listing(metrics)}, the name "
                f"of a metric: a mean no longer holds per-list values; {_FIX}, or a dict "
                "of list ids to values"
            )
        yield path, _Leaf(np.array(list(tree.values()), np.float64), list(tree))
    elif isinstance(tree, Mapping):
        for key, subtree in tree.items():
            yield from _leaves(subtree, name, (*path, key))
    else:
        yield path, _Leaf(tree)


def _is_number(value: Any) -> bool:
    is_scalar = isinstance(value, numbers.Real | np.generic)
    return is_scalar or (hasattr(value, "dtype") and np.ndim(value) == 0)


def _label(name: str, path: Path) -> str:
    return name + "".join(f"[{key!r}]" for key in path)


def _read(name: str, path: Path, leaf: _Leaf) -> ListValues:
    name, values = _label(name, path), leaf.values
    if isinstance(values, ListValues):
        return values._replace(name=name)
    if any(isinstance(x, Tracer) for x in jax.tree.leaves(values)):
        raise TypeError(
            f"{name} is traced; compare runs outside of jax.jit, and `paired` inside"
        )
    undefined, is_ratio = leaf.undefined, False
    if isinstance(values, PerList):
        undefined = undefined or values.undefined
        array, weights, defined = columns_of(values)
        has_cutoffs, is_ratio = values.has_cutoffs, values.is_ratio
    else:
        array, has_cutoffs = _array(name, values)
        array = array if has_cutoffs else array[:, None]
        weights, defined = np.ones(array.shape), np.ones(array.shape, bool)
    lists = PerList(
        array.astype(np.float64),  # type: ignore[arg-type]
        weights.astype(np.float64),  # type: ignore[arg-type]
        defined,  # type: ignore[arg-type]
        cutoff_weights=True,
        is_ratio=is_ratio,
    )
    rounding = 1e-14 if array.dtype.itemsize == 8 else ROUNDING
    ids = None if leaf.ids is None else checked_ids(name, leaf.ids, len(array))
    return ListValues(
        name, lists, has_cutoffs, rounding, ids, undefined, leaf.was_asked_for
    )


def _array(name: str, values: Any) -> tuple[np.ndarray, bool]:
    if isinstance(values, State):
        raise TypeError(
            f"{name} is a {type(values).__name__}, which no longer holds per-list values; "
            f"{_FIX}"
        )
    try:
        array = np.asarray(values)
        has_cutoffs = {1: False, 2: True}.get(array.ndim)
        array = array if array.dtype.kind in "biuf" else _from_bfloat16(array)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is not an array of numbers; {_FIX}") from error
    if has_cutoffs is None:
        raise ValueError(
            f"{name} has shape {array.shape}; {_FIX}, or [lists, cutoffs] of them"
        )
    return array, has_cutoffs


def _from_bfloat16(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind != "V":  # the kind that NumPy sees in bfloat16
        raise TypeError(f"got {array.dtype}")
    return array.astype(np.float32)


def checked_ids(name: str, ids: Any, count: int) -> list[Any]:
    """Returns the ids of `count` lists as a list of distinct Python objects.

    Raises:
        TypeError: if `ids` is not a sequence, or ids cannot be the keys of a dict.
        ValueError: if ids repeat, or if there are more or fewer than `count`.
    """
    try:
        names = ids.tolist() if hasattr(ids, "tolist") else list(ids)
        names = [tuple(x) if isinstance(x, list) else x for x in names]
        counts = collections.Counter(names)
    except TypeError as error:
        raise TypeError(
            f"ids of {name} are {ids!r}; pass a sequence with one id for each list, such "
            "as integers or strings"
        ) from error
    if len(names) != count:
        raise ValueError(
            f"{len(names)} ids were passed for {name}, which has {count} lists; pass one "
            "id for each"
        )
    repeated = [x for x, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(
            f"ids of {name} hold {listing(repeated)} more than once; pass one id for "
            "each list"
        )
    return names
