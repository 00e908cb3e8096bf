"""Fisher's randomisation test, for many comparisons at once.

Where `[lists, comparisons]` arrays are on the host, they are float64. All comparisons
share their sign patterns.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics._choices import Alternative
from jax_rank_metrics._one_off import one_off_jit

SIGNS = 2**20  # random signs that exist at once: 4 MiB of floats
# Sums that differ by less than this share of Σ|x| are equal: adding single floats in
# another order may change a sum by as much.
ROUNDING = 1e-6


class SignFlips(NamedTuple):
    """The result of a `sign_flip_test`, `[comparisons]` each."""

    p: np.ndarray
    p_max: np.ndarray | None  # corrected for the number of comparisons
    samples: int  # random patterns; 0 where all patterns were used


def sign_flip_test(
    terms: np.ndarray,
    key: jax.Array,
    samples: int,
    alternative: Alternative = "two-sided",
    mid_p: bool = False,
    with_max: bool = False,
) -> SignFlips:
    """P values of the sums of `terms` under random changes of their signs.

    If it made no difference which system is which, each list's term might as well have
    had the other sign. p is the share of sign patterns under which the sum is at least as
    far from 0 as the observed sum.

    The largest t of several comparisons corrects p for their number, and loses less than
    Holm where comparisons are alike: p_max of the comparison with the largest t is the
    share of patterns in which the largest t of all is at least as large. The next is
    compared with the largest t of all but the first, and so on; no p_max is below that of
    a larger t. A flip leaves Σx² as it is, so that the t of a flipped sum S* grows with
    S* / √Σx² alone, and that is what is compared. (Where comparisons have different
    numbers of lists, t would also depend on them. The ratio does not, so that
    comparisons of few lists do not set the largest one.)

    Args:
        terms: `[lists, comparisons]`, the weighted difference of each list.
        key: A typed PRNG key.
        samples: Number of sign patterns to draw. All 2ⁿ of them are used instead where
            they are no more than this, n being the lists with a term other than 0.
        alternative: On which side of 0 sums are far from it: either for "two-sided", above
            for "greater", below for "less".
        mid_p: Whether patterns of a sum as far from 0 as the observed one count half.
            Such a p errs less on the safe side where few patterns differ in their sums,
            but may be too small.
        with_max: Whether to compute p_max.

    Returns:
        The p values, and the number of random patterns: 0 where all were used. The
        pattern that changes no sign counts as one more sample, never as half a one, so
        that p is at least 1 / (1 + samples). p is 1 where all terms are 0.

    References:
        Westfall & Young, Resampling-based multiple testing, 1993, algorithm 4.1.
        Boytsov, Belova & Westfall, Deciding on an adjustment for multiplicity in IR
        experiments, SIGIR 2013.
    """
    terms = -terms if alternative == "less" else terms
    largest = np.abs(terms).max(0, initial=0)
    terms = terms / np.maximum(largest, np.finfo(np.float64).tiny)
    terms = terms[(terms != 0).any(1)]  # the sign of a zero changes nothing
    two_sided = alternative == "two-sided"
    sums = np.abs(terms.sum(0)) if two_sided else terms.sum(0)
    slack = ROUNDING * np.abs(terms).sum(0)
    thresholds = [_thresholds(sums, slack, mid_p)]
    family = None
    if with_max:
        scales = 1 / np.sqrt(np.where(largest > 0, (terms**2).sum(0), 1))
        ratios = scales * sums
        order = np.array(sorted(range(len(sums)), key=lambda column: -ratios[column]))
        family = _Family(order, scales[order])
        ratio_slack = (scales * slack).max(initial=0)
        thresholds.append(_thresholds(ratios[order], ratio_slack, mid_p))
    is_exact = 2 ** len(terms) <= samples
    if is_exact:
        shares = _shares_of_all(terms, thresholds, family, two_sided)
    else:
        rows = min(1 << (len(terms) - 1).bit_length(), 1024)
        padded = np.pad(terms.astype(np.float32), ((0, -len(terms) % rows), (0, 0)))
        counts = _count()(
            padded.reshape(-1, rows, terms.shape[1]),
            np.stack(thresholds).astype(np.float32),
            family,
            key,
            samples,
            two_sided,
        )
        shares = (1 + np.asarray(counts)) / (1 + samples)
    p = shares[0].mean(0)
    p_max = None
    if family is not None:
        p_max = np.empty_like(p)
        p_max[family.order] = np.maximum.accumulate(shares[1].mean(0))
        p_max = np.maximum(p_max, p)
    return SignFlips(p, p_max, 0 if is_exact else samples)


class _Family(NamedTuple):
    """Comparisons from the largest sum to the smallest, once these are scaled."""

    order: np.ndarray  # [comparisons]
    scales: np.ndarray  # [comparisons], in this order


def _thresholds(sums: np.ndarray, slack: np.ndarray, mid_p: bool) -> np.ndarray:
    """Sums from which on a pattern counts, `[thresholds, comparisons]`.

    Without mid-p there is one threshold. Of two, each counts half, so that a pattern
    between them counts half. Sums of nothing but zeros have no slack, and count whole.
    """
    return np.stack([sums - slack, sums + slack][: 2 if mid_p else 1])


def _shares_of_all(
    terms: np.ndarray,
    thresholds: list[np.ndarray],
    family: _Family | None,
    two_sided: bool,
) -> np.ndarray:
    """Shares of all 2ⁿ sign patterns that reach the thresholds.

    Returns:
        `[1, thresholds, comparisons]`, or `[2, thresholds, comparisons]` with the largest
        of a family.
    """
    shares = np.empty((len(thresholds), *thresholds[0].shape))
    comparisons = terms.shape[1]
    order = range(comparisons) if family is None else family.order.tolist()
    largest = np.float64(-np.inf)
    # From the smallest sum to the largest, so that memory does not grow with comparisons.
    for place in reversed(range(comparisons)):
        column = order[place]
        sums = all_flipped_sums(terms[:, column])
        sums = np.abs(sums) if two_sided else sums
        shares[0, :, column] = _share(sums, thresholds[0][:, column])
        if family is not None:
            largest = np.maximum(largest, sums * family.scales[place])
            shares[1, :, place] = _share(largest, thresholds[1][:, place])
    return shares


def _share(sums: np.ndarray, thresholds: np.ndarray) -> list[float]:
    return [float(np.mean(sums >= threshold)) for threshold in thresholds]


def all_flipped_sums(terms: np.ndarray) -> np.ndarray:
    """Sums over n lists under all 2ⁿ sign patterns, the unchanged one first.

    Args:
        terms: `[lists, …]`.

    Returns:
        `[2ⁿ, …]`.
    """
    sums = np.zeros((1, *terms.shape[1:]))
    for term in terms:
        sums = np.concatenate([sums + term, sums - term])
    return sums


def _count_extreme_sums(
    chunks: jax.Array,
    thresholds: jax.Array,
    family: _Family | None,
    key: jax.Array,
    samples: int,
    two_sided: bool,
) -> jax.Array:
    """Number of random sign patterns that reach each threshold; shaped as thresholds."""
    patterns = patterns_per_block(chunks)

    def add_block(counts: jax.Array, block: jax.Array) -> tuple[jax.Array, None]:
        sums = flipped_sums(chunks, random.fold_in(key, block))
        sums = jnp.abs(sums) if two_sided else sums
        statistics = [sums]
        if family is not None:
            ordered = sums[:, family.order] * family.scales[None, :].astype(sums.dtype)
            statistics.append(lax.cummax(ordered, axis=1, reverse=True))
        # The last block is cut to the number of samples.
        is_sample = block * patterns + jnp.arange(patterns) < samples
        reached = jnp.stack(statistics)[:, None] >= thresholds[:, :, None]
        reached = reached & is_sample[None, None, :, None]
        return counts + jnp.sum(reached, axis=2, dtype=jnp.int32), None

    # Only counts are carried, so that memory does not grow with the samples.
    start = jnp.zeros(thresholds.shape, jnp.int32)
    blocks = jnp.arange(-(-samples // patterns))
    return lax.scan(add_block, start, blocks)[0]


_count = one_off_jit(_count_extreme_sums, ("samples", "two_sided"), level=2)


def patterns_per_block(chunks: jax.Array) -> int:
    """The number of sign patterns that `flipped_sums` draws at once."""
    # Neither signs, `[patterns, rows]`, nor sums, `[patterns, comparisons]`, become large.
    _, rows, comparisons = chunks.shape
    return 32 * max(SIGNS // max(rows, comparisons) // 32, 1)


def flipped_sums(chunks: jax.Array, key: jax.Array) -> jax.Array:
    """Sums over all lists under a block of random sign patterns.

    Args:
        chunks: `[chunks, rows, comparisons]` float32, the terms of all lists.
        key: The key of the block.

    Returns:
        `[patterns, comparisons]`.
    """
    chunk_count, rows, comparisons = chunks.shape
    patterns = patterns_per_block(chunks)
    bit = jnp.arange(32, dtype=jnp.uint32)[:, None, None]
    sign_bit, plus_one = (
        lax.bitcast_convert_type(jnp.float32(x), jnp.uint32) for x in (-0.0, 1.0)
    )

    def add_chunk(
        sums: jax.Array, chunk: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, None]:
        index, terms = chunk
        # Each of the 32 bits of a word is the sign of one list in another pattern:
        # shifted to the sign bit of a float, it turns 1.0 into ±1.0.
        shape = (patterns // 32, rows)
        words = random.bits(random.fold_in(key, index), shape, jnp.uint32)
        signs = (words[None] << bit) & sign_bit | plus_one  # [32, words, rows]
        signs = lax.bitcast_convert_type(signs, jnp.float32).reshape(patterns, rows)
        # Random signs keep the sums small, so that plain float32 sums lose nothing.
        return sums + jnp.matmul(signs, terms, precision=lax.Precision.HIGHEST), None

    start = jnp.zeros((patterns, comparisons), chunks.dtype)
    indices = jnp.arange(chunk_count, dtype=jnp.uint32)
    return lax.scan(add_chunk, start, (indices, chunks))[0]
