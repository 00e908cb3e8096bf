"""The same lists give the same numbers on any devices, in any batches and processes."""

import csv
import io
import json
from pathlib import Path

import jax
import numpy as np
import processes
import pytest
import recipes
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import jax_rank_metrics as jrm

METRICS = ("ap@10", "recall@1,5")
LISTS, ITEMS = 10_000, 30
WORKER = Path(__file__).with_name("distributed_worker.py")


def make_mesh(devices, kind=None):
    """Makes a mesh of the first devices, with axes of one kind or of the default kind."""
    kinds = {} if kind is None else {"axis_types": (kind,)}
    return jax.make_mesh(
        (devices,), ("data",), devices=jax.devices()[:devices], **kinds
    )


def put(mesh, arrays):
    """Shards arrays over their lists."""
    return jax.device_put(arrays, NamedSharding(mesh, P("data")))


def split(arrays, devices):
    """Adds a leading axis of devices to arrays."""
    return tuple(x.reshape(devices, -1, *x.shape[1:]) for x in arrays)


@pytest.fixture(scope="module")
def data():
    """Draws ragged lists, some of them empty, with tied scores and item weights."""
    rng = np.random.default_rng(3)
    shape = (LISTS, ITEMS)
    labels = rng.choice([0, 0, 0, 0, 0, 0, 1, 2], shape).astype(np.float32)
    scores = np.round(rng.normal(size=shape) * 4).astype(np.float32)
    mask = np.arange(ITEMS) < rng.integers(0, ITEMS + 1, (LISTS, 1))
    scores[~mask] = np.nan
    weights = rng.gamma(2, size=shape).astype(np.float32)
    return labels, scores, mask, weights


@pytest.fixture(scope="module")
def expected(data):
    """The numbers of a single call on one device."""
    return numbers(jrm.evaluate(METRICS, *data))


def numbers(states):
    """The numbers that a user reads from states."""
    return {
        name: {
            "mean": state.compute(),
            "error": state.std_error(),
            "lists": state.lists,
            "undefined": state.undefined,
        }
        for name, state in states.items()
    }


def check_same(actual, expected):
    """Checks that means and standard errors agree within 1e-6, and counts exactly."""
    assert set(actual) == set(expected)
    for name, metric in expected.items():
        for number in ("mean", "error"):
            first, second = (np.asarray(x[name][number]) for x in (actual, expected))
            np.testing.assert_allclose(
                first, second, rtol=1e-6, err_msg=f"{name} {number}"
            )
        assert actual[name]["lists"] == metric["lists"]
        assert actual[name]["undefined"] == metric["undefined"]


@pytest.mark.long
def test_shard_map(data, expected):
    """Every batch ends with an all-reduce."""
    mesh = make_mesh(8)
    step = recipes.by_shard_map(METRICS, mesh)
    states = [step(put(mesh, batch), None) for batch in recipes.cut(data, 4096)]
    check_same(numbers(jrm.merge(*states)), expected)


# The number of lists that each of the two processes holds.
HELD = (6123, 3877)


@pytest.fixture(scope="module")
def of_processes(data, tmp_path_factory):
    """The output of two processes with two devices each, which hold uneven shares."""
    folder, port = tmp_path_factory.mktemp("processes"), processes.free_port()
    arguments = []
    for number, end in enumerate(np.cumsum(HELD)):
        lists = folder / f"{number}.npz"
        np.savez(lists, *(x[end - HELD[number] : end] for x in data))
        command_line = (
            port,
            len(HELD),
            number,
            json.dumps(METRICS),
            "[256, 8000]",
            lists,
        )
        arguments.append([WORKER, *command_line])
    first, _ = processes.together(arguments, folder)
    # Libraries may print lines before it.
    return json.loads(first.splitlines()[-1])


@pytest.mark.long
@pytest.mark.parametrize("size", [256, 8000])
def test_processes(size, of_processes, expected):
    """Each process feeds its lists; one that runs out continues with masked lists."""
    assert of_processes["devices"] == 4
    assert of_processes["lists here"] == HELD[0] > HELD[1]
    check_same(of_processes[str(size)], expected)


# Identical lists of constant scores, which differ only in their random ties.
GROUPS, IN_GROUP = 16, 100
TIED = ("mrr@10",)


def tied_lists(group=None):
    """Makes two groups of lists for each of eight devices; one group counts, or all."""
    shape = (GROUPS * IN_GROUP, ITEMS)
    labels = np.tile(np.arange(ITEMS) == 4, (shape[0], 1))
    groups = np.arange(shape[0]) // IN_GROUP
    weights = (groups == (groups if group is None else group)).astype(np.float32)
    return labels, np.zeros(shape, np.float32), np.ones(shape, bool), weights


