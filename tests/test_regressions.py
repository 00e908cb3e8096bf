"""Defects that were found once, and must not come back."""

import jax.numpy as jnp
import numpy as np

import jax_rank_metrics as jrm


def test_gains_need_no_pool():
    """cg and dcg are sums over retrieved items; only ndcg reads the pool."""
    ranking = jrm.rank_retrieved(
        jnp.array([[1, 0, 2], [0, -1, 1]]), num_relevant=[4, 0]
    )
    results = jrm.measure(("cg@2", "cg", "dcg"), ranking)
    assert results["cg@2"].values.tolist() == [1, 1]
    assert results["cg"].values.tolist() == [3, 1]
    np.testing.assert_allclose(
        results["dcg"].values, [1 + 3 / 2, 1 / np.log2(3)], rtol=1e-6
    )


WEIGHTED_METRICS = ("ndcg", "map", "ndcg(gain_fn=linear_gain)", "dcg", "cg")


def weighted_values(labels, weights):
    """Returns the values of two lists whose items have weights."""
    scores = np.array([[1, 2, 3, 4], [2, 1, 4, 3]], np.float32)
    ranking = jrm.rank(labels, scores, weights=weights.astype(np.float32))
    return {
        name: x.values for name, x in jrm.measure(WEIGHTED_METRICS, ranking).items()
    }


def test_weights_near_the_largest_float():
    """The scale of item weights cancels, up to the largest float."""
    weights = np.array([[1, 2, 1, 3], [4, 4, 4, 4]], np.float32)
    usual = np.array([[2, 1, 0, 1], [0, 3, 0, 1]], np.float32)
    large = np.array([[2, 1, 0, 1], [127, 0, 1, 0]], np.float32)
    for labels, scales in ((usual, (8.5e37, 1e12, 1e-12)), (large, (1e12, 1, 1e-12))):
        expected = weighted_values(labels, weights / 4)
        for scale in scales:
            for name, results in weighted_values(labels, weights * scale).items():
                assert np.isfinite(results).all(), (name, scale, results)
                np.testing.assert_allclose(
                    results, expected[name], rtol=1e-5, err_msg=f"{name} {scale}"
                )
    # The second list's weights are equal, so they cancel.
    exact = 2.0**127 / np.log2(4) + 1 / np.log2(2)
    np.testing.assert_allclose(expected["dcg"][1], exact, rtol=1e-6)
    first = [1 * 2, 2 * 1, 3 * 1]
    np.testing.assert_allclose(
        expected["cg"][0], sum(first) / (sum(first) / 4), rtol=1e-6
    )
    # Values are above 0, and never NaN, if gains and weights are both the largest.
    for name, values in weighted_values(large, np.full(large.shape, 3e38)).items():
        assert not np.isnan(values).any(), (name, values)
        assert (values > 0).all(), (name, values)
