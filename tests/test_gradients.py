"""Gradients with respect to labels, columns and weights, beside central differences."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import jax_rank_metrics as jrm

LISTS, ITEMS, LISTED = 2, 8, 4
MEASURED = ("dcg@4", "ndcg@4", "ndcg")


def worth(items):
    return items.labels * items.columns["cost"]


@jrm.metric(columns=("cost",))
def value_for_money(ranking, *, k=None):
    ks = ranking.cutoffs(k)
    sums = ranking.expected_sum(worth, jrm.positions(jrm.log2_discount), ks)
    best = ranking.ideal_sum(worth, jrm.log2_discount, ks)
    return ranking.per_list(sums / best, True, k, worth)


@pytest.fixture
def items(rng):
    """Scores with ties, the labels, costs and weights of items, and weights of lists."""
    scores = np.round(rng.normal(size=(LISTS, ITEMS)))
    labels, cost, weights = rng.uniform(0.5, 3.5, (3, LISTS, ITEMS))
    labels[:, :3] = [3.0, 1.0, 2.0]  # whole labels have gains of their own
    return scores, labels, cost, weights, rng.uniform(0.5, 2, LISTS)


def rows(scores, labels, cost, weights, lists, **options):
    columns = {"cost": cost}
    options |= {"columns": columns, "list_weights": lists}
    return jrm.rank(labels, scores, weights=weights, **options)


def packed(scores, labels, cost, weights, lists, **options):
    ids = np.repeat(np.arange(LISTS), ITEMS)
    options |= {"segment_ids": ids, "num_segments": LISTS}
    flat = (x.reshape(-1) for x in (scores, labels, cost, weights))
    return rows(*flat, lists, **options)


def retrieved(scores, labels, cost, weights, lists):
    del scores
    return jrm.rank_retrieved(
        *(labels[:, :LISTED], None, weights[:, :LISTED]),
        pool_labels=labels,
        pool_weights=weights,
        list_weights=lists,
        columns={"cost": cost[:, :LISTED]},
        pool_columns={"cost": cost},
    )


def listed(scores, labels, cost, weights, lists):
    del weights
    ids = np.arange(0, ITEMS, ITEMS // LISTED)[None].repeat(LISTS, 0)
    of_ids = {"relevant_labels": labels[:, :LISTED], "list_weights": lists}
    of_ids["relevant_columns"] = {"cost": cost[:, :LISTED]}
    return jrm.rank_scores(scores, ids, **of_ids)


def assert_slope(function, arguments):
    """Asserts that a gradient has the slope of a central difference in one direction."""
    rng = np.random.default_rng(0)
    direction = [rng.normal(size=x.shape) for x in arguments]
    ahead, behind = (
        function(*[x + step * d for x, d in zip(arguments, direction, strict=True)])
        for step in (1e-5, -1e-5)
    )
    argnums = tuple(range(len(arguments)))
    gradient = jax.jit(jax.grad(function, argnums))(*arguments)
    slope = sum(jnp.vdot(x, d) for x, d in zip(gradient, direction, strict=True))
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-5, rtol=1e-5)


long = pytest.mark.long


@pytest.mark.filterwarnings("ignore:value_for_money reads")
@pytest.mark.parametrize(
    ("layout", "metrics"),
    [
        (rows, ("ndcg@4",)),
        *(
            pytest.param(x, MEASURED, marks=long)
            for x in (rows, packed, retrieved, listed)
        ),
    ],
)
def test_gradients(layout, metrics, items):
    """Gains, columns, item weights and the ideal have their gradients, whole labels too."""
    scores, *arguments = items

    @jax.jit
    def total(*arguments):
        ranking = layout(scores, *arguments)
        values = jrm.measure(metrics, ranking)
        if metrics is MEASURED:
            values["own"] = value_for_money.of(ranking, k=4)
        return sum(value.mean().compute() for value in values.values())

    with jax.enable_x64(True):
        assert_slope(total, [jnp.asarray(x) for x in arguments])


@pytest.mark.long
@pytest.mark.parametrize("layout", [rows, packed])
def test_padding(layout, items):
    """NaN padding has the gradient 0, and so have lists whose labels are all 0."""
    scores, labels, cost, weights, lists = items
    labels[0, 5:], labels[1], cost[0, 5:], weights[0, 5:] = np.nan, 0, np.nan, np.nan

    def total(*arguments):
        ranking = layout(scores, *arguments, lists)
        return sum(x.values.sum() for x in jrm.measure(MEASURED, ranking).values())

    gradient = jax.jit(jax.grad(total, argnums=(0, 1, 2)))(labels, cost, weights)
    assert np.isfinite(gradient).all()
    assert not np.asarray(gradient).reshape(3, LISTS, ITEMS)[:, 0, 5:].any()


@pytest.mark.long
def test_a_loop(items):
    """If a loop over ties computes values, a gradient raises, and the named cure works."""
    scores, labels, *_, lists = items

    def err(labels, **options):
        values = jrm.expected_reciprocal_rank.per_list(labels, scores, k=4, **options)
        return values.values @ lists

    with pytest.raises(
        TypeError, match="because a loop computes it in a number of steps.*jacfwd"
    ):
        jax.grad(err)(labels)
    with jax.enable_x64(True):
        beside = jax.grad(lambda x: (x.sum(), err(x)), has_aux=True)(
            jnp.asarray(labels)
        )
        np.testing.assert_allclose(beside[1], err(labels))

        def ndcg(labels, *metrics):  # beside a loop, in one call
            states = jrm.evaluate(("ndcg@4", *metrics), labels, scores)
            return states["ndcg@4"].compute(), dict(states)

        slopes, states = jax.grad(ndcg, has_aux=True)(jnp.asarray(labels), "err@4")
        alone, _ = jax.grad(ndcg, has_aux=True)(jnp.asarray(labels))
        np.testing.assert_allclose(slopes, alone, rtol=1e-9)
        assert alone.any() and states["err@4"].compute() > 0
        ahead, behind = (err(labels + step * lists[:, None]) for step in (1e-5, -1e-5))
        slope = jnp.vdot(
            jax.jacfwd(err)(jnp.asarray(labels)), lists[:, None] + 0 * labels
        )
        np.testing.assert_allclose(slope, (ahead - behind) / 2e-5, rtol=1e-5)
        assert_slope(lambda x: err(x, key=jax.random.key(0)), [jnp.asarray(labels)])


@pytest.mark.long
def test_cut_items(items):
    """Devices that hold parts of the items have the gradients of whole lists."""
    scores, labels, _, weights, _ = (np.float32(x) for x in items)

    @jax.jit
    @jax.grad
    def gradient(item_arrays, scores):
        labels, weights = item_arrays
        return jrm.ndcg(labels, scores, None, weights, k=4).compute()

    mesh = jax.make_mesh((2,), ("items",), axis_types=(AxisType.Explicit,))
    cut = NamedSharding(mesh, PartitionSpec(None, "items"))
    whole = (labels, weights), scores
    of_parts = gradient(*jax.device_put(whole, cut))
    chex.assert_trees_all_close(of_parts, gradient(*whole), rtol=1e-5, atol=1e-7)
