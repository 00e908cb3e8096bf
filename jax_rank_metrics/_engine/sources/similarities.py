"""The scores of queries and items, by a named similarity or by a user's function.

Items with equal vectors have equal products with a query, and so they tie.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics._ground import arithmetic, inputs, meshes, pytrees

SimilarityName = Literal["dot", "cosine", "l2", "hamming", "maxsim"]

# Takes queries `[*lists, …]` and items `[items, …]`, returns scores `[*lists, items]`.
SimilarityFn = Callable[[jax.Array, jax.Array], jax.Array]

# The number of partial sums in a product of paired vectors: enough to fill the vector
# registers of a CPU.
LANES = 16


@pytrees.pytree("function")
class Similarity:
    """The function that scores queries and items, and the origin of `l2`.

    Attributes:
        function: Computes scores; see `SimilarityFn`.
        origin: `[dims]`, the third argument of `l2`: the point from which it measures
            vectors. None for other functions.
    """

    function: Callable[..., jax.Array]
    origin: jax.Array | None = None

    @property
    def query_axes(self) -> int:
        """The number of axes of a query."""
        return 2 if self.function is maxsim else 1

    @property
    def is_custom(self) -> bool:
        """True for a user's function, which is not one of `FUNCTIONS`."""
        return self.function not in FUNCTIONS.values()

    def scores(self, queries: jax.Array, items: jax.Array) -> jax.Array:
        """Scores all pairs of queries `[*lists, …]` and items `[items, …]`."""
        if self.origin is None:
            return self.function(queries, items)
        return self.function(queries, items, self.origin)

    def check(
        self,
        queries: jax.Array | np.ndarray,
        items: jax.Array | np.ndarray,
        num_items: int,
        lists: tuple[int, ...] | None,
    ) -> None:
        """Raises unless a user's function returns the scores of a block of items.

        Only shapes and dtypes are traced, so no score is computed.

        Args:
            queries: `[*lists, …]`.
            items: `[items, …]`.
            num_items: How many items are in a block.
            lists: The shape of the axes of lists; None accepts any.
        """
        if not self.is_custom:
            return
        example = queries
        if not isinstance(queries, jax.Array) or meshes.is_sharded(queries):
            # The function will get the shard of one device, so trace it with types alone.
            example = _type_of(queries)
        block = _type_of(items).update(shape=(num_items, *items.shape[1:]))
        scores = jax.eval_shape(self.function, example, block)
        shape = getattr(scores, "shape", None) or ()
        expected = (*(shape[:-1] if lists is None else lists), num_items)
        if shape != expected:
            expected = expected if lists is not None else f"[*lists, {num_items}]"
            raise ValueError(
                f"similarity gives {inputs.kind_of(scores)} for {num_items} items; return "
                f"scores of shape {expected}"
            )
        if jnp.issubdtype(scores.dtype, jnp.complexfloating):
            raise TypeError(
                f"similarity gives {scores.dtype} scores; return real numbers"
            )

    def of_pairs(self, queries: jax.Array, items: jax.Array) -> jax.Array:
        """Scores each query with its own items.

        Args:
            queries: `[queries, …]`.
            items: `[queries, listed, …]`.

        Returns:
            `[queries, listed]`.
        """
        if not self.is_custom:
            # The functions of this file take items `[queries, listed, …]`. A user's
            # function takes items that all queries share, so it gets one query at a time.
            return self.scores(queries, items)

        def score(query: jax.Array, query_items: jax.Array) -> jax.Array:
            return self.function(query[None], query_items)[0]

        return jax.vmap(score)(queries, items)


