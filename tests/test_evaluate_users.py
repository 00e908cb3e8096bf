"""`evaluate_users`: features of users alone; tests/test_drivers.py tests the values."""

import contextlib
import functools
import itertools
import pickle

import jax
import numpy as np
import pytest
import scipy.sparse
from evaluations import check_same
from marks import long

import jax_rank_metrics as jrm
from jax_rank_metrics._runs.drivers import batching, programs

USERS, ITEMS, DIMS, K = 11, 40, 4, 5
METRICS = ("ndcg@3", "recall@1,5")


@pytest.fixture(scope="module")
def data():
    """Draws embeddings, labels and seen items `[users, items]`; no item is both."""
    rng = np.random.default_rng(7)
    queries, items = (rng.normal(size=(n, DIMS)) for n in (USERS, ITEMS))
    grades = rng.choice([0, 0, 0, 0, 1, 2, 3], (USERS, ITEMS))
    seen = rng.random((USERS, ITEMS)) < 0.3
    labels = np.where(seen, 0, grades)
    labels[4] = 0
    seen[6] = False
    return queries.astype(np.float32), items.astype(np.float32), labels, seen


def test_measures_of_recommendations(data, rng):
    """Exposure, popularity and novelty agree with the items; groups have their users."""
    queries, items, labels, seen = data
    done, num_programs = [], programs.compiled()._cache_size()
    evaluation = jrm.evaluate_users(
        (*METRICS, "popularity@5", "novelty@5"),
        (queries, items),
        scipy.sparse.csr_array(labels),
        seen=scipy.sparse.csr_array(seen),
        users=np.arange(USERS),  # with the one who has no relevant item
        batch_size=4,
        progress=lambda *x: done.append(x),
    )
    assert programs.compiled()._cache_size() == num_programs + 1
    assert done == [(4, USERS), (8, USERS), (11, USERS)]
    scores = np.where(seen, -np.inf, queries @ items.T)
    np.testing.assert_array_equal(evaluation.retrieved_ids, np.argsort(-scores)[:, :K])
    exposure = np.bincount(evaluation.retrieved_ids.ravel(), minlength=ITEMS)
    np.testing.assert_array_equal(evaluation.exposure.counts, exposure)
    assert evaluation.users.tolist() == list(range(USERS))
    choices = "negative:error|nan:error|infinite:unretrieved|scores:float32|seen:removed|def:1"
    assert evaluation.signature == {x: f"{x}|{choices}" for x in evaluation.states}
    # Metrics beyond accuracy read how many users have seen each item.
    counts = np.maximum(seen.sum(0), 1)[evaluation.retrieved_ids]
    logs = {"popularity@5": np.log(counts), "novelty@5": np.log2(seen.sum() / counts)}
    for name, of_items in logs.items():
        np.testing.assert_allclose(
            evaluation.lists[name].values, of_items.mean(1), rtol=1e-5
        )
    assert evaluation.states["ndcg@3"].undefined == 1
    assert str(evaluation).startswith("UserEvaluation(ndcg@3 0.") and "11 users" in str(
        evaluation
    )
    groups = rng.choice(["cold", "warm"], USERS)
    states = evaluation.by(groups)
    assert set(states) == {*groups}
    for name, group in itertools.product(METRICS, states):
        in_group, state = groups == group, states[group][name]
        assert int(state.lists) == in_group.sum()
        expected = evaluation.lists[name].values[in_group].mean(0)
        np.testing.assert_allclose(state.compute(), expected, atol=1e-6)
    assert "cold" in jrm.table(states)


