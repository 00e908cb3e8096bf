"""How large a difference is by chance alone, for many comparisons at once."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics._results.bootstrap import resampled, seeds_of

SIGNS = 2**20  # that exist at once: 4 MiB of floats
# What sums of single floats in another order may differ by, of the sum of sizes. Sums
# that are equal but for that are as large as each other.
ROUNDING = 1e-6


def permuted(x: np.ndarray, key: jax.Array, samples: int) -> np.ndarray:
    """The p values of sums, by flipping the signs of what is summed.

    Exact where all flips are no more than `samples`, else of random ones, of which the
    flip that is no flip is counted as one more.

    Args:
        x: `[lists, comparisons]` float64; all comparisons share their flips.
        key: One typed key.
        samples: How many flips.
    """
    x = x / np.maximum(np.abs(x).max(0, initial=0), np.finfo(np.float64).tiny)
    x = x[(x != 0).any(1)]  # where there is no difference a flip makes none
    least = np.abs(x.sum(0)) - ROUNDING * np.abs(x).sum(0)
    if 2 ** len(x) <= samples:
        every = np.zeros((1, x.shape[1]))
        for row in x:
            every = np.concatenate([every + row, every - row])
        return np.mean(np.abs(every) >= least, axis=0)
    size = min(1 << (len(x) - 1).bit_length(), 1024)
    padded = np.pad(x.astype(np.float32), ((0, -len(x) % size), (0, 0)))
    sums = _flipped_sums(padded.reshape(-1, size, x.shape[1]), key, samples)
    count = np.sum(np.abs(np.asarray(sums, np.float64)) >= least, axis=0)
    return (1 + count) / (1 + samples)


@partial(jax.jit, static_argnums=2)
def _flipped_sums(x: jax.Array, key: jax.Array, samples: int) -> jax.Array:
    """Sums under random signs, `[samples, columns]`, of `[chunks, rows, columns]`."""
    chunks, rows, columns = x.shape
    words = max(SIGNS // rows // 32, 1)
    place = jnp.arange(32, dtype=jnp.uint32)[:, None, None]
    sign, one = (
        lax.bitcast_convert_type(jnp.float32(v), jnp.uint32) for v in (-0.0, 1)
    )

    def block(number: jax.Array) -> jax.Array:
        of_block = random.fold_in(key, number)

        def add(total: jax.Array, chunk: tuple[jax.Array, jax.Array]):
            number, x = chunk
            of_chunk = random.fold_in(of_block, number)
            # Each bit of a word is the sign of one list in another flip.
            bits = random.bits(of_chunk, (words, rows), jnp.uint32)[None]
            signs = lax.bitcast_convert_type((bits << place) & sign | one, jnp.float32)
            signs = signs.reshape(32 * words, rows)
            # Random signs keep sums small, so that plain ones lose nothing.
            sums = jnp.matmul(signs, x, precision=lax.Precision.HIGHEST)
            return total + sums, None

        start = jnp.zeros((32 * words, columns), x.dtype)
        return lax.scan(add, start, (jnp.arange(chunks, dtype=jnp.uint32), x))[0]

    blocks = jnp.arange(-(-samples // (32 * words)), dtype=jnp.uint32)
    return lax.map(block, blocks).reshape(-1, columns)[:samples]


def bootstrapped(
    values: np.ndarray, weights: np.ndarray, key: jax.Array, samples: int, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The p values of weighted means, by the bootstrap, and its percentile intervals.

    As if the null were true, resampled means are moved so that their middle is 0.

    Args:
        values: `[lists, comparisons]` float64; all comparisons share their draws.
        weights: `[lists, comparisons]` float64, not all 0 in any comparison.
        key: One typed key.
        samples: How many resamples.
        level: Of the intervals.
    """
    lists, comparisons = values.shape
    weights = weights / weights.max(0)
    most = np.maximum(np.abs(values).max(0), np.finfo(np.float64).tiny)
    columns = np.concatenate([weights, weights * (values / most)], axis=1)
    sums = _resampled_sums(columns.astype(np.float32), seeds_of(key, samples))
    total, of_values = np.split(np.asarray(sums, np.float64), [comparisons], axis=1)
    plain = of_values[:1] / total[:1]
    means = np.where(total > 0, of_values / np.where(total > 0, total, 1), plain)[1:]
    count = np.sum(np.abs(means - plain) >= np.abs(plain) - ROUNDING, axis=0)
    low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2), axis=0)
    return (1 + count) / (1 + samples), low * most, high * most


@jax.jit
def _resampled_sums(columns: jax.Array, seeds: jax.Array) -> jax.Array:
    ids = jnp.arange(columns.shape[0], dtype=jnp.int32)
    return resampled(columns, ids, seeds).round()


def student(mean: float, error: float, lists: int) -> float:
    """The p value of a mean with its standard error, by Student's t."""
    from scipy.special import stdtr  # a quarter of a second to import

    if mean == 0 or lists < 2:
        return 1.0
    return 2 * float(stdtr(lists - 1, -abs(mean) / error)) if error else 0.0


def student_margin(error: float, lists: int, level: float) -> float:
    """Half the width of an interval of Student's t; infinite for fewer than two lists."""
    from scipy.special import stdtrit

    if lists < 2:
        return float("inf")
    return -float(stdtrit(lists - 1, (1 - level) / 2)) * error


def holm(p: np.ndarray) -> np.ndarray:
    """Corrects p values `[comparisons]` for their number.

    The smallest is multiplied by the number of comparisons, the next by one less, and so
    on, and none becomes smaller than one before it.
    """
    at_least = np.sum(p[None, :] >= p[:, None], axis=1)
    before = p[None, :] <= p[:, None]
    return np.minimum(np.max(np.where(before, p * at_least, 0), axis=1, initial=0), 1)
