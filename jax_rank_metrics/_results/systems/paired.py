"""The difference of two systems, list by list."""

from typing import TypeVar

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._arithmetic import widen
from jax_rank_metrics._states.double_floats import canonical
from jax_rank_metrics._states.merging import check_leaves, in_order
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._states.weights import check_same_weights
from jax_rank_metrics._types import Undefined

T = TypeVar("T")


def paired(a: T, b: T, undefined: Undefined | None = None) -> T:
    """The difference b − a of every list: above 0 where b has the higher value.

    Its mean merges as that of any metric does, and is a paired test that gathers no
    lists: over batches, devices and hosts, only sums move. The interval of the difference
    is narrower than the separate intervals of a and b suggest, since lists that are hard
    for one system are hard for the other; see `compare`, which also takes ratios that
    weigh the lists differently (`PerList.over`). Those have no difference list by list.

    Args:
        a: A `PerList`, or any pytree of them, as `measure` gives; the baseline.
        b: The same of another system, for the same lists in the same order.
        undefined: What a value counts as where the metric is undefined: "zero", "one",
            or "skip", which keeps the lists in which both are defined. None is the
            `undefined` of a and b, which must be the same.

    Returns:
        The same pytree. Values are `[*lists, …]` as those of a and b, and defined in every
        list, since undefined ones have been filled in; weights are those of a, and 0 where
        "skip" leaves a list out.

    Raises:
        ValueError: if structures or shapes differ; if `undefined` is none of these; if a
            list has different weights in a and in b. Where weights are traced by
            `jax.jit`, or lie on other hosts, those of a are used unchecked.
        TypeError: if a leaf is no `PerList`.

    >>> from jax_rank_metrics import hit_rate
    >>> labels = jnp.array([[1, 0], [1, 0], [0, 1]])
    >>> a = hit_rate.per_list(labels, jnp.array([[1, 2], [1, 2], [1, 2]]), k=1)
    >>> b = hit_rate.per_list(labels, jnp.array([[2, 1], [1, 2], [1, 2]]), k=1)
    >>> lists = paired(a, b)
    >>> lists.values.tolist(), f"{lists.mean().compute():+.2f}"
    ([1.0, 0.0, 0.0], '+0.33')
    """
    if undefined is not None:
        _inputs.option("undefined", undefined, Undefined)
    check_leaves(a, PerList, "a")
    check_leaves(b, PerList, "b")
    # A PerList is a pytree itself, of whose leaves no difference is taken.
    is_per_list = {"is_leaf": lambda x: isinstance(x, PerList)}
    structures = [jax.tree.structure(x, **is_per_list) for x in (a, b)]
    if structures[0] != structures[1]:
        raise ValueError(
            f"a and b differ in structure: {structures[0]} and {structures[1]}; pass "
            "values of the same metrics"
        )

    def difference(a: PerList, b: PerList) -> PerList:
        _check_weights(a, b)
        choice = undefined or common_undefined("a", a.undefined, "b", b.undefined)
        return _difference(a, b, choice)

    differences = jax.tree.map(difference, canonical(a), canonical(b), **is_per_list)
    return in_order(a, differences)


def _difference(a: PerList, b: PerList, undefined: Undefined) -> PerList:
    dtype = _inputs.float_dtype(a.values, b.values)
    # With "skip", a fill is a placeholder: such a list has no weight below.
    fill = jnp.ones if undefined == "one" else jnp.zeros
    values = [
        jnp.where(widen(x.defined, x.values), x.values, fill((), x.values.dtype))
        for x in (a, b)
    ]
    counts = a.weights > 0
    if undefined == "skip":
        counts = counts & a.defined & b.defined
    weights = jnp.where(counts, a.weights, jnp.zeros_like(a.weights))
    difference = values[1].astype(dtype) - values[0].astype(dtype)
    difference = jnp.where(widen(counts, difference), difference, 0)
    # The choice is made: the mean of differences asks for no other one.
    defined = jnp.ones_like(counts)
    return PerList(difference, weights, defined, cutoff_weights=a.cutoff_weights)


def common_undefined(
    name_a: str, a: Undefined | None, name_b: str, b: Undefined | None
) -> Undefined:
    """The `undefined` that both systems were measured with; "zero" if neither says.

    Raises:
        ValueError: if they differ. None agrees with any choice.
    """
    if a and b and a != b:
        raise ValueError(
            f"{name_a} was measured with undefined={a!r} and {name_b} with {b!r}; pass "
            "undefined= to count both in one way"
        )
    return a or b or "zero"


def _check_weights(a: PerList, b: PerList) -> None:
    for field in ("values", "weights"):
        shapes = [jnp.shape(getattr(x, field)) for x in (a, b)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"a and b differ in the shape of their {field}: {shapes[0]} and "
                f"{shapes[1]}; pass values of the same lists and cutoffs"
            )
    check_same_weights(a, b, ("a", "b"))
