"""The scores of queries and items, by the names of similarities."""

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_rank_metrics import _arithmetic, _inputs
from jax_rank_metrics._drivers.devices import Array
from jax_rank_metrics._sources.products import products

# From queries `[queries, …]` and items `[items, …]`, the scores `[queries, items]`.
ScoreFn = Callable[[jax.Array, jax.Array], jax.Array]

SimilarityName = Literal["dot", "cosine", "l2", "hamming"]


# The functions below score the items of a block, `[items, …]`, or items that each query has
# of its own, `[*lists, items, …]`.


def cosine(queries: jax.Array, items: jax.Array) -> jax.Array:
    """Scores pairs by the cosine of the angle between them; 0 for zero vectors."""
    return products(_unit_vectors(queries), _unit_vectors(items))


def _unit_vectors(vectors: jax.Array) -> jax.Array:
    """Divides vectors by their lengths; zeros stay zeros.

    A power of two first takes the largest entry to between 1 and 4, so that no square
    over- or underflows. It changes no bit of other results.
    """
    dtype = _inputs.float_dtype(vectors)
    vectors = vectors.astype(dtype)
    largest = jnp.max(jnp.abs(vectors), axis=-1, keepdims=True, initial=0)
    tiny = jnp.finfo(dtype).tiny
    power = jnp.clip(_power_of_two_below(largest), tiny, 1 / tiny)
    vectors = vectors * (1 / power)  # faster than a division, and as exact
    norms = jnp.sqrt(jnp.sum(vectors * vectors, axis=-1, keepdims=True))
    return vectors / jnp.where(norms > 0, norms, 1)


def _power_of_two_below(x: jax.Array) -> jax.Array:
    """Returns the largest power of two that is at most x ≥ 0: of 5, 4; of 0, 0."""
    integer = _arithmetic.integer_like(x.dtype)
    infinity = lax.bitcast_convert_type(jnp.asarray(jnp.inf, x.dtype), integer)
    bits = lax.bitcast_convert_type(x, integer) & infinity  # without the mantissa
    return lax.bitcast_convert_type(bits, x.dtype)


def l2(queries: jax.Array, items: jax.Array) -> jax.Array:
    """Scores pairs in the order of the Euclidean distance between them, nearest first.

    With y = x − o, the score (q − o)·y − |y|²/2 is half of |q − o|² − |q − x|². It ranks
    the items of a query as −|q − x|² does, and has one rounding less. The point o lies
    among the vectors. So all terms are as large as distances, and cancel no more than
    those of vectors around 0, wherever the vectors lie.

    Args:
        queries: `[*lists, 2, dims]`, of each query the vector, and the point o.
        items: `[items, dims]` or `[*lists, items, dims]`.
    """
    dtype = _inputs.float_dtype(queries, items)
    queries, origin = (queries[..., i, :].astype(dtype) for i in range(2))
    origin_of_items = origin.reshape(-1, origin.shape[-1])[0]
    items = items.astype(dtype) - _of_items(origin_of_items, items.ndim)
    # Fewer bits, which accelerators use by default, would be lost to cancellation.
    scores = products(queries - origin, items, lax.Precision.HIGHEST)
    return scores - _of_items(jnp.sum(items * items, axis=-1) / 2, scores.ndim)


def hamming(queries: jax.Array, items: jax.Array) -> jax.Array:
    """Scores pairs by minus the number of bits that differ: whole numbers, as float32.

    Args:
        queries: `[*lists, bytes]` uint8.
        items: `[items, bytes]` uint8, or `[*lists, items, bytes]`.
    """
    queries, items = _words(queries), _words(items)
    distances = jnp.zeros((*queries.shape[:-1], items.shape[-2]), jnp.uint32)
    for word in range(items.shape[-1]):
        item_words = _of_items(items[..., word], queries.ndim)
        distances += lax.population_count(queries[..., word, None] ^ item_words)
    return -distances.astype(jnp.float32)


def _of_items(values: jax.Array, ndim: int) -> jax.Array:
    """Adds axes of lists, if they are missing, to values of the last axes."""
    return jnp.expand_dims(values, range(ndim - values.ndim))


def _words(packed: jax.Array) -> jax.Array:
    """Views bytes, `[…, bytes]`, as words of 32 bits; bits of 0 fill up the last word."""
    padding = [(0, 0)] * (packed.ndim - 1) + [(0, -packed.shape[-1] % 4)]
    padded = jnp.pad(packed, padding)
    return lax.bitcast_convert_type(
        padded.reshape(*padded.shape[:-1], -1, 4), jnp.uint32
    )


# None is the product of embeddings, as in `rank_catalog`.
SCORE_FNS: dict[str, ScoreFn | None] = {
    "dot": None,
    "cosine": cosine,
    "l2": l2,
    "hamming": hamming,
}


def is_custom(score_fn: ScoreFn | None) -> bool:
    """Whether a function of scores is none of those here."""
    return score_fn not in SCORE_FNS.values()


def read_similarity(
    similarity: str,
    score_fn: ScoreFn | None,
    queries: Array,
    items: Array,
) -> ScoreFn | None:
    """Returns the function of scores; None for the product of embeddings.

    Raises:
        ValueError: if `similarity` is unknown, if both are passed, or if the shapes of
            queries and items do not fit.
        TypeError: if `score_fn` is no function, or packed bits are not uint8.
    """
    _inputs.option("similarity", similarity, SimilarityName, "a score_fn or ")
    if score_fn is not None:
        if similarity != "dot":
            raise ValueError(
                f"similarity is {similarity!r}, and score_fn is given; pass one of them"
            )
        if not callable(score_fn):
            raise TypeError(
                f"score_fn is {score_fn!r}; pass a function of queries and items"
            )
        return score_fn
    if queries.ndim != 2 or items.ndim != 2 or queries.shape[1] != items.shape[1]:
        raise ValueError(
            f"queries has shape {queries.shape} and items has shape {items.shape}; pass "
            "[queries, dims] and [items, dims], or a score_fn"
        )
    if similarity == "hamming":
        for name, vectors in (("queries", queries), ("items", items)):
            if vectors.dtype != np.uint8:
                raise TypeError(
                    f"{name}: dtype is {vectors.dtype}; pass packed bits, uint8, as "
                    "numpy.packbits(bits, axis=-1) makes them"
                )
    return SCORE_FNS[similarity]


def origin_of(
    score_fn: ScoreFn | None, queries: jax.Array | np.ndarray
) -> jax.Array | None:
    """Returns the point from which `l2` measures, `[dims]`; None for other functions.

    It is the mean of the queries, which is the same for all batches. For vectors of whole
    numbers it is one too: their distances are whole numbers, and remain exact.
    """
    if score_fn is not l2:
        return None
    dtype = jax.dtypes.canonicalize_dtype(queries.dtype)
    dtype = _inputs.float_dtype(jax.ShapeDtypeStruct((), dtype))
    library = jnp if isinstance(queries, jax.Array) else np
    mean = library.mean(queries, axis=0, dtype=dtype)
    is_whole = library.all(library.round(queries) == queries)
    mean = jnp.asarray(mean, dtype)
    # Where a query is NaN or infinite, the others still have distances.
    return jnp.nan_to_num(
        jnp.where(is_whole, jnp.round(mean), mean), posinf=0, neginf=0
    )
