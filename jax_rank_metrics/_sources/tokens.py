"""Late interaction: queries and items with a vector for each of their tokens."""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics import _inputs, _mesh
from jax_rank_metrics._pytree import pytree
from jax_rank_metrics._sources.products import products


@pytree()
class Tokens:
    """Vectors of the tokens of queries or items, for `similarity="maxsim"`.

    Late interaction keeps a vector for each token of a text, or patch of an image, and
    scores a query and an item by the sum over the query's tokens of the largest product
    with a token of the item.

    Attributes:
        vectors: `[…, tokens, dims]`, of NumPy or JAX.
        mask: `[…, tokens]` bool, the tokens that there are; None for all. What others
            hold is not read.

    References:
        Khattab & Zaharia, ColBERT: efficient and effective passage search via
        contextualized late interaction over BERT, SIGIR 2020.

    >>> from jax_rank_metrics import rank_catalog
    >>> queries = Tokens(jnp.array([[[1.0, 0], [0, 1]]]))
    >>> items = Tokens(
    ...     jnp.array([[[1.0, 1], [9, 9]], [[2, 0], [0, 3]]]),
    ...     jnp.array([[True, False], [True, True]]),
    ... )
    >>> rank_catalog(queries, items, jnp.array([[1]]), k=2, similarity="maxsim").items
    Array([[1, 0]], dtype=int32)
    """

    vectors: jax.Array | np.ndarray
    mask: jax.Array | np.ndarray | None = None


def packed(name: str, tokens: object) -> jax.Array:
    """Returns tokens as one array, of which items are rows like any others.

    Args:
        name: The argument, for messages.
        tokens: What should be `Tokens`.

    Returns:
        `[…, tokens, dims + 1]`: the vectors, and 1 for tokens that there are, else 0. What
        is filled up with zeros has no tokens.

    Raises:
        TypeError: if these are no tokens, or their mask is not bool.
        ValueError: if vectors have fewer than two axes, or the mask another shape.
    """
    if not isinstance(tokens, Tokens):
        raise TypeError(
            f'{name}: got {_inputs.kind_of(tokens)}, and similarity is "maxsim"; pass '
            "jrm.Tokens(vectors, mask)"
        )
    vectors = _inputs.real(f"{name}.vectors", tokens.vectors)
    if vectors.ndim < 2:
        raise ValueError(
            f"{name}.vectors has shape {vectors.shape}; pass [..., tokens, dims]"
        )
    if not jnp.issubdtype(vectors.dtype, jnp.floating):
        vectors = vectors.astype(_inputs.float_dtype(vectors))
    mask = _inputs.boolean(f"{name}.mask", tokens.mask, name, vectors.shape[:-1])
    if mask is None:
        mask = jnp.ones(vectors.shape[:-1], bool)
    # Padding may hold NaN, whose products would be NaN too.
    vectors = jnp.where(mask[..., None], vectors, 0)
    # Cut over a mesh as the vectors are, which the mask may not be.
    zeros = jnp.sum(jnp.zeros_like(vectors), axis=-1, keepdims=True)
    flags = jnp.where(mask[..., None], 1 + zeros, 0)
    return jnp.concatenate([vectors, flags], axis=-1)


def packed_on_host(items: Sequence[np.ndarray], width: int) -> np.ndarray:
    """Returns `packed` of arrays `[tokens, dims]`, filled up to `width` tokens."""
    result = np.zeros((len(items), width, items[0].shape[1] + 1), items[0].dtype)
    for row, item in zip(result, items, strict=True):
        row[: len(item), :-1] = item
        row[: len(item), -1] = 1
    return result


def maxsim(queries: jax.Array, items: jax.Array) -> jax.Array:
    """Sums, over the tokens of a query, the largest product with a token of an item.

    An item without tokens scores −inf, and any other 0 for a query without tokens.

    Args:
        queries: `[*lists, tokens, dims + 1]`, as `packed` makes them.
        items: `[items, tokens, dims + 1]`, or of each query `[queries, items, …]`.

    Returns:
        `[*lists, items]`, floats.
    """
    if items.ndim > 3:
        return jax.vmap(lambda query, listed: maxsim(query[None], listed)[0])(
            queries, items
        )
    lists = queries.shape[:-2]
    rows = queries.reshape(math.prod(lists), *queries.shape[-2:])
    tokens = jnp.swapaxes(items, 0, 1)
    scores = scores_of_tokens(rows, tokens[..., :-1], tokens[..., -1] > 0)
    return scores.reshape(*lists, items.shape[0])


def scores_of_tokens(
    queries: jax.Array, vectors: jax.Array, exists: jax.Array
) -> jax.Array:
    """Computes `maxsim` for items whose tokens lie side by side.

    Args:
        queries: `[queries, tokens, dims + 1]`, as `packed` makes them.
        vectors: `[tokens, items, dims]`.
        exists: `[tokens, items]` bool, the tokens that there are.

    Returns:
        `[queries, items]`, floats.
    """
    num_items, num_dims = vectors.shape[1:]
    # [queries · tokens, dims], which meet the tokens of all items one after the other: the
    # products of a step stay in the cache, and a maximum of them needs no other order.
    num_tokens = math.prod(queries.shape[:-1])
    rows = queries[..., :-1].reshape(num_tokens, num_dims)

    def step(
        best: jax.Array, tokens: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, None]:
        vectors, exists = tokens
        scores = products(rows, vectors).astype(best.dtype)
        return jnp.maximum(best, jnp.where(exists, scores, -jnp.inf)), None

    is_wide = jnp.float64 in (queries.dtype, vectors.dtype)
    dtype = jnp.float64 if is_wide else jnp.float32
    best = jnp.full((num_tokens, num_items), -jnp.inf, dtype)
    best = _mesh.match_varying(best, (rows, vectors, exists))
    best = lax.scan(step, best, (vectors, exists))[0]
    best = best.reshape(*queries.shape[:-1], num_items)
    scores = jnp.sum(jnp.where(queries[..., -1:] > 0, best, 0), axis=1)
    return jnp.where(jnp.any(exists, axis=0), scores, -jnp.inf)


def padded_width(num_tokens: int) -> int:
    """Returns the number of tokens that an item is filled up to, by its length alone.

    There are four widths from a power of two to the next: 4, 5, 6, 7, 8, 10, 12, 14, 16,
    20. Less than a fifth of a width is padding.
    """
    step = 2 ** max(0, num_tokens.bit_length() - 3)
    return -(-num_tokens // step) * step
