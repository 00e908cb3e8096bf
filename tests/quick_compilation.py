"""Compiles programs without the optimisations of XLA, which no test of values needs.

Almost all of the time of the tests is spent compiling, and this takes some 40 % of it away.
"""

import importlib.metadata
import os
import subprocess
import sys

FLAGS = ("--xla_backend_optimization_level=0", "--xla_cpu_use_fusion_emitters=false")


def switch_on(cache):
    """Sets `XLA_FLAGS` for this process and those that it starts, if they are not set.

    XLA aborts at a flag that it does not know, and knows other flags in each version. A
    process finds out once for each version; the cache of pytest keeps the answer.
    """
    if "XLA_FLAGS" in os.environ:
        return
    key = f"quick_compilation/{importlib.metadata.version('jaxlib')}"
    flags = cache.get(key, None)
    if flags is None:
        flags = [flag for flag in FLAGS if is_known(flag)]
        cache.set(key, flags)
    os.environ["XLA_FLAGS"] = " ".join(flags)


def is_known(flag):
    """Whether a process that starts XLA with this flag comes to its end."""
    program = [sys.executable, "-c", "import jax; jax.devices('cpu')"]
    environment = os.environ | {"XLA_FLAGS": flag}
    return subprocess.run(program, env=environment, capture_output=True).returncode == 0
