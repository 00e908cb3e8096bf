"""A recommender for all its users: as one plain call on all of them, however cut."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

import jax_rank_metrics as jrm
from jax_rank_metrics._recommender import batches, step

USERS, ITEMS, DIMS, K = 11, 40, 4, 5
METRICS = ("ndcg@3", "recall@1,5")


@pytest.fixture(scope="module")
def data():
    """Embeddings; labels and what was seen, `[users, items]`, that are never both."""
    rng = np.random.default_rng(7)
    queries, items = (rng.normal(size=(n, DIMS)) for n in (USERS, ITEMS))
    drawn = rng.choice([0, 0, 0, 0, 1, 2, 3], (USERS, ITEMS))
    seen = rng.random((USERS, ITEMS)) < 0.3
    labels = np.where(seen, 0, drawn)
    labels[4] = 0
    seen[6] = False
    return queries.astype(np.float32), items.astype(np.float32), labels, seen


def ids_of(table):
    """The ids of each row, and these padded."""
    lists = [np.flatnonzero(row) for row in table]
    return lists, jrm.pad_lists(lists, items=32, lists=USERS, fill=-1)[0]


@pytest.fixture(scope="module")
def plain(data):
    """Values and ids of one call on all users."""
    queries, items, labels, seen = data
    _, relevant = ids_of(labels)
    graded = np.take_along_axis(labels, np.maximum(relevant, 0), 1)

    @jax.jit
    def measured(queries, items, relevant, graded, seen):
        ranking = jrm.rank_catalog(
            queries, items, relevant, k=K, relevant_labels=graded, exclude_ids=seen
        )
        return jrm.measure(METRICS, ranking), ranking.items

    return measured(queries, items, relevant, graded, ids_of(seen)[1])


def sparse(table):
    """As scipy holds it."""
    return scipy.sparse.csr_array(table)


def same(found, expected, rows=slice(None)):
    """Users have the values and the ids that one plain call gives."""
    lists, ids = expected
    np.testing.assert_array_equal(found.items, ids[rows])
    for name, one in lists.items():
        mine = found.lists[name]
        assert isinstance(mine.values, np.ndarray)
        np.testing.assert_allclose(mine.values, one.values[rows], atol=1e-6)
        np.testing.assert_array_equal(mine.defined, one.defined[rows])
        np.testing.assert_array_equal(mine.weights, one.weights[rows])


def test_as_one_plain_call(data, plain, rng):
    """Of embeddings in batches that do not divide, and beside an oracle in NumPy."""
    queries, items, labels, seen = data
    done, programs = [], step.measure_users._cache_size()
    found = jrm.evaluate_users(
        METRICS,
        (queries, items),
        sparse(labels),
        seen=sparse(seen),
        batch_size=4,
        progress=lambda *x: done.append(x),
    )
    same(found, plain)
    assert step.measure_users._cache_size() == programs + 1
    assert done == [(4, USERS), (8, USERS), (11, USERS)]
    scores = np.where(seen, -np.inf, queries @ items.T)
    np.testing.assert_array_equal(found.items, np.argsort(-scores)[:, :K])
    shown = np.bincount(found.items.ravel(), minlength=ITEMS)
    np.testing.assert_array_equal(found.exposure.counts, shown)
    assert found.users.tolist() == list(range(USERS))
    # Beyond accuracy, by how many users have seen each item.
    counts = np.maximum(seen.sum(0), 1)[found.items]
    logs = {"popularity@5": np.log(counts), "novelty@5": np.log2(seen.sum() / counts)}
    for name, each in logs.items():
        np.testing.assert_allclose(found.lists[name].values, each.mean(1), rtol=1e-5)
    means = jrm.mean(plain[0])
    for name, state in means.items():
        np.testing.assert_allclose(found.states[name].compute(), state.compute(), 1e-6)
    assert found.states["ndcg@3"].undefined == 1
    assert str(found).startswith("UserEvaluation(ndcg@3 0.") and "11 users" in str(
        found
    )
    # Groups by name: weighted means of the users of each.
    groups = rng.choice(["cold", "warm"], USERS)
    states = found.by(groups)
    assert set(states) == {*groups}
    for name, one in plain[0].items():
        for group, of_group in states.items():
            there = groups == group
            assert int(of_group[name].lists) == there.sum()
            expected = np.asarray(one.values)[there].mean(0)
            np.testing.assert_allclose(of_group[name].compute(), expected, atol=1e-6)
    assert "cold" in jrm.table(states)
    with pytest.raises(ValueError, match="groups has 2 entries.*11 users"):
        found.by(["a", "b"])
    with pytest.raises(ValueError, match="groups: .* is None at 3"):
        found.by(["a", "b", "a", None] + ["a"] * (USERS - 4))


@pytest.mark.long
def test_scores_of_any_kind(data, plain):
    """A matrix, functions of NumPy and of JAX; ragged lists, dicts, sets; some users."""
    queries, items, labels, seen = data
    scores = queries @ items.T
    binary = sparse(labels > 0)
    hidden = ids_of(seen)[0]
    matrix = jrm.evaluate_users(METRICS, scores, binary, seen=hidden, batch_size=4)
    np.testing.assert_array_equal(matrix.items, plain[1])
    lists = ids_of(labels)[0]
    whom = np.random.default_rng(1).permutation(USERS)
    asked = []

    def score(users):
        asked.append(users.tolist())
        return scores[users]

    some = jrm.evaluate_users(
        METRICS,
        score,
        {user: [*lists[user], *lists[user], -1] for user in (*range(4), *range(5, 11))},
        seen={user: set(row.tolist()) for user, row in enumerate(hidden)},
        users=whom,
        batch_size=4,
    )
    assert asked == [*whom[:8].reshape(2, 4).tolist(), [*whom[8:].tolist(), whom[10]]]
    in_jax = jrm.evaluate_users(
        METRICS,
        jax.jit(lambda x: jnp.asarray(scores)[x]),
        lists,
        seen=hidden,
        batch_size=4,
    )
    for name, one in matrix.lists.items():
        np.testing.assert_array_equal(some.lists[name].values, one.values[whom])
        np.testing.assert_array_equal(in_jax.lists[name].values, one.values)
    np.testing.assert_array_equal(some.items, matrix.items[whom])


def test_users_of_many_ids_share_batches(monkeypatch):
    """Every user once; others are as wide as their own; and programs must be worth it."""
    rng = np.random.default_rng(3)
    lengths = np.stack([rng.integers(0, 100, 5000), rng.integers(0, 9, 5000)], 1)
    lengths[[7, 70, 700], 0] = (10_000, 9_000, 500)
    parts = list(batches.make_batches(lengths, 1024, 30))
    rows = np.concatenate([part.rows for part in parts])
    assert np.bincount(rows).tolist() == [1] * 5000
    for part in parts:
        assert (lengths[part.rows] <= part.widths).all()
    widths = [part.widths for part in parts]
    assert widths == [(512, 8)] * 4 + [(12_288, 8)]
    # A few users are soon done, however wide.
    few = batches.make_batches(lengths[:100], 10, 1)
    assert {part.widths for part in few} == {(12_288, 8)}
    monkeypatch.setattr(batches, "IDS_WORTH_A_PROGRAM", 1)
    every = list(batches.make_batches(lengths, 500, 13))
    assert len({part.widths for part in every}) == 2  # the last batch has all others


@pytest.mark.parametrize(
    "ties", ["stable", pytest.param("random", marks=pytest.mark.long)]
)
def test_ties_and_masks(ties):
    """Of constant scores: by index, or another order for every user of every batch."""
    found = jrm.evaluate_users(
        "recall@2",
        np.zeros((12, 6), np.float32),
        [[3]] * 12,
        seen=[[2]] * 12,
        item_mask=np.arange(6) != 0,
        embeddings=np.eye(6, dtype=np.float32),
        ties=ties,
        key=jax.random.key(0) if ties == "random" else None,
        batch_size=4,
        k=3,
    )
    if ties == "stable":
        assert found.items.tolist() == [[1, 3, 4]] * 12
    else:
        orders = {tuple(row) for row in found.items.tolist()}
        assert len(orders) > 6 and {*found.items.ravel()} == {1, 3, 4, 5}
    np.testing.assert_allclose(
        found.lists["intra_list_diversity@3"].values, 1, rtol=1e-6
    )
    assert list(found.states)[1:] == [
        *("popularity@3", "novelty@3", "intra_list_diversity@3")
    ]


@pytest.mark.long
def test_metrics_without_a_cutoff(data):
    """Places are counted beside the top-k; states are of their kind, also in groups."""
    queries, items, labels, seen = data
    names = ("gm_map", "recall@2", "mrr", "rprec")
    scores = queries @ items.T
    found = jrm.evaluate_users(
        names,
        scores,
        sparse(labels),
        seen=sparse(seen),
        batch_size=8,
        undefined="skip",
        k=50,
    )
    assert (found.items[:, ITEMS:] == -1).all() and found.items.shape == (USERS, 50)
    expected = jrm.evaluate(names, labels, scores, ~seen, undefined="skip")
    for name, state in expected.items():
        assert type(found.states[name]) is type(state)
        np.testing.assert_allclose(found.states[name].compute(), state.compute(), 1e-5)
    [everyone] = found.by(["all"] * USERS).values()
    assert everyone["gm_map"].compute() == found.states["gm_map"].compute()


def test_values_remember_what_undefined_counts_for(data):
    """So that a comparison of users is that of the means."""
    queries, items, labels, _ = data
    relevant = sparse(labels * (np.arange(USERS) % 2)[:, None])  # half have nothing
    runs = [
        jrm.evaluate_users("mrr@5", model, relevant, undefined="skip")
        for model in ((queries, items), (-queries, items))
    ]
    before, after = (run.states["mrr@5"].compute() for run in runs)
    lists = [run.lists["mrr@5"] for run in runs]
    assert [one.undefined for one in lists] == ["skip", "skip"]
    compared = jrm.compare(*lists)
    np.testing.assert_allclose(compared.difference, after - before, atol=1e-6)
    assert compared.lists == int(runs[0].states["mrr@5"].lists) < USERS


def test_a_warning_where_all_was_seen(capsys):
    """As `check` remarks; and with nothing to find, nothing is said. And a bar of rich."""

    def call(relevant, **given):
        seen = [[2, 4]] * 3
        return jrm.evaluate_users(
            "recall@2", np.eye(3, 6), relevant, seen=seen, **given
        )

    with pytest.warns(UserWarning, match="seen by 1 of 3 users, as by user 1, so"):
        found = call([[1], [2, 4], []])
    assert found.states["recall@2"].undefined == 2
    pytest.importorskip("rich")
    call([[1], [2, 3], []], progress=True)
    assert "100%" in capsys.readouterr().out


def test_a_warning_where_nothing_is_relevant():
    """Means of undefined values alone are 0, which looks like a result."""
    scores = np.eye(3, 6)
    for relevant in (
        [[], [], []],
        sparse(np.full((3, 6), 0.5)),  # graded, below the threshold
    ):
        with pytest.warns(UserWarning, match="recall@2 undefined for every one of 3"):
            found = jrm.evaluate_users("recall@2", scores, relevant)
        assert int(found.states["recall@2"].undefined) == 3


NAN = np.array([[0.5, np.nan, 0.1], [0.2, 0.3, 0.4]], np.float32)


@pytest.mark.parametrize(
    "model",
    [
        np.full((2, 3), np.nan, np.float32),
        lambda users: np.full((2, 3), np.nan, np.float32)[users],
        NAN,
        (np.full((2, 3), np.nan), np.eye(3)),
        (np.eye(2, 3), np.full((3, 3), np.nan)),
        (np.eye(2, 3), np.diag([1, np.nan, 1])),
    ],
)
def test_a_model_of_nan(model):
    """A model that diverged has no metrics, although nan has a place in the order."""
    with pytest.raises(ValueError, match="nan"):
        jrm.evaluate_users("recall@2", model, [[1], [2]])


def test_nan_where_nothing_is_recommended():
    """Scores of items that are masked or seen are not read, nor are others' embeddings."""
    mask = np.array([True, False, True])
    for model in (NAN, (np.eye(2, 3), np.diag([1, np.nan, 1])[[0, 1, 2]])):
        model = model if isinstance(model, np.ndarray) else (model[0], model[1])
        found = jrm.evaluate_users("recall@2", model, [[1, 2], [2]], item_mask=mask)
        assert found.states["recall@2"].compute() == 1
    found = jrm.evaluate_users("recall@2", NAN, [[0], [2]], seen=[[1], []])
    assert found.states["recall@2"].compute() == 1


