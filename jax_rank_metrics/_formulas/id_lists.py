"""Lists of ids in rank order, for metrics that read no labels."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jax_rank_metrics import _arithmetic, _inputs, _mesh, _shards
from jax_rank_metrics._ranking import Ranking, data_of, traced_data
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import RankedIds


def ranked_ids(
    name: str, ids: RankedIds | Ranking, ks: Sequence[int | None] = ()
) -> tuple[jax.Array, jnp.dtype]:
    """Reads ids in rank order from an array or a ranking, and the dtype of values.

    Args:
        name: The argument, for error messages.
        ids: `[*lists, ranks]`, or a ranking of lists in rows.
        ks: Cutoffs that a ranking must reach.

    Returns:
        `[*lists, ranks]` integers, at least one rank per list, negative where no item is.

    Raises:
        ValueError: if a ranking does not reach the cutoffs, has no order or is of packed
            lists; if the ids of a list are not all on one device.
        TypeError: if ids are not integers.
    """
    dtype = _inputs.float_dtype()
    if isinstance(ids, Ranking):
        data = data_of(ids)
        if data.packed_layout is not None:
            raise ValueError(
                f"{name} is a ranking of packed lists; pass a ranking of lists in rows, or "
                "the ids padded with -1"
            )
        if data.held is not None:
            traced_data(ids).held_through(ks)
        dtype, ids = data.dtype, data.items
    array = _inputs.ids(name, ids)
    if _mesh.spec_of(array)[-1]:
        raise ValueError(
            f"{name} has its ranks sharded over devices, as {jax.typeof(array)}; pass "
            "lists that are each whole on one device"
        )
    if not array.shape[-1]:
        array = jnp.full((*array.shape[:-1], 1), -1, array.dtype)
    return array, dtype


def if_ranked(lists: PerList, *ids: RankedIds | Ranking) -> PerList:
    """Returns values of lists, NaN where the list of a ranking has a score that is NaN.

    Args:
        lists: The values.
        *ids: Arrays or rankings, as the caller passed them.
    """
    for x in ids:
        nan_found = data_of(x).has_nan if isinstance(x, Ranking) else None
        if nan_found is not None:
            lists = _nan_where(lists, nan_found)
    return lists


@jax.jit
def _nan_where(lists: PerList, nan_found: jax.Array) -> PerList:
    lists, nan_found = _shards.align_with_sharded((lists, nan_found), nan_found.ndim)
    values = jnp.where(
        _arithmetic.widen(nan_found, lists.values), jnp.nan, lists.values
    )
    return dataclasses.replace(lists, values=values, defined=lists.defined | nan_found)


def equally_weighted(
    values: jax.Array, defined: jax.Array, keep_cutoffs: bool, is_share: bool = False
) -> PerList:
    """Results per list, each list with the weight 1.

    Args:
        values: `[*lists, len(ks)]`.
        defined: `[*lists]` bool.
        keep_cutoffs: Whether k was a tuple, so that cutoffs stay as the last axis.
        is_share: Whether values must lie in [0, 1].
    """
    values = jnp.where(defined[..., None], values, 0)
    values = values if keep_cutoffs else values[..., 0]
    weights = jnp.ones(defined.shape, values.dtype)
    return PerList(values, weights, defined, is_share=is_share)
