"""Compiles quickly what drivers on the host run for one evaluation."""

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax import stages

# Options of XLA for CPU that take out what compiles slowly, and the one that says how much
# LLVM optimises.
_CPU_OPTIONS: dict[str, bool | int] = {"xla_cpu_use_fusion_emitters": False}
_LEVEL = "xla_backend_optimization_level"


def one_off_jit(
    function: Callable[..., Any], static_argnames: Sequence[str] = (), level: int = 0
) -> Callable[[], stages.Wrapped]:
    """Returns a function that returns `jax.jit(function)`, compiled quickly.

    The options of the compiler depend on the backend, which is not started before the
    first call. This is for drivers that run on the host and call a program a few times. It
    is not for functions that users call many times, or inside their own programs, where
    JAX refuses options of the compiler.

    Args:
        function: The function to compile.
        static_argnames: See `jax.jit`.
        level: How much the compiler for CPU optimises. Level 0 is for programs that take
            longer to compile than to run: it compiles in a quarter of the time or less,
            and runs two to four times as long. Levels 1 and 2 compile in half the time,
            and run within a tenth of the fastest; 2 is for random bits.
    """

    @functools.cache
    def jitted(platform: str) -> stages.Wrapped:
        return jax.jit(
            function,
            static_argnames=static_argnames,
            compiler_options=_options(platform, level),
        )

    return lambda: jitted(jax.default_backend())


@functools.cache
def _options(platform: str, level: int) -> dict[str, bool | int]:
    """Returns the options above that the XLA of this platform knows.

    An option that the variable XLA_FLAGS sets is left out, and keeps its value.
    """
    if platform != "cpu":
        return {}
    flags = os.environ.get("XLA_FLAGS", "")
    options = {_LEVEL: level, **_CPU_OPTIONS}
    options = {name: value for name, value in options.items() if name not in flags}
    if _are_known(options):
        return options
    return {name: value for name, value in options.items() if _are_known({name: value})}


def _are_known(options: dict[str, bool | int]) -> bool:
    """Whether XLA accepts options, asked by compiling the smallest of programs."""
    program = jax.jit(lambda x: x, compiler_options=options).lower(0.0)
    try:
        program.compile()
    except jax.errors.JaxRuntimeError as error:
        if "No such compile option" in str(error):
            return False
        raise
    return True
