"""Every metric × every law × every tie policy.

All metrics of a law are read from one ranking, in one compiled `measure`, and laws share
its compilation wherever they can, so that the table stays quick. Lists are long enough
for the shallow cut to be a top-k.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, CORE, POLICIES, metrics

import jax_rank_metrics as jrm

KS = (1, 10)
ITEMS = 48
LISTS = 12
KEY = 11


@pytest.fixture(params=[KS, (*KS, None)], ids=["top-k", "whole"])
def ks(request):
    """A shallow cut, which `lax.top_k` serves, and whole lists, which are sorted."""
    return request.param


# A full sort differs from a top-k in the ordering alone, so laws that must compile
# again try every policy on the one and the default on the other.
SOME = pytest.mark.parametrize(
    "ks, ties",
    [(KS, ties) for ties in POLICIES] + [((*KS, None), None)],
    ids=[f"top-k-{ties}" for ties in POLICIES] + ["whole-None"],
)


@pytest.fixture
def data(rng):
    """Lists with item weights, which every path of a metric must carry along."""
    return draw(rng, weigh_items=True)


@pytest.fixture(params=[False, True], ids=["list-weights", "item-weights"])
def any_data(request, rng):
    """Lists with weights of either kind."""
    return draw(rng, weigh_items=request.param)


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
    """All metrics that the policy and the cut can serve."""
    cases = {n: c for n, c in CORE.items() if None in ks or c.has_k}
    return metrics(ks, ties, cases)


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


@SOME
def test_jit_equals_eager(ks, ties, data):
    """The caller's own jit changes nothing."""
    eager = lists_of(ks, ties, data)
    jitted = jax.jit(lambda *args: lists_of(ks, ties, args))(*data)
    same(jitted, eager)


@SOME
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


def test_padding_is_never_read(ks, ties, any_data):
    """NaN, inf and extreme values under the mask change nothing, nor do more columns."""
    labels, scores, mask, weights = any_data
    padded = [labels.copy(), scores.copy(), mask, weights.copy()]
    for array in padded[:2]:
        array[~mask] = np.resize([np.nan, np.inf, -np.inf, 1e30], (~mask).sum())
    if weights.ndim == 2:
        padded[3][~mask] = np.nan
    same(lists_of(ks, ties, padded), lists_of(ks, ties, any_data), exactly=True)


def test_more_padding_is_no_matter(ties, data):
    """Columns of padding change nothing."""
    if ties == "random":
        pytest.skip("more items draw other random orders")
    ks = (*KS, None)
    wider = [
        np.concatenate([x, np.full((LISTS, 9), fill, x.dtype)], axis=1)
        if x.ndim == 2
        else x
        for x, fill in zip(data, (2, np.inf, False, 5), strict=True)
    ]
    same(lists_of(ks, ties, wider), lists_of(ks, ties, data))


def test_masks_are_one(ks, ties, any_data):
    """A mask, a negative label, a NaN label and an item weight of 0 all mean padding."""
    labels, scores, mask, weights = any_data
    expected = lists_of(ks, ties, any_data)
    for padding in (-1, -np.inf, np.nan):
        marked = np.where(mask, labels, padding).astype(np.float32)
        same(
            lists_of(ks, ties, (marked, scores, None, weights)), expected, exactly=True
        )
    if weights.ndim == 2:
        for padding in (0, -2, np.nan):
            marked = np.where(mask, weights, padding).astype(np.float32)
            same(lists_of(ks, ties, (labels, scores, None, marked)), expected, True)


def test_item_order_is_no_matter(ks, ties, data, rng):
    """Shuffled items give the same values, but where a policy goes by position."""
    if ties in ("stable", "random"):
        pytest.skip("goes by position")
    order = np.argsort(rng.random((LISTS, ITEMS)), axis=1)
    shuffled = [
        np.take_along_axis(x, order, axis=1) if x.ndim == 2 else x for x in data
    ]
    found, expected = (lists_of(ks, ties, x) for x in (shuffled, data))
    if ties is None:  # a hash of the position orders what has no closed form
        for values in (found, expected):
            values.pop("average_precision-hits")
    same(found, expected)


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


def test_cutoffs_at_once_equal_one_at_a_time(ties, data):
    """k=(a, b) gives what k=a and k=b give, by top-k as by a full sort."""
    whole, cut = lists_of((*KS, None), ties, data), lists_of(KS, ties, data)
    for column, k in list(enumerate((*KS, None)))[1:]:
        for name, lists in lists_of((k,), ties, data).items():
            alone = np.asarray(lists.values).reshape(LISTS)
            for together in (whole, cut) if k is not None else (whole,):
                values = together[name].values
                values = values[:, column] if CASES[name].has_k else values
                np.testing.assert_allclose(values, alone, 1e-6, 1e-6, err_msg=name)


