"""Compiles quickly what runs on the host for one evaluation."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax import stages

# Options of XLA for CPU that halve or quarter the time it takes to compile a program,
# which then takes two to four times as long to run.
_CPU_OPTIONS: dict[str, bool | int] = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
}


def one_off_jit(
    function: Callable[..., Any], static_argnames: Sequence[str]
) -> Callable[[], stages.Wrapped]:
    """Returns a function that returns `jax.jit(function)`, compiled quickly.

    This is for programs that take longer to compile than to run: for drivers that run on
    the host and call a program a few times. It is not for functions that users may call
    inside their own programs, where JAX refuses options of the compiler, or in a loop.
    The second function keeps imports from starting a backend.
    """

    @functools.cache
    def jitted(platform: str) -> stages.Wrapped:
        return jax.jit(
            function,
            static_argnames=static_argnames,
            compiler_options=_options(platform),
        )

    return lambda: jitted(jax.default_backend())


@functools.cache
def _options(platform: str) -> dict[str, bool | int]:
    """Returns the options above that the XLA of this platform knows."""
    if platform != "cpu":
        return {}
    if _are_known(_CPU_OPTIONS):
        return _CPU_OPTIONS
    return {name: x for name, x in _CPU_OPTIONS.items() if _are_known({name: x})}


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
