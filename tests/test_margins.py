"""Bounds for a margin: how often they pass a worse system, by exact sums, and their p."""

import numpy as np
import pytest
from scipy.special import gammaln

import jax_rank_metrics as jrm
from jax_rank_metrics._verdicts.comparisons.power import MarginPlan
from jax_rank_metrics._verdicts.inference.margin_bounds import MarginBounds


def of_hits(losses, gains, lists):
    """Returns the bounds for numbers of hits that were lost and gained, in closed form."""
    mean = (gains - losses) / lists
    moments = [
        (losses * (-1 - mean) ** i + gains * (1 - mean) ** i) / lists
        + (1 - (losses + gains) / lists) * (-mean) ** i
        for i in (2, 3)
    ]
    numbers = np.full(mean.shape, float(lists))
    return MarginBounds(
        mean,
        moments[0] / (lists - 1),
        moments[1] / lists**2,
        numbers,
        numbers - 1,
        losses + gains,
        np.ones_like(mean),
        np.sign(losses + gains).astype(float),
    )


def false_passes(lists, lost, gained):
    """Sums the probabilities of samples that pass, if the true loss is the margin."""
    most = int(lists * (lost + gained) + 12 * (lists * (lost + gained)) ** 0.5 + 12)
    losses, gains = np.mgrid[
        : min(lists, most) + 1, : min(lists, most) * (gained > 0) + 1
    ]
    losses, gains = (x[losses + gains <= lists] for x in (losses, gains))
    neither = lists - losses - gains
    log_share = gammaln(lists + 1) - sum(
        gammaln(1.0 + count) for count in (losses, gains, neither)
    )
    log_share += losses * np.log(lost) + neither * np.log1p(-lost - gained)
    log_share += gains * np.log(gained) if gained else 0
    bounds = of_hits(losses, gains, lists)
    passes = bounds.mean - bounds.reach(0.95)[0] > gained - lost
    return np.exp(log_share)[passes].sum()


@pytest.mark.parametrize("every", [37, pytest.param(5, marks=pytest.mark.long)])
def test_false_passes_of_hits(every):
    """They are at most 6 % of samples of 20 to 800 lists, at a nominal 5 %."""
    rates = (0.01, 0), (0.02, 0), (0.05, 0), (0.03, 0.01), (0.1, 0.05)
    worst = [
        max(false_passes(lists, *rate) for lists in range(20, 801, every))
        for rate in rates
    ]
    assert max(worst) <= 0.06, worst
    # Student's interval passes every sample without a loss: two in three of 20.
    assert 0.98**20 > 0.66


def test_closed_form_of_hits(rng):
    """The bounds of hits that the sums above take equal the bounds of their differences."""
    for losses, gains, lists in ((0, 0, 30), (3, 1, 30), (20, 7, 80)):
        differences = np.repeat(
            [-1.0, 1.0, 0.0], [losses, gains, lists - losses - gains]
        )
        of_lists = MarginBounds.of(
            differences[:, None], np.ones((lists, 1)), np.ones(1)
        )
        counted = of_hits(np.array([losses]), np.array([gains]), lists)
        for a, b in zip(of_lists, counted, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-14)


@pytest.mark.parametrize("kind", ["hits", "skewed", "weighted", "few"])
def test_p_is_where_the_bound_meets_the_margin(rng, kind):
    """It is there on both sides, which mirror each other, and for clusters."""
    values = rng.random((2, 60))
    weights = np.ones(60)
    if kind == "hits":
        values = np.round(values)
    elif kind == "skewed":
        values[1] = values[0] - (rng.random(60) < 0.3) * rng.exponential(0.3, 60)
    elif kind == "weighted":
        weights = rng.uniform(0.1, 3, 60)
    else:
        values[1] = np.where(np.arange(60) < 4, values[1], values[0])
    a, b = (
        jrm.PerList(x, weights, np.ones(60, bool)) for x in values.astype(np.float32)
    )
    clusters = np.arange(60) // 2
    for margin in (0.02, 0.15):
        for options in ({}, {"clusters": clusters}):
            asked = {"test": "t", "margin": margin} | options
            greater = jrm.compare(a, b, alternative="greater", **asked).only
            mirrored = jrm.compare(b, a, alternative="less", **asked).only
            both = jrm.compare(a, b, **asked).only
            assert greater.p == pytest.approx(mirrored.p, rel=1e-9)
            assert greater.low == pytest.approx(-mirrored.high, rel=1e-9)
            less = jrm.compare(a, b, alternative="less", **asked).only
            assert both.p == max(greater.p, less.p)
            level = 1 - greater.p
            if 0.5 < level < 1 - 1e-12:
                end = jrm.compare(a, b, alternative="greater", level=level, **asked)
                assert end.only.low == pytest.approx(-margin, abs=1e-9)
            in_two = jrm.compare(a, b, level=0.9, **asked).only
            one = jrm.compare(a, b, level=0.95, alternative="greater", **asked).only
            assert in_two.low == pytest.approx(one.low, rel=1e-9)


def test_margins_of_lists_that_all_agree():
    """They pass if there are enough lists for a loss to have shown, and not before."""
    for lists, passes in ((20, False), (160, True)):
        for values in (np.ones(lists, bool), np.zeros(lists, bool)):
            asked = {"test": "t", "margin": 0.05, "alternative": "greater"}
            assert (jrm.compare(values, values, **asked).only.p < 0.05) == passes
    # A share may move by 1, whatever values were seen; other values by their spread.
    state = jrm.recall.per_list(np.eye(30), np.eye(30))
    shares, others = (
        jrm.compare(x, x, test="t", margin=0.1).only
        for x in (state, np.linspace(0, 0.1, 30))
    )
    assert shares.high == pytest.approx(10 * others.high, rel=1e-5)


def test_plans_of_a_margin(rng):
    """Equal systems pass as often as planned, with the number of lists of the plan."""
    noise = rng.laplace(scale=0.5**0.5, size=(160, 2000))
    column = noise[:, :1]
    arguments = np.ones((160, 1)), np.full(1, 8.0)
    plan = MarginPlan(MarginBounds.of(column, *arguments), 0.9, 0.05)
    margin = plan.detectable()
    assert plan.power_at(margin) == pytest.approx(0.9)
    assert plan.lists_needed(margin * (1 + 1e-9), 160) == 160
    assert plan.lists_needed(margin / 2, 160) > 500
    wide = MarginBounds.of(noise, np.ones_like(noise), np.full(2000, 8.0))
    passes = wide.mean - wide.reach(0.95)[0] > -margin / column.std()
    assert 0.85 < passes.mean() < 0.95
    one = MarginBounds.of(column[:1], np.ones((1, 1)), np.ones(1))
    assert MarginPlan(one, 0.9, 0.05).detectable() == np.inf
