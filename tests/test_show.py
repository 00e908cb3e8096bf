"""The text of states and lists; indexing, groups, and numbers for json."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P
from per_lists import mean_of, stacked

import jax_rank_metrics as jrm

ONES, KNOWN = np.ones(3, np.float32), np.array([True, True, False])
LISTS = jrm.PerList(np.float32([1, 0.5, 0]), ONES, KNOWN)
CUTS = jrm.PerList(np.float32([[1, 1], [0, 0.5], [0, 0]]), ONES, KNOWN)


def text_of(value):
    """Returns its repr as without double precision."""
    return repr(value).replace("float64", "float32")


STATE, STATES = mean_of(LISTS), mean_of(CUTS)
STACKED, STACKED_CUTS = (
    stacked([mean_of(x[:2]), mean_of(x[2:])]) for x in (LISTS, CUTS)
)


@pytest.mark.parametrize(
    "value, text",
    [
        (STATE, "Mean(0.500 ± 0.289, 3 lists, 1 undefined)"),
        (STATES, "Mean([0.333, 0.500] ± [0.333, 0.289], 3 lists, 1 undefined)"),
        (STACKED, "Mean(stacked [2], float32[2])"),
        (STACKED_CUTS, "Mean(stacked [2], float32[2, 2])"),
        (jrm.Mean.empty(), "Mean(0.000 ± inf, 0 lists, 0 undefined)"),
        (jax.tree.map(np.asarray, STATE), "Mean(0.500 ± 0.289, 3 lists, 1 undefined)"),
        (
            jrm.PerList(-0 * ONES, ONES, KNOWN),
            "PerList(mean 0.000, 3 lists, 1 undefined)",
        ),
        (
            mean_of(jrm.PerList(LISTS.values, np.float32([4, 1, 1]), KNOWN)),
            "Mean(0.750 ± 0.300, 3 lists, n_eff 2, 1 undefined)",
        ),
        (LISTS, "PerList(mean 0.500, 3 lists, 1 undefined)"),
        (CUTS, "PerList([3, 2], mean [0.333, 0.500], 3 lists, 1 undefined)"),
        (LISTS[0], "PerList(mean 1.000, 1 list, 0 undefined)"),
        (
            mean_of(jrm.PerList(ONES / 3e4, ONES, KNOWN)),
            "Mean(3.33e-05 ± 0.000, 3 lists, 1 undefined)",
        ),
    ],
)
def test_numbers_are_shown(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3fn", "float64"])
def test_states_that_were_cast_are_shown(dtype):
    """Counts are among the leaves that a cast of all weights of a model makes floats."""
    cast = jax.tree.map(lambda x: np.asarray(x).astype(jnp.dtype(dtype)), STATE)
    assert repr(cast) == repr(STATE) and cast.compute() == 0.5


def test_many_cutoffs_are_not():
    text = repr(jrm.Mean.empty((100,)))
    assert "…" in text and len(text) < 200


def test_where_there_are_no_numbers():
    """Traces, shapes, donated arrays and placeholders of JAX have a repr too."""
    seen = []

    def see(lists):
        # A constant has its numbers also inside a trace.
        seen.extend(map(text_of, (lists, lists.mean(), STATE)))
        return lists.mean()

    jax.eval_shape(see, CUTS)
    jax.eval_shape(jax.vmap(see), CUTS)
    assert seen[:2] == ["PerList(traced, float32[3, 2])", "Mean(traced, float32[2])"]
    assert seen[2] == seen[5] == repr(STATE)
    assert seen[3] == "PerList(traced, float32[2])"
    shapes = jax.eval_shape(lambda x: x, (LISTS, STATE))
    assert text_of(shapes) == "(PerList(float32[3]), Mean(float32[]))"
    gone = jax.tree.map(jnp.array, (LISTS, STATE))
    for leaf in jax.tree.leaves(gone):
        leaf.delete()
    assert text_of(gone) == "(PerList(deleted, float32[3]), Mean(deleted, float32[]))"
    assert gone[1]._repr_html_() is None
    for leaf in (None, object(), "x", True, ..., P("data"), np.zeros(3)):
        for tree in (LISTS, STATE):
            broken = jax.tree.unflatten(jax.tree.structure(tree), [leaf] * 3)
            assert repr(leaf) in repr(broken)
    wrong = jax.tree.map(lambda x: x[0], STATE)
    assert "sums=" in repr(wrong) and wrong._repr_html_() is None


def test_an_error_of_the_mean_may_show_the_lists(monkeypatch):
    """Checkers of types do, which show the arguments that they refuse."""
    calls = []

    def mean(lists):
        calls.append(lists)
        raise TypeError(repr(lists))

    monkeypatch.setattr(jrm.PerList, "mean", mean)
    for _ in range(2):
        assert repr(LISTS).endswith("TypeError: PerList(float32[3]))")
    assert len(calls) == 2


def test_one_mean_is_a_float():
    assert float(STATE) == 0.5 and math.isclose(STATE, 0.5)
    assert (f"{STATE:.3f}", f"{STATE:8.1e}") == ("0.500", " 5.0e-01")
    assert f"{STATE}" == str(STATE) == repr(STATE)
    assert "<b>0.500</b> ± 0.289" in STATE._repr_html_()
    assert STACKED._repr_html_() is None


@pytest.mark.long
def test_indices_are_of_lists():
    wide = jax.tree.map(lambda x: jnp.stack([x, x]), CUTS)
    arrays = jnp.array([1, 0, 1]), jnp.array([True, False])
    for lists in (CUTS[:2], wide):
        places = np.arange(lists.weights.size).reshape(lists.weights.shape)
        tuples = [(1, slice(2)), (..., 0), (arrays[0], 2)] if lists is wide else [(1,)]
        for index in (-1, slice(1, None), [0, 1], [False, True], *arrays, *tuples):
            actual = lists[index]
            for name in ("values", "weights", "defined"):
                flat = getattr(lists, name)
                flat = flat.reshape(-1, *flat.shape[places.ndim :])
                np.testing.assert_array_equal(
                    getattr(actual, name), flat[places[index]]
                )
        assert len(lists) == 2 and len(lists[[]]) == 0
        for index in (2, -3, (0, 0, 0), [9], jnp.ones((3, 2), bool)):
            with pytest.raises(IndexError):
                lists[index]
        first, second = (part.values.tolist() for part in lists)
        assert [first, second] == lists.values.tolist()
    for wrong in (len, iter):
        with pytest.raises(TypeError):
            wrong(CUTS[0])


def test_indices_inside_a_trace():
    actual = jax.jit(lambda lists, index: lists[index])(CUTS, jnp.array([2, 0]))
    np.testing.assert_array_equal(actual.values, CUTS.values[jnp.array([2, 0])])
    # A pytree is what it was: no tree function walks along its lists.
    assert len(jax.tree.leaves(CUTS)) == 3
    assert jax.tree.structure((CUTS,)).num_nodes == 5


@pytest.mark.parametrize("undefined", ["zero", "one", "skip"])
def test_groups_are_means_of_their_lists(rng, undefined):
    values = rng.random((50, 60, 2)).astype(np.float32)
    weights = rng.random((50, 60)) * rng.integers(0, 2, (50, 60))
    weights, known = weights.astype(np.float32), rng.random((50, 60)) < 0.8
    groups = rng.integers(-2, 5, (50, 60))
    states = jrm.PerList(values, weights, known).by(groups, 3, undefined)
    means, errors = states.compute(), states.std_error()
    assert means.shape == (3, 2)

    def of(selected):
        return mean_of(jrm.PerList(values, selected, known, undefined))

    for group in range(3):
        selected = np.where(groups == group, weights, 0)
        state = of(selected)
        np.testing.assert_array_equal(states.counts[group], state.counts)
        np.testing.assert_allclose(means[group], state.compute(), rtol=1e-6)
        np.testing.assert_allclose(errors[group], state.std_error(), rtol=1e-5)
    selected = np.where((groups >= 0) & (groups < 3), weights, 0)
    np.testing.assert_allclose(
        states.reduce().compute(), of(selected).compute(), rtol=1e-6
    )


@pytest.mark.long
def test_values_remember_what_undefined_lists_count_for():
    """Everything that reads values takes their choice, unless it is passed another."""
    skip = dataclasses.replace(LISTS, undefined="skip")
    filled = dataclasses.replace(LISTS, undefined="one")
    assert skip.mean().lists == 2 and skip.mean().compute() == 0.75
    assert filled.mean().compute() == LISTS.mean("one").compute()
    assert skip.mean("zero").compute() == 0.5 and LISTS.mean("skip").compute() == 0.75
    assert jrm.mean({"a": skip, "b": LISTS})["a"].lists == 2
    assert jrm.mean({"a": skip}, "zero")["a"].lists == 3
    assert skip.geometric_mean().lists == skip.quantiles().lists == 2
    assert skip.by(jnp.zeros(3, int), 1).lists.tolist() == [2]
    assert repr(skip) == "PerList([3], mean 0.750, 2 lists, 1 undefined)"
    for part in (skip[:2], skip[jnp.array([0, 2])], *skip, jax.jit(lambda x: x)(skip)):
        assert part.undefined == "skip"


@pytest.mark.long
def test_groups_may_be_empty_bools_narrow_or_none():
    assert LISTS.by(KNOWN, 2).lists.tolist() == [1, 2]
    assert LISTS.by(np.array([0, 200, 255], np.uint8), 1000).lists[200] == 1
    assert LISTS.by(np.array([-1, 2, 99]), 2).lists.tolist() == [0, 0]
    assert LISTS[:0].by(jnp.zeros(0, int), 2).lists.tolist() == [0, 0]
    assert LISTS[0].by(1, 2).lists.tolist() == [0, 1]


@pytest.mark.long
def test_sums_of_groups_do_not_drift():
    """A single float would lose 5e-4 of the mean, and all of the error."""
    number = 100_000
    values = jnp.tile(jnp.array([1000.0, 1000.5]), number // 2)
    lists = jrm.PerList(values, jnp.ones(number), jnp.ones(number, bool))
    state = lists.by(jnp.zeros(number, int), 1)
    np.testing.assert_allclose(state.compute(), [1000.25], rtol=1e-7)
    np.testing.assert_allclose(state.std_error(), [0.25 / number**0.5], rtol=1e-4)