def test_groups_are_evaluations(data, rng):
    """A group is what a call of its users alone returns, for items of any ids."""
    queries, items, labels, seen = data
    scores, item_ids = queries @ items.T, 7 * np.arange(ITEMS)[::-1]
    options = {"item_ids": item_ids, "undefined": "skip"}
    options["seen"] = scipy.sparse.csr_array(seen)
    call = functools.partial(
        jrm.evaluate_users, METRICS, relevant=scipy.sparse.csr_array(labels), **options
    )
    old, new = (call(x, users=np.arange(USERS)) for x in (-scores, scores))
    segment = rng.permutation(USERS) % 2
    groups = new.by(segment)
    assert [*groups] == [*dict.fromkeys(segment.tolist())]
    for group, part in groups.items():
        alone = call(scores, users=np.flatnonzero(segment == group))
        check_same(part, alone)
        assert (
            str(part) == str(alone) and part.list_ids.tolist() == alone.users.tolist()
        )
        jax.tree.map(np.testing.assert_array_equal, part.exposure, alone.exposure)
        assert {*part.by(part.users % 2)} == {0, 1} and not part.remarks
    # Two models are compared in a group.
    is_counted = part.lists["ndcg@3"].defined
    pair = jrm.compare(old.by(segment)[group], part, test="t")["ndcg@3"]
    means = [x.by(segment)[group].states["ndcg@3"].compute() for x in (old, new)]
    np.testing.assert_allclose(pair.difference, means[1] - means[0], atol=1e-6)
    assert pair.lists == is_counted.sum()
    # Rows are counted, since ids are not rows here.
    rows = ITEMS - 1 - part.retrieved_ids // 7
    rows[~is_counted] = -1
    discounted = jrm.exposure(part, discount_fn=jrm.log2_discount)
    expected = jrm.exposure(rows, ITEMS, jrm.log2_discount)
    jax.tree.map(np.testing.assert_array_equal, discounted, expected)
    assert 0 < part.exposure.coverage() < new.exposure.coverage()
    # They are joined again, and computed together.
    joined = jrm.UserEvaluation.merge(*groups.values())
    np.testing.assert_array_equal(joined.exposure.counts, new.exposure.counts)
    np.testing.assert_array_equal(joined.exposure.tally, new.exposure.tally)
    close = functools.partial(np.testing.assert_allclose, rtol=1e-6)
    jax.tree.map(close, jrm.compute(joined), jrm.compute(new))
    assert [*jrm.compute(groups)] == [*groups]
    copied = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(copied.exposure.counts, part.exposure.counts)


def test_candidates_and_weights(data, rng):
    """Every model ranks the candidates alone; users weigh as passed, by id too."""
    queries, items, labels, seen = data
    scores, calls = queries @ items.T, []
    lists, hidden = ([np.flatnonzero(row) for row in table] for table in (labels, seen))
    chosen = [rng.permutation(ITEMS)[: 2 * user] for user in range(USERS)]
    mask, weights = rng.random(ITEMS) < 0.8, rng.integers(0, 3, USERS)
    for user in range(1, USERS):
        scores[user, chosen[user][0]] = -np.inf

    def score(users):
        calls.append(len(users))
        return scores[users]

    mesh = jax.make_mesh((2, 2), ("queries", "items"))
    over = {"queries_axis": "queries", "items_axis": "items"}
    for model, options in (
        (scores, {"list_weights": weights}),
        (score, {"list_weights": dict(enumerate(weights.tolist()))}),
        (scores, {"list_weights": weights, "mesh": mesh, **over}),
    ):
        evaluation = jrm.evaluate_users(
            METRICS,
            model,
            lists,
            seen=hidden,
            candidates=chosen,
            item_mask=mask,
            **options,
        )
        means = []
        for user, ids in enumerate(evaluation.retrieved_ids):
            ranked = sorted(chosen[user], key=lambda item: -scores[user, item])
            ranked = [i for i in ranked if mask[i] and not seen[user, i]]
            ranked = [i for i in ranked if scores[user, i] > -np.inf][:K]
            assert ids[ids >= 0].tolist() == ranked
            relevant = {i for i in lists[user] if mask[i]}
            means.append(len(relevant & set(ranked)) / max(len(relevant), 1))
        state = evaluation.states["recall@1,5"]
        expected = np.average(means, weights=weights)
        np.testing.assert_allclose(state.compute()[1], expected, atol=1e-6)
        assert int(state.lists) == np.count_nonzero(weights)
        of_users = evaluation.lists["recall@1,5"]
        np.testing.assert_array_equal(of_users.weights, weights)
        assert not of_users.defined[weights == 0].any()
        assert list(evaluation.lists) == [*METRICS]
    assert len(calls) == 1  # the batch that tells how many items there are is kept
    embedded = {"candidates": chosen, "list_weights": weights}
    by_users = jrm.evaluate_users(METRICS, (queries, items), lists, **embedded)
    by_queries = jrm.evaluate_embeddings(METRICS, queries, items, lists, **embedded)
    check_same(by_users, by_queries)


@pytest.mark.parametrize("options", [{"item_mask": [False, True]}, {"seen": [[0]]}])
def test_candidates_that_leave(options):
    """If the only relevant item is masked or seen, nothing is left to find."""
    with pytest.warns(UserWarning, match="undefined"):
        evaluation = jrm.evaluate_users(
            "recall@1", [[1.0, 2.0]], [[0]], candidates=[[0]], **options
        )
    lists = evaluation.lists["recall@1"]
    assert not lists.defined.any() and lists.weights.tolist() == [1]