def read_similarity(
    similarity: SimilarityName | SimilarityFn,
    queries: jax.Array | np.ndarray,
    items: jax.Array | np.ndarray,
) -> Similarity:
    """Returns the `Similarity` for a name or for a user's function.

    Args:
        similarity: The argument of `rank_catalog`.
        queries: `[*lists, dims]`; any trailing axes for a function.
        items: `[items, dims]`; any trailing axes for a function.

    Raises:
        ValueError: if the name is unknown, or if the shapes of queries and items do not
            fit.
        TypeError: if packed bits are not uint8.
    """
    if callable(similarity):
        return Similarity(similarity)
    inputs.option("similarity", similarity, SimilarityName, "a function or ")
    axes = 2 if similarity == "maxsim" else 1  # of a query or an item, with its dims
    is_fit = queries.ndim >= axes and items.ndim == axes + 1
    if similarity == "maxsim" and not (is_fit and queries.shape[-1] == items.shape[-1]):
        # Both arrays are packed: their last dim is a flag, which the caller did not pass.
        shapes = [(*side.shape[:-1], side.shape[-1] - 1) for side in (queries, items)]
        raise ValueError(
            f"queries.vectors has shape {shapes[0]} and items.vectors has shape "
            f"{shapes[1]}; pass jrm.Tokens of [*lists, tokens, dims] and [items, tokens, "
            "dims]"
        )
    if not is_fit or queries.shape[-1] != items.shape[-1]:
        raise ValueError(
            f"queries has shape {queries.shape} and items has shape {items.shape}; pass "
            "embeddings [*lists, dims] and [items, dims], or a function as similarity"
        )
    if similarity == "hamming":
        for name, vectors in (("queries", queries), ("items", items)):
            if vectors.dtype != np.uint8:
                raise TypeError(
                    f'{name}: dtype is {vectors.dtype}, but similarity "hamming" compares '
                    "bits; pass packed bits, uint8, as numpy.packbits(bits, axis=-1) makes "
                    "them"
                )
    if similarity == "l2":
        return Similarity(l2, _origin_of(queries))
    return Similarity(FUNCTIONS[similarity])


def _type_of(x: jax.Array | np.ndarray) -> jax.ShapeDtypeStruct:
    """Returns the type that an array has in a program, on one device."""
    return jax.ShapeDtypeStruct(x.shape, jax.dtypes.canonicalize_dtype(x.dtype))


def _origin_of(queries: jax.Array | np.ndarray) -> jax.Array:
    """Returns the point from which `l2` measures, `[dims]`.

    It is the mean of all queries, so every batch of queries has the same point. If all
    queries hold whole numbers the mean is rounded, so that distances between vectors of
    whole numbers stay whole and exact.
    """
    dtype = jax.dtypes.canonicalize_dtype(queries.dtype)
    dtype = inputs.float_dtype(jax.ShapeDtypeStruct((), dtype))
    if isinstance(queries, jax.Array):
        return _origin_on_device(queries, dtype)
    return jnp.asarray(_origin(np, queries, dtype))


@partial(jax.jit, static_argnames="dtype")
def _origin_on_device(queries: jax.Array, dtype: np.dtype) -> jax.Array:
    return _origin(jnp, queries, dtype)


def _origin(xp: Any, queries: Any, dtype: np.dtype) -> Any:
    """Returns the origin, computed by `xp`, which is `numpy` or `jax.numpy`."""
    mean = xp.mean(queries, axis=tuple(range(queries.ndim - 1)), dtype=dtype)
    is_whole = xp.all(xp.round(queries) == queries)
    # A query that is NaN or infinite must not spoil the distances of the other queries.
    origin = xp.nan_to_num(mean, posinf=0, neginf=0)
    return xp.where(is_whole, xp.round(origin), origin)


# The functions below score the items of a block, `[items, …]`, or each query's own items,
# `[*lists, items, …]`.


