"""Items as formulas read them, and the arrays that functions of items return."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from jax_rank_metrics._engine.by_options import by_options
from jax_rank_metrics._engine.items import GROUPS, ItemArrays
from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._ground.arithmetic import as_real, widen


@dataclasses.dataclass(frozen=True)
class Items:
    """Items of lists, as a formula's `item_fn` reads them.

    An `item_fn` must treat each item by itself. It may be called with the items that have a
    rank or with a whole pool, in any layout, and cannot tell which.

    Attributes:
        labels: Floats, 0 where no item exists.
        exists: Bool.
        weights: Item weights, 0 where no item exists; None if all items weigh the same.
        columns: A dict from names to the arrays passed as `columns=`; 0 or False where no
            item exists.
    """

    labels: jax.Array
    exists: jax.Array
    weights: jax.Array | None
    columns: Mapping[str, jax.Array]

    @classmethod
    def of(cls, arrays: ItemArrays, is_clean: bool = False) -> "Items":
        """Takes all arrays but `integer_labels`, which formulas do not read.

        Unknown groups become 0, unless the arrays are clean already.
        """
        columns = arrays.columns
        if GROUPS in columns and not is_clean:
            groups = columns[GROUPS].astype(arrays.labels.dtype)
            columns = {**columns, GROUPS: inputs.group_memberships(groups)}
        return cls(arrays.labels, arrays.exists, arrays.weights, columns)

    def relevant(self, threshold: types.Number) -> jax.Array:
        """True for each item that exists and whose label reaches the threshold.

        Labels are compared in the float dtype of the metric's values. A
        `relevance_threshold` that is an option of a metric has been rounded to the dtype in
        which labels were passed.
        """
        return (self.labels >= threshold) & self.exists


class _ColumnReads(Mapping[str, jax.Array]):
    """Columns that remember which of them were read."""

    def __init__(self, columns: Mapping[str, jax.Array], reads: set[str]) -> None:
        """Takes columns, and the set that collects the names of columns that are read."""
        self._columns, self.reads = columns, reads

    def __getitem__(self, name: str) -> jax.Array:
        self.reads.add(name)
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class _ItemReads(Items):
    """Items that remember whether labels or weights were read."""

    def __getattribute__(self, name: str) -> Any:
        columns = super().__getattribute__("columns")
        if name in _ALONE and isinstance(columns, _ColumnReads):
            columns.reads.add(f".{name}")
        return super().__getattribute__(name)


# Attributes, rather than columns, that are known only for listed items.
_ALONE = "labels", "weights"


def reads_of(
    item_fn: "ItemFn", columns: Mapping[str, jax.Array], dtype: DTypeLike
) -> set[str]:
    """Returns the names of the columns that a function of items reads.

    The set includes ".labels" or ".weights" if the function reads labels or weights.

    Args:
        item_fn: The function.
        columns: A dict from names to columns of one item, `[1, …]`.
        dtype: The dtype of labels.
    """
    reads = set[str]()
    columns = _ColumnReads(columns, reads)
    items = _ItemReads(jnp.zeros(1, dtype), jnp.ones(1, bool), None, columns)
    # Tracing reads every column that a computation would read, and compiles nothing.
    jax.eval_shape(lambda: jnp.asarray(item_fn(items)))
    return reads


# Products of gains and item weights are capped at this number, so that their sums stay
# finite.
MAX_WEIGHTED_GAIN = 2.0**107

# Gains are scaled by this power of two before they are multiplied by item weights, so that
# the products of large gains and large weights stay below the cap.
WEIGHTED_SCALE = 2.0**-64

# Maps items to the value of each item; or to bools, true for the items with a property.
ItemFn = Callable[[Items], jax.Array]


def item_values(item_fn: ItemFn, arrays: ItemArrays, dtype: DTypeLike) -> jax.Array:
    """Evaluates `item_fn` in floats, `[*lists, items, …]`; 0 where no item exists."""
    values = item_amounts(item_fn, arrays, dtype)
    return values.astype(dtype) if values.dtype == jnp.bool_ else values


def item_amounts(
    item_fn: ItemFn, arrays: ItemArrays, dtype: DTypeLike, is_clean: bool = False
) -> jax.Array:
    """Evaluates `item_fn`: bools stay bools, to be counted, and numbers become floats.

    Returns `[*lists, items, …]`, False or 0 where no item exists; a constant is repeated
    for every item. For `is_clean`, see `Items.of`.
    """
    values = jnp.asarray(item_fn(Items.of(arrays, is_clean)))
    if values.dtype not in (dtype, jnp.bool_):
        values = as_real(values, dtype)
    if values.ndim < arrays.exists.ndim:  # a constant
        values = jnp.broadcast_to(values, arrays.exists.shape)
    return jnp.where(widen(arrays.exists, values), values, jnp.zeros_like(values))


def item_order_values(
    item_fn: ItemFn, arrays: ItemArrays, dtype: DTypeLike
) -> jax.Array:
    """Evaluates `item_fn` for comparisons, in which large integers must not tie.

    Integers keep their dtype; bools and floats become floats of `dtype`. Returns
    `[*lists, items]`, 0 where no item exists.
    """
    kind = jax.eval_shape(lambda: jnp.asarray(item_fn(Items.of(arrays)))).dtype
    is_integer = jnp.issubdtype(kind, jnp.integer)
    return item_values(item_fn, arrays, kind if is_integer else dtype)


def item_predicate(item_fn: ItemFn, arrays: ItemArrays) -> jax.Array:
    """Evaluates `item_fn` in bools, `[*lists, items, …]`; False where no item exists."""
    holds = jnp.asarray(item_fn(Items.of(arrays))).astype(bool)
    return holds & widen(arrays.exists, holds)


@by_options
def relabelling(item_fn: ItemFn, *, label_fn: ItemFn) -> ItemFn:
    """Returns `item_fn`, made to read the labels that `label_fn` returns."""
    return _of_other_labels(item_fn, label_fn)


@by_options
def _of_other_labels(items: Items, *, item_fn: ItemFn, label_fn: ItemFn) -> jax.Array:
    return item_fn(_with_labels(items, label_fn(items)))


@by_options
def expected_worth(items: Items, *, item_fn: ItemFn) -> jax.Array:
    """Returns the mean of `item_fn` if each label is 1 with a probability, and else 0.

    The probabilities are passed as the labels. If `item_fn` is 3 for the label 1 and 1 for
    the label 0, an item with the probability 0.25 has the mean 1.5.
    """
    labels = items.labels
    at_one, at_zero = (
        jnp.asarray(item_fn(_with_labels(items, label))).astype(labels.dtype)
        for label in (jnp.ones_like(labels), jnp.zeros_like(labels))
    )
    return at_zero + widen(labels, at_one) * (at_one - at_zero)


def _with_labels(items: Items, labels: jax.Array) -> Items:
    """Returns items with other labels, 0 where no item exists."""
    labels = jnp.where(items.exists, labels, 0)
    return dataclasses.replace(items, labels=labels)
