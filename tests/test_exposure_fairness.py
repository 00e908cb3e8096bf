"""Fairness of exposure, against loops over all orders of tied items in float64."""

import functools
import math

import chex
import jax
import numpy as np
import oracle
import pytest
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from quick_programs import quick_measure

import jax_rank_metrics as jrm
from jax_rank_metrics._calls.names import lower_is_better, parse

LISTS, ITEMS, GROUPS = 7, 7, 3
KS = (1, 3, None)
GIVEN = (0.5, 0.2, 0.3)


def from_second_rank(rank):
    """Discount of the Fair Ranking track of TREC."""
    return 1 / math.log2(max(rank, 2))


METRICS = {
    "awrf": functools.partial(jrm.attention_weighted_rank_fairness, k=KS),
    "awrf-relevant": functools.partial(
        jrm.attention_weighted_rank_fairness, k=KS, target="relevant"
    ),
    "awrf-given": functools.partial(
        jrm.attention_weighted_rank_fairness,
        k=KS,
        target=GIVEN,
        discount_fn=jrm.reciprocal_discount,
    ),
    "loss": functools.partial(jrm.expected_exposure, k=KS),
    "loss-relevant": functools.partial(jrm.expected_exposure, k=KS, target="relevant"),
    "loss-given": functools.partial(jrm.expected_exposure, k=KS, target=GIVEN),
    "disparity": functools.partial(jrm.expected_exposure, k=KS, part="disparity"),
    "relevance": functools.partial(jrm.expected_exposure, k=KS, part="relevance"),
    "difference": functools.partial(jrm.exposure_parity, k=KS),
    "ratio": functools.partial(jrm.exposure_parity, k=KS, comparison="ratio"),
    "dtr": functools.partial(jrm.disparate_treatment_ratio, k=KS),
    "dir": functools.partial(
        jrm.disparate_impact_ratio, k=KS, gain_fn=jrm.exponential_gain
    ),
    "ndkl": functools.partial(jrm.ndkl, k=KS),
    "ndkl-given": functools.partial(jrm.ndkl, k=KS, target=GIVEN),
}

# One metric of each kind, for tests of layouts.
FEW = ("awrf-relevant", "loss-relevant", "dir", "ndkl-given")