def products(
    queries: jax.Array,
    items: jax.Array,
    precision: lax.Precision | None = None,
) -> jax.Array:
    """Multiplies each query with items, in a dtype that holds the products.

    Items with the same vector have the same product with a query, wherever they stand, so
    that they tie. Products of two matrices have this property. Products of a matrix and a
    single vector do not, because their kernels add up the last items in another order. So
    a query that is alone, or may be alone on its device, is multiplied twice, and a single
    item too. If each query has its own items, products are sums over the last axis.

    Args:
        queries: `[*lists, dims]`.
        items: `[items, dims]`, which all queries share; or `[*lists, items, dims]`.
        precision: The precision of matrix products; see `jax.lax.dot_general`.

    Returns:
        `[*lists, items]`.
    """
    dtype = product_dtype(queries.dtype, items.dtype)
    if items.ndim > 2:
        return _paired(queries.astype(dtype), items.astype(dtype))
    # Floats and bytes are multiplied in their own dtype; products are added up in `dtype`.
    is_narrow = (
        jnp.issubdtype(queries.dtype, jnp.floating) or queries.dtype.itemsize == 1
    )
    if queries.dtype != items.dtype or queries.dtype == jnp.bool_ or not is_narrow:
        queries, items = queries.astype(dtype), items.astype(dtype)
    # If XLA shards the lists by itself, each device may get a single list. A symbolic
    # number of lists may be 1 as well.
    count = math.prod(queries.shape[:-1])
    is_doubled = not isinstance(count, int) or count <= meshes.auto_shards(queries)
    if is_doubled:
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
    return result[..., 0, :] if is_doubled else result


def product_dtype(*dtypes: DTypeLike) -> jnp.dtype:
    """Returns the dtype in which vectors of these dtypes are multiplied and added up.

    It may differ from the dtype of the vectors, because int8 would overflow and float16
    would round each product. Sums of products of bytes fit int32. Sums for wider integers
    fit no integer of the devices, so they are float32, as for all floats below float64.
    """
    kinds = [jnp.dtype(dtype) for dtype in dtypes]
    if jnp.float64 in kinds:
        return jnp.dtype(jnp.float64)
    are_bytes = all(dtype.itemsize == 1 and dtype.kind in "biu" for dtype in kinds)
    return jnp.dtype(jnp.int32 if are_bytes else jnp.float32)


def _paired(queries: jax.Array, items: jax.Array) -> jax.Array:
    """Multiplies `[*lists, dims]` with `[*lists, items, dims]`, as sums over dims."""
    missing = -queries.shape[-1] % LANES

    def in_lanes(x: jax.Array) -> jax.Array:
        padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])
        return padded.reshape(*x.shape[:-1], -1, LANES)

    terms = in_lanes(queries)[..., None, :, :] * in_lanes(items)
    # A CPU adds up the partial sums side by side, in a tenth of the time of a single sum.
    return jnp.sum(jnp.sum(terms, axis=-2), axis=-1)


def cosine(queries: jax.Array, items: jax.Array) -> jax.Array:
    """Scores pairs by the cosine of the angle between them; 0 for zero vectors."""
    return products(_unit_vectors(queries), _unit_vectors(items))


def _unit_vectors(vectors: jax.Array) -> jax.Array:
    """Divides vectors by their lengths; zeros stay zeros.

    First a power of two scales the largest entry to between 1 and 4, so that no square
    over- or underflows. This scaling changes no bit of results that did not need it.
    """
    dtype = inputs.float_dtype(vectors)
    vectors = vectors.astype(dtype)
    largest = jnp.max(jnp.abs(vectors), axis=-1, keepdims=True, initial=0)
    tiny = jnp.finfo(dtype).tiny
    power = jnp.clip(arithmetic.power_of_two_below(largest), tiny, 1 / tiny)
    vectors = vectors * (1 / power)  # faster than a division, and as exact
    norms = jnp.sqrt(jnp.sum(vectors * vectors, axis=-1, keepdims=True))
    return vectors / jnp.where(norms > 0, norms, 1)


