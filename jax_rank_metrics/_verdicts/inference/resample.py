"""Draws lists, seeds, sign flips and permutations at random.

Resamples of lists. A key gives a seed for all resamples and a seed for each resample
(`seeds_of`). The word of a list in a resample is a hash of the list's id and these two
seeds (`words_of`), so a list has the same draws in every batch, on every host and for
every system. The word is turned into a Poisson number, which says how often the list is
drawn, or into the index of a list to draw.

Patterns that exchange systems. Batches need not share patterns, so each block of
patterns has its own key (`count_reached`). The key gives the bits that swap two systems
(`random_swaps`) or the words that permute several (`random_orders`). A hash of the list
would not do here: for few lists, its bits are not independent enough, for example for
sums of 14 signs.

Draws and patterns are never stored for all samples, so memory does not grow with the
number of samples.
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics._ground import arithmetic, inputs, meshes, types
from jax_rank_metrics._values.double_floats import FloatPair

# The most draws that exist at once (4 MiB of counts as floats), and the most resamples.
DRAWS, RESAMPLES = 2**20, 2**10
# A resample of n lists makes exactly n draws up to this n, and about n draws beyond it.
FEW = 64
BITS = 32  # a word swaps two systems in this many patterns, one bit for each

# P(n ≤ j) of a Poisson variable n of mean 1, in units of 2⁻³²: n is the number of these
# thresholds that a uniform word of 32 bits reaches. It is at most 12, because a larger n is
# less likely than 2⁻³².
_AT_MOST = np.cumsum([math.exp(-1) / math.factorial(j) for j in range(12)])
THRESHOLDS = np.round(_AT_MOST * 2.0**32).astype(np.uint32)


def seeds_of(key: types.Key | None, samples: int) -> jax.Array:
    """Draws uint32 words `[1 + samples]`: a shared seed, then a seed per resample.

    Without a key, it takes `jax.random.key(0)`.
    """
    key = random.key(0) if key is None else inputs.prng_key(key)
    return random.bits(key, (1 + samples,), jnp.uint32)


def in_blocks(array: jax.Array, width: int) -> jax.Array:
    """Divides the first axis into blocks, `[blocks, width, …]`, padded with zeros."""
    padding = ((0, -len(array) % width), *((0, 0),) * (array.ndim - 1))
    return jnp.pad(array, padding).reshape(-1, width, *array.shape[1:])


def words_of(ids: jax.Array, shared_seed: jax.Array, seeds: jax.Array) -> jax.Array:
    """Returns random words of lists in resamples, `[lists, samples]` uint32.

    Args:
        ids: `[lists]` int32, or `[lists, 2]` as from `hash_ids`.
        shared_seed: The first of `seeds_of`.
        seeds: `[samples]`, the seeds of these resamples.
    """
    low, high = (ids, None) if ids.ndim == 1 else (ids[:, 0], ids[:, 1])
    words = arithmetic.mix(low.astype(jnp.uint32) ^ shared_seed)
    if high is not None:  # an id that fits one word has the draws of that word
        fits = high == low >> 31
        words = jnp.where(fits, words, arithmetic.mix(words ^ high.astype(jnp.uint32)))
    return arithmetic.mix(words[:, None] + seeds[None, :])


def poisson_draws(
    ids: jax.Array, shared_seed: jax.Array, seeds: jax.Array
) -> jax.Array:
    """Returns Poisson draws of mean 1, `[lists, samples]` int32; see `words_of`."""
    words = words_of(ids, shared_seed, seeds)
    reached = [(words >= limit).astype(jnp.int32) for limit in THRESHOLDS]
    return sum(reached, jnp.zeros_like(reached[0]))


def multinomial_draws(
    lists: int, shared_seed: jax.Array, seeds: jax.Array
) -> jax.Array:
    """Counts how often each of n lists is drawn in n draws, `[lists, samples]`."""
    ids = jnp.arange(lists, dtype=jnp.int32)
    drawn = words_of(ids, shared_seed, seeds) % jnp.uint32(lists)  # [draws, samples]
    is_drawn = drawn[None] == ids[:, None, None].astype(jnp.uint32)
    return jnp.sum(is_drawn, axis=1, dtype=jnp.int32)


def draws_of_lists(lists: int, shared_seed: jax.Array, seeds: jax.Array) -> jax.Array:
    """Counts how often each list is drawn, `[lists, samples]`; seeds as in `words_of`."""
    if lists <= FEW:
        # The number of Poisson draws varies, so a resample of few lists might have too
        # few.
        return multinomial_draws(lists, shared_seed, seeds)
    return poisson_draws(jnp.arange(lists, dtype=jnp.int32), shared_seed, seeds)


def draws_of_seeds(seed_count: int, samples: int, key: jax.Array) -> np.ndarray:
    """Counts how often each of n training seeds is drawn in n draws, `[samples, seeds]`."""
    if seed_count == 1:  # skip the compiled program, because nothing can vary
        return np.ones((samples, 1), int)
    draws = np.asarray(random.randint(key, (samples, seed_count), 0, seed_count))
    # Give each resample its own bins, so that a single call counts the draws of all.
    bins = draws + seed_count * np.arange(samples)[:, None]
    return np.bincount(bins.ravel(), minlength=bins.size).reshape(bins.shape)


def resampled(values: jax.Array, ids: jax.Array, seeds: jax.Array) -> FloatPair:
    """Returns Σ n·values over lists, for the Poisson draws n of every resample.

    Args:
        values: `[lists, columns]`.
        ids: `[lists]` int32, or `[lists, 2]` from `hash_ids`; the draws of a list
            depend on its id.
        seeds: `[1 + samples]`, from `seeds_of`.

    Returns:
        `[1 + samples, columns]`; the first row holds the plain sums, with n = 1.
    """
    (lists, columns), samples = values.shape, len(seeds) - 1
    width = min(samples, RESAMPLES)
    rows = max(min(DRAWS // width, lists), 1)
    # Padding has the id 0 and values of 0, so it adds nothing.
    blocks_of_lists = in_blocks(values, rows), in_blocks(ids, rows)
    start = jnp.zeros((1 + width, columns), values.dtype)
    start = meshes.match_varying(FloatPair.of(start), blocks_of_lists)

    def sums_of_block(block_seeds: jax.Array) -> FloatPair:
        def add_lists(
            total: FloatPair, block: tuple[jax.Array, jax.Array]
        ) -> tuple[FloatPair, None]:
            values, ids = block
            n = poisson_draws(ids, seeds[0], block_seeds).astype(values.dtype)
            n = jnp.concatenate([jnp.ones((rows, 1), n.dtype), n], axis=-1)
            # A block has so few lists that plain sums are accurate; totals over blocks
            # need pairs of floats.
            sums = jnp.matmul(n.T, values, precision=lax.Precision.HIGHEST)
            return total + FloatPair.of(sums), None

        return lax.scan(add_lists, start, blocks_of_lists)[0]

    sums = lax.map(sums_of_block, in_blocks(seeds[1:], width))

    def join_blocks(blocks: jax.Array) -> jax.Array:  # [blocks, 1 + width, columns]
        resamples = blocks[:, 1:].reshape(-1, columns)[:samples]
        return jnp.concatenate([blocks[0, :1], resamples])

    return jax.tree.map(join_blocks, sums)


def sums_of_resamples(
    values: jax.Array, shared_seed: jax.Array, seeds: jax.Array
) -> jax.Array:
    """Sums over the lists that each resample draws, `[samples, columns]`.

    Args:
        values: `[lists, columns]`.
        shared_seed: The first of `seeds_of`.
        seeds: `[samples]`, the seeds of these resamples.
    """
    lists = len(values)
    if lists <= FEW:
        n = draws_of_lists(lists, shared_seed, seeds).astype(values.dtype)
        return jnp.matmul(n.T, values, precision=lax.Precision.HIGHEST)
    ids = jnp.arange(lists, dtype=jnp.int32)
    return resampled(values, ids, jnp.append(shared_seed, seeds)).round()[1:]


def random_swaps(key: jax.Array, patterns: int, lists: int) -> jax.Array:
    """Draws swaps of two systems, `[patterns, lists]` bool; `BITS` divides `patterns`."""
    words = random.bits(key, (patterns // BITS, lists), jnp.uint32)
    bit = jnp.arange(BITS, dtype=jnp.uint32)[:, None, None]
    return (words[None] >> bit & 1).astype(bool).reshape(patterns, lists)


def random_orders(key: jax.Array, patterns: int, lists: int) -> jax.Array:
    """Draws words `[patterns, lists]` uint32, which are hashed again for each system."""
    list_key, pattern_key = random.split(key)
    list_words = random.bits(list_key, (lists,), jnp.uint32)
    pattern_words = random.bits(pattern_key, (patterns,), jnp.uint32)
    return arithmetic.mix(list_words[None, :] + pattern_words[:, None])


def count_reached(
    reached: Callable[[jax.Array], jax.Array], key: jax.Array, samples: int
) -> jax.Array:
    """Counts the random patterns that reach each threshold, in the shape of thresholds.

    Args:
        reached: A function of the key of a block. It returns which thresholds each pattern
            of the block reaches, `[patterns, …]` bool.
        key: A typed PRNG key.
        samples: Number of patterns; patterns of the last block beyond this number do
            not count.
    """
    patterns, *shape = jax.eval_shape(reached, key).shape

    def add_block(counts: jax.Array, block: jax.Array) -> tuple[jax.Array, None]:
        is_sample = block * patterns + jnp.arange(patterns) < samples
        is_sample = is_sample.reshape(-1, *(1,) * len(shape))
        counted = reached(random.fold_in(key, block)) & is_sample
        return counts + jnp.sum(counted, axis=0, dtype=jnp.int32), None

    start = jnp.zeros(shape, jnp.int32)
    return lax.scan(add_block, start, jnp.arange(-(-samples // patterns)))[0]
