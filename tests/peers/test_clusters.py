"""Errors of clustered means beside statsmodels."""

import numpy as np
import pytest

import jax_rank_metrics as jrm

models = pytest.importorskip("statsmodels.api")


@pytest.mark.parametrize("weighted", [False, True])
def test_cluster_robust_errors(weighted):
    """They are those of `cov_type="cluster"`, but for the small-sample factor.

    That is G/(G − 1) there, for G clusters, and n/(n − 1) here, for their effective number
    n, which is G where clusters weigh the same.
    """
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(30), 6) if not weighted else rng.integers(0, 30, 180)
    values = rng.normal(size=180) + rng.normal(size=30)[ids]
    weights = rng.gamma(2, size=180) if weighted else np.ones(180)
    fit = models.WLS(values, np.ones(180), weights).fit(
        cov_type="cluster", cov_kwds={"groups": ids}
    )
    lists = jrm.PerList(values, weights, np.ones(180, bool)).cluster(ids)
    state = lists.mean()
    n, clusters = float(state.n_eff), len(lists)
    assert clusters == len(np.unique(ids)) and (weighted or n == pytest.approx(30))
    factor = n / (n - 1) * (clusters - 1) / clusters
    assert float(state.compute()) == pytest.approx(fit.params[0], rel=1e-5)
    error = float(state.std_error())
    assert error == pytest.approx(fit.bse[0] * np.sqrt(factor), rel=1e-5)
