"""Several training seeds of a system: reading, two-way tests, and scores of seeds."""

import json

import jax
import numpy as np
import pytest
from late_imports import LateImport
from per_lists import lists_of

import jax_rank_metrics as jrm
from jax_rank_metrics._verdicts.inference import resample, studentised
from jax_rank_metrics._verdicts.inference.weighted_means import error_with_seeds

stats = LateImport("scipy.stats")

SAMPLES = 2000


def runs_of(rng, seeds=5, lists=30, gain=0.0, spread=0.05):
    """Returns the values of every seed, `[seeds, lists]`, around a common difficulty."""
    difficulty = np.linspace(0.2, 0.8, lists) + gain
    values = difficulty + spread * rng.normal(size=(seeds, 1))
    return values + 0.1 * rng.normal(size=(seeds, lists))


def compared(a, b, **options):
    """Compares with few resamples."""
    return jrm.compare(a, b, samples=SAMPLES, **options).only


@pytest.mark.long
def test_the_difference_is_that_of_means_over_seeds_and_lists(rng):
    """Difference, wins and effect size are computed from means over seeds.

    A system of one model is fixed: only the seeds of the other are drawn.
    """
    a, b = runs_of(rng), runs_of(rng, seeds=6, gain=0.1)
    result = compared(jrm.Seeds(a), jrm.Seeds(b))
    means = jrm.compare(a.mean(0), b.mean(0), test="t").only
    assert result.difference == pytest.approx(b.mean() - a.mean())
    assert result.effect_size == pytest.approx(means.effect_size)
    assert (result.wins, result.losses) == (means.wins, means.losses)
    assert (result.test, result.samples, result.lists) == ("bootstrap", SAMPLES, 30)
    assert (result.seeds.seeds_a, result.seeds.seeds_b) == (5, 6)
    assert means.seeds is None
    # Seeds that vary make the difference less certain than its lists do.
    assert result.high - result.low > means.high - means.low
    assert json.loads(json.dumps(result.to_dict()))["seeds"]["seeds_b"] == 6
    fixed, scores = compared(a[0], jrm.Seeds(b), test="t").seeds, b.mean(1)
    assert (fixed.seeds_a, fixed.seeds_b) == (None, 6)
    assert fixed.iqm_a == pytest.approx((a[0].mean(),) * 3)
    assert fixed.b_beats_a.value == np.mean(scores > a[0].mean())
    systems = {"a": a[0], "b": jrm.Seeds(b), "c": a[0] + 0.1}
    ab, ac, bc = jrm.compare(systems, pairs="all", samples=SAMPLES)
    assert ab.seeds and bc.seeds and not ac.seeds
    assert (ab.test, ac.test) == ("bootstrap", "permutation")


def t_by_loops(a, b, weights, lists, seeds_a, seeds_b):
    """Returns the mean and its two-way error, for lists and seeds that were drawn."""
    share = weights[lists] / weights[lists].sum()
    difference = b[seeds_b][:, lists].mean(0) - a[seeds_a][:, lists].mean(0)
    mean = share @ difference
    variance = (share**2 * (difference - mean) ** 2).sum()
    n_eff = weights.sum() ** 2 / (weights**2).sum()
    variance *= n_eff / (n_eff - 1)
    for values, seeds in ((a, seeds_a), (b, seeds_b)):
        scores = [values[seed][lists] @ share for seed in seeds]
        variance += np.var(scores, ddof=1) / len(scores) if len(scores) > 1 else 0
    return mean, np.sqrt(variance)


@pytest.mark.parametrize("seeds_a", [3, 1])
def test_resamples_are_those_of_a_loop(rng, seeds_a):
    """t* of every resample agrees with lists and seeds drawn and studentised one by one."""
    lists, samples = 20, 8
    sides = runs_of(rng, seeds_a, lists), runs_of(rng, 4, lists)
    weights = rng.uniform(0.5, 2, lists)
    key = jax.random.key(5)
    resamples = studentised.studentised_bootstrap(
        [sides], weights[:, None], key, samples
    )
    drawn_t, means, errors = (x[..., 0] for x in resamples)
    words, side_keys = resample.seeds_of(key, samples), jax.random.split(key)
    multinomial_draws = jax.jit(resample.multinomial_draws, static_argnums=0)
    counts = [np.asarray(multinomial_draws(lists, words[0], words[1:])).T]
    counts += [
        resample.draws_of_seeds(len(x), samples, side_key)
        for x, side_key in zip(sides, side_keys, strict=True)
    ]
    plain = [np.arange(x.shape[1]) for x in counts]
    mean, error = t_by_loops(*sides, weights, *plain)
    np.testing.assert_allclose((means, errors), (mean, error))
    for sample, t in enumerate(drawn_t):
        drawn = [np.repeat(np.arange(x.shape[1]), x[sample]) for x in counts]
        drawn_mean, drawn_error = t_by_loops(*sides, weights, *drawn)
        assert t == pytest.approx((drawn_mean - mean) / drawn_error, rel=2e-4)


