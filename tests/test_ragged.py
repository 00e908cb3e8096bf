"""Ids of any kind and ragged lists become arrays; ids of no list raise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from array_likes import Tensor

import jax_rank_metrics as jrm
from jax_rank_metrics._ground.inputs.padding import next_size

Y = np.array([0, 1, 1, 0, 0], np.float32)
S = np.array([0.9, 0.5, 0.7, 0.1, 0.2], np.float32)


A, B = 30_001, 7
IDS = {
    "list": [A, A, B, A, B],
    "strings": ["a", "a", "b", "a", "b"],
    "text": np.array(["a", "a", "b", "a", "b"]),
    "bytes": np.array([b"a", b"a", b"b", b"a", b"b"]),
    "column": Tensor(np.array(["a", "a", "b", "a", "b"], object)),
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
    assert packed.list_ids.tolist() == packed.ids.tolist()
    assert packed.ids.shape == (2,)


@pytest.mark.parametrize("kind", IDS)
def test_pack_by_a_vocabulary(kind):
    """Known ids keep their numbers, even if only some of them appear, in any order."""
    ids = IDS[kind].values if kind == "column" else IDS[kind]
    ids = ids.tolist() if hasattr(ids, "tolist") else ids
    train = jrm.pack([ids[2], ids[0], ids[2]])
    test = jrm.pack(ids[:2], known=train.ids)
    assert test.segment_ids.tolist() == [1, 1] and test.segment_ids.dtype == np.int32
    assert test.num_segments == 2 and test.ids.tolist() == train.ids.tolist()
    # Without a vocabulary, the same ids have other numbers.
    assert jrm.pack(ids[:2]).segment_ids.tolist() == [0, 0]
    assert jrm.pack(ids[:0], known=train.ids).num_segments == 2


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
    """Arrays keep their dtype; Python numbers get NumPy's dtype."""
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
    for lists, shape in (([[1]] * 5, (6, 1)), ([[1] * 17], (1, 24))):
        assert jrm.pad_lists(lists)[0].shape == shape
    assert jrm.pad_lists([])[0].shape == (1, 1)
    ids, _ = jrm.pad_lists([[5, 6], [7]], fill=-1)
    assert ids.tolist() == [[5, 6], [7, -1]]


def test_feature_vectors(rng):
    """Lists of vectors have an axis more than the mask, also if all lists are empty."""
    features = [rng.normal(size=(n, 5)).astype(np.float32) for n in (3, 0, 2)]
    labels = [[1, 0, 2], [], [0, 1]]
    array, padded, mask = jrm.pad_lists(features, labels, lists=4, fill=-1)
    assert array.shape == (4, 3, 5) and array.dtype == np.float32
    assert padded.shape == mask.shape == (4, 3)
    assert mask.sum(-1).tolist() == [3, 0, 2, 0]
    np.testing.assert_array_equal(array[mask], np.concatenate(features))
    assert (array[~mask] == -1).all()
    nested, _ = jrm.pad_lists([[[1, 2]], [], [[3, 4], [5, 6]]])
    assert nested.tolist() == [[[1, 2], [0, 0]], [[0, 0]] * 2, [[3, 4], [5, 6]]]
    empty, mask = jrm.pad_lists([np.zeros((0, 5)), []])
    assert empty.shape == (2, 1, 5) and not mask.any()
    large, _ = jrm.pad_lists([[], [2**60 + 1]])
    assert large[1, 0] == 2**60 + 1
