"""Metrics of C/W/L, against loops over the ranks of one order in float64."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from quick_programs import quick_measure

import jax_rank_metrics as jrm
from jax_rank_metrics._calls.names import lower_is_better

LISTS, ITEMS, MAX_LABEL = 6, 7, 4
KS = (3, jrm.share(0.5), None)
MAX_RANK = 150  # the empty ranks are read in three steps
VALUES = ("utility", "total_utility", "cost", "total_cost", "items")


def inst(rank, gains, costs, target=1.0):
    """Returns the chance to go on of INST, after the items down to a rank."""
    n = rank + 2 * target - math.fsum(gains)
    return ((n - 1) / n) ** 2


def insq(rank, gains, costs, target=1.0):
    """Returns that of INSQ."""
    return ((rank + 2 * target - 1) / (rank + 2 * target)) ** 2


def bpm(rank, gains, costs, target, budget, target_step=0, budget_step=0, m=0.5):
    """Returns that of the Bejeweled player model, whose limits move from rank to rank."""
    for r in range(1, rank + 1):
        if math.fsum(gains[:r]) >= target - 1e-6:
            return 0
        if math.fsum(costs[:r]) >= budget - 1e-6:
            return 0
        target += target_step * (gains[r - 1] - m)
        budget += budget_step * (gains[r - 1] - m)
    return 1


def ift(rank, gains, costs, target=None, rate=None, sharpness=3.0):
    """Returns that of information foraging."""
    gained, chance = math.fsum(gains), 1
    if target is not None:
        chance *= 1 - 1 / (1 + 0.9 * math.exp(sharpness * (target - gained)))
    if rate is not None:
        lag = rate - gained / math.fsum(costs)
        chance /= 1 + 0.9 * math.exp(sharpness * lag)
    return chance


def tbg(rank, gains, costs, half_life):
    """Returns that of time-biased gain."""
    return 0 if rank == MAX_RANK else 2 ** (-costs[-1] / half_life)


# The chances to go on, and the metric that has them.
MODELS = {
    "inst": (inst, jrm.inst, {}),
    "insq": (functools.partial(insq, target=2), jrm.insq, {"target": 2}),
    "bpm": (
        functools.partial(
            bpm, target=2, budget=12, target_step=0.5, budget_step=3, m=0.25
        ),
        jrm.bejeweled_player_model,
        {
            "target": 2,
            "budget": 12,
            "target_step": 0.5,
            "budget_step": 3,
            "median_gain": 0.25,
        },
    ),
    "ift": (
        functools.partial(ift, target=1.2, rate=0.3),
        jrm.information_foraging,
        {
            "target": 1.2,
            "rate": 0.3,
            "target_rationality": 3.0,
            "rate_rationality": 3.0,
        },
    ),
    "tbg": (
        functools.partial(tbg, half_life=5),
        jrm.time_biased_gain,
        {"half_life": 5},
    ),
}


def metrics_of(ks=KS, values=VALUES, names=tuple(MODELS)):
    """Returns metrics by the name of the model and the value."""
    return {
        f"{name} {value}": functools.partial(
            MODELS[name][1],
            **MODELS[name][2],
            **{"k": ks, "value": value, "max_label": MAX_LABEL, "max_rank": MAX_RANK},
        )
        for name in names
        for value in values
    }


def draw(rng, lists=LISTS, items=ITEMS):
    """Draws ties, padding, unknown costs, an empty list and one without any gain."""
    labels = rng.choice([0, 0, 1, 3, 4, 6], (lists, items)).astype(np.float32)
    scores = rng.integers(0, 4, (lists, items)).astype(np.float32)
    mask = rng.random((lists, items)) < 0.8
    costs = rng.choice([0.5, 1, 2, 0, np.nan], (lists, items)).astype(np.float32)
    mask[0], labels[1] = False, 0
    return labels, scores, mask, costs


def measure(labels, scores, mask, costs, metrics, **how):
    """Returns the results of metrics, and the ranking they read."""
    ranking = jrm.rank(labels, scores, mask, columns={"costs": costs}, **how)
    return quick_measure(metrics, ranking), ranking


def browse(chance, gains, costs):
    """Returns the five values of a user who reads one order down to `MAX_RANK`."""
    gains = [*gains, *[0.0] * (MAX_RANK - len(gains))]
    costs = [*costs, *[1.0] * (MAX_RANK - len(costs))]
    view, items, gain, cost, gain_at_stop, cost_at_stop = 1.0, 0, 0, 0, 0, 0
    for r in range(1, MAX_RANK + 1):
        items, gain, cost = (
            items + view,
            gain + view * gains[r - 1],
            cost + view * costs[r - 1],
        )
        goes_on = chance(r, gains[:r], costs[:r])
        gain_at_stop += view * (1 - goes_on) * math.fsum(gains[:r])
        cost_at_stop += view * (1 - goes_on) * math.fsum(costs[:r])
        view *= goes_on
        if not view:
            break
    return dict(
        zip(
            VALUES,
            (gain / items, gain_at_stop, cost / items, cost_at_stop, items),
            strict=True,
        )
    )


def mean(outcomes):
    """Returns the mean of each value."""
    return {
        value: math.fsum(x[value] for x in outcomes) / len(outcomes) for value in VALUES
    }


def check_same(results, expected, rtol=1e-6):
    """Asserts equal values, weights and defined lists."""
    for name, lists in expected.items():
        close = functools.partial(
            np.testing.assert_allclose, rtol=rtol, atol=1e-6, err_msg=name
        )
        close(results[name].values, lists.values)
        close(results[name].weights, lists.weights)
        np.testing.assert_array_equal(results[name].defined, lists.defined, name)


def test_against_loops(rng):
    """Every model at every cutoff: a cutoff cuts the list, and empty ranks follow."""
    labels, scores, mask, costs = draw(rng)
    # All values of the other models are made of the same sums.
    metrics = metrics_of(values=("utility",)) | metrics_of(names=("ift", "insq"))
    results, ranking = measure(labels, scores, mask, costs, metrics)
    gains = np.minimum(labels / MAX_LABEL, 1).astype(np.float64)
    costs = np.where(costs > 0, costs, 1).astype(np.float64)
    for row in range(LISTS):
        order = [int(i) for i in ranking.items[row] if i >= 0]
        is_defined = any(labels[row, i] > 0 for i in order)
        ks = (3, -(-len(order) // 2), None)  # a share of the items that exist
        for name, (chance, _, _) in MODELS.items():
            # INSQ is linear in gains, and so has its mean over the orders of tied items.
            orders = [order]
            if name == "insq":
                groups = oracle.tie_groups(sorted(order), scores[row])
                orders = [list(x) for x in oracle.all_orders(groups)]
            expected = [
                mean(
                    [
                        browse(chance, gains[row, x[:k]], costs[row, x[:k]])
                        for x in orders
                    ]
                )
                for k in ks
            ]
            for value in VALUES:
                if f"{name} {value}" not in metrics:
                    continue
                lists = results[f"{name} {value}"]
                assert lists.defined[row] == is_defined
                np.testing.assert_allclose(
                    lists.values[row],
                    [is_defined * values[value] for values in expected],
                    rtol=1e-6,
                    atol=1e-6,
                    err_msg=f"{name} {value}",
                )


def test_binary_gains_without_costs():
    """Without `max_label`, relevant items gain 1; without the column, items cost 1."""
    labels, scores = jnp.array([[2.0, 1.0, 3.0]]), jnp.array([[0.9, 0.8, 0.7]])
    metrics = {
        value: functools.partial(
            jrm.inst, value=value, max_rank=MAX_RANK, relevance_threshold=2
        )
        for value in VALUES
    }
    results = jrm.measure(metrics, jrm.rank(labels, scores))
    for value, expected in browse(inst, [1, 0, 1], [1, 1, 1]).items():
        np.testing.assert_allclose(results[value].values, [expected], rtol=1e-6)


def test_what_raises():
    """Options are checked, and rankings that hold only listed items are refused."""
    labels, scores = jnp.array([1.0, 0.0]), jnp.array([0.9, 0.8])
    for metric, options, message in (
        (jrm.inst, {"target": 0.4}, "at least 0.5"),
        (jrm.inst, {"value": "effort"}, "total_utility"),
        (jrm.inst, {"max_rank": 0}, "max_rank"),
        (jrm.time_biased_gain, {"half_life": 0}, "half_life"),
        (jrm.bejeweled_player_model, {"median_gain": 2}, "median_gain"),
        (jrm.information_foraging, {"target": None, "rate": None}, "at least one"),
    ):
        with pytest.raises(ValueError, match=message):
            metric(labels, scores, **options)
    with pytest.raises(ValueError, match="'costs' has shape"):
        jrm.inst(labels, scores, columns={"costs": jnp.ones((2, 1))})
    ids = jnp.array([0])
    with pytest.raises(ValueError, match="only the items"):
        jrm.inst.of(jrm.rank_scores(scores, ids))
    costs = {"costs": jnp.ones(1)}
    with pytest.raises(ValueError, match="'costs' is known of the listed items alone"):
        jrm.inst.of(jrm.rank_scores(scores, ids, k=2, columns=costs), k=2)


def test_direction():
    """Gains should be high; costs are neither good nor bad."""
    directions = [lower_is_better(f"inst(value={value})@10") for value in VALUES]
    assert directions == [False, False, None, None, None]


@pytest.mark.long
@pytest.mark.parametrize("name", ["inst", "insq", "tbg"])
def test_laws(name):
    """Every law, on every layout; models that read costs have the column."""
    _, metric, options = MODELS[name]
    reads_costs = name == "tbg"
    columns = {"costs": lambda rng, shape: rng.random(shape)} if reads_costs else None
    jrm.testing.check_metric(metric, columns=columns, max_rank=100, **options)


@pytest.mark.long
def test_items_over_devices(rng):
    """Items that are cut over devices: each of them reads the same ranks."""
    data, metrics = draw(rng, items=16), metrics_of((1, 5), ("utility", "items"))

    def run(*data):
        return measure(*data, metrics, items_axis="model", k=5)[0]

    expected, _ = measure(*data, metrics, k=5)
    mesh = jax.make_mesh(
        (4,), ("model",), axis_types=(AxisType.Auto,), devices=jax.devices()[:4]
    )
    over_devices = jax.shard_map(
        run, mesh=mesh, in_specs=P(None, "model"), out_specs=P()
    )
    check_same(jax.jit(over_devices)(*data), expected)


@pytest.mark.long
def test_long_lists(rng):
    """Lists that are deeper than `max_rank`, as rows and packed."""
    items, names, values = 400, ("inst", "tbg"), ("utility", "items")
    metrics = metrics_of((20, None), values, names)
    data = draw(rng, items=items)
    scores = rng.permuted(np.tile(np.float32(np.arange(items)), (LISTS, 1)), axis=1)
    data = data[0], scores, *data[2:]
    rows, ranking = measure(*data, metrics)
    flat = [x.reshape(-1) for x in data]
    ids = np.repeat(np.arange(LISTS, dtype=np.int32), items)
    packed, _ = measure(*flat, metrics, segment_ids=ids, num_segments=LISTS)
    check_same(packed, rows)
    gains = np.minimum(data[0] / MAX_LABEL, 1).astype(np.float64)
    costs = np.where(data[3] > 0, data[3], 1).astype(np.float64)
    order = [int(i) for i in ranking.items[2] if i >= 0][:MAX_RANK]
    for name in names:
        expected = browse(MODELS[name][0], gains[2, order], costs[2, order])
        for value in values:
            actual = rows[f"{name} {value}"].values[2, 1]
            np.testing.assert_allclose(actual, expected[value], rtol=1e-5, atol=1e-6)


@pytest.mark.long
def test_in_double_precision(rng):
    """Under x64, values are those of the loops to 1e-12."""
    data, name = draw(rng), "ift utility"
    with jax.enable_x64(True):
        labels, scores, mask, costs = data
        results, ranking = measure(
            labels.astype(np.float64), scores, mask, costs, {name: metrics_of()[name]}
        )
        assert results[name].values.dtype == jnp.float64
        order = [int(i) for i in ranking.items[3] if i >= 0]
        gains = np.minimum(labels[3] / MAX_LABEL, 1).astype(np.float64)
        costs = np.where(costs[3] > 0, costs[3], 1).astype(np.float64)
        expected = browse(MODELS["ift"][0], gains[order], costs[order])["utility"]
        np.testing.assert_allclose(results[name].values[3, 3], expected, rtol=1e-12)


def test_ties_are_read_in_one_order(rng):
    """The mean over orders is asked for in vain."""
    labels, scores, mask, _ = draw(rng)
    with pytest.raises(ValueError, match="order"):
        jrm.inst(labels, scores, mask, ties="expected")
    groups = oracle.tie_groups(oracle.existing(labels[3], mask[3]), scores[3])
    assert max(map(len, groups)) > 1
