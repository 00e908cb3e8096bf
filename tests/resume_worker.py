"""A process of test_resume: evaluates slices of queries, and continues after a kill."""

import signal
import sys

import jax
import numpy as np
from late_imports import LateImport

import jax_rank_metrics as jrm

ocp = LateImport("orbax.checkpoint")

NAMES = ("ndcg@3", "map", "recall@1,5")
QUERIES, SIZE = 60, 10


def call(rows=slice(None)):
    """Evaluates some of the queries."""
    rng = np.random.default_rng(2)
    queries, items = (rng.normal(size=(n, 4)).astype(np.float32) for n in (QUERIES, 50))
    relevant = rng.integers(0, 50, (QUERIES, 2))
    return jrm.evaluate_embeddings(NAMES, queries[rows], items, relevant[rows])


def main(folder, killed_at):
    """Saves the states after each slice; is killed as one is saved."""
    with ocp.CheckpointManager(folder) as manager:
        states, done = jrm.empty(NAMES), manager.latest_step() or 0
        if done:
            states = manager.restore(done, args=ocp.args.StandardRestore(states))
        print(done, flush=True)
        for start in range(done, QUERIES, SIZE):
            states = jrm.merge(states, call(slice(start, start + SIZE)).states)
            manager.save(start + SIZE, args=ocp.args.StandardSave(states))
            if start + SIZE == killed_at:  # in the middle of saving it
                signal.raise_signal(signal.SIGKILL)
            manager.wait_until_finished()
    print(
        *(float(x) for x in jax.tree.leaves(jrm.compute(states)) for x in np.ravel(x))
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
