"""Comparisons of ratios that weigh the lists differently: swaps, errors, false alarms."""

import itertools
import math

import numpy as np
import pytest
from late_imports import LateImport
from per_lists import lists_of, ratio

import jax_rank_metrics as jrm
from jax_rank_metrics._verdicts.inference.randomised import pair_swap_test
from jax_rank_metrics._verdicts.inference.weighted_means import Ratios

stats = LateImport("scipy.stats")


def drawn(rng, lists, zeros=0.0):
    """Draws numerators and denominators of a and b, `[2, 2, lists]`, in single floats."""
    denominators = rng.lognormal(0, 1, (2, lists)) * (rng.random((2, lists)) >= zeros)
    numerators = denominators * rng.random((2, lists))
    return np.stack([numerators, denominators]).astype(np.float32)


def difference_of(sides):
    """Returns the difference of two ratios and its jackknife error, or None, by loops.

    Args:
        sides: For a and b, the `(numerator, denominator)` of each list.
    """
    totals = [(sum(x for x, _ in side), sum(w for _, w in side)) for side in sides]
    if min(total for _, total in totals) <= 0:
        return None
    means = [total / weight for total, weight in totals]
    squares = 0.0
    for pair in zip(*sides, strict=True):
        changes = []
        for (x, w), (total, weight), mean in zip(pair, totals, means, strict=True):
            # A list that has all the weight changes nothing.
            is_whole = w == weight
            changes.append(0 if is_whole else mean - (total - x) / (weight - w))
        squares += (changes[1] - changes[0]) ** 2
    return means[1] - means[0], math.sqrt(squares)


def p_by_loops(*tasks, side=None):
    """Returns p of all patterns of swaps, one by one; squared errors of tasks add up.

    Args:
        tasks: Numerators and denominators of a and b, for the lists of each task.
        side: 1 or −1, if p is of one side.
    """
    lists = [list(zip(*task[0], *task[1], strict=True)) for task in tasks]
    count = sum(map(len, lists))

    def t_of(swaps):
        remaining, results = iter(swaps), []
        for of_task in lists:
            sides = [[], []]
            for xa, xb, wa, wb in of_task:
                swap = next(remaining)
                sides[swap].append((float(xa), float(wa)))
                sides[1 - swap].append((float(xb), float(wb)))
            results.append(difference_of(sides))
        if None in results:
            return math.inf
        difference, error = (
            sum(x for x, _ in results),
            math.hypot(*(e for _, e in results)),
        )
        t = difference / error if error else math.copysign(math.inf, difference)
        return abs(t) if side is None else side * t

    observed = t_of((0,) * count)
    every = itertools.product((0, 1), repeat=count)
    return np.mean([t_of(swaps) >= observed * (1 - 1e-9) for swaps in every])


@pytest.mark.parametrize("zeros", [0, 0.4])
@pytest.mark.parametrize(("alternative", "side"), [("two-sided", None), ("less", -1)])
def test_p_is_that_of_all_swaps(rng, zeros, alternative, side):
    """Value and weight are swapped in random lists, and t is computed again."""
    numerators, denominators = drawn(rng, 7, zeros)
    sides = [ratio(*x) for x in zip(numerators, denominators, strict=True)]
    result = jrm.compare(*sides, alternative=alternative).only
    assert result.p == pytest.approx(p_by_loops((numerators, denominators), side=side))
    assert (result.test, result.samples) == ("permutation", 0)


def test_a_side_with_one_list():
    """Swaps that leave a system without weight are extreme; a list may be all of it."""
    numerators = [[0.5, 0, 0, 0], [0.2, 0.1, 0.3, 0.4]]
    denominators = [[1.0, 0, 0, 0], [1, 2, 1, 3]]
    a, b = (ratio(*x) for x in zip(numerators, denominators, strict=True))
    result = jrm.compare(a, b).only
    assert result.p == pytest.approx(p_by_loops((numerators, denominators)))
    assert result.n_eff == 1 and jrm.compare(a, b, test="t").only.p == 1
    assert (result.low, result.high) == (-np.inf, np.inf)
    weightless = jrm.compare(lists_of([0.0, 0]).over(lists_of([0.0, 0])), b[:2]).only
    assert (weightless.lists, weightless.p, weightless.difference) == (0, 1, 0)


