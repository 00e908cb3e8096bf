"""States survive a stop: an evaluation saved in the middle resumes as if uninterrupted."""

import functools
import os
import pickle
import signal
import subprocess
import sys

import chex
import jax
import numpy as np
import pytest
import resume_worker
from evaluations import check_same
from jax.sharding import PartitionSpec as P
from late_imports import LateImport
from sources import put

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


# Ways to save a pytree in a file or folder, and to load it.
FORMATS = {
    "pickle": (save_pickle, load_pickle),
    "npz": (save_npz, load_npz),
    "orbax": (save_orbax, load_orbax),
}


@pytest.fixture(params=FORMATS)
def form(request):
    """A format, for each in turn."""
    return FORMATS[request.param]


evaluate = jax.jit(functools.partial(jrm.evaluate, METRICS))


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


def check_close(actual, expected):
    """Checks that means and errors agree within 1e-6, and counts exactly."""
    assert set(actual) == set(expected)
    for name, state in expected.items():
        for number in ("compute", "std_error"):
            first, second = (getattr(x, number)() for x in (actual[name], state))
            np.testing.assert_allclose(first, second, rtol=1e-6)
        np.testing.assert_array_equal(actual[name].counts, state.counts)


def check_same_bits(actual, expected):
    """Checks that all leaves are equal, and that numbers computed from them are close."""
    chex.assert_trees_all_equal(actual, expected, strict=True)
    check_close(actual, expected)


def test_resumed_bit_for_bit(form, batches, halfway, unbroken, tmp_path):
    """An evaluation restored into the structure of `empty` continues bit for bit."""
    save, load = form
    save(tmp_path / "states", halfway)
    restored = load(tmp_path / "states", jrm.empty(METRICS))
    check_same_bits(restored, halfway)
    check_same_bits(after(batches[STOP:], restored), unbroken)


@pytest.mark.long
def test_killed(tmp_path, capsys):
    """A loop over slices of queries that is killed continues from its saved states."""
    folder, environment = tmp_path / "states", os.environ | {"JAX_PLATFORMS": "cpu"}
    command = [sys.executable, resume_worker.__file__, str(folder), "30"]
    killed = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert killed.returncode == -signal.SIGKILL and killed.stdout == "0\n"
    resume_worker.main(folder, 0)
    done, *means = map(float, capsys.readouterr().out.split())
    assert done in (20, 30)  # the last save is there as a whole, or not at all
    whole = resume_worker.call()
    expected = [float(x) for y in jrm.compute(whole).values() for x in np.ravel(y)]
    np.testing.assert_allclose(sorted(means), sorted(expected), rtol=1e-6)
    parts = [resume_worker.call(slice(i, i + 20)) for i in (0, 20, 40)]
    check_same(pickle.loads(pickle.dumps(parts[0])).merge(*parts[1:]), whole)


def on_devices(number):
    """Returns a mesh, and a function that merges batches evaluated on it."""
    mesh = jax.make_mesh((number,), ("data",), devices=jax.devices()[:number])

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=P("data"), out_specs=P())
    def step(batch):
        return jrm.all_reduce(jrm.evaluate(METRICS, *batch), "data")

    def merge(states, batches):
        for batch in put(mesh, batches, "data"):
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
    for name, (save, load) in FORMATS.items():
        save(tmp_path / name, first)
        # Orbax restores to the devices of the tree that it restores into.
        like = put(mesh, jrm.empty(METRICS))
        restored = load(tmp_path / name, like)
        check_same_bits(restored, first)
        check_close(merge(restored, batches[STOP:]), unbroken)
