"""Ids of any kind in drivers give what the numbers of rows give."""

import functools

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
from jax.sharding import AxisType

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
    return rng.standard_normal((4, 3), np.float32), rng.standard_normal(
        (6, 3), np.float32
    )


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
    ids = [[items[i] for i in row] for row in reference.items.tolist()]
    assert evaluation.items.tolist() == ids
    for name in METRICS:
        np.testing.assert_array_equal(
            evaluation.lists[name].values, reference.lists[name].values
        )


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("form", (as_dict, as_frame, as_polars, as_series))
def test_users(vectors, kind, form):
    users, items = NUMBERS[kind]
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
    """Frames, masks and groups are read by ids, in whatever order they have them."""
    users, items = NUMBERS[kind]
    rows, columns = rng.permutation(4), rng.permutation(6)
    mask, features = np.arange(6) != 2, rng.standard_normal((6, 2), np.float32)
    how = {"item_mask": mask, "embeddings": features, "list_weights": range(4)}
    reference = jrm.evaluate_users(METRICS, vectors, RELEVANT, **how)
    how = {
        "user_ids": users,
        "item_ids": np.array(items),
        "item_mask": pd.Series(mask, items).iloc[columns],
        "embeddings": pd.DataFrame(features, index=items).iloc[columns],
        "list_weights": {users[i]: i for i in range(4)},
    }
    frames = [
        pd.DataFrame(x, index=ids).iloc[order]
        for x, ids, order in zip(vectors, (users, items), (rows, columns), strict=True)
    ]
    scores = pd.DataFrame(vectors[0] @ vectors[1].T, users, items).iloc[rows, columns]
    for model in (tuple(frames), scores, lambda rows: vectors[0][rows] @ vectors[1].T):
        relevant = as_dict(users, items, RELEVANT)
        evaluation = jrm.evaluate_users(METRICS, model, relevant, **how)
        check_same(evaluation, reference, users, items)
        for name in ("mrr", "intra_list_diversity@2"):
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
    rows = reference.items.tolist()
    shown = [[None if i < 0 else items[i] for i in row] for row in rows]
    assert evaluation.items.tolist() == shown and None in shown[1]
    assert reference.list_ids is None and reference.items.dtype == np.int32
    blocks = lambda: iter([vectors[1][:4], vectors[1][4:]])  # noqa: E731
    found = evaluate(vectors[0], blocks, by_ids["relevant"], **ids)
    expected = evaluate(*vectors, RELEVANT)
    assert found.items.tolist() == [[items[i] for i in row] for row in expected.items]


@pytest.mark.long
def test_a_mesh(vectors):
    """Items have their ids once they are gathered."""
    mesh = jax.make_mesh((2,), ("users",), axis_types=(AxisType.Auto,))
    options = {"user_ids": USERS, "item_ids": ITEMS}
    relevant = as_dict(USERS, ITEMS, RELEVANT)
    reference = jrm.evaluate_users(METRICS, vectors, relevant, **options)
    evaluation = jrm.evaluate_users(
        METRICS, vectors, relevant, mesh=mesh, queries_axis="users", **options
    )
    assert evaluation.items.tolist() == reference.items.tolist()


def test_names_of_packed_lists():
    packed = jrm.pack(["q7", "q7", "q3"])
    assert packed.list_ids.tolist() == packed.ids.tolist() == ["q7", "q3"]
