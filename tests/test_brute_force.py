"""Closed forms against every order of the tied items, and policies against loops."""

import dataclasses

import jax
import numpy as np
import pytest
from cases import CASES, CLOSED, CORE, KEYLESS_ORDERS, MORE, WHOLE, metrics

import jax_rank_metrics as jrm

KS = (2, None)
# Every metric, and every option without a closed form.
EVERY = CORE | MORE | WHOLE | {n: c for n, c in CASES.items() if n not in CLOSED}


def draw(rng, lists, items, *, weighted, masked=True):
    """Short lists with many ties, graded labels, padding of three kinds."""
    labels = rng.integers(-1 if masked else 0, 4, (lists, items)).astype(np.float32)
    scores = rng.integers(0, 3, (lists, items)).astype(np.float32)
    mask = rng.random((lists, items)) > 0.2 if masked else None
    weights = None
    if weighted:
        weights = np.round(rng.random((lists, items)) * 3 + 0.01, 2).astype(np.float32)
        weights[rng.random((lists, items)) < 0.1] = 0
    return labels, scores, mask, weights


def compare(found, case, data, ties, ks):
    """Equal where defined, and 0 elsewhere."""
    expected = case.expect(*data, ties, ks=ks)
    defined = np.asarray(found.defined)
    np.testing.assert_array_equal(np.asarray(found.values)[~defined], 0)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(
        np.asarray(found.values)[defined] / scale,
        expected[defined] / scale,
        rtol=0,
        atol=1e-6,
    )
    exists = np.asarray(case.expect(*data, "stable", ks=ks)).reshape(len(defined), -1)
    assert (exists[~defined] == 0).all()  # the oracle finds nothing there either


@pytest.mark.parametrize(
    "name, weighted, ks",
    [
        ("sort", False, KS),
        pytest.param("sort", True, KS, marks=pytest.mark.long),
        ("top_k", False, (2,)),
        pytest.param("top_k", True, (1, 2, 4), marks=pytest.mark.long),
    ],
    ids=["whole", "whole-weights", "cut-2", "cut-5-weights"],
)
def test_expected_equals_all_orders(rng, lowering, name, weighted, ks):
    """Every closed form, at every k, with ties inside and across the cut."""
    data = draw_edges(rng, weighted)
    cases = {n: c for n, c in CLOSED.items() if None in ks or c.has_k}
    if weighted:  # the others read no weights
        cases = {n: c for n, c in cases.items() if c.weighted or n in CORE}
    with lowering(name):
        ranking = jrm.rank(*data, ties="expected", k=ks)
        found = jrm.measure(metrics(ks, cases=cases), ranking)
    for case_name, case in cases.items():
        compare(found[case_name], case, data, "expected", ks)


@pytest.mark.long
@pytest.mark.parametrize(
    "name, ks",
    [("top_k", (2,)), ("sort", KS)],
    ids=["cut", "whole"],
)
def test_one_order_equals_loops(rng, lowering, name, ks):
    """Policies of one order, with item weights among their tie breaks."""
    data = draw_edges(rng, True)
    # Other options of the same metrics are tried above.
    cases = {n: c for n, c in EVERY.items() if None in ks or c.has_k}
    with lowering(name):
        for ties in KEYLESS_ORDERS:
            ranking = jrm.rank(*data, ties=ties, k=ks)
            # Under one name, so that one program reads the rankings of all policies.
            ranking = dataclasses.replace(ranking, _ties="stable")
            found = jrm.measure(metrics(ks, cases=cases), ranking)
            for case_name, case in cases.items():
                compare(found[case_name], case, data, ties, ks)


def draw_edges(rng, weighted):
    """Forty lists of up to seven items, some of one item, and one of none."""
    data = draw(rng, 40, 7, weighted=weighted)
    data[0][:5, 1:] = -1
    data[0][0] = -1
    return data


@pytest.mark.long
def test_random_orders_converge_to_the_closed_form(rng):
    """The mean over 20,000 keys is the expected value, within five standard errors."""
    labels, scores, mask, weights = draw(rng, 6, 7, weighted=True)
    table = metrics((1, 3, None), cases=CLOSED)

    @jax.jit
    @jax.vmap
    def one(key):
        ranking = jrm.rank(labels, scores, mask, weights, key)
        return {n: lists.values for n, lists in jrm.measure(table, ranking).items()}

    random = one(jax.random.split(jax.random.key(7), 20_000))
    exact = jrm.measure(table, jrm.rank(labels, scores, mask, weights))
    for name, lists in exact.items():
        draws = np.asarray(random[name], np.float64)
        error = draws.std(0) / np.sqrt(len(draws)) + 1e-6
        off = np.abs(draws.mean(0) - np.asarray(lists.values)) / error
        assert off.max() < 5, name


def test_constant_scores_give_the_mean_over_all_orders():
    """A constant scorer is worth a random one, wherever the relevant items lie."""
    base = np.array([3, 0, 1, 0, 0, 2], np.float32)
    scores = np.zeros((6, 6), np.float32)
    labels = np.stack([np.roll(base, shift) for shift in range(6)])
    found = jrm.measure(metrics((1, 3, None), cases=CLOSED), jrm.rank(labels, scores))
    for name, case in CLOSED.items():
        values = np.asarray(found[name].values)
        expected = case.expect(
            base[None], scores[:1], None, None, "expected", ks=(1, 3, None)
        )
        scale = max(1.0, np.abs(expected).max())
        expected = np.broadcast_to(expected[0], values.shape)
        np.testing.assert_allclose(values / scale, expected / scale, atol=1e-6, rtol=0)
