"""Against RDKit: early recognition. RDKit reads one order, so nothing ties here."""

import functools

import numpy as np
import pytest

import jax_rank_metrics as jrm

# 7 % of 100 items are 8, as 0.07·100 is more than 7 in float64.
FRACTIONS = (0.01, 0.07, 0.29, 0.5, 0.005)
ALPHAS = (0.5, 20.0, 160.9, 700.0)


LONG = [pytest.param(size, marks=pytest.mark.long) for size in (100, 2000, 4)]


@pytest.fixture(params=[37, *LONG])
def lists(request, rng):
    """Lists of one length with few and with many active items."""
    size = request.param
    shares = np.array([0.02, 0.3, 0.9, 1.0, 0.0])[:, None]
    labels = (rng.random((len(shares), size)) < shares).astype(np.int32)
    labels[0, rng.integers(size)] = 1
    scores = np.tile(np.float32(np.arange(size)), (len(shares), 1))
    return labels, rng.permuted(scores, axis=1)


def by_rdkit(function, labels, scores):
    """Returns a function of RDKit's scoring of every list."""
    from rdkit.ML.Scoring import Scoring

    order = np.argsort(-scores, axis=1)
    sorted_rows = np.take_along_axis(labels, order, axis=1)[..., None].tolist()
    return np.array([function(Scoring, row) for row in sorted_rows])


def enrichment(scoring, row):
    """One fraction at a time: RDKit reads equal cutoffs at different ranks."""
    return [scoring.CalcEnrichment(row, 0, [fraction])[0] for fraction in FRACTIONS]


def exponential_weights(scoring, row):
    """RIE and BEDROC at every alpha."""
    functions = scoring.CalcRIE, scoring.CalcBEDROC
    return [[function(row, 0, alpha) for alpha in ALPHAS] for function in functions]


def test_early_recognition(lists, recorded):
    """It agrees at shares of the list, and if every item is active, or no item."""
    ranking = jrm.rank(*lists)
    theirs = recorded("enrichment", lambda *x: by_rdkit(enrichment, *x), *lists)
    k = tuple(map(jrm.share, FRACTIONS))
    values = jrm.enrichment_factor.of(ranking, k=k).values
    np.testing.assert_allclose(values, theirs, rtol=1e-6)
    theirs = recorded("weights", lambda *x: by_rdkit(exponential_weights, *x), *lists)
    ours = {
        f"{name}-{alpha}": functools.partial(getattr(jrm, name), alpha=alpha)
        for name in ("rie", "bedroc")
        for alpha in ALPHAS
    }
    values = [x.values for x in jrm.measure(ours, ranking).values()]
    expected = theirs.reshape(len(theirs), -1).T
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)