class Query:
    """One list: loops over its items and over all orders of tied ones."""

    def __init__(self, labels, scores, mask, groups, retrieved):
        """Reads the memberships of the items that exist; unknown ones are 0."""
        self.labels, self.pool = labels, oracle.existing(labels, mask)
        self.member = np.where(groups > 0, groups, 0.0).astype(np.float64)
        ranked = [i for i in self.pool if retrieved[i]]
        self.orders = list(oracle.all_orders(oracle.tie_groups(ranked, scores)))

    def totals(self, worth=lambda label: 1.0):
        """Sums memberships, times the worth of items, over the pool."""
        return [
            math.fsum(self.member[i][g] * worth(self.labels[i]) for i in self.pool)
            for g in range(GROUPS)
        ]

    def exposures(self, k, discount, worth=lambda label: 1.0, orders=None):
        """Means, over orders, of what each group gets at the ranks up to k."""
        orders = self.orders if orders is None else orders
        sums = [0.0] * GROUPS
        for order in orders:
            for rank, i in enumerate(order[:k], 1):
                for g in range(GROUPS):
                    gain = discount(rank) * worth(self.labels[i])
                    sums[g] += gain * self.member[i][g] / len(orders)
        return sums

    def target(self, name):
        """Returns what groups should get, up to a factor."""
        if name == "given":
            return list(GIVEN)
        return self.totals(lambda y: float(y >= 1) if name == "relevant" else 1.0)

    def awrf(self, k, target):
        """Returns 1 less the divergence by SciPy's formula, squared."""
        discount = oracle.reciprocal if target == "given" else from_second_rank
        exposed, wanted = self.exposures(k, discount), self.target(target)
        if not sum(wanted):
            return None
        if not sum(exposed):
            return 0
        p, q = (np.array(x) / sum(x) for x in (exposed, wanted))
        middle = (p + q) / 2
        entropies = [
            x * math.log(x / m)
            for shares in (p, q)
            for x, m in zip(shares, middle, strict=True)
            if x > 0
        ]
        return 1 - math.fsum(entropies) / 2

    def target_exposures(self, k, target):
        """Returns the exposures that groups should have."""
        if target == "relevant":
            # An order of the whole pool by relevance, and then at random.
            score = [float(y >= 1) for y in self.labels]
            ideal = list(oracle.all_orders(oracle.tie_groups(self.pool, score)))
            return self.exposures(k, from_second_rank, orders=ideal)
        attention = sum(
            from_second_rank(r) for r, _ in enumerate(self.orders[0][:k], 1)
        )
        scale = 1 if target == "given" else 1 / len(self.pool)
        return [attention * scale * share for share in self.target(target)]

    def expected_exposure(self, part, k, target):
        """Returns one part of expected exposure."""
        exposed = np.array(self.exposures(k, from_second_rank))
        wanted = np.array(self.target_exposures(k, target))
        pairs = {
            "loss": (exposed - wanted,) * 2,
            "disparity": (exposed, exposed),
            "relevance": (exposed, wanted),
        }
        return float(np.dot(*pairs[part]))

    def compared(self, amounts, divisors, comparison):
        """Compares the largest quotient of the groups that there are with the smallest."""
        quotients = [a / d for a, d in zip(amounts, divisors, strict=True) if d > 0]
        if len(quotients) < 2:
            return None
        low, high = min(quotients), max(quotients)
        if comparison == "difference":
            return high - low
        return low / high if high else 0

    def ndkl(self, order, k, target):
        """Returns the divergences of all first parts of an order, discounted."""
        wanted = np.array(self.target(target))
        wanted, terms, weights = wanted / wanted.sum(), [], []
        for rank, _ in enumerate(order[:k], 1):
            seen = np.sum([self.member[i] for i in order[:rank]], 0)
            share = seen / seen.sum() if seen.sum() else seen
            pairs = zip(share, wanted, strict=True)
            divergence = math.fsum(p * math.log(p / t) for p, t in pairs if p > 0)
            terms.append(oracle.log2(rank) * divergence)
            weights.append(oracle.log2(rank))
        return math.fsum(terms) / math.fsum(weights)

    def value(self, name, k, order):
        """Returns a metric of `METRICS` by its name; None where it is undefined."""
        if not sum(self.totals()):
            return None
        name, _, target = name.partition("-")
        if name in ("difference", "ratio"):
            return self.compared(self.exposures(k, oracle.log2), self.totals(), name)
        if name == "dtr":
            merit = self.totals(oracle.linear)
            return self.compared(self.exposures(k, oracle.log2), merit, "ratio")
        if name == "dir":
            merit = self.totals(oracle.exponential)
            clicks = self.exposures(k, oracle.log2, oracle.exponential)
            return self.compared(clicks, merit, "ratio")
        if name == "awrf":
            return self.awrf(k, target)
        if name == "ndkl":
            return self.ndkl(order, k, target)
        return self.expected_exposure(name, k, target)


def draw(rng, lists=LISTS, items=ITEMS):
    """Draws ties, padding, unknown groups, and lists without items, groups or merit."""
    groups = rng.choice([0, 0, 0.25, 0.75, 1, np.nan, -1], (lists, items, GROUPS))
    scores = rng.integers(0, 3, (lists, items)).astype(np.float32)
    mask = rng.random((lists, items)) < 0.85
    labels = rng.integers(0, 3, (lists, items)).astype(np.float32)
    retrieved = rng.random((lists, items)) < 0.85
    mask[0] = False
    groups[1] = np.nan
    groups[2, :, 1:] = 0
    labels[3] = 0
    groups[3:, 0] = np.eye(GROUPS)[0]
    groups[3:, 1] = np.eye(GROUPS)[1]
    mask[2:, :2] = retrieved[2:, :2] = True
    groups[2, 0] = np.eye(GROUPS)[0]
    return labels, scores, mask, groups.astype(np.float32), retrieved


