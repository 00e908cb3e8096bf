"""Randomisation tests: in each list, the values of systems might have been exchanged.

A pattern puts the systems of every list in some order. If all systems were equal, every
pattern would be as likely as the pattern of the data, so p is the share of patterns
whose statistic is at least as extreme. Fisher's test is for two systems: swapping them
in a list flips the sign of its difference. Tukey's test is for more systems. If two
ratios weigh the lists differently, lists have no differences; the two systems then swap
both value and weight. If there are few patterns, all of them are tried.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from jax_rank_metrics._ground import arithmetic, choices
from jax_rank_metrics._ground.one_off import one_off_jit
from jax_rank_metrics._values import list_arrays
from jax_rank_metrics._verdicts.inference import p_values, resample
from jax_rank_metrics._verdicts.inference.weighted_means import Ratios

ROWS = 1024  # the most lists that are rearranged at once
VALUES = 2**20  # the most rearranged values that exist at once: 4 MiB of floats
# t in float32 differs from t in float64 by up to `SLACK` · (1 + |t|). An observed t is
# clipped to ±`LARGEST`, because the standard error of a larger t may be rounding alone.
SLACK, LARGEST = 1e-5, 1e5
Numbers = np.ndarray | jax.Array
# A function of the data, a key and the number of patterns, which draws the patterns
# that `Reached` reads.
Draw = Callable[[Any, jax.Array, int], Any]
# True for patterns that reach a threshold, `[patterns, …]` bool. The arguments are
# `numpy` or `jax.numpy`, the result of `Draw`, the thresholds, and further arguments of
# each function.
Reached = Callable[..., Numbers]
# Numerators and weights, `[systems, lists]` each, of every task.
Terms = Sequence[tuple[Any, Any]]


def sign_flip_test(
    terms: np.ndarray,
    key: jax.Array,
    samples: int,
    alternative: choices.Alternative = "two-sided",
    mid_p: bool = False,
    with_max: bool = False,
) -> p_values.Outcome:
    """Returns p values of the sums of `terms`, by random changes of their signs.

    If the systems were interchangeable, each list's term might as well have had the
    other sign. p is the share of sign patterns under which the sum is at least as far
    from 0 as the observed sum.

    p_max corrects p for the number of comparisons by the largest t of all, and loses
    less power than Holm if comparisons are similar. For the comparison with the largest
    t, it is the share of patterns in which the largest t of all comparisons is at least
    as large as that t. For the comparison with the next smaller t, the first comparison
    is left out, and so on; a smaller t never gets a smaller p_max. A flip does not
    change Σx², so the t of a flipped sum S* is an increasing function of S* / √Σx², and
    the test compares this ratio. (t also depends on the number of lists, and the ratio
    does not. If the numbers differ, comparisons of few lists therefore do not
    dominate.)

    Args:
        terms: `[lists, comparisons]` float64, the weighted difference of each list.
        key: A typed PRNG key.
        samples: Number of sign patterns to draw. All 2ⁿ of them are used instead if there
            are no more than this, n being the number of lists with a term other than 0.
        alternative: The side of 0 on which sums count as extreme: both for "two-sided",
            above for "greater", below for "less".
        mid_p: If True, patterns whose sum equals the observed sum count half. If the
            sums of patterns have few different values, p is then less conservative, but
            may be too small.
        with_max: True if p_max is computed, too.

    Returns:
        The p values, and the number of random patterns: 0 if all were used. The pattern
        that changes no sign counts as one more sample, always in full, so that p is at
        least 1 / (1 + samples). p is 1 if all terms are 0.

    References:
        Westfall & Young, Resampling-based multiple testing, 1993, algorithm 4.1.
        Boytsov, Belova & Westfall, Deciding on an adjustment for multiplicity in IR
        experiments, SIGIR 2013.
    """
    terms = -terms if alternative == "less" else terms
    largest = np.abs(terms).max(0, initial=0)
    # Scale the terms: shares do not depend on the unit, but float32 sums may over- or
    # underflow.
    terms = terms / np.maximum(largest, np.finfo(np.float64).tiny)
    terms = terms[(terms != 0).any(1)]  # flipping the sign of zeros changes nothing
    two_sided = np.array(alternative == "two-sided")
    sums = np.abs(terms.sum(0)) if two_sided else terms.sum(0)
    slack = list_arrays.ROUNDING * np.abs(terms).sum(0)
    thresholds, scaling = [_thresholds(sums, slack, mid_p)], ()
    order = np.arange(len(sums))
    if with_max:
        scales = 1 / np.sqrt(np.where(largest > 0, (terms**2).sum(0), 1))
        ratios = scales * sums
        order = np.array(sorted(order, key=lambda column: -ratios[column]))
        scaling = order, scales[order]
        ratio_slack = (scales * slack).max(initial=0)
        thresholds.append(_thresholds(ratios[order], ratio_slack, mid_p))
    arguments = np.stack(thresholds), two_sided, *scaling
    shares, drawn = _shares(_flips, _reached_by_sums, terms, arguments, key, samples)
    # [thresholds, comparisons]: with mid-p there are two thresholds, which count half each.
    p, p_max = shares[0].mean(0), None
    if with_max:
        p_max = np.empty_like(p)
        # Go from the largest t to the smallest, so that p_max never falls.
        p_max[order] = np.maximum.accumulate(shares[1].mean(0))
        p_max = np.maximum(p_max, p)
    return p_values.Outcome(p, drawn, p_max)


def pair_flip_test(
    terms: np.ndarray, rounding: float, key: jax.Array, samples: int
) -> np.ndarray:
    """Returns p values of the differences of all pairs of systems, by `sign_flip_test`.

    A flipped sum of the differences of two systems is the difference of their flipped
    sums. Time therefore grows with the number of systems, and hardly with the number of
    pairs.

    Args:
        terms: `[lists, systems]`, the weighted value of each list.
        rounding: Relative error below which two values are equal.
        key: A typed PRNG key.
        samples: Number of sign patterns to draw. All 2ⁿ of them are used instead if there
            are no more than this, n being the number of lists in which systems differ.

    Returns:
        `[systems, systems]`, symmetric; 1 on the diagonal.
    """
    largest = np.abs(terms).max(initial=0)
    terms = terms / max(largest, np.finfo(np.float64).tiny)
    # Subtract the first system from all systems: the differences of pairs stay the
    # same, and smaller numbers round less.
    columns = _differences(terms, 0, rounding)
    columns = columns[(columns != 0).any(1)]
    norms = np.sqrt((columns**2).sum(0))
    thresholds = np.empty((len(norms),) * 2)
    for system in range(len(norms)):
        differences = _differences(terms, system, rounding)
        # Sums of systems are larger than sums of differences, and so is their rounding.
        sizes = np.abs(differences).sum(0) + norms[system] + norms
        thresholds[system] = np.abs(differences.sum(0)) - list_arrays.ROUNDING * sizes
    shares, _ = _shares(_flips, _reached_by_pairs, columns, (thresholds,), key, samples)
    # Take the larger share, because each pair is counted twice, and its two slacks may
    # round differently.
    return np.maximum(shares, shares.T)


def tukey_test(
    values: np.ndarray, weights: np.ndarray, key: jax.Array, samples: int
) -> tuple[np.ndarray, int]:
    """Returns p values of all differences of means, corrected for the number of systems.

    If all systems were equal, the values of a list might as well have come in any other
    order of the systems. Orders are drawn for each list by itself. p of two systems is
    the share of random orders in which the distance between the largest and the
    smallest mean of all systems is at least the observed distance between the means of
    the two systems.

    Args:
        values: `[systems, lists]`.
        weights: `[lists]`; lists without a weight above 0 do not count.
        key: A typed PRNG key.
        samples: Number of permutations to draw. All of them are used instead if there are
            no more than this: (number of systems)! to the power of n, n being the number
            of lists in which systems differ.

    Returns:
        p `[systems, systems]`, 1 on the diagonal, and the number of random permutations,
        0 if all were used. The observed order counts as one more random order, so that p
        is at least 1 / (1 + samples).

    Time grows with the square of the number of systems: about 10⁻⁹ seconds for each
    permutation, list and pair of systems, so that 100,000 permutations of 8 systems and
    1,000 lists take five seconds.

    References:
        Carterette, Multiple testing in statistical analysis of systems-based information
        retrieval experiments, ACM TOIS 2012.
    """
    # Subtract the mean over systems: it cancels in every difference, and smaller numbers
    # round less.
    terms = np.where(weights > 0, weights * (values - values.mean(0)), 0).T
    terms = terms / np.maximum(np.abs(terms).max(initial=0), np.finfo(np.float64).tiny)
    terms = terms[(terms != 0).any(1)]
    sums = terms.sum(0)
    # Allow for the sum of the lists' largest terms, which bounds the rounding of sums
    # in any order.
    slack = list_arrays.ROUNDING * np.abs(terms).max(1, initial=0).sum()
    thresholds = np.abs(sums[:, None] - sums[None, :]) - slack
    # Two systems have the terms −x and x, so swapping them flips their signs.
    draw = _orders if len(values) > 2 else _flips
    return _shares(draw, _reached_by_range, terms, (thresholds,), key, samples)


def swap_test(
    comparisons: Sequence[Ratios],
    key: jax.Array,
    samples: int,
    alternative: choices.Alternative = "two-sided",
    shift: float = 0.0,
) -> p_values.Outcome:
    """Returns p values of differences of ratios; see `pair_swap_test`.

    Args:
        comparisons: The two ratios of each comparison, all over the same lists.
        key: A typed PRNG key.
        samples: Number of patterns to draw.
        alternative: The side of 0 on which differences count as extreme.
        shift: The number to add to the values of b.

    Returns:
        The p values and the numbers of random patterns, `[comparisons]` each.
    """
    terms = [_terms([pair], shift)[0] for pair in comparisons]
    numerators, weights = map(np.concatenate, zip(*terms, strict=True))
    pairs = np.arange(2 * len(comparisons)).reshape(-1, 2)
    return _swaps_of_pairs([(numerators, weights)], pairs, key, samples, alternative)


def pair_swap_test(tasks: Sequence[Ratios], key: jax.Array, samples: int) -> np.ndarray:
    """Returns p values of differences in the mean over tasks, for all pairs of systems.

    If two systems were interchangeable, each list's values and weights might as well
    have been swapped. p is the share of swap patterns under which t is at least as far
    from 0 as in the data; t is the difference of the ratios over its standard error.
    All 2ⁿ patterns are used if there are no more than `samples`, n being the number of
    lists in which anything differs.

    The test divides by the error so that it keeps its level even if one system weighs
    lists many times as much as the other. (Without the division, equal ratios seem to
    differ in 20 to 50 % of data sets whose denominators differ by a factor of ten or
    thirty.) The error comes from the delete-one jackknife; over tasks, it is the root
    of the sum of their squared errors. A pattern that leaves a system without any
    weight counts as extreme.

    Time grows with the number of pairs: about 10⁻⁹ seconds for each pattern, list and
    pair, so that 100,000 patterns of 1,000 lists take a tenth of a second for each
    pair.

    Args:
        tasks: The ratios of all systems in each task.
        key: A typed PRNG key.
        samples: Number of patterns to draw.

    Returns:
        `[systems, systems]`, symmetric; 1 on the diagonal.

    References:
        Janssen, Studentized permutation tests for non-i.i.d. hypotheses and the generalized
        Behrens–Fisher problem, Statistics & Probability Letters 1997.
    """
    systems = len(tasks[0].values)
    pairs = np.argwhere(np.triu(np.ones((systems, systems), bool), 1))
    p = np.ones((systems, systems))
    p[tuple(pairs.T)] = _swaps_of_pairs(_terms(tasks), pairs, key, samples).p
    return np.minimum(p, p.T)


def _thresholds(sums: np.ndarray, slack: np.ndarray, mid_p: bool) -> np.ndarray:
    """Returns the sums that a pattern must reach to count, `[thresholds, comparisons]`.

    Without mid-p there is one threshold. With mid-p there are two thresholds that count
    half each, so a pattern between them counts half. If all terms are 0, both
    thresholds are equal, and patterns count in full.
    """
    return np.stack([sums - slack, sums + slack][: 2 if mid_p else 1])


def _differences(terms: np.ndarray, system: int, rounding: float) -> np.ndarray:
    """Returns differences of all systems from this one, `[lists, systems]`; 0 for ties."""
    differences = terms - terms[:, [system]]
    size = np.maximum(np.abs(terms), np.abs(terms[:, [system]]))
    return np.where(np.abs(differences) <= rounding * size, 0, differences)


def _reached_by_sums(
    xp: ModuleType,
    sums: Numbers,
    thresholds: Numbers,
    two_sided: Numbers,
    *scaling: Numbers,
) -> Numbers:
    """True for sums that reach thresholds, `[patterns, kinds, thresholds, comparisons]`.

    The first kind is the sums themselves. If `scaling` has an order of comparisons and
    the scale of each, there is a second kind: for each comparison in this order, the
    largest scaled sum of this and all later comparisons. Thresholds are
    `[kinds, thresholds, comparisons]`. If the test is two-sided, absolute sums are
    compared.
    """
    sums = xp.where(two_sided, xp.abs(sums), sums)
    statistics = [sums]
    if scaling:
        order, scales = scaling
        scaled = sums[:, order] * scales[None].astype(sums.dtype)
        if isinstance(scaled, jax.Array):
            statistics.append(lax.cummax(scaled, axis=1, reverse=True))
        else:
            largest = np.maximum.accumulate(scaled[:, ::-1], axis=1)
            statistics.append(largest[:, ::-1])
    return xp.stack(statistics, axis=1)[:, :, None] >= thresholds[None]


def _reached_by_pairs(xp: ModuleType, sums: Numbers, thresholds: Numbers) -> Numbers:
    """True if two sums differ by a threshold or more, `[patterns, systems, systems]`."""
    return xp.abs(sums[:, :, None] - sums[:, None, :]) >= thresholds[None]


def _reached_by_range(xp: ModuleType, sums: Numbers, thresholds: Numbers) -> Numbers:
    """True if the range of all sums reaches a threshold, `[patterns, systems, systems]`."""
    ranges = xp.max(sums, axis=1) - xp.min(sums, axis=1)
    return ranges[:, None, None] >= thresholds[None]


def _shares(
    draw: Draw,
    reached: Reached,
    terms: np.ndarray,
    arguments: tuple[Any, ...],
    key: jax.Array,
    samples: int,
) -> tuple[np.ndarray, int]:
    """Returns the shares of patterns whose sums over lists reach thresholds.

    Args:
        draw: `_flips` or `_orders`.
        reached: See `Reached`.
        terms: `[lists, columns]`, between −1 and 1.
        arguments: The further arguments of `reached`; the thresholds come first.
        key: A typed PRNG key.
        samples: Number of random patterns.

    Returns:
        The shares, in the shape of the thresholds, and the number of random patterns.
        If there are no more patterns than `samples`, all of them are used, and this
        number is 0.
    """
    lists, columns = terms.shape
    are_flips = draw is _flips
    ways = 2 if are_flips else math.factorial(columns)  # to rearrange a list
    total = ways ** min(lists, 64)  # more lists always have too many patterns
    if total <= samples:
        size = max(VALUES // max(arguments[0].size, columns), 1)
        parts = _all_sums(terms, are_flips, size)
        return sum(reached(np, part, *arguments).sum(0) for part in parts) / total, 0
    # Round up to a power of two, so that data of many sizes share few compiled programs.
    rows = min(1 << (lists - 1).bit_length(), ROWS)
    # A block holds a value for each pattern and row, and if systems are permuted, for
    # each system.
    values = rows if are_flips else rows * columns
    patterns = VALUES // max(values, columns)
    chunks = np.pad(terms, ((0, -lists % rows), (0, 0))).reshape(-1, rows, columns)
    shares = _random_shares(draw, reached, chunks, arguments, key, samples, patterns)
    return shares, samples


def _all_sums(terms: np.ndarray, are_flips: bool, size: int) -> Iterator[np.ndarray]:
    """Yields sums under all patterns, `[patterns, columns]`, at most `size` at a time."""
    columns = terms.shape[1]

    def sums_of(terms: np.ndarray) -> np.ndarray:
        sums = np.zeros((1, columns))
        for term in terms:
            orders = itertools.permutations(range(0 if are_flips else columns))
            ways = [term, -term] if are_flips else [term[[*order]] for order in orders]
            sums = np.concatenate([sums + rearranged for rearranged in ways])
        return sums

    # Compute all sums over the first lists, and all sums over the remaining lists. Each
    # sum over all lists then adds a sum of either kind, so a pattern costs one
    # addition.
    first = int(math.log(size, 2 if are_flips else math.factorial(columns)))
    first_sums, rest_sums = sums_of(terms[:first]), sums_of(terms[first:])
    width = max(size // len(first_sums), 1)
    for start in range(0, len(rest_sums), width):
        sums = rest_sums[start : start + width, None] + first_sums
        yield sums.reshape(-1, columns)


def _random_shares(
    draw: Draw,
    reached: Reached,
    data: Any,
    arguments: tuple[Any, ...],
    key: jax.Array,
    samples: int,
    patterns: int,
) -> np.ndarray:
    """Returns the shares of random patterns that reach thresholds.

    Patterns are computed in float32, and the shares are float64.

    Args:
        draw: Draws a block of patterns.
        reached: See `Reached`.
        data: The data that `draw` takes.
        arguments: The further arguments of `reached`; the thresholds come first.
        key: A typed PRNG key.
        samples: Number of patterns.
        patterns: About how many patterns fit a block.
    """
    data, arguments = jax.tree.map(
        lambda array: array.astype(np.float32) if array.dtype == np.float64 else array,
        (data, arguments),
    )
    # Take whole words of random bits, because each bit of a word belongs to another
    # pattern.
    patterns = resample.BITS * max(patterns // resample.BITS, 1)
    counts = _count()(data, arguments, key, draw, reached, samples, patterns)
    # The observed pattern counts as one more pattern, so that p is never 0.
    return (1 + np.asarray(counts)) / (1 + samples)


def _count_random(
    data: Any,
    arguments: tuple[Any, ...],
    key: jax.Array,
    draw: Draw,
    reached: Reached,
    samples: int,
    patterns: int,
) -> jax.Array:
    """Counts the random patterns that reach each threshold; see `_random_shares`."""

    def reached_by_block(key: jax.Array) -> jax.Array:
        return jnp.asarray(reached(jnp, draw(data, key, patterns), *arguments))

    return resample.count_reached(reached_by_block, key, samples)


_count = one_off_jit(_count_random, ("draw", "reached", "samples", "patterns"), level=2)


def random_sums(
    chunks: jax.Array, key: jax.Array, patterns: int, draw: Draw
) -> jax.Array:
    """Returns sums over all lists under random patterns, `[patterns, columns]`.

    Args:
        chunks: `[chunks, rows, columns]`, the terms of all lists.
        key: A typed PRNG key.
        patterns: Number of patterns.
        draw: Sums the lists of a chunk under random patterns: `flipped_sums` or
            `permuted_sums`.
    """
    count, _, columns = chunks.shape

    def add_chunk(
        sums: jax.Array, chunk: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, None]:
        index, terms = chunk
        return sums + draw(terms, random.fold_in(key, index), patterns), None

    start = jnp.zeros((patterns, columns), chunks.dtype)
    return lax.scan(add_chunk, start, (jnp.arange(count, dtype=jnp.uint32), chunks))[0]


def _swaps(tasks: Terms, key: jax.Array, patterns: int) -> tuple[Terms, jax.Array]:
    return tasks, resample.random_swaps(
        key, patterns, sum(values.shape[1] for values, _ in tasks)
    )


def flipped_sums(terms: jax.Array, key: jax.Array, patterns: int) -> jax.Array:
    """Returns sums of terms whose signs are flipped at random, `[patterns, columns]`."""
    swaps = resample.random_swaps(key, patterns, len(terms))
    signs = jnp.where(swaps, -1, 1).astype(terms.dtype)
    # Random signs keep the sums small, so plain float32 sums are accurate enough.
    return jnp.matmul(signs, terms, precision=lax.Precision.HIGHEST)


def permuted_sums(terms: jax.Array, key: jax.Array, patterns: int) -> jax.Array:
    """Returns sums of terms whose systems are permuted at random, `[patterns, systems]`."""
    lists, systems = terms.shape
    words = resample.random_orders(key, patterns, lists)
    index = jnp.arange(systems, dtype=jnp.int32)[:, None, None]

    # The Fisher–Yates shuffle: draw one of the remaining values for each system in turn,
    # and move the last remaining value to the place of the drawn one.
    def draw(
        state: tuple[jax.Array, jax.Array], remaining: jax.Array
    ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        values, words = state
        words = arithmetic.mix(words)
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


_flips = functools.partial(random_sums, draw=flipped_sums)
_orders = functools.partial(random_sums, draw=permuted_sums)


def _terms(tasks: Sequence[Ratios], shift: float = 0.0) -> Terms:
    """Returns numerators less a common ratio, and weights; both are at most 1 in size.

    Neither a number added to all ratios nor their unit changes the test. But a large
    common part would cost float32 digits, and a large unit might make it overflow.
    """
    terms, largest = [], 0.0
    for values, weights, rounding in tasks:
        # A margin shifts all systems except the first, which is the baseline.
        values = values + shift * (np.arange(len(values)) > 0)[:, None]
        weights = weights / max(weights.max(initial=0), np.finfo(np.float64).tiny)
        common = (weights * values).sum() / max(weights.sum(), 1)
        distances = values - common
        distances[np.abs(distances) <= rounding * np.abs(values)] = 0
        terms.append((weights * distances, weights))
        largest = max(largest, np.abs(terms[-1][0]).max(initial=0))
    return [(values / (largest or 1.0), weights) for values, weights in terms]


def _swaps_of_pairs(
    tasks: Terms,
    pairs: np.ndarray,
    key: jax.Array,
    samples: int,
    alternative: choices.Alternative = "two-sided",
) -> p_values.Outcome:
    """Returns p of pairs of systems and the numbers of random patterns, `[pairs]` each."""
    sign = -1 if alternative == "less" else 1
    tasks = [(sign * values, weights) for values, weights in tasks]
    two_sided = np.array(alternative == "two-sided")
    p, drawn = np.ones(len(pairs)), np.zeros(len(pairs), int)
    thresholds = np.zeros(len(pairs))
    for index, (a, b) in enumerate(pairs):
        sides = [tuple(array[[a, b]] for array in task) for task in tasks]
        differs = np.concatenate(
            [np.any([array[0] != array[1] for array in task], axis=0) for task in sides]
        )
        count = min(int(differs.sum()), 64)  # more lists always have too many patterns
        plain = np.zeros((1, len(differs)), bool)
        difference, error, _ = _swapped(np, sides, plain)
        t = (difference / np.maximum(error, np.finfo(np.float64).tiny))[0]
        t = float(np.clip(abs(t) if two_sided else t, -LARGEST, LARGEST))
        thresholds[index] = t - SLACK * (1 + abs(t))
        if 2**count > samples:
            drawn[index] = samples
        else:
            p[index] = _share_of_all(sides, differs, thresholds[index], two_sided)
    if (chosen := np.flatnonzero(drawn)).size:
        arguments = thresholds[chosen], pairs[chosen], two_sided
        patterns = min(VALUES // sum(values.shape[1] for values, _ in tasks), samples)
        p[chosen] = _random_shares(
            _swaps, _reached_by_swaps, tasks, arguments, key, samples, patterns
        )
    return p_values.Outcome(p, drawn)


def _share_of_all(
    sides: Terms, differs: np.ndarray, threshold: float, two_sided: Numbers
) -> float:
    """Returns the share of all swaps that reach a threshold.

    Only lists in which a and b differ are swapped, because other swaps change nothing.
    """
    # Try a few patterns at a time, so that memory does not grow with the number of lists.
    count, width = int(differs.sum()), max(VALUES // max(len(differs), 1), 1)
    reached = 0
    for start in range(0, 2**count, width):
        patterns = np.arange(start, min(start + width, 2**count))
        swaps = np.zeros((len(patterns), len(differs)), bool)
        # The bits of a pattern's number tell which lists it swaps.
        swaps[:, differs] = patterns[:, None] >> np.arange(count) & 1
        reached += int(_reached(np, sides, swaps, threshold, two_sided).sum())
    return reached / 2**count


def _swapped(
    xp: ModuleType, sides: Terms, swaps: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """Returns differences of two ratios after swaps of lists, and their errors.

    Args:
        xp: `numpy` or `jax.numpy`.
        sides: Numerators and weights of a and b, `[2, lists]`, of each task.
        swaps: `[patterns, all lists]` bool, the lists in which a and b are swapped.

    Returns:
        Three arrays `[patterns]`: the mean difference over tasks and its error, both
        multiplied by the number of tasks; and True for patterns that leave a system
        without weight.
    """
    differences = squares = xp.zeros(len(swaps), sides[0][0].dtype)
    empty, start = xp.zeros(len(swaps), bool), 0
    for numerators, weights in sides:
        lists = numerators.shape[1]
        # A pattern has the lists of all tasks side by side.
        task_swaps = swaps[:, start : start + lists]
        start += lists
        columns = xp.concatenate([numerators, weights]).T
        swapped = task_swaps.astype(columns.dtype)
        # Add the weights that moved to the weights that stayed. Subtracting the weights
        # that left would cancel, and small sums would be inexact.
        moved, kept = _matmul(xp, swapped, columns), _matmul(xp, 1 - swapped, columns)
        # After both passes of this loop, `change` is the change of b minus the change
        # of a.
        change, means = 0.0, []
        for system, opponent in ((0, 1), (1, 0)):
            total = kept[:, 2 + system] + moved[:, 2 + opponent]
            empty = empty | (total <= 0)
            total = xp.where(total > 0, total, 1)
            means.append((kept[:, system] + moved[:, opponent]) / total)
            x, w = (
                xp.where(
                    task_swaps, system_terms[opponent][None], system_terms[system][None]
                )
                for system_terms in (numerators, weights)
            )
            # Do not leave out a list with all the weight, because nothing would remain
            # of the ratio.
            remaining = total[:, None] - w
            bound = list_arrays.ROUNDING * total[:, None]
            remaining = xp.where(remaining > bound, remaining, total[:, None])
            change = (x - means[-1][:, None] * w) / remaining - change
        differences = differences + means[1] - means[0]
        squares = squares + _matmul(xp, change * change, xp.ones_like(columns[:, 0]))
    return differences, xp.sqrt(squares), empty


def _matmul(xp: ModuleType, x: Numbers, y: Numbers) -> Numbers:
    if xp is np:
        return x @ y
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def _reached(
    xp: ModuleType,
    sides: Terms,
    swaps: Numbers,
    threshold: Numbers | float,
    two_sided: Numbers,
) -> Numbers:
    """True if t of swapped lists is at least the threshold, `[patterns]`."""
    difference, error, empty = _swapped(xp, sides, swaps)
    difference = xp.where(two_sided, xp.abs(difference), difference)
    return empty | (difference >= threshold * error)


def _reached_by_swaps(
    xp: ModuleType,
    drawn: tuple[Terms, jax.Array],
    thresholds: jax.Array,
    pairs: jax.Array,
    two_sided: jax.Array,
) -> jax.Array:
    """True for swaps that reach the threshold of a pair, `[patterns, pairs]`."""
    tasks, swaps = drawn

    def reached_by_pair(pair: tuple[jax.Array, jax.Array]) -> jax.Array:
        systems, threshold = pair
        sides = [tuple(array[systems] for array in task) for task in tasks]
        return jnp.asarray(_reached(xp, sides, swaps, threshold, two_sided))

    return lax.map(reached_by_pair, (pairs, thresholds)).T
