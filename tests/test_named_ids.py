"""The same ids in any form give drivers the same results as rows, and no id is lost."""

import datetime
import functools
import uuid

import evaluations
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from marks import long, long_but

import jax_rank_metrics as jrm
from jax_rank_metrics._ground import inputs

# In sorted order, so that every form names the same rows.
DAYS = [datetime.date(2024, 1, day) for day in range(1, 7)]
TIMES = [datetime.datetime(2024, 1, day, 12) for day in range(1, 7)]
ZONED = pd.DatetimeIndex(TIMES, tz="Europe/Berlin")
NEGATIVE = [-6767878415016412069, -5, -1, 0, 7, 2**63 - 1]
FORMS = {
    "integers": [7, 2, 9, 4, 1, 8],
    "numpy": np.array([7, 2, 9, 4, 1, 8]),
    **{name: np.array([7, 2, 9, 4, 1, 200], name) for name in ("uint8", "uint64")},
    "nullable": pd.array([7, 2, 9, 4, 1, 8], "UInt64"),
    "negative": NEGATIVE,
    "negative array": np.array(NEGATIVE),
    "large": [2**63, 2**63 + 1, 2**64 - 1, -5, -1, 3],
    "large array": np.array([2**63, 2**63 + 1, 2**64 - 1, 5, 1, 3], np.uint64),
    "strings": [*"zaybxc"],
    "bytes": np.array([*"zaybxc"], "S"),
    "tuples": [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "a"), (3, "b")],
    "uuids": [uuid.UUID(int=i) for i in range(6)],
    "dates": DAYS,
    "days": np.array(DAYS, "M8[D]"),
    "nanoseconds": np.array(TIMES, "M8[ns]"),
    "times": pd.Series(TIMES),
    "zoned": ZONED,
    "polars": pl.Series(TIMES),
    "categories": pd.Categorical([*"zaybxc"]),
}
SOME = (
    "integers",
    "uint64",
    "nullable",
    "negative",
    "large",
    "tuples",
    "days",
    "zoned",
)
RELEVANT, SEEN = {0: [3, 4], 1: [], 2: [5, 2], 3: [1, 0]}, {0: [1], 2: [2], 3: [2, 3]}
CANDIDATES = {0: [3, 1, 0], 1: [2], 2: [5, 2, 4], 3: [0, 3, 4]}
METRICS = ("recall@2", "ndcg@3")


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(3)
    return tuple(rng.standard_normal((n, 3), np.float32) for n in (4, 6))


def named(ids, pairs, kind=list):
    return {user: kind([ids[i] for i in items]) for user, items in pairs.items()}


def as_frame(ids, pairs):
    rows = [(user, ids[i]) for user, items in pairs.items() for i in items]
    return pd.DataFrame(rows, columns=["user", "item"])


def as_array(ids, pairs):
    """Returns one padded array of all users, for ids that are integers."""
    width, ids = max(map(len, pairs.values())), np.asarray(ids)
    padding = np.full(width, -1, object if ids.dtype == np.uint64 else ids.dtype)
    rows = [[*ids[items], *padding][:width] for items in pairs.values()]
    return np.array(rows, padding.dtype)


@pytest.fixture(scope="module")
def by_rows(vectors):
    how = {"users": range(4), "seen": SEEN, "k": 3}
    return jrm.evaluate_users(METRICS, vectors, RELEVANT, **how)


def check_same(evaluation, reference, keys):
    """Checks that values are equal, and that the ids shown are the ids of the rows."""
    none = None if evaluation.retrieved_ids.dtype == object else -1
    rows = reference.retrieved_ids.tolist()
    shown = [[none if i < 0 else keys[i] for i in row] for row in rows]
    assert evaluation.retrieved_ids.tolist() == shown
    for name in METRICS:
        expected = reference.lists[name].values
        np.testing.assert_array_equal(evaluation.lists[name].values, expected)


@pytest.mark.parametrize("form", long_but(SOME, FORMS))
def test_forms_of_items(vectors, by_rows, form):
    """Each id is found, whatever it is, in lists, Series and frames."""
    ids = FORMS[form]
    keys = ids.to_list() if hasattr(ids, "to_list") else [*ids]
    how = {"users": range(4), "item_ids": ids, "k": 3}
    for make in (named, as_frame, lambda *args: pd.Series(named(*args))):
        relevant, seen = make(keys, RELEVANT), make(keys, SEEN)
        evaluation = jrm.evaluate_users(METRICS, vectors, relevant, seen=seen, **how)
        check_same(evaluation, by_rows, inputs.keys_of(ids))


