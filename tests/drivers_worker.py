"""A process of test_over_devices: evaluates on the devices of two, and saves the numbers."""

import sys
from pathlib import Path

import jax

if __name__ == "__main__":
    PORT, NUMBER, FOLDER = sys.argv[1:]
    jax.config.update("jax_num_cpu_devices", 4)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        f"127.0.0.1:{PORT}", 2, int(NUMBER), initialization_timeout=60
    )

import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import jax_rank_metrics as jrm

METRICS = ("ndcg@3", "mrr")


def same_class(query_classes, item_classes):
    """Labels items of the class of the query."""
    return query_classes[:, None] == item_classes[None]


def calls():
    """The arguments of each call: users, and embeddings with classes."""
    rng = np.random.default_rng(0)
    queries, items = (rng.integers(-2, 3, (n, 4)).astype(np.float32) for n in (44, 104))
    users = {
        "model": (queries[:37], items[:99]),
        "relevant": rng.integers(0, 99, (37, 3)),
        "seen": rng.integers(0, 99, (37, 2)),
        "batch_size": 16,
    }
    embeddings = {
        "queries": queries,
        "items": items,
        "relevant": jrm.by_attributes(
            same_class, rng.integers(0, 9, 44), rng.integers(0, 9, 104)
        ),
        "batch_size": 16,
    }
    return {"evaluate_users": users, "evaluate_embeddings": embeddings}


def put(mesh, array, axis):
    """Returns a global array, whose rows are cut over a mesh axis."""
    sharding = NamedSharding(mesh, PartitionSpec(axis))
    return jax.make_array_from_callback(array.shape, sharding, array.__getitem__)


def evaluate(name, arguments, **options):
    """Calls a driver by its name."""
    return getattr(jrm, name)(METRICS, **arguments, **options)


def numbers(evaluation):
    """Returns the arrays of an evaluation by name."""
    arrays = {"items": evaluation.retrieved_ids}
    for name, state in evaluation.states.items():
        arrays |= {name: state.compute(), f"{name} error": state.std_error()}
        arrays[f"{name} values"] = evaluation.lists[name].values
        arrays[f"{name} weights"] = evaluation.lists[name].weights
        by_group = evaluation.by(np.arange(len(evaluation.retrieved_ids)) % 2)
        arrays[f"{name} of a group"] = by_group[1][name].compute()
    return arrays


def halves(name, arguments):
    """Divides the queries of a call into two slices."""
    if name == "evaluate_users":
        return [arguments | {"users": np.arange(*cut)} for cut in ((0, 16), (16, 37))]
    relevant, parts = arguments["relevant"], []
    for cut in (slice(0, 20), slice(20, None)):
        classes = relevant.query_attributes[cut], relevant.item_attributes
        part = {"queries": arguments["queries"][cut]}
        part["relevant"] = jrm.by_attributes(same_class, *classes)
        parts.append(arguments | part)
    return parts


def main():
    """Makes each call, again under the mesh, and in slices, whose totals are merged."""
    mesh = jax.make_mesh((2, 4), ("q", "i"), axis_types=(AxisType.Explicit,) * 2)
    folder = Path(FOLDER)
    over_mesh = {"mesh": mesh, "queries_axis": "q", "items_axis": "i"}
    for name, arguments in calls().items():
        options, slices = over_mesh, halves(name, arguments)
        if name == "evaluate_embeddings":  # global arrays say how they are cut
            options, relevant = {}, arguments["relevant"]
            arguments |= {
                "queries": put(mesh, arguments["queries"], "q"),
                "items": put(mesh, arguments["items"], "i"),
                "relevant": jrm.by_attributes(
                    same_class,
                    put(mesh, relevant.query_attributes, "q"),
                    put(mesh, relevant.item_attributes, "i"),
                ),
            }
        evaluation = evaluate(name, arguments, **options)
        arrays = numbers(evaluation)
        np.savez(folder / f"{name}-{NUMBER}.npz", **arrays)
        with jax.set_mesh(mesh):
            within = numbers(evaluate(name, arguments, **options))
            alone = numbers(evaluate(name, calls()[name]))  # each process by itself
        parts = [evaluate(name, part, **over_mesh) for part in slices]
        joined = numbers(parts[0].merge(parts[1]))
        for key, value in arrays.items():
            np.testing.assert_array_equal(within[key], value, err_msg=key)
            np.testing.assert_allclose(alone[key], value, 1e-6, err_msg=key)
            np.testing.assert_allclose(joined[key], value, 1e-6, err_msg=key)
        totals = jrm.merge(*(x.states for x in parts))
        for metric in METRICS:
            np.testing.assert_allclose(totals[metric].compute(), arrays[metric], 1e-6)


if __name__ == "__main__":
    main()
