"""Leaderboards of many systems, and the correlation of two orders of them."""

import dataclasses
import functools
import itertools
import json
import string

import jax
import numpy as np
import pytest
from late_imports import LateImport
from per_lists import MANY, lists_of
from scipy.special import stdtr, stdtrit

import jax_rank_metrics as jrm

stats = LateImport("scipy.stats")


def test_tau_ap_by_hand():
    """It agrees with worked examples, is 1 and −1 at its ends, and is asymmetric."""
    # Ranks 2, 3 and 4 have 1 of 1, 1 of 2 and 3 of 3 systems above them in order.
    assert jrm.tau_ap("acbd", "abcd") == pytest.approx(2 / 3 * (1 + 1 / 2 + 1) - 1)
    assert jrm.tau_ap("dabc", "abcd") == pytest.approx(2 / 3 * (0 + 1 / 2 + 2 / 3) - 1)
    assert jrm.tau_ap("bcda", "abcd") == pytest.approx(2 / 3 * (1 + 1 + 0) - 1)
    assert jrm.tau_ap([3, 1, 2], [3, 1, 2]) == 1 and jrm.tau_ap((1, 2), (2, 1)) == -1


def near_systems(rng, lists=MANY, systems=5, step=0.02):
    """Returns systems that see the same lists, each a little better than the last."""
    difficulty = rng.random(lists)
    noise = 0.2 * rng.normal(size=(systems, lists))
    return {f"s{i}": difficulty + step * i + x for i, x in enumerate(noise)}


def ranks_of(means):
    """Returns the ranks of means, the highest first; equal means share their middle."""
    return stats.rankdata(-np.round(means, 9), axis=-1)


def near(share, expected, samples):
    """True if shares are as close as two shares of this many random samples should be."""
    slack = 5 * np.sqrt(2 * np.maximum(expected * (1 - expected), 1e-3) / samples)
    return (np.abs(np.asarray(share) - expected) < slack).all()


@pytest.mark.parametrize("lists", [4, MANY])
def test_draws_are_those_of_a_multivariate_t(rng, lists):
    """Order, P matrix and ranks agree with SciPy's draws from the errors of the means."""
    values = near_systems(rng, lists, 4)
    values["same"] = values["s1"]
    weights = rng.gamma(3, size=lists)
    board = jrm.leaderboard({x: lists_of(y, weights) for x, y in values.items()})
    names = list(board.systems)
    table = np.float32([values[x] for x in names]).astype(np.float64)
    weights = np.float32(weights).astype(np.float64)
    means = np.average(table, axis=1, weights=weights)
    np.testing.assert_allclose(board.means, means, rtol=1e-6)
    assert board.ranks.tolist() == ranks_of(means).tolist() and board.lists == lists
    # The covariance of the means comes from the means without single lists.
    n_eff = weights.sum() ** 2 / (weights**2).sum()
    kept = 1 - np.eye(lists)
    changes = (kept * weights) @ table.T / (kept @ weights)[:, None] - means
    shape, freedom = changes.T @ changes * (n_eff - 1) / n_eff, n_eff - 1
    t = stats.multivariate_t(means, shape, freedom, allow_singular=True, seed=1)
    drawn = t.rvs(4000)
    same = [names.index(x) for x in ("s1", "same")]
    drawn[:, same[1]] = drawn[:, same[0]]  # but for rounding
    ranks = ranks_of(drawn)
    beats = [
        [np.mean(np.where(np.abs(x - y) < 1e-9, 0.5, x > y)) for y in drawn.T]
        for x in drawn.T
    ]
    assert near(board.p_beats, np.array(beats), 4000)
    assert board.p_beats[*same] == 0.5 == board.p_beats[*same[::-1]]
    np.testing.assert_allclose(board.p_beats + board.p_beats.T, 1)
    first = [np.mean((x == 1) + 0.5 * (x == 1.5)) for x in ranks.T]
    assert near(board.p_first, np.array(first), 4000)
    assert board.p_first.sum() == pytest.approx(1)
    for bounds, q in ((board.rank_lows, 0.025), (board.rank_highs, 0.975)):
        slack = 5 * np.sqrt(2 * 0.025 / 4000)
        assert (np.mean(ranks < bounds, axis=0) < q + slack).all()
        assert (np.mean(ranks <= bounds, axis=0) > q - slack).all()
    margins = np.sqrt(np.diag(shape)) * stdtrit(freedom, 0.975)
    np.testing.assert_allclose((board.highs - board.lows) / 2, margins, rtol=1e-5)


