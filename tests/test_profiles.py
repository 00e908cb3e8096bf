"""Values of recommendations, by themselves and beside profiles, against loops."""

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
    options = {"k": KS, "discount_fn": jrm.reciprocal_discount, "alpha": ALPHA}
    return {
        "lift": jrm.popularity_lift(ids, counts, profiles, KS),
        "lift of users": jrm.popularity_lift(
            ids, counts, profiles, KS, ratio_of_means=False
        ),
        "plain": jrm.miscalibration(ids, genres, profiles, KS),
        "weighted": jrm.miscalibration(
            ids, genres, profiles, profile_weights=weights, **options
        ),
        "serendipity": jrm.serendipity(ids, relevant, counts, KS),
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
    """Returns the cosine of two vectors, 0 where one of them is 0."""
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
    """Every value, weight and undefined list is that of the definitions, in float64."""
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
    """The mean over a group is that of papers: of its mean profile, not of its users."""
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
        return (
            jrm.miscalibration(ids, genres, nothing, profile_weights=nothing),
            jrm.popularity_lift(ids, np.ones(6), nothing),
            jrm.serendipity(nothing.astype(int), ids, np.ones(6)),
        )

    for lists in beside(np.zeros((2, 0), np.int32)):
        assert not lists.defined.any() and not lists.values.any()


@pytest.mark.long
def test_rankings_are_read_by_their_items(rng):
    """A ranking gives the values of its ids, to the depth where it was cut."""
    ids, profiles, relevant, weights, genres, counts, _ = draw(rng)
    ids = rng.permuted(np.tile(np.arange(ITEMS), (10, 1)), axis=1)[:, :6]
    # Each id of a list once, as rankings ask for.
    relevant = rng.permuted(np.tile(np.arange(ITEMS), (10, 1)), axis=1)[:, :4]
    ranking = jrm.rank_ids(ids, relevant)
    for metric in (
        lambda x: jrm.serendipity(x, relevant, counts, 3),
        lambda x: jrm.popularity_lift(x, counts, profiles, 3),
        lambda x: jrm.miscalibration(x, genres, profiles, 3, profile_weights=weights),
        lambda x: jrm.exposure(x, ITEMS),
        lambda x: jrm.overlap(x, relevant, (2, 6)),
        lambda x: jrm.spearman_rho(relevant, x),
    ):
        chex.assert_trees_all_equal(metric(ranking), metric(ids))