@pytest.mark.parametrize("name", ["relevant", "seen"])
@pytest.mark.parametrize(
    "form",
    [
        lambda labels: labels,
        lambda labels: labels.tolist(),
        lambda labels: jnp.asarray(labels),
        lambda labels: dict(enumerate(labels)),
        lambda labels: labels * 5,  # ratings
        lambda labels: np.pad(labels, [(0, 0), (0, 4)]),  # of a larger catalogue
    ],
)
def test_dense_integers(data, name, form):
    """A matrix of labels would be read as lists of the ids 0 and 1."""
    queries, items, labels, _ = data
    given = {"relevant": sparse(labels), name: form((labels > 0).astype(np.int32))}
    with pytest.raises(TypeError, match=rf"{name} looks like.*csr_array\({name}\)"):
        jrm.evaluate_users("recall@2", (queries, items), **given)


def test_lists_as_long_as_the_catalogue():
    """Ids that name every item, padded ids, and few ids of few items remain lists."""
    scores = np.array([[0.3, 0.2, 0.1], [0.1, 0.2, 0.3]], np.float32)
    for relevant in (
        [[2, 1, 0], [0, 1, 2]],
        np.array([[0, 1, -1], [1, 0, -1]]),
        np.array([[0, 1], [1, 0]]),
        [{0, 1, 2}, {0, 1, 2}],
    ):
        found = jrm.evaluate_users("recall(denominator=attainable)@3", scores, relevant)
        assert list(found.lists.values())[0].values.tolist() == [1, 1]