def test_margins_shift_b(rng):
    """A margin is added to the values of b, and clusters are swapped whole."""
    numerators, denominators = drawn(rng, 12)
    a, b = (ratio(*x) for x in zip(numerators, denominators, strict=True))
    users = np.arange(12) // 2
    result = jrm.compare(a, b, margin=0.1, alternative="greater", clusters=users).only
    numerators[1] += np.float32(0.1) * denominators[1]
    joined = [x.reshape(2, 6, 2).sum(2) for x in (numerators, denominators)]
    assert result.p == pytest.approx(p_by_loops(joined, side=1))
    assert (result.clusters, result.lists) == (6, 12)
    squares = [x.sum() ** 2 / (x**2).sum() for x in joined[1]]
    assert result.n_eff == pytest.approx(min(squares))


def test_random_swaps_are_near_all_swaps(rng):
    """2¹² patterns nearly agree with 2¹² − 1 random ones, for several cutoffs at once."""
    numerators, denominators = np.moveaxis([drawn(rng, 12) for _ in range(3)], 0, 3)
    a, b = (ratio(*x) for x in zip(numerators, denominators, strict=True))
    exact = jrm.compare(a, b, samples=2**12)
    sampled = jrm.compare(a, b, samples=2**12 - 1)
    for all_swaps, random_swaps in zip(exact, sampled, strict=True):
        p = all_swaps.p
        assert (all_swaps.samples, random_swaps.samples) == (0, 2**12 - 1)
        assert abs(random_swaps.p - p) < 5 * np.sqrt(p * (1 - p) / 2**12)


def test_the_error_is_that_of_the_jackknife(rng):
    """Each list is left out once; n_eff is the smaller n_eff of the two sides."""
    numerators, denominators = drawn(rng, 30, 0.2)
    a, b = (ratio(*x) for x in zip(numerators, denominators, strict=True))
    result = jrm.compare(a, b, test="t").only
    sides = zip(numerators.tolist(), denominators.tolist(), strict=True)
    mean, error = difference_of([list(zip(*side, strict=True)) for side in sides])
    n_eff = min(x.sum() ** 2 / (x**2).sum() for x in denominators)
    error *= np.sqrt((n_eff - 1) / n_eff)
    assert result.difference == pytest.approx(mean, rel=1e-5)
    assert result.n_eff == pytest.approx(n_eff, rel=1e-6)
    reach = stats.t.ppf(0.975, n_eff - 1) * error
    assert result.high - result.difference == pytest.approx(reach, rel=1e-4)
    assert result.p == pytest.approx(
        2 * stats.t.sf(abs(mean) / error, n_eff - 1), rel=1e-4
    )


@pytest.mark.parametrize("spread", [0, 1])
def test_denominators_that_nearly_agree(rng, spread):
    """If weights differ by next to nothing, all results are as if they did not differ."""
    values, denominators = rng.random((2, 14)), rng.lognormal(0, spread, 14)
    nearly = denominators * (1 + 1e-4 * np.arange(14))
    a, b, near = (
        ratio(x * y, y)
        for x, y in zip(
            values[[0, 1, 1]], (denominators, denominators, nearly), strict=True
        )
    )
    for test in ("permutation", "t"):
        result, expected = (jrm.compare(a, x, test=test).only for x in (near, b))
        for field in ("difference", "low", "n_eff", *["effect_size"] * (1 - spread)):
            assert getattr(result, field) == pytest.approx(
                getattr(expected, field), rel=0.02, abs=0.002
            )
        assert result.p == pytest.approx(expected.p, abs=0.06)


@pytest.mark.parametrize("test", ["permutation", "t"])
def test_equal_ratios_rarely_differ(rng, test):
    """With denominators that spread over orders of magnitude, few equal ratios differ."""
    denominators = rng.lognormal(0, 2, (2, 10, 400)).astype(np.float32)
    a, b = (ratio(x * rng.random(x.shape), x) for x in denominators)
    p = [x.p for x in jrm.compare(a, b, test=test)]
    assert np.mean(np.array(p) < 0.05) < 0.083  # three standard errors are 3.3 %


def test_pairs_of_systems_over_tasks(rng):
    """Over several tasks, the squares of their errors add up, and all lists are swapped."""
    sizes, systems = (4, 3), 3
    tasks = [
        Ratios(rng.random((systems, size)), rng.lognormal(0, 1, (systems, size)), 0)
        for size in sizes
    ]
    p = pair_swap_test(tasks, None, 2**7)
    assert np.array_equal(p, p.T) and (np.diag(p) == 1).all()

    for pair in itertools.combinations(range(systems), 2):
        sides = [((x * w)[[*pair]], w[[*pair]]) for x, w, _ in tasks]
        assert p[pair] == pytest.approx(p_by_loops(*sides))
