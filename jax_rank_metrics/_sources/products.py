"""Products of the vectors of queries and items, equal for items with equal vectors."""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics import _mesh

# How many partial sums a product of paired vectors has: enough to fill vector registers.
LANES = 16


def products(
    queries: jax.Array,
    items: jax.Array,
    precision: lax.Precision | None = None,
) -> jax.Array:
    """Multiplies each query with items, in a dtype that holds the products.

    Items with the same vector have the same product with a query, wherever they stand, so
    that they tie. Products of matrices are so, but not those of a matrix and a single
    vector, whose kernels add up the last items in another order. A query that is alone,
    or may be alone on its device, is therefore multiplied twice, and so is an item that is
    alone; the products of items that each query has of its own are sums over the last axis.

    Args:
        queries: `[*lists, dims]`.
        items: `[items, dims]`, which all queries share; or `[*lists, items, dims]`.
        precision: Of products of matrices; see `jax.lax.dot_general`.

    Returns:
        `[*lists, items]`.
    """
    dtype = product_dtype(queries.dtype, items.dtype)
    if items.ndim > 2:
        return _paired(queries.astype(dtype), items.astype(dtype))
    # Half floats and bytes are multiplied as they are, and added up in the wider dtype.
    is_narrow = (
        jnp.issubdtype(queries.dtype, jnp.floating) or queries.dtype.itemsize == 1
    )
    if queries.dtype != items.dtype or queries.dtype == jnp.bool_ or not is_narrow:
        queries, items = queries.astype(dtype), items.astype(dtype)
    # Where XLA cuts lists over devices by itself, each of them may have one, and so may a
    # symbolic number of lists be.
    count = math.prod(queries.shape[:-1])
    may_be_alone = not isinstance(count, int) or count <= _mesh.auto_shards(queries)
    if may_be_alone:
        queries = jnp.stack([queries, queries], axis=-2)
    num_items = items.shape[0]
    if num_items == 1:
        items = jnp.concatenate([items, items])
    result = lax.dot_general(
        queries,
        items,
        (((queries.ndim - 1,), (1,)), ((), ())),
        precision=precision,
        preferred_element_type=dtype,
    )
    result = result[..., :num_items]
    return result[..., 0, :] if may_be_alone else result


def product_dtype(*dtypes: DTypeLike) -> jnp.dtype:
    """Returns the dtype in which vectors of these dtypes are multiplied and added up.

    It is not the dtype of the vectors, in which int8 would overflow, and float16 round
    each product. Sums of products of bytes fit int32. Those of wider integers fit no
    integer of the devices, and are float32, like those of floats below float64.
    """
    kinds = [jnp.dtype(dtype) for dtype in dtypes]
    if jnp.float64 in kinds:
        return jnp.dtype(jnp.float64)
    are_bytes = all(x.itemsize == 1 and x.kind in "biu" for x in kinds)
    return jnp.dtype(jnp.int32 if are_bytes else jnp.float32)


def _paired(queries: jax.Array, items: jax.Array) -> jax.Array:
    """Multiplies `[*lists, dims]` with `[*lists, items, dims]`, as sums over dims."""
    missing = -queries.shape[-1] % LANES

    def in_lanes(x: jax.Array) -> jax.Array:
        padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])
        return padded.reshape(*x.shape[:-1], -1, LANES)

    terms = in_lanes(queries)[..., None, :, :] * in_lanes(items)
    # Partial sums first, which a CPU adds up side by side: a tenth of the time of one sum.
    return jnp.sum(jnp.sum(terms, axis=-2), axis=-1)
