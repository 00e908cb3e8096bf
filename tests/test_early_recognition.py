"""Early recognition with extreme numbers: long lists, tiny weights, and chance."""

import functools
import math

import numpy as np
import pytest

import jax_rank_metrics as jrm


def test_weights_beyond_floats():
    """The first rank is worth 1, also if e^(−α/n) is 0 as a float."""
    labels, scores = np.eye(3, dtype=np.int32), np.array([[3.0, 2.0, 1.0]] * 3)
    step = 321.9 / 3
    metrics = {
        x.__name__: functools.partial(x, alpha=321.9) for x in (jrm.rie, jrm.bedroc)
    }
    lists = jrm.measure(metrics, jrm.rank(labels, scores))
    worth = [math.exp(-step * rank) for rank in range(3)]
    np.testing.assert_allclose(lists["rie"].values, np.multiply(3, worth), atol=1e-6)
    np.testing.assert_allclose(lists["bedroc"].values, worth, atol=1e-6)


@pytest.mark.long
def test_long_lists(rng):
    """Places of many ranks, and single ones, in lists of 100,000 items."""
    labels = (rng.random((2, 100_000)) < 0.01).astype(np.int32)
    scores = rng.standard_normal(labels.shape).astype(np.float32)
    scores[1] = np.round(scores[1] * 20)
    results = jrm.evaluate(("rie", "bedroc", "logauc"), labels, scores)
    lists = jrm.measure(tuple(results), jrm.rank(labels, scores))
    for row in range(2):
        order = np.argsort(-scores[row], kind="stable")
        active = labels[row, order] == 1
        size, num_active = active.size, active.sum()
        ranks = np.arange(1, size + 1.0)
        decoys = np.minimum(np.cumsum(~active), size - num_active)
        share = np.maximum(decoys / (size - num_active), 1e-3)
        worth = {"rie": np.exp(-20 * ranks / size), "logauc": -np.log(share)}
        _, groups = np.unique(-scores[row, order], return_inverse=True)
        count = functools.partial(np.bincount, groups)
        rie = (count(worth["rie"]) / count() * count(active)).sum() / num_active
        assert lists["rie"].values[row] == pytest.approx(
            rie / worth["rie"].mean(), 1e-5
        )
        tops = worth["rie"][:num_active].mean(), worth["rie"][-num_active:].mean()
        assert lists["bedroc"].values[row] == pytest.approx(
            (rie - tops[1]) / (tops[0] - tops[1]), abs=1e-5
        )
        if row == 0:
            value = worth["logauc"][active].mean() / math.log(1000)
            assert lists["logauc"].values[row] == pytest.approx(value, abs=1e-5)
