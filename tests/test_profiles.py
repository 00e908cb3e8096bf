"""Values of recommendations, by themselves and beside profiles, against loops."""

import functools
import itertools
import math

import chex
import jax
import numpy as np
import pytest
from marks import long

import jax_rank_metrics as jrm

ITEMS, GENRES = 12, 3
KS = (1, 3, None)
COUNTS = np.array([4, 0, 12, 1, 7, 0, 3, 40, 2, 1, 30, 7])
USERS, ALPHA = 50, 0.1


@jax.jit
def of_lists(ids, profiles, relevant, weights, genres, counts, vectors):
    """Measures all metrics at all cutoffs."""
    inside, profiles, relevant = (
        jax.numpy.where(x < ITEMS, x, -1) for x in (ids, profiles, relevant)
    )
    facts = {"counts": counts, "genres": genres}
    known = {"item_columns": facts, "profile_ids": profiles}
    ranking = jrm.rank_ids(inside, **known)
    weighted = jrm.rank_ids(inside, **known, profile_weights=weights)
    distinct = jrm.rank_ids(inside, relevant, item_columns=facts, repeats="remove")
    return {
        "lift": jrm.popularity_lift.of(ranking, k=KS),
        "lift of users": jrm.popularity_lift.of(ranking, k=KS, ratio_of_means=False),
        "plain": jrm.miscalibration.of(ranking, k=KS),
        "weighted": jrm.miscalibration.of(
            weighted, k=KS, discount_fn=jrm.reciprocal_discount, alpha=ALPHA
        ),
        "serendipity": jrm.serendipity.of(distinct, k=KS),
    }


def draw(rng):
    """Draws lists with gaps and repeats, empty ones, and ones that are undefined."""
    ids = rng.integers(-3, ITEMS + 2, (10, 6)).astype(np.int32)
    profiles = rng.integers(-2, ITEMS + 2, (10, 5)).astype(np.int32)
    relevant = rng.integers(-1, ITEMS + 2, (10, 4)).astype(np.int32)
    genres = rng.choice([0.0, 0.0, 1.0, 0.5], (ITEMS, GENRES)).astype(np.float32)
    genres[0], genres[1], genres[2] = 0, (np.nan, -1, 0), (1, 1, 0)
    ids[0], profiles[1], relevant[2] = -1, ITEMS, -5
    ids[3] = (0, 1, 2, 4, 7, 7)  # the first two have no genre
    profiles[4], ids[5] = (1, 1, 5, -1, -1), (1, 0, 0, -1, 1, 0)
    profiles[6] = np.resize(ids[6], 5)
    weights = rng.choice([1.0, 2.5, 0.25, 0.0, np.nan, -1.0], (10, 5))
    weights[7] = 0
    vectors = rng.normal(size=(ITEMS, 5)).astype(np.float32)
    vectors[4], vectors[7], vectors[9, 1] = 0, vectors[6] * 1e25, np.nan
    return ids, profiles, relevant, weights.astype(np.float32), genres, COUNTS, vectors


def in_catalog(ids):
    """Returns the places of ids that are no padding."""
    return [at for at, i in enumerate(ids) if 0 <= i < ITEMS]


def distribution(ids, weights, genres):
    """Adds up the genres of items, each divided among its genres; None if there are none."""
    sums = [0.0] * GENRES
    for i, weight in zip(ids, weights, strict=True):
        shares = [max(float(x), 0.0) if x == x else 0.0 for x in genres[i]]
        weight = float(weight) if weight > 0 else 0.0
        for genre, share in enumerate(shares):
            if share:
                sums[genre] += weight * share / math.fsum(shares)
    total = math.fsum(sums)
    return [x / total for x in sums] if total else None


def divergence(p, q, alpha):
    """Returns KL(p ‖ (1 − α)·q + α·p) by its definition."""
    mixed = [(1 - alpha) * b + alpha * a for a, b in zip(p, q, strict=True)]
    return math.fsum(a * math.log(a / b) for a, b in zip(p, mixed, strict=True) if a)