def ranked(labels, scores, mask, groups, retrieved=None, **how):
    """Ranks lists with the column of groups."""
    columns = {"groups": groups}
    return jrm.rank(labels, scores, mask, retrieved=retrieved, columns=columns, **how)


def check_same(results, expected):
    """Asserts equal values, weights and defined lists."""
    for name, lists in expected.items():
        for field in ("values", "weights", "defined"):
            np.testing.assert_allclose(
                getattr(results[name], field),
                getattr(lists, field),
                rtol=1e-5,
                atol=1e-6,
                err_msg=name,
            )


def few_at(*ks):
    """Returns the metrics of `FEW` at other cutoffs."""
    return {
        name: functools.partial(
            METRICS[name].func, **METRICS[name].keywords | {"k": ks}
        )
        for name in FEW
    }


def sums_by_loops(data, k):
    """Returns the amounts of a `GroupExposure` of all lists, each of weight 1."""
    sums = np.zeros((4, GROUPS))
    for row in zip(*data, strict=True):
        query = Query(*row)
        sums[0] += query.exposures(k, oracle.log2)
        sums[1] += query.totals()
        sums[2] += query.totals(oracle.linear)
        sums[3] += query.exposures(k, oracle.log2, oracle.linear)
    return sums


def test_against_loops(rng):
    """Every metric at every cutoff, and the sums of all lists."""
    data = draw(rng)
    ranking = ranked(*data)
    results = quick_measure(METRICS, ranking)
    undefined = set()
    for row, arrays in enumerate(zip(*data, strict=True)):
        query = Query(*arrays)
        order = [int(i) for i in ranking.items[row] if i >= 0]
        for name, lists in results.items():
            expected = [query.value(name, k, order) for k in KS]
            undefined |= {(name, row)} if None in expected else set()
            assert lists.defined[row] == (None not in expected), (name, row)
            np.testing.assert_allclose(
                lists.values[row],
                [value or 0 for value in expected],
                rtol=1e-5,
                atol=1e-6,
                err_msg=f"{name} of list {row}",
            )
    assert undefined >= {("ndkl", 1), ("ratio", 2), ("dtr", 3), ("awrf-relevant", 3)}
    state = jrm.group_exposure(ranking, k=3)
    np.testing.assert_allclose(state.sums.round(), sums_by_loops(data, 3), rtol=1e-5)
    assert (state.lists, state.undefined) == (LISTS - 1, 1)


@jax.jit
def numbers(state):
    """Computes every number of a state of two groups."""
    return {
        "shares": state.shares(),
        "difference": state.parity(),
        "ratio": state.parity("ratio"),
        "treatment": state.treatment_ratio(),
        "impact": state.impact_ratio(),
        "awrf": state.awrf((1, 0)),
    }


def test_all_lists_together():
    """What a state computes from its sums, by hand; states merge, and weights count."""
    columns = {"groups": np.float32([[[1, 0], [0, 1]]] * 2)}
    labels, scores = np.float32([[1, 2], [1, 2]]), np.float32([[2, 1], [1, 2]])

    def state_of(*weights):
        ranking = jrm.rank(labels, scores, weights=np.float32(weights), columns=columns)
        return jrm.group_exposure(ranking)

    state, second_rank = state_of(3, 1), 1 / math.log2(3)
    first, second = 3 + second_rank, 3 * second_rank + 1
    sums = [[first, second], [4, 4], [4, 8], [first, 2 * second]]
    np.testing.assert_allclose(state.sums.round(), sums, rtol=1e-6)
    share = first / (first + second)
    divergence = (
        math.log(2 / (1 + share))
        + share * math.log(2 * share / (1 + share))
        + (1 - share) * math.log(2)
    ) / 2
    expected = {
        "shares": [share, 1 - share],
        "difference": (first - second) / 4,
        "ratio": second / first,
        "treatment": second / first / 2,
        "impact": second / first,
        "awrf": 1 - divergence,
    }
    for name, value in numbers(state).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-6, err_msg=name)
    merged = state_of(3, 0).merge(state_of(0, 1))
    chex.assert_trees_all_close(merged, state, rtol=1e-6)
    empty = jrm.GroupExposure.empty(2)
    chex.assert_trees_all_equal(empty.merge(state), state)
    assert not any(np.any(value) for value in numbers(empty).values())
    with pytest.raises(ValueError, match="the same groups"):
        state.merge(jrm.GroupExposure.empty(3))
    with pytest.raises(ValueError, match="a tuple of 2 shares"):
        state.awrf((1, 2, 3))


