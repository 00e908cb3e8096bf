"""Fairness of exposure: the state of all lists, and extreme numbers."""

import math

import jax
import numpy as np
import oracle
import pytest
from drawn import draw_short

import jax_rank_metrics as jrm

GROUPS = 3


@pytest.mark.long
def test_the_sums_of_all_lists(rng):
    """Sums equal loops over all orders of tied items, for rows and packed lists."""
    data = draw_short(rng, 8)
    data.mask[0] = False
    ids = np.repeat(np.arange(8, dtype=np.int32), 7)
    flat = data.map(lambda x: x.reshape(-1, *x.shape[2:]))
    packed = flat.ranked(segment_ids=ids, num_segments=8)
    sums = np.zeros((4, GROUPS))
    for case in oracle.lists(*data):
        sums[0] += oracle.exposures(case, case.all_orders, 3, oracle.log2)
        sums[1] += case.group_totals()
        sums[2] += case.group_totals(oracle.linear)
        sums[3] += oracle.exposures(
            case, case.all_orders, 3, oracle.log2, oracle.linear
        )
    for ranking in (data.ranked(), packed):
        state = jrm.group_exposure(ranking, k=3)
        np.testing.assert_allclose(state.sums.round(), sums, rtol=1e-5)
        assert (state.lists, state.undefined) == (7, 1)


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
    """The numbers that a state computes from its sums, by hand; weights count."""
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
    empty = jrm.GroupExposure.empty(2)
    assert not any(np.any(value) for value in numbers(empty).values())


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
    lists = jrm.measure(names, jrm.rank(labels, scores, columns={"groups": groups}))
    assert all(np.isfinite(x.values).all() for x in lists.values())
    np.testing.assert_allclose(lists["group_recall@1"].values, 2.0**-32, rtol=1e-5)


@pytest.mark.long
def test_soft_ranks(rng):
    """The exposure of soft ranks has gradients: a larger score, more exposure."""
    data = draw_short(rng, 8)

    def first_share(scores):
        soft = data._replace(scores=scores).ranked(relax=jrm.sigmoid_ranks(0.5))
        return jrm.group_exposure(soft).shares()[0]

    member = (
        np.nan_to_num(data.columns["groups"])
        * (data.mask & (data.labels >= 0))[..., None]
    )
    gradient = np.asarray(jax.grad(first_share)(data.scores))
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
