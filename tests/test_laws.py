"""Every metric × every law × every tie policy.

All metrics of a law are read from one ranking, in one compiled `measure`, and laws share
its compilation wherever they can, so that the table stays quick. Lists are long enough
for the shallow cut to be a top-k. A full sort and the policies differ in the order alone,
so that under these a few metrics tell all.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, CORE, FEW, MORE, ORDERS, WHOLE, metrics

import jax_rank_metrics as jrm

KS = (1, 10)
ITEMS = 48
LISTS = 12
KEY = 11


EVERY = (*KS, None)


ALWAYS = pytest.param(KS, None, True, id="top-k")
# Metrics without a cutoff.
UNCUT = pytest.param((None,), None, True, id="uncut")
# The same where a law compiles programs of its own.
UNCUT_ANEW = pytest.param(*UNCUT.values, id="uncut", marks=pytest.mark.long)
# The same with weights per list; with ties broken by a key; sorted, and broken by labels
# and weights.
OTHERS = LIST_WEIGHTS, RANDOM, WORST = [
    pytest.param(*case, id=name, marks=pytest.mark.long)
    for name, case in {
        "list-weights": (KS, None, False),
        "random": (KS, "random", True),
        "whole-worst": (EVERY, "worst", True),
    }.items()
]


def law(*more):
    """Tries a law on a shallow cut, which `lax.top_k` serves, and on more."""
    return pytest.mark.parametrize("ks, ties, weigh_items", [ALWAYS, *more])


@pytest.fixture
def weigh_items():
    """Item weights, which every path of a metric must carry along, or list weights."""
    return True


@pytest.fixture
def data(rng, weigh_items):
    """Lists with weights of either kind."""
    return draw(rng, weigh_items)


def draw(rng, weigh_items):
    """Graded labels, few distinct scores, a mask, and lists that do not count."""
    shape = (LISTS, ITEMS)
    labels = rng.choice([0, 0, 0, 1, 2, 0.5, 1.75], shape).astype(np.float32)
    labels[0] = 0
    scores = np.round(rng.normal(size=shape) * 4).astype(np.float32) / 4
    mask = rng.random(shape) > 0.25
    mask[1] = False
    mask[2, 3:] = False
    size = shape if weigh_items else LISTS
    weights = rng.gamma(2, size=size).astype(np.float32)
    weights[3] = 0
    return labels, scores, mask, weights


def table(ks, ties):
    """All metrics that the cut can serve, or a few of them."""
    if ks == (None,):
        return metrics(ks, ties, WHOLE)
    cases = CORE | MORE if (ks, ties) == (KS, None) else FEW
    return metrics(ks, ties, {n: c for n, c in cases.items() if None in ks or c.has_k})


def policy(ties):
    """Keyword arguments of a policy."""
    key = jax.random.key(KEY) if ties == "random" else None
    return {"ties": ties, "key": key}


def lists_of(ks, ties, data, **changes):
    """Every metric of every list, as the public eager calls give them."""
    ranking = jrm.rank(*data, k=ks, **(policy(ties) | changes))
    return jrm.measure(table(ks, ties), ranking)


def same(found, expected, exactly=False):
    """Two measures hold the same numbers."""
    assert found.keys() == expected.keys()
    for name in expected:
        for part in ("values", "weights", "defined"):
            one, two = (np.asarray(getattr(x[name], part)) for x in (found, expected))
            assert one.dtype == two.dtype and not np.isnan(one).any(), name
            if exactly or part == "defined":
                np.testing.assert_array_equal(one, two, err_msg=f"{name} {part}")
            else:
                np.testing.assert_allclose(
                    one, two, rtol=1e-6, atol=1e-6, err_msg=f"{name} {part}"
                )


@law(UNCUT_ANEW)
def test_jit_equals_eager(ks, ties, data):
    """The caller's own jit changes nothing."""
    eager = lists_of(ks, ties, data)
    jitted = jax.jit(lambda *args: lists_of(ks, ties, args))(*data)
    same(jitted, eager)


@law(UNCUT_ANEW, RANDOM)
def test_vmap_equals_batch(ks, ties, data):
    """A list's values do not depend on its batch; one key per list under vmap."""
    if ties == "random":
        keys = jax.random.split(jax.random.key(KEY), LISTS)
        batched = jax.vmap(lambda key, *one: lists_of(ks, ties, one, key=key))(
            keys, *data
        )
        single = [
            lists_of(ks, ties, [x[row] for x in data], key=keys[row])
            for row in range(0, LISTS, 4)
        ]
        found = jax.tree.map(lambda x: x[::4], batched)
        same(found, jax.tree.map(lambda *rows: jnp.stack(rows), *single))
    else:
        found = jax.vmap(lambda *one: lists_of(ks, ties, one))(*data)
        same(found, lists_of(ks, ties, data))


