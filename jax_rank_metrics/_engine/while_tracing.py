"""Computes constants while another program is traced.

Inside a trace, JAX either stages operations or, under `jax.ensure_compile_time_eval`,
compiles a program for each operation. Here all operations share one program.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
from jax.core import Tracer


def constant(
    function: Callable[..., jax.Array], *arguments: np.ndarray
) -> np.ndarray | None:
    """Returns `function(*arguments)`, computed by a program outside any trace.

    Returns None if the function closes over traced values.
    """
    jaxpr = jax.make_jaxpr(function)(*arguments)
    if any(isinstance(array, Tracer) for array in jaxpr.consts):
        return None
    # Use a fresh thread, because the context of a trace belongs to its thread. The context
    # may hold an abstract mesh, which has no devices, or a mesh of devices that are not
    # here.
    with ThreadPoolExecutor(1) as thread:
        has_x64 = bool(jax.config.jax_enable_x64)  # pyright: ignore
        return thread.submit(_computed, function, arguments, has_x64).result()


def _computed(
    function: Callable[..., jax.Array], arguments: tuple[np.ndarray, ...], has_x64: bool
) -> np.ndarray:
    """Returns `function(*arguments)`, computed by a program on the default device."""
    # Enable jit, because a user may have disabled it for debugging.
    with jax.disable_jit(False), jax.enable_x64(has_x64):
        return np.asarray(jax.jit(function)(*arguments))
