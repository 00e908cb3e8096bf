"""Options of `compare` beside the difference of two systems: clusters, families, sides."""

import dataclasses
import functools
import itertools

import numpy as np
import pytest
from marks import long
from per_lists import lists_of, ratio

import jax_rank_metrics as jrm
from jax_rank_metrics._verdicts.inference import studentised

# Tests of forty lists share the programs of one number of samples.
SAMPLES = 2000
compare = functools.partial(jrm.compare, samples=SAMPLES)


def systems_of(rng, lists=40):
    """Returns the values of three systems, each a little better than the one before."""
    base = rng.random(lists)
    noise = 0.1 * rng.normal(size=(3, lists))
    return {name: base + 0.04 * i + noise[i] for i, name in enumerate("xyz")}


def flips(terms, threshold, side=1):
    """Returns the share of sign patterns under which a sum reaches the threshold."""
    patterns = itertools.product((-1, 1), repeat=len(terms))
    sums = np.array([np.dot(signs, terms) for signs in patterns])
    return np.mean(side * sums >= side * threshold - 1e-9)


def test_exact_p_by_brute_force(rng):
    """p agrees with all sign patterns, with weights, ties and lists that do not count."""
    a, b = rng.random((2, 9))
    weights = rng.gamma(2, size=9)
    b[2], weights[5] = a[2], 0
    result = jrm.compare(lists_of(a, weights), lists_of(b, weights)).only
    terms = weights * (b - a)
    assert result.p == pytest.approx(2 * flips(terms, abs(terms.sum())), abs=1e-9)
    assert result.wins == np.sum((b > a) & (weights > 0)) and result.ties == 1
    assert result.wins + result.ties + result.losses == 8 == result.lists


def test_clusters_by_brute_force(rng):
    """Signs flip by cluster, and errors are the errors of clusters' weighted sums."""
    a, b, weights = rng.random((3, 24)).astype(np.float32)
    weights[3] = 0
    users = [f"user {i}" for i in rng.integers(0, 8, 24)]
    result = jrm.compare(
        lists_of(a, weights), lists_of(b, weights), clusters=users
    ).only
    names = sorted(set(users))
    in_cluster = np.array(users) == np.array(names)[:, None]
    terms = (in_cluster * weights * (b - a).astype(np.float64)).sum(1)
    assert result.p == pytest.approx(2 * flips(terms, abs(terms.sum())), abs=1e-9)
    assert result.difference == pytest.approx(terms.sum() / weights.sum())
    assert (result.lists, result.clusters) == (23, len(names))
    assert result.wins + result.ties + result.losses == 23
    assert f"23 lists, {len(names)} clusters" in repr(result)
    totals = (in_cluster * weights).sum(1)
    assert result.n_eff == pytest.approx(totals.sum() ** 2 / (totals**2).sum())
    # Joined beforehand, the same lists are the same clusters.
    sides = [lists_of(x, weights).cluster(users) for x in (a, b)]
    joined = jrm.compare(*sides).only
    for field in ("difference", "low", "high", "p", "effect_size"):
        expected = getattr(joined, field)
        assert getattr(result, field) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("test", ["permutation", *long("bootstrap", "t", "tukey")])