@pytest.mark.parametrize("ties", [None])
def test_measure_equals_own_call(ties, data):
    """Each metric's own call gives what it has beside all the others."""
    ks = (*KS, None)
    together = lists_of(ks, ties, data)
    for name, bound in table(ks, ties).items():
        own = bound.func.per_list(*data, **policy(ties), **bound.keywords)
        same({name: own}, {name: together[name]})


@pytest.mark.parametrize("undefined", ["zero", "one", "skip"])
def test_evaluate_is_mean_of_measure_of_rank(undefined, data):
    """Under every way to count what is undefined."""
    ks = (*KS, None)
    found = jrm.evaluate(table(ks, None), *data, undefined=undefined)
    expected = jrm.mean(lists_of(ks, None, data), undefined)
    for name, state in expected.items():
        np.testing.assert_allclose(found[name].compute(), state.compute(), 1e-6)
        np.testing.assert_allclose(found[name].std_error(), state.std_error(), 1e-5)
        np.testing.assert_array_equal(found[name].counts, state.counts)


@pytest.mark.parametrize("ties", [None, "random"])
def test_any_leading_axes(ties, data):
    """No list axis, one, or three."""
    ks = (*KS, None)
    flat = lists_of(ks, ties, data)
    deep = [x.reshape(2, 3, 2, *x.shape[1:]) for x in data]
    found = lists_of(ks, ties, deep)
    flattened = jax.tree.map(lambda x: x.reshape(LISTS, *x.shape[3:]), found)
    same(flattened, flat)
    alone = lists_of(ks, ties, [x[4] for x in data])
    if ties != "random":
        same(alone, jax.tree.map(lambda x: x[4], flat))


def test_policies_bound_each_other(ks, rng):
    """best ≥ expected ≥ worst, and random and stable lie between."""
    plain = draw(rng, weigh_items=False)
    found = {
        ties: lists_of(ks, ties, plain)
        for ties in ("best", "expected", "worst", "random", "stable")
    }
    for name in found["expected"]:
        if not CASES[name].ordered:
            continue
        best, expected, worst, random, stable = (
            np.asarray(lists[name].values) for lists in found.values()
        )
        slack = 1e-6 * np.maximum(1, np.abs(best))
        for middle in (expected, random, stable):
            assert (best + slack >= middle).all(), name
            assert (middle + slack >= worst).all(), name
        if CASES[name].bounded:
            assert best.max() <= 1 + 1e-6 and worst.min() >= 0


def test_lists_that_do_not_count(ks, ties, any_data):
    """No weight, no items: weight 0 and value 0. Nothing relevant: undefined."""
    labels, _, mask, weights = any_data
    exists = mask & (labels >= 0)
    if weights.ndim == 2:
        exists = exists & (weights > 0)
        counts = exists.any(1)
    else:
        counts = exists.any(1) & (weights > 0)
    for name, lists in lists_of(ks, ties, any_data).items():
        case = CASES[name]
        gains = np.vectorize(case.relevance)(labels) * exists
        always = case.metric in (jrm.cg, jrm.dcg)
        defined = counts & (always | (gains.max(1) > 0))
        np.testing.assert_array_equal(np.asarray(lists.weights) > 0, counts, name)
        np.testing.assert_array_equal(np.asarray(lists.defined), defined, name)
        values = np.asarray(lists.values).reshape(LISTS, -1)
        assert (values[~defined] == 0).all()


def test_list_weights(ks, ties, any_data):
    """They replace the weight of the list and touch no value."""
    labels, _, mask, weights = any_data
    given = np.linspace(0, 2, LISTS).astype(np.float32)
    found = lists_of(ks, ties, any_data, list_weights=given)
    for name, lists in lists_of(ks, ties, any_data).items():
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


@pytest.mark.parametrize("ties", [None, "random", "best"])
def test_gradients_are_zero(ties, data):
    """Metrics are constants to autodiff, also with NaN padding and all-masked lists."""
    labels, scores, mask, weights = data
    scores = np.where(mask, scores, np.nan)
    ks = KS

    def total(scores, labels):
        states = jrm.evaluate(
            table(ks, ties), labels, scores, mask, weights, **policy(ties)
        )
        return sum(jnp.sum(value) for value in jrm.compute(states).values())

    for gradient in jax.jit(jax.grad(total, argnums=(0, 1)))(scores, labels):
        np.testing.assert_array_equal(np.asarray(gradient), 0)


@pytest.mark.parametrize("ties", [None, "random"])
def test_no_nan_is_made(ties, data):
    """Nothing trips `jax_debug_nans`."""
    labels, scores, mask, weights = data
    scores = np.where(mask, scores, np.inf)
    ks = (*KS, None)
    with jax.debug_nans(True):
        states = jrm.evaluate(
            table(ks, ties), labels, scores, mask, weights, **policy(ties)
        )
        jrm.compute(states)
        for state in states.values():
            state.confidence_interval()
