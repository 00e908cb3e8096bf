"""The randomised Tukey test: all pairs of several systems at once."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics._ordering.keys import mix
from jax_rank_metrics._results.inference.sign_flips import ROUNDING

VALUES = 2**18  # permuted values that exist at once: 1 MiB of floats
ROWS = 128  # lists among them


def tukey_test(
    values: np.ndarray, weights: np.ndarray, key: jax.Array, samples: int
) -> tuple[np.ndarray, int]:
    """P values of all differences of means, corrected for their number.

    If all systems were equal, the values of a list might as well have been those of any
    other order of the systems. p of two systems is the share of random orders, drawn
    anew in each list, under which the largest mean of any system is at least as far above
    the smallest as the means of the two are apart.

    Args:
        values: `[systems, lists]`.
        weights: `[lists]`; lists without a weight above 0 do not count.
        key: A typed PRNG key.
        samples: Number of permutations to draw.

    Returns:
        p `[systems, systems]`, 1 on the diagonal, and the number of permutations. The
        observed order counts as one more, so that p is at least 1 / (1 + samples).

    Time grows with the square of the number of systems: about 10⁻⁹ seconds for each
    permutation, list and pair of systems, so that 100,000 permutations of 8 systems and
    1,000 lists take five.

    References:
        Carterette, Multiple testing in statistical analysis of systems-based information
        retrieval experiments, ACM TOIS 2012.
    """
    # Whatever all systems share cancels in differences.
    terms = np.where(weights > 0, weights * (values - values.mean(0)), 0)
    terms = terms / np.maximum(np.abs(terms).max(initial=0), np.finfo(np.float64).tiny)
    terms = terms[:, (terms != 0).any(0)]
    systems, lists = terms.shape
    sums = terms.sum(1)
    slack = ROUNDING * np.abs(terms).max(0, initial=0).sum()
    thresholds = np.abs(sums[:, None] - sums[None, :]) - slack
    rows = min(1 << max(lists - 1, 0).bit_length(), ROWS)
    padded = np.pad(terms.astype(np.float32), ((0, 0), (0, -lists % rows)))
    chunks = padded.reshape(systems, -1, rows).swapaxes(0, 1)
    ranges = np.asarray(_permuted_ranges(chunks, key, samples))
    counts = [
        np.sum(ranges[:, None] >= row.astype(np.float32), axis=0) for row in thresholds
    ]
    return (1 + np.array(counts)) / (1 + samples), samples


@partial(jax.jit, static_argnums=2)
def _permuted_ranges(chunks: jax.Array, key: jax.Array, samples: int) -> jax.Array:
    """Largest less smallest sum of any system, under every permutation, `[samples]`.

    Args:
        chunks: `[chunks, systems, rows]` float32, the terms of all lists.
        key: A typed PRNG key.
        samples: Number of permutations.
    """
    count, systems, rows = chunks.shape
    patterns = min(max(VALUES // (systems * rows), 1), samples)
    blocks = -(-samples // patterns)
    list_key, pattern_key = random.split(key)
    list_seeds = random.bits(list_key, (count, 1, rows), jnp.uint32)
    pattern_seeds = random.bits(pattern_key, (blocks, patterns, 1), jnp.uint32)

    def ranges_of_block(seeds: jax.Array) -> jax.Array:
        def add_chunk(
            sums: jax.Array, chunk: tuple[jax.Array, jax.Array]
        ) -> tuple[jax.Array, None]:
            terms, list_seeds = chunk
            words = mix(list_seeds + seeds)  # [patterns, rows]
            return sums + _permuted_sums(terms, words), None

        start = jnp.zeros((systems, patterns), chunks.dtype)
        sums = lax.scan(add_chunk, start, (chunks, list_seeds))[0]
        return jnp.max(sums, axis=0) - jnp.min(sums, axis=0)

    return lax.map(ranges_of_block, pattern_seeds).reshape(-1)[:samples]


def _permuted_sums(terms: jax.Array, words: jax.Array) -> jax.Array:
    """Sums over lists whose systems are permuted.

    Args:
        terms: `[systems, rows]`.
        words: `[patterns, rows]` random uint32, of which each permutes a list.

    Returns:
        `[systems, patterns]`.
    """
    systems = terms.shape[0]
    index = jnp.arange(systems, dtype=jnp.int32)[:, None, None]

    # Fisher & Yates draw, of the values that remain, one for each system in turn, and
    # put the last one that remains in the place of it.
    def draw(
        state: tuple[jax.Array, jax.Array], remaining: jax.Array
    ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        values, words = state
        words = mix(words)
        # 24 bits are exact in a float, and the product rounds to less than `remaining`.
        share = (words >> 8).astype(jnp.float32) * 2.0**-24
        drawn = (share * remaining.astype(jnp.float32)).astype(jnp.int32)
        is_drawn = index == drawn[None]
        total = jnp.sum(jnp.where(is_drawn, values, 0), axis=(0, 2))
        last = lax.dynamic_index_in_dim(values, remaining - 1, keepdims=True)
        return (jnp.where(is_drawn, last, values), words), total

    values = jnp.broadcast_to(terms[:, None, :], (systems, *words.shape))
    remaining = jnp.arange(systems, 0, -1, dtype=jnp.int32)
    return lax.scan(draw, (values, words), remaining)[1]
