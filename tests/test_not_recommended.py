"""Items that must not be recommended: a score of −∞ in `evaluate_users`, and `retrieved`."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from marks import long_rows
from sources import make_mesh, put

import jax_rank_metrics as jrm

USERS, ITEMS = 6, 12
CUT, WHOLE = ("recall@4", "ndcg@4", "fall_out@4"), ("map", "mrr", "auc", "num_ret")
RELEVANT = [[1, 4], [0], [5, 11], [], [2, 3, 7], [9]]
LABELS = np.zeros((USERS, ITEMS), np.float32)
for _user, _items in enumerate(RELEVANT):
    LABELS[_user, _items] = 1


def draw():
    """Tied scores of a vector of users by one of items; some are −∞, for user 0 all."""
    rng = np.random.default_rng(3)
    users = np.float32([1, 2, 3, 1, 2, 1])[:, None]
    items = rng.integers(1, 5, (ITEMS, 1)).astype(np.float32)
    items[[1, 5, 6, 9]] = -np.inf
    scores = users * items[:, 0]
    scores[0], scores[1, :4] = -np.inf, -np.inf
    return users, items, scores


VECTORS, FEATURES, SCORES = draw()
PRODUCTS = VECTORS * FEATURES[:, 0]

# Models, beside the scores they give.
MODELS = {
    "matrix": (SCORES, SCORES),
    "function": (lambda users: SCORES[users], SCORES),
    "embeddings": ((VECTORS, FEATURES), PRODUCTS),
}


def ranked(scores, k=None, ties="stable"):
    """Ranks rows in which items with a score of −∞ are in the pool, and have no rank."""
    return jrm.rank(LABELS, scores, k=k, ties=ties, retrieved=scores > -np.inf)


def check(actual, expected):
    """Asserts that values and `defined` are equal, metric by metric."""
    for name, lists in actual.items():
        rows = expected[name]
        np.testing.assert_array_equal(lists.defined, rows.defined, name)
        np.testing.assert_allclose(lists.values, rows.values, 1e-6, 1e-6, err_msg=name)


@functools.cache
def expected_of(kind):
    """The results of `rank` for the scores of a model: values, and first items."""
    scores = MODELS[kind][1]
    values = jrm.measure((*CUT, *WHOLE), ranked(scores))
    return values, np.asarray(ranked(scores, k=4).items)


@pytest.mark.parametrize(
    ("kind", "metrics", "block_size", "mesh"),
    [
        ("function", (*CUT, *WHOLE), 4096, None),
        ("embeddings", CUT, 2, (1, 4)),
        *long_rows(
            ("matrix", CUT, 4096, None),
            ("embeddings", (*CUT, *WHOLE), 5, None),
            ("matrix", (*CUT, *WHOLE), 4096, (2, 2)),
        ),
    ],
)
def test_no_model_recommends_minus_infinity(kind, metrics, block_size, mesh):
    """Such an item is in no recommendation, and is missed if it is relevant."""
    axes = {}
    if mesh is not None:
        axes = {"queries_axis": "data", "items_axis": "model"}
        axes["mesh"] = make_mesh(mesh, ("data", "model"))
    evaluation = jrm.evaluate_users(
        (*metrics, "popularity@4"),
        MODELS[kind][0],
        RELEVANT,
        seen=np.zeros((USERS, 1), int) - 1,
        k=4,
        ties="stable",
        block_size=block_size,
        **axes,
    )
    values, items = expected_of(kind)
    lists = {name: evaluation.lists[name] for name in metrics}
    check(lists, values)
    np.testing.assert_array_equal(evaluation.retrieved_ids, items)
    counts = np.bincount(items[items >= 0], minlength=ITEMS)
    np.testing.assert_array_equal(evaluation.exposure.counts, counts)
    # A user with nothing to recommend has no popularity.
    has_items = (items >= 0).any(-1)
    np.testing.assert_array_equal(evaluation.lists["popularity@4"].defined, has_items)


IDS, _ = jrm.pad_lists(RELEVANT, fill=-1)


@pytest.mark.long
@pytest.mark.parametrize("k", [None, 4])
def test_a_step_has_the_number_of_the_driver(k):
    """`rank_scores(retrieved=…)` is `rank(retrieved=…)`, and never reads other scores."""
    metrics = (*CUT, *WHOLE) if k is None else CUT
    hidden = jnp.where(SCORES > -jnp.inf, SCORES, jnp.nan)

    def step(scores, retrieved, ids):
        how = {"retrieved": retrieved, "k": k, "ties": "stable"}
        return jrm.measure(metrics, jrm.rank_scores(scores, ids, **how))

    values, _ = expected_of("matrix")
    check(jax.jit(step)(SCORES, SCORES > -jnp.inf, IDS), values)
    check(jax.jit(step)(hidden, SCORES > -jnp.inf, IDS), values)
    mesh = make_mesh((2, 4), ("data", "model"), AxisType.Explicit)
    arrays = put(mesh, (hidden, SCORES > -jnp.inf), "data", "model")
    check(step(*arrays, put(mesh, IDS, "data")), values)


def same_kind(user_kinds, item_kinds):
    """True if an item is of the kind of a user."""
    return user_kinds[:, None] == item_kinds[None]


def test_items_without_a_rank_by_attributes():
    """They count among the relevant items, whether or not devices share the items."""
    kinds = np.arange(ITEMS) % 3
    labels = (kinds[:USERS, None] == kinds).astype(np.float32)
    attributes = jrm.by_attributes(same_kind, kinds[:USERS], kinds)
    retrieved = SCORES > -np.inf
    rows = jrm.rank(labels, SCORES, retrieved=retrieved, ties="stable")
    names = ("recall@2", "mrr", "num_rel")
    how = {"retrieved": retrieved, "ties": "stable"}
    check(
        jrm.measure(names, jrm.rank_scores(SCORES, attributes, **how)),
        jrm.measure(names, rows),
    )
    mesh, names = make_mesh((1, 4), ("data", "model")), ("mrr", "num_rel")

    @jax.jit
    @jax.shard_map(
        mesh=mesh, in_specs=(P(None, "model"), P("model")), out_specs=P("data")
    )
    def first_stops(arrays, of_items):
        label = jrm.by_attributes(same_kind, kinds[:USERS], of_items)
        scores, retrieved = arrays
        how = {"retrieved": retrieved, "ties": "stable", "items_axis": "model"}
        return jrm.measure(names, jrm.rank_scores(scores, label, **how))

    check(first_stops((SCORES, retrieved), kinds), jrm.measure(names, rows))
