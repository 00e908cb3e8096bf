"""Strict JAX for every test, and eight virtual devices."""

import contextlib
import os
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

# Every virtual device that waits for others holds a thread, and by default there are no
# more threads than cores or devices: steps dispatched ahead may then wait for ever.
os.environ.setdefault("PJRT_NPROC", "32")
jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

from jax_rank_metrics._ordering import top_k  # noqa: E402  (after the flags)


@pytest.fixture
def rng(request):
    """Random inputs, the same in every run of one test."""
    name = request.node.nodeid.encode()
    return np.random.default_rng(list(name))


@pytest.fixture
def compiled_with(monkeypatch):
    """Sets what is read while programs are traced, and keeps none of them."""

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
    """Forces one way to order: "top_k" for any depth, or "sort"."""

    def force(name):
        share = {"top_k": 1.0, "sort": -1.0}[name]
        return compiled_with(top_k, "TOP_K_SHARE", share)

    return force


# Their tests share no programs.
APART = ("test_meshes", "test_compilation", "test_layouts")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keeps together, under `--dist loadgroup`, tests that share compilations.

    By their names: pytest 9.2 does not let the marks of pytest-xdist 3.8 name groups.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file, _, test = nodeid.partition("::")
            if file.endswith("test_laws.py"):
                return file + (test.partition("[")[2] or "top-k]")
            return nodeid if Path(file).stem in APART else file

    return Together(config, log)
