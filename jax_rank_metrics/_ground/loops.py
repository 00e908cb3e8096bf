"""Results of loops of data-dependent length, which have no reverse-mode gradient."""

from typing import NoReturn, TypeVar

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

T = TypeVar("T")


def forward_only(tree: T) -> T:
    """Returns the results of such a loop unchanged; their reverse-mode gradient raises.

    JAX would raise too, but its message would name a loop that the user did not write.
    The check costs nothing. Forward-mode differentiation works, and so do auxiliary values
    beside a gradient (`has_aux=True`), even if they depend on the same numbers.
    """

    def mark(x: jax.Array) -> jax.Array:
        return _result.bind(x) if jnp.issubdtype(x.dtype, jnp.floating) else x

    return jax.tree.map(mark, tree)


def _refuse(*_: object) -> NoReturn:
    raise TypeError(
        "this metric has no reverse-mode gradient with respect to labels, weights or "
        "columns, because a loop computes it in a number of steps that depends on the "
        "data; use forward mode (jax.jacfwd or jax.jvp); or, if the loop is over tied "
        "items, break the ties by passing a key to the call that ranks; or leave this "
        "metric out of the loss, and measure it beside the loss"
    )


# The identity function, which compiles to no code.
_result = Primitive("result_of_loop")
_result.def_impl(lambda x: x)
_result.def_abstract_eval(lambda x: x)
ad.deflinear2(_result, _refuse)
batching.defvectorized(_result)
mlir.register_lowering(_result, lambda _, x: [x])