@pytest.mark.parametrize("sides", [(3, 1), (3, 4), (5, 1), (5, 4)])
def test_the_error_is_that_of_variance_components(rng, sides):
    """The squared error adds up components of an analysis of variance."""
    a, b = (runs_of(rng, seeds, 25, spread=0.3) for seeds in sides)
    lists = a.shape[1]
    b = b + 0.3 * rng.normal(size=lists)  # more than the variance of single pairs
    difference = b.mean(0) - a.mean(0)
    of_lists = np.var(difference, ddof=1) / lists
    expected, spread = of_lists, of_lists**2 / (lists - 1)
    for values in (a, b):
        seeds = len(values)
        if seeds == 1:
            continue
        of_seeds = np.var(values.mean(1), ddof=1) / seeds
        residuals = values - values.mean(1, keepdims=True)
        residuals = residuals - residuals.mean(0)
        of_pairs = (residuals**2).sum() / ((lists - 1) * (seeds - 1))
        expected += of_seeds - of_pairs / (lists * seeds)
        spread += of_seeds**2 / (seeds - 1)
    result = error_with_seeds(
        np.sqrt(of_lists), lists - 1, (a, b), np.full(lists, 1 / lists)
    )
    assert result == pytest.approx((np.sqrt(expected), expected**2 / spread))


@pytest.mark.parametrize("test", ["bootstrap", "t"])
def test_sides_and_margins(rng, test):
    """One-sided p add up, and intervals agree with p at their level."""
    a, b = jrm.Seeds(runs_of(rng)), jrm.Seeds(runs_of(rng, gain=0.06))
    both, greater, less = (
        compared(a, b, test=test, alternative=side)
        for side in ("two-sided", "greater", "less")
    )
    assert greater.p + less.p == pytest.approx(1, abs=2 / SAMPLES)
    assert greater.p < both.p and less.high > both.difference > greater.low
    assert compared(a, b, test=test, margin=0.5).p < 0.05
    for result in (both, greater):
        how = {"alternative": result.alternative, "level": 1 - result.p - 0.002}
        assert compared(a, b, test=test, **how).low > 0
    swapped = compared(b, a, test=test, alternative="less")
    assert swapped.p == pytest.approx(greater.p, rel=0.5, abs=0.02)


def test_runs_are_paired_by_ids(rng):
    """Runs in another order of lists, metrics or cutoffs give the same results."""
    a, b = runs_of(rng, lists=12), runs_of(rng, lists=12)
    names = [f"q{index}" for index in range(12)]

    def shuffled(runs):
        by_seed = []
        for run in runs:
            order = rng.permutation(12)
            by_seed.append({"map": {names[i]: run[i] for i in order}})
        return jrm.Seeds(by_seed)

    expected = compared(jrm.Seeds(a), jrm.Seeds(b), test="t")
    result = compared(shuffled(a), {"b": shuffled(b)}, test="t")
    assert result.p == pytest.approx(expected.p)
    assert result.wins == expected.wins
    cutoffs = jrm.Seeds(np.stack([a, b], axis=2))
    backwards = jrm.Seeds(np.stack([b, a], axis=2))
    first, second = jrm.compare(cutoffs, backwards, test="t")
    assert first.p == pytest.approx(second.p) == pytest.approx(expected.p)


def test_lists_undefined_for_a_seed(rng):
    """An undefined value counts as it does for a single seed, in that seed alone."""
    runs, defined = runs_of(rng, lists=10), np.ones((5, 10), bool)
    defined[2, 4] = False
    lists = [
        lists_of(np.where(known, run, 0), defined=known)
        for run, known in zip(runs, defined, strict=True)
    ]
    seeds, zeros = jrm.Seeds(lists), np.zeros(10)
    for undefined, fill in (("zero", 0), ("one", 1)):
        expected = np.where(defined, runs, fill).mean()
        result = compared(zeros, seeds, undefined=undefined, test="t")
        assert result.difference == pytest.approx(expected, rel=1e-6)
        means = seeds.mean_lists(undefined)
        assert means.mean().compute() == pytest.approx(expected, rel=1e-6)
    skipped = compared(zeros, seeds, undefined="skip", test="t")
    assert skipped.lists == 9 == seeds.mean_lists("skip").mean().lists
    assert skipped.difference == pytest.approx(np.delete(runs, 4, 1).mean(), rel=1e-6)


