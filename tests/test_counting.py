"""Hit rate and reciprocal rank are counted without an order, and agree with a full one."""

import functools
import re

import jax
import numpy as np
import oracle
import pytest
from cases import ORDERS
from jax.sharding import PartitionSpec as P
from sources import make_mesh

import jax_rank_metrics as jrm

LISTS, ITEMS = 6, 32
KS = (1, 4, None)
KEY = jax.random.key(11)
NAMES = {
    "hits": functools.partial(jrm.hit_rate, k=KS),
    "rr": functools.partial(jrm.reciprocal_rank, k=KS),
}


def draw(rng, dtype=np.float32):
    """Draws many ties, few relevant items, odd scores, and lists with nothing relevant."""
    labels = (rng.random((LISTS, ITEMS)) < 0.12).astype(np.float32)
    labels[rng.random(labels.shape) < 0.05] = -1
    scores = rng.integers(-2, 3, labels.shape).astype(dtype)
    if dtype == np.float32:
        scores[rng.random(labels.shape) < 0.1] = np.inf
        scores[rng.random(labels.shape) < 0.2] = -np.inf
        least = np.finfo(dtype).min
        scores[rng.random(labels.shape) < 0.3] = least
        scores[3] = np.where(labels[3] > 0, least, scores[3])
        scores[4] = np.where(labels[4] > 0, -np.inf, scores[4])
    else:
        scores[rng.random(labels.shape) < 0.3] = np.iinfo(dtype).min
        scores[3] = np.where(labels[3] > 0, np.iinfo(dtype).min, scores[3])
    labels[2, 5:9] = 1
    labels[0] = np.minimum(labels[0], 0)
    mask = rng.random(labels.shape) > 0.1
    mask[1] = False
    return labels, scores, mask


def of_orders(orders, labels):
    """Hit rate and reciprocal rank of orders of item indices, `[2, lists, ks]`."""
    actual = np.zeros((2, len(labels), len(KS)))
    for row, order in enumerate(orders):
        order = [i for i in order if i >= 0]
        for column, k in enumerate(KS):
            hits = [r for r, i in enumerate(order, 1) if labels[row, i] >= 1]
            if hits and (k is None or hits[0] <= k):
                actual[:, row, column] = 1, 1 / hits[0]
    return actual


def expected(labels, scores, mask):
    """The same as means over all orders of tied items, from the chance of each rank."""
    actual = np.zeros((2, len(labels), len(KS)))
    for row in range(len(labels)):
        groups = {}
        for i in range(labels.shape[1]):
            if mask[row, i] and labels[row, i] >= 0:
                score = scores[row, i].item()
                key = (0, 0) if score != score else (1, score)
                groups.setdefault(key, []).append(labels[row, i] >= 1)
        above = 0
        for key in sorted(groups, reverse=True):
            tied, relevant = len(groups[key]), sum(groups[key])
            chance = 1.0
            for j in range(tied if relevant else 0):
                hazard = min(relevant / (tied - j), 1)
                for column, k in enumerate(KS):
                    if k is None or above + j + 1 <= k:
                        actual[:, row, column] += (
                            chance * hazard * np.array([1, 1 / (above + j + 1)])
                        )
                chance *= 1 - hazard
            above += tied
            if relevant:
                break
    return actual


def check(actual, values):
    """Asserts the values of both metrics."""
    for name, expected_values in zip(("hits", "rr"), values, strict=True):
        np.testing.assert_allclose(
            actual[name].values, expected_values, rtol=0, atol=1e-6
        )


def of_policy(ties):
    """The arguments of `rank` that choose a tie policy."""
    return {"key": KEY} if ties == "random" else {"ties": ties}


def in_order(ties, labels, scores, mask):
    """The order of a policy, by loops; a key's random order is read off a ranking."""
    if ties == "random":
        return np.asarray(jrm.rank(labels, scores, mask, None, KEY).items)
    return [
        oracle.one_order(
            oracle.tie_groups(oracle.existing(y, m), s),
            [float(x) for x in y],
            None,
            ties,
        )
        for y, s, m in zip(labels, scores, mask, strict=True)
    ]


def values_of(ties, labels, scores, mask):
    """Values of both metrics, `[2, lists, ks]`."""
    if ties is None:
        return expected(labels, scores, mask)
    return of_orders(in_order(ties, labels, scores, mask), labels)


@pytest.mark.parametrize("ties", [None, *ORDERS], ids=str)
def test_counted_as_ordered(rng, ties):
    """Counting gives what an order gives, for float and integer scores."""
    data = draw(rng)
    lists = rng.random(LISTS).astype(np.float32)
    counts = (data[2] & (data[0] >= 0)).any(-1)
    values = values_of(ties, *data)
    if ties in (None, "random"):
        states = jrm.evaluate(NAMES, *data, list_weights=lists, **of_policy(ties))
        means = np.average(values, axis=1, weights=lists * counts)
        for name, mean in zip(NAMES, means, strict=True):
            np.testing.assert_allclose(states[name].compute(), mean, atol=1e-6)
            assert int(states[name].lists) == counts.sum()
    else:
        actual = jrm.reciprocal_rank.per_list(*data, k=KS, ties=ties)
        np.testing.assert_allclose(actual.values, values[1], rtol=0, atol=1e-6)
    if ties in (None, "stable"):
        data = draw(rng, np.int32)
        actual = jrm.reciprocal_rank.per_list(*data, k=KS, ties=ties)
        values = values_of(ties, *data)
        np.testing.assert_allclose(actual.values, values[1], rtol=0, atol=1e-6)


