"""Computes constants while another program is traced.

Inside a trace, JAX either stages an operation or, under `jax.ensure_compile_time_eval`,
compiles a program for each operation. Here all of them share one program.
"""

import contextlib
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
        with on_no_mesh():
            program = jax.jit(function).lower(*arguments).compile()
            return np.asarray(program(*arguments))


def on_no_mesh() -> contextlib.AbstractContextManager[None]:
    """Returns a context without the mesh of the program that is traced.

    That mesh may be known by its shape alone: no program can be compiled for its devices.
    """
    return jax.sharding.use_abstract_mesh(AbstractMesh((), ()))
