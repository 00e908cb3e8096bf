"""States survive a stop: saved in the middle, an evaluation goes on as if unbroken."""

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import orbax.checkpoint as ocp
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import jax_rank_metrics as jrm

METRICS = ("ndcg@10", "map", "recall(rel=2)@1,5")
BATCHES = 12
STOP = 7  # batches done when the evaluation stops


def save_pickle(path, tree):
    """Any pytree of states is picklable as it is."""
    path.write_bytes(pickle.dumps(tree))


def load_pickle(path, like):
    """Needs nothing but the file; `like` is for the other formats."""
    return pickle.loads(path.read_bytes())


def save_npz(path, tree):
    """One array per leaf, under the leaf's place in the tree."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    with path.open("wb") as file:  # given a name, NumPy may append a suffix
        np.savez(file, **{jax.tree_util.keystr(place): x for place, x in leaves})


def load_npz(path, like):
    """Puts the arrays into the structure of `like`; a missing one is a KeyError."""
    with np.load(path) as arrays:
        return jax.tree_util.tree_map_with_path(
            lambda place, _: arrays[jax.tree_util.keystr(place)], like
        )


def save_orbax(path, tree):
    """Written in the background, and waited for at the end of the block."""
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, tree, force=True)


def load_orbax(path, like):
    """Into the structure, dtypes and devices of `like`."""
    with ocp.StandardCheckpointer() as checkpointer:
        return checkpointer.restore(path, like)


class Format(NamedTuple):
    """One way to keep a pytree in a file or folder."""

    save: Callable[[Any, Any], None]
    load: Callable[[Any, Any], Any]


FORMATS = {
    "pickle": Format(save_pickle, load_pickle),
    "npz": Format(save_npz, load_npz),
    "orbax": Format(save_orbax, load_orbax),
}


@pytest.fixture(params=FORMATS)
def form(request):
    """Every way to save."""
    return FORMATS[request.param]


def evaluate_with_checkpoints(metrics, batches, folder, form, every, key):
    """Goes on from the last checkpoint in a folder, if there is one."""
    saved = [int(path.name) for path in folder.iterdir() if path.name.isdecimal()]
    done, states = max(saved, default=0), jrm.empty(metrics)
    if done:
        states = form.load(folder / str(done), states)
    for number, batch in enumerate(batches, 1):
        if number <= done:
            continue
        # Ties depend on the batch's number alone, not on where the loop was resumed.
        own = jax.random.fold_in(key, number)
        states = jrm.merge(states, jrm.evaluate(metrics, *batch, key=own))
        if number % every == 0:
            # Renamed once whole: a stop while writing leaves the one before.
            form.save(folder / "unfinished", states)
            (folder / "unfinished").rename(folder / str(number))
    return states


@pytest.fixture(scope="module")
def batches():
    """Ragged lists with tied scores and item weights, in batches of one shape."""
    rng = np.random.default_rng(5)
    shape = (BATCHES, 24, 30)
    labels = rng.choice([0, 0, 0, 1, 2], shape).astype(np.float32)
    scores = np.round(rng.normal(size=shape) * 4).astype(np.float32)
    mask = np.arange(30) < rng.integers(0, 31, shape[:2])[..., None]
    weights = rng.gamma(2, size=shape).astype(np.float32)
    return list(zip(labels, scores, mask, weights, strict=True))


def after(batches, states):
    """Merges more batches into states."""
    for batch in batches:
        states = jrm.merge(states, jrm.evaluate(METRICS, *batch))
    return states


@pytest.fixture(scope="module")
def halfway(batches):
    """States in the middle, whose lower floats are in use (not so in float64)."""
    states = after(batches[:STOP], jrm.empty(METRICS))
    used = all(np.all(state.sum_wv.low != 0) for state in states.values())
    assert used or jax.config.jax_enable_x64
    return states


@pytest.fixture(scope="module")
def unbroken(batches, halfway):
    """States of the whole evaluation, which nothing has interrupted."""
    return after(batches[STOP:], halfway)


def check_same_bits(found, expected):
    """Every leaf; the numbers computed from them on other devices are close."""
    assert set(found) == set(expected)
    for name, state in expected.items():
        for one, two in zip(*map(jax.tree.leaves, (found[name], state)), strict=True):
            assert one.dtype == two.dtype
            np.testing.assert_array_equal(np.asarray(one), np.asarray(two))
        for number in ("compute", "std_error"):
            one, two = (getattr(x, number)() for x in (found[name], state))
            np.testing.assert_allclose(one, two, rtol=1e-6)


def check_close(found, expected):
    """Means and errors to 1e-6, counts exactly."""
    assert set(found) == set(expected)
    for name, state in expected.items():
        for number in ("compute", "std_error"):
            one, two = (getattr(x, number)() for x in (found[name], state))
            np.testing.assert_allclose(one, two, rtol=1e-6)
        assert found[name].lists == state.lists
        assert found[name].undefined == state.undefined


def test_resumed_bit_for_bit(form, batches, halfway, unbroken, tmp_path):
    """Saved, restored into the structure of `empty`, and continued."""
    form.save(tmp_path / "states", halfway)
    restored = form.load(tmp_path / "states", jrm.empty(METRICS))
    check_same_bits(restored, halfway)
    check_same_bits(after(batches[STOP:], restored), unbroken)


@pytest.mark.parametrize("name", ["npz", "orbax"])
def test_states_of_other_metrics_are_refused(name, halfway, tmp_path):
    """A checkpoint of one set of metrics is never read as another."""
    FORMATS[name].save(tmp_path / "states", halfway)
    error = {"npz": KeyError, "orbax": ValueError}[name]
    with pytest.raises(error):
        FORMATS[name].load(tmp_path / "states", jrm.empty((*METRICS, "mrr")))


@pytest.fixture
def run(batches, tmp_path):
    """An evaluation that fails on demand; those of one name share checkpoints."""

    def evaluate(name, form, every, start=0, stop=None):
        def source():
            for number, batch in enumerate(batches):
                if number == stop:
                    raise OSError("the disk is gone")
                # Measuring what a checkpoint already holds would fail.
                yield batch if number >= start else None

        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        key = jax.random.key(8)
        return evaluate_with_checkpoints(METRICS, source(), folder, form, every, key)

    return evaluate


@pytest.mark.parametrize("every", [1, 3])
def test_crash(form, every, run):
    """A loop that raises in the middle, then runs again with the same arguments."""
    with pytest.raises(OSError, match="the disk is gone"):
        run("stopped", form, every, stop=STOP)
    resumed = run("stopped", form, every, start=STOP - STOP % every)
    check_same_bits(resumed, run("unbroken", form, every))


@pytest.mark.parametrize("name", ["pickle", "npz"])
def test_crash_while_writing(name, run):
    """Half a checkpoint is not one."""
    form, writes = FORMATS[name], []

    def save_half(path, states):
        form.save(path, states)
        writes.append(path)
        if len(writes) == 2:
            path.write_bytes(path.read_bytes()[:100])
            raise OSError("no space is left")

    with pytest.raises(OSError, match="no space is left"):
        run("stopped", form._replace(save=save_half), every=3)
    resumed = run("stopped", form, every=3, start=3)
    check_same_bits(resumed, run("unbroken", form, every=3))


def on_devices(number):
    """A mesh, and the compiled evaluation of one batch on it."""
    mesh = jax.make_mesh((number,), ("data",), devices=jax.devices()[:number])

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=P("data"), out_specs=P())
    def step(batch):
        return jrm.all_reduce(jrm.evaluate(METRICS, *batch), "data")

    def merge(states, batches):
        for batch in jax.device_put(batches, NamedSharding(mesh, P("data"))):
            states = jrm.merge(states, step(batch))
        return states

    return mesh, merge


@pytest.mark.long
def test_resumed_on_other_devices(batches, unbroken, tmp_path):
    """Saved by eight devices in every format, continued by two."""
    _, merge = on_devices(8)
    first = merge(jrm.empty(METRICS), batches[:STOP])
    assert len(first["map"].sum_wv.high.devices()) == 8
    mesh, merge = on_devices(2)
    for name, form in FORMATS.items():
        form.save(tmp_path / name, first)
        # Orbax restores to the devices of what it restores into.
        like = jax.device_put(jrm.empty(METRICS), NamedSharding(mesh, P()))
        restored = form.load(tmp_path / name, like)
        check_same_bits(restored, first)
        check_close(merge(restored, batches[STOP:]), unbroken)