@pytest.mark.long
def test_counted_beyond_a_cut(rng):
    """A ranking cut at 1 still holds the scores, and so serves any cutoff."""
    data = draw(rng)
    check(jrm.measure(NAMES, jrm.rank(*data, k=1)), expected(*data))


def test_counted_over_devices(rng):
    """Sharded items need no cutoff, since only counts travel between devices."""
    data = draw(rng)
    mesh = make_mesh((4,), ("model",))

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=P(None, "model"), out_specs=P())
    def run(*data):
        plain = {
            str(ties): jrm.reciprocal_rank.per_list(
                *data, items_axis="model", k=KS, **of_policy(ties)
            )
            for ties in (None, "random", "worst")
        }
        return plain, jrm.evaluate(("hit_rate@4",), *data, items_axis="model")

    plain, states = run(*data)
    for ties in (None, "random", "worst"):
        np.testing.assert_allclose(
            plain[str(ties)].values, values_of(ties, *data)[1], rtol=0, atol=1e-6
        )
    counts = (data[2] & (data[0] >= 0)).any(-1)
    np.testing.assert_allclose(
        states["hit_rate@4"].compute(),
        expected(*data)[0, counts, 1].mean(),
        rtol=0,
        atol=1e-6,
    )


@pytest.mark.long
def test_counted_in_packed_lists(rng):
    """Packed items may be shuffled or belong to no list; `items` gives the same order."""
    labels, scores, mask = draw(rng)
    ids = np.repeat(np.arange(LISTS, dtype=np.int32), ITEMS)
    ids[3] = -1
    mask[0, 3] = False
    order = rng.permutation(ids.size)
    flat = [x.reshape(-1)[order] for x in (labels, scores, mask)]
    segments = {"segment_ids": ids[order], "num_segments": LISTS}

    for ties in (None, "random"):
        actual = jrm.reciprocal_rank.per_list(
            *flat, k=KS, **segments, **of_policy(ties)
        )
        values = values_of(ties, labels, scores, mask)
        if ties == "random":
            ranking = jrm.rank(*flat, None, KEY, **segments)
            items, lists = np.asarray(ranking.items), np.asarray(ranking.segment_ids)
            orders = [
                order[items[(lists == row) & (items >= 0)]] for row in range(LISTS)
            ]
            orders = [slots - ITEMS * row for row, slots in enumerate(orders)]
            exists = mask & (labels >= 0)
            assert [len(x) for x in orders] == exists.sum(-1).tolist()
            values = of_orders(orders, labels)
        np.testing.assert_allclose(actual.values, values[1], rtol=0, atol=1e-6)


def test_uncut_beside_a_cut(rng):
    """`evaluate` ranks to depth 1 for p@1, and reads whole lists for mrr."""
    labels, scores, mask = draw(rng)
    states = jrm.evaluate(("p@1", "mrr", "hit_rate@20"), labels, scores, mask)
    counts = (mask & (labels >= 0)).any(-1)
    values = expected(labels, scores, mask)[1, :, -1]
    np.testing.assert_allclose(
        states["mrr"].compute(), values[counts].mean(), rtol=0, atol=1e-6
    )


def test_nothing_is_sorted(rng):
    """Where all metrics are counted, no program sorts, on any layout."""
    labels, scores, mask = draw(rng)
    flat = [x.reshape(-1) for x in (labels, scores, mask)]
    ids = np.repeat(np.arange(LISTS, dtype=np.int32), ITEMS)
    names = ("mrr", "hit_rate@5")

    def orders(run, *args):
        text = jax.jit(run).lower(*args).as_text()
        return re.findall(r"stablehlo\.sort|TopK|top_k", text)

    def count(rows, flat, key):
        segments = {"segment_ids": ids, "num_segments": LISTS}
        return (
            jrm.evaluate(names, *rows),
            jrm.evaluate(names[:1], *rows, key=key),
            jrm.evaluate(names[:1], *flat, **segments),
        )

    assert not orders(count, (labels, scores, mask), flat, KEY)
    assert orders(functools.partial(jrm.rank, k=2), labels, scores, mask)
    assert orders(jrm.rank, labels, scores, mask)


def test_counting_needs_the_scores():
    """Retrieved lists have no scores to count by; a catalogue's cut limits cutoffs."""
    ranking = jrm.rank_retrieved(np.array([[0, 0, 1]]))
    assert jrm.hit_rate.of(ranking, k=2).values.tolist() == [0]
    arrays = np.eye(2), np.ones((3, 2)), np.array([[0], [1]])
    cut = jax.eval_shape(lambda: jrm.rank_catalog(*arrays, k=1))
    with pytest.raises(ValueError, match="k is 2"):
        jrm.reciprocal_rank.of(cut, k=2)
