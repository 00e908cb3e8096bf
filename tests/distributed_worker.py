"""A process of test_distribution: measures its part of tied lists, and prints the numbers."""

import json
import sys

import jax

PORT, NUMBER = sys.argv[1:]

jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(
    f"127.0.0.1:{PORT}", 2, int(NUMBER), initialization_timeout=60
)

import numpy as np  # noqa: E402  (JAX must know the other processes first)
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

import jax_rank_metrics as jrm  # noqa: E402

mesh = jax.make_mesh((4,), ("data",))
sharding = NamedSharding(mesh, PartitionSpec("data"))
labels = np.tile(np.arange(30) == 4, (200, 1))
batch = [
    jax.make_array_from_process_local_data(sharding, x)
    for x in (labels, np.zeros(labels.shape, np.float32))
]
key = jax.random.key(1)
state = jrm.evaluate("mrr@10", *batch, key=key)["mrr@10"]
values = jrm.reciprocal_rank.per_list(*batch, key=key, k=10)
numbers = {
    "mean": float(state.compute()),
    "error": float(state.std_error()),
    "lists": int(state.lists),
    "table": jrm.table({"mrr@10": values}, format="csv"),
}
print(json.dumps(numbers))