def similarity(a, b):
    """Returns the cosine of two vectors, 0 if one of them is 0."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return a @ b / ((np.linalg.norm(a) * np.linalg.norm(b)) or 1)


def by_loops(ids, profile, relevant, weights, genres, vectors, k):
    """Computes the values of one user at one cutoff; None where undefined."""
    kept = [int(ids[at]) for at in in_catalog(ids)]
    known = [int(profile[at]) for at in in_catalog(profile)]
    weights = [weights[at] for at in in_catalog(profile)]
    liked = {int(relevant[at]) for at in in_catalog(relevant)}
    top, values = kept[:k], {}
    base = math.fsum(COUNTS[known]) / len(known) if known else 0
    lift = (math.fsum(COUNTS[top]) / len(top) - base) / base if top and base else None
    values["lift"] = values["lift of users"] = lift
    for name, alpha, by_rank, of_profile in (
        ("plain", 0.01, [1] * len(kept), [1] * len(known)),
        ("weighted", ALPHA, [1 / (r + 1) for r in range(len(kept))], weights),
    ):
        p = distribution(known, of_profile, genres)
        q = distribution(top, by_rank[:k], genres) or [0] * GENRES
        defined = p and distribution(kept, by_rank, genres)
        values[name] = divergence(p, q, alpha) if defined else None
    distinct = list(dict.fromkeys(kept))
    ranked = sorted({int(c) for c in COUNTS if c}, reverse=True)
    terms = []
    for rank, i in enumerate(distinct[:k], 1):
        unexpected = (ITEMS + 1 - rank) / ITEMS
        if COUNTS[i]:
            unexpected -= (ITEMS + 1 - (ranked.index(COUNTS[i]) + 1)) / ITEMS
        terms.append(max(unexpected, 0) * (i in liked))
    defined = distinct and liked
    values["serendipity"] = math.fsum(terms) / len(terms) if defined else None
    return values


@pytest.mark.parametrize("x64", [False, *long(True)])
def test_values_are_those_of_loops(rng, x64):
    """Values, weights and undefined lists agree with the definitions, in float64."""
    arrays, limits = draw(rng), {"rtol": 3e-6, "atol": 2e-7}
    if x64:
        arrays = [
            x.astype(np.int64 if at < 3 else float) for at, x in enumerate(arrays)
        ]
        limits = {"rtol": 1e-12, "atol": 1e-12}
    ids, profiles, relevant, weights, genres, _, vectors = arrays
    with jax.enable_x64(x64):
        actual = jax.device_get(of_lists(*arrays))
    undefined = dict.fromkeys(actual, 0)
    for u in range(len(ids)):
        for column, k in enumerate(KS):
            user = (ids[u], profiles[u], relevant[u], weights[u])
            for name, value in by_loops(*user, genres, vectors, k).items():
                lists = actual[name]
                number = lists.values[u, column]
                assert number.dtype == (float if x64 else np.float32)
                np.testing.assert_allclose(number, value or 0, **limits)
                assert bool(lists.defined[u]) == (value is not None), (name, u)
                undefined[name] += value is None
    assert all(number >= 3 for number in undefined.values()), undefined
    assert (actual["plain"].values >= 0).all()


def test_mean_of_lifts_is_the_lift_of_means(rng):
    """The mean over a group is the papers' mean: of its mean profile, not of its users."""
    arrays = draw(rng)
    ids, profiles, *_ = arrays
    lists = of_lists(*arrays)["lift"]
    groups = np.arange(len(ids)) % 2
    actual = lists.by(groups, 2).compute()
    members = [
        np.flatnonzero(np.asarray(lists.defined) & (groups == g)) for g in (0, 1)
    ]
    for group, users in enumerate(members):
        before = np.mean(
            [COUNTS[profiles[u][in_catalog(profiles[u])]].mean() for u in users]
        )
        after = np.mean([COUNTS[ids[u][in_catalog(ids[u])]].mean() for u in users])
        np.testing.assert_allclose(
            actual[group, -1], (after - before) / before, rtol=3e-6
        )


def test_no_profile():
    """Users of whom nothing is known have no value."""
    ids, genres = np.array([[4, 0, 1], [5, 5, 5]]), np.eye(6, 3, dtype=np.float32)

    @jax.jit
    def beside(nothing):
        facts = {"counts": np.ones(6), "genres": genres}
        known = {"item_columns": facts, "profile_ids": nothing}
        ranking = jrm.rank_ids(ids, **known, profile_weights=nothing)
        nobody = jrm.rank_ids(nothing, ids, item_columns=facts)
        return (
            jrm.miscalibration.of(ranking),
            jrm.popularity_lift.of(ranking),
            jrm.serendipity.of(nobody),
        )

    for lists in beside(np.zeros((2, 0), np.int32)):
        assert not lists.defined.any() and not lists.values.any()


@pytest.mark.long
def test_rankings_are_read_by_their_items(rng):
    """A ranking gives the values of its ids, to the depth of its cut."""
    _, _, _, _, _, counts, _ = draw(rng)
    ids = rng.permuted(np.tile(np.arange(ITEMS), (10, 1)), axis=1)[:, :6]
    # Each id of a list once, as rankings ask for.
    relevant = rng.permuted(np.tile(np.arange(ITEMS), (10, 1)), axis=1)[:, :4]
    ranking = jrm.rank_ids(ids, relevant)
    for metric in (
        lambda x: jrm.exposure(x, ITEMS),
        lambda x: jrm.overlap(x, relevant, (2, 6)),
        lambda x: jrm.spearman_rho(relevant, x),
    ):
        chex.assert_trees_all_equal(metric(ranking), metric(ids))


