"""Special cases of metrics of C/W/L: options, and long lists."""

import functools

import numpy as np
import oracle
import pytest

import jax_rank_metrics as jrm

VALUES = ("utility", "total_utility", "cost", "total_cost", "items")


@pytest.mark.parametrize(
    "items, max_rank",
    [(3, 150), pytest.param(400, 150, marks=pytest.mark.long)],  # read in three steps
)
def test_binary_gains_without_costs(items, max_rank, rng):
    """Relevant items gain 1 without `max_label`; items cost 1 without the column.

    Lists may be shorter than `max_rank` or longer.
    """
    labels = rng.integers(0, 4, (1, items)).astype(np.float32)
    labels[0, 0] = 3
    scores = -np.arange(items, dtype=np.float32)[None]
    metrics = {
        value: functools.partial(
            jrm.inst, value=value, max_rank=max_rank, relevance_threshold=2
        )
        for value in VALUES
    }
    results = jrm.measure(metrics, jrm.rank(labels, scores))
    [case] = oracle.lists(labels, scores)
    for value in VALUES:
        expected = oracle.browsing(
            case, case.ranked, None, oracle.inst, value, max_rank, threshold=2
        )
        np.testing.assert_allclose(results[value].values, [expected], rtol=1e-5)


def test_time_biased_gain_without_costs(rng):
    """It is then the mean over all orders of tied items, and reads one order with costs."""
    labels = rng.integers(0, 5, (6, 6)).astype(np.float32)
    scores = rng.integers(0, 3, labels.shape).astype(np.float32)
    ks, options = (2, None), {"half_life": 5, "max_rank": 9, "max_label": 4}
    lists = oracle.lists(labels, scores)
    for value in VALUES[:2]:
        results = jrm.time_biased_gain.per_list(
            labels, scores, ties="expected", value=value, k=ks, **options
        )
        chance = {"chance": oracle.time_biased_gain, "value": value}
        expected = oracle.values(
            oracle.browsing, lists, "expected", ks, **options, **chance
        )
        np.testing.assert_allclose(results.values, expected, rtol=1e-6, atol=1e-7)
    columns = {"costs": labels + 1}
    with pytest.raises(ValueError, match="time_biased_gain: ties is 'expected'"):
        jrm.time_biased_gain.per_list(labels, scores, ties="expected", columns=columns)
