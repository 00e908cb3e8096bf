"""A process of test_distribution: reads its lists, and prints its results."""

import json
import sys

import jax

PORT, PROCESSES, NUMBER, METRICS, SIZES, LISTS = sys.argv[1:]

jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(
    f"127.0.0.1:{PORT}", int(PROCESSES), int(NUMBER), initialization_timeout=60
)

import numpy as np  # noqa: E402  (JAX must know the other processes first)
import recipes  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

import jax_rank_metrics as jrm  # noqa: E402

METRIC = ("mrr@10",)


def numbers(states):
    """The numbers that a user reads from states, for JSON."""
    return {
        name: {
            "mean": np.asarray(state.compute()).tolist(),
            "error": np.asarray(state.std_error()).tolist(),
            "lists": int(state.lists),
            "undefined": int(state.undefined),
        }
        for name, state in states.items()
    }


def random_ties(mesh):
    """Measures tied lists: the mean on each device, and of all in a plain call."""
    lists = 100 * jax.local_device_count()
    labels = np.tile(np.arange(30) == 4, (lists, 1))
    arrays = (labels, np.zeros(labels.shape), np.ones_like(labels))
    device = np.arange(lists) // 100 + jax.process_index() * jax.local_device_count()
    step, key = recipes.by_shard_map(METRIC, mesh), jax.random.key(1)
    per_device = []
    for number in range(jax.device_count()):
        weighted = (*arrays, (device == number).astype(np.float32))
        states = recipes.by_process(step, mesh, weighted, lists, key)
        per_device.append(numbers(states)["mrr@10"])
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    batch = [jax.make_array_from_process_local_data(sharding, x) for x in arrays]
    plain = jrm.evaluate(METRIC, *batch, key=key)
    values = jrm.reciprocal_rank.per_list(*batch, key=key, k=10)
    return {
        "alone": per_device,
        "plain": numbers(plain)["mrr@10"],
        "table": jrm.table({"mrr@10": values}, format="csv"),
    }


def main():
    """Evaluates in batches of several sizes, on all devices of all processes."""
    with np.load(LISTS) as file:
        arrays = tuple(file.values())
    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    step = recipes.by_shard_map(json.loads(METRICS), mesh)
    results = {"devices": jax.device_count(), "lists here": len(arrays[0])}
    for size in json.loads(SIZES):
        results[size] = numbers(recipes.by_process(step, mesh, arrays, size))
    results["ties"] = random_ties(mesh)
    if jax.process_index() == 0:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
