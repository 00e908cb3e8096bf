"""States and lists as text: their numbers, or their shapes where none can be read.

A repr is read in error messages and in debuggers, so it never raises: inside `jax.jit`, of
the shapes that `jax.eval_shape` gives, and of whatever else JAX puts in place of arrays.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

_SHOWN = 10  # cutoffs, of which there may be one for each rank


def mean_repr(self: Any) -> str:
    """The mean and its standard error, and how many lists there were."""
    try:
        *stacked, _ = jnp.shape(self.counts)
        shape = [*stacked, *jnp.shape(self.sums.high)[len(stacked) + 1 :]]
        kind = f"{self.sums.high.dtype}{shape}"
        here = _readable(self)
        if here is None or stacked:
            axes = [f"stacked {stacked}"] if stacked else []
            return f"Mean({', '.join([*_why(self), *axes, kind])})"
        mean, error, counts = _numbers(here)
        return f"Mean({mean} ± {error}, {counts})"
    except Exception:  # leaves that are no arrays, or not those of a state
        return f"Mean(sums={self.sums!r}, counts={self.counts!r})"


def mean_html(state: Any) -> str | None:
    """What a notebook shows; None is the repr."""
    try:
        here = _readable(state)
        if here is None or jnp.ndim(state.counts) > 1:
            return None
        mean, error, counts = _numbers(here)
        return f"<b>{mean}</b> ± {error} <small>({counts})</small>"
    except Exception:  # as above
        return None


def mean_float(state: Any) -> float:
    """`float(state)`: the mean, of a state with one."""
    *stacked, _ = jnp.shape(state.counts)
    if stacked:
        raise TypeError(
            f"a state stacked along axes of shape {tuple(stacked)} has no one mean; pass "
            "state.reduce(), or read state.compute()"
        )
    value = state.compute()
    if value.ndim:
        raise TypeError(
            f"a state of {len(value)} cutoffs has no one mean; pass one of them, such as "
            "state.compute()[0]"
        )
    return float(value)


def mean_format(state: Any, spec: str) -> str:
    """`f"{state:.3f}"` is the mean, formatted as a float; `f"{state}"` is the repr."""
    return format(mean_float(state), spec) if spec else str(state)


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
        mean, _, counts = _numbers(state)
        return f"PerList({', '.join([*told, f'mean {mean}', counts])})"
    except Exception:  # as above
        fields = ("values", "weights", "defined")
        leaves = [f"{name}={getattr(self, name)!r}" for name in fields]
        return f"PerList({', '.join(leaves)})"


def number(x: Any) -> str:
    """Three digits after the point, or three that tell something."""
    plain = x == 0 or 1e-3 <= abs(x) < 1e6
    return f"{x:.3f}" if plain else f"{x:.2e}"


def _numbers(state: Any) -> tuple[str, str, str]:
    # Also inside a trace, where what is computed of constants would else be traced.
    with jax.ensure_compile_time_eval():
        mean, error, (lists, undefined) = jax.device_get(
            (state.compute(), state.std_error(), state.counts)
        )
    plural = "" if lists == 1 else "s"
    return _text(mean), _text(error), f"{lists} list{plural}, {undefined} undefined"


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
