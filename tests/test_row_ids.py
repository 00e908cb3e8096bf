"""Ids of any kind and frames of pairs give drivers what numbers and matrices give."""

import functools

import evaluations
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import jax_rank_metrics as jrm

USERS = ["u5", "u0", "u9", "u3"]
ITEMS = [f"item {i}" for i in (7, 2, 9, 4, 1, 8)]
# Numbers that are no rows, and whose order is another.
NUMBERS = {
    "strings": (USERS, ITEMS),
    "integers": ([50, 10, 90, 30], [7, 2, 9, 4, 1, 8]),
}
RELEVANT = {0: [3, 4], 1: [], 2: [5], 3: [1, 0]}
SEEN = {0: [1], 1: [2], 3: [2, 3]}
METRICS = ("recall@2", "mrr")


@pytest.fixture
def vectors(rng):
    return tuple(rng.standard_normal((n, 3), np.float32) for n in (4, 6))


def as_dict(users, items, pairs):
    return {users[user]: [items[i] for i in ids] for user, ids in pairs.items()}


def as_frame(users, items, pairs):
    rows = [(users[user], items[i]) for user, ids in pairs.items() for i in ids]
    return pd.DataFrame(rows, columns=["user", "item"])


def as_polars(users, items, pairs):
    return pl.DataFrame(as_frame(users, items, pairs).to_dict("list"))


def as_series(users, items, pairs):
    return pd.Series(as_dict(users, items, pairs))


def check_same(evaluation, reference, users, items):
    assert evaluation.list_ids.tolist() == [users[row] for row in reference.list_ids]
    ids = [[items[i] for i in row] for row in reference.retrieved_ids.tolist()]
    assert evaluation.retrieved_ids.tolist() == ids
    for name in METRICS:
        np.testing.assert_array_equal(
            evaluation.lists[name].values, reference.lists[name].values
        )


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("form", (as_dict, as_frame, as_polars, as_series))
def test_users(vectors, kind, form):
    check_users(vectors, form, *NUMBERS[kind])


def test_users_whose_ids_are_tuples(vectors):
    check_users(vectors, as_dict, *([*zip(x, x, strict=True)] for x in (USERS, ITEMS)))


def check_users(vectors, form, users, items):
    options = {"user_ids": users, "item_ids": items, "k": 2}
    relevant, seen = (form(users, items, x) for x in (RELEVANT, SEEN))
    chosen = [0, 2, 3]
    evaluate = functools.partial(jrm.evaluate_users, METRICS, vectors)
    reference = evaluate(RELEVANT, seen=SEEN, users=chosen, k=2)
    options["users"] = [users[i] for i in chosen]
    evaluation = evaluate(relevant, seen=seen, **options)
    check_same(evaluation, reference, users, items)
    groups = evaluation.by(dict.fromkeys(users, "all"))
    assert groups["all"]["mrr"].compute() == reference["mrr"].compute()


@pytest.mark.parametrize("kind", NUMBERS)
def test_frames_of_a_model(rng, vectors, kind):
    """Frames, masks and groups are read by ids, in any order."""
    users, items = NUMBERS[kind]
    rows, columns = rng.permutation(4), rng.permutation(6)
    mask, features = np.arange(6) != 2, rng.standard_normal((6, 2), np.float32)
    how = {"item_mask": mask, "list_weights": range(4)}
    how["item_columns"] = {"embeddings": features}
    metrics = (*METRICS, "intra_list_diversity@2")
    reference = jrm.evaluate_users(metrics, vectors, RELEVANT, **how)
    how = {
        "user_ids": users,
        "item_ids": np.array(items),
        "item_mask": pd.Series(mask, items).iloc[columns],
        "item_columns": {
            "embeddings": pd.DataFrame(features, index=items).iloc[columns]
        },
        "list_weights": {users[i]: i for i in range(4)},
    }
    frames = [
        pd.DataFrame(x, index=ids).iloc[order]
        for x, ids, order in zip(vectors, (users, items), (rows, columns), strict=True)
    ]
    scores = pd.DataFrame(vectors[0] @ vectors[1].T, users, items).iloc[rows, columns]
    for model in (tuple(frames), scores, lambda rows: vectors[0][rows] @ vectors[1].T):
        relevant = as_dict(users, items, RELEVANT)
        evaluation = jrm.evaluate_users(metrics, model, relevant, **how)
        check_same(evaluation, reference, users, items)
        for name in metrics[1:]:
            assert evaluation[name].compute() == reference[name].compute()


