"""Measures of NTCIR, against loops over one order in float64."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from quick_programs import quick_measure

import jax_rank_metrics as jrm
from jax_rank_metrics._calls.names import parse

LISTS, ITEMS = 6, 8
KS = (1, 20, jrm.share(0.5), None)


def gain_above_one(labels):
    """Gives relevant items of the label 1 no gain."""
    return jnp.maximum(labels - 1, 0)


METRICS = {
    "q": functools.partial(jrm.q_measure, k=KS, beta=2),
    "q-attainable": functools.partial(
        jrm.q_measure, k=KS, denominator="attainable", relevance_threshold=2
    ),
    "p": functools.partial(jrm.p_plus, k=KS, gain_fn=gain_above_one),
    "p-binary": functools.partial(jrm.p_plus, k=KS, beta=0, relevance_threshold=2),
    "o": functools.partial(jrm.o_measure, k=KS, gain_fn=jrm.exponential_gain),
}


class Query:
    """One list in one order, and loops over its ranks."""

    def __init__(self, labels, order, pool, threshold, beta, gain):
        """Takes the gains of relevant items; no other item gains anything."""

        def gains_of(items):
            return [gain(float(labels[i])) * (labels[i] >= threshold) for i in items]

        self.hits = [labels[i] >= threshold for i in order]
        self.gains = gains_of(order)
        self.ideal = sorted(gains_of(pool), reverse=True)
        self.num_relevant = sum(labels[i] >= threshold for i in pool)
        self.beta = beta

    def ratio(self, rank):
        """Returns the blended ratio at a rank."""
        gained = math.fsum(self.gains[:rank])
        ideal = math.fsum(self.ideal[:rank])
        return (sum(self.hits[:rank]) + self.beta * gained) / (rank + self.beta * ideal)

    def hit_ranks(self, k):
        """Returns the ranks of relevant items."""
        return [r for r, is_hit in enumerate(self.hits[:k], 1) if is_hit]

    def q(self, k, divisor=None):
        """Returns Q-measure."""
        sums = math.fsum(map(self.ratio, self.hit_ranks(k)))
        return sums / (divisor or self.num_relevant)

    def p(self, k):
        """Returns P+."""
        ranks = self.hit_ranks(k)
        if not ranks:
            return 0.0
        best = max(ranks, key=lambda r: (self.gains[r - 1], -r))
        ratios = [self.ratio(r) for r in ranks if r <= best]
        return math.fsum(ratios) / len(ratios)

    def o(self, k):
        """Returns O-measure."""
        ranks = self.hit_ranks(k)
        return self.ratio(ranks[0]) if ranks else 0.0


def expected_value(name, labels, order, pool, k):
    """Returns a metric by its name; None where it is undefined."""
    beta = {"q": 2, "p-binary": 0}.get(name, 1)
    threshold = 2 if name in ("q-attainable", "p-binary") else 1
    gains = {"o": lambda y: 2**y - 1, "p": lambda y: max(y - 1, 0)}
    gain = gains.get(name, lambda y: y)
    query = Query(labels, order, pool, threshold, beta, gain)
    if not query.num_relevant:
        return None
    if name == "q-attainable":
        cutoff = len(order) if k is None else k
        return query.q(k, min(cutoff, query.num_relevant))
    return getattr(query, name[0])(k)


def draw(rng, lists=LISTS, items=ITEMS):
    """Draws ties, padding, items not retrieved, an empty list and an undefined one.

    The gain 2^200 of one label is beyond float32.
    """
    labels = rng.choice([0, 0, 1, 2, 3.5], (lists, items)).astype(np.float32)
    scores = rng.integers(0, 5, (lists, items)).astype(np.float32)
    mask = rng.random((lists, items)) < 0.85
    retrieved = rng.random((lists, items)) < 0.8
    mask[0], labels[1] = False, 0
    labels[2, 3], scores[2, 3], mask[2, 3], retrieved[2, 3] = 200, 9, True, True
    return labels, scores, mask, retrieved


def measure(labels, scores, mask, retrieved, metrics=METRICS, **how):
    """Returns the results of metrics, and the ranking they read."""
    ranking = jrm.rank(labels, scores, mask, retrieved=retrieved, **how)
    return quick_measure(metrics, ranking), ranking


def check_same(results, expected):
    """Asserts equal values, weights and defined lists."""
    for name, lists in expected.items():
        for field in ("values", "weights", "defined"):
            np.testing.assert_allclose(
                np.asarray(getattr(results[name], field)),
                np.asarray(getattr(lists, field)),
                rtol=1e-6,
                atol=1e-6,
                err_msg=f"{name}: {field}",
            )


def check_against_loops(labels, mask, results, ranking):
    """Compares every metric at every cutoff with loops over the order that was taken."""
    for row in range(len(labels)):
        order = [int(i) for i in ranking.items[row] if i >= 0]
        pool = [i for i in range(labels.shape[1]) if mask[row, i]]
        ks = (1, 20, -(-len(pool) // 2), None)
        for name, lists in results.items():
            expected = [expected_value(name, labels[row], order, pool, k) for k in ks]
            assert lists.defined[row] == (expected[0] is not None)
            if expected[0] is None:
                expected = [0] * len(KS)
            np.testing.assert_allclose(
                lists.values[row], expected, atol=1e-6, err_msg=name
            )


def test_against_loops(rng):
    """Every metric at every cutoff, with judged items that were not retrieved."""
    data = draw(rng)
    check_against_loops(data[0], data[2], *measure(*data))


def test_precision_alone(rng):
    """With β = 0, Q-measure is average precision and O-measure reciprocal rank."""
    results, _ = measure(
        *draw(rng),
        ("q_measure(beta=0)", "ap", "o_measure(beta=0)", "rr"),
        ties="stable",
    )
    check_same(
        {"ap": results["q_measure(beta=0)"], "rr": results["o_measure(beta=0)"]},
        {name: results[name] for name in ("ap", "rr")},
    )


def test_nerr_is_a_name_of_err():
    """The name stands for `normalized=True`."""
    assert parse("nerr@3").options == parse("err(normalized=True)@3").options


@pytest.mark.long
def test_counted_places(rng):
    """Beside scores, ids of relevant items suffice, at every cutoff."""
    labels, scores, mask, _ = draw(rng)
    ids = np.tile(np.arange(ITEMS, dtype=np.int32), (LISTS, 1))
    ids = np.where(labels > 0, ids, -1)
    ranking = jrm.rank_scores(scores, ids, labels, item_mask=mask, ties="stable")
    expected, _ = measure(labels, scores, mask, None, ties="stable")
    check_same(jrm.measure(METRICS, ranking), expected)


@pytest.mark.long
def test_long_packed_lists(rng):
    """Lists of many items, as rows and packed, beside pools in another order."""
    data = draw(rng, items=90)
    results, ranking = measure(*data, ties="stable")
    check_against_loops(data[0], data[2], results, ranking)
    ids = np.repeat(np.arange(LISTS, dtype=np.int32), 90)
    order = np.argsort(np.tile(np.arange(90), LISTS), kind="stable")  # interleaved
    flat = [x.reshape(-1)[order] for x in data]
    packed, _ = measure(
        *flat, ties="stable", segment_ids=ids[order], num_segments=LISTS
    )
    check_same(packed, results)


@pytest.mark.long
@pytest.mark.parametrize("metric", [jrm.q_measure, jrm.p_plus])
def test_laws(metric):
    """Every law, on every layout."""
    jrm.testing.check_metric(metric)


@pytest.mark.long
def test_items_over_devices(rng):
    """Items that are cut over devices, of which the ideal order is that of all."""
    data = draw(rng, items=16)
    metrics = {
        name: functools.partial(metric.func, **metric.keywords | {"k": (1, 5)})
        for name, metric in METRICS.items()
    }

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
