"""The values of one metric for every list, in NumPy, with ids, weights and clusters."""

import collections
import dataclasses
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence, Sized
from typing import Any, SupportsFloat, TypeGuard

import numpy as np

from jax_rank_metrics._ground import inputs, messages
from jax_rank_metrics._ground.types import Undefined
from jax_rank_metrics._values import list_arrays, state
from jax_rank_metrics._values.clusters import cluster_numbers
from jax_rank_metrics._values.per_list import PerList
from jax_rank_metrics._verdicts.inference import judges, weighted_means

SUMMARIES = (state.State, judges.PredictionPowered)  # hold no values of lists
FIX = "pass a PerList, or an array with a value for every list"
SAME_LISTS = (
    "pass values of the same lists; for groups, such as old and new users, compare systems "
    "within each group"
)


@dataclasses.dataclass(frozen=True, eq=False)
class ListValues:
    """The values of one metric of a system, for every training seed and list.

    Shapes:
        values: `[seeds, lists, cutoffs]` float64; one seed for a single model, and one
            cutoff for values without cutoffs.
        weights: `[lists, cutoffs]` float64, the same for all seeds.
        defined: `[seeds, lists, cutoffs]` bool.
    """

    name: str  # for error messages
    values: np.ndarray
    weights: np.ndarray
    defined: np.ndarray
    has_cutoffs: bool
    dtype: np.dtype  # of the values before they were read
    ids: list[Any] | None = None  # None if lists are known by their position alone
    undefined: Undefined | None = None  # the choice that the values were measured with
    is_ratio: bool = False
    is_share: bool = False
    has_seeds: bool = False
    # `[lists, cutoffs]`, True for values that people have, if a judge has all; None is all.
    labelled: np.ndarray | None = None

    @property
    def rounding(self) -> float:
        """Relative error below which two values are equal."""
        # Values that are not of 64 bits were sums in float32.
        return 1e-14 if self.dtype.itemsize == 8 else list_arrays.ROUNDING

    @property
    def list_count(self) -> int:
        """Number of lists."""
        return len(self.weights)

    def is_known(self, undefined: Undefined | None = None) -> np.ndarray:
        """True for each list that may count, `[lists, cutoffs]`.

        With "skip", undefined lists do not count. Lists that people have not labelled do
        not count with any choice.

        Args:
            undefined: The choice; None is the one that the values were measured with.
        """
        choice = undefined or self.undefined
        # Seeds share their lists: a list that is undefined for one seed is skipped for all.
        is_known = np.logical_or(self.defined.all(0), choice != "skip")
        return is_known if self.labelled is None else is_known & self.labelled

    @property
    def undefined_lists(self) -> np.ndarray:
        """True for lists with weight that are undefined for a seed, `[lists, cutoffs]`."""
        return ~self.defined.all(0) & (self.weights > 0) & self.is_known("zero")

    def filled(
        self,
        undefined: Undefined | None = None,
        mask: np.ndarray | bool = True,
        must_be_finite: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the values, with 0 or 1 for undefined ones, and the weights of lists.

        Values and weights are 0 where a list does not count.

        Args:
            undefined: As for `is_known`; without any choice, "zero".
            mask: `[lists, cutoffs]`, False for further lists that do not count.
            must_be_finite: True to raise ValueError if a value that counts is not finite.
        """
        # "skip" fills with 0, which nothing reads: such lists do not count below.
        fill = float((undefined or self.undefined) == "one")
        # A list counts in all seeds or in none, so weights need no axis of seeds.
        counts = (self.weights > 0) & self.is_known(undefined) & mask
        values = np.where(counts, np.where(self.defined, self.values, fill), 0)
        if must_be_finite:
            self._check_finite(values)
        return values, np.where(counts, self.weights, 0)

    @messages.short_errors()
    def _check_finite(self, values: np.ndarray) -> None:
        """Raises ValueError with the lists in which one of `values` is not finite."""
        is_finite = np.isfinite(values).all(2)
        if not is_finite.all():
            seed, index = inputs.first_index(~is_finite)
            lists = [
                self.id_of(list_index)
                for list_index in np.flatnonzero(~is_finite.all(0)).tolist()
            ]
            raise ValueError(
                f"{self.name} holds {'values that are' if lists[1:] else 'a value that is'}"
                f" not finite, at list{'s' if lists[1:] else ''} {listing(lists)}: "
                f"{values[seed, index].tolist()}; NaN among scores and gains that overflow "
                "make nan; pass finite values, or a PerList in which they are undefined"
            )

    def scores(self, undefined: Undefined | None = None) -> np.ndarray:
        """Returns the weighted mean over lists of each seed, `[cutoffs, seeds]`."""
        values, weights = self.filled(undefined)
        return np.einsum("slk,lk->ks", values, weighted_means.shares_of(weights))

    def zero_counts(self) -> tuple[int, int]:
        """Returns how many lists are undefined and count as 0, and how many lists count.

        Both are 0 if undefined lists count as 1 or are left out.
        """
        if self.undefined in ("one", "skip"):
            return 0, 0
        counts = self.weights > 0
        # Lists that are undefined for every seed, at some cutoff.
        is_zero = counts & ~self.defined.any(0) & self.is_known("zero")
        return int(is_zero.any(1).sum()), int(counts.any(1).sum())

    def id_of(self, index: int) -> Hashable:
        """Returns the id of a list, or its position if lists have no ids."""
        return index if self.ids is None else self.ids[index]

    def per_list(self) -> PerList:
        """Returns the first seed's values, without filling any, in NumPy arrays."""
        return PerList(
            self.values[0],  # type: ignore[arg-type]
            self.weights,  # type: ignore[arg-type]
            self.defined[0],  # type: ignore[arg-type]
            self.undefined or "zero",
            cutoff_weights=True,
            is_share=self.is_share,
        )

    def indices_in(self, lists: "ListValues", cure: str | None = None) -> np.ndarray:
        """Returns the index of each list in other values, found by its id, `[lists]`.

        Raises:
            ValueError: if the other values lack a list. The message ends with `cure`; if
                it is None, with advice that depends on the ids.
        """
        index_of = {name: index for index, name in enumerate(lists.ids or [])}
        ids = self.ids or []
        if missing := [name for name in ids if name not in index_of]:
            held, same = "", "pass the lists that both have"
            if len(missing) == len(ids):
                held = f" ({lists.name} holds {listing(lists.ids or [])})"
                same = SAME_LISTS
            raise ValueError(
                f"ids: of the lists in {self.name}, {len(missing)} are not in "
                f"{lists.name}: {listing(missing)}{held}; {cure or same}"
            )
        return np.array([index_of[name] for name in ids], np.int64)

    def cluster_indices(self, clusters: Any) -> np.ndarray:
        """Numbers the cluster of each list, `[lists]`, in the order of first appearance.

        Args:
            clusters: The id of a cluster for each list, in the order of lists; or a
                mapping or a Series from ids of lists to ids of clusters.

        Raises:
            TypeError: if `clusters` is neither, or ids cannot be the keys of a dict.
            ValueError: if there is not one for each list, or if one is missing.
        """
        # If values have no ids, lists are known by their position, also in a Series.
        if inputs.is_series(clusters) or inputs.is_frame(clusters):
            names, clusters_of_names = inputs.read_labelled("clusters", clusters)
            names = checked_ids("clusters", names, len(clusters_of_names))
            clusters = dict(zip(names, clusters_of_names.tolist(), strict=True))
        ids = [self.id_of(index) for index in range(self.list_count)]
        if isinstance(clusters, Mapping):
            missing = [name for name in ids if name not in clusters]
            if missing:
                raise ValueError(
                    f"clusters: {len(missing)} lists have none: {listing(missing)}; pass "
                    "the cluster of every list, by its id or as an array in the order of "
                    "lists"
                )
            clusters = [clusters[name] for name in ids]
        elif isinstance(clusters, str) or not isinstance(clusters, Sized):
            raise TypeError(
                f"clusters are {clusters!r}; pass the id of a cluster for each list, or a "
                "dict of list ids to cluster ids"
            )
        return cluster_numbers("clusters", clusters, (len(ids),), ids)[0]


@messages.short_errors()
def in_one_order(
    lists: Sequence[ListValues], ids: Sequence[Any] | None = None
) -> list[ListValues]:
    """Puts lists in the order of the first values: by their ids, or by their position.

    Args:
        lists: The values of several systems or metrics.
        ids: The list ids for each of `lists`, which must have no ids of their own.

    Raises:
        ValueError: if only some values have ids; if values without ids differ in the
            number of lists; if `ids` are passed for values that have ids; if values are of
            different lists.
        TypeError: if an entry of `ids` is no sequence.
    """
    first = lists[0]
    named = [run for run in lists if run.ids is not None]
    unnamed = [run for run in lists if run.ids is None]
    if ids is not None:
        if named:
            raise ValueError(f"{named[0].name} has list ids of its own; leave ids out")
        lists = [
            dataclasses.replace(run, ids=checked_ids(run.name, run_ids, run.list_count))
            for run, run_ids in zip(lists, ids, strict=True)
        ]
        first = lists[0]
    elif named and unnamed:
        raise ValueError(
            f"{named[0].name} has list ids and {unnamed[0].name} has none, so nothing says "
            "which lists belong together; pass both as a Series or a dict of ids to "
            "values, or both as arrays, with ids="
        )
    elif unequal := [run for run in unnamed if run.list_count != first.list_count]:
        raise ValueError(
            f"{first.name} has {first.list_count} lists and {unequal[0].name} has "
            f"{unequal[0].list_count}; {SAME_LISTS}"
        )
    in_order = {run: run for run in lists}  # values passed twice are ordered once
    for run in in_order:
        if run.ids != first.ids:
            order = first.indices_in(run)
            run.indices_in(first)  # raises if `run` has further lists
            in_order[run] = dataclasses.replace(
                run,
                values=run.values[:, order],
                weights=run.weights[order],
                defined=run.defined[:, order],
                labelled=None if run.labelled is None else run.labelled[order],
                ids=first.ids,
            )
    return [in_order[run] for run in lists]


def common_undefined(
    choices: Iterable[tuple[str, Undefined | None]],
) -> Undefined | None:
    """Returns the `undefined` that all values were measured with; None if unknown.

    Callers read None as "zero".

    Args:
        choices: The name of values, for errors, and the choice that they were measured
            with. None, as for arrays that define all values, agrees with any choice.

    Raises:
        ValueError: if they differ.
    """
    measured = [pair for pair in choices if pair[1] is not None]
    for name, choice in measured:
        if choice != measured[0][1]:
            raise ValueError(
                f"{measured[0][0]} was measured with undefined={measured[0][1]!r} and "
                f"{name} with {choice!r}; pass undefined= to count both in one way"
            )
    return measured[0][1] if measured else None


def weights_differ(a: ListValues, b: ListValues) -> bool:
    """True if two ratios weigh their lists differently; lists must be in one order.

    Raises:
        ValueError: if weights differ and a or b is no ratio.
    """
    # [lists, cutoffs]; weights that are not above 0 are equal.
    are_unequal = list_arrays.differ(a.weights, b.weights)
    if are_unequal.any() and not (a.is_ratio and b.is_ratio):
        index = inputs.first_index(are_unequal)
        cure = "pass lists of the same weights"
        if min(a.weights[index], b.weights[index]) <= 0:
            count = int(are_unequal.any(1).sum())
            cure = (
                f"{count} lists have other weights: a list of weight 0 is left out of a "
                "run, as join does with missing='skip'; join both with missing='zero', or "
                "pass the lists that both have"
            )
        raise ValueError(
            f"list {a.id_of(index[0])!r} has weight {a.weights[index]:g} in {a.name} and "
            f"{b.weights[index]:g} in {b.name}; {cure}"
        )
    return bool(are_unequal.any())


def is_by_list(tree: object) -> TypeGuard[Mapping[Any, Any]]:
    """True for a dict of list ids to numbers; some numbers may be missing."""
    if not isinstance(tree, Mapping):
        return False
    known = [value for value in tree.values() if not is_missing(value)]
    return bool(known) and all(map(is_number, known))


def is_missing(value: object) -> bool:
    """True for None, NaT and NA, but not for NaN, which is a number here."""
    return not is_number(value) and inputs.is_missing(value)


def is_number(value: object) -> bool:
    """True for a single number of Python, NumPy or another array library."""
    if isinstance(value, numbers.Real | np.generic):
        return True
    # Scalars of other array libraries; a state converts to float, too, but is no number.
    is_scalar = isinstance(value, SupportsFloat) and not isinstance(value, SUMMARIES)
    return is_scalar and np.ndim(value) == 0  # type: ignore[arg-type]


def listing(names: Sequence[Any]) -> str:
    """Lists up to five names for an error message, and marks further names by an ellipsis.

    >>> listing(["q1", 7]), listing(range(9))
    ("'q1', 7", '0, 1, 2, 3, 4, …')
    """
    ellipsis = ", …" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + ellipsis


@messages.short_errors()
def checked_ids(name: str, ids: Any, count: int) -> list[Any]:
    """Returns the ids of `count` lists as a list of distinct Python objects.

    Raises:
        TypeError: if `ids` is no sequence, such as a set, or ids cannot be the keys of a
            dict.
        ValueError: if ids repeat, or if there are more or fewer than `count`.
    """
    inputs.refuse_masked(f"ids of {name}", ids, "an id for every list")
    try:
        if isinstance(ids, (set, frozenset)):
            raise TypeError("a set has no order")
        names = inputs.hashable_ids(ids)
        names = [tuple(key) if isinstance(key, list) else key for key in names]
        counts = collections.Counter(names)
    except TypeError as error:
        raise TypeError(
            f"ids of {name} are {ids!r}; pass a sequence with one id for each list, such "
            "as integers or strings"
        ) from error
    if {*map(type, names)} - {int, str}:
        inputs.refuse_missing(f"ids of {name}: one", names)
    if "" in counts:
        raise ValueError(f"ids of {name} hold ''; pass an id in its place")
    if len(names) != count:
        raise ValueError(
            f"{len(names)} ids were passed for {name}, which has {count} lists; pass one "
            "id for each"
        )
    # Two lists with one id cannot be told apart when systems are paired.
    repeated = [key for key, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(
            f"ids of {name} hold {listing(repeated)} more than once; pass one id for "
            "each list"
        )
    return names