def test_users_of_many_ids_share_batches():
    """Each user is in one batch, wide enough; a new width must be worth a program."""
    rng = np.random.default_rng(3)
    lengths = np.stack([rng.integers(0, 100, 5000), rng.integers(0, 9, 5000)], 1)
    lengths[[7, 70, 700], 0] = (10_000, 9_000, 500)
    everybody = np.arange(len(lengths))[None]
    cost = batching.Cost(num_items=50_000, num_blocks=30, counts_places=False)
    parts = list(batching.make_batches(lengths, 1024, cost, everybody))
    rows = np.concatenate([part.indices for part in parts])
    assert np.bincount(rows[rows >= 0]).tolist() == [1] * 5000
    for part in parts:
        assert part.indices.size == 1024
        assert (lengths[part.indices[part.indices >= 0]] <= part.widths).all()
    # The user of 500 alone is not worth a program.
    narrow, wide = (256, 16), (16_384, 16)
    levels = [part.widths for part in parts]
    assert levels == [narrow] * 4 + [wide]
    # A few users take little time at any width.
    small = batching.make_batches(
        lengths[:100], 10, cost._replace(num_blocks=1), everybody[:, :100]
    )
    assert {part.widths for part in small} == {wide}
    # Places of many relevant items take longer than a top-k that finds these.
    lengths[[7, 70, 700]] = (100, 300)
    wide = (256, 1024)
    for counts_places, expected in ((False, {wide}), (True, {narrow, wide})):
        cost = batching.Cost(1000, 1, counts_places)
        parts = batching.make_batches(lengths[:1000], 500, cost, everybody[:, :1000])
        assert {part.widths for part in parts} == expected