def test_one_list_says_nothing_of_others(rng):
    """Any system may be first, and there are no halves to compare."""
    one = {x: rng.random(1) for x in "abc"}
    for systems in (one, {x: {"1": y, "9": rng.random(9)} for x, y in one.items()}):
        board = jrm.leaderboard(systems, samples=50)
        assert board.ranks.tolist() == [1, 2, 3]
        assert board.rank_lows.tolist() == [1] * 3
        assert board.rank_highs.tolist() == [3] * 3
        np.testing.assert_allclose(board.p_first, 1 / 3)
        np.testing.assert_allclose(board.p_beats, 0.5)
        assert np.isnan(board.stability).all() and "halves" not in repr(board)
        assert board.to_dict()["stability"] == {"tau": None, "tau_ap": None}


@pytest.mark.parametrize("lower", [False, True])
def test_stability_is_the_agreement_of_halves(rng, lower):
    """It is the mean tau of the orders that halves of the lists give, over all splits."""
    values = near_systems(rng, 7, 4, 0.1)
    weights = rng.gamma(3, size=7)
    systems = {x: lists_of(y, weights) for x, y in values.items()}
    stability = jrm.leaderboard(systems, samples=50, lower=lower).stability

    def order(lists):
        means = [np.average(x[lists], weights=weights[lists]) for x in values.values()]
        return sorted(range(4), key=lambda i: means[i] if lower else -means[i])

    splits = [
        (list(a), list(b))
        for a in itertools.combinations(range(7), 3)
        for b in itertools.combinations(sorted(set(range(7)) - set(a)), 3)
    ]
    orders = [(order(a), order(b)) for a, b in splits]
    tau = np.mean(
        [stats.kendalltau(np.argsort(a), np.argsort(b))[0] for a, b in orders]
    )
    tau_ap = np.mean([jrm.tau_ap(a, b) for a, b in orders])
    assert stability.tau == pytest.approx(tau, abs=0.06)
    assert stability.tau_ap == pytest.approx(tau_ap, abs=0.06)


def indices_of(board, comparison):
    """Returns the places of the baseline and the system of a comparison."""
    names = comparison.baseline, comparison.system
    return tuple(map(board.systems.index, names))


def test_p_is_that_of_comparisons(rng):
    """The p of each pair equals the p of `compare`, exact and random, corrected for all."""
    for lists in (9, 14, MANY):
        values = near_systems(rng, lists, 5, 0.1)
        values["s2"] = values["s2"].round(1)
        board = jrm.leaderboard(values, samples=50)
        comparisons = jrm.compare(values, pairs="all")
        for expected in comparisons:
            pair = indices_of(board, expected)
            assert board.p_corrected[pair] == pytest.approx(expected.p_corrected, 1e-4)
            assert board.p_corrected[pair[::-1]] == board.p_corrected[pair]
        assert len({x.p for x in comparisons}) > 3
    # For ratios, values and weights are swapped.
    weights = rng.lognormal(size=(3, 9))
    values = weights * rng.random((3, 9)) + np.arange(3)[:, None]
    ratios = {
        x: lists_of(y).over(lists_of(z))
        for x, y, z in zip("abc", values, weights, strict=True)
    }
    board = jrm.leaderboard(ratios, samples=50)
    for expected in jrm.compare(ratios, pairs="all"):
        p = board.p_corrected[indices_of(board, expected)]
        assert p == pytest.approx(expected.p_corrected)


def test_groups_are_longest_runs(rng):
    """No two systems of a group differ, no group can grow, and letters name the groups."""
    board = jrm.leaderboard(near_systems(rng, MANY, 5, 0.12), samples=50)
    differs = board.p_corrected < 0.05
    runs = [
        (i, j)
        for i, j in itertools.combinations(range(6), 2)
        if not differs[i:j, i:j].any()
    ]
    expected = [(i, j) for i, j in runs if not {(i - 1, j), (i, j + 1)} & set(runs)]
    assert list(board.groups) == expected and 1 < len(expected) < 5
    for (i, x), (j, y) in itertools.combinations(enumerate(board.letters), 2):
        shares = any(start <= i and j < stop for start, stop in expected)
        assert bool(set(x) & set(y)) == shares


def test_equal_systems(rng):
    """A leaderboard tells any two apart in 5 % of cases at most, and halves disagree."""
    splits, agreements = 0, []
    for _ in range(60):
        values = dict(enumerate(rng.random(12) + rng.normal(size=(6, 12))))
        board = jrm.leaderboard(values, samples=2)
        splits += len(board.groups) > 1
        agreements.append(board.stability)
    assert splits <= 9  # 3 at most on average
    # Systems that always tie are in random order.
    agreements += [jrm.leaderboard(dict.fromkeys("abcd", values[0])).stability] * 2
    assert (np.abs(np.mean(agreements, axis=0)) < 0.1).all()
    assert (np.abs(agreements[-1]) < 0.1).all()


