"""Ids of any kind and ragged lists become arrays; ids of no list raise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jax_rank_metrics as jrm
from jax_rank_metrics._inputs.pad import next_size

Y = np.array([0, 1, 1, 0, 0], np.float32)
S = np.array([0.9, 0.5, 0.7, 0.1, 0.2], np.float32)


class Column:
    """Behaves like a pandas column: an array of objects behind `__array__`."""

    def __init__(self, values):
        """Takes a list."""
        self.values = values

    def __array__(self, dtype=None, copy=None):
        """Returns the array that NumPy asks for."""
        return np.array(self.values, object)


A, B = 30_001, 7
IDS = {
    "list": [A, A, B, A, B],
    "strings": ["a", "a", "b", "a", "b"],
    "text": np.array(["a", "a", "b", "a", "b"]),
    "bytes": np.array([b"a", b"a", b"b", b"a", b"b"]),
    "column": Column(["a", "a", "b", "a", "b"]),
    "wide": np.array([2**62, 2**62, -5, 2**62, -5]),
    "unsigned": np.array([2**63, 2**63, 5, 2**63, 5], np.uint64),
    "any size": [2**80, 2**80, -(2**80), 2**80, -(2**80)],
    "floats": np.array([A, A, B, A, B], np.float32),
    "jax": jnp.array([A, A, B, A, B], jnp.int32),
    "both kinds": [1, 1, "1", 1, "1"],
    "pairs": [("x", 1), ("x", 1), ("y", 1), ("x", 1), ("y", 1)],
    "dates": np.array(["2024-05-01", "2024-05-01", "2023-01-01"] * 2, "M8[D]")[
        [0, 1, 2, 3, 2]
    ],
}


@pytest.mark.parametrize("kind", IDS)
def test_pack(kind):
    """Any ids are numbered in order of first appearance."""
    packed = jrm.pack(IDS[kind])
    assert packed.segment_ids.tolist() == [0, 0, 1, 0, 1]
    assert packed.segment_ids.dtype == np.int32
    assert packed.num_segments == 2 and type(packed.num_segments) is int
    ids = IDS[kind].values if kind == "column" else IDS[kind]
    assert [packed.ids[0], packed.ids[1]] == [ids[0], ids[2]]
    assert packed.ids.shape == (2,)


@pytest.mark.parametrize("kind", IDS)
def test_pack_by_a_vocabulary(kind):
    """Known ids keep their numbers, whichever of them appear and in whatever order."""
    ids = IDS[kind].values if kind == "column" else IDS[kind]
    ids = ids.tolist() if hasattr(ids, "tolist") else ids
    train = jrm.pack([ids[2], ids[0], ids[2]])
    test = jrm.pack(ids[:2], known=train.ids)
    assert test.segment_ids.tolist() == [1, 1] and test.segment_ids.dtype == np.int32
    assert test.num_segments == 2 and test.ids.tolist() == train.ids.tolist()
    # Without a vocabulary, the same ids have other numbers.
    assert jrm.pack(ids[:2]).segment_ids.tolist() == [0, 0]
    assert jrm.pack(ids[:0], known=train.ids).num_segments == 2


def test_ids_that_are_not_known():
    """An id that is not in the vocabulary, or twice, is named."""
    match = "query_ids is 'q9' at 1, which is not in known, as are 2 of 3 ids; pass the"
    with pytest.raises(ValueError, match=match):
        jrm.pack(["a", "q9", "b"], known=["a", "c"])
    with pytest.raises(ValueError, match="known holds 'a' more than once"):
        jrm.pack(["a"], known=["a", "c", "a"])


def test_packed_ids_measure_what_rows_do(rng):
    """Large ids, with the items of a list together, as in MSLR files."""
    lengths = rng.integers(1, 9, 40)
    query_ids = np.repeat(rng.choice(30_000, 40, replace=False), lengths)
    labels = rng.integers(0, 5, query_ids.size)
    scores = rng.normal(size=query_ids.size).astype(np.float32)
    packed = jrm.pack(query_ids)
    np.testing.assert_array_equal(packed.ids[packed.segment_ids], query_ids)
    flat = jrm.reciprocal_rank.per_list(
        labels,
        scores,
        segment_ids=packed.segment_ids,
        num_segments=packed.num_segments,
        k=5,
    )
    rows = [
        [x[query_ids == query_id] for query_id in packed.ids] for x in (labels, scores)
    ]
    padded = jrm.reciprocal_rank.per_list(*jrm.pad_lists(*rows, lists=40), k=5)
    np.testing.assert_allclose(flat.values, padded.values, atol=1e-6)


@pytest.mark.parametrize(
    "ids, error, text",
    [
        ([1, None], ValueError, "query_ids is None at 1; pass an id for every item"),
        ([1.0, np.nan, 2.0], ValueError, "query_ids is nan at 1"),
        (np.array([1, 1.5]), ValueError, "query_ids is 1.5 at 1; pass integers"),
        (np.float32([2**24]), ValueError, "below 16777216, where float32"),
        (np.ones((2, 3), int), ValueError, "query_ids has shape .2, 3.; pass one axis"),
        ([[1], [2]], TypeError, r"query_ids holds \[1\] at 0, which cannot be"),
    ],
)
def test_ids_that_are_none(ids, error, text):
    """The error names the id that is missing or ambiguous, and its index."""
    with pytest.raises(error, match=text):
        jrm.pack(ids)


def test_traced_arguments():
    """Both functions make shapes of values, and traced arrays have no values."""
    with pytest.raises(TypeError, match="query_ids is traced; call pack outside"):
        jax.jit(jrm.pack)(jnp.arange(3))
    with pytest.raises(TypeError, match="argument 1 is traced; call pad_lists outside"):
        jax.jit(lambda x: jrm.pad_lists([[1]], x))(jnp.ones((1, 1)))
    with pytest.raises(TypeError, match="list 1 of argument 0 is traced"):
        jax.jit(lambda x: jrm.pad_lists([[1], x]))(jnp.ones(2))
    with pytest.raises(TypeError, match="list 0 of argument 0 is traced"):
        jax.jit(lambda x: jrm.pad_lists([[x, x]]))(1.0)


KNOWN = {
    "array": np.array([0, 0, 2, 1, -1]),
    "list": [0, 0, 2, 1, -1],
    "jax": jnp.array([0, 0, 2, 1, -1], jnp.int32),
    "narrow": np.array([0, 0, 2, 1, -1], np.int8),
    "unsigned": np.array([0, 0, 2, 1, 0], np.uint32),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_ids_of_no_list_raise(kind):
    """They raise in every call that takes them, where their values are known."""
    options = {"segment_ids": KNOWN[kind], "num_segments": 2}
    for call in (jrm.rank, jrm.ndcg, jrm.recall.per_list):
        with pytest.raises(
            ValueError,
            match=r"segment_ids is 2 at \(2,\), but num_segments is 2; .*jrm.pack",
        ):
            call(Y, S, **options)
    with pytest.raises(ValueError, match="segment_ids is 2"):
        jrm.evaluate("map", Y, S, **options)
    with pytest.raises(ValueError, match="segment_ids is 2"):
        jax.jit(lambda y: jrm.ndcg(y, S, **options))(Y)  # closed over, and so known


def test_ids_of_queries_beyond_int32_raise():
    """The error says what to do instead of naming dtypes."""
    with pytest.raises(ValueError, match="segment_ids is 1099511627776 at .*jrm.pack"):
        jrm.ndcg(Y, S, segment_ids=np.array([0, 1, 2**40, 1, 0]), num_segments=2)


def test_traced_ids_of_no_list_are_masked():
    """Traced ids cannot raise, and so their items are masked."""
    ids = np.array([0, 0, 2, 1, 2**31 - 1], np.int32)

    def run(ids):
        return jrm.evaluate("mrr", Y, S, segment_ids=ids, num_segments=2)["mrr"]

    state = jax.jit(run)(ids)
    hidden = run(np.where(ids < 2, ids, -1))
    assert state.compute() == hidden.compute() == 0.25
    assert state.lists == hidden.lists == 2


def test_sizes():
    """There are at most two sizes per doubling, at most 1.5 times as large as needed."""
    sizes = [next_size(n) for n in range(1, 1000)]
    assert sizes[:9] == [1, 2, 3, 4, 6, 6, 8, 8, 12]
    assert sorted(set(sizes)) == sorted(
        {1, 2, *[m * 2**i for m in (2, 3) for i in range(10)]} - {3 * 2**9}
    )
    assert all(n <= size <= 1.5 * n for n, size in enumerate(sizes, 1))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "float64"])
def test_dtypes_stay(dtype):
    """Arrays keep their dtype; Python numbers get that of NumPy."""
    lists = [np.ones(2, dtype), np.ones(3, dtype)]
    array, mask = jrm.pad_lists(lists)
    assert array.dtype == dtype and array.shape == (2, 3) and mask.dtype == bool
    empty, _ = jrm.pad_lists([[], np.ones(2, dtype)])
    assert empty.dtype == dtype


def test_padding():
    """Lists come first, and padding after them."""
    first, second, mask = jrm.pad_lists(
        [[True], [], [False, True, True, True, True]],
        [np.array([7]), [], jnp.arange(5)],
        items=7,
        fill=0,
    )
    assert first.dtype == bool and second.dtype.kind == "i"
    assert first.tolist()[2] == [False, True, True, True, True, False, False]
    assert second.tolist()[0] == [7] + [0] * 6
    assert mask.sum(-1).tolist() == [1, 0, 5]
    assert jrm.pad_lists([[1], [2], [3], [4], [5]])[0].shape == (6, 1)
    assert jrm.pad_lists([])[0].shape == (1, 1)
    ids, _ = jrm.pad_lists([[5, 6], [7]], fill=-1)
    assert ids.tolist() == [[5, 6], [7, -1]]


@pytest.mark.parametrize(
    "args, options, error, text",
    [
        (
            ([[1], [1, 2]], [[1], [2]]),
            {},
            ValueError,
            "list 1 has 1 items in argument 1, but 2 in argument 0",
        ),
        (([[1]], [[1], [2]]), {}, ValueError, "argument 1 has 2 lists, .* 0 has 1"),
        (
            ([[1], [1, 2, 3]],),
            {"items": 2},
            ValueError,
            "items is 2, but list 1 has 3 items; pass items=3",
        ),
        (([[1], [1]],), {"lists": 1}, ValueError, "lists is 1, but there are 2 lists"),
        (([[1]],), {"items": 0}, ValueError, "items is 0; pass an int of at least 1"),
        (([1, 2],), {}, ValueError, r"list 0 of argument 0 has shape \(\)"),
        (([[1], [[1], [2, 3]]],), {}, ValueError, "list 1 of .* differ in length"),
        (([["a"]],), {}, TypeError, "list 0 of argument 0 is <U1; pass a list"),
        ((3,), {}, TypeError, "argument 0: got int; pass a sequence of lists"),
        ((), {}, ValueError, "pad_lists got no lists"),
        (([[True]],), {"fill": -1}, ValueError, "fill is -1, which bool cannot hold"),
        (
            ([[True, False], [True]],),
            {"fill": float("nan")},
            ValueError,
            "fill is nan, which bool cannot hold",
        ),
        (
            (np.ones((1, 1), np.uint8),),
            {"fill": -1},
            ValueError,
            "which uint8 cannot hold",
        ),
        (([[1]],), {"fill": "x"}, ValueError, "fill is 'x', which int64 cannot hold"),
    ],
)
def test_lists_that_cannot_be_padded(args, options, error, text):
    """The error names the list and the argument that differ."""
    with pytest.raises(error, match=text):
        jrm.pad_lists(*args, **options)


def draw(rng, lists, longest):
    """Draws ragged labels and scores."""
    lengths = rng.integers(1, longest + 1, lists)
    lengths[-1] = longest
    labels = [rng.integers(0, 3, n).astype(np.int32) for n in lengths]
    return labels, [rng.normal(size=n).astype(np.float32) for n in lengths]


def test_batches_compile_once(rng):
    """Batches of other lengths, and a smaller last one, share one shape and program."""
    batches = [draw(rng, 8, 21), draw(rng, 8, 23), draw(rng, 3, 17)]
    traced = []

    @jax.jit
    def run(*arrays):
        traced.append(arrays[0].shape)
        return jrm.evaluate(("hit_rate@2", "mrr"), *arrays)

    states = [run(*jrm.pad_lists(*batch, lists=8)) for batch in batches]
    assert traced == [(8, 24)]
    together = jrm.merge(*states)
    assert together["mrr"].lists == 19
    all_lists = [sum(lists, []) for lists in zip(*batches, strict=True)]
    *arrays, mask = jrm.pad_lists(*all_lists, items=23, lists=19)
    exact = jrm.evaluate(("hit_rate@2", "mrr"), *arrays, mask)
    for name, state in together.items():
        np.testing.assert_allclose(state.compute(), exact[name].compute(), atol=1e-6)
