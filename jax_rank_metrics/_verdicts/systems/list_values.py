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
        values: `[seeds, lists, cutoffs]` float64. A single model has one seed, and
            values without cutoffs have one cutoff here.
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
    # `[lists, cutoffs]`, True for lists that people have labelled, if a judge has
    # labelled all lists; None if people have labelled all.
    labelled: np.ndarray | None = None

    @property
    def rounding(self) -> float:
        """Relative error below which two values are equal."""
        # Floats with fewer than 64 bits were computed as sums in float32.
        is_exact = self.dtype.itemsize == 8 or self.dtype.kind in "iub"
        return 1e-14 if is_exact else list_arrays.ROUNDING

    @property
    def list_count(self) -> int:
        """Number of lists."""
        return len(self.weights)

    def is_known(self, undefined: Undefined | None = None) -> np.ndarray:
        """True for each list that may count, `[lists, cutoffs]`.

        With "skip", undefined lists do not count. Lists that people have not labelled
        never count.

        Args:
            undefined: The choice; None takes the choice that the values were measured
                with.
        """
        choice = undefined or self.undefined
        # Seeds share their lists, so a list that is undefined for one seed is skipped
        # for all.
        is_known = np.logical_or(self.defined.all(0), choice != "skip")
        return is_known if self.labelled is None else is_known & self.labelled

    @property
    def undefined_lists(self) -> np.ndarray:
        """True for weighted lists that are undefined for any seed, `[lists, cutoffs]`."""
        return ~self.defined.all(0) & (self.weights > 0) & self.is_known("zero")

    def filled(
        self,
        undefined: Undefined | None = None,
        mask: np.ndarray | bool = True,
        must_be_finite: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the values, with 0 or 1 for undefined values, and the weights of lists.

        Values and weights are 0 for lists that do not count.

        Args:
            undefined: As for `is_known`; "zero" if there is no choice.
            mask: `[lists, cutoffs]`, False for lists that shall not count either.
            must_be_finite: If True, a value that counts and is not finite raises
                ValueError.
        """
        # With "skip", the fill 0 is never read, because undefined lists do not count
        # below.
        fill = float((undefined or self.undefined) == "one")
        # A list counts either in all seeds or in none, so weights need no axis for
        # seeds.
        counts = (self.weights > 0) & self.is_known(undefined) & mask
        values = np.where(counts, np.where(self.defined, self.values, fill), 0)
        if must_be_finite:
            self._check_finite(values)
        return values, np.where(counts, self.weights, 0)

    @messages.short_errors()
    def _check_finite(self, values: np.ndarray) -> None:
        """Raises a ValueError that names the lists in which a value is not finite."""
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
        # Count lists that are undefined for every seed, at some cutoff.
        is_zero = counts & ~self.defined.any(0) & self.is_known("zero")
        return int(is_zero.any(1).sum()), int(counts.any(1).sum())

    def id_of(self, index: int) -> Hashable:
        """Returns the id of a list, or its position if lists have no ids."""
        return index if self.ids is None else self.ids[index]

    def per_list(self) -> PerList:
        """Returns the first seed's values in NumPy arrays, without filling any in."""
        return PerList(
            self.values[0],  # type: ignore[arg-type]
            self.weights,  # type: ignore[arg-type]
            self.defined[0],  # type: ignore[arg-type]
            self.undefined or "zero",
            cutoff_weights=True,
            is_share=self.is_share,
        )

    def indices_in(self, lists: "ListValues", cure: str | None = None) -> np.ndarray:
        """Returns the index that the id of each list has in other values, `[lists]`.

        Raises:
            ValueError: if the other values lack a list. The message ends with `cure`;
                if `cure` is None, with advice that depends on the ids.
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
            TypeError: if `clusters` has none of these forms, or if ids cannot be the
                keys of a dict.
            ValueError: if the number of cluster ids is not the number of lists, or if a
                cluster id is missing.
        """
        # If values have no ids, the ids of lists are their positions, also in a Series.
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
                    "the cluster of every list: a dict from list ids, or an array in the "
                    "order of lists"
                )
            clusters = [clusters[name] for name in ids]
        elif isinstance(clusters, str) or not isinstance(clusters, Sized):
            raise TypeError(
                f"clusters are {clusters!r}; pass the id of a cluster for each list, or a "
                "dict from list ids to cluster ids"
            )
        return cluster_numbers("clusters", clusters, (len(ids),), ids)[0]


