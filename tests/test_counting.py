"""Hit rate and reciprocal rank are counted without an order, and agree with a full one."""

import functools
import re

import jax
import numpy as np
import oracle
import pytest
from cases import ORDERS, policy
from jax.sharding import PartitionSpec as P
from sources import make_mesh

import jax_rank_metrics as jrm

LISTS, ITEMS = 6, 8
KS = (1, 4, None)
NAMES = {
    "hits": functools.partial(jrm.hit_rate, k=KS),
    "rr": functools.partial(jrm.reciprocal_rank, k=KS),
}


def draw(rng, dtype=np.float32):
    """Draws many ties, few relevant items, odd scores, and lists with nothing relevant."""
    labels = (rng.random((LISTS, ITEMS)) < 0.3).astype(np.float32)
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
    labels[2, 3:7] = labels[3:5, 2] = 1
    labels[0] = np.minimum(labels[0], 0)
    mask = rng.random(labels.shape) > 0.1
    mask[1] = False
    return labels, scores, mask


def values_of(ties, labels, scores, mask):
    """Values of both metrics, `[2, lists, ks]`; a random order is read off a ranking."""
    items = None
    if ties == "random":
        items = jrm.rank(labels, scores, mask, **policy(ties)).items
    lists = oracle.lists(labels, scores, mask, items=items)
    ties = {None: "expected", "random": "taken"}.get(ties, ties)
    metrics = oracle.hit_rate, oracle.reciprocal_rank
    return np.stack([oracle.values(metric, lists, ties, KS) for metric in metrics])


@pytest.mark.parametrize("ties", [None, *ORDERS], ids=str)
def test_counted_as_ordered(rng, ties):
    """Counting gives what an order gives, for float and integer scores."""
    data = draw(rng)
    lists = rng.random(LISTS).astype(np.float32)
    counts = (data[2] & (data[0] >= 0)).any(-1)
    values = values_of(ties, *data)
    if ties in (None, "random"):
        states = jrm.evaluate(NAMES, *data, list_weights=lists, **policy(ties))
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
    actual = jrm.measure(NAMES, jrm.rank(*data, k=1))
    for lists, values in zip(actual.values(), values_of(None, *data), strict=True):
        np.testing.assert_allclose(lists.values, values, rtol=0, atol=1e-6)


def test_counted_over_devices(rng):
    """Tied items are ordered by indices, which count through all devices."""
    data = draw(rng)

    @jax.jit
    @jax.shard_map(
        mesh=make_mesh((4,), ("model",)), in_specs=P(None, "model"), out_specs=P()
    )
    def values(*data):
        how = {"items_axis": "model", "k": KS, "ties": "stable"}
        return jrm.reciprocal_rank.per_list(*data, **how).values

    expected = values_of("stable", *data)[1]
    np.testing.assert_allclose(values(*data), expected, rtol=0, atol=1e-6)


def test_uncut_beside_a_cut(rng):
    """`evaluate` ranks to depth 1 for p@1, and reads whole lists for mrr."""
    labels, scores, mask = draw(rng)
    states = jrm.evaluate(("p@1", "mrr", "hit_rate@7"), labels, scores, mask)
    counts = (mask & (labels >= 0)).any(-1)
    values = values_of(None, labels, scores, mask)[1, :, -1]
    np.testing.assert_allclose(
        states["mrr"].compute(), values[counts].mean(), rtol=0, atol=1e-6
    )


def test_nothing_is_sorted(rng):
    """If all metrics are counted, no program sorts, on any layout."""
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

    key = policy("random")["key"]
    assert not orders(count, (labels, scores, mask), flat, key)
    assert orders(functools.partial(jrm.rank, k=2), labels, scores, mask)
    assert orders(jrm.rank, labels, scores, mask)
