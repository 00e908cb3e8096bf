"""Ways to evaluate on many devices, each short enough to paste.

A batch is a tuple of arrays as `jrm.evaluate` takes them: labels, scores, mask and
optionally weights. Meshes have one axis, "data", over which the lists are sharded.

On virtual CPU devices, set the environment variable PJRT_NPROC to several times their
number, or block on every step. With fewer threads than steps in flight, devices that wait
for one another deadlock.
"""

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_rank_metrics as jrm


def pad(batch, lists):
    """Pads a batch to `lists` lists; all items of the added lists are masked."""
    missing = lists - len(batch[0])
    return tuple(np.pad(x, [(0, missing)] + [(0, 0)] * (x.ndim - 1)) for x in batch)


def cut(arrays, size):
    """Yields batches of one size, which compile once; the last batch is padded."""
    for start in range(0, len(arrays[0]), size):
        yield pad([x[start : start + size] for x in arrays], size)


def by_jit(metrics, mesh, batches, key=None):
    """Evaluates with the plain call on sharded arrays.

    One key serves all devices: no two lists of a call share their random ties.
    """
    states = jrm.empty(metrics)
    for step, batch in enumerate(batches):
        batch = jax.device_put(batch, NamedSharding(mesh, P("data")))
        step_key = None if key is None else jax.random.fold_in(key, step)
        states = jrm.merge(states, jrm.evaluate(metrics, *batch, key=step_key))
    return states


def by_shard_map(metrics, mesh):
    """Compiles a step in which each device measures its lists before states are merged.

    Each device folds its index into the key; otherwise all would draw the same ties.
    """

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=(P("data"), P()), out_specs=P())
    def step(batch, key):
        if key is not None:
            key = jax.random.fold_in(key, jax.lax.axis_index("data"))
        return jrm.all_reduce(jrm.evaluate(metrics, *batch, key=key), "data")

    return step


def by_scan(metrics, mesh, size):
    """Compiles a whole evaluation, in which each device scans batches of `size` lists.

    The state is the carry, so the loop costs no dispatch. A key is split such that every
    batch on every device draws its own ties.
    """

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=(P("data"), P()), out_specs=P())
    def run(arrays, key):
        batches = [x.reshape(-1, size, *x.shape[1:]) for x in arrays]
        keys = None
        if key is not None:
            key = jax.random.fold_in(key, jax.lax.axis_index("data"))
            keys = jax.random.split(key, len(batches[0]))

        def step(states, inputs):
            batch, key = inputs
            return jrm.merge(states, jrm.evaluate(metrics, *batch, key=key)), None

        states, _ = jax.lax.scan(step, jrm.empty(metrics, "data"), (batches, keys))
        return jrm.all_reduce(states, "data")

    return run


def by_pmap(metrics):
    """Compiles a step over a leading axis of devices, with one key per device."""

    @jax.pmap
    def step(batch, key):
        return jrm.evaluate(metrics, *batch, key=key)

    return lambda batch, keys: jrm.reduce(step(batch, keys))


def by_process(step, mesh, arrays, size, key=None):
    """Feeds the lists that this process holds, `size` at a time, to `by_shard_map`.

    All processes must take the same number of steps, so those that hold fewer lists
    continue with masked ones. All of them pass the same key.
    """
    list_counts = multihost_utils.process_allgather(np.int32(len(arrays[0])))
    sharding, states = NamedSharding(mesh, P("data")), []
    for number, batch in enumerate(cut(pad(arrays, int(list_counts.max())), size)):
        batch = [jax.make_array_from_process_local_data(sharding, x) for x in batch]
        step_key = None if key is None else jax.random.fold_in(key, number)
        states.append(step(batch, step_key))
    return jrm.merge(*states)
