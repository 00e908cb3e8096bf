"""A process of test_equal_rows: names the calls in which equal items do not tie.

Under "stable", equal items stand in the order of their ids, and the last one is last.
"""

import os

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import jax_rank_metrics as jrm

assert not os.environ.get("XLA_FLAGS"), "compile as users do"
jax.config.update("jax_num_cpu_devices", 8)

ITEMS, DIMS = 50, 40
RNG = np.random.default_rng(0)
QUERIES = RNG.normal(size=(8, DIMS)).astype(np.float32)
EQUAL = np.repeat(RNG.normal(size=(1, DIMS)), ITEMS, axis=0).astype(np.float32)
RELEVANT = np.full((8, 1), ITEMS - 1)
DEVICES = jax.make_mesh((8,), ("q",))
AUTO = jax.make_mesh((8,), ("q",), axis_types=(AxisType.Auto,))
CUT = jax.make_mesh((4, 2), ("q", "i"))

# How items are scored, and the options of the driver. In most of them a product has one query.
# fmt: off
CALLS = {
    "alone": ("dot", {"batch_size": 1}),
    "alone, in blocks": ("l2", {"batch_size": 1, "block_size": 21}),
    "alone, beside a count": ("cosine", {"batch_size": 1, "metrics": ("mrr@2", "mrr")}),
    "one on each device": ("dot", {"batch_size": 8, "mesh": DEVICES, "queries_axis": "q"}),
    "on a mesh": ("l2", {"batch_size": 4, "mesh": CUT, "queries_axis": "q", "items_axis": "i"}),
    "blocks of the host": ("dot", {"batch_size": 1, "block_size": 50, "items": [EQUAL[:9], EQUAL[9:]]}),
    "candidates": ("dot", {"candidates": [range(ITEMS)] * 8}),
    "candidates in pairs": ("l2", {"candidates": [range(ITEMS)] * 8, "batch_size": 2}),
    "candidates on devices": ("dot", {"candidates": [range(ITEMS)] * 8, "batch_size": 8, "mesh": DEVICES, "queries_axis": "q"}),
    "users": ("model", {"batch_size": 1, "block_size": 13}),
    "tokens": ("maxsim", {"batch_size": 1, "block_size": 21}),
    "tokens on devices": ("maxsim", {"batch_size": 8, "mesh": CUT, "queries_axis": "q", "items_axis": "i"}),
    "tokens of candidates": ("maxsim", {"candidates": [range(ITEMS)] * 8}),
}
# fmt: on


def evaluate(similarity, metrics=("mrr@50",), items=EQUAL, **options):
    """Returns the ids found, and the reciprocal ranks of the last item."""
    options |= {"k": ITEMS, "ties": "stable"}
    if similarity == "model":
        found = jrm.evaluate_users(metrics, (QUERIES, items), RELEVANT, **options)
    else:
        options["similarity"], queries = similarity, QUERIES
        if similarity == "maxsim":
            queries = [np.stack([query, -query]) for query in QUERIES]
            items = [np.stack([*[item] * 3, -item]) for item in items]
        found = jrm.evaluate_embeddings(metrics, queries, items, RELEVANT, **options)
    return found.retrieved_ids, found.lists[metrics[-1]].values


def is_tied(items, reciprocal_ranks):
    """True if all items tie."""
    in_order = np.asarray(items) == np.arange(ITEMS)
    return in_order.all() and np.allclose(reciprocal_ranks, 1 / ITEMS)


def rank(query):
    """Ranks the items for one query, `[dims]` or `[1, dims]`."""
    relevant = np.full((*query.shape[:-1], 1), ITEMS - 1)
    ranking = jrm.rank_catalog(query, EQUAL, relevant, k=ITEMS, ties="stable")
    return ranking.items, jrm.reciprocal_rank.of(ranking, k=ITEMS).values


def main():
    """Makes each call, and prints its name if equal items do not tie."""
    for name, (similarity, options) in CALLS.items():
        if not is_tied(*evaluate(similarity, **options)):
            print(name)
    for name, function in (("eager", rank), ("jitted", jax.jit(rank))):
        for queries in (QUERIES, QUERIES[:, None]):
            if not all(is_tied(*function(query)) for query in queries):
                print(f"rank_catalog, {name}, {queries.shape[1:]}")
    # XLA cuts these queries, so that no type says that each device has one.
    queries = jax.device_put(QUERIES, NamedSharding(AUTO, PartitionSpec("q")))
    options = {"k": None, "block_size": 21, "ties": "stable"}
    ranking = jrm.rank_catalog(queries, EQUAL, RELEVANT, **options)
    if not np.allclose(jrm.reciprocal_rank.of(ranking).values, 1 / ITEMS):
        print("rank_catalog, one on each device")


if __name__ == "__main__":
    main()