METRICS = {
    name: functools.partial(getattr(jrm, name), k=KS)
    for name in ("popularity_lift", "miscalibration", "serendipity")
}


@pytest.mark.long
def test_every_source_knows_what_items_are(rng):
    """Rankings of scores, catalogues and users have the values of the ids that they show."""
    users, vectors = rng.normal(size=(9, 4)), rng.normal(size=(ITEMS, 4))
    users, vectors = users.astype(np.float32), vectors.astype(np.float32)
    facts = {"counts": COUNTS, "genres": rng.random((ITEMS, GENRES)) > 0.4}
    drawn = rng.permuted(np.tile(np.arange(ITEMS), (9, 1)), axis=1)
    relevant, profiles = drawn[:, :3], np.where(drawn[:, :4] % 3, drawn[:, 3:7], -1)
    profiles[0] = -1
    known = {"item_columns": facts, "profile_ids": profiles}
    scores = users @ vectors.T
    order = np.argsort(-scores)
    expected = jrm.measure(METRICS, jrm.rank_ids(order, relevant, **known))
    table = {name: functools.partial(x.func, k=(1, 3)) for name, x in METRICS.items()}
    sources = {
        "rank": jrm.rank_scores(scores, relevant, k=ITEMS, **known),
        "cut": jrm.rank_scores(scores, relevant, k=3, ties="stable", **known),
        "catalogue": jrm.rank_catalog(
            users, vectors, relevant, k=3, block_size=5, **known
        ),
    }
    for source, ranking in sources.items():
        for name, lists in jrm.measure(table, ranking).items():
            values = expected[name].values[:, :2]
            np.testing.assert_allclose(
                lists.values, values, rtol=2e-5, atol=1e-6, err_msg=f"{source} {name}"
            )
            np.testing.assert_array_equal(lists.defined, expected[name].defined)
    # Only relevant items have counted places, and other items are worth nothing.
    counted = jrm.rank_scores(scores, relevant, **known)
    lists = jrm.serendipity.of(counted, k=KS)
    np.testing.assert_allclose(lists.values, expected["serendipity"].values, rtol=2e-5)
    with pytest.raises(ValueError, match="have values that depend on their columns"):
        jrm.miscalibration.of(counted)


@pytest.mark.parametrize("how", ["candidates", *long("all items")])
def test_what_users_have_seen_is_their_profile(how, rng):
    """`evaluate_users` takes profiles from `seen`, of candidates too, and counts from it."""
    scores = rng.normal(size=(20, ITEMS)).astype(np.float32)
    drawn = [rng.permutation(ITEMS).tolist() for _ in range(20)]
    seen, relevant = [x[: u % 4] for u, x in enumerate(drawn)], [x[-2:] for x in drawn]
    genres = rng.random((ITEMS, GENRES)).astype(np.float32)
    names = ("popularity_lift@3", "miscalibration@3", "serendipity@3")
    of_loops = dict(zip(names, ("lift", "plain", "serendipity"), strict=True))
    options = {"candidates": [[*range(ITEMS)]] * 20} if how == "candidates" else {}
    options |= {
        "item_columns": {"genres": genres, "counts": COUNTS},
        "undefined": "skip",
    }
    evaluation = jrm.evaluate_users(names, scores, relevant, seen=seen, **options)
    for u, ids in enumerate(evaluation.retrieved_ids):
        user = ids, seen[u], relevant[u], np.ones(ITEMS), genres, genres, 3
        expected = by_loops(*user)
        for name, lists in evaluation.lists.items():
            value = expected[of_loops[name]]
            np.testing.assert_allclose(
                lists.values[u], value or 0, rtol=2e-5, atol=1e-6
            )
            assert lists.defined[u] == (value is not None)
    if how == "all items":
        lists = jrm.evaluate_users(names[0], scores, relevant, seen=seen).lists[
            names[0]
        ]
        counts = np.bincount([i for x in seen for i in x], minlength=ITEMS)
        before = [counts[x].mean() for x in seen if x]
        after = counts[evaluation.retrieved_ids].mean(1)[[bool(x) for x in seen]]
        np.testing.assert_allclose(
            lists.mean().compute(), np.sum(after) / np.sum(before) - 1, rtol=1e-5
        )
        with pytest.raises(
            ValueError, match="but none were passed; .* seen to evaluate"
        ):
            facts = {"genres": genres}
            jrm.evaluate_users(names[1], scores, relevant, item_columns=facts)


