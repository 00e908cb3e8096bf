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
# Most of the time of these tests goes into compiling, and half of that into LLVM's
# optimisations. Set XLA_FLAGS, if only to nothing, to have programs as users have them.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

from cases import POLICIES  # noqa: E402  (after the flags, as the next)

from jax_rank_metrics import _ordering  # noqa: E402


@pytest.fixture(params=POLICIES, ids=str)
def ties(request):
    """Every tie policy; None is the default without a key."""
    return request.param


@pytest.fixture
def rng(request):
    """Random inputs, the same in every run of one test."""
    name = request.node.nodeid.encode()
    return np.random.default_rng(list(name))


@pytest.fixture
def lowering():
    """Forces one way to order: "top_k" for any depth, or "sort"."""

    @contextlib.contextmanager
    def force(name):
        share = _ordering.TOP_K_SHARE
        _ordering.TOP_K_SHARE = {"top_k": 1.0, "sort": -1.0}[name]
        jax.clear_caches()
        try:
            yield
        finally:
            _ordering.TOP_K_SHARE = share
            jax.clear_caches()

    return force


def pytest_collection_modifyitems(items):
    """Keeps together, under `--dist loadgroup`, tests that share compilations."""
    for item in items:
        group = item.path.stem
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if group in ("test_laws", "test_platforms"):
            # The default reads the closed forms that "expected" does, and orders by a hash
            # for metrics that have none. Whole lists differ in their ordering alone.
            ks = parameters.get("ks", ())
            if parameters.get("ties") is not None or None in ks:
                item.add_marker(pytest.mark.long)
            group = f"{group}-{ks}-{parameters.get('ties')}"
        if group not in ("test_meshes", "test_compilation", "test_layouts"):
            item.add_marker(pytest.mark.xdist_group(group))
