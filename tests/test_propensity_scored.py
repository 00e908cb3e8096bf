"""Propensities of labels, and the lists of propensity-scored metrics."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

import jax_rank_metrics as jrm


def test_propensities_of_labels():
    """Each published setting, from the definition; NumPy in float64, JAX in its floats."""
    counts = np.array([[0, 1], [17, 40_000]])
    settings = {"default": (0.55, 1.5), "wikipedia": (0.5, 0.4), "amazon": (0.6, 2.6)}
    for setting, (a, b) in settings.items():
        scale = (np.log(50_000) - 1) * (b + 1) ** a
        expected = 1 / (1 + scale / (counts + b) ** a)
        propensities = jrm.label_propensities(counts, 50_000, setting=setting)
        assert isinstance(propensities, np.ndarray)
        assert propensities.dtype == np.float64
        np.testing.assert_allclose(propensities, expected, rtol=1e-14)
        by_constants = jrm.label_propensities(counts, 50_000, a=a, b=b)
        np.testing.assert_array_equal(by_constants, propensities)
    assert jrm.label_propensities([True, False], 100)[1] < 0.5
    on_device = functools.partial(
        jrm.label_propensities, num_points=50_000, setting="amazon"
    )
    traced = jax.jit(on_device)(jnp.asarray(counts, jnp.int32))
    np.testing.assert_allclose(traced, expected, rtol=1e-6)


def test_propensities_are_probabilities(rng):
    """Inverses of them raise for relevant items; inside jit they count as 1."""
    labels, scores = np.array([[0, 0], [1, 0]]), np.array([[2.0, 1.0]] * 2)
    large = np.array([[9, 9], [1.5, 9]])
    per_list = functools.partial(
        jrm.propensity_scored_recall.per_list, labels, scores, k=1
    )
    per_list(columns={"propensities": np.where(labels, 1 + 1e-7, large)})
    traced = jax.jit(lambda x: per_list(columns={"propensities": x}).weights)(large)
    np.testing.assert_array_equal(traced, [0, 1])


def test_lists_that_retrieved_nothing_count():
    """Their possible value weighs them, with a cutoff and without one."""
    labels = np.array([[1, 0, 1], [1, 0, 0]])
    columns = {"propensities": np.array([[0.5, 0.5, 0.1], [0.25, 1, 1]])}
    retrieved = np.array([[True] * 3, [False] * 3])
    ranking = jrm.rank(
        *(labels, -np.arange(6.0).reshape(2, 3)), retrieved=retrieved, columns=columns
    )
    lists = jrm.propensity_scored_precision.of(ranking, k=(3, None))
    np.testing.assert_allclose(lists.weights, [[4, 4], [4 / 3, 4 / 3]], rtol=1e-6)
    np.testing.assert_allclose(lists.mean().compute(), 3 / 4, rtol=1e-6)
