"""Comparisons of two systems: pairs of lists, p values and intervals."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from per_lists import MANY, evaluation_of, lists_of, mean_of

import jax_rank_metrics as jrm
from jax_rank_metrics._values.on_host import HostSums
from jax_rank_metrics._verdicts.inference import p_values

SAMPLES = 9999
TESTS = ("permutation", "bootstrap", "t")


def two_systems(rng, lists=MANY, gain=0.05):
    """Returns the values of a baseline and of a system that is a little better."""
    a = rng.random(lists)
    return a, np.clip(a + gain + 0.2 * rng.normal(size=lists), 0, 1)


def test_random_patterns_are_those_of_a_key(rng):
    """p is the same in every run, and another one with another key."""
    systems = dict(zip("ab", two_systems(rng), strict=True))
    for key in (None, jax.random.key(7)):
        drawn = jrm.compare(systems, samples=SAMPLES, key=key)
        assert drawn == jrm.compare(systems, samples=SAMPLES, key=key)
        assert drawn.only.samples == SAMPLES
    default = jrm.compare(systems, samples=SAMPLES, key=jax.random.key(0)).only
    assert default == jrm.compare(systems, samples=SAMPLES).only
    assert default.p != drawn.only.p


def test_the_tests_agree(rng):
    """On many lists all three tests nearly agree, and the direction is b − a."""
    a, b = two_systems(rng)
    options = {"samples": SAMPLES}
    results = {x: jrm.compare(a, b, test=x, **options).only for x in TESTS}
    back = jrm.compare(b, a, **options).only
    for test, result in results.items():
        assert result.test == test and result.difference == pytest.approx(
            np.mean(b - a)
        )
        assert abs(result.p - results["t"].p) < 0.01
        np.testing.assert_allclose(
            (result.low, result.high), (results["t"].low, results["t"].high), atol=0.006
        )
        effect = np.mean(b - a) / np.std(b - a, ddof=1)
        assert result.effect_size == pytest.approx(effect)
    assert back.p == results["permutation"].p and back.difference == -result.difference
    assert (back.wins, back.losses) == (result.losses, result.wins)


def test_error_is_that_of_the_paired_mean(rng):
    """Student's interval equals `paired`'s, and is a little wider if weights differ."""
    values = two_systems(rng)
    for weights, tolerance in (
        (np.where(np.arange(MANY) == 4, 0, 3.0), 1e-4),
        (rng.gamma(2, size=MANY), 0.06),
    ):
        a, b = (lists_of(x, weights) for x in values)
        lists = jrm.paired(a, b)
        (expected,) = HostSums.of_lists(lists, jrm.Mean).estimates(0.9, "t")
        result = jrm.compare(a, b, test="t", level=0.9).only
        assert result.difference == pytest.approx(expected.mean, rel=1e-5)
        width = expected.high - expected.low
        assert result.high - result.low == pytest.approx(width, rel=tolerance)
        assert result.n_eff == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
        assert ("n_eff" in repr(result)) == (tolerance > 1e-4)
    assert result.high - result.low > width


def test_structures(rng):
    """Takes metrics, systems and cutoffs in any array; p is corrected for all of them."""
    a, b = two_systems(rng, 10)
    wide_a, wide_b = (np.stack([x, x**2], 1) for x in (a, b))
    metrics = {"ndcg": lists_of(a), "p@1,5": wide_a}
    better = {"ndcg": list(b), "p@1,5": lists_of(wide_b)}
    alone = jrm.compare(metrics, better)
    assert [x.metric for x in alone] == ["ndcg", "p@1", "p@5"]
    same = {"ndcg": jnp.asarray(a, jnp.bfloat16), "p@1,5": wide_a}
    result = jrm.compare(metrics, {"better": better, "same": same}, test="t")
    assert [x.system for x in result] == ["better"] * 3 + ["same"] * 3
    expected = p_values.holm(np.array([x.p for x in result]))
    np.testing.assert_allclose([x.p_corrected for x in result], expected)
    same = result.select(system="same")["p@1"]
    assert same.p == 1 and same.ties == 10
    result = jrm.compare(wide_a, wide_b)[1].difference
    assert result == pytest.approx(alone["p@5"].difference, rel=1e-5)


@pytest.mark.parametrize(
    "make", [np.array, list, jnp.asarray], ids=["np", "list", "jnp"]
)
def test_ids(rng, make):
    """Lists are paired by their ids, in any order and of any kind."""
    a, b = two_systems(rng, 8)
    weights, order = rng.gamma(2, size=8), rng.permutation(8)
    expected = jrm.compare(lists_of(a, weights), lists_of(b, weights))
    ids = list(range(100, 108))
    for names in [ids] if make is jnp.asarray else [ids, [f"q{i}" for i in ids]]:
        shuffled = make([names[i] for i in order])
        result = jrm.compare(
            lists_of(a, weights),
            lists_of(b[order], weights[order]),
            ids=(make(names), shuffled),
        )
        assert result == expected
    # Lists may be called by one letter, as metrics are abbreviated.
    letters = {"p": 0.1, "q": 0.2}, {"q": 0.5, "p": 0.2}
    assert jrm.compare(*letters).only.difference == pytest.approx(0.2)


@pytest.mark.parametrize("test", TESTS)
def test_edges(test):
    """Handles no list, one list, no difference, and one difference everywhere."""
    empty = jrm.compare(np.zeros(0), np.zeros(0), test=test).only
    assert (empty.difference, empty.p, empty.lists) == (0, 1, 0)
    assert (empty.low, empty.high) == (-np.inf, np.inf)
    weightless = jrm.compare(
        lists_of([0.5, 1], [0, 0]), lists_of([1, 1], [0, 0]), test=test
    ).only
    assert weightless.lists == 0 and weightless.p == 1
    single = jrm.compare([0.5], [1.0], test=test).only
    assert (single.difference, single.p, single.wins, single.lists) == (0.5, 1, 1, 1)
    assert single.low == -np.inf and np.isnan(single.effect_size)
    assert single.to_dict()["low"] is None and single.to_dict()["effect_size"] is None
    equal = jrm.compare(np.arange(20), np.arange(20), test=test, samples=999).only
    assert (equal.p, equal.ties, equal.low, equal.high) == (1, 20, 0, 0)
    assert equal.effect_size == 0
    values = np.arange(20) / 7  # whose differences vary by rounding alone
    always = jrm.compare(values, values + 0.1, test=test, samples=999).only
    assert always.p == {"t": 0}.get(test, 1 / 1000) and always.effect_size == np.inf
    assert always.low == pytest.approx(0.1) == always.high


def test_undefined_values():
    """Undefined values count as the argument or they say, in `compare` as in `paired`."""
    a = lists_of([0.5, 0.0, 0.2, 0.0], [1, 2, 1, 1], [True, False, True, False])
    b = lists_of([1.0, 0.6, 0.0, 0.0], [1, 2, 1, 1], [True, True, False, False])
    expected = {
        "zero": (0.5 + 2 * 0.6 - 0.2) / 5,
        "one": (0.5 - 2 * 0.4 + 0.8) / 5,
        "skip": 0.5,
    }
    for undefined, difference in expected.items():
        lists = jrm.paired(a, b, undefined)
        result = jrm.compare(a, b, undefined=undefined).only
        assert result.difference == pytest.approx(difference, rel=1e-6)
        assert result.lists == (1 if undefined == "skip" else 4)
        remembered = [dataclasses.replace(x, undefined=undefined) for x in (a, b)]
        assert repr(jrm.compare(*remembered).only) == repr(result)
        assert mean_of(jrm.paired(*remembered)).lists == result.lists
        jrm.compare(a, remembered[1], undefined="one")
        jrm.paired(a, remembered[1], undefined="one")
        for fill in ("zero", "one", "skip"):
            state = mean_of(dataclasses.replace(lists, undefined=fill))
            np.testing.assert_allclose(state.compute(), difference, rtol=1e-6)
            assert state.lists == result.lists and state.undefined == 0


def test_paired(rng):
    """The difference of each list in any pytree, in the order given."""
    a, b = rng.random((2, 6, 3)).astype(np.float32)
    mine = {"z": lists_of(a), "a": lists_of(a[:, 0])}
    result = jrm.paired(mine, {"z": lists_of(b), "a": lists_of(b[:, 0])})
    np.testing.assert_allclose(result["z"].values, b - a)
    np.testing.assert_allclose(result["a"].values, (b - a)[:, 0])
    assert list(result) == ["z", "a"]


def test_rounding_is_no_evidence(rng):
    """Values that single floats cannot tell apart tie; in double precision fewer do."""
    a = rng.random(50).astype(np.float32)
    near = np.nextafter(a, np.float32(2))
    assert jrm.compare(a, near).only.ties == 50 and jrm.compare(a, near).only.p == 1
    wide = a.astype(np.float64)
    assert jrm.compare(wide, wide + 1e-9).only.wins == 50


def test_lists_that_do_not_count_are_not_read(rng):
    """Values that are not finite are no error there; `paired` checks what it can."""
    a, b = two_systems(rng, 4)
    b[2] = np.nan
    hidden = lists_of(b, [1, 1, 0, 1])
    assert jrm.compare(lists_of(a, [1, 1, 0, 1]), hidden).only.lists == 3
    undefined = lists_of(b, defined=[1, 1, 0, 1])
    assert jrm.compare(a, undefined).only.lists == 4
    heavy = lists_of(b, [1, 2, 1, 1])
    assert jax.jit(jrm.paired)(lists_of(a), heavy).weights[1] == 1


def test_what_is_read(rng):
    """The repr is one line to read, and the dict is fit for JSON."""
    a, b = two_systems(rng, 12, 0.2)
    result = jrm.compare({"map": a}, {"x": {"map": b}, "y": {"map": a}})["x"]
    p = f"p={result.p:.2g}"
    for part in ("Comparison(+0.", " wins ", " losses, 12 lists)", p, "Holm"):
        assert part in repr(result)
    assert json.loads(json.dumps(result.to_dict()))["lists"] == 12
    numbers = [x for x in result.to_dict().values() if x is not None]
    assert all(type(x) in (int, float, str, bool) for x in numbers)


@pytest.mark.parametrize("count", [20, 100])
def test_lists_that_do_not_count_are_not_drawn(count):
    """Padding moves no resample, before and behind the lists, of few lists and of many."""
    rng = np.random.default_rng(0)
    a = rng.random(count).astype(np.float32)
    b = (a + rng.normal(0.05, 0.2, count)).astype(np.float32)

    def with_padding(values, before, behind):
        is_list = np.repeat([False, True, False], [before, count, behind])
        padded = np.full(is_list.size, 5, np.float32)
        padded[is_list] = values
        return jrm.PerList(padded, is_list.astype(np.float32), is_list)

    options = {"test": "bootstrap", "samples": 199}
    expected = jrm.compare(a, b, **options).only
    for sizes in ((0, 30), (30, 0)):
        sides = [with_padding(x, *sizes) for x in (a, b)]
        actual = jrm.compare(*sides, **options).only
        np.testing.assert_allclose(
            (actual.p, actual.low, actual.high),
            (expected.p, expected.low, expected.high),
            rtol=1e-5,
        )


def test_users_are_paired_and_undefined_is_remembered():
    """`compare` counts undefined users as `evaluate_users` did, unless told otherwise."""
    known = [True, False, True]
    a = evaluation_of(
        {"mrr": lists_of([0.5, 0, 0.25], None, known)}, None, [7, 8, 9], "skip"
    )
    b = evaluation_of({"mrr": lists_of([0.5, 1, 1], None)}, None, [9, 7, 8], "skip")
    assert jrm.compare(a, b)["mrr"].difference == pytest.approx((0.5 + 0.25) / 2)
    assert jrm.compare(a, b)["mrr"].lists == 2
    counted = jrm.compare(a, b, undefined="zero")["mrr"]
    assert counted.difference == pytest.approx((0.5 + 1 + 0.25) / 3)
    assert jrm.compare(a, {"x": b, "y": a})["y"].ties == 2


def test_lower_is_better():
    """The smaller value wins, and a count has no wins."""
    bad, good = np.full(5, 3.0), np.array([1.0, 1, 1, 2, 4])
    for name in ("arp", "fall_out(rel=2)@5", "coverage_error", "miscalibration@3"):
        result = jrm.compare({name: bad}, {"good": {name: good}})[name]
        assert (result.wins, result.losses) == (4, 1) and result.difference < 0
        assert "4 wins 0 ties 1 loss, 5 lists, lower is better)" in repr(result)
    for name in ("num_ret", "popularity@10"):
        result = jrm.compare({name: bad}, {name: good})[name]
        assert result.wins is result.losses is None and "win" not in repr(result)
    assert jrm.compare({"ndcg": bad}, {"ndcg": good})["ndcg"].wins == 1
    for lower in (("latency",), "latency@3", True):
        result = jrm.compare({"latency@3": bad}, {"latency@3": good}, lower=lower)
        assert result["latency"].wins == 4
    assert jrm.compare(bad, good, lower=True).only.wins == 4


def test_lists_that_one_run_leaves_out_are_named():
    """The message has the query and the cure, which makes the runs comparable."""
    qrels = {x: {"d": 1} for x in "xyz"}
    run = {x: {"d": 1.0, "e": 0.5} for x in "xy"}
    some = jrm.join(qrels, run, missing="skip").evaluation("mrr")
    whole = jrm.join(qrels, run | {"z": {"e": 1.0}}).evaluation("mrr")
    text = "list 'z' has weight 1 in a.* and 0 in b.* the weights of 1 lists differ.* .*missing='zero'"
    with pytest.raises(ValueError, match=text):
        jrm.compare(whole, some)
    zero = jrm.join(qrels, run, missing="zero").evaluation("mrr")
    assert jrm.compare(whole, zero, test="t").only.ties == 3


def test_frames_whose_columns_begin_with_systems(rng):
    """Names of levels say what they hold; without names, tasks come before systems."""
    columns = pd.MultiIndex.from_product([["old", "new"], ["web", "news"], ["mrr"]])
    frame = pd.DataFrame(rng.random((12, 4)), columns=columns)
    tasks_of_systems = jrm.compare(frame)
    frame.columns.names = ["system", "task", "metric"]
    for rows, expected in (
        (tasks_of_systems, [("old", "news"), ("new", "news")]),
        (jrm.compare(frame), [("web", "new"), ("news", "new")]),
    ):
        assert [(row.task, row.system) for row in rows] == expected


def test_integers_are_exact():
    """Narrow integers are no sums in float32, so their differences are no ties."""
    views = np.full(6, 10_000_000, np.int32)
    for dtype in (np.int32, np.int64):
        row = jrm.compare(views.astype(dtype), (views + 3).astype(dtype)).only
        assert (row.wins, row.ties) == (6, 0) and row.difference == 3
