"""States survive a stop: an evaluation saved in the middle resumes as if uninterrupted."""

import functools
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from late_imports import LateImport

import jax_rank_metrics as jrm

ocp = LateImport("orbax.checkpoint")

METRICS = ("ndcg@10", "map", "recall(rel=2)@1,5")
BATCHES = 12
STOP = 7  # batches done when the evaluation stops


def save_pickle(path, tree):
    """Pickles any pytree of states as it is."""
    path.write_bytes(pickle.dumps(tree))


def load_pickle(path, like):
    """Reads the file; only the formats below need `like`."""
    return pickle.loads(path.read_bytes())


def save_npz(path, tree):
    """Writes an array per leaf, named by the path of the leaf in the tree."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    with path.open("wb") as file:  # given a name, NumPy may append a suffix
        np.savez(file, **{jax.tree_util.keystr(key): x for key, x in leaves})


def load_npz(path, like):
    """Puts the arrays into the structure of `like`; a missing one is a KeyError."""
    with np.load(path) as arrays:
        return jax.tree_util.tree_map_with_path(
            lambda key, _: arrays[jax.tree_util.keystr(key)], like
        )


def save_orbax(path, tree):
    """Writes in the background, and waits at the end of the block."""
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, tree, force=True)


def load_orbax(path, like):
    """Restores into the structure, dtypes and devices of `like`."""
    with ocp.StandardCheckpointer() as checkpointer:
        return checkpointer.restore(path, like)


class Format(NamedTuple):
    """A way to keep a pytree in a file or folder."""

    save: Callable[[Any, Any], None]
    load: Callable[[Any, Any], Any]


FORMATS = {
    "pickle": Format(save_pickle, load_pickle),
    "npz": Format(save_npz, load_npz),
    "orbax": Format(save_orbax, load_orbax),
}


@pytest.fixture(params=FORMATS)
def form(request):
    """A format, for each in turn."""
    return FORMATS[request.param]


evaluate = jax.jit(functools.partial(jrm.evaluate, METRICS))


def evaluate_with_checkpoints(batches, folder, form, interval, key):
    """Resumes from the last checkpoint in a folder, if there is one."""
    saved = [int(path.name) for path in folder.iterdir() if path.name.isdecimal()]
    done, states = max(saved, default=0), jrm.empty(METRICS)
    if done:
        states = form.load(folder / str(done), states)
    for number, batch in enumerate(batches, 1):
        if number <= done:
            continue
        # Ties depend on the batch's number alone, not on where the loop was resumed.
        key_of_batch = jax.random.fold_in(key, number)
        states = jrm.merge(states, evaluate(*batch, key=key_of_batch))
        if number % interval == 0:
            # Renamed once complete: a crash while writing leaves the previous one.
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
    """Merges further batches into states."""
    for batch in batches:
        states = jrm.merge(states, evaluate(*batch))
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
    """States of an evaluation that was not interrupted."""
    return after(batches[STOP:], halfway)


def check_same_bits(actual, expected):
    """Checks that all leaves are equal, and that numbers computed from them are close."""
    assert set(actual) == set(expected)
    for name, state in expected.items():
        for first, second in zip(
            *map(jax.tree.leaves, (actual[name], state)), strict=True
        ):
            assert first.dtype == second.dtype
            np.testing.assert_array_equal(np.asarray(first), np.asarray(second))
        for number in ("compute", "std_error"):
            first, second = (getattr(x, number)() for x in (actual[name], state))
            np.testing.assert_allclose(first, second, rtol=1e-6)


def check_close(actual, expected):
    """Checks that means and errors agree within 1e-6, and counts exactly."""
    assert set(actual) == set(expected)
    for name, state in expected.items():
        for number in ("compute", "std_error"):
            first, second = (getattr(x, number)() for x in (actual[name], state))
            np.testing.assert_allclose(first, second, rtol=1e-6)
        assert actual[name].lists == state.lists
        assert actual[name].undefined == state.undefined


def test_resumed_bit_for_bit(form, batches, halfway, unbroken, tmp_path):
    """An evaluation restored into the structure of `empty` continues bit for bit."""
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
    """An evaluation that fails on demand; runs of one name share checkpoints."""

    def evaluate_batches(name, form, interval, start=0, stop=None):
        def source():
            for number, batch in enumerate(batches):
                if number == stop:
                    raise OSError("the disk is gone")
                # Measuring what a checkpoint already holds would fail.
                yield batch if number >= start else None

        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        key = jax.random.key(8)
        return evaluate_with_checkpoints(source(), folder, form, interval, key)

    return evaluate_batches


@pytest.mark.parametrize("interval", [1, 3])
def test_crash(form, interval, run):
    """A loop that raised in the middle resumes when it runs again."""
    with pytest.raises(OSError, match="the disk is gone"):
        run("stopped", form, interval, stop=STOP)
    resumed = run("stopped", form, interval, start=STOP - STOP % interval)
    check_same_bits(resumed, run("unbroken", form, interval))


@pytest.mark.parametrize("name", ["pickle", "npz"])
def test_crash_while_writing(name, run):
    """A truncated checkpoint is never read."""
    form, writes = FORMATS[name], []

    def save_half(path, states):
        form.save(path, states)
        writes.append(path)
        if len(writes) == 2:
            path.write_bytes(path.read_bytes()[:100])
            raise OSError("no space is left")

    with pytest.raises(OSError, match="no space is left"):
        run("stopped", form._replace(save=save_half), interval=3)
    resumed = run("stopped", form, interval=3, start=3)
    check_same_bits(resumed, run("unbroken", form, interval=3))


def on_devices(number):
    """Returns a mesh, and a function that merges batches evaluated on it."""
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
    """An evaluation saved by eight devices is continued by two, in every format."""
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
