"""The order of scores in every dtype, and labels at their extremes."""

import itertools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from cases import FEW, metrics
from marks import long_rows_but

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.ranking import data_of

X64 = jax.config.jax_enable_x64
INF, NAN = np.inf, np.nan
TINY = np.float32(1e-45)  # the least subnormal

# Values of each dtype in rank order; values in an inner list tie.
LADDERS = {
    "float32": [[NAN, -NAN], INF, 3e38, 1e30, 1, TINY * 3, [TINY * 2, TINY], [0.0, -0.0], [-TINY, -TINY * 2], -1, -3.4e38, -INF],
    "bfloat16": [[NAN, -NAN], INF, 3e38, 1, 9.2e-41, [0.0, -0.0], -9.2e-41, -1, -INF],
    "float16": [[NAN, -NAN], INF, 65504, 1.001, 1, 6e-8, [0.0, -0.0], -6e-8, -1, -65504, -INF],
    "int8": [127, 1, [0, 0], -1, -127, -128],
    "uint8": [255, 128, 127, [1, 1], 0],
    "int16": [32767, 1, 0, -32768],
    "int32": [2**31 - 1, 2**31 - 2, 2**24 + 1, 2**24, 1, [0, 0], -(2**24) - 1, -(2**31) + 1, -(2**31)],
    "uint32": [2**32 - 1, 2**32 - 2, 2**31, 2**31 - 1, [1, 1], 0],
    "bool": [[True, True], [False, False]],
}  # fmt: skip
LADDERS_X64 = {
    "float64": [[NAN, -NAN], INF, 1e300, 1 + 1e-15, 1, 5e-324, [0.0, -0.0], -5e-324, -1e300, -INF],
    "int64": [2**63 - 1, 2**63 - 2, 2**53 + 1, 2**53, 0, -(2**63) + 1, -(2**63)],
    "uint64": [2**64 - 1, 2**63, 2**63 - 1, [1, 1], 0],
}  # fmt: skip
ALL = {**LADDERS, **(LADDERS_X64 if X64 else {})}


def ladder(dtype, rng, padding=0):
    """Returns shuffled scores, the rung of each, and a mask that hides extra padding."""
    rungs, values = [], []
    for rung, value in enumerate(ALL[dtype]):
        for score in value if isinstance(value, list) else [value]:
            rungs.append(rung)
            values.append(score)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    scores = np.array(values, dtype=kind)
    order = rng.permutation(len(values) + padding)
    rungs = np.array(rungs + [99] * padding)
    scores = np.concatenate([scores, np.resize(scores, padding)])
    return scores[order], rungs[order], (rungs < 99)[order]


WAYS = [*itertools.product(ALL, ("top_k", "sort"))]
SHORT = {("float32", "top_k"), ("bfloat16", "sort"), ("uint32", "sort")}


