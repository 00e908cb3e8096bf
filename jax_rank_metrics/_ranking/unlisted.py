"""The value of items that are not listed, where only listed ones hold places.

Such an item has the label 0, and 0 or False in every column. Its value is computed while
tracing, by one small program for each function of items.
"""

import weakref
from collections.abc import Hashable

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._items import ItemArrays
from jax_rank_metrics._ranking.held import UnknownPlaceError
from jax_rank_metrics._ranking.items import ItemFn, item_amounts
from jax_rank_metrics._ranking.parts import Parts
from jax_rank_metrics._while_tracing import constant

# Values that were found, by the shapes and dtypes of what a function reads; None if it
# gives 0. They are kept for as long as the function itself.
_Values = dict[Hashable, np.ndarray | None]
_values: weakref.WeakKeyDictionary[ItemFn, _Values] = weakref.WeakKeyDictionary()


def check_unlisted(ranking: Parts, item_fn: ItemFn) -> None:
    """Raises if items with the label 0 have a value, but their places are not held."""
    value = unlisted_value(ranking, item_fn)
    if isinstance(value, np.ndarray):
        raise UnknownPlaceError(
            f"an item with the label 0 is worth {float(np.max(np.abs(value)))}, but this "
            "ranking holds only the items that are listed; pass a k to the call that made "
            "it (rank_places takes none), rank all items, or make items with the label 0 "
            "worth 0, for example by another gain_fn"
        )


def unlisted_value(ranking: Parts, item_fn: ItemFn) -> np.ndarray | jax.Array | None:
    """Returns the value of an unlisted item, `[…]`, where unlisted places are not held.

    None where every place is held, or where the value is 0. It is traced only if
    `item_fn` has taken traced values from elsewhere.
    """
    if not ranking._omits_unlisted:
        return None
    assert ranking._held is not None
    trailing, dtype = ranking._list_exists.ndim + 1, ranking._dtype
    columns = {
        name: np.zeros((1, *x.shape[trailing:]), x.dtype)
        for name, x in ranking._held.items.columns.items()
    }
    names, arrays = list(columns), list(columns.values())
    kinds = {name: (x.shape, x.dtype) for name, x in columns.items()}
    key = (dtype, tuple(sorted(kinds.items())))
    try:
        values = _values.setdefault(item_fn, {})
    except TypeError:  # a callable that cannot be a weak key
        values = _Values()
    if key in values:
        return values[key]

    def value_of(labels: jax.Array, exists: jax.Array, *arrays: jax.Array) -> jax.Array:
        columns = dict(zip(names, arrays, strict=True))
        items = ItemArrays(labels, exists, None, columns)
        return item_amounts(item_fn, items, dtype)[0]

    arguments = (np.zeros(1, dtype), np.ones(1, bool), *arrays)
    value = constant(value_of, *arguments)
    if value is None:
        return value_of(*map(jnp.asarray, arguments))
    values[key] = value if value.any() else None
    return values[key]
