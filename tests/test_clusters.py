"""Lists joined to clusters: `PerList.cluster`."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from per_lists import MANY, drawn, exact, in_batches, lists_of, mean_of

import jax_rank_metrics as jrm
from jax_rank_metrics._values.on_host import HostSums


@pytest.mark.parametrize("undefined", [None, "zero", "one", "skip"])
@pytest.mark.parametrize("cutoffs", [False, True])
def test_means_of_clusters(rng, undefined, cutoffs):
    """The mean is the lists' mean, and its error the sandwich formula's, by cutoff."""
    lists = drawn(rng, (2,) if cutoffs else ())
    ids = rng.permutation(MANY) % 6
    joined = lists.cluster(ids, undefined)
    choice = undefined or "zero"
    plain = mean_of(dataclasses.replace(lists, undefined=choice)).compute()
    (*estimates,) = HostSums.of_lists(joined, jrm.Mean).estimates(0.9, "auto")
    np.testing.assert_allclose([x.mean for x in estimates], plain, rtol=1e-6)
    filled = np.where(lists.defined[:, None], lists.values.reshape(MANY, -1), 0)
    filled = np.where(lists.defined[:, None] | (undefined != "one"), filled, 1)
    weights = np.where(lists.defined | (undefined != "skip"), lists.weights, 0)
    for column in range(filled.shape[1]):
        mean, error, n = exact(filled[:, column], weights, ids)
        np.testing.assert_allclose(estimates[column].mean, mean, rtol=3e-7)
        np.testing.assert_allclose(estimates[column].std_error, error, rtol=1e-6)
        np.testing.assert_allclose(estimates[column].n_eff, n, rtol=1e-6)
    names = list(dict.fromkeys(ids.tolist()))
    assert len(joined) == len(names)
    assert estimates[0].lists == (joined.weights > 0).sum()
    assert jrm.pack(ids).ids.tolist() == names
    for index, name in enumerate(names):
        of_cluster = weights * (ids == name)
        expected = np.average(filled, axis=0, weights=of_cluster)
        np.testing.assert_allclose(
            np.atleast_1d(joined.values[index]), expected, rtol=1e-6
        )
        np.testing.assert_allclose(joined.weights[index], of_cluster.sum(), rtol=1e-6)


def test_clusters_of_a_ratio(rng):
    """A cluster of ratios is the ratio of its sums, with weights of each cutoff."""
    a, b = (lists_of(rng.random((MANY, 2)), rng.gamma(2, size=MANY)) for _ in "ab")
    b = jrm.PerList(np.where(b.values > 0.4, b.values, 0), a.weights, b.defined)
    ids = rng.permutation(MANY) % 15
    joined = a.over(b).cluster(ids)
    assert joined.cutoff_weights and joined.weights.shape == (15, 2)
    again = a.cluster(ids).over(b.cluster(ids))
    covered = np.where(b.values > 0, a.values, 0)
    again = jrm.PerList(covered, a.weights, a.defined).cluster(ids).over(b.cluster(ids))
    for x, y in zip(jax.tree.leaves(joined), jax.tree.leaves(again), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-6)


def test_ids_of_any_kind(rng):
    """Strings and arrays of any shape number the same clusters; test_ragged.py has others."""
    lists, ids = drawn(rng), rng.integers(0, 9, MANY)
    expected = lists.cluster(ids)
    named = [f"user {x}" for x in ids]
    for same in (named, jnp.asarray(ids)):
        np.testing.assert_array_equal(lists.cluster(same).values, expected.values)
    actual = in_batches(lists, 4).cluster(ids.reshape(4, 10))
    np.testing.assert_array_equal(actual.values, expected.values)
    assert lists[0].cluster("user 1").values.shape == (1,)
    # Arrays do not move: NumPy stays on the host, and JAX on a device.
    assert isinstance(expected.values, np.ndarray)
    on_device = jax.device_put(lists).cluster(ids)
    assert isinstance(on_device.values, jax.Array)
    np.testing.assert_array_equal(on_device.weights, expected.weights)
    assert {x.dtype.name for x in jax.tree.leaves(expected)} == {"float32", "bool"}


def test_lists_without_weight_join_nothing():
    """A cluster of them keeps its place, with the weight 0; its values do not count."""
    values = np.array([1.0, np.nan, 3.0, np.nan, 8.0])
    weights, defined = np.array([1.0, 0, 1, -1, 1]), np.array([1, 1, 1, 1, 0], bool)
    joined = jrm.PerList(values, weights, defined).cluster(list("aabbc"), "skip")
    assert joined.values.tolist() == [1, 3, 0] and joined.weights.tolist() == [1, 1, 0]
    assert joined.defined.tolist() == [True, True, False]
    assert joined.undefined == "skip" and mean_of(joined).lists == 2
    none = jrm.PerList(np.zeros(0), np.zeros(0), np.zeros(0, bool)).cluster([])
    assert len(none) == 0 and none.mean().compute() == 0
