"""Computes constants while another program is traced.

Inside a trace, JAX either stages an operation or, under `jax.ensure_compile_time_eval`,
compiles a program for each operation. Here all of them share one program.
"""

from collections.abc import Callable

import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import AbstractMesh


def constant(
    function: Callable[..., jax.Array], *arguments: np.ndarray
) -> np.ndarray | None:
    """Returns `function(*arguments)`, computed by a program outside of any trace.

    Returns None if the function reads traced values from elsewhere.
    """
    # While a user has jit disabled, for debugging, no program can be compiled.
    with jax.disable_jit(False):
        jaxpr = jax.make_jaxpr(function)(*arguments)
        if any(isinstance(x, Tracer) for x in jaxpr.consts):
            return None
        # The mesh of a trace may be known by its shape alone, without devices to compile
        # for.
        with jax.sharding.use_abstract_mesh(AbstractMesh((), ())):
            program = jax.jit(function).lower(*arguments).compile()
            return np.asarray(program(*arguments))
