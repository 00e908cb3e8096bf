"""Against ppi-python: λ, the estimate, and how close the intervals are."""

import numpy as np
import pytest

import jax_rank_metrics as jrm


@pytest.mark.parametrize("noise", [0.1, 0.5, 2.0])
def test_prediction_powered_mean(noise, recorded):
    """λ is the same but for (n − 1)/n, and the estimate at that λ is the same.

    ppi-python takes n for the divisor of the covariance, and the normal distribution.
    """
    rng = np.random.default_rng(8)
    y = rng.random(400)
    f = y + 0.2 + noise * rng.normal(size=400)
    n = 40
    ours = jrm.prediction_powered(
        dict(enumerate(y[:n].tolist())), dict(enumerate(f.tolist()))
    )

    def by_ppi(y, f, tuning):
        import ppi_py

        sides = y[:n], f[:n], f[n:]
        low, high = ppi_py.ppi_mean_ci(*sides, alpha=0.1, lam=tuning)
        estimate = ppi_py.ppi_mean_pointestimate
        means = [np.squeeze(estimate(*sides, lam=x)) for x in (0, 1, None, tuning)]
        return [*means, np.squeeze(low), np.squeeze(high)]

    # Its own estimate is linear in λ, which tells the λ that it has found.
    at_0, at_1, tuned, at_ours, low, high = recorded("mean", by_ppi, y, f, ours.tuning)
    tuning = (tuned - at_0) / (at_1 - at_0)
    assert 0.01 < tuning < 1
    assert ours.tuning * (n - 1) / n == pytest.approx(float(tuning), rel=1e-9)
    assert ours.mean == pytest.approx(float(at_ours), rel=1e-12)
    # Normal quantiles and the divisors n and N − 1, in place of t and n − 2.
    rest = y[:n] - ours.tuning * f[:n]
    of_others = ours.tuning**2 * np.var(f[n:]) / (400 - n)
    variance = np.var(rest) / n + of_others
    assert float(high - low) / 2 == pytest.approx(
        1.6448536 * np.sqrt(variance), rel=1e-6
    )
    expected = np.var(rest) / (n - 2) + of_others * (400 - n) / (400 - n - 1)
    assert ours.std_error == pytest.approx(np.sqrt(expected), rel=1e-9)
