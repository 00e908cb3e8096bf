"""Random ties on devices and in processes, and states that are carried from step to step."""

import csv
import io
import json
from pathlib import Path

import jax
import numpy as np
import processes
import pytest
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P
from marks import long
from sources import make_mesh, put

import jax_rank_metrics as jrm

WORKER = Path(__file__).with_name("distributed_worker.py")
# Lists of constant scores, 100 on each device, which differ only in their random ties.
DEVICES, IN_GROUP, ITEMS = 8, 100, 30
LABELS = np.tile(np.arange(ITEMS) == 4, (DEVICES * IN_GROUP, 1))
SCORES = np.zeros(LABELS.shape, np.float32)
EXPECTED = (1 / np.arange(1, 11)).sum() / ITEMS  # the mean of 1/rank, up to rank 10


def reciprocal_ranks(lists, key):
    """Measures the lists, whose ties are broken by the key."""
    return jrm.reciprocal_rank.per_list(*lists, key=key, k=10).values


def by_plain_call(kind):
    """Measures on a mesh whose axes are of a kind."""
    mesh = make_mesh((DEVICES,), ("data",), kind)
    return lambda lists, key: reciprocal_ranks(put(mesh, lists, "data"), key)


def by_shard_map(folds):
    """Measures on each device, whose index may be folded into the key."""
    mesh = make_mesh((DEVICES,), ("data",))

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"))
    def local(lists, key):
        if folds:
            key = jax.random.fold_in(key, jax.lax.axis_index("data"))
        return reciprocal_ranks(lists, key)

    return lambda lists, key: local(put(mesh, lists, "data"), key)


WAYS = {
    "one key": by_shard_map(folds=False),
    "folded keys": by_shard_map(folds=True),
    "Explicit": by_plain_call(AxisType.Explicit),
    "Auto": by_plain_call(AxisType.Auto),
}


@pytest.mark.parametrize("way", ["one key", *long(*[*WAYS][1:])])
def test_random_ties(way):
    """Ties are independent between devices, unless one key serves all inside shard_map.

    Ties in the lists of one device are independent in any case. If the compiler divides the
    work, ties are broken as on one device.
    """
    lists, key = (LABELS, SCORES), jax.random.key(4)
    values = np.asarray(WAYS[way](lists, key))
    groups = values.reshape(DEVICES, IN_GROUP)
    assert len(np.unique(groups, axis=0)) == (1 if way == "one key" else DEVICES)
    for group in (*groups, *[values] * (way != "one key")):
        error = group.std() / np.sqrt(group.size)
        assert 0 < abs(group.mean() - EXPECTED) <= 5 * error
    if way == "Auto":
        np.testing.assert_array_equal(values, reciprocal_ranks(lists, key))


@pytest.mark.long
def test_random_ties_of_processes(tmp_path):
    """Two processes of two devices measure global arrays, and make a table of values."""
    port = processes.free_port()
    commands = [[WORKER, port, number] for number in range(2)]
    for output in processes.together(commands, tmp_path):
        # Libraries may print lines before it.
        result = json.loads(output.splitlines()[-1])
        assert result["lists"] == 400
        assert 0 < abs(result["mean"] - EXPECTED) <= 5 * result["error"]
        (row,) = csv.DictReader(io.StringIO(result["table"]))
        assert float(row["mean"]) == pytest.approx(result["mean"], rel=1e-6)


def carried_on(step):
    """Evaluates new lists on eight devices, given states that are equal on all of them."""
    mesh = make_mesh((DEVICES,), ("data",))
    local = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
    ones = np.ones(29, np.float32)
    carried = {"mrr": jrm.Mean.of(ones, ones, ones > 0)}
    labels = put(mesh, np.tile(np.float32([0, 1]), (8, 1)), "data")
    return jax.jit(local)(carried, labels)["mrr"]


@pytest.mark.long
def test_carried_states_count_once():
    """They do if all_reduce comes before the merge; the opposite order raises."""
    new = lambda labels: jrm.evaluate(("mrr",), labels, -labels)  # noqa: E731
    state = carried_on(lambda old, y: jrm.merge(old, jrm.all_reduce(new(y), "data")))
    assert state.lists == 37
    np.testing.assert_allclose(state.compute(), (29 + 8 / 2) / 37, rtol=1e-6)
    for step in (
        lambda old, y: jrm.all_reduce(jrm.merge(old, new(y)), "data"),
        lambda old, y: {"mrr": old["mrr"].merge(new(y)["mrr"])},
        lambda old, y: jrm.all_reduce(jrm.merge(new(y), old), "data"),
    ):
        with pytest.raises(ValueError, match="all_reduce the other state before"):
            carried_on(step)
    with pytest.raises(
        ValueError, match=r"already equal.*at \['old'\].*only the states"
    ):
        carried_on(lambda old, y: jrm.all_reduce({"old": old["mrr"], **new(y)}, "data"))
    with pytest.raises(ValueError, match=r"begin with empty\(metrics, 'data'\)"):
        carried_on(lambda old, y: jrm.merge(jrm.empty("mrr"), new(y)))

    def scanned(old, y):
        add = lambda states, y: (jrm.merge(states, new(y)), None)  # noqa: E731
        states, _ = jax.lax.scan(add, jrm.empty("mrr", "data"), y[None])
        return jrm.all_reduce(states, "data")

    assert carried_on(scanned).lists == 8
