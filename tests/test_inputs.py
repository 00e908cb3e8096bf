"""Accepted inputs: arrays of every kind and dtype, and numbers at their limits."""

import array
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from array_likes import Tensor, Variable
from marks import long_but

import jax_rank_metrics as jrm

X64 = jax.config.jax_enable_x64
Y = np.array([1, 0, 1], np.float32)
S = np.array([0.1, 0.2, 0.3], np.float32)


@pytest.mark.parametrize("dtype, number", [("int8", 128), ("uint8", 300)])
@pytest.mark.long
def test_narrow_segment_ids(dtype, number):
    """The number of lists may exceed the dtype of the segment ids."""
    ids = np.array([0, 0, 100], dtype)
    expected = jrm.ndcg(
        Y, S, segment_ids=ids.astype(np.int32), num_segments=101
    ).compute()

    def call(ids):
        return jrm.ndcg(Y, S, segment_ids=ids, num_segments=number)

    for state in (call(ids), call(jnp.asarray(ids)), jax.jit(call)(ids)):
        assert state.lists == 2
        np.testing.assert_allclose(state.compute(), expected, rtol=1e-6)


KINDS = {
    "array": np.asarray,
    "list": lambda x: x.tolist(),
    "tensor": Tensor,
    "variable": Variable,
    "memory": lambda x: memoryview(x),
    "column": lambda x: array.array("f", x.tolist()),
    "big-endian": lambda x: x.astype(">f4"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_every_kind(kind):
    """Anything that NumPy or JAX converts gives the values of an array."""
    labels, scores = KINDS[kind](Y), KINDS[kind](S)
    actual = jrm.ndcg(labels, scores, k=2).compute()
    expected = jrm.ndcg(jnp.asarray(Y), jnp.asarray(S), k=2).compute()
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


NAN = np.float32("nan")
PADDED = (  # labels, scores, mask, weights; masked entries are NaN
    np.array([[1, 0, NAN]]),
    np.array([[0.1, 0.2, NAN]], np.float32),
    np.array([[True, True, False]]),
    np.array([[1, 1, NAN]], np.float32),
)
# fmt: off
CALLS = {
    "rows": lambda y, s, m, w: jrm.ndcg(y, s, m, w, k=2),
    "lists": lambda y, s, m, w: jrm.precision(y.tolist(), s.tolist(), m.tolist(), k=2),
    "no label": lambda y, s, m, w: jrm.precision(y, s),
    "packed": lambda y, s, m, w: jrm.precision(*(jax.device_get(x)[0] for x in (y, s, m, w)), segment_ids=np.zeros(3, int), num_segments=1, k=2),
    "retrieved": lambda y, s, m, w: jrm.precision.of(jrm.rank_retrieved(y, m, w), k=2),
    "scores": lambda y, s, m, w: jrm.recall.of(jrm.rank_scores(s, [[1]], item_mask=m, k=2), k=2),
    "columns": lambda y, s, m, w: jrm.subtopic_recall(y, s, m, k=2, columns={"subtopics": np.stack([y, y], axis=-1)}),
}
# fmt: on


@pytest.mark.parametrize("kind", long_but(("rows", "packed"), CALLS))
def test_nan_that_is_masked_stops_no_debugger(kind):
    """`jax_debug_nans` stops at NaN that a program makes, not at arrays with it."""
    on_device = [jnp.asarray(x) for x in PADDED]
    with jax.debug_nans(True):
        CALLS[kind](*PADDED)
        CALLS[kind](*on_device)


class Unreadable:
    """Behaves like a torch tensor of bfloat16, which NumPy cannot read."""

    def __array__(self, dtype=None, copy=None):
        """Raises what torch raises."""
        raise TypeError("Got unsupported ScalarType BFloat16")


def test_a_tensor_that_numpy_cannot_read(monkeypatch):
    """The message shows the call that converts it."""
    torch = types.SimpleNamespace(Tensor=Unreadable)
    monkeypatch.setitem(sys.modules, "torch", torch)
    cure = r"labels: .*BFloat16.*pass labels\.detach\(\)\.float\(\)\.cpu\(\)"
    with pytest.raises(TypeError, match=cure):
        jrm.ndcg(Unreadable(), S)


LARGE = (
    *("recall(denominator=attainable)", "map(denominator=attainable)"),
    *("p", "f1", "ndcg", "mrr", "hr"),
)


@pytest.mark.long
@pytest.mark.parametrize("k, packed", [(2**31, True), (2**70, False)])
def test_a_cutoff_beyond_every_list(k, packed):
    """Such a cutoff means the whole list, however large the number is."""
    packing = {"segment_ids": np.zeros(3, int), "num_segments": 1} if packed else {}
    names = (*LARGE, *(f"{name}@{k}" for name in LARGE), f"p(denominator=k)@{k}")
    values = [*jrm.compute(jrm.evaluate(names, Y, S, **packing)).values()]
    *of_lists, of_k = values[: len(LARGE)], values[len(LARGE) : -1], values[-1]
    np.testing.assert_allclose(*of_lists, rtol=1e-6)
    np.testing.assert_allclose(of_k, 2 / min(k, 2**31), rtol=1e-6)


@pytest.mark.long
def test_what_was_made_with_x64_on():
    """Arrays and rankings can be read after x64 is off again, under jit and without."""
    with jax.enable_x64(True):
        labels, scores = jnp.asarray(Y, jnp.float64), jnp.asarray(S, jnp.float64)
        ids, wide_ids = jnp.array([5, 7]), jnp.array([2**40, 7])
        ranking = jrm.rank(labels, scores, k=2)
    names = ("dcg@2", "ap@1")
    with jax.enable_x64(False):
        expected = jrm.measure(names, jrm.rank(Y, S, k=2))
        for make in (
            lambda: jrm.rank(labels, scores, k=2),
            lambda: ranking,
            lambda: jax.tree.map(np.asarray, ranking),
        ):
            read = lambda make=make: jrm.measure(names, make())  # noqa: E731
            for name, lists in [*read().items(), *jax.jit(read)().items()]:
                assert lists.values.dtype == jnp.float32
                value = expected[name].values
                np.testing.assert_allclose(lists.values, value, rtol=1e-6)
        assert jrm.recall.of(jrm.rank_ids(ids, [5])).values == 1
        with pytest.raises(ValueError, match="retrieved_ids: .* do not fit int32"):
            jrm.rank_ids(wide_ids, [5])


def test_thresholds_are_compared_in_the_dtype_of_labels():
    """A label that was 0.7 reaches the threshold 0.7 in every dtype that rounds it."""
    all_labels = [np.array([0.7, 0], kind) for kind in ("f4", "f2", jnp.bfloat16)]

    @jax.jit
    def recalls(*all_labels_of_lists):
        return [
            jrm.recall.per_list(
                labels, S[:2], relevance_threshold=threshold, k=2
            ).values
            for labels, values in zip(all_labels_of_lists, all_labels, strict=True)
            for threshold in (0.7, float(values[0]), 0.71)
        ]

    assert np.stack(recalls(*all_labels)).tolist() == [1, 1, 0] * 3
    if X64:
        labels, scores = jnp.array([0.7, 0], jnp.float32), jnp.array([0.7, 0])
        assert jrm.recall(labels, scores, relevance_threshold=0.7).compute() == 1


@pytest.mark.long
def test_thresholds_of_every_source():
    """Rows, packed lists, places, rank order, ids, matrices of scores and catalogues."""
    labels, scores = (
        jnp.array([0.7, 0.0], jnp.bfloat16),
        np.array([2.0, 1.0], np.float32),
    )
    ids, vectors = np.arange(2), np.eye(2, dtype=np.float32)
    relax = jrm.sigmoid_ranks(0.01)
    rankings = {
        "rows": jrm.rank(labels, scores),
        "packed": jrm.rank(labels, scores, segment_ids=[0, 0], num_segments=1),
        "soft": jrm.rank(labels, scores, relax=relax),
        "places": jrm.rank_places(labels, [0, 1], [1, 1], num_retrieved=2),
        "in order": jrm.rank_retrieved(labels),
        "ids": jrm.rank_ids(ids, ids, labels),
        "scores": jrm.rank_scores(scores, ids, labels),
        "catalogue": jrm.rank_catalog(
            scores, vectors, ids, relevant_labels=labels, k=2
        ),
        "all of a catalogue": jrm.rank_catalog(
            scores, vectors, ids, relevant_labels=labels, k=None
        ),
    }
    for name, ranking in rankings.items():
        for metric in (jrm.recall, jrm.reciprocal_rank):
            values = metric.of(ranking, relevance_threshold=0.7).values
            assert np.ravel(values) == pytest.approx([1], abs=1e-3), (name, metric)
    auc = jrm.pooled_roc_auc(labels, scores, relevance_threshold=0.7)
    assert float(auc.compute()) == 1
    assert not jrm.check(labels[None], scores[None], relevance_threshold=0.7)


def test_limits_of_f_score():
    """F tends to precision for small beta, and to recall for large beta."""
    limits = {"1e-200": "p@1", "1e20": "r@1", "1e38": "r@1"}
    names = {f"f_score(beta={beta})@1": limit for beta, limit in limits.items()}
    values = jrm.compute(jrm.evaluate((*names, "p@1", "r@1"), Y, S), host=True)
    for name, limit in names.items():
        np.testing.assert_allclose(values[name], values[limit], rtol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8, float])
def test_options_of_every_kind_of_number(kind):
    """A number of NumPy is compared with limits that its dtype does not hold."""
    actual, expected = (jrm.rie(Y, S, alpha=alpha) for alpha in (kind(2), 2))
    assert actual.compute() == expected.compute()
