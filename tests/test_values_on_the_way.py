"""Items that a user meets on the way to a stop: `expected_first` with their values."""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from jax import test_util
from marks import long_but
from sources import ITEMS, LISTS, SOURCES, draw

import jax_rank_metrics as jrm


def stop(items):
    return items.columns["stop"]


def worth(items):
    return items.columns["worth"]


def discount(ranks):
    return 1 / (1 + ranks)


def chance(items):
    return jnp.minimum(items.labels, 3) / 3


def worth_of_listed(items):
    column = items.columns.get("propensities", 0 * items.labels)
    return column - items.labels / 4


@jrm.metric(optional_columns=("propensities",))
def value_met(ranking, *, k=None):
    ks, value_fn = ranking.cutoffs(k), worth_of_listed
    met, _ = ranking.expected_first(chance, discount, ks, value_fn=value_fn)
    return ranking.per_list(met, True, k, chance)


def up_to(terms, ks):
    """Sums the terms of ranks, `[..., ranks]`, up to each k, and before it."""
    sums = np.cumsum(np.pad(terms, [(0, 0)] * (terms.ndim - 1) + [(1, 0)]), axis=-1)
    last = terms.shape[-1]
    return sums[..., [last if k is None else min(k, last) for k in ks]]


def of_order(stops, values):
    """The value of each item in this order, 0 unless the user reaches it."""
    return values * np.cumprod(np.append(1, 1 - stops))[:-1]


def of_all_orders(scores, stops, values):
    """The mean over all orders of tied items of the value that is met at each rank."""
    groups = oracle.tie_groups(range(len(scores)), scores)
    orders = np.array(list(oracle.all_orders(groups)))
    return np.mean([of_order(stops[o], values[o]) for o in orders], axis=0)


def in_closed_form(scores, stops, values):
    """The same by symmetric polynomials, for many tied items.

    If the item i is the j-th of t tied items, the items before it are each set of j − 1
    others with the same probability.
    """
    reached, met = 1.0, []
    for group in oracle.tie_groups(range(len(scores)), scores):
        size, passes = len(group), 1 - stops[group]
        orders = np.array([math.comb(size - 1, j) for j in range(size)], float)
        of_group = np.zeros(size)
        for i in range(size):
            chances = np.ones(1)
            for chance in np.delete(passes, i):
                chances = np.convolve(chances, (1, chance))
            of_group += values[group[i]] / size * chances / orders
        met.append(reached * of_group)
        reached *= np.prod(passes)
    return np.concatenate(met)


@pytest.fixture
def short(rng):
    """Short lists with up to five tied items; some stop every user, others stop no user."""
    scores = np.stack([rng.permutation([2, 1, 1, 1, 1, 1, 0, 0]) for _ in range(24)])
    stops = rng.choice([0, 0, 0.25, 0.25, 0.9, 1], scores.shape)
    values = rng.normal(size=scores.shape)
    arrays = [x.astype(np.float32) for x in (scores, stops, values)]
    return arrays, {"stop": arrays[1], "worth": arrays[2]}


def check(ranking, arrays, ks, mean=of_all_orders, stop_fn=stop):
    follow = functools.partial(jrm.Ranking.expected_first, ks=ks, value_fn=worth)
    read = functools.partial(follow, stop_fn=stop_fn, position_fn=discount)
    met, missed = jax.jit(read)(ranking)
    lists = [[x.astype(float) for x in row] for row in zip(*arrays, strict=True)]
    ranks = 1 + np.arange(arrays[0].shape[-1])
    expected = up_to(np.stack([mean(*x) for x in lists]) * discount(ranks), ks)
    np.testing.assert_allclose(met, expected, rtol=0, atol=1e-6)
    stops = np.stack([mean(scores, stops, stops) for scores, stops, _ in lists])
    np.testing.assert_allclose(missed, 1 - up_to(stops, ks), rtol=0, atol=1e-6)


@pytest.mark.parametrize("cut", long_but((3,), (1, 2, 3, 4, 6, None)))
def test_values_equal_all_orders(short, cut):
    """Sums are means over all orders, also if only the best are held, and at cuts above."""
    arrays, columns = short
    labels = np.ones_like(arrays[0])
    ks = (1, 2, 3, 4, 6, None) if cut is None else (1, cut)
    check(jrm.rank(labels, arrays[0], k=cut, columns=columns), arrays, ks)


