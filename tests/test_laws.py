"""Laws that every metric obeys under every tie policy.

A law reads all metrics from one ranking, in one compiled `measure`, and laws share its
compilation wherever they can, since compiling takes most of the time. Lists are long
enough for the shallow cut to be a top-k. A full sort and the policies differ only in
the order, so that a few metrics are enough to test these.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, CORE, FEW, MORE, ORDERS, TOP, WHOLE, metrics
from quick_programs import quick_jit

import jax_rank_metrics as jrm

KS = (1, 10)
ALL_KS = (*KS, None)
ITEMS = 48
LISTS = 12
KEY = 11

ALWAYS = pytest.param(KS, None, True, id="top-k")
# Metrics without a cutoff.
UNCUT = pytest.param((None,), None, True, id="uncut")
# The same where a law has to compile its own programs.
UNCUT_ANEW = pytest.param(*UNCUT.values, id="uncut", marks=pytest.mark.long)
# With weights per list; with ties broken by a key; with a full sort, and ties broken by
# labels and weights.
OTHERS = LIST_WEIGHTS, RANDOM, WORST = [
    pytest.param(*case, id=name, marks=pytest.mark.long)
    for name, case in {
        "list-weights": (KS, None, False),
        "random": (KS, "random", True),
        "whole-worst": (ALL_KS, "worst", True),
    }.items()
]


def law(*settings):
    """Tests a law on a shallow cut, which `lax.top_k` serves, and on further settings."""
    return pytest.mark.parametrize("ks, ties, weigh_items", [ALWAYS, *settings])


@pytest.fixture
def weigh_items():
    """Whether weights are per item, which every path must carry along, or per list."""
    return True


@pytest.fixture
def data(rng, weigh_items):
    """Labels, scores, mask and weights."""
    return draw(rng, weigh_items)


def draw(rng, weigh_items):
    """Draws graded labels, few distinct scores, a mask, and lists that do not count."""
    shape = (LISTS, ITEMS)
    labels = rng.choice([0, 0, 0, 1, 2, 0.5, 1.75], shape).astype(np.float32)
    labels[np.arange(LISTS), rng.integers(ITEMS, size=LISTS)] = TOP
    labels[0] = 0
    scores = np.round(rng.normal(size=shape) * 4).astype(np.float32) / 4
    mask = rng.random(shape) > 0.25
    mask[1] = False
    mask[2, :2] = True
    mask[2, 3:] = False
    size = shape if weigh_items else LISTS
    weights = rng.gamma(2, size=size).astype(np.float32)
    weights[3] = 0
    return labels, scores, mask, weights


def table(ks, ties):
    """The metrics to test: all that the cut can serve, or a few of them."""
    if ks == (None,):
        return metrics(ks, ties, WHOLE)
    cases = CORE | MORE if (ks, ties) == (KS, None) else FEW
    return metrics(ks, ties, {n: c for n, c in cases.items() if None in ks or c.has_k})


def policy(ties):
    """The arguments of `rank` that choose a tie policy."""
    key = jax.random.key(KEY) if ties == "random" else None
    return {"ties": ties, "key": key}


def lists_of(ks, ties, data, **changes):
    """Values of all metrics for every list, by the public calls, eagerly."""
    ranking = jrm.rank(*data, k=ks, **(policy(ties) | changes))
    return jrm.measure(table(ks, ties), ranking)


def assert_same(actual, expected, exactly=False):
    """Asserts that two results of `measure` hold the same numbers."""
    assert actual.keys() == expected.keys()
    for name in expected:
        for part in ("values", "weights", "defined"):
            actual_part, expected_part = (
                np.asarray(getattr(lists[name], part)) for lists in (actual, expected)
            )
            assert actual_part.dtype == expected_part.dtype, name
            assert not np.isnan(actual_part).any(), name
            if exactly or part == "defined":
                np.testing.assert_array_equal(
                    actual_part, expected_part, err_msg=f"{name} {part}"
                )
            else:
                np.testing.assert_allclose(
                    actual_part,
                    expected_part,
                    rtol=1e-6,
                    atol=1e-6,
                    err_msg=f"{name} {part}",
                )


@law()
def test_jit_equals_eager(ks, ties, data):
    """Calling metrics inside `jax.jit` changes no value; outside, they are programs too."""
    eager, names = lists_of(ks, ties, data), ("ndcg", "reciprocal_rank")
    few = metrics(ks, ties, {n: c for n, c in FEW.items() if n in names})
    jitted = quick_jit(lambda *args: jrm.measure(few, jrm.rank(*args, k=ks)))(*data)
    assert_same(jitted, {name: eager[name] for name in few})


@law(UNCUT_ANEW, RANDOM)
def test_vmap_equals_batch(ks, ties, data):
    """The values of a list do not depend on its batch; under vmap each has its key."""
    if ties == "random":
        keys = jax.random.split(jax.random.key(KEY), LISTS)
        batched = jax.vmap(lambda key, *arrays: lists_of(ks, ties, arrays, key=key))(
            keys, *data
        )
        single = [
            lists_of(ks, ties, [x[row] for x in data], key=keys[row])
            for row in range(0, LISTS, 4)
        ]
        every_fourth = jax.tree.map(lambda x: x[::4], batched)
        assert_same(every_fourth, jax.tree.map(lambda *rows: jnp.stack(rows), *single))
    else:
        batched = quick_jit(jax.vmap(lambda *x: lists_of(ks, ties, x)))(*data)
        assert_same(batched, lists_of(ks, ties, data))


@law(UNCUT, *OTHERS)
def test_padding_is_never_read(ks, ties, data):
    """NaN, inf and extreme values of masked items change no value."""
    labels, scores, mask, weights = data
    padded = [labels.copy(), scores.copy(), mask, weights.copy()]
    for array in padded[:2]:
        array[~mask] = np.resize([np.nan, np.inf, -np.inf, 1e30], (~mask).sum())
    if weights.ndim == 2:
        padded[3][~mask] = np.nan
    assert_same(lists_of(ks, ties, padded), lists_of(ks, ties, data), exactly=True)


@pytest.mark.long
@pytest.mark.parametrize("ks, ties", [(ALL_KS, "worst"), (KS, None)])
def test_wider_padding_changes_nothing(ks, ties, data):
    """Further columns of padding change no value."""
    wider = [
        np.concatenate([x, np.full((LISTS, 9), fill, x.dtype)], axis=1)
        if x.ndim == 2
        else x
        for x, fill in zip(data, (2, np.inf, False, 5), strict=True)
    ]
    assert_same(lists_of(ks, ties, wider), lists_of(ks, ties, data))


@pytest.mark.long
@law(UNCUT_ANEW, *OTHERS)
def test_all_ways_to_mask_agree(ks, ties, data):
    """A mask, a negative label, a NaN label and an item weight of 0 all mean padding."""
    labels, scores, mask, weights = data
    expected = lists_of(ks, ties, data)
    for padding in (-1, -np.inf, np.nan):
        marked = np.where(mask, labels, padding).astype(np.float32)
        assert_same(
            lists_of(ks, ties, (marked, scores, None, weights)), expected, exactly=True
        )
    if weights.ndim == 2:
        for padding in (0, -2, np.nan):
            marked = np.where(mask, weights, padding).astype(np.float32)
            assert_same(
                lists_of(ks, ties, (labels, scores, None, marked)), expected, True
            )


@law(UNCUT, WORST)
def test_order_of_items_changes_nothing(ks, ties, data, rng):
    """Shuffled items give the same values, except where a policy reads positions."""
    order = np.argsort(rng.random((LISTS, ITEMS)), axis=1)
    shuffled = [
        np.take_along_axis(x, order, axis=1) if x.ndim == 2 else x for x in data
    ]
    actual, expected = (lists_of(ks, ties, x) for x in (shuffled, data))
    if ties is None:  # metrics without a closed form break ties by a hash of positions
        for values in (actual, expected):
            for name in set(values) & {n for n in CASES if not CASES[n].closed_form}:
                del values[name]
    assert_same(actual, expected)


@law(UNCUT, RANDOM, WORST)
def test_only_the_order_of_scores_matters(ks, ties, data):
    """An increasing function of the scores changes no bit."""
    labels, scores, mask, weights = data
    increased = np.exp2(scores) - 7
    assert (np.diff(np.unique(increased)) > 0).all()
    assert_same(
        lists_of(ks, ties, (labels, increased.astype(np.float32), mask, weights)),
        lists_of(ks, ties, data),
        exactly=True,
    )


@pytest.mark.long
def test_cutoffs_at_once_equal_one_at_a_time(data):
    """k=(a, b) gives what k=a and k=b give, by top-k as by a full sort."""
    uncut, cut = lists_of(ALL_KS, None, data), lists_of(KS, None, data)
    for column, k in list(enumerate(ALL_KS))[1:]:
        ranking = jrm.rank(*data, k=k)
        for name, lists in jrm.measure(metrics((k,), cases=FEW), ranking).items():
            expected = np.asarray(lists.values).reshape(LISTS)
            for measured in (uncut, cut) if k is not None else (uncut,):
                values = measured[name].values
                values = values[:, column] if CASES[name].has_k else values
                np.testing.assert_allclose(values, expected, 1e-6, 1e-6, err_msg=name)


@pytest.mark.long
def test_measure_equals_own_call(data):
    """A metric called by itself has the value that it has among all metrics."""
    measured = lists_of(KS, None, data)
    for name in FEW:
        bound = table(KS, None)[name]
        lists = bound.func.per_list(*data, **bound.keywords)
        assert_same({name: lists}, {name: measured[name]})


@pytest.mark.long
def test_evaluate_is_mean_of_measure_of_rank(data):
    """`evaluate` agrees with its three steps, where undefined lists are left out."""
    states = jrm.evaluate(table(ALL_KS, None), *data, undefined="skip")
    expected = jrm.mean(lists_of(ALL_KS, None, data), "skip")
    for name, state in expected.items():
        np.testing.assert_allclose(states[name].compute(), state.compute(), 1e-6)
        np.testing.assert_allclose(states[name].std_error(), state.std_error(), 1e-5)
        np.testing.assert_array_equal(states[name].counts, state.counts)


@pytest.mark.long
def test_any_leading_axes(data):
    """Lists may have one axis or three; each list has its own random order."""
    flat = lists_of(KS, "random", data)
    deep = [x.reshape(2, 3, 2, *x.shape[1:]) for x in data]
    deep_lists = lists_of(KS, "random", deep)
    flattened = jax.tree.map(lambda x: x.reshape(LISTS, *x.shape[3:]), deep_lists)
    assert_same(flattened, flat)


@pytest.mark.long
def test_policies_bound_each_other(rng):
    """best ≥ expected ≥ worst, and random and stable lie between."""
    plain = draw(rng, weigh_items=False)
    by_policy = {"expected": lists_of(ALL_KS, "expected", plain)}
    for ties in ORDERS:
        ranking = jrm.rank(*plain, **policy(ties))
        # With one policy name, a single program reads the rankings of all policies.
        ranking = dataclasses.replace(ranking, _ties="stable")
        by_policy[ties] = jrm.measure(table(ALL_KS, "expected"), ranking)
    for name in by_policy["expected"]:
        if not CASES[name].ordered:
            continue
        values = {
            ties: np.asarray(lists[name].values) for ties, lists in by_policy.items()
        }
        best, worst = values["best"], values["worst"]
        slack = 1e-6 * np.maximum(1, np.abs(best))
        for ties, middle in values.items():
            assert (best + slack >= middle).all(), (name, ties)
            assert (middle + slack >= worst).all(), (name, ties)
        if CASES[name].bounded:
            assert best.max() <= 1 + 1e-6 and worst.min() >= 0


def factors(name, lists, labels, exists):
    """What the metric multiplies weights by, which is mostly 1; for ratios, by cutoff."""
    ks = KS if lists.cutoff_weights else (None,)
    table = np.array(
        [
            [CASES[name].factor(labels[row, items], k) for k in ks]
            for row, items in enumerate(exists)
        ]
    )
    return table if lists.cutoff_weights else table[:, 0]


@law(UNCUT, *OTHERS)
def test_lists_that_do_not_count(ks, ties, data):
    """Lists without weight or items have weight 0 and value 0, and are undefined.

    Lists in which nothing is relevant are undefined, but keep their weight.
    """
    labels, scores, mask, weights = data
    exists = mask & (labels >= 0)
    if weights.ndim == 2:
        exists = exists & (weights > 0)
        counts = exists.any(1)
    else:
        counts = exists.any(1) & (weights > 0)
    for name, lists in lists_of(ks, ties, data).items():
        has_value = [
            CASES[name].is_defined(list(labels[row, items]), list(scores[row, items]))
            for row, items in enumerate(exists)
        ]
        defined = counts & has_value
        factor = factors(name, lists, labels, exists)
        has_weight = (counts.reshape(-1, *(1,) * (factor.ndim - 1))) & (factor > 0)
        np.testing.assert_array_equal(np.asarray(lists.weights) > 0, has_weight, name)
        defined = defined.reshape(counts.shape + (1,) * (factor.ndim - 1))
        is_defined = defined & has_weight
        np.testing.assert_array_equal(np.asarray(lists.defined), is_defined, name)
        assert (np.asarray(lists.values)[~is_defined] == 0).all()


@pytest.mark.long
@law(UNCUT_ANEW, *OTHERS)
def test_list_weights(ks, ties, data):
    """`list_weights` replaces the weight of each list and changes no value."""
    labels, _, mask, weights = data
    list_weights = np.linspace(0, 2, LISTS).astype(np.float32)
    weighted = lists_of(ks, ties, data, list_weights=list_weights)
    for name, lists in lists_of(ks, ties, data).items():
        defined = np.asarray(weighted[name].defined) & np.asarray(lists.defined)
        np.testing.assert_allclose(
            np.asarray(weighted[name].values)[defined],
            np.asarray(lists.values)[defined],
            rtol=1e-6,
            atol=1e-6,
            err_msg=name,
        )
        exists = mask & (labels >= 0)
        if weights.ndim == 2:
            exists = exists & (weights > 0)
        factor = factors(name, weighted[name], labels, exists)
        expected = np.where(exists.any(1), list_weights, 0)
        expected = expected.reshape(-1, *(1,) * (factor.ndim - 1)) * factor
        np.testing.assert_allclose(
            np.asarray(weighted[name].weights),
            expected.astype(np.float32),
            rtol=2e-6 if lists.is_ratio else 0,
            err_msg=name,
        )


@law(UNCUT, RANDOM, WORST)
def test_implied_list_weights(ks, ties, data):
    """A list weighs w̄ = Σ w·r / Σ r, or the mean weight where nothing is relevant."""
    labels, _, mask, weights = data
    exists = mask & (labels >= 0) & (weights > 0)
    for name, lists in lists_of(ks, ties, data).items():
        relevance = np.vectorize(CASES[name].relevance)(labels) * exists
        none = relevance.sum(1, keepdims=True) == 0
        relevance = np.where(none, exists, relevance)
        total = relevance.sum(1)
        expected = (relevance * weights).sum(1) / np.where(total > 0, total, 1)
        factor = factors(name, lists, labels, exists)
        expected = expected.reshape(-1, *(1,) * (factor.ndim - 1)) * factor
        np.testing.assert_allclose(lists.weights, expected, rtol=2e-6, err_msg=name)


def test_gradients_are_zero(data):
    """Metrics are constants to autodiff, with NaN padding and empty lists as well."""
    labels, scores, mask, weights = data
    scores = np.where(mask, scores, np.nan)

    def total(scores, labels):
        states = jrm.evaluate(table(KS, None), labels, scores, mask, weights)
        return sum(jnp.sum(value) for value in jrm.compute(states).values())

    for gradient in jax.jit(jax.grad(total, argnums=(0, 1)))(scores, labels):
        np.testing.assert_array_equal(np.asarray(gradient), 0)


@law(UNCUT)
def test_no_nan_is_made(ks, ties, data):
    """No metric trips `jax_debug_nans`."""
    labels, scores, mask, weights = data
    scores = np.where(mask, scores, np.inf)
    with jax.debug_nans(True):
        states = jrm.mean(lists_of(ks, ties, (labels, scores, mask, weights)))
        jrm.compute(states)
        for state in states.values():
            state.confidence_interval()