def test_clusters_join_the_lists_of_every_seed(rng):
    """Clusters give what their mean values give as lists of their weight."""
    a, b, clusters = runs_of(rng), runs_of(rng), np.arange(30) // 3
    joined = [jrm.Seeds(x.reshape(5, 10, 3).mean(2)) for x in (a, b)]
    result = compared(jrm.Seeds(a), jrm.Seeds(b), clusters=clusters, test="t")
    assert result.p == pytest.approx(compared(*joined, test="t").p)
    assert (result.lists, result.clusters) == (30, 10)


def test_scores_follow_the_direction_of_the_metric(rng):
    """Better runs win: the lower ones if lower is better."""
    a, b = runs_of(rng), runs_of(rng, gain=0.01)
    win = compared(jrm.Seeds(a), jrm.Seeds(b), test="t").seeds.b_beats_a.value
    loss = compared(jrm.Seeds(a), jrm.Seeds(b), test="t", lower=True).seeds.b_beats_a
    assert win == np.mean(b.mean(1)[None] > a.mean(1)[:, None])
    assert loss.value == pytest.approx(1 - win) and loss.low <= loss.value <= loss.high
    named = [jrm.Seeds([{"num_retrieved": run} for run in x]) for x in (a, b)]
    assert compared(*named, test="t").seeds.b_beats_a is None


def test_few_seeds_are_warned_of(rng):
    """Below five, seeds are a poor sample of a procedure."""
    runs = runs_of(rng)
    five, three = jrm.Seeds(runs), jrm.Seeds(runs[:3])
    for call in (
        lambda: compared(five, three, test="t"),
        lambda: jrm.leaderboard({"x": five, "y": three}, samples=99),
    ):
        with pytest.warns(UserWarning, match=r"3 seeds .* 15 %") as record:
            call()
        assert [warning.filename for warning in record] == [__file__]


def test_tables_hold_means_over_seeds(rng):
    """A table has the mean over seeds and lists, and an interval that allows for both."""
    runs = runs_of(rng, spread=0.2)
    seeds = jrm.Seeds([{"mrr": run, "recall": np.stack([run, run], 1)} for run in runs])
    results = {"many": seeds, "first": {"mrr": lists_of(runs[0])}}
    rows = json.loads(jrm.table(results, format="json"))
    cells = {(row["run"], row["metric"]): row for row in rows}
    row, of_lists = cells["many", "mrr"], cells["first", "mrr"]
    lists, of_seeds = runs.mean(0), runs.mean(1)
    residuals = runs - runs.mean(1, keepdims=True) - lists + runs.mean()
    variance = lists.var(ddof=1) / 30 + of_seeds.var(ddof=1) / 5
    variance -= (residuals**2).sum() / (29 * 4) / (30 * 5)
    assert row["mean"] == pytest.approx(runs.mean())
    assert row["std_error"] == pytest.approx(np.sqrt(variance))
    assert row["high"] - row["mean"] > stats.t.ppf(0.975, 29) * np.sqrt(variance)
    assert row["lists"] == of_lists["lists"] == 30
    assert cells["many", "recall[1]"]["low"] == row["low"]
    single = json.loads(jrm.table({"x": {"mrr": jrm.Seeds(runs[:1])}}, format="json"))
    assert single[0]["mean"] == pytest.approx(of_seeds[0]) and single[0]["low"] is None


def test_interquartile_means(rng):
    """A quarter of the seeds is left out on either side, in every resample."""
    runs = runs_of(rng, seeds=9, spread=0.3)
    result = jrm.Seeds(runs).iqm(level=0.8, samples=400)
    scores = runs.mean(1)
    assert result.value == pytest.approx(np.mean(sorted(scores)[2:-2]))
    counts = resample.draws_of_seeds(9, 400, jax.random.key(0))
    drawn = [np.mean(sorted(np.repeat(scores, x))[2:-2]) for x in counts]
    assert result[1:] == pytest.approx(np.quantile(drawn, [0.1, 0.9]))
    metrics = jrm.Seeds([{"mrr": run, "map": np.stack([run, run], 1)} for run in runs])
    by_metric = metrics.iqm(level=0.8, samples=400)
    assert by_metric == {"mrr": result, "map": (result, result)}
    assert metrics.mean_lists()["map"].values.shape == (30, 2)
    assert len(metrics) == 9 and "9 seeds, 30 lists" in repr(metrics)


def test_one_run_does_not_show_how_runs_vary():
    """The interval of a single seed is unbounded, at every cutoff."""
    result = jrm.Seeds([[0.2, 0.4]]).iqm(samples=50)
    assert result == (pytest.approx(0.3), -np.inf, np.inf)
    assert jrm.Seeds([[[0.2, 0.1], [0.4, 0.1]]]).iqm(samples=50)[1].high == np.inf