@pytest.mark.long
def test_sure_stops(short):
    """Bools are the chances 0 and 1; if the value is the chance, it is the stop's value."""
    (scores, stops, values), columns = short
    ranking = jrm.rank(np.ones_like(scores), scores, columns=columns)
    sure = scores, (stops > 0.5).astype(np.float32), values
    check(ranking, sure, (2, None), stop_fn=lambda items: stop(items) > 0.5)
    by_value = ranking.expected_first(stop, discount, (2, None), value_fn=stop)
    np.testing.assert_allclose(
        by_value[0], ranking.expected_first(stop, discount, (2, None))[0], rtol=1e-6
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:value_met reads")
@pytest.mark.parametrize("k", [10, None])
@pytest.mark.parametrize("source", SOURCES)
def test_values_on_every_source(source, k, rng):
    """Sources agree with closed forms, items without a chance to stop included."""
    problem = draw(rng)
    if source == "labelled":  # has no columns, and labels are bools
        problem = problem.for_source(source)
    else:
        problem = dataclasses.replace(problem, columns=("propensities",))
    if k is None and source in ("sharded", "plain", "labelled"):  # need a cutoff
        k = ITEMS
    ks = (1, 4, k) if k else (None,)
    read = functools.partial(jrm.measure, {"met": functools.partial(value_met, k=ks)})
    met = SOURCES[source](problem, read, k=k, ties=None)["met"].values
    stops, expected = np.minimum(problem.labels, 3) / 3, np.zeros((LISTS, len(ks)))
    values = problem.row_columns().get("propensities", 0) - problem.labels / 4
    for i, has_rank in enumerate(problem.mask & (problem.labels >= 0)):
        lists = (x[i, has_rank].astype(float) for x in (problem.scores, stops, values))
        if has_rank.any():
            terms = in_closed_form(*lists)
            expected[i] = up_to(terms * discount(1 + np.arange(len(terms))), ks)
    np.testing.assert_allclose(met, expected, rtol=0, atol=1e-6)


@pytest.mark.long
def test_values_in_long_lists(rng):
    """Means over all orders of long lists: whole and cut, pairs, many without a chance."""
    scores = rng.integers(0, 4, (3, 200)).astype(np.float32)
    scores[0] = 0
    pairs = np.tile(rng.permutation(200) // 2, (3, 1)).astype(np.float32)
    stops = np.where(rng.random((3, 200)) < 0.3, rng.choice([0.1, 0.5, 1], (3, 200)), 0)
    stops[1] = rng.uniform(0, 0.1, 200)
    stops, values = (x.astype(np.float32) for x in (stops, rng.normal(size=(3, 200))))
    columns, labels = {"stop": stops, "worth": values}, np.ones_like(scores)
    for tied, k in ((scores, None), (pairs, None), (scores, 40), (pairs, 101)):
        ranking = jrm.rank(labels, tied, k=k, columns=columns)
        ks = (10, 40) if k else (10, None)
        check(ranking, (tied, stops, values), ks, in_closed_form)


def test_unlisted_items_are_worth_nothing():
    """If only relevant items are held, the values of all others must be 0."""
    places = jrm.rank_places(*np.ones((3, 1, 1), int), num_retrieved=[5])
    with pytest.raises(ValueError, match="label 0 has the value 3.0"):
        places.expected_first(
            chance, discount, (None,), value_fn=lambda x: 0 * x.labels + 3
        )


@pytest.mark.long
def test_gradients_of_values(short):
    """A loop over ties refuses a gradient backwards; without ties there is one."""
    (scores, stops, values), _ = short

    def total(values, stops, **options):
        columns = {"stop": stops, "worth": values}
        ranking = jrm.rank(scores * 0 + 1, scores, columns=columns, **options)
        return ranking.expected_first(stop, discount, (4,), value_fn=worth)[0].sum()

    with pytest.raises(TypeError, match="a loop computes"):
        jax.grad(total)(values, stops)
    forward = jax.jacfwd(total)(values, stops)
    np.testing.assert_allclose(
        np.vdot(forward, values), total(values, stops), rtol=1e-5
    )
    with jax.enable_x64(True):
        arrays = values.astype(np.float64), np.minimum(stops, 0.9).astype(np.float64)
        test_util.check_grads(functools.partial(total, ties="stable"), arrays, 1)