def test_labels_beside_ids(vectors):
    """Dicts of labels and pairs are what a frame of them is, for both drivers."""
    users, ids = [*"pqrs"], FORMS["strings"]
    graded = {"p": {"y": 2.0, "b": 1.0}, "q": {}, "r": {"c": 0.0, "z": 3.0}}
    rows = [(u, item, label) for u in graded for item, label in graded[u].items()]
    frame = pd.DataFrame(rows, columns=["user", "item", "label"])
    how = {"item_ids": ids, "k": 3}
    call = functools.partial(
        jrm.evaluate_users, METRICS, vectors, user_ids=users, seen={"p": ["a"]}, **how
    )
    expected = call(frame, users=["p", "q", "r"])
    with pytest.raises(ValueError, match="groups is None at q"):
        expected.by({"p": 1, "q": None, "r": 2})
    as_pairs = {user: [*of_user.items()] for user, of_user in graded.items()}
    for form in (graded, as_pairs, pd.Series(graded)):
        evaluations.check_same(call(form), expected)
    rows = [*graded.values(), {}]
    for form in (graded, rows, [[*of_user.items()] for of_user in rows]):
        found = jrm.evaluate_embeddings(
            *(METRICS, *vectors, form),
            **{"exclude": {"p": ["a"]}, "query_ids": users, **how},
        )
        values = [found.lists[name].values[:3] for name in METRICS]
        wanted = [expected.lists[name].values for name in METRICS]
        np.testing.assert_array_equal(values, wanted)


@pytest.mark.parametrize("form", ["integers", "uint64"])
def test_arrays_of_items(vectors, by_rows, form):
    """Arrays of integers are padded with −1, and one of JAX is no other."""
    ids = FORMS[form]
    relevant, seen = as_array(ids, RELEVANT), as_array(ids, {1: [], **SEEN})
    seen = seen[[1, 0, 2, 3]]
    kind = np.asarray if form == "uint64" else jnp.asarray
    evaluation = jrm.evaluate_users(
        METRICS, vectors, kind(relevant), seen=kind(seen), item_ids=ids, k=3
    )
    check_same(evaluation, by_rows, np.asarray(ids).tolist())


@pytest.mark.parametrize("form", ["uint64", "negative", "strings", "tuples", "zoned"])
def test_forms_of_users(vectors, by_rows, form):
    """Users may have any form, too, and weights and chosen users any order."""
    ids = FORMS[form][:4]
    keys = ids.to_list() if hasattr(ids, "to_list") else [*ids]
    of_users = [{keys[user]: x[user] for user in x} for x in (RELEVANT, SEEN)]
    evaluation = jrm.evaluate_users(
        *(METRICS, vectors, of_users[0]),
        **{"seen": of_users[1], "users": keys[::-1], "user_ids": ids, "k": 3},
        list_weights={user: 1 for user in keys},
    )
    reference = by_rows
    np.testing.assert_array_equal(
        evaluation.retrieved_ids[::-1], reference.retrieved_ids
    )
    assert evaluation.list_ids.tolist() == keys[::-1]
    np.testing.assert_array_equal(
        evaluation.lists["ndcg@3"].values[::-1], reference.lists["ndcg@3"].values
    )


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_what_ids_name(vectors, form):
    """Weights, masks, groups, values and ranked lists meet by ids of any form."""
    every, how = FORMS[form], {"candidates": CANDIDATES, "k": 3}
    by_candidates = jrm.evaluate_users(METRICS, vectors, RELEVANT, **how)
    keys = every.to_list() if hasattr(every, "to_list") else [*every]
    ids, users = every[:4], keys[:4]
    rows = dict(zip(users, named(keys, RELEVANT).values(), strict=True))
    call = functools.partial(jrm.evaluate_users, "mrr@3", vectors)
    how = {"candidates": named(keys, CANDIDATES), "item_ids": every, "k": 3}
    found = jrm.evaluate_users(METRICS, vectors, named(keys, RELEVANT), **how)
    check_same(found, by_candidates, inputs.keys_of(every))
    weights, mask = [1.0, 2.0, 3.0, 0.5], [True, False, True, True, True, True]
    expected = call(RELEVANT, list_weights=weights, item_mask=mask)
    groups = expected.by([*"xyxy"])
    column = pd.Series([*users[::-1]], dtype=object)
    for make in (
        lambda values: dict(zip(users[::-1], values[::-1], strict=True)),
        lambda values: pd.Series(values[::-1], pd.Index(column, tupleize_cols=False)),
        lambda values: pd.DataFrame({"user": column, "value": values[::-1]}),
    ):
        of_items = dict(zip(keys[::-1], mask[::-1], strict=True))
        how = {"user_ids": ids, "item_ids": every, "item_mask": of_items}
        found = call(rows, list_weights=make(weights), **how)
        for name in ("values", "weights"):
            of_lists = (getattr(x.lists["mrr@3"], name) for x in (found, expected))
            np.testing.assert_array_equal(*of_lists)
        for group, states in found.by(make([*"xyxy"])).items():
            value = groups[group]["mrr@3"].compute()
            assert states["mrr@3"].compute() == value
        other = call(
            dict(zip(users[::-1], [*rows.values()][::-1], strict=True)),
            **{**how, "users": users[::-1], "list_weights": weights[::-1]},
        )
        [comparison] = jrm.compare({"a": found, "b": other})
        assert comparison.difference == 0
    values = np.arange(4.0)
    [comparison] = jrm.compare(values, values[::-1], ids=(ids, users[::-1]))
    assert comparison.difference == 0
    if -1 not in keys and not isinstance(keys[0], tuple):
        lists = named(keys, {0: [0, 1, 2], 1: [3, 4]}), named(keys, {1: [3, 5], 0: [1]})
        recall = jrm.recall.of(jrm.rank_ids(*lists), k=2).values
        np.testing.assert_array_equal(recall, [1, 0.5])