@pytest.mark.parametrize(
    "metric, groups, message",
    [
        ("awrf", np.ones(3), "one membership for each item and group"),
        ("awrf", np.ones((3, 0)), "one membership for each item and group"),
        ("dtr", None, "reads the column 'groups'"),
        ("awrf(target=(1,))", np.ones((3, 2)), "a tuple of 2 shares"),
        ("awrf(target=(0, 0))", np.ones((3, 2)), "a share above 0 for some group"),
        ("ee(target=(1, -1))", np.ones((3, 2)), "at least 0"),
        ("ee(target=pool)", np.ones((3, 2)), "a tuple of 2 shares"),
        ("ee(part=all)", np.ones((3, 2)), "loss, disparity, relevance"),
        ("exposure_parity(comparison=gap)", np.ones((3, 2)), "difference, ratio"),
        ("ndkl(target=(1, 0))", np.ones((3, 2)), "shares above 0, one for each group"),
    ],
)
def test_errors(metric, groups, message):
    columns = None if groups is None else {"groups": groups}
    with pytest.raises(ValueError, match=message):
        jrm.evaluate(metric, np.ones(3), np.arange(3.0), columns=columns)


def test_infinite_memberships():
    """They count as very large, so that no value is NaN: weights may be 1/0."""
    groups = np.float32([[[1, 0], [0, np.inf], [np.inf, 1e30]]])
    names = (
        "group_recall@1",
        "ee(target=relevant)@2",
        "awrf",
        "exposure_parity",
        "ndkl",
    )
    labels, scores = np.ones((1, 3)), -np.arange(3.0)[None]
    lists = quick_measure(names, jrm.rank(labels, scores, columns={"groups": groups}))
    assert all(np.isfinite(x.values).all() for x in lists.values())
    np.testing.assert_allclose(lists["group_recall@1"].values, 2.0**-32, rtol=1e-5)


CATALOG = {
    "labels": np.float32([0, 1, 2, 0]),
    "scores": np.float32([3, 1, 2, 2]),
    "ids": np.array([1, 2]),
    "groups": np.float32([[1, 0], [0.5, 0.5], [0, 1], [0, 1]]),
}


def ranked_by_id(**how):
    """Ranks the catalogue by the ids of its relevant items."""
    ids = CATALOG["ids"]
    return jrm.rank_scores(CATALOG["scores"], ids, CATALOG["labels"][ids], **how)


def test_groups_of_relevant_items_alone():
    """They do not say what other items get; places of relevant items alone do not either."""
    ids, columns = CATALOG["ids"], {"groups": CATALOG["groups"][CATALOG["ids"]]}
    in_order = jrm.rank_ids(np.array([2, 0]), ids, columns=columns)
    for message, ranking in {
        "of the listed items alone": in_order,
        "rank all items with": ranked_by_id(item_groups=CATALOG["groups"]),
    }.items():
        for measure in (jrm.ndkl.of, jrm.exposure_parity.of, jrm.group_exposure):
            with pytest.raises(ValueError, match=message):
                measure(ranking, k=2)
    with pytest.raises(TypeError, match="one cutoff"):
        jrm.group_exposure(in_order, k=(1, 2))


