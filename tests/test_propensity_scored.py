"""Propensities of labels, and the lists and errors of propensity-scored metrics."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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


@pytest.mark.parametrize(
    "counts, options, error, message",
    [
        ([1.0, -1.0], {}, ValueError, r"-1.0 at \(1,\); .* from 0 to num_points"),
        ([np.nan], {}, ValueError, "from 0 to num_points"),
        ([10, 11], {}, ValueError, "11.0 at .*how many of the 10 training points"),
        (["a"], {}, TypeError, "pass numbers"),
        ([1], {"num_points": 2}, ValueError, "at least 3"),
        ([1], {"num_points": 2.5}, TypeError, "num_points"),
        ([1], {"setting": "eurlex"}, ValueError, "default, wikipedia, amazon"),
        ([1], {"a": 0}, ValueError, "a is 0"),
        ([1], {"b": -1.0}, ValueError, "b is -1"),
    ],
)
def test_errors_of_propensities(counts, options, error, message):
    with pytest.raises(error, match=message):
        jrm.label_propensities(counts, **{"num_points": 10} | options)


def test_propensities_are_probabilities(rng):
    """Inverses of them raise for relevant items; inside jit they count as 1."""
    labels, scores = np.array([[0, 0], [1, 0]]), np.array([[2.0, 1.0]] * 2)
    large = np.array([[9, 9], [1.5, 9]])
    run = functools.partial(jrm.propensity_scored_recall, labels, scores, k=1)
    with pytest.raises(
        ValueError, match=r"above 1 for a relevant item in list 1; pass"
    ):
        run(columns={"propensities": large})
    run(columns={"propensities": np.where(labels, 1 + 1e-7, large)})
    per_list = functools.partial(run.func.per_list, labels, scores, k=1)
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


def test_errors():
    labels, scores = np.ones(3), np.arange(3.0)
    with pytest.raises(ValueError, match="reads the column 'propensities'"):
        jrm.propensity_scored_recall(labels, scores)
    columns = {"propensities": np.ones((3, 2))}
    with pytest.raises(ValueError, match="one number for each item"):
        jrm.propensity_scored_precision(labels, scores, columns=columns)
