"""Closed forms against all orders of tied items, and tie policies against loops."""

import dataclasses

import jax
import numpy as np
import pytest
from cases import CASES, CLOSED, CORE, KEYLESS_ORDERS, MORE, TOP, WHOLE, metrics
from quick_programs import quick_measure

import jax_rank_metrics as jrm

KS = (2, None)
# All metrics, and all options without a closed form.
ALL_CASES = CORE | MORE | WHOLE | {n: c for n, c in CASES.items() if n not in CLOSED}


def draw(rng, lists, items, *, weighted, masked=True):
    """Draws short lists with many ties, graded labels and padding of three kinds."""
    labels = rng.integers(-1 if masked else 0, 4, (lists, items)).astype(np.float32)
    labels[rng.random(lists) < 0.8, rng.integers(items)] = TOP
    scores = rng.integers(0, 3, (lists, items)).astype(np.float32)
    mask = rng.random((lists, items)) > 0.2 if masked else None
    weights = None
    if weighted:
        weights = np.round(rng.random((lists, items)) * 3 + 0.01, 2).astype(np.float32)
        weights[rng.random((lists, items)) < 0.1] = 0
    return labels, scores, mask, weights


def compare(lists, case, data, ties, ks):
    """Asserts that values equal the oracle's where defined, and are 0 elsewhere."""
    expected = case.expect(*data, ties, ks=ks)
    defined = np.asarray(lists.defined)
    np.testing.assert_array_equal(np.asarray(lists.values)[~defined], 0)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(
        np.asarray(lists.values)[defined] / scale,
        expected[defined] / scale,
        rtol=0,
        atol=1e-6,
    )
    stable = np.asarray(case.expect(*data, "stable", ks=ks)).reshape(len(defined), -1)
    assert (stable[~defined] == 0).all()  # the oracle has no value there either


# A constant scorer, wherever the relevant items of a list lie; its last item is padding.
BASE = np.array([TOP, 0, 1, 0, 0, 2], np.float32)
ROLLED = np.stack([np.append(np.roll(BASE, shift), -1) for shift in range(6)])


@pytest.fixture(scope="module")
def whole():
    """Draws lists, appends those of the constant scorer, and measures all at once."""
    drawn = draw_edges(np.random.default_rng(5), False)[:3]
    constant = ROLLED, np.zeros_like(ROLLED), np.ones(ROLLED.shape, bool)
    arrays = [np.concatenate(pair) for pair in zip(drawn, constant, strict=True)]
    ranking = jrm.rank(*arrays, k=KS)
    measured = jax.device_get(quick_measure(metrics(KS, cases=CLOSED), ranking))
    return (*drawn, None), measured


def test_whole_lists_equal_all_orders(whole):
    """Closed forms are means over all orders, with ties within and across the cut."""
    data, measured = whole
    for name, case in CLOSED.items():
        compare(measured[name][: len(data[0])], case, data, "expected", KS)


@pytest.mark.long
@pytest.mark.parametrize(
    "name, weighted, ks",
    [
        ("sort", True, KS),
        ("top_k", False, (2,)),
        ("top_k", True, (1, 2, 4)),
    ],
    ids=["whole-weights", "cut-2", "cut-5-weights"],
)
def test_expected_equals_all_orders(rng, lowering, name, weighted, ks):
    """Closed forms are means over all orders, with ties within and across the cut."""
    data = draw_edges(rng, weighted)
    cases = {n: c for n, c in CLOSED.items() if None in ks or c.has_k}
    if weighted:  # keep the cases that read weights
        cases = {n: c for n, c in cases.items() if c.weighted or n in CORE}
    with lowering(name):
        ranking = jrm.rank(*data, ties="expected", k=ks)
        measured = jrm.measure(metrics(ks, cases=cases), ranking)
    for case_name, case in cases.items():
        compare(measured[case_name], case, data, "expected", ks)


@pytest.mark.long
@pytest.mark.parametrize(
    "name, ks",
    [("top_k", (2,)), ("sort", KS)],
    ids=["cut", "whole"],
)
def test_one_order_equals_loops(rng, lowering, name, ks):
    """Policies of one order agree with loops; item weights break ties as well."""
    data = draw_edges(rng, True)
    cases = {n: c for n, c in ALL_CASES.items() if None in ks or c.has_k}
    with lowering(name):
        for ties in KEYLESS_ORDERS:
            ranking = jrm.rank(*data, ties=ties, k=ks)
            # With one policy name, a single program reads the rankings of all policies.
            ranking = dataclasses.replace(ranking, _ties="stable")
            measured = jrm.measure(metrics(ks, cases=cases), ranking)
            for case_name, case in cases.items():
                compare(measured[case_name], case, data, ties, ks)


def draw_edges(rng, weighted):
    """Draws forty lists of up to seven items; four have one item, and one has none."""
    data = draw(rng, 40, 7, weighted=weighted)
    data[0][:5, 1:] = -1
    data[0][0] = -1
    return data


@pytest.mark.long
def test_random_orders_converge_to_the_closed_form(rng):
    """The mean over 5,000 keys is the expected value, within five standard errors."""
    labels, scores, mask, weights = draw(rng, 6, 7, weighted=True)
    means = {name: case for name, case in CLOSED.items() if case.is_mean}
    table = metrics((1, 3, None), cases=means)

    @jax.jit
    @jax.vmap
    def values_of_key(key):
        ranking = jrm.rank(labels, scores, mask, weights, key)
        return {n: lists.values for n, lists in jrm.measure(table, ranking).items()}

    random = values_of_key(jax.random.split(jax.random.key(7), 5_000))
    exact = jrm.measure(table, jrm.rank(labels, scores, mask, weights))
    for name, lists in exact.items():
        draws = np.asarray(random[name], np.float64)
        error = draws.std(0) / np.sqrt(len(draws)) + 1e-6
        off = np.abs(draws.mean(0) - np.asarray(lists.values)) / error
        assert off.max() < 5, name


def test_constant_scores_give_the_mean_over_all_orders(whole):
    """A constant scorer has the value of a random one, wherever relevant items lie."""
    _, measured = whole
    scores = np.zeros((1, len(BASE)), np.float32)
    for name, case in CLOSED.items():
        values = measured[name].values[-len(ROLLED) :]
        expected = case.expect(BASE[None], scores, None, None, "expected", ks=KS)
        scale = max(1.0, np.abs(expected).max())
        expected = np.broadcast_to(expected[0], values.shape)
        np.testing.assert_allclose(values / scale, expected / scale, atol=1e-6, rtol=0)
