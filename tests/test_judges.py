"""Few lists that people have labelled, and many that a judge has: means, differences, plans."""

import dataclasses
import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from late_imports import LateImport
from per_lists import evaluation_of, lists_of, measured, power_of

import jax_rank_metrics as jrm
from jax_rank_metrics._verdicts.inference import resample

plt = LateImport("matplotlib.pyplot")
pd = LateImport("pandas")
stats = LateImport("scipy.stats")

IDS = [f"q{i}" for i in range(40)]
SAMPLE = [31, 2, 17, 8, 25, 11, 39, 0, 5, 22, 14, 36]


def labelled(rng, shift=0.1):
    """Returns values of people by id, for 12 lists, and values of a judge, for 40."""
    values, noise = rng.random((2, 40), np.float32)
    judge = 0.7 * values + 0.3 * noise + shift
    human = {IDS[i]: float(values[i]) for i in SAMPLE}
    return human, dict(zip(IDS, judge.tolist(), strict=True))


def mean_of(values, weights):
    """Returns the weighted mean."""
    return np.average(values, weights=weights)


def size_of(weights):
    """Returns the effective number of lists."""
    return np.sum(weights) ** 2 / np.sum(np.square(weights))


def product_of(x, y, weights):
    """Returns the weighted covariance, with n − 1 for n effective lists as its divisor."""
    n = size_of(weights)
    terms = (x - mean_of(x, weights)) * (y - mean_of(y, weights))
    return mean_of(terms, weights) * n / (n - 1)


def pulls_of(x, weights, freedom):
    """Returns how far each row pulls the mean, which loses some degrees of freedom."""
    share, n = weights / weights.sum(), size_of(weights)
    # HC3: the residual from the mean of all other rows.
    changes = share * (x - share @ x) / (1 - share)
    return changes * (n - 1) / np.sqrt(n * (n - freedom))


def estimate_of(y, f, w, g, v):
    """Returns the estimate, λ, and the pulls of the rows of people and of others."""
    ratio = 1 + size_of(w) / size_of(v)
    spread = product_of(np.r_[f, g], np.r_[f, g], np.r_[w, v])
    tuning = np.clip(product_of(y, f, w) / (ratio * spread), 0, 1)
    rest = y - tuning * f
    mean = mean_of(rest, w) + tuning * mean_of(g, v)
    return mean, tuning, pulls_of(rest, w, 2), tuning * pulls_of(g, v, 1)


def by_loops(human, judge, weights=None, clusters=None):
    """Returns the estimate, λ, its error, the error of people alone, and n, by loops."""
    weights = weights or dict.fromkeys(judge, 1.0)
    clusters = clusters or {name: name for name in judge}
    others = [name for name in judge if name not in human]

    def rows(values, names):
        """Returns the mean and the weight of each cluster by its id."""
        cells = {clusters[name]: [] for name in names}
        for name in names:
            cells[clusters[name]].append((values[name], weights[name]))
        columns = {cluster: np.transpose(cell) for cluster, cell in cells.items()}
        return {cluster: (mean_of(*x), x[1].sum()) for cluster, x in columns.items()}

    y, f, g = rows(human, human), rows(judge, human), rows(judge, others)
    (ys, w), (fs, _), (gs, v) = (np.transpose([*x.values()]) for x in (y, f, g))
    mean, tuning, of_people, of_others = estimate_of(ys, fs, w, gs, v)
    pulls = dict(zip(y, of_people, strict=True))
    for name, x in zip(g, of_others, strict=True):
        pulls[name] = pulls.get(name, 0) + x
    errors = map(np.linalg.norm, ([*pulls.values()], pulls_of(ys, w, 1)))
    return mean, tuning, *errors, len(y)


def without(values, gaps):
    """Returns values by id, but for some ids."""
    return {name: x for name, x in values.items() if name not in gaps}


