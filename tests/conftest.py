"""Strict JAX for every test, eight virtual devices, and the option `--metric`."""

import contextlib
import gc
import itertools
import os
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

# A virtual device that waits for others holds a thread. By default there are only as many
# threads as cores or devices, so steps that were dispatched ahead could deadlock.
os.environ.setdefault("PJRT_NPROC", "32")
# Tracing makes many small objects that live on, which the collector would walk again and
# again: a tenth of the time of most tests.
gc.set_threshold(100_000, 50, 50)
jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

import cases  # noqa: E402  (after the flags)

from jax_rank_metrics._metrics.metric import NAMES  # noqa: E402
from jax_rank_metrics._ordering import top_k  # noqa: E402

# Test modules that walk through the tables of tests/cases.py.
OF_ALL_METRICS = ("test_values", "test_laws", "test_layouts", "test_brute_force")


def pytest_addoption(parser):
    """Adds `--metric NAME`."""
    parser.addoption("--metric", help="run the values, laws and layouts of one metric")


def pytest_configure(config):
    """Reduces the tables to the cases of the chosen metric, before tests read them."""
    name = config.getoption("--metric")
    if name is None:
        return
    metric = NAMES.get(name.lower())
    chosen = {key: case for key, case in cases.CASES.items() if case.metric is metric}
    if not chosen:
        known = sorted({case.metric.__name__ for case in cases.CASES.values()})
        raise pytest.UsageError(f"--metric {name}: no cases; there are {known}")
    cases.keep_only(chosen)


def pytest_collection_modifyitems(config, items):
    """Deselects the tests that are not about the chosen metric."""
    if config.getoption("--metric") is None:
        return
    selected = [item for item in items if item.path.stem in OF_ALL_METRICS]
    config.hook.pytest_deselected(
        items=[item for item in items if item.path.stem not in OF_ALL_METRICS]
    )
    items[:] = selected


@pytest.fixture
def rng(request):
    """A generator of random inputs that are the same in every run of a test."""
    name = request.node.nodeid.encode()
    return np.random.default_rng(list(name))


@pytest.fixture
def metric_names(monkeypatch):
    """The names of metrics; those that a test adds vanish when it ends."""
    known = dict(NAMES)
    monkeypatch.setattr("jax_rank_metrics._metrics.metric.NAMES", known)
    monkeypatch.setattr("jax_rank_metrics._calls.names.NAMES", known)
    return known


@pytest.fixture
def compilations():
    """A list that grows by an entry for each program that XLA compiles."""
    names = []

    def listen(name, *_, **__):
        if name == "/jax/core/compile/backend_compile_duration":
            names.append(name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    jax.monitoring.clear_event_listeners()


@pytest.fixture
def compiled_with(monkeypatch):
    """Sets a constant that tracing reads, and drops the programs compiled with it."""

    @contextlib.contextmanager
    def force(module, name, value):
        try:
            with monkeypatch.context() as patch:
                patch.setattr(module, name, value)
                jax.clear_caches()
                yield
        finally:
            jax.clear_caches()

    return force


@pytest.fixture
def lowering(compiled_with):
    """Forces one way of ordering: "top_k" at any depth, or "sort"."""

    def force(name):
        share = {"top_k": 1.0, "sort": -1.0}[name]
        return compiled_with(top_k, "TOP_K_SHARE", share)

    return force


# Linux lets a process map 65,530 regions of memory. Each compiled program maps several, and
# XLA crashes where it gets no more.
MAX_MEMORY_MAPS = 25_000
FINISHED_TESTS = itertools.count(1)


def pytest_runtest_logfinish():
    """Drops the compiled programs of this process before their memory maps run out."""
    maps = Path("/proc/self/maps")
    if next(FINISHED_TESTS) % 10 == 0 and maps.exists():
        if maps.read_bytes().count(b"\n") > MAX_MEMORY_MAPS:
            jax.clear_caches()
            gc.collect()


# Modules whose tests share no compiled programs.
INDEPENDENT = ("test_meshes", "test_compilation", "test_layouts", "test_drivers")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keeps tests that share compilations on one worker, under `--dist loadgroup`.

    Groups go by test names, since pytest 9.2 rejects the group marks of pytest-xdist 3.8.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file, _, test = nodeid.partition("::")
            if file.endswith("test_laws.py"):
                return file + (test.partition("[")[2] or "top-k]")
            return nodeid if Path(file).stem in INDEPENDENT else file

    return Together(config, log)
