"""Fisher's randomisation test of all pairs of many systems.

A flipped sum of the differences of two systems is the difference of their flipped sums.
So the time goes with the number of systems, and hardly with that of pairs.
"""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._results.inference.sign_flips import (
    ROUNDING,
    all_flipped_sums,
    flipped_sums,
    patterns_per_block,
)

EXACT = 12  # lists of which all sign patterns exist at once


def pair_p_values(
    terms: np.ndarray, rounding: float, key: jax.Array, samples: int
) -> np.ndarray:
    """P values of the differences of all pairs of systems, as of `sign_flip_test`.

    Args:
        terms: `[lists, systems]`, the weighted value of each list.
        rounding: Relative error below which two values are equal.
        key: A typed PRNG key.
        samples: Number of sign patterns to draw. All 2ⁿ of them are used instead where
            they are no more than this, n being the lists in which systems differ.

    Returns:
        `[systems, systems]`, symmetric; 1 on the diagonal.
    """
    largest = np.abs(terms).max(initial=0)
    terms = terms / max(largest, np.finfo(np.float64).tiny)
    # Differences from the first system hold all that counts, and are small.
    columns = _differences(terms, 0, rounding)
    columns = columns[(columns != 0).any(1)]
    lists, systems = columns.shape
    is_exact = 2**lists <= samples
    norms = np.sqrt((columns**2).sum(0))
    thresholds = np.empty((systems, systems))
    for system in range(systems):
        differences = _differences(terms, system, rounding)
        # Sums of systems are larger than those of their differences, and so are errors.
        sizes = np.abs(differences).sum(0) + norms[system] + norms
        thresholds[system] = np.abs(differences.sum(0)) - ROUNDING * sizes
    counts = np.zeros((systems, systems), np.int64)
    # Patterns come in parts, so that memory does not grow with their number.
    parts = _all_sums(columns) if is_exact else _random_sums(columns, key, samples)
    for sums in parts:
        for system in range(systems - 1):
            pairs = slice(system + 1, systems)
            flipped = np.abs(sums[:, pairs] - sums[:, [system]])
            reached = flipped >= thresholds[system, pairs].astype(sums.dtype)
            counts[system, pairs] += reached.sum(0)
    shares = counts / 2**lists if is_exact else (1 + counts) / (1 + samples)
    upper = np.triu(shares, 1)
    return upper + upper.T + np.eye(systems)


def _differences(terms: np.ndarray, system: int, rounding: float) -> np.ndarray:
    """The differences of all systems from this one, `[lists, systems]`; 0 for a tie."""
    differences = terms - terms[:, [system]]
    size = np.maximum(np.abs(terms), np.abs(terms[:, [system]]))
    return np.where(np.abs(differences) <= rounding * size, 0, differences)


def _all_sums(columns: np.ndarray) -> Iterator[np.ndarray]:
    """Yields sums over lists under all sign patterns, `[patterns, systems]` at a time."""
    of_first_lists = all_flipped_sums(columns[:EXACT])
    for of_further_lists in all_flipped_sums(columns[EXACT:]):
        yield of_first_lists + of_further_lists


def _random_sums(
    columns: np.ndarray, key: jax.Array, samples: int
) -> Iterator[np.ndarray]:
    """Yields sums under as many random sign patterns, `[patterns, systems]` at a time."""
    lists, systems = columns.shape
    rows = min(1 << (lists - 1).bit_length(), 1024)
    padded = np.pad(columns.astype(np.float32), ((0, -lists % rows), (0, 0)))
    chunks = jnp.asarray(padded.reshape(-1, rows, systems))
    patterns = patterns_per_block(chunks)
    for block in range(-(-samples // patterns)):
        sums = _flipped_sums()(chunks, random.fold_in(key, block))
        yield np.asarray(sums)[: samples - block * patterns]


_flipped_sums = one_off_jit(flipped_sums, level=2)
