"""Randomisation tests: systems that might as well have changed places in each list.

A pattern puts the systems of every list in some order. If all systems were equal, no
pattern would be less likely than that of the data, and p is the share of patterns whose
statistic is at least as far out. Two systems that are swapped in a list flip the sign of
its difference: so Fisher's test is that of two systems, and Tukey's that of several.
Where there are few patterns, all of them are tried.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics._choices import Alternative
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._ordering.keys import mix
from jax_rank_metrics._results.inference.resample import (
    BITS,
    count_reached,
    random_orders,
    random_swaps,
)
from jax_rank_metrics._states.weights import ROUNDING

ROWS = 1024  # lists that are rearranged at once
VALUES = 2**20  # rearranged values that exist at once: 4 MiB of floats
Numbers = np.ndarray | jax.Array
# Says which sums `[patterns, columns]` reach which thresholds, `[patterns, …]` bool, in
# `numpy` or `jax.numpy`; the thresholds are the first argument after the sums.
Reached = Callable[..., Numbers]


class Rearrangement(NamedTuple):
    """The ways in which the terms of a list may be rearranged.

    Attributes:
        ways: Their number: 2 for flips, n! for the orders of n systems.
        of_list: Returns the terms of a list, `[columns]`, in all ways.
        at_random: Returns sums `[patterns, columns]` of terms `[lists, columns]` that are
            rearranged at random, of a key and the number of patterns.
    """

    ways: int
    of_list: Callable[[np.ndarray], list[np.ndarray]]
    at_random: Callable[[jax.Array, jax.Array, int], jax.Array]


class SignFlips(NamedTuple):
    """The result of a `sign_flip_test`, `[comparisons]` each."""

    p: np.ndarray
    p_max: np.ndarray | None  # corrected for the number of comparisons
    samples: int  # random patterns; 0 where all patterns were used


class Family(NamedTuple):
    """Comparisons from the largest sum to the smallest, once these are scaled."""

    order: np.ndarray  # [comparisons]
    scales: np.ndarray  # [comparisons], in this order


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
        terms: `[lists, comparisons]` float64, the weighted difference of each list.
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
    # No share depends on the unit, but float32 sums do: they may over- or underflow.
    terms = terms / np.maximum(largest, np.finfo(np.float64).tiny)
    terms = terms[(terms != 0).any(1)]  # the sign of a zero changes nothing
    two_sided = alternative == "two-sided"
    sums = np.abs(terms.sum(0)) if two_sided else terms.sum(0)
    slack = ROUNDING * np.abs(terms).sum(0)
    thresholds, family = [_thresholds(sums, slack, mid_p)], None
    if with_max:
        scales = 1 / np.sqrt(np.where(largest > 0, (terms**2).sum(0), 1))
        ratios = scales * sums
        order = np.array(sorted(range(len(sums)), key=lambda column: -ratios[column]))
        family = Family(order, scales[order])
        ratio_slack = (scales * slack).max(initial=0)
        thresholds.append(_thresholds(ratios[order], ratio_slack, mid_p))
    reached = _reached_on_either_side if two_sided else _reached_above
    shares, drawn = _shares(
        FLIPS, reached, terms, (np.stack(thresholds), family), key, samples
    )
    # [thresholds, comparisons]: of two thresholds each counts half.
    p, p_max = shares[0].mean(0), None
    if family is not None:
        p_max = np.empty_like(p)
        # From the largest t on: no p_max may be below that of a larger t.
        p_max[family.order] = np.maximum.accumulate(shares[1].mean(0))
        p_max = np.maximum(p_max, p)
    return SignFlips(p, p_max, drawn)


def pair_flip_test(
    terms: np.ndarray, rounding: float, key: jax.Array, samples: int
) -> np.ndarray:
    """P values of the differences of all pairs of systems, as of `sign_flip_test`.

    A flipped sum of the differences of two systems is the difference of their flipped
    sums. So the time goes with the number of systems, and hardly with that of pairs.

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
    norms = np.sqrt((columns**2).sum(0))
    thresholds = np.empty((len(norms),) * 2)
    for system in range(len(norms)):
        differences = _differences(terms, system, rounding)
        # Sums of systems are larger than those of their differences, and so are errors.
        sizes = np.abs(differences).sum(0) + norms[system] + norms
        thresholds[system] = np.abs(differences.sum(0)) - ROUNDING * sizes
    shares, _ = _shares(FLIPS, _reached_by_pairs, columns, (thresholds,), key, samples)
    # Each pair is counted from both of its systems, whose slack may round differently.
    return np.maximum(shares, shares.T)


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
        samples: Number of permutations to draw. All of them are used instead where they
            are no more than this: (number of systems)! to the power of n, n being the
            number of lists in which systems differ.

    Returns:
        p `[systems, systems]`, 1 on the diagonal, and the number of random permutations,
        0 where all were used. The observed order counts as one more random one, so that p
        is at least 1 / (1 + samples).

    Time grows with the square of the number of systems: about 10⁻⁹ seconds for each
    permutation, list and pair of systems, so that 100,000 permutations of 8 systems and
    1,000 lists take five.

    References:
        Carterette, Multiple testing in statistical analysis of systems-based information
        retrieval experiments, ACM TOIS 2012.
    """
    # Whatever all systems share cancels in differences.
    terms = np.where(weights > 0, weights * (values - values.mean(0)), 0).T
    terms = terms / np.maximum(np.abs(terms).max(initial=0), np.finfo(np.float64).tiny)
    terms = terms[(terms != 0).any(1)]
    sums = terms.sum(0)
    # No sum is less exact than this, whichever term each list adds to it.
    slack = ROUNDING * np.abs(terms).max(1, initial=0).sum()
    thresholds = np.abs(sums[:, None] - sums[None, :]) - slack
    ways = rearrangement_of(len(values))
    return _shares(ways, _reached_by_range, terms, (thresholds,), key, samples)


def rearrangement_of(systems: int) -> Rearrangement:
    """Returns how centred terms of so many systems, which sum to 0, are permuted."""
    if systems == 2:  # −x and x change places, and so their signs
        return FLIPS
    return Rearrangement(math.factorial(systems), _all_orders, permuted_sums)


def _thresholds(sums: np.ndarray, slack: np.ndarray, mid_p: bool) -> np.ndarray:
    """Sums from which on a pattern counts, `[thresholds, comparisons]`.

    Without mid-p there is one threshold. Of two, each counts half, so that a pattern
    between them counts half. Sums of nothing but zeros have no slack, and count whole.
    """
    return np.stack([sums - slack, sums + slack][: 2 if mid_p else 1])


def _differences(terms: np.ndarray, system: int, rounding: float) -> np.ndarray:
    """The differences of all systems from this one, `[lists, systems]`; 0 for a tie."""
    differences = terms - terms[:, [system]]
    size = np.maximum(np.abs(terms), np.abs(terms[:, [system]]))
    return np.where(np.abs(differences) <= rounding * size, 0, differences)


def _reached_above(
    xp: ModuleType, sums: Numbers, thresholds: Numbers, family: Family | None
) -> Numbers:
    """Which sums reach thresholds, `[patterns, kinds, thresholds, comparisons]`.

    There is one kind of sums, `[kinds, thresholds, comparisons]` of thresholds, or a
    second one of a family: the largest of each sum and all smaller ones, once scaled.
    """
    statistics = [sums]
    if family is not None:
        scaled = sums[:, family.order] * family.scales[None].astype(sums.dtype)
        if isinstance(scaled, jax.Array):
            statistics.append(lax.cummax(scaled, axis=1, reverse=True))
        else:
            largest = np.maximum.accumulate(scaled[:, ::-1], axis=1)
            statistics.append(largest[:, ::-1])
    return xp.stack(statistics, axis=1)[:, :, None] >= thresholds[None]


def _reached_on_either_side(
    xp: ModuleType, sums: Numbers, thresholds: Numbers, family: Family | None
) -> Numbers:
    """As `_reached_above`, of distances from 0."""
    return _reached_above(xp, xp.abs(sums), thresholds, family)


def _reached_by_pairs(xp: ModuleType, sums: Numbers, thresholds: Numbers) -> Numbers:
    """Which sums of systems are as far apart, `[patterns, systems, systems]`."""
    return xp.abs(sums[:, :, None] - sums[:, None, :]) >= thresholds[None]


def _reached_by_range(xp: ModuleType, sums: Numbers, thresholds: Numbers) -> Numbers:
    """Whether the largest and the smallest sum are, `[patterns, systems, systems]`."""
    ranges = xp.max(sums, axis=1) - xp.min(sums, axis=1)
    return ranges[:, None, None] >= thresholds[None]


def _shares(
    ways: Rearrangement,
    reached: Reached,
    terms: np.ndarray,
    arguments: tuple[Any, ...],
    key: jax.Array,
    samples: int,
) -> tuple[np.ndarray, int]:
    """Shares of patterns that reach thresholds.

    Args:
        ways: How the terms of a list may be rearranged.
        reached: Which sums reach which thresholds.
        terms: `[lists, columns]`, at most 1 in size.
        arguments: What `reached` takes beside sums; the thresholds come first.
        key: A typed PRNG key.
        samples: Number of random patterns.

    Returns:
        The shares, shaped as the thresholds, and the number of random patterns: 0 where
        all patterns are no more than the samples, and are used.
    """
    lists, columns = terms.shape
    total = ways.ways ** min(lists, 64)  # of more lists, there are always too many
    if total <= samples:
        size = max(VALUES // max(arguments[0].size, columns), 1)
        parts = _all_sums(terms, ways, size)
        return sum(reached(np, x, *arguments).sum(0) for x in parts) / total, 0
    # Powers of two, so that data of many sizes share few programs.
    rows = min(1 << (lists - 1).bit_length(), ROWS)
    # A block has rearranged values `[patterns, rows]`, of each system if not of flips.
    values = rows if ways is FLIPS else rows * columns
    # Whole words of random bits: each bit of a word is for another pattern.
    patterns = BITS * max(VALUES // max(values, columns) // BITS, 1)
    padded = np.pad(terms.astype(np.float32), ((0, -lists % rows), (0, 0)))
    counts = _count()(
        padded.reshape(-1, rows, columns),
        jax.tree.map(
            lambda x: x.astype(np.float32) if x.dtype == np.float64 else x, arguments
        ),
        key,
        ways,
        reached,
        samples,
        patterns,
    )
    # The data are one more pattern, so that p is never 0.
    return (1 + np.asarray(counts)) / (1 + samples), samples


def _all_sums(
    terms: np.ndarray, ways: Rearrangement, size: int
) -> Iterator[np.ndarray]:
    """Yields sums under all patterns, `[patterns, columns]`, at most `size` at a time."""

    def sums_of(terms: np.ndarray) -> np.ndarray:
        sums = np.zeros((1, terms.shape[1]))
        for of_list in terms:
            sums = np.concatenate([sums + x for x in ways.of_list(of_list)])
        return sums

    # Sums over the first lists and over the rest are made list by list; those of all lists
    # are their pairs, one addition each.
    first = int(math.log(size, ways.ways))
    of_first, of_rest = sums_of(terms[:first]), sums_of(terms[first:])
    width = max(size // len(of_first), 1)
    for start in range(0, len(of_rest), width):
        sums = of_rest[start : start + width, None] + of_first
        yield sums.reshape(-1, terms.shape[1])


def _count_random(
    chunks: jax.Array,
    arguments: tuple[Any, ...],
    key: jax.Array,
    ways: Rearrangement,
    reached: Reached,
    samples: int,
    patterns: int,
) -> jax.Array:
    """Number of random patterns that reach each threshold; see `_shares`.

    Args:
        chunks: `[chunks, rows, columns]` float32, the terms of all lists.
        arguments: See `_shares`, also for what is not named here.
        key: A typed PRNG key.
        ways: How the terms of a list may be rearranged.
        reached: Which sums reach which thresholds.
        samples: Number of patterns.
        patterns: Number of patterns in a block.
    """

    def reached_by_block(key: jax.Array) -> jax.Array:
        sums = random_sums(chunks, key, ways, patterns)
        return jnp.asarray(reached(jnp, sums, *arguments))

    return count_reached(reached_by_block, key, samples)


_count = one_off_jit(_count_random, ("ways", "reached", "samples", "patterns"), level=2)


def random_sums(
    chunks: jax.Array, key: jax.Array, ways: Rearrangement, patterns: int
) -> jax.Array:
    """Sums over all lists under random patterns, `[patterns, columns]`.

    Args:
        chunks: `[chunks, rows, columns]`, the terms of all lists.
        key: A typed PRNG key.
        ways: How the terms of a list may be rearranged.
        patterns: Their number.
    """
    count, _, columns = chunks.shape

    def add_chunk(
        sums: jax.Array, chunk: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, None]:
        index, terms = chunk
        return sums + ways.at_random(terms, random.fold_in(key, index), patterns), None

    start = jnp.zeros((patterns, columns), chunks.dtype)
    return lax.scan(add_chunk, start, (jnp.arange(count, dtype=jnp.uint32), chunks))[0]


def flipped_sums(terms: jax.Array, key: jax.Array, patterns: int) -> jax.Array:
    """Sums of terms whose signs are flipped at random; see `Rearrangement`."""
    swaps = random_swaps(key, patterns, len(terms))
    signs = jnp.where(swaps, -1, 1).astype(terms.dtype)
    # Random signs keep the sums small, so that plain float32 sums lose nothing.
    return jnp.matmul(signs, terms, precision=lax.Precision.HIGHEST)


def permuted_sums(terms: jax.Array, key: jax.Array, patterns: int) -> jax.Array:
    """Sums of terms whose systems are permuted at random; see `Rearrangement`."""
    lists, systems = terms.shape
    words = random_orders(key, patterns, lists)
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

    values = jnp.broadcast_to(terms.T[:, None, :], (systems, *words.shape))
    remaining = jnp.arange(systems, 0, -1, dtype=jnp.int32)
    return lax.scan(draw, (values, words), remaining)[1].T


def _both_signs(terms: np.ndarray) -> list[np.ndarray]:
    return [terms, -terms]


def _all_orders(terms: np.ndarray) -> list[np.ndarray]:
    return [terms[list(order)] for order in itertools.permutations(range(len(terms)))]


FLIPS = Rearrangement(2, _both_signs, flipped_sums)