def test_lower_is_better_turns_the_order(rng):
    """It equals the board of negated values, for metrics that say so and for `lower`."""
    values = near_systems(rng)
    few = functools.partial(jrm.leaderboard, samples=50)
    board = few(values, lower=True)
    negated = few({x: -y for x, y in values.items()})
    assert board.systems == negated.systems and board.lower_is_better
    np.testing.assert_allclose(board.means, -negated.means)
    np.testing.assert_allclose(board.lows, -negated.highs)
    for field in ("ranks", "rank_lows", "p_first", "p_beats", "p_corrected"):
        np.testing.assert_allclose(getattr(board, field), getattr(negated, field))
    metrics = {x: {"arp": y, "mrr": y} for x, y in values.items()}
    assert few(metrics, metric="arp").systems == board.systems
    assert few(metrics, metric="mrr").systems == board.systems[::-1]
    assert few(metrics, metric="mrr", lower="mrr").lower_is_better


def test_tasks_weigh_the_same(rng):
    """Tasks count the same in a mean, and its error takes them as independent."""
    near, far = near_systems(rng, 10), near_systems(rng, 30)
    board = jrm.leaderboard({x: {"near": near[x], "far": far[x]} for x in near})
    means = {x: (near[x].mean() + far[x].mean()) / 2 for x in near}
    assert board.systems == tuple(sorted(means, key=lambda x: -means[x]))
    np.testing.assert_allclose(board.means, [means[x] for x in board.systems])
    assert board.tasks == ("near", "far") and board.lists == MANY
    variances = [
        [x[name].var(ddof=1) / len(x[name]) / 4 for name in board.systems]
        for x in (near, far)
    ]
    freedom = sum(np.array(variances)) ** 2 / sum(
        x**2 / n for x, n in zip(np.array(variances), (9, 29), strict=True)
    )
    margin = np.sqrt(sum(np.array(variances))) * stdtrit(freedom, 0.975)
    np.testing.assert_allclose((board.highs - board.lows) / 2, margin, rtol=0.05)
    # The p of two systems equals the p of one list of weighted differences.
    a, b = board.systems[0], board.systems[-1]
    near, far = ({x: y[x][:8] for x in (a, b)} for y in (near, far))
    far = {x: y[:4] for x, y in far.items()}
    differences = np.concatenate([(x[b] - x[a]) for x in (near, far)])
    weights = np.repeat([1 / 8, 1 / 4], [8, 4])
    sides = (lists_of(x, weights) for x in (0 * differences, differences))
    pair = {x: {"near": near[x], "far": far[x]} for x in (a, b)}
    p = jrm.leaderboard(pair, samples=50).p_corrected[0, 1]
    assert p == pytest.approx(jrm.compare(*sides).only.p)


def test_tasks_may_come_first(rng):
    """Tasks of unequal sizes have the form that tables of several collections have."""
    sizes = {"web": 9, "map": 5}
    values = {x: {y: rng.random(n) for y in "abc"} for x, n in sizes.items()}
    systems = {y: {x: values[x][y] for x in sizes} for y in "abc"}
    expected = jrm.leaderboard(systems, samples=50).to_dict()
    board = jrm.leaderboard(values, samples=50, tasks_first=True)
    assert board.to_dict() == expected and board.tasks == ("web", "map")
    metrics = {
        x: {y: {"mrr": z, "arp": -z} for y, z in of_task.items()}
        for x, of_task in values.items()
    }
    for by_task in (metrics, jrm.Systems(metrics, tasks_first=True)):
        board = jrm.leaderboard(by_task, metric="mrr", samples=50, tasks_first=True)
        assert board.to_dict() == {**expected, "metric": "mrr"}
    with pytest.raises(ValueError, match="has 9 lists .*are {task: .* pass tasks_f"):
        jrm.leaderboard(values)


def test_tasks_of_one_list(rng):
    """They leave means without an interval, but their signs are flipped as any."""
    values = {x: rng.random(12) + shift for x, shift in (("a", 0), ("b", 1.5))}
    systems = {x: {"many": y, "one": y[:1]} for x, y in values.items()}
    board = jrm.leaderboard(systems, samples=50)
    assert board.systems == ("b", "a") and np.isinf(board.highs - board.lows).all()
    assert board.p_corrected[0, 1] == pytest.approx(2 / 2**13)


