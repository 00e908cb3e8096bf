"""Scores of training seeds against rliable."""

import jax
import numpy as np
import pytest
from late_imports import LateImport

import jax_rank_metrics as jrm
from jax_rank_metrics._verdicts.inference.resample import draws_of_seeds

stats = LateImport("scipy.stats")

SAMPLES = 4000


@pytest.mark.filterwarnings("ignore:3 seeds hardly")
@pytest.mark.parametrize(
    "counts",
    [(3, 3), *(pytest.param(x, marks=pytest.mark.long) for x in ((5, 8), (12, 10)))],
)
def test_scores_of_seeds(rng, counts, recorded):
    """Interquartile means, probabilities and their intervals equal rliable's."""
    a, b = (rng.normal(size=(seeds, 1)) + rng.normal(size=7) for seeds in counts)
    b[1] = a[2]  # a tie
    result = jrm.compare(jrm.Seeds(a), jrm.Seeds(b), samples=SAMPLES).only.seeds
    scores = a.mean(1), b.mean(1)

    def by_rliable(a, b):
        # Its module `library`, of bootstrap intervals, needs arch, which fails with pandas 3.
        from rliable import metrics

        columns = a[:, None], b[:, None]  # rliable's [runs, tasks]
        middle = [metrics.aggregate_iqm(x) for x in columns]
        return [*middle, metrics.probability_of_improvement(columns[1], columns[0])]

    theirs = recorded("seeds", by_rliable, *scores)
    ours = [x.value for x in (result.iqm_a, result.iqm_b, result.b_beats_a)]
    assert ours == pytest.approx(theirs)
    # The percentile interval of its stratified bootstrap over runs, on the same draws.
    keys = jax.random.split(jax.random.key(0))
    drawn = [
        [np.repeat(x, counts) for counts in draws_of_seeds(len(x), SAMPLES, key)]
        for x, key in zip(scores, keys, strict=True)
    ]
    iqms = stats.trim_mean(np.array(drawn[0]), 0.25, axis=1)
    assert result.iqm_a[1:] == pytest.approx(np.percentile(iqms, [2.5, 97.5]))
    wins = [
        stats.mannwhitneyu(y, x).statistic / (len(x) * len(y))
        for x, y in zip(*(side[:200] for side in drawn), strict=True)
    ]
    pairs = [
        (y[None] > x[:, None]).mean() + (y[None] == x[:, None]).mean() / 2
        for x, y in zip(*drawn, strict=True)
    ]
    assert wins == pytest.approx(pairs[:200])
    assert result.b_beats_a[1:] == pytest.approx(np.percentile(pairs, [2.5, 97.5]))
