"""Against RDKit: early recognition. RDKit reads one order, so nothing ties here."""

import numpy as np
import pytest

import jax_rank_metrics as jrm

scoring = pytest.importorskip("rdkit.ML.Scoring.Scoring")

# 7 % of 100 items are 8, as 0.07·100 is more than 7 in float64.
FRACTIONS = (0.01, 0.07, 0.29, 0.5, 0.005)
ALPHAS = (0.5, 20.0, 160.9, 700.0)


@pytest.fixture(params=[100, 37, 2000, 4])
def screen(request, rng):
    """Lists of one length with few and with many active items, and RDKit's view of them."""
    size = request.param
    shares = np.array([0.02, 0.3, 0.9, 1.0, 0.0])[:, None]
    labels = (rng.random((len(shares), size)) < shares).astype(np.int32)
    labels[0, rng.integers(size)] = 1
    scores = rng.permuted(
        np.tile(np.float32(np.arange(size)), (len(shares), 1)), axis=1
    )
    order = np.argsort(-scores, axis=1)
    sorted_rows = np.take_along_axis(labels, order, axis=1)[..., None].tolist()
    return jrm.rank(labels, scores), sorted_rows


def test_enrichment_factor(screen):
    """At shares of the list, and for a list without active items."""
    ranking, rows = screen
    k = tuple(map(jrm.share, FRACTIONS))
    values = jrm.enrichment_factor.of(ranking, k=k).values
    # One fraction at a time: RDKit reads equal cutoffs at different ranks.
    expected = [
        [scoring.CalcEnrichment(row, 0, [f])[0] for f in FRACTIONS] for row in rows
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-6)


def test_exponential_weights(screen):
    """RIE and BEDROC, also where every item is active."""
    ranking, rows = screen
    for alpha in ALPHAS:
        rie = [scoring.CalcRIE(row, 0, alpha) for row in rows]
        bedroc = [scoring.CalcBEDROC(row, 0, alpha) for row in rows]
        close = {"rtol": 1e-5, "atol": 1e-6}
        np.testing.assert_allclose(
            jrm.rie.of(ranking, alpha=alpha).values, rie, **close
        )
        np.testing.assert_allclose(
            jrm.bedroc.of(ranking, alpha=alpha).values, bedroc, **close
        )