@pytest.mark.long
def test_states_agree_with_values(rng):
    """Bootstrap states give nearly what values give, over lists and over tasks."""
    values = near_systems(rng, 100)
    ids = np.arange(100)

    def states(lists):
        return jrm.bootstrap(lists_of(lists), ids[: len(lists)], samples=4000)

    of_tasks = {x: {"all": y, "few": y[:80]} for x, y in values.items()}
    for lists in (values, of_tasks):
        boots = jax.tree.map(states, lists)
        expected, board = jrm.leaderboard(lists), jrm.leaderboard(boots)
        assert board.systems == expected.systems and np.isnan(board.stability).all()
        np.testing.assert_allclose(board.means, expected.means, rtol=1e-6)
        assert near(board.p_beats, expected.p_beats, 3000)
        width = expected.highs - expected.lows
        np.testing.assert_allclose(board.highs - board.lows, width, rtol=0.1)
        np.testing.assert_allclose(board.p_corrected, expected.p_corrected, atol=0.1)


def test_lists_are_paired_by_ids(rng):
    """Lists may come in any order, under ids that are passed or that values hold."""
    values = near_systems(rng, 12, 3)
    few = functools.partial(jrm.leaderboard, samples=50)
    expected = few(values).to_dict()
    order = {x: np.arange(12) if x == "s0" else rng.permutation(12) for x in values}
    shuffled = {x: values[x][order[x]] for x in values}
    assert few(shuffled, ids=order).to_dict() == expected
    by_id = {x: dict(zip(order[x], shuffled[x], strict=True)) for x in values}
    assert few(by_id).to_dict() == expected
    tasks = {x: {"t": y} for x, y in shuffled.items()}
    of_tasks = few(tasks, ids={x: {"t": y} for x, y in order.items()})
    assert {**of_tasks.to_dict(), "tasks": []} == expected


def test_undefined_lists():
    """With "skip", a leaderboard reads only the lists that are defined for all systems."""
    a, b, c = [0.1, 0.4, 0.2, 0.6], [0.9, 0.3, 0.5, 0.5], [0.5, 0.5, 0.1, 0.2]
    defined = {"a": [1, 1, 1, 0], "b": [0, 1, 1, 1], "c": [1, 1, 1, 1]}
    values = {"a": a, "b": b, "c": c}
    lists = {x: lists_of(values[x], defined=defined[x]) for x in values}
    skipped = jrm.leaderboard(lists, undefined="skip")
    kept = jrm.leaderboard({x: lists_of(y[1:3]) for x, y in values.items()})
    assert skipped.to_dict() == kept.to_dict() and skipped.lists == 2
    filled = jrm.leaderboard(lists, undefined="one")
    assert filled.means[filled.systems.index("b")] == pytest.approx((1 + 0.3 + 1) / 4)


def test_it_is_written_as_text_and_json(rng):
    """The repr is a table, and a dict holds plain numbers."""
    values = near_systems(rng, 12, 3, 0.5)
    board = jrm.leaderboard({x: {"mrr": y} for x, y in values.items()})
    lines = repr(board).splitlines()
    assert lines[0].split() == "system group rank mrr first".split()
    assert lines[2].split()[:5] == ["s2", "a", "1", "[1,", "1]"]
    assert "12 lists, 10000 draws of" in lines[-1] and "a tau_ap of 1.00" in lines[-1]
    board_dict = json.loads(json.dumps(board.to_dict()))
    assert board_dict["letters"] == ["a", "b", "c"] and board_dict["metric"] == "mrr"
    assert board_dict["p_beats"] == board.p_beats.tolist()
    few = jrm.leaderboard({"a": [1.0], "b": [0.5]})
    assert few.to_dict()["lows"] == [None, None] and few.letters == ("a", "a")
    many = dataclasses.replace(few, groups=((0, 1),) * 27 + ((0, 2),))
    assert many.letters == (",".join([*string.ascii_lowercase, "aa", "ab"]), "ab")


@pytest.mark.long
def test_ratios_whose_weights_differ(rng):
    """Their means are ratios of sums, with the errors of `PerList.over`."""
    hits, retrieved = rng.integers(0, 3, (3, 50)), rng.integers(2, 9, (3, 50))
    hits[1], retrieved[1, :3] = np.minimum(hits[1] + 1, retrieved[1]), 0
    values = {x: lists_of(hits[x]).over(lists_of(retrieved[x])) for x in range(3)}
    board = jrm.leaderboard(values, samples=4000)
    for index, x in enumerate(board.systems):
        state = values[x].mean()
        assert board.means[index] == pytest.approx(float(state.compute()), rel=1e-5)
        width = float(np.diff(state.confidence_interval())[0])
        assert board.highs[index] - board.lows[index] == pytest.approx(width, rel=0.01)
    for (i, x), (j, y) in itertools.combinations(enumerate(board.systems), 2):
        drawn = rng.integers(50, size=(2000, 50))
        ratio = [hits[z][drawn].sum(1) / retrieved[z][drawn].sum(1) for z in (x, y)]
        assert near(board.p_beats[i, j], np.mean(ratio[0] > ratio[1]), 2000)
        z = (board.means[i] - board.means[j]) / np.std(ratio[0] - ratio[1])
        p = 2 * stdtr(45, -abs(z))
        assert board.p_corrected[i, j] >= p * 0.7