def test_a_series_of_lists():
    """As `groupby` makes it: its index holds users, in any order."""
    pandas = pytest.importorskip("pandas")
    relevant = pandas.Series([[2], [0]], index=[1, 0])
    scores = np.array([[0.3, 0.2, 0.1], [0.1, 0.2, 0.3]], np.float32)
    found = jrm.evaluate_users("recall@1", scores, relevant)
    assert found.users.tolist() == [1, 0]
    assert found.lists["recall@1"].values.tolist() == [1, 1]


def test_what_is_sharded(data):
    """Refused by its type, with advice that works."""
    queries, items, labels, _ = data
    mesh = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))

    def cut(x):
        return jax.device_put(x, jax.NamedSharding(mesh, jax.P("x")))

    queries, relevant = (
        np.resize(queries, (16, DIMS)),
        sparse(np.resize(labels, (16, ITEMS))),
    )
    plain = jrm.evaluate_users("mrr@5", (queries, items), relevant).states["mrr@5"]
    for model in ((cut(queries), items), (queries, cut(items)), cut(queries @ items.T)):
        with pytest.raises(ValueError, match="is sharded over devices.*jax.device_get"):
            jrm.evaluate_users("mrr@5", model, relevant)
        moved = jax.device_get(model)
        found = jrm.evaluate_users("mrr@5", moved, relevant).states["mrr@5"]
        np.testing.assert_allclose(found.compute(), plain.compute(), 1e-6)
    with pytest.raises(ValueError, match="that model gives is sharded"):
        jrm.evaluate_users(
            "mrr@5", lambda users: cut((queries @ items.T)[users]), relevant
        )