@pytest.mark.parametrize("has_clusters", [False, True])
@pytest.mark.parametrize("has_weights", [False, True])
def test_loops(rng, has_weights, has_clusters):
    """The estimate, λ, errors and worth agree with loops, with weights and clusters."""
    human, judge = labelled(rng)
    weights = dict(zip(IDS, rng.gamma(2, size=40).astype("f4").tolist(), strict=True))
    # Twelve clusters, some of labelled lists alone, of others alone, or of both.
    clusters = {name: f"c{i % 5 if i < 20 else i // 3}" for i, name in enumerate(IDS)}
    assert len(
        {clusters[x] for x in human} & {clusters[x] for x in judge if x not in human}
    )
    clusters = clusters if has_clusters else None
    if has_weights:
        sides = [measured(x, weights) for x in (human, judge)]
        result = jrm.prediction_powered(*sides, clusters=clusters)["mrr"]
    else:
        weights, result = None, jrm.prediction_powered(human, judge, clusters=clusters)
    mean, tuning, error, error_alone, n = by_loops(human, judge, weights, clusters)
    worth = n * (error_alone / error) ** 2
    assert 0 < tuning <= 1
    numbers = result.mean, result.std_error, result.tuning, result.worth
    assert numbers == pytest.approx((mean, error, tuning, worth), rel=1e-10)
    assert (result.lists, result.other_lists) == (12, 28)
    low, high = result.confidence_interval(0.9)
    reach = stats.t.ppf(0.95, result.n_eff - 2) * error
    assert (low, high) == pytest.approx((mean - reach, mean + reach))
    if not clusters and not weights:
        y, f = list(human.values()), [judge[name] for name in human]
        assert result.judge_mean == pytest.approx(np.mean(list(judge.values())))
        assert result.judge_bias == pytest.approx(np.mean(f) - np.mean(y))
        expected = stats.ttest_rel(f, y).confidence_interval(0.8)
        interval = pytest.approx((expected.low, expected.high))
        assert result.judge_bias_interval(0.8) == interval


def test_judge_that_is_no_help(rng):
    """A judge of one value, against people, or without other lists leaves people alone."""
    human, judge = labelled(rng)
    y = np.array(list(human.values()))
    against = {name: -x for name, x in judge.items()}
    for useless in (dict.fromkeys(IDS, 0.3), against, {x: judge[x] for x in human}):
        result = jrm.prediction_powered(human, useless)
        assert result.tuning == 0 and result.mean == pytest.approx(y.mean())
        # λ costs a degree of freedom all the same.
        assert result.std_error == pytest.approx(np.std(y) / np.sqrt(10))
        assert result.worth == pytest.approx(12 * 10 / 11)


def test_judge_that_is_people(rng):
    """If a judge agrees with people, λ is N/(n + N) but for the sample's variance."""
    _, judge = labelled(rng)
    human = {name: judge[name] for name in IDS[:12]}
    result = jrm.prediction_powered(human, judge)
    ratio = np.var(list(human.values()), ddof=1) / np.var(list(judge.values()), ddof=1)
    assert result.tuning == pytest.approx(min(28 / 40 * ratio, 1))
    assert result.judge_bias == 0 and result.judge_bias_interval() == (0, 0)
    # Lists that vary more than others have λ = 1, and an error of the other lists alone.
    ends = dict(sorted(judge.items(), key=lambda x: abs(x[1] - 0.5))[-12:])
    zero = dict.fromkeys(ends, 0.0), dict.fromkeys(judge, 0.0)
    for test in ("t", "bootstrap"):
        options = {"judge": (zero[1], judge), "test": test, "samples": 999}
        wide = jrm.compare(zero[0], ends, **options).only
        others = [x for name, x in judge.items() if name not in ends]
        error = np.std(others) / np.sqrt(27)
        assert wide.judge.tuning == 1 and wide.difference == pytest.approx(
            np.mean(others)
        )
        assert wide.judge.std_error == pytest.approx(error)
        # Resamples vary more than t allows for, because some have a smaller λ.
        assert 2 * error < wide.high - wide.difference < 1 and wide.p < 0.05
    # A judge that is off by a constant is as good.
    shifted = {name: x - 0.5 for name, x in judge.items()}
    other = jrm.prediction_powered(human, shifted)
    assert other.mean == pytest.approx(result.mean)
    assert other.judge_bias == pytest.approx(-0.5)


