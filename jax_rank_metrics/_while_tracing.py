"""Computes constants while another program is traced.

Inside a trace, JAX either stages an operation or, under `jax.ensure_compile_time_eval`,
compiles a program for each operation. Here all of them share one program.
"""

from collections.abc import Callable

import jax
import jax.extend.core
import numpy as np
from jax.core import Tracer


def constant(
    function: Callable[..., jax.Array], *arguments: np.ndarray
) -> np.ndarray | None:
    """Returns `function(*arguments)`, computed by a program outside of any trace.

    Returns None if the function reads traced values from elsewhere.
    """
    jaxpr = jax.make_jaxpr(function)(*arguments)
    if any(isinstance(x, Tracer) for x in jaxpr.consts):
        return None
    # While a user has jit disabled, for debugging, no program can be compiled.
    with jax.disable_jit(False):
        program = jax.jit(jax.extend.core.jaxpr_as_fun(jaxpr)).lower(*arguments)
        return np.asarray(*program.compile()(*arguments))
