"""Soft places: values and gradients against pairs of items in double precision."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CORE

import jax_rank_metrics as jrm

SOFT = jrm.sigmoid_ranks(0.3)
NAMES = ("ndcg", "dcg@3", "map", "map@3", "mrr", "mrr@5", "p@4", "rprec")


def soft_above(scores, has_rank):
    """The sigmoid weight of an item above another, `[lists, other, item]`."""
    scores = jnp.where(has_rank, scores, 0)
    lead = scores[:, None, :] - scores[:, :, None]
    is_other = ~np.eye(scores.shape[1], dtype=bool)[None] & has_rank[:, None, :]
    return is_other * jax.nn.sigmoid(lead / SOFT.temperature)


def by_pairs(labels, scores, exists, retrieved):
    """Computes the metrics of `NAMES` from all pairs of items, `[lists, metrics]`."""
    has_rank = exists & retrieved
    is_above = soft_above(scores, has_rank)
    rank = 1 + is_above.sum(-1)
    hit, gain = has_rank & (labels >= 1), has_rank * (2.0**labels - 1)
    precision = hit * (1 + (is_above * hit[:, None, :]).sum(-1)) / rank
    best = jnp.sort(exists * (2.0**labels - 1), descending=True)
    ideal = (best / np.log2(2 + np.arange(labels.shape[1]))[None]).sum(-1)
    num_relevant = (exists & (labels >= 1)).sum(-1)
    relevant = jnp.maximum(num_relevant, 1)
    worth = gain / jnp.log2(1 + rank)
    values = (
        worth.sum(-1) / jnp.maximum(ideal, 1e-9),
        (worth * (rank <= 3.5)).sum(-1),
        precision.sum(-1) / relevant,
        (precision * (rank <= 3.5)).sum(-1) / relevant,
        (hit / rank).sum(-1) / relevant,
        (hit / rank * (rank <= 5.5)).sum(-1) / relevant,
        (hit & (rank <= 4.5)).sum(-1) / jnp.clip(has_rank.sum(-1), 1, 4),
        (hit & (rank <= num_relevant[:, None] + 0.5)).sum(-1) / relevant,
    )
    return jnp.stack(values, axis=-1)


def in_double(function, lists):
    """Calls a function of lists in double precision."""
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        wide = [jnp.asarray(x, float) for x in lists[:2]]
        return np.asarray(jax.jit(function)(*wide, *lists[2:]))


def expected(lists):
    """Returns `by_pairs` in double precision."""
    return in_double(by_pairs, lists)


@pytest.fixture
def lists(rng):
    """Labels, scores, and which items exist and were retrieved: more than a block.

    One list is empty, one has a single item, in one all scores tie, and one has nothing
    relevant. Items that do not exist or were not retrieved have the score NaN.
    """
    shape = (6, 130)
    labels = rng.choice(np.float32([0, 0, 0, 1, 2, 3]), shape)
    scores = np.round(rng.normal(size=shape), 1).astype(np.float32)
    exists, retrieved = rng.random((2, *shape)) < 0.9
    exists[1] = False
    exists[2] = np.arange(shape[1]) == 70
    labels[2, 70], retrieved[2, 70] = 2, True
    scores[3], labels[4] = 0.5, 0
    scores[~(exists & retrieved)] = np.nan
    return labels, scores, exists, retrieved


def measured(labels, scores, exists, retrieved, **options):
    """Measures the metrics of `NAMES` on a soft ranking, `[lists, metrics]`."""
    options |= {"retrieved": retrieved, "relax": SOFT}
    values = jrm.measure(NAMES, jrm.rank(labels, scores, exists, **options))
    return jnp.stack([values[name].values for name in NAMES], axis=-1)


def test_values(lists):
    """Values agree with sums over all pairs in double precision; masked items are out."""
    arrays = [jnp.asarray(x) for x in lists]  # converting NaN would trip the check
    with jax.debug_nans(True):
        actual = jax.jit(measured)(*arrays)
    np.testing.assert_allclose(
        np.asarray(actual), expected(lists), rtol=2e-6, atol=1e-6
    )


def test_numbers_are_summed_by_how_surely_items_are_above(lists):
    """Soft sums of labels above each item agree with all pairs in double precision."""
    labels, _, exists, retrieved = lists

    def product(place, k):
        return place.counted_above[0] * place.counted_tied[0]

    def label(items):
        return items.labels

    ranking = jrm.rank(*lists[:3], retrieved=retrieved, relax=SOFT)
    actual = ranking.expected_sum(label, product, (None,), counting=(label,))
    has_rank = exists & retrieved
    above = in_double(lambda _, scores: soft_above(scores, has_rank), lists[:2])
    labels = np.where(has_rank, labels, 0).astype(np.float64)
    sums = (labels**2 * (above @ labels[..., None])[..., 0]).sum(-1)
    np.testing.assert_allclose(actual[:, 0], sums, rtol=5e-6)


def test_gradients(lists, rng):
    """Gradients agree with the plain formulas, in double and single precision."""
    factors = rng.normal(size=(6, len(NAMES))).astype(np.float32)

    def slopes(function):
        return jax.grad(lambda *x: (factors * function(*x)).sum(), 1)

    to_scores = np.asarray(jax.jit(slopes(measured))(*lists))
    exact, plain = (in_double(slopes(x), lists) for x in (measured, by_pairs))
    np.testing.assert_allclose(exact, plain, atol=1e-12)
    np.testing.assert_allclose(to_scores, exact, atol=2e-6 * np.abs(exact).max())
    assert not exact[~(lists[2] & lists[3])].any()
    assert (exact[[0, 3, 5]] != 0).sum() > 250


def packed(rng, lists, extra=40):
    """Packs rows `[lists, items]` into flat arrays in any order.

    Items that do not exist, and `extra` ones, belong to no list.

    Returns:
        Labels, scores and `retrieved`, the list of every item, and the place of each in the
        rows.
    """
    labels, scores, exists, retrieved = lists
    ids = np.repeat(np.arange(len(labels), dtype=np.int32), labels.shape[1])
    ids = np.append(np.where(exists.ravel(), ids, -1), np.full(extra, -1, np.int32))
    slots = rng.permutation(ids.size)
    flat = [np.append(x, x.ravel()[:extra])[slots] for x in (labels, scores, retrieved)]
    return *flat, ids[slots], slots


@pytest.mark.long
def test_packed_lists(lists, rng):
    """Packed lists have the values and gradients that they have as rows."""
    *flat, slots = packed(rng, lists)
    factors = rng.normal(size=(7, len(NAMES))).astype(np.float32)

    def of_packed(scores):
        labels, _, retrieved, ids = flat
        packing = {"segment_ids": ids, "num_segments": 7}
        values = measured(labels, scores, None, retrieved, **packing)
        return (factors * values).sum(), values

    def of_rows(scores):
        return (factors[:6] * measured(lists[0], scores, *lists[2:])).sum()

    (_, values), slope = jax.jit(jax.value_and_grad(of_packed, has_aux=True))(flat[1])
    np.testing.assert_allclose(values[:6], expected(lists), rtol=2e-6, atol=1e-6)
    assert not np.asarray(values[6]).any()  # a list without items
    rows = np.asarray(jax.jit(jax.grad(of_rows))(lists[1])).ravel()
    place_in_rows = np.argsort(slots)
    actual = np.asarray(slope)[place_in_rows]
    np.testing.assert_allclose(
        actual[: rows.size], rows, atol=2e-6 * np.abs(rows).max()
    )
    assert not actual[rows.size :].any()


@pytest.mark.long
def test_many_short_packed_lists(rng):
    """Most blocks of packed lists share no list, which changes no value or gradient."""
    shape = (400, 5)
    labels = rng.choice(np.float32([0, 1, 2]), shape)
    scores = rng.normal(size=shape).astype(np.float32)
    exists = np.arange(5) < rng.integers(0, 6, (400, 1))
    rows = labels, scores, exists, np.ones(shape, bool)
    labels, scores, retrieved, ids, _ = packed(rng, rows)

    def value(scores):
        packing = {"segment_ids": ids, "num_segments": 400}
        return measured(labels, scores, None, retrieved, **packing)

    direction = rng.normal(size=scores.shape).astype(np.float32)
    values, slopes = jax.jit(jax.jvp, static_argnums=0)(value, (scores,), (direction,))
    np.testing.assert_allclose(values, expected(rows), rtol=2e-6, atol=1e-6)
    gradient = jax.jit(jax.grad(lambda x: value(x)[:, 0].sum()))(scores)
    along = (np.asarray(gradient, np.float64) * direction).sum()
    np.testing.assert_allclose(np.asarray(slopes)[:, 0].sum(), along, rtol=1e-5)


@jax.jit
@functools.partial(jax.value_and_grad, argnums=1)
def value_and_slope(labels, scores):
    """nDCG plus average precision, with the gradient; a key changes nothing."""
    key, names = jax.random.key(0), ("ndcg", "map")
    states = jrm.evaluate(names, labels, scores, None, None, key, relax=SOFT)
    return states["ndcg"].compute() + states["map"].compute()


def test_scores_that_are_not_finite():
    """Infinite scores rank at the ends without a gradient; others have theirs."""
    labels = np.float32([[1, 0, 2, 0, 1, 0, 0, 1]] * 2)
    scores = np.float32([0.3, np.inf, -np.inf, -np.inf, -0.2, np.inf, -1e30, 0.1])
    scores = np.stack([scores, -scores])
    clamped = np.nan_to_num(scores, posinf=3e38, neginf=-3e38)
    arrays = [jnp.asarray(x) for x in (scores, clamped)]
    with jax.debug_nans(True):
        (value, slope), (same, _) = (value_and_slope(labels, x) for x in arrays)
    np.testing.assert_allclose(float(value), float(same), rtol=1e-6)
    slope = np.asarray(slope)
    assert np.isfinite(slope).all() and not slope[:, [1, 2, 3, 5]].any()
    assert slope[:, [0, 4, 7]].all()


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["bfloat16", "int32"])
def test_scores_of_other_dtypes_are_widened(rng, dtype):
    """Scores of low precision and integers have the value of the same floats."""
    labels = rng.choice(np.float32([0, 1, 2]), (2, 8))
    scores = jnp.asarray(rng.normal(size=(2, 8)) * 3).astype(dtype)
    value, slope = value_and_slope(labels, scores.astype(jnp.float32))
    if dtype == "int32":
        states = jrm.evaluate(("ndcg", "map"), labels, scores, relax=SOFT)
        actual = sum(float(state) for state in states.values())
    else:
        actual, narrow = value_and_slope(labels, scores)
        assert narrow.dtype == dtype
        rounded = np.asarray(slope.astype(dtype))
        np.testing.assert_array_equal(np.asarray(narrow), rounded)
    np.testing.assert_allclose(float(actual), float(value), rtol=1e-6)


# Metrics with a soft form, except reciprocal rank, whose soft form is another formula.
SUMS = {
    name: case.partial((1, 4, None))
    for name, case in CORE.items()
    if case.closed_form and case.metric not in (jrm.hit_rate, jrm.reciprocal_rank)
}


@pytest.mark.long
def test_a_low_temperature_is_no_relaxation(rng):
    """Without ties, values of rows and of packed lists approach the exact ones."""
    shape = (5, 12)
    labels = rng.choice(np.float32([0, 0, 1, 2, 3]), shape)
    scores = rng.permuted(np.tile(np.arange(12) / 8, (5, 1)), axis=1)
    mask, weights = rng.random(shape) < 0.8, rng.gamma(2, size=shape)
    arrays = [x.astype(np.float32) for x in (labels, scores)]
    arrays += [mask, weights.astype(np.float32)]
    order, relax = rng.permutation(60), jrm.sigmoid_ranks(1e-3)
    flat, ids = [x.ravel()[order] for x in arrays], order.astype(np.int32) // 12
    exact, soft, packed_soft = (
        jrm.measure(SUMS, ranking)
        for ranking in (
            jrm.rank(*arrays),
            jrm.rank(*arrays, relax=relax),
            jrm.rank(*flat, segment_ids=ids, num_segments=5, relax=relax),
        )
    )
    for name in SUMS:
        for actual in (soft[name], packed_soft[name]):
            chex.assert_trees_all_close(actual, exact[name], atol=1e-6)


def test_a_cutoff_is_half_way_to_the_next_rank():
    """Tied items are all within k or all beyond it, and gradients stop there."""
    labels, scores = np.float32([1, 1, 0]), np.float32([1, 1, 0])

    def value(scores, k):
        relax = jrm.sigmoid_ranks(0.05)
        return jrm.dcg.per_list(labels, scores, k=k, relax=relax).values.sum()

    at_1, sum_of_three = value(scores, 1), value(scores, (1, 2, None))
    np.testing.assert_allclose(float(at_1), 2 / np.log2(2.5), rtol=1e-6)  # ranks of 1.5
    np.testing.assert_allclose(float(sum_of_three), 3 * float(at_1), rtol=1e-6)
    assert not np.asarray(jax.grad(value)(np.float32([0, 0, 1]), 1)).any()


@pytest.mark.long
@pytest.mark.parametrize("shape", [(0, 4), (2, 0)], ids=["no lists", "no items"])
def test_nothing_to_rank(shape):
    """Lists without items are worth 0, and a batch may have no lists."""
    empty = np.zeros(shape, np.float32)
    values = jrm.ndcg.per_list(empty, empty, relax=SOFT).values
    assert not values.any() and values.shape == shape[:1]


def test_log_auc_has_no_jumps():
    """A real number of decoys stands before an active item, also below the least rate."""
    labels, others = np.array([1, 0, 0]), np.array([2.0, 3.0])
    steps = np.linspace(0, 7, 200)
    scores = np.column_stack([steps, np.tile(others, (200, 1))]).astype(np.float32)
    values = jrm.log_auc.per_list(
        np.tile(labels, (200, 1)), scores, relax=SOFT, min_fpr=0.01
    ).values
    decoys = (1 / (1 + np.exp((steps[:, None] - others) / 0.3))).sum(1)
    expected = np.log(np.maximum(decoys / 2, 0.01)) / np.log(0.01)
    np.testing.assert_allclose(values, expected, atol=1e-5)
    assert np.diff(values).max() < 0.05 and values[-1] > 0.999