def test_equal_ways_to_say_it(rng):
    """Orders of ids, unit weights, clusters of a list and containers change nothing."""
    human, judge = labelled(rng)
    expected = jrm.prediction_powered(human, judge)

    def agrees(result):
        numbers = zip(
            *(jax.tree.leaves(vars(x)) for x in (expected, result)), strict=True
        )
        return all(x == pytest.approx(y, rel=1e-5) for x, y in numbers)

    mixed = dict(reversed(judge.items()))
    assert agrees(jrm.prediction_powered(dict(sorted(human.items())), mixed))
    unit = dict.fromkeys(IDS, 1.0)
    values = [measured(x, unit) for x in (human, judge)]
    assert agrees(jrm.prediction_powered(*values)["mrr"])
    on_devices = [
        dataclasses.replace(x, lists=jax.tree.map(jnp.asarray, x.lists)) for x in values
    ]
    assert agrees(jrm.prediction_powered(*on_devices)["mrr"])
    for clusters in (dict(zip(IDS, range(40), strict=True)), IDS, pd.Series(IDS, IDS)):
        assert agrees(jrm.prediction_powered(human, judge, clusters=clusters))
    assert agrees(jrm.prediction_powered(pd.Series(human), pd.Series(judge)))
    frames = [pd.DataFrame({"mrr": x, "p@1": x}) for x in (human, judge)]
    of_frames = jrm.prediction_powered(*frames)
    assert list(of_frames) == ["mrr", "p@1"] and agrees(of_frames["p@1"])
    sides = [{"new": {"mrr": x}, "old": {"mrr": x}} for x in (human, judge)]
    of_dicts = jrm.prediction_powered(*sides)
    of_systems = jrm.prediction_powered(*map(jrm.Systems, sides))
    assert of_dicts == of_systems and agrees(of_dicts["old"]["mrr"])


def test_cutoffs_have_a_tuning_each(rng):
    """At each cutoff, the estimate equals the estimate of that cutoff alone."""
    sides, columns = [], []
    for values in labelled(rng):
        column = np.array(list(values.values()), np.float32)
        cuts = np.stack([column, column**3 + len(values) * (column > 0.5)], 1)
        users = list(values)
        sides.append(evaluation_of({"recall@1,5": lists_of(cuts)}, users=users))
        columns.append([dict(zip(users, x.tolist(), strict=True)) for x in cuts.T])
    result = jrm.prediction_powered(*sides)["recall@1,5"]
    assert result.mean.shape == (2,) and result.tuning[0] != result.tuning[1]
    assert repr(result).startswith("PredictionPowered([0.")
    low, high = result.confidence_interval()
    for i, at_cutoff in enumerate(result.at_cutoffs()):
        alone = jrm.prediction_powered(*(x[i] for x in columns))
        assert at_cutoff.mean == pytest.approx(alone.mean)
        assert at_cutoff.worth == pytest.approx(alone.worth, rel=1e-5)
        assert (low[i], high[i]) == pytest.approx(alone.confidence_interval())
    table = jrm.table({"new": {"recall@1,5": result}}, format="csv")
    assert "recall@5" in table and table.count("28") == 2
    frame = jrm.to_frame({"recall@1,5": result})
    assert frame["metric"].tolist() == ["recall@1", "recall@5"]


def test_undefined_lists(rng):
    """Lists that are undefined count as 0, or leave both parts with "skip"."""
    both, gaps = labelled(rng), ("q2", "q3")  # a labelled list, and another
    sides = [measured(x, gaps=gaps) for x in both]
    zero = jrm.prediction_powered(*sides)["mrr"]
    skip = jrm.prediction_powered(*sides, undefined="skip")["mrr"]
    expected = jrm.prediction_powered(*(without(x, gaps) for x in both))
    assert skip.mean == pytest.approx(expected.mean, rel=1e-5)
    assert skip.std_error == pytest.approx(expected.std_error, rel=1e-5)
    assert (zero.lists, zero.other_lists, zero.undefined) == (12, 28, 1)
    assert (skip.lists, skip.other_lists, skip.undefined) == (11, 27, 1)
    assert zero.mean < skip.mean
    lower = [
        evaluation_of({"fall_out": x.lists["mrr"]}, users=x.users, undefined=None)
        for x in sides
    ]
    with pytest.warns(UserWarning, match="lower is better"):
        jrm.prediction_powered(*lower)


