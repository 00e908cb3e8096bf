"""The queries that count where undefined values are skipped."""

import dataclasses
import functools
import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._states.per_list import PerList


def is_counted(metrics: Sequence[PerList]) -> Any:
    """Whether a query counts, `[queries]` bool: whether any of the metrics is defined.

    A user without a relevant item that may be found is one for whom none is. Ratios of
    sums say so for each cutoff; one of them is enough.
    """
    defined = [lists.defined for lists in metrics]
    defined = [x.any(tuple(range(1, x.ndim))) for x in defined]
    return functools.reduce(operator.or_, defined)


def counted_values(lists: PerList, counted: Any) -> PerList:
    """Returns values that are undefined for the queries that do not count."""
    defined = lists.defined & counted
    values = _only(lists.values, defined, 0)
    return dataclasses.replace(lists, values=values, defined=defined)


def counted_items(items: Any, counted: Any) -> Any:
    """Returns ids of items, `[queries, k]`, which are −1 where a query does not count."""
    return _only(items, counted, -1)


def _only(x: Any, counted: Any, filler: int) -> Any:
    """Returns `x`, `[queries, …]`, with another number where queries do not count."""
    where = jnp.where if isinstance(x, jax.Array) else np.where
    counted = counted.reshape(counted.shape + (1,) * (x.ndim - 1))
    return where(counted, x, np.asarray(filler, x.dtype))
