"""Fast compilation of programs that a driver runs only a few times."""

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax import stages

# The options of XLA for CPU that switch off slow parts of the compiler, and the name of the
# option for how much LLVM optimises.
_CPU_OPTIONS: dict[str, bool | int] = {"xla_cpu_use_fusion_emitters": False}
_LEVEL = "xla_backend_optimization_level"


def one_off_jit(
    function: Callable[..., Any], static_argnames: Sequence[str] = (), level: int = 0
) -> Callable[[], stages.Wrapped]:
    """Returns a function that returns `jax.jit(function)`, compiled quickly.

    The options of the compiler depend on the backend, which is not started before the
    first call. Use this for drivers that run on the host and call a program a few times.
    Do not use it for functions that users call many times, or call inside their own
    programs: there JAX refuses options of the compiler.

    Args:
        function: The function to compile.
        static_argnames: See `jax.jit`.
        level: How much the compiler for CPU optimises. Level 0 is for programs that take
            longer to compile than to run: they compile in a quarter of the time or less,
            and run two to four times as long. At levels 1 and 2 programs compile in half
            the time, and run within a tenth of the fastest; 2 is for random bits.
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

    An option that the environment variable XLA_FLAGS sets is left out, so it keeps that
    value.
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
    """True if XLA accepts these options; compiles a tiny program to find out."""
    program = jax.jit(lambda x: x, compiler_options=options).lower(0.0)
    try:
        program.compile()
    except jax.errors.JaxRuntimeError as error:
        if "No such compile option" in str(error):
            return False
        raise
    return True