def test_few_lists(rng):
    """Two labelled lists or fewer say nothing; equal values leave no error."""
    human, judge = labelled(rng)
    for count in (0, 1, 2):
        few = dict(itertools.islice(human.items(), count))
        few = pd.Series(few, dtype=float)
        result = jrm.prediction_powered(few, pd.Series(judge))
        assert result.std_error == np.inf and result.worth == 0
        assert result.confidence_interval() == (-np.inf, np.inf)
        assert "± inf" in repr(result)
    equal = jrm.prediction_powered(dict.fromkeys(human, 0.1), judge)
    assert equal.std_error == 0 and equal.worth == 12 and equal.mean == 0.1


def two_systems(rng):
    """Returns what people and a judge say of two systems, by system."""
    sides = [labelled(rng, shift) for shift in (0, 0.3)]
    return tuple(
        dict(zip(("old", "new"), x, strict=True)) for x in zip(*sides, strict=True)
    )


def differences_of(systems):
    """Returns new − old by list."""
    return {name: x - systems["old"][name] for name, x in systems["new"].items()}


@pytest.mark.parametrize("clusters", [None, {x: x[-1] for x in IDS}])
def test_compare(rng, clusters):
    """The comparison is the estimate of differences, and its t test; wins are of people."""
    human, judge = two_systems(rng)
    expected = jrm.prediction_powered(
        differences_of(human), differences_of(judge), clusters=clusters
    )
    result = jrm.compare(human, judge=judge, clusters=clusters).only
    assert result.judge.worth == pytest.approx(expected.worth)
    assert result.difference == pytest.approx(expected.mean)
    assert (result.low, result.high) == pytest.approx(expected.confidence_interval())
    t = expected.mean / expected.std_error
    assert result.p == pytest.approx(2 * stats.t.sf(abs(t), expected.n_eff - 2))
    assert result.test == "t" and result.lists == 12
    of_people = jrm.compare(human, clusters=clusters).only
    for field in ("wins", "ties", "losses", "lists", "n_eff", "clusters"):
        assert getattr(result, field) == getattr(of_people, field)
    assert of_people.test == "permutation" and of_people.judge is None
    spread = of_people.difference / of_people.effect_size
    assert result.effect_size == pytest.approx(result.difference / spread)
    how = {"clusters": clusters, "margin": 0.5, "alternative": "greater"}
    margin = jrm.compare(human, judge=judge, **how).only
    t = (expected.mean + 0.5) / expected.std_error
    assert margin.p == pytest.approx(stats.t.sf(t, expected.n_eff - 2))


def test_compare_takes_a_judge_as_it_takes_people(rng):
    """A pair of two systems, a pair with a dict, a dict in any order, or Systems agree."""
    human, judge = two_systems(rng)
    of_pair = jrm.compare(
        human["old"], human["new"], judge=(judge["old"], judge["new"])
    ).only
    mixed = {"new": judge["new"], "old": dict(reversed(judge["old"].items()))}
    sides = [list(human[x].values()) for x in ("old", "new")]
    ids = list(human["old"]), list(human["new"])
    dicts = human["old"], {"new": human["new"]}
    for result in (
        jrm.compare(human, judge=mixed),
        jrm.compare(jrm.Systems(human), judge=jrm.Systems(mixed)),
        jrm.compare(human, judge=judge, pairs="all"),
        jrm.compare(*dicts, judge=(judge["old"], {"new": judge["new"]})),
        jrm.compare(*sides, ids=ids, judge=(judge["old"], judge["new"])),
    ):
        assert result.only.difference == pytest.approx(of_pair.difference)
        assert result.only.p == pytest.approx(of_pair.p)
    three = human | {"odd": human["old"]}, judge | {"odd": judge["new"]}
    many = jrm.compare(three[0], judge=three[1], pairs="all", correction="fdr")
    assert [x.system for x in many] == ["new", "odd", "odd"]
    assert many[0].p == pytest.approx(of_pair.p) and many[0].p_corrected > of_pair.p
    # People see no difference between "odd" and "old", whatever the judge says.
    assert many[1].difference == 0 and many[1].p == 1