@pytest.mark.parametrize("stranger", [-8, 3, "7", (7,), None, 2**70, -1.5])
@pytest.mark.parametrize("name", ["relevant", "seen", "candidates"])
def test_strangers(vectors, stranger, name):
    """An id that is no item raises, and −1 alone is padding, unless it is an item."""
    how = {"relevant": [[7], [], [], []], "item_ids": [7, -5, 2, 9, 4, 1]}
    how[name] = [[7, stranger], [-1], [-1, -5], []]
    with pytest.raises(ValueError, match=f"{name} of user 0 holds .*not in item_ids"):
        jrm.evaluate_users(METRICS, vectors, **how)


@pytest.mark.parametrize(
    "kind", [None, np.nan, pd.NA, pd.NaT], ids=["None", "nan", "NA", "NaT"]
)
def test_missing_lists(vectors, kind):
    """They are empty, with a remark that says what that means."""
    ids, users = FORMS["strings"], [*"pqrs"]
    relevant = dict(zip(users, named(ids, RELEVANT).values(), strict=True))
    how = {"user_ids": users, "item_ids": ids, "k": 3, "seen": {"p": ["a"]}}
    expected = jrm.evaluate_users(METRICS, vectors, relevant, **how)
    relevant["q"] = kind
    for form in (relevant, pd.Series(relevant, dtype=object), [*relevant.values()]):
        with pytest.warns(UserWarning, match="user q; .*undefined= decides how these"):
            found = jrm.evaluate_users(METRICS, vectors, form, **how)
        evaluations.check_same(found, expected)
    with pytest.warns(UserWarning, match="exclude holds .* query 1; .*exclude nothing"):
        jrm.evaluate_embeddings(
            METRICS, *vectors, [[0]] * 4, exclude=[[1], kind, [], []], k=3
        )


@pytest.mark.long
def test_own_items():
    """A query leaves its own list by name if all queries are items, else by position."""
    gallery, rows = np.eye(4, dtype=np.float32), [2, 0, 3]
    call = functools.partial(
        jrm.evaluate_embeddings, "recall@1", exclude_self=True, k=4
    )
    found = call(
        *(gallery[rows], gallery, [["a"]] * 3), query_ids=[*"cad"], item_ids=[*"abcd"]
    )
    assert [row[-1] for row in found.retrieved_ids.tolist()] == [None] * 3
    own = zip("cad", found.retrieved_ids.tolist(), strict=True)
    assert not any(query in row for query, row in own)
    how = {"query_ids": [*"cxyz"], "item_ids": [*"abcd"]}
    with pytest.warns(
        UserWarning,
        match="item i from the list of query i, because only 1 of 4 query_ids",
    ):
        found = call(gallery, gallery, [["a"]] * 4, **how)
    by_position = [*"abcd"]
    assert not any(
        item in row
        for item, row in zip(by_position, found.retrieved_ids.tolist(), strict=True)
    )
    how["query_ids"] = [*"wxyz"]
    same = call(gallery, gallery, [["a"]] * 4, **how)
    evaluations.check_same(same, found)


