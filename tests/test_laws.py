"""Laws that every metric obeys under every tie policy.

A law reads many metrics from one ranking, in one compiled `measure`, and laws share its
compilation wherever they can, since compiling takes most of the time. Lists are long
enough for the shallow cut to be a top-k.
"""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from cases import CASES, EVERY, FEW, metrics, policy
from drawn import draw

import jax_rank_metrics as jrm
from jax_rank_metrics.testing import Lists

KS = (1, 10)
ALL_KS = (*KS, None)
LISTS, ITEMS = 12, 48

WHOLE = {name: case for name, case in EVERY.items() if not case.has_k}
CUT = {name: case for name, case in EVERY.items() if case.has_k}
OF_COLUMNS = {name: case for name, case in CUT.items() if case.columns}
OF_LABELS = {name: case for name, case in CUT.items() if not case.columns}


def setting(name, cases, ks, ties=None, weigh_items=True, marks=()):
    """Metrics and how they are ranked, as a parameter of a law."""
    return pytest.param(cases, ks, ties, weigh_items, id=name, marks=marks)


# A law of rankings, which `lax.top_k` cuts, is tested on every metric with a cutoff that
# needs no column. The columns that cut rankings carry along are tested on a metric of each
# column; the smaller program of these metrics serves if a law has to compile its own, or is
# about the ranking alone. `test_brute_force.py` compares every metric with loops, which
# read neither padding, nor scores but for their order, nor other cutoffs.
ALWAYS = setting("top-k", OF_LABELS, KS)
CARRIED = ("judged", "group_recall", "propensity_scored_ndcg", "subtopic_recall")
FEW_CASES = FEW | {name: case for name, case in CUT.items() if name in CARRIED}
FEWER = setting("few", FEW_CASES, KS)
COLUMNED, UNCUT = ANEW = [
    setting("columns", OF_COLUMNS, KS, marks=pytest.mark.long),
    setting("uncut", WHOLE, (None,), marks=pytest.mark.long),
]
EACH_ANEW = [setting("top-k", OF_LABELS, KS, marks=pytest.mark.long), *ANEW]
# With ties broken by a key; with a full sort, and ties broken by labels and weights; with
# weights per list.
RANDOM = setting("random", FEW_CASES, KS, "random", marks=pytest.mark.long)
WORST = setting("whole-worst", FEW_CASES, ALL_KS, "worst", marks=pytest.mark.long)
OF_LISTS = setting("list-weights", FEW_CASES, KS, None, False, pytest.mark.long)
OTHERS = [OF_LISTS, RANDOM, WORST]


def law(*settings, always=ALWAYS):
    """Tests a law on a shallow cut, which `lax.top_k` serves, and on further settings."""
    names = "cases, ks, ties, weigh_items"
    return pytest.mark.parametrize(names, [always, *settings])


@pytest.fixture
def weigh_items():
    """True if weights are per item, which every path must carry along, and not per list."""
    return True


@pytest.fixture
def data(rng, weigh_items):
    """Labels, scores, mask, weights and columns."""
    return draw(rng, weigh_items=weigh_items)


def lists_of(cases, ks, ties, data, **changes):
    """Values of metrics for every list, by the public calls, eagerly."""
    ranking = data.ranked(k=ks, **(policy(ties) | changes))
    return jrm.measure(metrics(ks, ties, cases), ranking)


def assert_same(actual, expected, limit=1e-6):
    """Asserts that two results of `measure` hold the same numbers, without NaN."""
    chex.assert_trees_all_equal_dtypes(actual, expected)
    jax.tree.map(lambda x: np.testing.assert_(not np.isnan(x).any()), actual)
    chex.assert_trees_all_close(actual, expected, rtol=limit, atol=limit)


@law(*EACH_ANEW, RANDOM, always=FEWER)
def test_vmap_equals_batch(cases, ks, ties, data):
    """The values of a list do not depend on its batch; under vmap each has its key."""
    if ties == "random":
        keys = jax.random.split(policy(ties)["key"], LISTS)
        batched = jax.vmap(lambda key, x: lists_of(cases, ks, ties, x, key=key))(
            keys, data
        )
        for row in range(0, LISTS, 4):
            single, of_batch = (
                jax.tree.map(lambda x, row=row: x[row], x) for x in (data, batched)
            )
            assert_same(lists_of(cases, ks, ties, single, key=keys[row]), of_batch)
    else:
        batched = jax.jit(jax.vmap(lambda x: lists_of(cases, ks, ties, x)))(data)
        assert_same(batched, lists_of(cases, ks, ties, data))


@law(*OTHERS, always=FEWER)
def test_padding_is_never_read(cases, ks, ties, data):
    """NaN, inf and extreme values of masked items change no value."""
    labels, scores, mask = (x.copy() for x in data[:3])
    for array in (labels, scores):
        array[~mask] = np.resize([np.nan, np.inf, -np.inf, 1e30], (~mask).sum())
    garbled = data.garbled()
    weights = data.weights if data.weights.ndim == 1 else garbled.weights
    padded = Lists(labels, scores, mask, weights, garbled.columns)
    expected = lists_of(cases, ks, ties, data)
    assert_same(lists_of(cases, ks, ties, padded), expected, limit=0)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:weights is nan")  # the remark on a likely mistake
