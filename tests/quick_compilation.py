"""Compiles programs without the optimisations of XLA, which no test of values needs.

Almost all of the time of the tests is spent compiling, and this takes some 40 % of it away.
"""

import importlib.metadata
import os
import subprocess
import sys

FLAGS = (
    "--xla_backend_optimization_level=0",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",  # each part costs as much as a program
)


def known_flags():
    """Returns the flags that this version of XLA knows; it aborts at others."""
    if are_known(*FLAGS):
        return [*FLAGS]
    return [flag for flag in FLAGS if are_known(flag)]


def are_known(*flags):
    """True if a process that starts XLA with these flags ends without an error."""
    program = [sys.executable, "-c", "import jax; jax.devices('cpu')"]
    environment = os.environ | {"XLA_FLAGS": " ".join(flags)}
    return subprocess.run(program, env=environment, capture_output=True).returncode == 0


def switch_on(cache):
    """Sets `XLA_FLAGS`, unless set, for this process and the processes that it starts.

    The cache of pytest, if it is in use, keeps the flags that each version knows.
    """
    if "XLA_FLAGS" in os.environ:
        return
    key = f"quick_compilation/{importlib.metadata.version('jaxlib')}"
    flags = cache and cache.get(key, None)
    if flags is None:
        flags = known_flags()
        if cache:
            cache.set(key, flags)
    os.environ["XLA_FLAGS"] = " ".join(flags)


if __name__ == "__main__":
    print(*known_flags())
