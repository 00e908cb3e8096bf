"""Batches of queries, and their parts on devices: each query keeps its own data."""

import jax
import numpy as np
import pytest
from sources import make_mesh, put

import jax_rank_metrics as jrm

ROWS, ITEMS = 16, 40
USERS = np.array([9, 2, 15, 4, 0, 11, 7, 8, 3])  # five in the first half, four after it


@pytest.mark.long
def test_chosen_rows_of_a_global_table():
    """They keep their scores and judgements, and draw ties of their own."""
    # Each user has a favourite, below which all other items tie.
    scores = np.eye(ROWS, ITEMS, dtype=np.float32)
    relevant = {user: [user if user % 2 else ITEMS - 1] for user in range(ROWS)}
    evaluation = jrm.evaluate_users(
        "recall@1,4",  # deeper than the items that are returned
        put(make_mesh((2,), ("q",)), scores, "q"),
        relevant,
        users=USERS,
        k=3,
        batch_size=4,
        ties="random",
        key=jax.random.key(0),
    )
    np.testing.assert_array_equal(evaluation.retrieved_ids[:, 0], USERS)
    np.testing.assert_array_equal(
        evaluation.lists["recall@1,4"].values[:, 0], USERS % 2
    )
    orders = {tuple(row) for row in evaluation.retrieved_ids[:, 1:].tolist()}
    assert len(orders) == USERS.size
    assert evaluation.states["recall@1,4"].lists == USERS.size
    np.testing.assert_array_equal(evaluation.exposure.tally, [USERS.size, 0, 0])


def test_chosen_users_of_a_function():
    """They have their own scores and judgements, in one call, in parts, and in totals."""
    users, scores = np.array([7, 2, 5, 0, 3]), np.eye(9, 12, dtype=np.float32)
    relevant = {user: [user] for user in (8, 7, 5, 2)}
    calls = []

    def model(rows):
        calls.append(rows.tolist())
        return scores[rows]

    def evaluate(users, **options):
        return jrm.evaluate_users(
            "recall@1", model, relevant, users=users, batch_size=2, **options
        )

    whole = evaluate(users)
    assert calls == [[7, 2], [5, 0], [3, 3]]
    parts = evaluate(users[:2]), evaluate(users[2:])
    for evaluation in (whole, parts[0].merge(parts[1])):
        np.testing.assert_array_equal(evaluation.users, users)
        np.testing.assert_array_equal(evaluation.retrieved_ids[:, 0], users)
        lists = evaluation.lists["recall@1"]
        assert lists.defined.tolist() == [True, True, True, False, False]
        assert lists.values.tolist() == [1, 1, 1, 0, 0]
        np.testing.assert_array_equal(evaluation.exposure.tally, [users.size, 0, 0])
    totals = evaluate(users, keep_lists=False)
    assert not totals.lists and totals.retrieved_ids.shape == (0, 1)
    assert str(totals) == str(whole)
    for actual, expected in zip(
        jax.tree.leaves((totals.states, totals.exposure)),
        jax.tree.leaves((whole.states, whole.exposure)),
        strict=True,
    ):
        np.testing.assert_array_equal(actual, expected)
    scores[5] = np.nan
    with pytest.raises(ValueError, match="user 5 hold nan"):
        evaluate(users)
