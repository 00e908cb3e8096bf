"""The same lists on any devices, in any batches and processes: the same numbers."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import processes
import pytest
import recipes
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import jax_rank_metrics as jrm

METRICS = ("ndcg@10", "map", "recall@1,5")
LISTS, ITEMS = 10_000, 30
WORKER = Path(__file__).with_name("distributed_worker.py")


def make_mesh(devices, kind=None):
    """A mesh of the first devices, with axes of a kind or of JAX's default."""
    kinds = {} if kind is None else {"axis_types": (kind,)}
    return jax.make_mesh(
        (devices,), ("data",), devices=jax.devices()[:devices], **kinds
    )


def put(mesh, arrays):
    """Arrays sharded over their lists."""
    return jax.device_put(arrays, NamedSharding(mesh, P("data")))


def split(arrays, devices):
    """Arrays with a leading axis of devices."""
    return tuple(x.reshape(devices, -1, *x.shape[1:]) for x in arrays)


@pytest.fixture(scope="module")
def data():
    """Ragged lists, some of them empty, with tied scores and item weights."""
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
    """A single call on one device."""
    return numbers(jrm.evaluate(METRICS, *data))


def numbers(states):
    """What a user reads off states."""
    return {
        name: {
            "mean": state.compute(),
            "error": state.std_error(),
            "lists": state.lists,
            "undefined": state.undefined,
        }
        for name, state in states.items()
    }


def check_same(found, expected):
    """Means and standard errors within 1e-6, and the same counts."""
    assert set(found) == set(expected)
    for name, metric in expected.items():
        for number in ("mean", "error"):
            one, two = (np.asarray(x[name][number]) for x in (found, expected))
            np.testing.assert_allclose(one, two, rtol=1e-6, err_msg=f"{name} {number}")
        assert found[name]["lists"] == metric["lists"]
        assert found[name]["undefined"] == metric["undefined"]


def test_the_lists_are_worth_a_test(data, expected):
    """Some are undefined, some are empty, and ties, weights and masks all matter."""
    lists, undefined = expected["map"]["lists"], expected["map"]["undefined"]
    assert 9000 < lists < LISTS and 500 < undefined < 5000
    assert np.mean([len(set(row[~np.isnan(row)])) < 10 for row in data[1]]) > 0.3