LISTS = [[0], [1]]
MATRIX = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize(
    "error, match, change",
    [
        (TypeError, "model: got", {"model": object()}),
        (ValueError, r"model has shape \(3,\)", {"model": np.zeros(3)}),
        (ValueError, "model has 3 parts", {"model": (MATRIX,) * 3}),
        (ValueError, "queries of shape", {"model": (MATRIX, MATRIX[:, :2])}),
        (ValueError, "model gives scores", {"model": lambda users: MATRIX[:1]}),
        (ValueError, "users go up to 2, but model has 2", {"relevant": [[0]] * 3}),
        (ValueError, "relevant has 1 rows, but model has 2", {"relevant": [[0]]}),
        (ValueError, "seen has 3 rows, but model has 2", {"seen": [[]] * 3}),
        (
            ValueError,
            "relevant has 4 columns, but the model has 3",
            {"relevant": sparse(np.eye(2, 4))},
        ),
        (ValueError, "seen has 4 columns", {"seen": sparse(np.eye(2, 4, 2))}),
        (ValueError, r"model has shape \(2, 3, 1\)", {"model": MATRIX[..., None]}),
        (
            ValueError,
            r"model gives scores of shape \(2, 3, 1\)",
            {"model": lambda users: MATRIX[users][..., None]},
        ),
        (ValueError, "relevant has no users", {"relevant": []}),
        (ValueError, "relevant has no users", {"relevant": {}}),
        (TypeError, "relevant: got 3", {"relevant": 3}),
        (TypeError, "relevant of user 1: got", {"relevant": [[0], [0.5]]}),
        (TypeError, "relevant of user 0: got", {"relevant": MATRIX}),
        (TypeError, "relevant has the key 'a'", {"relevant": {"a": [0]}}),
        (
            ValueError,
            "relevant of user 1 holds the item 3",
            {"relevant": [[0], [1, 3]]},
        ),
        (
            ValueError,
            "relevant of user 1 holds the id 18446744073709551615",
            {"relevant": [[0], np.array([2**64 - 1], np.uint64)]},
        ),
        (
            ValueError,
            "'popularity@2' is among metrics",
            {"metrics": {"popularity@2": partial(jrm.recall, k=2)}, "seen": [[], []]},
        ),
        (ValueError, "queries of shape", {"model": [MATRIX, MATRIX[:, :2]]}),
        (ValueError, "relevant holds -1", {"relevant": sparse(MATRIX - 1)}),
        (ValueError, "seen has 1 users, but users go up to 1", {"seen": [[0]]}),
        (ValueError, "seen of user 0 holds the item 9", {"seen": {0: [9]}}),
        (TypeError, "seen has the key 'b'", {"seen": {"b": [1]}}),
        (TypeError, "users: got an array of float64", {"users": [0.5]}),
        (ValueError, "users go from -1 to 1", {"users": [1, -1]}),
        (ValueError, "relevant has 2 users, but users", {"users": [2]}),
        (ValueError, "no metric has a cutoff", {"metrics": "mrr"}),
        (ValueError, "k is 0", {"k": 0}),
        (ValueError, "batch_size is 0", {"batch_size": 0}),
        (ValueError, "block_size is 0", {"block_size": 0}),
        (ValueError, "undefined is 'two'", {"undefined": "two"}),
        (ValueError, "ties is 'first'", {"ties": "first"}),
        (ValueError, "item_mask has shape", {"item_mask": np.ones(2, bool)}),
        (ValueError, "embeddings has shape", {"embeddings": MATRIX}),
        (TypeError, "progress is 1", {"progress": 1}),
    ],
)
def test_errors(error, match, change):
    """Each names the argument, before anything is compiled."""
    given = {"metrics": "recall@2", "model": MATRIX, "relevant": LISTS, **change}
    with pytest.raises(error, match=match):
        jrm.evaluate_users(**given)
