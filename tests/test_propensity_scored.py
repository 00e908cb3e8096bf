"""Propensity-scored metrics, against loops in float64 from the definition of pyxclib."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from quick_programs import quick_measure

import jax_rank_metrics as jrm

LISTS, ITEMS, LISTED = 7, 8, 6
KS = (2, 20, None)
METRICS = {
    "psp": functools.partial(jrm.propensity_scored_precision, k=KS),
    "psndcg": functools.partial(jrm.propensity_scored_ndcg, k=KS),
    "psr": functools.partial(
        jrm.propensity_scored_recall, k=KS, relevance_threshold=2.0
    ),
}


def draw(rng):
    """Draws ties, padding, an empty list, one of nothing relevant, and unlisted items.

    The items from `LISTED` on are not relevant, and nothing else is known of them.
    """
    shape = (LISTS, ITEMS)
    labels = rng.choice(np.float32([0, 1, 2]), shape)
    labels[:, LISTED:] = 0
    scores = rng.integers(0, 5, shape).astype(np.float32)
    mask = rng.random(shape) < 0.85
    propensities = rng.uniform(0.05, 1, shape).astype(np.float32)
    propensities[:, LISTED:] = 0
    mask[0], labels[1], mask[2] = False, 0, True
    propensities[2, 0], labels[2, 0] = 0, 2  # relevant, but of no propensity
    return labels, scores, mask, propensities


def value(name, order, is_relevant, inverse, k):
    """Returns the value of one order of a list, before lists are added up."""
    discount = oracle.log2 if name == "psndcg" else lambda rank: 1.0
    gained = math.fsum(
        discount(rank) * inverse[i]
        for rank, i in enumerate(order[:k], 1)
        if is_relevant[i]
    )
    num_relevant = sum(is_relevant[i] for i in order)
    depth = len(order) if k is None else k
    divisors = {
        "psp": depth,
        "psr": num_relevant,
        "psndcg": math.fsum(
            discount(rank) for rank in range(1, min(depth, num_relevant) + 1)
        ),
    }
    return gained / divisors[name] if num_relevant else 0.0


def test_against_loops(rng):
    """Both sums of every list at every cutoff: the first over all orders of tied items."""
    labels, scores, mask, propensities = draw(rng)
    columns = {"propensities": propensities}
    ranking = jrm.rank(labels, scores, mask, columns=columns)
    # The relevant ids suffice where other items are not listed: they are worth 0.
    ids = np.tile(np.arange(LISTED, dtype=np.int32), (LISTS, 1))
    few = jrm.rank_scores(
        scores,
        ids,
        labels[:, :LISTED],
        item_mask=mask,
        columns={"propensities": propensities[:, :LISTED]},
    )
    results = jax.device_get(quick_measure(METRICS, ranking))
    of_ids = jax.device_get(jrm.measure({"psndcg": METRICS["psndcg"]}, few))
    sums = {name: np.zeros((2, len(KS))) for name in METRICS}
    for row in range(LISTS):
        pool = oracle.existing(labels[row], mask[row])
        inverse = [1 / p if p > 0 else 0.0 for p in propensities[row].tolist()]
        orders = list(oracle.all_orders(oracle.tie_groups(pool, scores[row])))
        for name in METRICS:
            threshold = 2 if name == "psr" else 1
            is_relevant = (labels[row] >= threshold).tolist()
            worth = [x * hit for x, hit in zip(inverse, is_relevant, strict=True)]
            best = sorted(pool, key=worth.__getitem__, reverse=True)
            for column, k in enumerate(KS):
                gained = math.fsum(
                    value(name, order, is_relevant, inverse, k) for order in orders
                ) / len(orders)
                possible = value(name, best, is_relevant, inverse, k)
                sums[name][:, column] += gained, possible
                expected = gained / possible if possible else 0
                for lists in (results[name], of_ids.get(name, results[name])):
                    close = functools.partial(
                        np.testing.assert_allclose, rtol=1e-6, atol=1e-6, err_msg=name
                    )
                    close(lists.values[row, column], expected)
                    close(lists.weights[row, column], possible)
                    assert lists.defined[row, column] == (possible > 0)
    for name, (gained, possible) in sums.items():
        lists = results[name]
        mean = (lists.values * lists.weights).sum(0) / lists.weights.sum(0)
        np.testing.assert_allclose(mean, gained / possible, rtol=1e-6)
        assert gained[0] < possible[0]


def test_propensities_of_labels():
    """Each published setting, from the definition; NumPy in float64, JAX in its floats."""
    counts = np.array([[0, 1], [17, 40_000]])
    settings = {"default": (0.55, 1.5), "wikipedia": (0.5, 0.4), "amazon": (0.6, 2.6)}
    for setting, (a, b) in settings.items():
        scale = (np.log(50_000) - 1) * (b + 1) ** a
        expected = 1 / (1 + scale / (counts + b) ** a)
        propensities = jrm.label_propensities(counts, 50_000, setting=setting)
        assert isinstance(propensities, np.ndarray)
        assert propensities.dtype == np.float64
        np.testing.assert_allclose(propensities, expected, rtol=1e-14)
        by_constants = jrm.label_propensities(counts, 50_000, a=a, b=b)
        np.testing.assert_array_equal(by_constants, propensities)
    assert jrm.label_propensities([True, False], 100)[1] < 0.5
    on_device = functools.partial(
        jrm.label_propensities, num_points=50_000, setting="amazon"
    )
    traced = jax.jit(on_device)(jnp.asarray(counts, jnp.int32))
    np.testing.assert_allclose(traced, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "counts, options, error, message",
    [
        ([1.0, -1.0], {}, ValueError, r"-1.0 at \(1,\); .* from 0 to num_points"),
        ([np.nan], {}, ValueError, "from 0 to num_points"),
        ([10, 11], {}, ValueError, "11.0 at .*how many of the 10 training points"),
        (["a"], {}, TypeError, "pass numbers"),
        ([1], {"num_points": 2}, ValueError, "at least 3"),
        ([1], {"num_points": 2.5}, TypeError, "num_points"),
        ([1], {"setting": "eurlex"}, ValueError, "default, wikipedia, amazon"),
        ([1], {"a": 0}, ValueError, "a is 0"),
        ([1], {"b": -1.0}, ValueError, "b is -1"),
    ],
)
def test_errors_of_propensities(counts, options, error, message):
    with pytest.raises(error, match=message):
        jrm.label_propensities(counts, **{"num_points": 10} | options)


def test_propensities_are_probabilities(rng):
    """Inverses of them raise for relevant items; inside jit they count as 1."""
    labels, scores = np.array([[0, 0], [1, 0]]), np.array([[2.0, 1.0]] * 2)
    large = np.array([[9, 9], [1.5, 9]])
    run = functools.partial(jrm.propensity_scored_recall, labels, scores, k=1)
    with pytest.raises(
        ValueError, match=r"above 1 for a relevant item in list 1; pass"
    ):
        run(columns={"propensities": large})
    run(columns={"propensities": np.where(labels, 1 + 1e-7, large)})
    per_list = functools.partial(run.func.per_list, labels, scores, k=1)
    traced = jax.jit(lambda x: per_list(columns={"propensities": x}).weights)(large)
    np.testing.assert_array_equal(traced, [0, 1])


def test_lists_that_retrieved_nothing_count():
    """Their possible value weighs them, with a cutoff and without one."""
    labels = np.array([[1, 0, 1], [1, 0, 0]])
    columns = {"propensities": np.array([[0.5, 0.5, 0.1], [0.25, 1, 1]])}
    retrieved = np.array([[True] * 3, [False] * 3])
    ranking = jrm.rank(
        *(labels, -np.arange(6.0).reshape(2, 3)), retrieved=retrieved, columns=columns
    )
    lists = jrm.propensity_scored_precision.of(ranking, k=(3, None))
    np.testing.assert_allclose(lists.weights, [[4, 4], [4 / 3, 4 / 3]], rtol=1e-6)
    np.testing.assert_allclose(lists.mean().compute(), 3 / 4, rtol=1e-6)


def test_errors():
    labels, scores = np.ones(3), np.arange(3.0)
    with pytest.raises(ValueError, match="reads the column 'propensities'"):
        jrm.propensity_scored_recall(labels, scores)
    columns = {"propensities": np.ones((3, 2))}
    with pytest.raises(ValueError, match="one number for each item"):
        jrm.propensity_scored_precision(labels, scores, columns=columns)


@pytest.mark.long
def test_laws():
    def draw_propensities(rng, shape):
        return rng.uniform(0.05, 1, shape).astype(np.float32)

    jrm.testing.check_metric(
        jrm.propensity_scored_ndcg, columns={"propensities": draw_propensities}
    )


@pytest.mark.long
def test_sources_of_ids(rng):
    """Ids with the propensities of the relevant ones, against rows of all items."""
    labels, scores, mask, propensities = draw(rng)
    scores = rng.permuted(np.tile(np.float32(np.arange(ITEMS)), (LISTS, 1)), axis=1)
    mask = np.ones_like(mask)
    columns = {"propensities": propensities}
    expected = jrm.measure(METRICS, jrm.rank(labels, scores, mask, columns=columns))
    ids = np.where(labels > 0, np.arange(ITEMS, dtype=np.int32), -1)
    retrieved = np.argsort(-scores, axis=1).astype(np.int32)
    states = {name: lists.mean() for name, lists in expected.items()}
    by_ids = jrm.rank_ids(retrieved, ids, labels, columns=columns)
    by_catalog = jrm.rank_catalog(
        jnp.asarray(scores),
        jnp.eye(ITEMS),
        ids,
        relevant_labels=labels,
        columns=columns,
        k=None,
        block_size=ITEMS,
    )
    for ranking in (by_ids, by_catalog):
        for name, lists in jrm.measure(METRICS, ranking).items():
            np.testing.assert_allclose(lists.values, expected[name].values, atol=1e-6)
            np.testing.assert_allclose(
                lists.mean().compute(), states[name].compute(), rtol=1e-6
            )