@messages.short_errors()
def in_one_order(
    lists: Sequence[ListValues], ids: Sequence[Any] | None = None
) -> list[ListValues]:
    """Puts all lists in the order of the first values, by their ids or positions.

    Args:
        lists: The values of several systems or metrics.
        ids: The list ids for each entry of `lists`; the entries must have no ids of
            their own.

    Raises:
        ValueError: if only some values have ids; if values without ids differ in the
            number of lists; if `ids` are passed for values that have ids; if values
            have different lists.
        TypeError: if an entry of `ids` is not a sequence.
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
            f"{named[0].name} has list ids and {unnamed[0].name} has none, so their lists "
            "cannot be paired; pass both as a Series or a dict from ids to values, or both "
            "as arrays with ids="
        )
    elif unequal := [run for run in unnamed if run.list_count != first.list_count]:
        raise ValueError(
            f"{first.name} has {first.list_count} lists and {unequal[0].name} has "
            f"{unequal[0].list_count}; {SAME_LISTS}"
        )
    in_order = {run: run for run in lists}  # reorder values once, even if passed twice
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
        choices: Pairs of the name of values, for errors, and the choice that the values
            were measured with. None agrees with any choice; arrays, for example, define
            all values.

    Raises:
        ValueError: if they differ.
    """
    measured = [pair for pair in choices if pair[1] is not None]
    for name, choice in measured:
        if choice != measured[0][1]:
            raise ValueError(
                f"{measured[0][0]} was measured with undefined={measured[0][1]!r} and "
                f"{name} with {choice!r}; pass undefined= to count both in the same way"
            )
    return measured[0][1] if measured else None


def weights_differ(a: ListValues, b: ListValues) -> bool:
    """True if two ratios, with lists in the same order, weigh the lists differently.

    Raises:
        ValueError: if weights differ and a or b is not a ratio.
    """
    # [lists, cutoffs]; all weights that are not above 0 count as equal.
    are_unequal = list_arrays.differ(a.weights, b.weights)
    if are_unequal.any() and not (a.is_ratio and b.is_ratio):
        index = inputs.first_index(are_unequal)
        cure = "pass lists of the same weights"
        if min(a.weights[index], b.weights[index]) <= 0:
            count = int(are_unequal.any(1).sum())
            cure = (
                f"the weights of {count} lists differ. A list of weight 0 does not count, "
                "such as a list that join left out with missing='skip'; join both with "
                "missing='zero', or pass the lists that both have"
            )
        raise ValueError(
            f"list {a.id_of(index[0])!r} has weight {a.weights[index]:g} in {a.name} and "
            f"{b.weights[index]:g} in {b.name}; {cure}"
        )
    return bool(are_unequal.any())


def is_by_list(tree: object) -> TypeGuard[Mapping[Any, Any]]:
    """True for a dict from list ids to numbers; some numbers may be missing."""
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
    # Scalars of other array libraries convert to float. A state does so, too, but is
    # not a number.
    is_scalar = isinstance(value, SupportsFloat) and not isinstance(value, SUMMARIES)
    return is_scalar and np.ndim(value) == 0  # type: ignore[arg-type]


def listing(names: Sequence[Any]) -> str:
    """Returns up to five names for an error message, and an ellipsis for further names.

    >>> listing(["q1", 7]), listing(range(9))
    ("'q1', 7", '0, 1, 2, 3, 4, …')
    """
    ellipsis = ", …" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + ellipsis


@messages.short_errors()
def checked_ids(name: str, ids: Any, count: int) -> list[Any]:
    """Returns the ids of `count` lists as a list of different Python objects.

    Raises:
        TypeError: if `ids` is not a sequence (a set is none), or ids cannot be the keys
            of a dict.
        ValueError: if ids repeat, or if there are more or fewer ids than `count`.
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
        raise ValueError(
            f"ids of {name} hold '', which is not an id; pass an id in its place"
        )
    if len(names) != count:
        raise ValueError(
            f"{len(names)} ids were passed for {name}, which has {count} lists; pass one "
            "id for each list"
        )
    # Lists with the same id could not be told apart when systems are paired.
    repeated = [key for key, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(
            f"ids of {name} hold {listing(repeated)} more than once; pass one id for "
            "each list"
        )
    return names