@pytest.fixture(scope="module")
def expected_ties():
    """The mean over all orders of ties, without a key."""
    return jrm.evaluate(TIED, *tied_lists())["mrr@10"].compute()


def check_ties(actual, expected):
    """Checks that groups drew different ties, and that each agrees with the expectation."""
    means, errors = (
        np.asarray([group[name] for group in actual]) for name in ("mean", "error")
    )
    assert len(set(means.tolist())) == len(means)
    assert (errors > 0).all() and (np.abs(means - expected) <= 5 * errors).all()


def by_jit(mesh):
    """Adapts `recipes.by_jit` to the signature that all recipes share here."""
    return lambda batch, key: recipes.by_jit(TIED, mesh, [batch], key)


def by_pmap(mesh):
    """Adapts `recipes.by_pmap`: one key is split for the devices."""
    step = recipes.by_pmap(TIED)
    return lambda batch, key: step(split(batch, 8), jax.random.split(key, 8))


WAYS = {
    "jit, Explicit": (AxisType.Explicit, by_jit),
    "shard_map": (None, lambda mesh: recipes.by_shard_map(TIED, mesh)),
    "scan": (None, lambda mesh: recipes.by_scan(TIED, mesh, IN_GROUP)),
    "pmap": (None, by_pmap),
}


@pytest.mark.long
@pytest.mark.parametrize("way", list(WAYS))
def test_random_ties(way, expected_ties):
    """Ties are independent between devices, and between the lists of a device."""
    kind, make = WAYS[way]
    mesh, key = make_mesh(8, kind), jax.random.key(4)
    run = make(mesh)

    def evaluate(lists):
        return numbers(run(lists if way == "pmap" else put(mesh, lists), key))["mrr@10"]

    groups = [evaluate(tied_lists(group)) for group in range(GROUPS)]
    check_ties(groups, expected_ties)
    all_lists = evaluate(tied_lists())
    check_ties([all_lists], expected_ties)
    mean = np.mean([group["mean"] for group in groups])
    np.testing.assert_allclose(all_lists["mean"], mean, rtol=1e-6)


@pytest.mark.long
def test_random_ties_of_batches():
    """Two equal batches of a loop draw different ties."""
    mesh, key = make_mesh(8, AxisType.Explicit), jax.random.key(4)
    first, second = (
        recipes.by_jit(TIED, mesh, [tied_lists()] * batches, key)["mrr@10"]
        for batches in (1, 2)
    )
    assert second.lists == 2 * first.lists and second.compute() != first.compute()


@pytest.mark.long
def test_random_ties_of_auto_meshes():
    """Where the compiler divides the work, the ties are those of one device."""
    key = jax.random.key(4)
    mesh = make_mesh(8, AxisType.Auto)
    actual = recipes.by_jit(TIED, mesh, [tied_lists()], key)
    one_device = jrm.evaluate(TIED, *tied_lists(), key=jax.random.fold_in(key, 0))
    check_same(numbers(actual), numbers(one_device))


def test_one_key_on_all_devices_of_shard_map():
    """Without folding the device into the key, ties repeat on every device."""
    mesh, key = make_mesh(8), jax.random.key(4)

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=P("data"), out_specs=P("data"))
    def means(*batch):
        return jrm.evaluate(TIED, *batch, key=key)["mrr@10"].compute()[None]

    assert len(set(means(*put(mesh, tied_lists())).tolist())) == 1


@pytest.mark.long
def test_random_ties_of_processes(of_processes, expected_ties):
    """All devices of all processes draw different ties; the plain call works too."""
    ties = of_processes["ties"]
    check_ties(ties["alone"], expected_ties)
    assert [device["lists"] for device in ties["alone"]] == [100] * 4
    check_ties([ties["plain"]], expected_ties)
    assert ties["plain"]["lists"] == 400
    (row,) = csv.DictReader(io.StringIO(ties["table"]))
    assert float(row["mean"]) == pytest.approx(ties["plain"]["mean"], rel=1e-6)


def carried_on(step):
    """Evaluates new lists on eight devices, given states that are equal on all of them."""
    mesh = jax.make_mesh((8,), ("data",))
    local = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
    ones = np.ones(29, np.float32)
    carried = {"mrr": jrm.Mean.of(ones, ones, ones > 0)}
    labels = np.tile(np.float32([0, 1]), (8, 1))
    labels = jax.device_put(labels, NamedSharding(mesh, P("data")))
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
    first = carried_on(
        lambda old, y: jrm.all_reduce(
            jrm.merge(jrm.empty("mrr", "data"), new(y)), "data"
        )
    )
    assert first.lists == 8