def test_queries(vectors):
    users, items = USERS, ITEMS
    evaluate = functools.partial(jrm.evaluate_embeddings, METRICS)
    options = {"similarity": "cosine", "k": 4}
    ids = {"query_ids": users, "item_ids": items}
    lists = {
        "relevant": RELEVANT,
        "candidates": {user: ids + [2] for user, ids in RELEVANT.items()},
        "exclude": SEEN,
    }
    reference = evaluate(*vectors, **lists, **options)
    by_ids = {name: as_dict(users, items, x) for name, x in lists.items()}
    evaluation = evaluate(*vectors, **by_ids, **ids, **options)
    assert evaluation.list_ids.tolist() == users
    rows = reference.retrieved_ids.tolist()
    shown = [[None if i < 0 else items[i] for i in row] for row in rows]
    assert evaluation.retrieved_ids.tolist() == shown and None in shown[1]
    assert reference.list_ids is None and reference.retrieved_ids.dtype == np.int32
    blocks = lambda: iter([vectors[1][:4], vectors[1][4:]])  # noqa: E731
    found = evaluate(vectors[0], blocks, by_ids["relevant"], **ids)
    expected = evaluate(*vectors, RELEVANT)
    assert found.retrieved_ids.tolist() == [
        [items[i] for i in row] for row in expected.retrieved_ids
    ]


# Frames with a row for each pair: the numbers of users and items, and metrics.
SHAPE, GRADED = (9, 12), ("ndcg@3", "recall@1,5")


@pytest.fixture(params=["pandas", "polars"])
def frame_of(request):
    """A function that makes a frame of one of the libraries."""
    return pytest.importorskip(request.param).DataFrame


@pytest.fixture
def model(rng):
    return tuple(rng.standard_normal((n, 3), np.float32) for n in SHAPE)


def frames_of(rng, frame_of, unit, matrices):
    """Frames of pairs in any order, in which some repeat; booleans have no label."""
    frames = {}
    for name, matrix in matrices.items():
        users, items = np.nonzero(matrix)
        repeated = rng.integers(0, len(users), 6)
        rows = rng.permutation(np.append(np.arange(len(users)), repeated))
        columns = {unit: users[rows], "item": items[rows]}
        if matrix.dtype != bool:
            columns["label"] = matrix[users, items][rows]
        frames[name] = frame_of(columns)
    return frames


def test_users_of_frames(rng, frame_of, model):
    """Labels, seen items, and users of whom a frame has only padding, or no row."""
    labels = rng.choice([0, 0, 1, 2], SHAPE)
    seen = (labels == 0) & (rng.random(labels.shape) < 0.3)
    labels[4], seen[5] = 0, False
    matrices = {"relevant": labels, "seen": seen}
    frames = frames_of(rng, frame_of, "user", matrices)
    matrices = {name: scipy.sparse.csr_array(x) for name, x in matrices.items()}
    evaluate = functools.partial(jrm.evaluate_users, GRADED, model)
    for users, how in (
        ([0, 1, 2, 3, 5, 6, 7, 8], {}),
        ([7, 4, 0], {"users": [7, 4, 0]}),
    ):
        actual = evaluate(**frames, **how)
        evaluations.check_same(actual, evaluate(**matrices, users=users))
        assert actual.users.tolist() == users
    padded = frame_of({"user": [4, 2, 2], "item": [-1, 5, -1]})
    found = jrm.evaluate_users("recall@12", model, padded)
    assert found.users.tolist() == [2, 4]
    assert found.lists["recall@12"].defined.tolist() == [True, False]


@pytest.mark.long
def test_queries_of_frames(rng, frame_of, model):
    """Relevant, excluded and candidate items are read; a query without a row has none."""
    labels = rng.choice([0, 0, 1, 2], SHAPE)
    candidates, excluded = (rng.random(labels.shape) < p for p in (0.6, 0.2))
    labels[3] = candidates[8] = excluded[0] = 0
    matrices = {"relevant": labels, "exclude": excluded, "candidates": candidates}
    frames = frames_of(rng, frame_of, "query", matrices)
    evaluate = functools.partial(jrm.evaluate_embeddings, GRADED, *model)
    for names in (["relevant", "exclude"], [*matrices]):
        sparse = {name: scipy.sparse.csr_array(matrices[name]) for name in names}
        actual = evaluate(**{name: frames[name] for name in names})
        evaluations.check_same(actual, evaluate(**sparse))


@pytest.mark.parametrize("ids", [[], [-1]])
def test_frames_without_items(frame_of, model, ids):
    """A frame of no pairs, or of padding alone, means queries without items."""
    frame = frame_of({"query": [0] * len(ids), "item": ids, "label": ids})
    with pytest.warns(UserWarning, match="undefined for every one of 9 queries"):
        result = jrm.evaluate_embeddings("recall@2", *model, frame)
    assert not result.lists["recall@2"].defined.any()
