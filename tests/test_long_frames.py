"""A frame with a row for each pair gives what lists and sparse matrices of it give."""

import numpy as np
import pytest
import scipy.sparse
from evaluations import check_same

import jax_rank_metrics as jrm

USERS, ITEMS, DIMS = 9, 12, 3
METRICS = ("ndcg@3", "recall@1,5")


@pytest.fixture(params=["pandas", "polars"])
def frame_of(request):
    """A function that makes a frame of one of the libraries."""
    return pytest.importorskip(request.param).DataFrame


@pytest.fixture
def model(rng):
    return tuple(rng.normal(size=(n, DIMS)).astype(np.float32) for n in (USERS, ITEMS))


def pairs_of(rng, matrix, names=("user", "item", "label")):
    """The columns of a frame in any order, in which some pairs repeat."""
    users, items = np.nonzero(matrix)
    rows = rng.permutation(np.tile(np.arange(len(users)), 2))[: len(users) + 3]
    rows = np.union1d(rows, np.arange(len(users)))
    rows = rng.permutation(np.append(rows, rows[:3]))
    columns = users[rows], items[rows], matrix[users, items][rows]
    return dict(zip(names, columns, strict=False))


def test_users(rng, frame_of, model):
    """Labels, seen items, and users of whom a frame has only padding, or no row."""
    labels = rng.choice([0, 0, 1, 2], (USERS, ITEMS))
    seen = (labels == 0) & (rng.random(labels.shape) < 0.3)
    labels[4], seen[5] = 0, False
    frames = {
        "relevant": frame_of(pairs_of(rng, labels)),
        "seen": frame_of(pairs_of(rng, seen, ("user", "item"))),
    }
    matrices = {
        "relevant": scipy.sparse.csr_array(labels),
        "seen": scipy.sparse.csr_array(seen),
    }
    users = np.delete(np.arange(USERS), 4)
    actual = jrm.evaluate_users(METRICS, model, **frames)
    check_same(actual, jrm.evaluate_users(METRICS, model, **matrices, users=users))
    assert actual.users.tolist() == users.tolist()
    users = np.array([7, 4, 0])
    check_same(
        jrm.evaluate_users(METRICS, model, **frames, users=users),
        jrm.evaluate_users(METRICS, model, **matrices, users=users),
    )
    padded = frame_of({"user": [4, 2, 2], "item": [-1, 5, -1]})
    found = jrm.evaluate_users("recall@12", model, padded)
    assert found.users.tolist() == [2, 4]
    assert found.lists["recall@12"].defined.tolist() == [True, False]


@pytest.mark.long
def test_queries(rng, frame_of, model):
    """What is relevant, excluded and a candidate; a query without a row has nothing."""
    labels = rng.choice([0, 0, 1, 2], (USERS, ITEMS))
    candidates, excluded = (rng.random(labels.shape) < p for p in (0.6, 0.2))
    labels[3] = candidates[8] = excluded[0] = 0
    matrices = {"relevant": labels, "candidates": candidates, "exclude": excluded}
    frames = {
        name: frame_of(
            pairs_of(rng, x, ("query", "item", "label")[: 3 if x is labels else 2])
        )
        for name, x in matrices.items()
    }
    matrices = {name: scipy.sparse.csr_array(x) for name, x in matrices.items()}
    for names in (["relevant", "exclude"], [*matrices]):
        check_same(
            jrm.evaluate_embeddings(METRICS, *model, **{x: frames[x] for x in names}),
            jrm.evaluate_embeddings(METRICS, *model, **{x: matrices[x] for x in names}),
        )


@pytest.mark.parametrize("ids", [[], [-1]])
def test_frames_without_items(frame_of, model, ids):
    """A frame of no pairs, or of padding alone, is that of queries without items."""
    frame = frame_of({"query": [0] * len(ids), "item": ids, "label": ids})
    with pytest.warns(UserWarning, match="undefined for every one of 9 queries"):
        result = jrm.evaluate_embeddings("recall@2", *model, frame)
    assert not result.lists["recall@2"].defined.any()