def test_clusters_of_any_form(rng, test):
    """A dict gives clusters to ids of lists, and clusters of one list change nothing."""
    pandas = pytest.importorskip("pandas")
    a, b = rng.random((2, 40))
    ids = [f"q{i}" for i in range(40)]
    by_id = [dict(zip(ids, x, strict=True)) for x in (a, b)]
    clusters = {name: i // 4 for i, name in enumerate(ids)}
    options = {"test": test, "samples": SAMPLES}
    result = jrm.compare(*by_id, clusters=clusters, **options).only
    backwards = [dict(reversed(x.items())) for x in by_id]
    shuffled = jrm.compare(by_id[0], backwards[1], clusters=clusters, **options).only
    assert shuffled == result and result.clusters == 10
    assert jrm.compare(a, b, clusters=np.arange(40) // 4, **options).only == result
    alone, plain = (
        jrm.compare(a, b, clusters=x, **options).only for x in (range(40), None)
    )
    assert (alone.p, alone.low) == (plain.p, plain.low)
    assert plain.clusters is None and alone.clusters == 40
    # The index of a Series says which list each cluster is of; without ids, its number.
    column = pandas.Series(clusters).iloc[rng.permutation(40)]
    assert jrm.compare(*by_id, clusters=column, **options).only == result
    numbers = pandas.Series(clusters.values())[::-1]
    assert jrm.compare(a, b, clusters=numbers, **options).only == result


def test_systems_without_a_baseline(rng):
    """A dict of systems is compared with its first, or in all pairs, by any structure."""
    systems = systems_of(rng)
    others = {name: systems[name] for name in "yz"}
    result = compare(systems)
    assert {x.baseline for x in result} == {"x"}
    unnamed = [dataclasses.replace(x, baseline=None) for x in result]
    assert unnamed == [*compare(systems["x"], others)]
    pairs = compare(systems, pairs="all")
    assert [(x.baseline, x.system) for x in pairs] == [
        *(("x", "y"), ("x", "z"), ("y", "z"))
    ]
    for comparison in pairs:
        names = comparison.baseline, comparison.system
        alone = compare(*(systems[name] for name in names)).only
        assert alone.p == comparison.p
        assert alone.difference == pytest.approx(comparison.difference)
        assert comparison.p_corrected >= comparison.p
    metrics = {n: {"arp": x, "map": np.stack([x, x], 1)} for n, x in systems.items()}
    of_pair = compare(metrics, pairs="all", test="t").select(baseline="y")
    assert of_pair["arp"].lower_is_better and len(of_pair.select(metric="map")) == 2
    assert compare({"arp": systems["x"], "y": systems["y"]})["y"].wins > 20
    # Each system may hold the lists in its own order.
    ids = [f"q{i}" for i in range(40)]
    by_id = {name: dict(zip(ids, x, strict=True)) for name, x in systems.items()}
    by_id["y"] = dict(reversed(by_id["y"].items()))
    again = compare(by_id, pairs="all")
    assert again.select(baseline="y").only.p == pairs.select(baseline="y").only.p
    clusters = np.arange(40) // 3
    clustered = compare(by_id, pairs="all", clusters=clusters)[2]
    alone = compare(systems["y"], systems["z"], clusters=clusters).only
    assert clustered.p == alone.p


def test_corrections(rng):
    """In similar comparisons, maxT finds more than Holm; the rate of Benjamini, most."""
    base = rng.random(40)
    improved = base + 0.035 + 0.1 * rng.normal(size=40)
    systems = {str(i): improved + 0.03 * rng.normal(size=40) for i in range(3)}
    holm, max_t, rate = (
        np.array([x.p_corrected for x in compare(base, systems, correction=correction)])
        for correction in ("holm", "maxT", "fdr")
    )
    p = [x.p for x in compare(base, systems)]
    assert (max_t < holm).all() and (max_t >= p).all() and (rate < holm).any()


def test_tukey(rng):
    """p of a pair is its corrected p, for all metrics and in dicts of a baseline too."""
    systems = systems_of(rng)
    result = compare(systems, pairs="all", test="tukey")
    for comparison in result:
        assert comparison.p == comparison.p_corrected
        assert (comparison.correction, comparison.samples) == ("tukey", SAMPLES)
    p = [x.p for x in result]
    with_baseline = compare(systems, test="tukey")
    assert with_baseline["z"].p == p[1] == with_baseline["z"].p_corrected
    cutoffs = {name: np.stack([x[::-1], x], 1) for name, x in systems.items()}
    wide = compare(cutoffs, pairs="all", test="tukey")
    assert [x.p for x in wide.select(cutoff=1)] == p
    # Weights that differ by rounding are the same.
    near = [np.full(40, x, np.float32) for x in (1, np.nextafter(np.float32(1), 2), 1)]
    weighted = {
        name: lists_of(systems[name], weights)
        for name, weights in zip("xyz", near, strict=True)
    }
    rounded = compare(weighted, pairs="all", test="tukey")
    np.testing.assert_allclose([x.p for x in rounded], p, atol=0.01)


def test_sides(rng):
    """One-sided p are the tails of all patterns, and intervals have one end."""
    a, b = rng.random((2, 9))
    d = b - a
    for alternative, side in (("greater", 1), ("less", -1)):
        result = jrm.compare(a, b, alternative=alternative).only
        assert result.p == pytest.approx(flips(d, d.sum(), side))
        assert [result.high, -result.low][side < 0] == np.inf
        for margin in (0.02, 0.5):
            shifted = d + side * margin
            result = jrm.compare(a, b, alternative=alternative, margin=margin).only
            assert result.p == pytest.approx(flips(shifted, shifted.sum(), side))
            assert result.margin == margin and result.difference == pytest.approx(
                d.mean()
            )
    greater, less, both = (
        jrm.compare(a, b, alternative=x, margin=0.5).only
        for x in ("greater", "less", "two-sided")
    )
    assert both.p == max(greater.p, less.p) and "p is for within ±0.5" in repr(both)
    assert "p is for above 0" in repr(jrm.compare(a, b, alternative="greater").only)


@pytest.mark.parametrize("test", ["permutation", *long("bootstrap"), "t"])
def test_intervals_agree_with_sides(rng, test):
    """An end lies beyond the margin just if p is below 0.05, also for equivalence."""
    a = rng.random((40, 30))
    b = a + rng.normal(rng.normal(0, 0.03, 30), 0.1, (40, 30))
    slack = 0.02
    options = {"test": test, "correction": "fdr", "samples": SAMPLES}
    for margin, alternative in itertools.product((None, 0.02), ("greater", "less")):
        limit = margin or 0.0
        for x in jrm.compare(a, b, margin=margin, alternative=alternative, **options):
            is_within = x.low > -limit if alternative == "greater" else x.high < limit
            assert is_within == (x.p < 0.05) or abs(x.p - 0.05) < slack
    for x in jrm.compare(a, b, margin=0.02, level=0.9, **options):
        is_within = -0.02 < x.low and x.high < 0.02
        assert is_within == (x.p < 0.05) or abs(x.p - 0.05) < slack


def test_resamples_answer_all_hypotheses(rng, monkeypatch):
    """Equivalence asks two questions and has an interval, all of the same resamples."""
    calls, draw = [], studentised.studentised_bootstrap
    monkeypatch.setattr(
        studentised, "studentised_bootstrap", lambda *x: calls.append(x) or draw(*x)
    )
    compare(*rng.random((2, 40)), test="bootstrap", margin=0.1)
    assert len(calls) == 1


def test_other_tests_of_a_margin_warn_where_few_lists_differ(rng):
    """They take a loss that no list shows for none."""
    a, b = np.zeros(40), (np.arange(40) < 5).astype(float)
    for test in ("permutation", "bootstrap"):
        with pytest.warns(UserWarning, match="5 of 40 lists differ, .* pass test='t'"):
            jrm.compare(a, b, test=test, margin=0.1, samples=200)
    jrm.compare(a, b, test="t", margin=0.1)


def test_margins_of_constant_differences():
    """Differences that are all equal leave little doubt on which side of it they are."""
    for test in ("bootstrap", "t"):
        compared = functools.partial(compare, np.zeros(10), np.full(10, 0.1), test=test)
        assert (
            compared(margin=0.2).only.p < 0.001 and compared(margin=0.05).only.p > 0.9
        )


def test_mcnemar(rng):
    """Equals the permutation test of all patterns, however many lists there are."""
    a, b = (rng.random((2, 30)) < 0.3).astype(np.float32)
    for alternative, mid_p in itertools.product(
        ("two-sided", "greater", "less"), (False, True)
    ):
        options = {"alternative": alternative, "mid_p": mid_p}
        exact = jrm.compare(a, b, samples=2**20, **options).only
        result = jrm.compare(a, b, test="mcnemar", **options).only
        assert result.p == pytest.approx(exact.p) and result.samples == 0
        assert (result.low, result.high) == (exact.low, exact.high)
    assert jrm.compare(a, b, mid_p=True).only.p < jrm.compare(a, b).only.p


def test_ratios_of_other_weights(rng):
    """The difference is between two means, and all tests nearly agree on many lists."""
    retrieved = rng.integers(0, 6, (2, 60))
    hits = rng.binomial(retrieved, 0.4)
    a, b = (ratio(*x) for x in zip(hits, retrieved, strict=True))
    result = jrm.compare(a, b, samples=9999).only
    sums_hits, sums_retrieved = hits.sum(1), retrieved.sum(1)
    means = sums_hits / sums_retrieved
    assert result.difference == pytest.approx(means[1] - means[0], rel=1e-5)
    assert result.test == "permutation" and result.lists == (retrieved > 0).any(0).sum()
    both = (retrieved > 0).all(0)
    assert result.wins + result.ties + result.losses == both.sum()
    student = jrm.compare(a, b, test="t").only
    assert result.low == student.low and result.p == pytest.approx(student.p, abs=0.03)
    with pytest.warns(UserWarning, match=r"59 lists count as 39.1 .* pass test='t' or"):
        resampled = jrm.compare(a, b, test="bootstrap", samples=9999).only
    assert resampled.p == pytest.approx(student.p, abs=0.03)
    assert resampled.low == pytest.approx(student.low, abs=0.02)
    wide = (np.stack([x, x], axis=-1) for x in (hits, retrieved))
    cutoffs = jrm.compare(*(ratio(*x) for x in zip(*wide, strict=True)), test="t")
    assert cutoffs[1].low == pytest.approx(student.low, rel=1e-5)
    # Ratios of the same weights are compared as any values are.
    same = ratio(hits[1], retrieved[0])
    assert jrm.compare(a, same).only.test == "permutation"


@pytest.mark.filterwarnings("ignore:p is never below")
def test_few_lists_that_differ(rng):
    """The repr says how many of many lists differ, and a call when p cannot be small."""
    a = rng.random(200)
    b = np.where(np.arange(200) < 3, a + 0.1, a)
    text = repr(jrm.compare(a, b).only)
    assert "3 wins 197 ties 0 losses, 3 of 200 lists differ)" in text
    count = jrm.compare({"num_ret": a}, {"num_ret": b})["num_ret"]
    assert "3 of 200 lists differ" in repr(count)
    assert "200 lists)" in repr(jrm.compare(a, rng.random(200), test="t").only)
    systems = {str(i): rng.random(200) for i in range(10)}
    match = "100 samples cannot resolve smaller p values"
    with pytest.warns(UserWarning, match=match) as record:
        jrm.compare(systems, samples=100)
    assert [warning.filename for warning in record] == [__file__]