@pytest.mark.long
def test_data_of_any_size_share_programs(rng, compilations):
    """Twenty calls with other numbers of users and of ids compile a few programs."""
    num_programs = programs.compiled()._cache_size()
    scores = rng.normal(size=(600, 100)).astype(np.float32)
    for num_users in rng.integers(1, 600, 20):
        max_length = rng.integers(1, 40)
        lists = [rng.permutation(100)[:max_length] for _ in range(num_users)]
        evaluation = jrm.evaluate_users(
            ("recall@10", "mrr"),
            scores[:num_users],
            [row[: row.size // 2 + 1] for row in lists],
            seen=[row[row.size // 2 + 1 :] for row in lists],
        )
        evaluation.by(np.arange(num_users) % 2)
    assert 1 <= programs.compiled()._cache_size() - num_programs <= 5
    assert 1 <= len(compilations) <= 5 + 10  # and ten that convert or copy an array


@pytest.mark.parametrize("ties", ["stable", *long("random")])
def test_ties_and_masks(ties):
    """Constant scores rank by index, or in a random order for each user and batch."""
    evaluation = jrm.evaluate_users(
        ("recall@2", "intra_list_diversity@3"),
        np.zeros((12, 6), np.float32),
        [[3]] * 12,
        seen=[[2]] * 12,
        item_mask=np.arange(6) != 0,
        item_columns={"embeddings": np.eye(6, dtype=np.float32)},
        ties=ties,
        key=jax.random.key(0) if ties == "random" else None,
        batch_size=4,
        k=3,
    )
    if ties == "stable":
        assert evaluation.retrieved_ids.tolist() == [[1, 3, 4]] * 12
    else:
        orders = {tuple(row) for row in evaluation.retrieved_ids.tolist()}
        assert len(orders) > 6 and {*evaluation.retrieved_ids.ravel()} == {1, 3, 4, 5}
    np.testing.assert_allclose(
        evaluation.lists["intra_list_diversity@3"].values, 1, rtol=1e-6
    )


@pytest.mark.parametrize("ties", [None, *long("expected")])
@pytest.mark.parametrize("chooses", [False, *long(True)])
def test_tied_items_differ_between_users(ties, chooses):
    """A constant scorer exposes all items, the same in batches of any size."""
    ids, metrics = np.arange(40) % 12, ("recall@3", "ap(denominator=hits)@3")
    candidates = np.tile(np.arange(12), (40, 1)) if chooses else None
    metrics = metrics if ties is None else metrics[0]
    run = functools.partial(
        jrm.evaluate_users, metrics, candidates=candidates, ties=ties
    )
    call = functools.partial(run, np.zeros((40, 12)), ids[:, None])

    def warns():
        if ties == "expected":
            return contextlib.nullcontext()
        match = "items tie for .* users, and ap.*has no formula"
        return pytest.warns(UserWarning, match=match)

    with warns():
        evaluation = call()
        part = call(users=np.arange(7, 20), batch_size=5)
    assert {*evaluation.retrieved_ids.ravel()} == {*range(12)}
    np.testing.assert_array_equal(part.retrieved_ids, evaluation.retrieved_ids[7:20])
    np.testing.assert_allclose(part.states["recall@3"].compute(), 1 / 4, rtol=1e-6)
    assert evaluation.exposure.coverage() == 1
    assert ("40 of 40 users, and ap" in jrm.table({"a": evaluation})) == (ties is None)
    # The second and the third item tie: neither is relevant, or one is.
    scores = np.tile([10.0, 9, 9, *range(9)[::-1]], (40, 1))
    assert not run(scores, np.zeros((40, 1), int)).remarks
    with warns():
        evaluation = run(scores, np.ones((40, 1), int))
    assert ("40 of 40" in "".join(evaluation.remarks)) == (ties is None)


@pytest.mark.long
def test_metrics_without_a_cutoff(data):
    """States keep their class, in groups too; there may be fewer items than ranks."""
    queries, items, labels, seen = data
    names, scores = ("gm_map", "rprec"), queries @ items.T
    arguments = scores, scipy.sparse.csr_array(labels)
    options = {"seen": scipy.sparse.csr_array(seen), "undefined": "skip", "k": 50}
    options["users"] = np.arange(USERS)
    evaluation = jrm.evaluate_users(names, *arguments, **options)
    assert evaluation.retrieved_ids.shape == (USERS, 50)
    assert (evaluation.retrieved_ids[:, ITEMS:] == -1).all()
    expected = jrm.evaluate(names, labels, scores, ~seen, undefined="skip")
    [states] = evaluation.by(["all"] * USERS).values()
    for name, state in expected.items():
        actual = evaluation.states[name]
        assert type(actual) is type(state)
        np.testing.assert_allclose(actual.compute(), state.compute(), 1e-5)
        assert states[name].compute() == actual.compute()


def test_warnings(capsys):
    """They tell of users who saw all, lack relevant items, or seem best without a value."""
    scores, metrics = np.eye(3, 6), ("recall@2", "fall_out@2")

    def call(relevant, undefined="zero", **options):
        return jrm.evaluate_users(
            metrics, scores, relevant, seen=[[2, 4]] * 3, undefined=undefined, **options
        )

    # Users without relevant items are not counted in it.
    with pytest.warns(
        UserWarning,
        match="seen holds all relevant items of 1 of 3 users, such as user 1, for",
    ):
        evaluation = call([[1], [2, 4], []])
    assert evaluation.states["recall@2"].undefined == 2
    for relevant in (
        [[]] * 3,
        scipy.sparse.csr_array(np.full((3, 6), 0.5)),
    ):  # below the threshold
        with pytest.warns(
            UserWarning, match=r"every one of 3 users: recall@2.*jrm\.check\("
        ):
            evaluation = call(relevant)
        assert int(evaluation.states["recall@2"].undefined) == 3
    # Zeros of a metric that is better when lower are named, unless they are left out.
    relevant = [[1], [3], [0, 1, 3, 5]]
    with pytest.warns(UserWarning, match=r"best: fall_out@2 \(1 of 3 li") as warnings:
        call(relevant)
    assert warnings[0].filename == __file__
    call(relevant, "skip")
    pytest.importorskip("rich")
    call([[1], [2, 3], [0]], progress=True)
    assert "100%" in capsys.readouterr().out


NAN = np.array([[0.5, np.nan, 0.1], [0.2, 0.3, 0.4]], np.float32)


def test_nan_where_nothing_is_recommended():
    """Scores and embeddings of masked items are not read, nor scores of seen items."""
    mask = np.array([True, False, True])
    for model in (NAN, (np.eye(2, 3), np.diag([1, np.nan, 1]))):
        evaluation = jrm.evaluate_users(
            "recall@2", model, [[1, 2], [2]], item_mask=mask
        )
        assert evaluation.states["recall@2"].compute() == 1
    evaluation = jrm.evaluate_users("recall@2", NAN, [[0], [2]], seen=[[1], []])
    assert evaluation.states["recall@2"].compute() == 1


def test_lists_as_long_as_the_catalogue():
    """Ids that name every item, padded ids, and ids of a tiny catalogue remain lists."""
    scores = np.array([[0.3, 0.2, 0.1], [0.1, 0.2, 0.3]], np.float32)
    for relevant in (
        [[2, 1, 0], [0, 1, 2]],
        np.array([[0, 1, -1], [1, 0, -1]]),
        np.array([[0, 1], [1, 0]]),
        [{0, 1, 2}, {0, 1, 2}],
    ):
        evaluation = jrm.evaluate_users(
            "recall(denominator=attainable)@3", scores, relevant
        )
        assert list(evaluation.lists.values())[0].values.tolist() == [1, 1]