def l2(queries: jax.Array, items: jax.Array, origin: jax.Array) -> jax.Array:
    """Scores pairs in the order of the Euclidean distance between them, nearest first.

    With y = x − o, the score (q − o)·y − |y|²/2 is half of |q − o|² − |q − x|². This score
    ranks the items of a query as −|q − x|² does, with one rounding less. The point o lies
    among the vectors, so the terms are only as large as distances. Vectors far from 0 thus
    lose no more digits to cancellation than vectors around 0.

    Args:
        queries: `[*lists, dims]`.
        items: `[items, dims]` or `[*lists, items, dims]`.
        origin: `[dims]`, the point o, the same for all queries and items.
    """
    dtype = inputs.float_dtype(queries, items, origin)
    origin = origin.astype(dtype)
    items = items.astype(dtype) - _of_items(origin, items.ndim)
    # Ask for the highest precision, because accelerators multiply with fewer bits by
    # default, and cancellation would lose them.
    queries = queries.astype(dtype) - _of_items(origin, queries.ndim)
    scores = products(queries, items, lax.Precision.HIGHEST)
    return scores - _of_items(jnp.sum(items * items, axis=-1) / 2, scores.ndim)


def hamming(queries: jax.Array, items: jax.Array) -> jax.Array:
    """Scores pairs by the negative number of bits that differ: whole numbers, as float32.

    Args:
        queries: `[*lists, bytes]` uint8.
        items: `[items, bytes]` uint8, or `[*lists, items, bytes]`.
    """
    queries, items = _words(queries), _words(items)
    distances = jnp.zeros((*queries.shape[:-1], items.shape[-2]), jnp.uint32)
    # Go word by word, because all words at once need an array `[*lists, items, words]`.
    for word in range(items.shape[-1]):
        item_words = _of_items(items[..., word], queries.ndim)
        distances += lax.population_count(queries[..., word, None] ^ item_words)
    return -distances.astype(jnp.float32)


def _of_items(values: jax.Array, ndim: int) -> jax.Array:
    """Prepends axes of size 1 for missing axes of lists, so that there are `ndim` axes."""
    return jnp.expand_dims(values, range(ndim - values.ndim))


def _words(packed: jax.Array) -> jax.Array:
    """Views bytes, `[…, bytes]`, as words of 32 bits; bits of 0 fill up the last word."""
    padding = [(0, 0)] * (packed.ndim - 1) + [(0, -packed.shape[-1] % 4)]
    padded = jnp.pad(packed, padding)
    return lax.bitcast_convert_type(
        padded.reshape(*padded.shape[:-1], -1, 4), jnp.uint32
    )


def maxsim(queries: jax.Array, items: jax.Array) -> jax.Array:
    """Sums, over the tokens of a query, the largest product with a token of an item.

    An item without tokens scores −inf. If a query has no tokens, all other items score 0.

    Args:
        queries: `[*lists, tokens, dims + 1]`, as `packed` makes them.
        items: `[items, tokens, dims + 1]`; or `[queries, items, tokens, dims + 1]`, if each
            query has its own items.

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
        exists: `[tokens, items]` bool, false for padding.

    Returns:
        `[queries, items]`, floats.
    """
    num_items, num_dims = vectors.shape[1:]
    # Rows [queries · tokens, dims] are multiplied with one token of each item per step, so
    # that products stay in the cache, and a running maximum needs no transposition.
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
    best = meshes.match_varying(best, (rows, vectors, exists))
    best = lax.scan(step, best, (vectors, exists))[0]
    best = best.reshape(*queries.shape[:-1], num_items)
    scores = jnp.sum(jnp.where(queries[..., -1:] > 0, best, 0), axis=1)
    return jnp.where(jnp.any(exists, axis=0), scores, -jnp.inf)


# Keyed by the names that `rank_catalog` takes.
FUNCTIONS: dict[str, Callable[..., jax.Array]] = {
    "dot": products,
    "cosine": cosine,
    "l2": l2,
    "hamming": hamming,
    "maxsim": maxsim,
}