@law(UNCUT, *OTHERS)
def test_padding_is_never_read(ks, ties, data):
    """NaN, inf and extreme values under the mask change nothing."""
    labels, scores, mask, weights = data
    padded = [labels.copy(), scores.copy(), mask, weights.copy()]
    for array in padded[:2]:
        array[~mask] = np.resize([np.nan, np.inf, -np.inf, 1e30], (~mask).sum())
    if weights.ndim == 2:
        padded[3][~mask] = np.nan
    same(lists_of(ks, ties, padded), lists_of(ks, ties, data), exactly=True)


@pytest.mark.long
@pytest.mark.parametrize("ks, ties", [(EVERY, "worst"), (KS, None)])
def test_more_padding_is_no_matter(ks, ties, data):
    """Columns of padding change nothing."""
    wider = [
        np.concatenate([x, np.full((LISTS, 9), fill, x.dtype)], axis=1)
        if x.ndim == 2
        else x
        for x, fill in zip(data, (2, np.inf, False, 5), strict=True)
    ]
    same(lists_of(ks, ties, wider), lists_of(ks, ties, data))


@pytest.mark.long
@law(UNCUT_ANEW, *OTHERS)
def test_masks_are_one(ks, ties, data):
    """A mask, a negative label, a NaN label and an item weight of 0 all mean padding."""
    labels, scores, mask, weights = data
    expected = lists_of(ks, ties, data)
    for padding in (-1, -np.inf, np.nan):
        marked = np.where(mask, labels, padding).astype(np.float32)
        same(
            lists_of(ks, ties, (marked, scores, None, weights)), expected, exactly=True
        )
    if weights.ndim == 2:
        for padding in (0, -2, np.nan):
            marked = np.where(mask, weights, padding).astype(np.float32)
            same(lists_of(ks, ties, (labels, scores, None, marked)), expected, True)


@law(UNCUT, WORST)
def test_item_order_is_no_matter(ks, ties, data, rng):
    """Shuffled items give the same values, but where a policy goes by position."""
    order = np.argsort(rng.random((LISTS, ITEMS)), axis=1)
    shuffled = [
        np.take_along_axis(x, order, axis=1) if x.ndim == 2 else x for x in data
    ]
    found, expected = (lists_of(ks, ties, x) for x in (shuffled, data))
    if ties is None:  # a hash of the position orders what has no closed form
        for values in (found, expected):
            for name in set(values) & {n for n in CASES if not CASES[n].closed_form}:
                del values[name]
    same(found, expected)


@law(UNCUT, RANDOM, WORST)
def test_only_the_order_of_scores_matters(ks, ties, data):
    """A rising function of the scores changes no bit."""
    labels, scores, mask, weights = data
    risen = np.exp2(scores) - 7
    assert (np.diff(np.unique(risen)) > 0).all()
    same(
        lists_of(ks, ties, (labels, risen.astype(np.float32), mask, weights)),
        lists_of(ks, ties, data),
        exactly=True,
    )


@pytest.mark.long
def test_cutoffs_at_once_equal_one_at_a_time(data):
    """k=(a, b) gives what k=a and k=b give, by top-k as by a full sort."""
    whole, cut = lists_of(EVERY, None, data), lists_of(KS, None, data)
    for column, k in list(enumerate(EVERY))[1:]:
        ranking = jrm.rank(*data, k=k)
        for name, lists in jrm.measure(metrics((k,), cases=FEW), ranking).items():
            alone = np.asarray(lists.values).reshape(LISTS)
            for together in (whole, cut) if k is not None else (whole,):
                values = together[name].values
                values = values[:, column] if CASES[name].has_k else values
                np.testing.assert_allclose(values, alone, 1e-6, 1e-6, err_msg=name)


@pytest.mark.long
def test_measure_equals_own_call(data):
    """Each metric's own call gives what it has beside all the others."""
    together = lists_of(KS, None, data)
    for name in FEW:
        bound = table(KS, None)[name]
        own = bound.func.per_list(*data, **bound.keywords)
        same({name: own}, {name: together[name]})


@pytest.mark.long
def test_evaluate_is_mean_of_measure_of_rank(data):
    """Also where some lists are left out."""
    found = jrm.evaluate(table(EVERY, None), *data, undefined="skip")
    expected = jrm.mean(lists_of(EVERY, None, data), "skip")
    for name, state in expected.items():
        np.testing.assert_allclose(found[name].compute(), state.compute(), 1e-6)
        np.testing.assert_allclose(found[name].std_error(), state.std_error(), 1e-5)
        np.testing.assert_array_equal(found[name].counts, state.counts)