@law(*OTHERS, always=FEWER)
def test_all_ways_to_mask_agree(cases, ks, ties, data):
    """A mask, a negative label, a NaN label and an item weight of 0 all mean padding."""
    expected = lists_of(cases, ks, ties, data)

    def check(**changes):
        marked = data._replace(mask=None, **changes)
        assert_same(lists_of(cases, ks, ties, marked), expected)

    for padding in (-1, -np.inf, np.nan):
        check(labels=np.where(data.mask, data.labels, np.float32(padding)))
    if data.weights.ndim == 2:
        for padding in (0, -2, np.nan):
            check(weights=np.where(data.mask, data.weights, np.float32(padding)))


@pytest.mark.long
def test_own_calls_and_evaluate(data):
    """A metric called by itself has the value that it has among others.

    `evaluate` agrees with its three steps if undefined lists are left out.
    """
    measured, read = lists_of(FEW_CASES, ALL_KS, None, data), {}
    for name, case in FEW_CASES.items():
        bound = case.partial(ALL_KS)
        names = (*case.columns, *case.metric.spec.optional_columns)
        columns = {column: data.columns[column] for column in names}
        lists = bound.func.per_list(*data[:4], columns=columns, **bound.keywords)
        assert_same({name: lists}, {name: measured[name]})
        read |= columns
    table = metrics(ALL_KS, None, FEW_CASES)
    states = jrm.evaluate(table, *data[:4], columns=read, undefined="skip")
    for name, state in jrm.mean(measured, "skip").items():
        np.testing.assert_allclose(states[name].compute(), state.compute(), 1e-6)
        np.testing.assert_allclose(states[name].std_error(), state.std_error(), 1e-5)
        np.testing.assert_array_equal(states[name].counts, state.counts)


@pytest.mark.long
def test_any_leading_axes(data):
    """Lists may have one axis or three; each list has its own random order."""
    flat = lists_of(CUT, KS, "random", data)
    deep = jax.tree.map(lambda x: x.reshape(2, 3, 2, *x.shape[1:]), data)
    deep_lists = lists_of(CUT, KS, "random", deep)
    flattened = jax.tree.map(lambda x: x.reshape(LISTS, *x.shape[3:]), deep_lists)
    assert_same(flattened, flat)


def factors(name, lists, data):
    """The factors by which a metric multiplies weights, mostly 1; for ratios, by cutoff."""
    ks = KS if lists.cutoff_weights else (None,)
    if lists.cutoff_weights and lists.values.shape[-1] == len(ALL_KS):
        ks = ALL_KS
    table = np.array([[CASES[name].factor(x, k) for k in ks] for x in data])
    return table if lists.cutoff_weights else table[:, 0]


def by_list(x, factor):
    """Gives an array of lists the axis of cutoffs of ratios."""
    return np.asarray(x).reshape(-1, *(1,) * (factor.ndim - 1))


@pytest.mark.long
@law(UNCUT, *OTHERS, always=FEWER)
def test_list_weights(cases, ks, ties, data):
    """`list_weights` replaces the weight of a list, which is undefined for the weight 0."""
    list_weights = np.linspace(0, 2, LISTS).astype(np.float32)
    list_weights[6] = 0
    weighted = lists_of(cases, ks, ties, data, list_weights=list_weights)
    is_of_items = data.weights.ndim == 2
    rows = oracle.lists(*(data if is_of_items else data._replace(weights=None)))
    for name, lists in lists_of(cases, ks, ties, data).items():
        defined = np.asarray(weighted[name].defined) & np.asarray(lists.defined)
        np.testing.assert_allclose(
            np.asarray(weighted[name].values)[defined],
            np.asarray(lists.values)[defined],
            rtol=1e-6,
            atol=1e-6,
            err_msg=name,
        )
        assert not np.asarray(weighted[name].defined)[6].any(), name
        factor = factors(name, weighted[name], rows)
        expected = np.where([bool(x.pool) for x in rows], list_weights, 0)
        np.testing.assert_allclose(
            np.asarray(weighted[name].weights),
            (by_list(expected, factor) * factor).astype(np.float32),
            rtol=2e-6 if lists.is_ratio else 0,
            err_msg=name,
        )


@law(*ANEW)
def test_gradients_of_scores_are_zero(cases, ks, ties, data):
    """Scores are constants to autodiff; no gradient is NaN for padding or empty lists."""
    scores, labels = (
        np.where(data.mask, x, np.nan) for x in (data.scores, data.labels)
    )

    def total(scores, labels):
        means = jrm.mean(
            lists_of(cases, ks, ties, data._replace(scores=scores, labels=labels))
        )
        return sum(jnp.sum(value) for value in jrm.compute(means).values())

    @jax.jit
    def slopes(scores, labels, along):
        _, slope = jax.jvp(lambda x: total(scores, x), (labels,), (along,))
        return slope, jax.grad(total)(scores, labels)

    along = np.where(data.mask, 1, np.nan).astype(labels.dtype)
    slope, gradient = slopes(scores, labels, along)
    assert np.isfinite(slope)
    np.testing.assert_array_equal(np.asarray(gradient), 0)


@law(*ANEW)
def test_no_nan_is_made(cases, ks, ties, data):
    """No metric trips `jax_debug_nans`."""
    scores = np.where(data.mask, data.scores, np.inf)
    columns = data.columns | {"groups": np.nan_to_num(data.columns["groups"])}
    with jax.debug_nans(True):
        states = jrm.mean(
            lists_of(cases, ks, ties, data._replace(scores=scores, columns=columns))
        )
        jrm.compute(states)
        for state in states.values():
            state.confidence_interval()