def test_bootstrap_of_people_and_judge(rng):
    """p and the interval agree with resamples in loops, each with a λ of its own."""
    human, judge = (differences_of(x) for x in two_systems(rng))
    weights = {name: 0.5 + rng.random() for name in IDS}
    zero = [measured(dict.fromkeys(x, 0.0), weights) for x in (human, judge)]
    sides = [measured(x, weights) for x in (human, judge)]
    samples = 199
    how = {"judge": (zero[1], sides[1]), "samples": samples, "level": 0.8}
    result = jrm.compare(zero[0], sides[0], test="bootstrap", **how)["mrr"]
    # Lists are drawn in the order of the judge.
    human = {name: human[name] for name in judge if name in human}
    others = [name for name in judge if name not in human]
    seeds = resample.seeds_of(jax.random.key(0), samples + 1)
    multinomial_draws = jax.jit(resample.multinomial_draws, static_argnums=0)
    counts = [
        np.asarray(multinomial_draws(len(x), seed, seeds[2:]))
        for x, seed in ((human, seeds[0]), (others, seeds[1]))
    ]
    y = np.array(list(human.values()))
    f, w = (np.array([x[name] for name in human]) for x in (judge, weights))
    g, v = (np.array([x[name] for name in others]) for x in (judge, weights))

    def estimate(a, b):
        """Returns the mean and error of a resample that draws the lists a and b times."""
        drawn_g, drawn_v = np.repeat(g, b), np.repeat(v, b)
        rows = *(np.repeat(x, a) for x in (y, f, w)), drawn_g, drawn_v
        mean, _, pulls, other = estimate_of(*rows)
        # The leverage of the judge's lists is their leverage in the sample.
        other *= (1 - drawn_v / drawn_v.sum()) / (1 - np.repeat(v / v.sum(), b))
        return mean, np.sqrt(pulls @ pulls + other @ other)

    mean, error = estimate(np.ones(12, int), np.ones(28, int))
    drawn = [estimate(a, b) for a, b in zip(counts[0].T, counts[1].T, strict=True)]
    t = np.array([abs(x - mean) / e for x, e in drawn])
    assert result.difference == pytest.approx(mean, rel=1e-5)
    p = (1 + np.sum(t >= abs(mean) / error)) / (1 + samples)
    assert result.p == pytest.approx(p, abs=1.5 / samples)
    reach = np.quantile(t, 0.8, method="higher") * error
    assert result.high - result.difference == pytest.approx(reach, rel=1e-3)


@pytest.mark.long
def test_bootstrap_agrees_with_t(rng):
    """Over enough lists both tests agree, also of clusters that both parts share."""
    values = rng.normal(size=600)
    judge = dict(enumerate((values + 0.5 * rng.normal(size=600) + 1).tolist()))
    human = dict(enumerate(0.15 + values[:120]))
    nothing = dict.fromkeys(human, 0.0), dict.fromkeys(judge, 0.0)
    for clusters in (None, dict(zip(judge, rng.integers(0, 200, 600), strict=True))):
        how = {"judge": (nothing[1], judge), "clusters": clusters, "samples": 5000}
        by_test = {
            test: jrm.compare(nothing[0], human, test=test, **how).only
            for test in ("t", "bootstrap")
        }
        widths = [x.high - x.low for x in by_test.values()]
        assert widths[1] == pytest.approx(widths[0], rel=0.06)
        assert abs(by_test["t"].p - by_test["bootstrap"].p) < 0.02
        assert 1e-3 < by_test["t"].p < 0.5