@pytest.mark.parametrize(
    ("devices", "size"), [(8, 64), pytest.param(2, 7, marks=pytest.mark.long)]
)
def test_scan(devices, size, data, expected):
    """Small batches, as many as it takes, on each device."""
    mesh = make_mesh(devices)
    step = devices * size
    arrays = recipes.pad(data, -(-LISTS // step) * step)
    run = recipes.by_scan(METRICS, mesh, size)
    check_same(numbers(run(put(mesh, arrays), None)), expected)


@pytest.mark.long
@pytest.mark.parametrize(
    ("devices", "kind", "size"),
    [(8, AxisType.Explicit, LISTS), (8, AxisType.Auto, 4096)],
    ids=str,
)
def test_jit(devices, kind, size, data, expected):
    """The plain call, on all lists at once or with a padded last batch."""
    mesh = make_mesh(devices, kind)
    found = recipes.by_jit(METRICS, mesh, recipes.cut(data, size))
    check_same(numbers(found), expected)


def test_shard_map(data, expected):
    """One all-reduce per batch."""
    mesh = make_mesh(8)
    step = recipes.by_shard_map(METRICS, mesh)
    states = [step(put(mesh, batch), None) for batch in recipes.cut(data, 4096)]
    check_same(numbers(jrm.merge(*states)), expected)


@pytest.fixture(scope="module")
def batch_states(data):
    """The state of every batch of 64, as a list."""
    batches = [
        x.reshape(-1, 64, *x.shape[1:]) for x in recipes.pad(data, -(-LISTS // 64) * 64)
    ]
    measure = jax.jit(
        lambda xs: jax.lax.map(lambda batch: jrm.evaluate(METRICS, *batch), xs)
    )
    stacked = jax.device_get(measure(batches))
    return [jax.tree.map(lambda x, i=i: x[i], stacked) for i in range(len(batches[0]))]


def tree_merge(states):
    """Merges neighbours until one is left."""
    while len(states) > 1:
        states = [jrm.merge(*states[i : i + 2]) for i in range(0, len(states), 2)]
    return states[0]


def test_order_of_merging(batch_states, expected, rng):
    """States of batches, merged in any order and any grouping."""
    states = list(batch_states)
    check_same(numbers(jrm.merge(*states)), expected)
    rng.shuffle(states)
    check_same(numbers(tree_merge(states)), expected)


# Lists that each of the two processes holds.
HELD = (6123, 3877)


@pytest.fixture(scope="module")
def of_processes(data, tmp_path_factory):
    """What two processes of two devices each find together, from uneven shares."""
    folder, port = tmp_path_factory.mktemp("processes"), processes.free_port()
    arguments = []
    for number, end in enumerate(np.cumsum(HELD)):
        lists = folder / f"{number}.npz"
        np.savez(lists, *(x[end - HELD[number] : end] for x in data))
        own = (port, len(HELD), number, json.dumps(METRICS), "[256, 8000]", lists)
        arguments.append([WORKER, *own])
    first, _ = processes.together(arguments, folder)
    # Libraries may print lines of their own before it.
    return json.loads(first.splitlines()[-1])


@pytest.mark.long
@pytest.mark.parametrize("size", [256, 8000])
def test_processes(size, of_processes, expected):
    """Each feeds its own lists; the one that runs out goes on with masked lists."""
    assert of_processes["devices"] == 4
    assert of_processes["lists here"] == HELD[0] > HELD[1]
    check_same(of_processes[str(size)], expected)


# Identical lists of constant scores: random ties are all that differs.
GROUPS, IN_GROUP = 16, 100
TIED = ("mrr@10",)


def tied_lists(group=None):
    """Two groups of lists for each of eight devices; one counts, or all."""
    shape = (GROUPS * IN_GROUP, ITEMS)
    labels = np.tile(np.arange(ITEMS) == 4, (shape[0], 1))
    groups = np.arange(shape[0]) // IN_GROUP
    weights = (groups == (groups if group is None else group)).astype(np.float32)
    return labels, np.zeros(shape, np.float32), np.ones(shape, bool), weights


@pytest.fixture(scope="module")
def expected_ties():
    """The mean over all orders of ties, without a key."""
    return jrm.evaluate(TIED, *tied_lists())["mrr@10"].compute()


def check_ties(found, expected):
    """Every group drew its own ties, and each agrees with their expectation."""
    means, errors = (
        np.asarray([one[name] for one in found]) for name in ("mean", "error")
    )
    assert len(set(means.tolist())) == len(means)
    assert (errors > 0).all() and (np.abs(means - expected) <= 5 * errors).all()


def by_jit(mesh):
    """`recipes.by_jit`, called as the others."""
    return lambda batch, key: recipes.by_jit(TIED, mesh, [batch], key)


def by_pmap(mesh):
    """`recipes.by_pmap`, called as the others: one key is split for the devices."""
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
    """Independent across devices, and on one device from list to list."""
    kind, make = WAYS[way]
    mesh, key = make_mesh(8, kind), jax.random.key(4)
    run = make(mesh)

    def evaluate(lists):
        return numbers(run(lists if way == "pmap" else put(mesh, lists), key))["mrr@10"]

    groups = [evaluate(tied_lists(group)) for group in range(GROUPS)]
    check_ties(groups, expected_ties)
    whole = evaluate(tied_lists())
    check_ties([whole], expected_ties)
    mean = np.mean([group["mean"] for group in groups])
    np.testing.assert_allclose(whole["mean"], mean, rtol=1e-6)


@pytest.mark.long
def test_random_ties_of_batches():
    """Two batches of a loop that are alike have ties of their own."""
    mesh, key = make_mesh(8, AxisType.Explicit), jax.random.key(4)
    one, two = (
        recipes.by_jit(TIED, mesh, [tied_lists()] * batches, key)["mrr@10"]
        for batches in (1, 2)
    )
    assert two.lists == 2 * one.lists and two.compute() != one.compute()


@pytest.mark.long
def test_random_ties_of_auto_meshes():
    """Where the compiler divides the work, the ties are those of one device."""
    key = jax.random.key(4)
    mesh = make_mesh(8, AxisType.Auto)
    found = recipes.by_jit(TIED, mesh, [tied_lists()], key)
    one_device = jrm.evaluate(TIED, *tied_lists(), key=jax.random.fold_in(key, 0))
    check_same(numbers(found), numbers(one_device))


def test_one_key_on_all_devices_of_shard_map():
    """Why the recipe folds the device into the key: ties would repeat."""
    mesh, key = make_mesh(8), jax.random.key(4)

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=P("data"), out_specs=P("data"))
    def means(*batch):
        return jrm.evaluate(TIED, *batch, key=key)["mrr@10"].compute()[None]

    assert len(set(means(*put(mesh, tied_lists())).tolist())) == 1


@pytest.mark.long
def test_random_ties_of_processes(of_processes, expected_ties):
    """No two devices of any process draw alike; the plain call works there too."""
    ties = of_processes["ties"]
    check_ties(ties["alone"], expected_ties)
    assert [device["lists"] for device in ties["alone"]] == [100] * 4
    check_ties([ties["plain"]], expected_ties)
    assert ties["plain"]["lists"] == 400


def carried_on(step):
    """Evaluates new lists on eight devices, given states that are equal on all of them."""
    mesh = jax.make_mesh((8,), ("data",))
    local = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
    carried = {"mrr": jrm.Mean.of(jnp.ones(29), jnp.ones(29), jnp.ones(29, bool))}
    labels = jnp.tile(jnp.array([[0.0, 1.0]]), (8, 1))
    labels = jax.device_put(labels, NamedSharding(mesh, P("data")))
    return jax.jit(local)(carried, labels)["mrr"]


def test_carried_states_count_once():
    """all_reduce comes before the merge; the other order would count them on each device."""
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
