"""States and lists as text: their numbers, or their shapes where none can be read.

A repr is read in error messages and in debuggers, so it never raises: inside `jax.jit`, of
the shapes that `jax.eval_shape` gives, and of whatever else JAX puts in place of arrays.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

_SHOWN = 10  # cutoffs, of which there may be one for each rank


def state_repr(self: Any) -> str:
    """The numbers of a state, and how many lists there were."""
    name = type(self).__name__
    try:
        stacked = list(self._stacked)
        here = _readable(self)
        if here is None or stacked:
            number = jax.eval_shape(lambda state: state.compute(), self)
            axes = [f"stacked {stacked}"] if stacked else []
            kind = f"{number.dtype}{list(number.shape)}"
            return f"{name}({', '.join([*_why(self), *axes, kind])})"
        told, counts = _numbers(here)
        return f"{name}({self._text.format(*told)}, {counts})"
    except Exception:  # leaves that are no arrays, or not those of a state
        return f"{name}({_fields(self)})"


def state_html(state: Any) -> str | None:
    """What a notebook shows; None is the repr."""
    try:
        here = _readable(state)
        if here is None or state._stacked:
            return None
        told, counts = _numbers(here)
        bold = state._text.replace("{}", "<b>{}</b>", 1)
        return f"{bold.format(*told)} <small>({counts})</small>"
    except Exception:  # as above
        return None


def state_float(state: Any) -> float:
    """`float(state)`: what it computes, of a state with one number."""
    if state._stacked:
        raise TypeError(
            f"a state stacked along axes of shape {state._stacked} has no one number; "
            "pass state.reduce(), or read state.compute()"
        )
    value = state.compute()
    if value.ndim:
        raise TypeError(
            f"a state of {len(value)} cutoffs has no one number; pass one of them, such "
            "as state.compute()[0]"
        )
    return float(value)


def state_format(state: Any, spec: str) -> str:
    """`f"{state:.3f}"` is what it computes as a float; `f"{state}"` is the repr."""
    return format(state_float(state), spec) if spec else str(state)


def per_list_repr(self: Any) -> str:
    """The mean, and how many lists there are; the shape unless it is that number."""
    try:
        shape = list(jnp.shape(self.values))
        here = _readable(self)
        if here is None:
            kind = f"{self.values.dtype}{shape}"
            return f"PerList({', '.join([*_why(self), kind])})"
        with jax.ensure_compile_time_eval():
            state = here.mean()
            told = [] if shape in ([], [int(state.lists)]) else [str(shape)]
        (mean, _), counts = _numbers(state)
        return f"PerList({', '.join([*told, f'mean {mean}', counts])})"
    except Exception:  # as above
        return f"PerList({_fields(self)})"


def number(x: Any) -> str:
    """Three digits after the point, or three significant ones; a zero has no sign."""
    x = x + 0  # −0.0 becomes 0.0
    plain = x == 0 or 1e-3 <= abs(x) < 1e6
    return f"{x:.3f}" if plain else f"{x:.2e}"


def _fields(tree: Any) -> str:
    names = [field.name for field in dataclasses.fields(tree)]
    return ", ".join([f"{name}={getattr(tree, name)!r}" for name in names])


def _numbers(state: Any) -> tuple[list[str], str]:
    # Also inside a trace, where what is computed of constants would else be traced.
    with jax.ensure_compile_time_eval():
        shown, (lists, undefined), size = jax.device_get(
            (state._shown(), state._tally, state._sample_size)
        )
    counts = f"{lists} list{'' if lists == 1 else 's'}"
    # Equal weights give the number of lists but for rounding.
    if size is not None and size < 0.995 * lists:
        counts += f", n_eff {size:.3g}" if size < 1000 else f", n_eff {size:.0f}"
    return [_text(x) for x in shown], f"{counts}, {undefined} undefined"


def _text(values: Any) -> str:
    if not np.ndim(values):
        return number(values)
    shown = [number(x) for x in values[:_SHOWN]] + ["…"] * (len(values) > _SHOWN)
    return f"[{', '.join(shown)}]"


def _readable(tree: Any) -> Any:
    """The tree in arrays of this host, or None."""
    leaves, structure = jax.tree.flatten(tree)
    found = []
    for leaf in leaves:
        if isinstance(leaf, Tracer) or not isinstance(leaf, (jax.Array, np.ndarray)):
            return None
        if isinstance(leaf, jax.Array):
            if leaf.is_deleted():
                return None
            if not leaf.is_fully_addressable:
                # To compute with it, every other host would have to take part.
                if not leaf.is_fully_replicated:
                    return None
                leaf = leaf.addressable_data(0)
        found.append(leaf)
    return jax.tree.unflatten(structure, found)


def _why(tree: Any) -> list[str]:
    leaves = jax.tree.leaves(tree)
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        return ["traced"]
    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
    return ["deleted"] if any(leaf.is_deleted() for leaf in arrays) else []