@pytest.mark.parametrize("k", [2, *long(1, 3, 4)])
def test_lift_is_the_mean_over_orders(k):
    """The lift at a cut through tied items is the mean over all of their orders."""
    scores, counts = np.float32([[2, 1, 1, 1, 0]]), np.array([3.0, 8, 1, 6, 2])
    known = {"item_columns": {"counts": counts}, "profile_ids": [[0, 4]]}
    ranking = jrm.rank_scores(scores, [[2]], k=k, **known)
    orders = [[0, *x, 4] for x in itertools.permutations((1, 2, 3))]
    expected = np.mean([counts[x[:k]].mean() for x in orders]) / 2.5 - 1
    actual = jrm.popularity_lift.of(ranking, k=k).values
    np.testing.assert_allclose(actual, [expected], rtol=2e-5)


IDS = {"text": "abcd", "numbers": (70, 3, 12, -5)}


@pytest.mark.parametrize("kind", IDS)
def test_items_are_known_by_ids_of_any_kind(kind):
    """Columns by id, in any order, equal columns by row; as dicts, Series and frames."""
    rows = jrm.rank_ids(
        [[3, 0, 2], [1, 2, -1]],
        [[2, 3], [1, -1]],
        item_columns={"counts": [9, 4, 4, 0], "genres": np.eye(4)[:, :3]},
        profile_ids=[[0, -1], [2, 1]],
        profile_weights=[[2, 0], [1, 3]],
    )
    name = dict(enumerate(IDS[kind]))
    pandas = pytest.importorskip("pandas")
    counts = {name[i]: (9, 4, 4, 0)[i] for i in (2, 0, 3, 1)}
    genres = pandas.DataFrame(np.eye(4)[:, :3], index=[name[i] for i in range(4)])
    columns = {"counts": counts, "genres": genres}
    ids = jrm.rank_ids(
        {"x": [name[3], name[0], name[2]], "y": [name[1], name[2]]},
        {"y": {name[1]}, "x": [name[2], name[3]]},
        item_columns=columns,
        profile_ids={"x": [name[0]], "y": [name[2], name[1]]},
        profile_weights={"x": [2], "y": [1, 3]},
    )
    chex.assert_trees_all_close(jrm.measure(METRICS, ids), jrm.measure(METRICS, rows))


@pytest.mark.long
def test_integers_that_are_no_rows_stay_ids():
    """They are looked up inside `jax.jit` too; an unknown id makes NaN there."""
    columns = {"counts": {70: 9, 3: 4, 12: 4, 44: 0}}
    ids = np.array([[44, 70, 12], [3, 12, -1]])

    def lists(ids):
        return jrm.rank_ids(ids, ids[:, 1:], item_columns=columns)

    np.testing.assert_array_equal(lists(ids).items, ids)
    values = jrm.serendipity.of(lists(ids), k=2).values
    traced = jax.jit(lambda x: jrm.serendipity.of(lists(x), k=2).values)
    np.testing.assert_array_equal(traced(ids), values)
    ids[1, 0] = 5
    np.testing.assert_array_equal(np.isnan(traced(ids)), [False, True])


def test_ids_beyond_the_catalogue_have_no_value():
    """Inside `jax.jit` a list or a profile with such an id is NaN, and no other list is."""
    facts = {"counts": COUNTS, "genres": np.eye(ITEMS)}

    @jax.jit
    def measured(ids, relevant, profiles):
        known = {"item_columns": facts, "profile_ids": profiles}
        return jrm.measure(METRICS, jrm.rank_ids(ids, relevant, **known))

    good, bad = np.array([[3, 1, 2]] * 2), np.array([[3, 1, 2], [3, 1, ITEMS]])
    for number, names in ((0, METRICS), (1, ["serendipity"]), (2, [*METRICS][:2])):
        arrays = [bad if i == number else good for i in range(3)]
        for name, lists in measured(*arrays).items():
            is_unknown = np.isnan(lists.values).any(1).tolist()
            assert is_unknown == [False, name in names], (number, name)
        argument = ("retrieved_ids", "relevant_ids", "profile_ids")[number]
        with pytest.raises(ValueError, match=f"{argument} goes up to {ITEMS}"):
            measured.__wrapped__(*arrays)
    scores = np.zeros((2, ITEMS), np.float32)
    with pytest.raises(ValueError, match=f"profile_ids goes up to {ITEMS}"):
        jrm.rank_scores(scores, good, k=2, item_columns=facts, profile_ids=bad)
