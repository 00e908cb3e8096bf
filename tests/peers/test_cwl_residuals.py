"""Residuals against cwl_eval, whose lists go on with items of the largest gain."""

import numpy as np
import pytest

import jax_rank_metrics as jrm

theirs = pytest.importorskip("cwl.ruler.ranking")
measures = pytest.importorskip("cwl.ruler.measures.cwl_rbp")

LISTS, ITEMS, DEPTH, LARGEST = 6, 12, 1000, 3.0


@pytest.mark.parametrize("persistence", [0.5, 0.9])
def test_rank_biased_precision(persistence, agree):
    """They add p^n, the worth of the ranks after the n items."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 4, (LISTS, ITEMS)).astype(np.float32)
    judged = rng.random((LISTS, ITEMS)) < 0.5
    judged[:2] = [[False], [True]]
    lengths = rng.integers(1, ITEMS + 1, LISTS)
    of = f"rbp(p={persistence}, max_label={LARGEST})"
    name = f"residual(of={of}, max_label={LARGEST})"
    mask = np.arange(ITEMS) < lengths[:, None]
    ranking = jrm.rank_retrieved(labels, mask, columns={"judged": judged})
    ours = jrm.measure((name,), ranking)[name].values
    expected = []
    for row, length in enumerate(lengths):
        gains = np.where(judged[row], labels[row] / LARGEST, np.nan)[:length]
        metric = measures.RBPCWLMetric(persistence)
        metric.residuals = True
        metric.measure(theirs.Ranking("q", gains, np.ones(length), max_n=DEPTH))
        expected.append(metric.residual_expected_utility - persistence**length)
    agree(ours, np.float32(expected))
