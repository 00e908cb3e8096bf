"""Draws of lists in random resamples, and the sums over what is drawn."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics import _inputs, _mesh
from jax_rank_metrics._ordering.keys import mix
from jax_rank_metrics._states.double_floats import FloatPair
from jax_rank_metrics._types import Key

# Draws that exist at once, and resamples among them: 4 MiB of counts, as floats.
DRAWS, RESAMPLES = 2**20, 2**10

# P(n ≤ j) of a Poisson variable n of mean 1, in units of 2⁻³²: n is the number of these
# thresholds that a uniform word of 32 bits reaches. It is never more than 12, which is
# less likely than 2⁻³².
_AT_MOST = np.cumsum([math.exp(-1) / math.factorial(j) for j in range(12)])
THRESHOLDS = np.round(_AT_MOST * 2.0**32).astype(np.uint32)


def seeds_of(key: Key | None, samples: int) -> jax.Array:
    """Draws random uint32 words `[1 + samples]`: a shared seed, then one per resample.

    Without a key they are those of `jax.random.key(0)`.
    """
    key = random.key(0) if key is None else _inputs.prng_key(key)
    return random.bits(key, (1 + samples,), jnp.uint32)


def resampled(values: jax.Array, ids: jax.Array, seeds: jax.Array) -> FloatPair:
    """Σ n·values over lists, for the draws n of every resample.

    Args:
        values: `[lists, columns]`.
        ids: `[lists]` int32, on which the draws of a list depend, or `[lists, 2]` as of
            `hash_ids`.
        seeds: `[1 + samples]`, as of `seeds_of`.

    Returns:
        `[1 + samples, columns]`; the first row is the plain sums, n = 1.
    """
    (lists, columns), samples = values.shape, len(seeds) - 1
    width = min(samples, RESAMPLES)
    rows = max(min(DRAWS // width, lists), 1)
    blocks, chunks = -(-lists // rows), -(-samples // width)
    padding = blocks * rows - lists  # of id 0, which adds zeros
    values = jnp.pad(values, ((0, padding), (0, 0))).reshape(blocks, rows, columns)
    ids = jnp.pad(ids, ((0, padding), *((0, 0),) * (ids.ndim - 1)))
    ids = ids.reshape(blocks, rows, *ids.shape[1:])
    start = jnp.zeros((1 + width, columns), values.dtype)
    start = _mesh.match_varying(FloatPair.of(start), (values, ids))

    def sums_of_chunk(chunk_seeds: jax.Array) -> FloatPair:
        def add_block(
            total: FloatPair, block: tuple[jax.Array, jax.Array]
        ) -> tuple[FloatPair, None]:
            values, ids = block
            n = poisson_draws(ids, seeds[0], chunk_seeds).astype(values.dtype)
            n = jnp.concatenate([jnp.ones((rows, 1), n.dtype), n], axis=-1)
            # A block has so few lists that plain sums lose nothing; blocks add in pairs.
            sums = jnp.matmul(n.T, values, precision=lax.Precision.HIGHEST)
            return total + FloatPair.of(sums), None

        return lax.scan(add_block, start, (values, ids))[0]

    # [chunks, width]: the last chunk is filled up with seeds of 0, cut off below.
    chunked = jnp.pad(seeds[1:], (0, chunks * width - samples)).reshape(chunks, width)
    sums = lax.map(sums_of_chunk, chunked)  # [chunks, 1 + width, columns]

    def join_chunks(x: jax.Array) -> jax.Array:
        resamples = x[:, 1:].reshape(-1, columns)[:samples]
        return jnp.concatenate([x[0, :1], resamples])

    return jax.tree.map(join_chunks, sums)


def poisson_draws(
    ids: jax.Array, shared_seed: jax.Array, seeds: jax.Array
) -> jax.Array:
    """Poisson variables of mean 1, `[lists, samples]` int32.

    Each is a hash of the id of the list, the shared seed and the seed of the resample, so
    that a list has the same draws in every batch and on every host.
    """
    low, high = (ids, None) if ids.ndim == 1 else (ids[:, 0], ids[:, 1])
    words = mix(low.astype(jnp.uint32) ^ shared_seed)
    if high is not None:  # the draws are those of one word where the id fits it
        fits = high == low >> 31
        words = jnp.where(fits, words, mix(words ^ high.astype(jnp.uint32)))
    words = mix(words[:, None] + seeds[None, :])
    reached = [(words >= limit).astype(jnp.int32) for limit in THRESHOLDS]
    return sum(reached, jnp.zeros_like(reached[0]))


def counts_of_draws(draws: np.ndarray) -> np.ndarray:
    """Counts how often each of n is drawn, in n draws of n, `[samples, n]`.

    Args:
        draws: `[samples, n]`, from 0 to n − 1.
    """
    samples, n = draws.shape
    # Each resample counts in bins of its own.
    bins = draws + n * np.arange(samples)[:, None]
    return np.bincount(bins.ravel(), minlength=bins.size).reshape(bins.shape)
