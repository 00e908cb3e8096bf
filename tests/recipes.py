"""Ways to evaluate on many devices, each short enough to paste.

A batch is a tuple of arrays as `jrm.evaluate` takes them, here with a mask: labels,
scores, mask and, if wanted, weights. Meshes have one axis, "data", over which the lists
are divided.

On virtual CPU devices, set the environment variable PJRT_NPROC to several times their
number, or wait for every step: with too few threads for the steps under way, devices
that wait for one another may wait for ever.
"""

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_rank_metrics as jrm


def pad(batch, lists):
    """Adds lists until there are `lists` of them; all their items are masked."""
    more = lists - len(batch[0])
    return tuple(np.pad(x, [(0, more)] + [(0, 0)] * (x.ndim - 1)) for x in batch)


def cut(arrays, size):
    """Batches of one size, which compile once; the last one is padded."""
    for start in range(0, len(arrays[0]), size):
        yield pad([x[start : start + size] for x in arrays], size)


def by_jit(metrics, mesh, batches, key=None):
    """The plain call on sharded arrays.

    One key serves all devices: no two lists of a call share their random ties.
    """
    states = jrm.empty(metrics)
    for number, batch in enumerate(batches):
        batch = jax.device_put(batch, NamedSharding(mesh, P("data")))
        own = None if key is None else jax.random.fold_in(key, number)
        states = jrm.merge(states, jrm.evaluate(metrics, *batch, key=own))
    return states


def by_shard_map(metrics, mesh):
    """A compiled step: every device measures its own lists, then states are merged.

    A key must be made each device's own, or all of them draw the same ties.
    """

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=(P("data"), P()), out_specs=P())
    def step(batch, key):
        if key is not None:
            key = jax.random.fold_in(key, jax.lax.axis_index("data"))
        return jrm.all_reduce(jrm.evaluate(metrics, *batch, key=key), "data")

    return step


def by_scan(metrics, mesh, size):
    """A compiled evaluation of everything: each device scans batches of `size` lists.

    The state is the carry, so the loop costs no dispatch. With a key, every batch of
    every device has one of its own.
    """

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=(P("data"), P()), out_specs=P())
    def run(arrays, key):
        batches = [x.reshape(-1, size, *x.shape[1:]) for x in arrays]
        keys = None
        if key is not None:
            key = jax.random.fold_in(key, jax.lax.axis_index("data"))
            keys = jax.random.split(key, len(batches[0]))

        def step(states, now):
            batch, key = now
            return jrm.merge(states, jrm.evaluate(metrics, *batch, key=key)), None

        states, _ = jax.lax.scan(step, jrm.empty(metrics, "data"), (batches, keys))
        return jrm.all_reduce(states, "data")

    return run


def by_pmap(metrics):
    """A compiled step over a leading axis of devices, with a key for each of them."""

    @jax.pmap
    def step(batch, key):
        return jrm.evaluate(metrics, *batch, key=key)

    return lambda batch, keys: jrm.reduce(step(batch, keys))


def by_process(step, mesh, arrays, size, key=None):
    """Every process feeds the lists that it holds, `size` at a time, to `by_shard_map`.

    All processes must take the same number of steps: those that hold fewer lists go on
    with masked ones. They all pass the same key.
    """
    most = int(multihost_utils.process_allgather(np.int32(len(arrays[0]))).max())
    sharding, states = NamedSharding(mesh, P("data")), []
    for number, batch in enumerate(cut(pad(arrays, most), size)):
        batch = [jax.make_array_from_process_local_data(sharding, x) for x in batch]
        own = None if key is None else jax.random.fold_in(key, number)
        states.append(step(batch, own))
    return jrm.merge(*states)