def test_text_tables_and_plots(rng):
    """Results print, and stand in tables, frames and plots as means and comparisons do."""
    human, judge = (
        {x: {"mrr": y} for x, y in side.items()} for side in two_systems(rng)
    )
    means = jrm.prediction_powered(human, judge)
    new = means["new"]["mrr"]
    text = (
        f"PredictionPowered({new:.3f} ± {new.std_error:.3f}, 12 lists, 28 of the judge"
    )
    assert repr(new).startswith(text) and float(new) == new.mean
    comparisons = jrm.compare(human, judge=judge)
    assert "12 lists, 28 of the judge alone, worth" in repr(comparisons[0])
    assert "28 of the judge alone, worth is in lists" in repr(comparisons)
    table = jrm.table(means, compare=comparisons)
    assert "12 lists, 28 of the judge alone, 0 undefined" in table
    assert f"{new:.3f}" in table and "(t test" in table
    record = json.loads(jrm.table(comparisons, format="json"))[0]
    assert record["judge"]["other_lists"] == 28
    assert record["judge"]["judge_bias"] == comparisons[0].judge.judge_bias
    frame = jrm.to_frame(means).set_index("system")
    assert (
        frame.loc["new", "worth"] == new.worth and frame.loc["new", "metric"] == "mrr"
    )
    assert jrm.to_frame(new)["mean"].tolist() == [new.mean]
    assert jrm.to_frame(comparisons)["tuning"].tolist() == [comparisons[0].judge.tuning]
    _, (left, right) = plt.subplots(1, 2)
    jrm.plots.by_group({x: {"mrr": y["mrr"]} for x, y in means.items()}, ax=left)
    jrm.plots.forest(comparisons, ax=right)
    _, ax = plt.subplots()
    jrm.plots.curve({1: means["old"], 2: means["new"]}, "mrr", ax=ax)
    np.testing.assert_allclose(
        ax.lines[0].get_ydata(), [means["old"]["mrr"].mean, new.mean]
    )
    plt.close("all")


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_lists_needed(rng, alternative):
    """The needed number of labels detects the difference, and one label less does not."""
    human, judge = (differences_of(x) for x in two_systems(rng))
    y = np.array(list(human.values()))
    f = np.array([judge[name] for name in human])
    spread = np.var(list(judge.values()), ddof=1)
    sides = 2 if alternative == "two-sided" else 1

    def power(n, others):
        tuning = np.clip(np.cov(y, f)[0, 1] / ((1 + n / others) * spread), 0, 1)
        of_rest = np.var(y - tuning * f) * 12 / 10
        error = np.sqrt(of_rest / n + tuning**2 * spread / others)
        return power_of(0.12 / error, n - 2, sides)

    needed = []
    for others in (30, 3000):
        options = {"alternative": alternative, "judge": judge, "others": others}
        count = jrm.lists_needed(human, 0.12, **options)
        assert type(count) is int and power(count, others) >= 0.8 > power(
            count - 1, others
        )
        needed.append(count)
    alone = jrm.lists_needed(human, 0.12, alternative=alternative)
    assert needed[1] < needed[0] < alone
    by_metric = jrm.lists_needed({"mrr": human}, 0.12, judge={"mrr": judge}, others=30)
    assert list(by_metric) == ["mrr"]
    assert jrm.lists_needed(human, 0, judge=judge, others=30) == np.inf


@pytest.mark.long
def test_coverage():
    """Intervals cover the mean of all lists in some 95 of 100 samples, biased as the judge is."""
    rng = np.random.default_rng(3)
    covered, found = [], []
    for _ in range(40):
        values = rng.random((1000, 50))
        judge = values + 0.2 + 0.3 * rng.normal(size=values.shape)
        # The judge, but not people, favours the system of another seed.
        other = rng.random((1000, 50))
        *sides, first, second = (
            pd.DataFrame(x, columns=[f"s{i}" for i in range(50)])
            for x in (values[:30], judge, other[:30], other + 0.1)
        )
        means = jrm.prediction_powered(*sides)
        intervals = [x.confidence_interval() for x in means.values()]
        covered += [low <= 0.5 <= high for low, high in intervals]
        compared = jrm.compare(first, sides[0], judge=(second, sides[1]))
        found += [x.p < 0.05 for x in compared]
    assert 0.93 < np.mean(covered) < 0.97
    assert 0.03 < np.mean(found) < 0.065


def test_compare_leaves_out_lists_that_do_not_count(rng):
    """With "skip", a list counts if people and judge define it for both systems."""
    human, judge = two_systems(rng)
    gaps = {"old": ["q2"], "new": []}, {"old": ["q3"], "new": ["q8"]}
    people, judged = (
        {x: measured(values, gaps=of_systems[x]) for x, values in systems.items()}
        for systems, of_systems in zip((human, judge), gaps, strict=True)
    )
    result = jrm.compare(people, judge=judged, undefined="skip").only
    differences = map(differences_of, (human, judge))
    expected = jrm.prediction_powered(
        *(without(x, ("q2", "q3", "q8")) for x in differences)
    )
    assert result.difference == pytest.approx(expected.mean, rel=1e-4)
    assert result.judge.std_error == pytest.approx(expected.std_error, rel=1e-4)
    assert (result.lists, result.judge.other_lists) == (10, 27)
    assert result.wins + result.ties + result.losses == 10
