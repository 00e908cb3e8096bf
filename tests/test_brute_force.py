"""Closed forms against all orders of tied items, and tie policies against loops."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from cases import (
    CASES,
    CLOSED,
    CORE,
    EVERY,
    KEYLESS_ORDERS,
    TOP,
    as_if_stable,
    compare,
    metrics,
)
from drawn import draw_short
from marks import long

import jax_rank_metrics as jrm

KS = (2, None)
# All metrics, and all options without a closed form.
ALL_CASES = EVERY | {n: c for n, c in CASES.items() if n not in CLOSED}


def draw_edges(rng, lists=40, **options):
    """Draws lists of up to seven items; four lists have one item, and one is empty."""
    data = draw_short(rng, lists, **options)
    data.labels[:5, 1:] = -1
    data.labels[0] = -1
    return data


def compare_all(measured, cases, lists, ties, ks=KS, **options):
    """Compares the values and list weights of every metric with its loops."""
    for name, case in cases.items():
        compare(measured[name], case, lists, ties, ks, **options)
        by_cutoff = ks if measured[name].cutoff_weights else (None,)
        weights = [
            [case.implied_weight(x) * case.factor(x, k) for k in by_cutoff]
            for x in lists
        ]
        weights = np.reshape(weights, measured[name].weights.shape)
        np.testing.assert_allclose(measured[name].weights, weights, 2e-6, err_msg=name)


# A constant scorer, wherever the relevant items of a list lie; its last item is padding.
BASE = np.array([TOP, 0, 1, 0, 0, 2], np.float32)
ROLLS = range(len(BASE))


def rolled(column):
    """Returns the column of a list, `[1, items, ...]`, with its items moved around."""
    rows = [np.roll(column[0, : len(BASE)], shift, axis=0) for shift in ROLLS]
    return np.concatenate([np.stack(rows), np.stack([column[0, -1:]] * 6)], axis=1)


# Metrics of lists whose items have weights, and metrics that refuse weights.
TABLES = [{n: c for n, c in CASES.items() if c.weighable is x} for x in (True, False)]


@pytest.fixture(scope="module")
def whole():
    """Measures drawn lists and lists of a constant scorer, with garbled padding."""
    data = draw_edges(np.random.default_rng(5), weighted=True)
    constant = data._replace(scores=np.zeros_like(data.scores)).map(rolled)
    constant.labels[:] = np.stack([np.append(np.roll(BASE, x), -1) for x in ROLLS])
    constant.mask[:] = True
    both = jax.tree.map(lambda *parts: np.concatenate(parts), data, constant)
    results = []
    for cases, lists in zip(TABLES, (both, both._replace(weights=None)), strict=True):
        if not cases:  # under --metric
            continue
        ranking = lists.garbled().ranked(k=KS)
        measured = jax.device_get(jrm.measure(metrics(KS, cases=cases), ranking))
        rows = oracle.lists(*lists, items=ranking.items)
        results.append((cases, rows, measured))
    return len(data.labels), results


def test_whole_lists_equal_all_orders(whole):
    """Closed forms are means over all orders, with ties within and across the cut.

    Metrics without a closed form are compared with loops over the order that was taken. The
    weight of a list is the weight that its item weights imply.
    """
    number, results = whole
    for cases, rows, measured in results:
        measured = {name: x[:number] for name, x in measured.items()}
        compare_all(measured, cases, rows[:number], None)


def test_constant_scores_give_the_mean_over_all_orders(whole):
    """A constant scorer has the value of a random one, wherever relevant items lie."""
    number, results = whole
    for cases, rows, measured in results:
        for name in cases.keys() & CLOSED.keys():
            values = measured[name].values[number:]
            expected = cases[name].expect(rows[number:][:1], "expected", KS)
            scale = max(1.0, np.abs(expected).max())
            expected = np.broadcast_to(expected[0], values.shape)
            np.testing.assert_allclose(
                values / scale, expected / scale, atol=1e-6, rtol=0, err_msg=name
            )


@pytest.mark.parametrize("table", [CORE, *long(EVERY)], ids=["core", "every"])
def test_the_law_of_ties_holds_for_every_metric(rng, table):
    """The check for users' own metrics passes for all that declare a mean over orders."""
    cases = {
        name: case
        for name, case in table.items()
        if case.metric.spec.bind((), case.options).tie_reading_with(jrm.testing.COLUMNS)
        == "expected"
        and case.is_mean
    }
    if not cases:
        pytest.skip("the metric of --metric has no mean")
    measure = jax.jit(functools.partial(jrm.measure, metrics(KS, cases=cases)))
    jrm.testing.check_ties(measure, jrm.testing.COLUMNS, rng)


@pytest.mark.long
def test_items_without_a_rank(rng):
    """Items that were judged, but not retrieved, are in the pool alone."""
    data = draw_edges(rng, 20)
    retrieved = rng.random(data.labels.shape) < 0.7
    ranking = data.ranked(retrieved=retrieved)
    measured = jax.device_get(jrm.measure(metrics(KS, cases=EVERY), ranking))
    lists = oracle.lists(*data, retrieved, ranking.items)
    compare_all(measured, EVERY, lists, None)
    for name in [name for name, case in EVERY.items() if case.bounded]:
        values = np.asarray(measured[name].values)
        assert values.min() >= 0 and values.max() <= 1 + 1e-6, name


@pytest.mark.long
@pytest.mark.parametrize("weighted, ks", [(False, (2,)), (True, (1, 2, 4))])
def test_expected_equals_all_orders(rng, lowering, weighted, ks):
    """Closed forms are means over all orders, also if `lax.top_k` cuts lists."""
    data = draw_edges(rng, weighted=weighted)
    cases = {n: c for n, c in CLOSED.items() if c.has_k}
    if weighted:  # keep the cases that read weights
        cases = {n: c for n, c in cases.items() if c.weighted or n in EVERY}
    with lowering("top_k"):
        ranking = data.ranked(ties="expected", k=ks)
        measured = jrm.measure(metrics(ks, cases=cases), ranking)
    compare_all(measured, cases, oracle.lists(*data), "expected", ks)


@pytest.mark.long
@pytest.mark.parametrize(
    "name, ks", [("top_k", (2,)), ("sort", KS)], ids=["cut", "whole"]
)
def test_one_order_equals_loops(rng, lowering, name, ks):
    """Policies of one order agree with loops; item weights break ties as well."""
    data = draw_edges(rng, 20, weighted=True)
    cases = {n: c for n, c in ALL_CASES.items() if None in ks or c.has_k}
    with lowering(name):
        for ties in KEYLESS_ORDERS:
            ranking = data.ranked(ties=ties, k=ks)
            ranking = as_if_stable(ranking)
            measured = jrm.measure(metrics(ks, cases=cases), ranking)
            compare_all(measured, cases, oracle.lists(*data), ties, ks)


@pytest.mark.long
def test_in_double_precision(rng):
    """Under x64, values of labels of 64 bits equal the loops' to 1e-12."""
    data = draw_edges(rng)
    data = data.map(lambda x: x.astype(np.float64) if x.dtype == np.float32 else x)
    with jax.enable_x64(True):
        ranking = data.ranked()
        measured = jax.device_get(jrm.measure(metrics(KS, cases=EVERY), ranking))
    assert all(x.values.dtype == jnp.float64 for x in measured.values())
    lists = oracle.lists(*data, items=ranking.items)
    compare_all(measured, EVERY, lists, None, atol=1e-12)