def test_weights_that_differ_have_one_error(rng):
    """Student's p and intervals agree with `compare`, for systems with seeds."""
    weights = rng.lognormal(0, 1, 12)
    runs = 0.2 + 0.1 * (rng.normal(size=12) + rng.normal(size=(3, 5, 12)))
    systems = {
        x: jrm.Seeds([lists_of(y + 0.05 * i, weights) for y in runs[i]])
        for i, x in enumerate("abc")
    }
    systems["zero"] = lists_of(np.zeros(12), weights)
    board = jrm.leaderboard(systems, samples=50)
    for expected in jrm.compare(systems, pairs="all", test="t"):
        pair = indices_of(board, expected)
        assert board.p_corrected[pair] == pytest.approx(expected.p_corrected)
        if expected.system == "zero":
            margin = (board.highs - board.lows)[pair[0]] / 2
            assert margin == pytest.approx((expected.high - expected.low) / 2)


@pytest.mark.long
def test_seeds_are_drawn_with_lists(rng):
    """Seeds of a system are drawn by themselves, lists for all, and p has both errors."""
    hard, of_seeds = rng.normal(size=30), 0.3 * rng.normal(size=(3, 5, 1))
    runs = hard + of_seeds + 0.5 * rng.normal(size=(3, 5, 30))
    values = {x: runs[i] + 0.2 * i for i, x in enumerate("abc")}
    systems = {x: jrm.Seeds(list(y)) for x, y in values.items()}
    systems["d"] = values["d"] = hard + 0.3
    board = jrm.leaderboard(systems, samples=4000)
    of_seeds = {x: np.atleast_2d(y) for x, y in values.items()}
    table = np.stack([of_seeds[x].mean(0) for x in board.systems])
    t = stats.multivariate_t(table.mean(1), np.cov(table) / 30, 29, seed=1)
    drawn = t.rvs(2000)
    for column, x in enumerate(board.systems):
        if len(seeds := of_seeds[x].mean(1)) > 1:
            error = seeds.std(ddof=1) / np.sqrt(5)
            drawn[:, column] += error * rng.standard_t(4, 2000)
    beats = np.mean(drawn[:, :, None] > drawn[:, None], axis=0) + np.eye(4) / 2
    assert near(board.p_beats, beats, 2000)
    np.testing.assert_allclose(board.means, [values[x].mean() for x in board.systems])


# Student's t for the difference of two systems.


def two_systems(rng, probability, lists=10):
    """Draws two systems; the second is better with this probability."""
    a, change = rng.random(lists), rng.normal(size=lists)
    error = change.std(ddof=1) / np.sqrt(lists)
    change += error * stdtrit(lists - 1, probability) - change.mean()
    return a, a + change


def test_intervals_of_ranks(rng):
    """They leave out as much of the draws at each end."""
    for probability, low in ((0.9625, 1), (0.985, 2)):
        systems = dict(zip("ab", two_systems(rng, probability), strict=True))
        board = jrm.leaderboard(systems)
        assert board.systems == ("b", "a")
        assert abs(board.p_beats[0, 1] - probability) < 0.01
        assert board.rank_lows.tolist() == [1, low]
        assert board.rank_highs.tolist() == [3 - low, 2]


def test_states_of_two_systems(rng):
    """Resamples of few lists, or of few clusters, vary less than intervals allow for."""
    values = two_systems(rng, 0.9, lists=4)
    for copies, rtol in ((1, 0.05), (25, 0.1)):
        ids = np.repeat(np.arange(4), copies)
        lists = [lists_of(np.repeat(x, copies)) for x in values]
        states = [jrm.bootstrap(x, ids, samples=2000) for x in lists]
        board = jrm.leaderboard(dict(zip("ab", states, strict=True)))
        spread = np.std(states[1].replicates()) * np.sqrt(4 / 3)
        reach = -stdtrit(3, 0.025) * spread
        np.testing.assert_allclose(board.highs[0] - board.means[0], reach, rtol)