def test_repeated_triples():
    """They count each time, with a remark."""
    scores = lambda entities, relations, side: np.eye(3)[entities]  # noqa: E731
    triples, how = [[0, 0, 1], [1, 0, 2], [0, 0, 1]], {"known": [], "num_entities": 3}
    with pytest.warns(UserWarning, match=r"holds \[0, 0, 1\] 2 times, and 1 of 3"):
        links = jrm.evaluate_links("mrr", scores, triples, **how)
    assert any("2 times" in remark for remark in links["tail"].remarks)
    jrm.evaluate_links("mrr", scores, np.unique(triples, axis=0), **how)


@pytest.mark.parametrize("kind", long("top", "candidates", "blocks"))
def test_unknown_items(vectors, kind):
    """They count as missed or not at all, and leave what they share with `seen`."""
    ids, metrics = [*"abcdef"], METRICS if kind == "top" else (*METRICS, "mrr")
    relevant = [["d", "new", "newer"], ["new"], ["f", "c"], ["b", "a", "new"]]
    excluded = [["b", "old"], [], ["new"], ["new", "d"]]
    how = {"item_ids": ids, "exclude": excluded, "k": 2}
    items = vectors[1]
    if kind == "candidates":
        how["candidates"] = [["d", "b", "new"], ["c"], ["f", "e"], ["b", "f"]]
    if kind == "blocks":
        items = [items[:4], items[4:]]
    call = functools.partial(jrm.evaluate_embeddings, metrics, vectors[0])
    with pytest.raises(ValueError, match="which is not in item_ids.*unknown_items"):
        call(items, relevant, **how)
    missed = call(items, relevant, unknown_items="miss", **how)
    # Scores of −∞ of other items, which are relevant and have no rank.
    scores = np.concatenate([vectors[0] @ vectors[1].T, np.full((4, 3), -np.inf)], 1)
    everything = {"item_ids": [*ids, "new", "newer", "old"], "k": 2}
    everything["seen"] = excluded
    if kind == "candidates":
        candidates = [[x for x in row if x != "new"] for row in how["candidates"]]
        everything["candidates"] = candidates
    expected = jrm.evaluate_users(
        metrics, scores.astype(np.float32), relevant, **everything
    )
    np.testing.assert_array_equal(missed.retrieved_ids, expected.retrieved_ids)
    for name in metrics:
        values = expected.lists[name].values
        np.testing.assert_allclose(missed.lists[name].values, values, 1e-6)
    known = [[x for x in row if x in ids] for row in relevant]
    how["exclude"] = [["b"], [], [], ["d"]]
    if kind == "candidates":
        how["candidates"] = candidates
    dropped = call(items, relevant, unknown_items="drop", **how)
    evaluations.check_same(dropped, call(items, known, **how))


def test_unknown_items_of_users(vectors, by_rows):
    """Items that are new since the model was trained; those seen count in nothing."""
    how = {"item_ids": FORMS["strings"], "users": range(4), "k": 3}
    relevant, seen = (named(how["item_ids"], x) for x in (RELEVANT, SEEN))
    seen[1] = ["new"]
    call = functools.partial(jrm.evaluate_users, METRICS, vectors, seen=seen, **how)
    found = call(relevant, unknown_items="miss")
    check_same(found, by_rows, how["item_ids"])
    relevant[0] = [*relevant[0], "new"]
    halved = call(relevant, unknown_items="miss").lists["recall@2"].values
    np.testing.assert_allclose(halved[0], found.lists["recall@2"].values[0] * 2 / 3)
    with pytest.raises(ValueError, match="relevant of user 0 holds None"):
        call({0: [None]}, unknown_items="drop")
    with pytest.raises(ValueError, match="without item_ids no item is unknown"):
        jrm.evaluate_users(METRICS, vectors, RELEVANT, unknown_items="miss")
