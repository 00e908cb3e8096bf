"""The difference of two systems, list by list."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jax_rank_metrics import _inputs
from jax_rank_metrics._arithmetic import widen
from jax_rank_metrics._states.double_floats import canonical
from jax_rank_metrics._states.merging import check_leaves, in_order
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Undefined

# By how much numbers may differ that two programs made of one: see CONTRIBUTING.
ROUNDING = 1e-6


def paired(a: Any, b: Any, undefined: Undefined = "zero") -> Any:
    """The difference b − a of every list: above 0 where b is better.

    Its mean merges as that of any metric does, and is a paired test that gathers no
    lists: over batches, devices and hosts, only sums move. The interval of the difference
    is narrower than those of a and b tell, since lists that are hard for one system are
    hard for the other; see `compare`.

    Args:
        a: A `PerList`, or any pytree of them, as `measure` gives; the baseline.
        b: The same of another system, for the same lists in the same order.
        undefined: What a value counts for where the metric is undefined: "zero", "one",
            or "skip", which keeps the lists in which both are defined.

    Returns:
        The same pytree. Values are `[*lists, …]` as those of a and b, and defined in every
        list, since `undefined` has filled them; weights are those of a, and 0 where
        "skip" leaves a list out.

    Raises:
        ValueError: if structures or shapes differ, or if `undefined` is none of these; if
            a list has another weight in a than in b. Where weights are traced by
            `jax.jit`, or lie on other hosts, those of a are used unseen.
        TypeError: if a leaf is no `PerList`.

    >>> from jax_rank_metrics import hit_rate
    >>> labels = jnp.array([[1, 0], [1, 0], [0, 1]])
    >>> a = hit_rate.per_list(labels, jnp.array([[1, 2], [1, 2], [1, 2]]), k=1)
    >>> b = hit_rate.per_list(labels, jnp.array([[2, 1], [1, 2], [1, 2]]), k=1)
    >>> lists = paired(a, b)
    >>> lists.values.tolist(), f"{lists.mean().compute():+.2f}"
    ([1.0, 0.0, 0.0], '+0.33')
    """
    _inputs.option("undefined", undefined, Undefined)
    check_leaves(a, PerList, "a")
    check_leaves(b, PerList, "b")
    structures = [jax.tree.structure(x) for x in (a, b)]
    if structures[0] != structures[1]:
        raise ValueError(
            f"a and b differ in structure: {structures[0]} and {structures[1]}; pass "
            "values of the same metrics"
        )

    def difference(one: PerList, two: PerList) -> PerList:
        _same_weights(one, two)
        return _difference(one, two, undefined)

    both = jax.tree.map(
        difference, canonical(a), canonical(b), is_leaf=lambda x: isinstance(x, PerList)
    )
    return in_order(a, both)


def _difference(a: PerList, b: PerList, undefined: str) -> PerList:
    dtype = _inputs.float_dtype(a.values, b.values)
    values = [filled(x, undefined, jnp).astype(dtype) for x in (a, b)]
    counts = counted(a, b, undefined)
    weights = jnp.where(counts, a.weights, jnp.zeros_like(a.weights))
    difference = values[1] - values[0]
    difference = jnp.where(widen(counts, difference), difference, 0)
    return PerList(difference, weights, jnp.ones_like(counts))


def filled(lists: PerList, undefined: str, xp: Any) -> Any:
    """Values, with what the undefined ones count for; `xp` is NumPy or that of JAX."""
    values, defined = lists.values, lists.defined
    fill = xp.ones_like if undefined == "one" else xp.zeros_like
    return xp.where(widen(defined, values), values, fill(values))


def counted(a: PerList, b: PerList, undefined: str) -> Any:
    """Whether each list counts in a difference."""
    weighs = a.weights > 0
    return weighs & a.defined & b.defined if undefined == "skip" else weighs


def _same_weights(a: PerList, b: PerList) -> None:
    for part in ("values", "weights"):
        one, two = getattr(a, part), getattr(b, part)
        if jnp.shape(one) != jnp.shape(two):
            raise ValueError(
                f"a and b differ in the shape of their {part}: {jnp.shape(one)} and "
                f"{jnp.shape(two)}; pass values of the same lists and cutoffs"
            )
    weights = a.weights, b.weights
    if any(isinstance(x, Tracer) or not _is_here(x) for x in weights):
        return
    one, two = (np.asarray(x) for x in weights)
    for place in np.argwhere(differ(one, two))[:1].tolist():
        at = place[0] if len(place) == 1 else tuple(place)
        raise ValueError(
            f"list {at} has weight {one[tuple(place)]:g} in a and {two[tuple(place)]:g} "
            "in b; pass the same lists with the same weights"
        )


def _is_here(x: Any) -> bool:
    return getattr(x, "is_fully_addressable", True)


def differ(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Whether weights are different; those of lists that do not count are all alike."""
    one, two = (np.where(x > 0, x, 0) for x in (one, two))
    return np.minimum(one, two) < np.maximum(one, two) * (1 - ROUNDING)