@pytest.mark.long
def test_any_leading_axes(data):
    """One list axis or three; every list has its own random order."""
    flat = lists_of(KS, "random", data)
    deep = [x.reshape(2, 3, 2, *x.shape[1:]) for x in data]
    found = lists_of(KS, "random", deep)
    flattened = jax.tree.map(lambda x: x.reshape(LISTS, *x.shape[3:]), found)
    same(flattened, flat)


@pytest.mark.long
def test_policies_bound_each_other(rng):
    """best ≥ expected ≥ worst, and random and stable lie between."""
    plain = draw(rng, weigh_items=False)
    found = {"expected": lists_of(EVERY, "expected", plain)}
    for ties in ORDERS:
        ranking = jrm.rank(*plain, **policy(ties))
        # Under one name, so that one program reads the rankings of all policies.
        ranking = dataclasses.replace(ranking, _ties="stable")
        found[ties] = jrm.measure(table(EVERY, "expected"), ranking)
    for name in found["expected"]:
        if not CASES[name].ordered:
            continue
        values = {ties: np.asarray(lists[name].values) for ties, lists in found.items()}
        best, worst = values["best"], values["worst"]
        slack = 1e-6 * np.maximum(1, np.abs(best))
        for ties, middle in values.items():
            assert (best + slack >= middle).all(), (name, ties)
            assert (middle + slack >= worst).all(), (name, ties)
        if CASES[name].bounded:
            assert best.max() <= 1 + 1e-6 and worst.min() >= 0


@law(UNCUT, *OTHERS)
def test_lists_that_do_not_count(ks, ties, data):
    """No weight, no items: weight 0 and value 0. Nothing relevant: undefined."""
    labels, scores, mask, weights = data
    exists = mask & (labels >= 0)
    if weights.ndim == 2:
        exists = exists & (weights > 0)
        counts = exists.any(1)
    else:
        counts = exists.any(1) & (weights > 0)
    for name, lists in lists_of(ks, ties, data).items():
        has_value = [
            CASES[name].is_defined(list(labels[row, some]), list(scores[row, some]))
            for row, some in enumerate(exists)
        ]
        defined = counts & has_value
        np.testing.assert_array_equal(np.asarray(lists.weights) > 0, counts, name)
        np.testing.assert_array_equal(np.asarray(lists.defined), defined, name)
        values = np.asarray(lists.values).reshape(LISTS, -1)
        assert (values[~defined] == 0).all()


@pytest.mark.long
@law(UNCUT_ANEW, *OTHERS)
def test_list_weights(ks, ties, data):
    """They replace the weight of the list and touch no value."""
    labels, _, mask, weights = data
    given = np.linspace(0, 2, LISTS).astype(np.float32)
    found = lists_of(ks, ties, data, list_weights=given)
    for name, lists in lists_of(ks, ties, data).items():
        both = np.asarray(found[name].defined) & np.asarray(lists.defined)
        np.testing.assert_array_equal(
            np.asarray(found[name].values)[both], np.asarray(lists.values)[both]
        )
        exists = (mask & (labels >= 0)).any(1)
        if weights.ndim == 2:
            exists = (mask & (labels >= 0) & (weights > 0)).any(1)
        np.testing.assert_array_equal(
            np.asarray(found[name].weights), np.where(exists, given, 0), name
        )


@law(UNCUT, RANDOM, WORST)
def test_implied_list_weights(ks, ties, data):
    """w̄ = Σ w·r / Σ r over the pool, or the mean weight where nothing is relevant."""
    labels, _, mask, weights = data
    exists = mask & (labels >= 0) & (weights > 0)
    for name, lists in lists_of(ks, ties, data).items():
        relevance = np.vectorize(CASES[name].relevance)(labels) * exists
        none = relevance.sum(1, keepdims=True) == 0
        relevance = np.where(none, exists, relevance)
        total = relevance.sum(1)
        expected = (relevance * weights).sum(1) / np.where(total > 0, total, 1)
        np.testing.assert_allclose(np.asarray(lists.weights), expected, rtol=1e-6)


def test_gradients_are_zero(data):
    """Metrics are constants to autodiff, also with NaN padding and all-masked lists."""
    labels, scores, mask, weights = data
    scores = np.where(mask, scores, np.nan)

    def total(scores, labels):
        states = jrm.evaluate(table(KS, None), labels, scores, mask, weights)
        return sum(jnp.sum(value) for value in jrm.compute(states).values())

    for gradient in jax.jit(jax.grad(total, argnums=(0, 1)))(scores, labels):
        np.testing.assert_array_equal(np.asarray(gradient), 0)


def test_no_nan_is_made(data):
    """Nothing trips `jax_debug_nans`."""
    labels, scores, mask, weights = data
    scores = np.where(mask, scores, np.inf)
    every = metrics(EVERY)
    with jax.debug_nans(True):
        states = jrm.evaluate(every, labels, scores, mask, weights)
        jrm.compute(states)
        for state in states.values():
            state.confidence_interval()