@pytest.mark.long
def test_groups_of_the_items_of_a_catalogue():
    """They have the values of rows; impact needs the groups of relevant items alone."""
    names = ("awrf@3", "ee(target=relevant)@3", "ndkl@3", "dir@3")
    rows = ranked(CATALOG["labels"], CATALOG["scores"], None, CATALOG["groups"])
    expected = jrm.measure(names, rows)
    whole = ranked_by_id(k=3, item_groups=CATALOG["groups"])
    check_same(jrm.measure(names[:2], whole), {n: expected[n] for n in names[:2]})
    stable = {"k": 3, "ties": "stable", "item_groups": CATALOG["groups"]}
    first_ranks = jrm.rank_ids(
        ranked_by_id(**stable).items,
        CATALOG["ids"],
        CATALOG["labels"][CATALOG["ids"]],
        item_groups=CATALOG["groups"],
    )
    check_same(
        jrm.measure(names[2:3], ranked_by_id(**stable)),
        jrm.measure(names[2:3], first_ranks),
    )
    partial = ranked_by_id(columns={"groups": CATALOG["groups"][CATALOG["ids"]]})
    check_same(jrm.measure(names[3:], partial), {"dir@3": expected["dir@3"]})


def test_names_stand_for_parts():
    """The names of the three parts, and which direction of each is better."""
    names = ("ee", "ee_l", "ee_d", "ee_r", "expected_exposure(part=relevance)")
    parts = [dict(parse(name).options)["part"] for name in names]
    assert parts == ["loss", "loss", "disparity", "relevance", "relevance"]
    better = [lower_is_better(name) for name in names]
    assert better == [True, True, True, False, False]
    gap, ratio = "exposure_parity", "exposure_parity(comparison=ratio)@5"
    assert lower_is_better(gap) and not lower_is_better(ratio)


def draw_groups(rng, shape):
    """Draws memberships for `check_metric`, of which some are fractions."""
    return rng.choice([0, 0.5, 1], (*shape, GROUPS)).astype(np.float32)


@pytest.mark.long
@pytest.mark.parametrize("name", FEW[1:])  # the loss reads all that AWRF does
def test_laws(name):
    """Jit, vmap, padding, order of the items, layouts, merges and gradients."""
    metric = METRICS[name]
    jrm.testing.check_metric(
        metric.func, columns={"groups": draw_groups}, **metric.keywords
    )


@pytest.mark.long
def test_cut_and_retrieved_lists(rng):
    """Rankings that are cut inside a tie group, and lists in rank order with a pool."""
    labels, scores, mask, groups, retrieved = data = draw(rng, items=60)
    table = few_at(9)
    in_groups = {name: table[name] for name in FEW if not name.startswith("ndkl")}
    expected = jrm.measure(in_groups, ranked(*data))
    check_same(jrm.measure(in_groups, ranked(*data, k=9)), expected)
    in_order = rng.permuted(np.tile(np.float32(np.arange(60)), (LISTS, 1)), axis=1)
    ranking = ranked(labels, in_order, mask, groups, retrieved)
    slots = np.maximum(ranking.items, 0)
    listed = jrm.rank_retrieved(
        np.where(ranking.items < 0, -1, np.take_along_axis(labels, slots, 1)),
        pool_labels=labels,
        pool_mask=mask,
        columns={"groups": np.take_along_axis(groups, slots[..., None], 1)},
        pool_columns={"groups": groups},
    )
    check_same(jrm.measure(table, listed), jrm.measure(table, ranking))


