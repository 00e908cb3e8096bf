"""The drivers on many devices: the numbers of one device, and nothing large travels."""

import jax
import numpy as np
import pytest
import scipy.sparse
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import jax_rank_metrics as jrm

USERS, ITEMS, DIMS, K = 45, 101, 4, 5
METRICS = ("ndcg@3", "recall@1,5", "mrr")


def make_mesh(kind):
    """Makes a mesh of two parts of the queries and four parts of the items."""
    return jax.make_mesh((2, 4), ("q", "i"), axis_types=(kind,) * 2)


@pytest.fixture(scope="module")
def data():
    """Embeddings of small integers, so that many scores tie; what is relevant and seen."""
    rng = np.random.default_rng(3)
    queries, items = (rng.integers(-2, 3, (n, DIMS)) for n in (USERS, ITEMS))
    seen = rng.random((USERS, ITEMS)) < 0.2
    labels = np.where(seen, 0, rng.choice([0, 0, 0, 1, 2], seen.shape))
    labels[4] = 0
    model = (queries.astype(np.float32), items.astype(np.float32))
    features = rng.normal(size=(ITEMS, 3)).astype(np.float32)
    options = {
        "relevant": scipy.sparse.csr_array(labels),
        "seen": scipy.sparse.csr_array(seen),
        "embeddings": features,
        "item_mask": rng.random(ITEMS) < 0.9,
        "batch_size": 16,
    }
    return model, options


@pytest.fixture(scope="module")
def expected(data):
    """The evaluation of one device."""
    model, options = data
    return jrm.evaluate_users(METRICS, model, **options)


def check_same(evaluation, expected):
    """Checks that an evaluation on many devices has the numbers of one device."""
    assert str(evaluation) == str(expected)
    for name, state in expected.states.items():
        actual = evaluation.states[name]
        np.testing.assert_allclose(actual.compute(), state.compute(), rtol=1e-6)
        np.testing.assert_array_equal(actual.counts, state.counts)
    found = evaluation.gather()
    np.testing.assert_array_equal(found.items, expected.items)
    assert list(found.lists) == list(expected.lists)
    for name, lists in expected.lists.items():
        actual = found.lists[name]
        assert isinstance(actual.values, np.ndarray)
        np.testing.assert_allclose(actual.values, lists.values, atol=1e-6)
        np.testing.assert_array_equal(actual.defined, lists.defined)
        np.testing.assert_array_equal(actual.weights, lists.weights)
    return found


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit], ids=str)
def test_users_and_items_cut(kind, data, expected, rng):
    """Queries over one axis, items over the other; neither divides evenly."""
    model, options = data
    mesh = make_mesh(kind)
    evaluation = jrm.evaluate_users(
        METRICS, model, **options, mesh=mesh, queries_axis="q", items_axis="i"
    )
    found = check_same(evaluation, expected)
    np.testing.assert_array_equal(evaluation.exposure.counts, expected.exposure.counts)
    assert int(evaluation.exposure.lists) == USERS
    assert len(evaluation.items) == USERS + 1  # padding
    sharding = evaluation.lists["mrr"].values.sharding
    assert sharding.is_equivalent_to(NamedSharding(mesh, P("q")), 1)
    groups = rng.choice(["a", "b"], USERS)
    with pytest.raises(ValueError, match=r"gather\(\)"):
        evaluation.by(groups)
    for group, states in expected.by(groups).items():
        actual = found.by(groups)[group]["mrr"].compute()
        np.testing.assert_allclose(actual, states["mrr"].compute(), rtol=1e-6)
