"""Steps that are traced and compiled under the mesh of devices that are not here."""

import jax
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import jax_rank_metrics as jrm
from jax_rank_metrics._engine.places import place

IDS = np.tile(np.arange(4, dtype=np.int32), (16, 1))
ITEMS = np.ones((8, 50), np.float32)


def in_batch(queries):
    """Ranks the items of a batch for its queries."""
    scores = queries @ ITEMS.T
    labels = np.eye(16, 8, dtype=np.float32)
    return jrm.ndcg(labels, scores, discount_fn=lambda rank: 1 / (1 + rank))


STEPS = {
    "evaluate": lambda x: jrm.evaluate(("ndcg@10", "map", "mrr", "rbp"), x, x),
    "rank_scores": lambda x: jrm.measure("ndcg", jrm.rank_scores(x, IDS, k=None)),
    "rank_catalog": lambda x: jrm.measure(
        "dcg@5", jrm.rank_catalog(x, ITEMS, IDS, k=5, block_size=4)
    ),
    "in-batch metrics": in_batch,
    "exposure": lambda x: jrm.exposure(jrm.rank(x, x, k=4), 50),
}


@pytest.fixture
def device_counts():
    """A list of how many devices the programs span, which grows with each compilation."""
    counts, client = [], jax.devices()[0].client
    before = set(map(id, client.live_executables()))

    def listen(name, *_, **__):
        if name == "/jax/core/compile/backend_compile_duration":
            programs = client.live_executables()
            counts.extend(
                len(x.local_devices()) for x in programs if id(x) not in before
            )

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield counts
    jax.monitoring.clear_event_listeners()


@pytest.mark.long
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_tracing_compiles_nothing_for_the_mesh(kind, device_counts):
    """Tables of ranks are computed on a device of this process, whatever mesh is set.

    The mesh may be of a pod: `compile` makes programs for it that no device here can run.
    """
    mesh = jax.make_mesh((8,), ("data",), (kind,))
    jax.clear_caches()
    place._table.cache_clear()
    x = jax.ShapeDtypeStruct(
        (16, 50), np.float32, sharding=NamedSharding(mesh, P("data"))
    )
    with jax.set_mesh(mesh):
        for step in STEPS.values():
            jax.jit(step).lower(x)
    assert device_counts and set(device_counts) == {1}