def over_devices(run, in_specs, out_specs):
    """Maps `run` over four devices, by which arrays are sharded."""
    devices, kind = jax.devices()[:4], (AxisType.Auto,)
    mesh = jax.make_mesh((4,), ("model",), axis_types=kind, devices=devices)
    return jax.jit(
        jax.shard_map(run, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
    )


def check_state(state, expected):
    """Asserts equal sums and counts, up to rounding."""
    chex.assert_trees_all_close(state, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.long
def test_items_over_devices(rng):
    """Lists whose items are cut over devices, with the sums of all lists."""
    data = draw(rng, items=16)

    def run(*data):
        ranking = ranked(*data, items_axis="model", k=5)
        return jrm.measure(few_at(1, 5), ranking), jrm.group_exposure(ranking, k=5)

    whole = ranked(*data, k=5)
    results, state = over_devices(run, P(None, "model"), P())(*data)
    check_same(results, jrm.measure(few_at(1, 5), whole))
    check_state(state, jrm.group_exposure(whole, k=5))


@pytest.mark.long
def test_states_over_devices(rng):
    """The sums of lists on four devices are those of all lists; vmap stacks states."""
    data = draw(rng, lists=8)
    expected = jrm.group_exposure(ranked(*data))

    def run(*data):
        return jrm.all_reduce(jrm.group_exposure(ranked(*data)), "model")

    check_state(over_devices(run, P("model"), P())(*data), expected)
    halves = [np.stack(np.split(x, 2)) for x in data]
    stacked = jax.vmap(lambda *x: jrm.group_exposure(ranked(*x)))(*halves)
    check_state(stacked.reduce(), expected)
    assert stacked.parity().shape == (2,) and stacked.shares().shape == (2, GROUPS)
    ids = np.repeat(np.arange(8, dtype=np.int32), ITEMS)
    flat = [x.reshape(-1, *x.shape[2:]) for x in data]
    packed = ranked(*flat, segment_ids=ids, num_segments=8)
    check_state(jrm.group_exposure(packed), expected)


@pytest.mark.long
def test_double_precision(rng):
    """Under x64, floats of 64 bits give values of 64 bits."""
    data = draw(rng)
    doubles = [x.astype(np.float64) if x.dtype == np.float32 else x for x in data]
    with jax.enable_x64(True):
        results = jax.device_get(jrm.measure(few_at(*KS), ranked(*doubles)))
    for row, arrays in enumerate(zip(*data, strict=True)):
        for name in FEW[:3]:
            expected = [Query(*arrays).value(name, k, None) or 0 for k in KS]
            values = results[name].values
            np.testing.assert_allclose(values[row], expected, rtol=1e-6, atol=1e-9)
            assert values.dtype == np.float64


@pytest.mark.long
def test_soft_ranks(rng):
    """The exposure of soft ranks has gradients: a larger score, more exposure."""
    labels, scores, mask, groups, _ = draw(rng)

    def first_share(scores):
        soft = ranked(labels, scores, mask, groups, relax=jrm.sigmoid_ranks(0.5))
        return jrm.group_exposure(soft).shares()[0]

    member = np.where(groups > 0, groups, 0) * mask[..., None]
    gradient = np.asarray(jax.grad(first_share)(scores))
    assert gradient[(member[..., 0] == 0) & (member.sum(-1) > 0)].sum() < 0
    assert gradient[(member[..., 0] > 0) & (member[..., 1:].sum(-1) == 0)].sum() > 0


@pytest.mark.long
def test_large_gains():
    """Sums of gains that are each near the largest float do not overflow."""
    columns = {"groups": np.repeat(np.eye(2, dtype=np.float32), 2, axis=0)}
    labels, scores = np.full(4, 127, np.float32), np.float32([4, 3, 2, 1])
    expected = (oracle.log2(3) + oracle.log2(4)) / (oracle.log2(1) + oracle.log2(2))
    for metric in (jrm.disparate_treatment_ratio, jrm.disparate_impact_ratio):
        state = metric(labels, scores, columns=columns, gain_fn=jrm.exponential_gain)
        np.testing.assert_allclose(state.compute(), expected, rtol=1e-6)


@pytest.mark.long
def test_long_lists_of_ties():
    """A constant scorer gives every item the same exposure, at every cutoff."""
    groups = np.eye(2, dtype=np.float32)[np.arange(3000) % 3 // 2]
    columns, labels = {"groups": groups}, np.ones(3000, np.float32)
    ranking = jrm.rank(labels, np.zeros(3000, np.float32), columns=columns, k=100)
    fair = {"awrf@100": 1, "exposure_parity(comparison=ratio)@10": 1, "ee@100": 0}
    for name, lists in jrm.measure(tuple(fair), ranking).items():
        np.testing.assert_allclose(lists.values, fair[name], atol=1e-5, err_msg=name)