# By default, each way to convert and each way to order only once.
@pytest.mark.parametrize("dtype, lowered", long_rows_but(WAYS if X64 else SHORT, WAYS))
def test_order_of_every_dtype(rng, lowering, lowered, dtype):
    """Items come in the order of their rungs, then padding."""
    lists = [ladder(dtype, rng), ladder(dtype, rng, padding=4)]
    kinds = [
        (number, ties, depth)
        for number, ties in enumerate(("stable", "best"))
        for depth in (len(lists[number][0]) // 2, len(lists[number][0]))
    ]

    @jax.jit
    def held(lists):
        """The labels that each ranking holds in order, and which of them exist."""
        items = [
            data_of(jrm.rank(labels, scores, mask, ties=ties, k=depth)).items_held.items
            for number, ties, depth in kinds
            for scores, labels, mask in lists[number : number + 1]
        ]
        return [(x.labels, x.exists) for x in items]

    with lowering(lowered):
        # The label of an item is its rung, so that labels at ranks show the order.
        rankings = held([(x, y.astype(np.float32), z) for x, y, z in lists])
    for (number, _, depth), columns in zip(kinds, rankings, strict=True):
        _, rungs, mask = lists[number]
        labels, exists = (np.asarray(x)[:depth] for x in columns)
        expected = np.sort(rungs[mask])[:depth]
        assert exists.sum() == len(expected)
        np.testing.assert_array_equal(labels[exists], expected)


@pytest.mark.parametrize(
    "lowered, dtypes",
    [("sort", ["float32"]), ("top_k", ["float16", "uint8", "int32"])],
    ids=["float32-sort", "top_k"],
)
def test_ties_of_every_dtype(rng, lowering, lowered, dtypes):
    """Scores of equal rungs tie, others do not: values are means over their orders."""
    items = max(len(ladder(dtype, rng)[0]) for dtype in dtypes) + 3
    with lowering(lowered):
        for dtype in dtypes:
            padding = items - len(ladder(dtype, rng)[0])
            scores, rungs, mask = ladder(dtype, rng, padding)
            mask &= scores == scores  # without NaN, which leaves a list without a value
            labels = (rng.random(len(scores)) < 0.5).astype(np.float32)
            # The same order by small integers, which have no special values.
            plain = -rungs.astype(np.float32)
            actual, expected = (
                jrm.recall.per_list(labels, x, mask, k=(1, 4)).values
                for x in (scores, plain)
            )
            np.testing.assert_array_equal(actual, expected)


def test_negative_zero_under_jit():
    """−0.0 ties with 0.0 even if the compiler could fold the difference away."""
    labels = jnp.array([0.0, 1.0])

    @jax.jit
    def value(scores):
        return jrm.reciprocal_rank(labels, scores * -1.0).compute()

    assert value(jnp.array([0.0, -0.0])) == 0.75
    assert value(jnp.array([0.0, 1.0])) == 0.5


def test_labels_of_every_dtype():
    """Labels have the same meaning in every dtype; unsigned ones do not wrap."""
    labels = np.array([[0, 1, 1, 0, 1], [1, 0, 0, 0, 0]])
    scores = np.array([[5, 4, 3, 2, 1], [1, 2, 3, 4, 5]], np.float32)
    kinds = ("float32", "bool", "int8", "uint8", "int32", "float16", ml_dtypes.bfloat16)

    @jax.jit
    def values(*columns):
        rankings = [jrm.rank(x, scores) for x in columns]
        measured = [jrm.measure(("ndcg@3", "recall@1,3"), x) for x in rankings]
        return [[lists.values for lists in x.values()] for x in measured]

    expected, *others = values(*(labels.astype(kind) for kind in kinds))
    for kind, actual in zip(kinds[1:], others, strict=True):
        for first, second in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(first, second, str(kind))


def test_low_precision_is_summed_in_float32():
    """A thousand ones in bfloat16 add up to a thousand, not to 256."""
    labels = np.ones((3, 1001), jnp.bfloat16)
    scores = np.zeros((3, 1001), jnp.bfloat16)
    lists = jrm.measure(("cg", "recall"), jrm.rank(labels, scores))
    assert lists["cg"].values.tolist() == [1001] * 3
    assert lists["recall"].values.tolist() == [1] * 3
    assert lists["cg"].values.dtype == jnp.float32


def test_high_labels_stay_finite():
    """nDCG of labels up to 120 under the exponential gain agrees with exact integers."""
    labels = np.array([[120, 3, 119, 0, 118, 120]], np.float32)
    scores = np.array([[1, 5, 4, 3, 2, 0]], np.float32)
    gains = [2 ** int(y) - 1 for y in labels[0]]
    order = np.argsort(-scores[0])
    discount = 1 / np.log2(np.arange(2, 8))
    dcg = sum(gains[i] / 2**120 * d for i, d in zip(order, discount, strict=True))
    ideal = sum(
        g / 2**120 * d for g, d in zip(sorted(gains)[::-1], discount, strict=True)
    )
    actual = jrm.ndcg(labels, scores).compute()
    np.testing.assert_allclose(actual, dcg / ideal, rtol=1e-6)
    tied = jrm.ndcg(labels, np.zeros_like(scores)).compute()
    mean = sum(gains) / 2**120 / 6 * discount.sum()
    np.testing.assert_allclose(tied, mean / ideal, rtol=1e-6)


@pytest.mark.parametrize("shape", [(4, 0), (0, 5)], ids=["no items", "no lists"])
def test_nothing_to_rank(shape):
    """Lists without items, and a batch without lists, give an empty state."""
    none = np.zeros(shape, np.float32)
    lists = jrm.measure(metrics((1, None), cases=FEW), jrm.rank(none, none))
    for name, state in jax.device_get(jrm.mean(lists)).items():
        assert not np.asarray(lists[name].values).any(), name
        assert state.lists == 0 and not np.asarray(lists[name].weights).any(), name
        assert not np.asarray(state.compute()).any(), name
        assert np.isinf(np.asarray(state.std_error())).all(), name
