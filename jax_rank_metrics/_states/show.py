"""States and lists as text: their numbers, or their shapes where no number can be read.

A repr is read in error messages and in debuggers, so it never raises: not inside
`jax.jit`, not for the shapes that `jax.eval_shape` returns, and not for whatever else JAX
puts in place of arrays.
"""

import contextvars
import dataclasses
from typing import Any, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

T = TypeVar("T")
# Whether lists are being shown: an error of `mean` may show them in its own message.
_is_showing = contextvars.ContextVar("_is_showing", default=False)
_MAX_SHOWN = 10  # cutoffs, of which there may be one for each rank


@runtime_checkable
class _State(Protocol):
    """The part of a `State` that its text reads; `State` itself imports this module."""

    _text: str

    @property
    def _stacked(self) -> tuple[int, ...]: ...
    @property
    def _tally(self) -> jax.Array: ...
    @property
    def _sample_size(self) -> jax.Array | None: ...
    def _shown(self) -> tuple[jax.Array, ...]: ...
    def compute(self) -> jax.Array: ...


@runtime_checkable
class _PerList(Protocol):
    """The part of a `PerList` that its text reads."""

    @property
    def values(self) -> jax.Array: ...
    def mean(self) -> _State: ...


def state_repr(self: _State) -> str:
    """Shows the numbers of a state and its counts: `Mean(0.5 ± 0.5, 2 lists, 0 undefined)`.

    Without readable numbers it shows their shape: `Mean(traced, float32[])`.
    """
    name = type(self).__name__
    try:
        stacked = list(self._stacked)
        local = _on_host(self)
        if local is None or stacked:
            value = jax.eval_shape(lambda state: state.compute(), self)
            axes = [f"stacked {stacked}"] if stacked else []
            kind = f"{value.dtype}{list(value.shape)}"
            return f"{name}({', '.join([*_why_unreadable(self), *axes, kind])})"
        numbers, counts = _numbers(local)
        return f"{name}({self._text.format(*numbers)}, {counts})"
    except Exception as error:  # leaves that are not arrays, or not those of a state
        return f"{name}({_fields(self, error)})"


def state_html(state: _State) -> str | None:
    """Returns HTML for a notebook; None, for which it shows the repr, without numbers."""
    try:
        local = _on_host(state)
        if local is None or state._stacked:
            return None
        numbers, counts = _numbers(local)
        bold = state._text.replace("{}", "<b>{}</b>", 1)
        return f"{bold.format(*numbers)} <small>({counts})</small>"
    except Exception:  # as in `state_repr`
        return None


def state_float(state: _State) -> float:
    """Converts a state that computes one number to a float.

    Raises:
        TypeError: if it has several cutoffs, or is stacked.
    """
    if state._stacked:
        raise TypeError(
            f"a state stacked along axes of shape {state._stacked} is not a single "
            "number; pass state.reduce(), or read state.compute()"
        )
    value = state.compute()
    if value.ndim:
        raise TypeError(
            f"a state of {len(value)} cutoffs is not a single number; pass one of them, "
            "such as state.compute()[0]"
        )
    return float(value)


def state_format(state: _State, spec: str) -> str:
    """Formats `f"{state:.3f}"` as a float, and `f"{state}"` as the repr."""
    return format(state_float(state), spec) if spec else str(state)


def per_list_repr(self: _PerList) -> str:
    """Shows the mean and the counts: `PerList(mean 0.500, 3 lists, 1 undefined)`.

    Values of any shape but `[]` and `[number of lists]` open with their shape:
    `PerList([2, 3], mean 0.500, 6 lists, 0 undefined)`. Without readable numbers only the
    shape is shown: `PerList(traced, float32[3])`.
    """
    token = None
    try:
        shape = list(jnp.shape(self.values))
        local = _on_host(self)
        if local is None or _is_showing.get():
            kind = f"{self.values.dtype}{shape}"
            return f"PerList({', '.join([*_why_unreadable(self), kind])})"
        token = _is_showing.set(True)
        with jax.ensure_compile_time_eval():
            state = local.mean()
            is_plain = shape in ([], [int(state._tally[0])])
        (mean, _), counts = _numbers(state)
        parts = [] if is_plain else [str(shape)]
        return f"PerList({', '.join([*parts, f'mean {mean}', counts])})"
    except Exception as error:  # as in `state_repr`
        return f"PerList({_fields(self, error)})"
    finally:
        if token is not None:
            _is_showing.reset(token)


def number(x: float | np.ndarray) -> str:
    """Formats a number as 0.500, or as 1.00e-04 outside [1e-3, 1e6); −0.0 as 0.000."""
    x = x + 0  # −0.0 becomes 0.0
    plain = x == 0 or 1e-3 <= abs(x) < 1e6
    return f"{x:.3f}" if plain else f"{x:.2e}"


def _fields(tree: Any, error: Exception) -> str:
    """Shows the fields, and, where they hold arrays, why no number comes of these."""
    names = [field.name for field in dataclasses.fields(tree)]
    texts = [f"{name}={getattr(tree, name)!r}" for name in names]
    if all(isinstance(leaf, (jax.Array, np.ndarray)) for leaf in jax.tree.leaves(tree)):
        texts.append(f"{type(error).__name__}: {error}")
    return ", ".join(texts)


def _numbers(state: _State) -> tuple[list[str], str]:
    """Formats the numbers of a state, and its counts as "3 lists, 0 undefined"."""
    # Inside a trace, results computed from constants would otherwise be traced.
    with jax.ensure_compile_time_eval():
        values, (lists, undefined), size = jax.device_get(
            (state._shown(), state._tally, state._sample_size)
        )
    lists, undefined = int(lists), int(undefined)  # a caller may have cast them
    counts = f"{lists} list{'' if lists == 1 else 's'}"
    # For equal weights the effective number is that of the lists, up to rounding.
    if size is not None and np.min(size, initial=np.inf) < 0.995 * lists:
        texts = [
            f"{x:.3g}" if x < 1000 else f"{x:.0f}" for x in (np.min(size), np.max(size))
        ]
        counts += f", n_eff {' to '.join(dict.fromkeys(texts))}"
    return [numbers_text(x) for x in values], f"{counts}, {undefined} undefined"


def numbers_text(values: np.ndarray) -> str:
    """Formats a number, or those of the first cutoffs: `[0.500, 0.250]`."""
    if not np.ndim(values):
        return number(values)
    ellipsis = ["…"] * (len(values) > _MAX_SHOWN)
    return f"[{', '.join([*map(number, values[:_MAX_SHOWN]), *ellipsis])}]"


def _on_host(tree: T) -> T | None:
    """Returns the tree with arrays of NumPy, or None if this host cannot read them all.

    What is computed with them depends on no mesh, as the arrays themselves may do.
    """
    leaves, structure = jax.tree.flatten(tree)
    local_leaves = []
    for leaf in leaves:
        # A list of values in NumPy holds its scalars.
        kinds = (jax.Array, np.ndarray, np.generic)
        if isinstance(leaf, Tracer) or not isinstance(leaf, kinds):
            return None
        if isinstance(leaf, jax.Array):
            if leaf.is_deleted():
                return None
            if not leaf.is_fully_addressable:
                # To compute with it, every other host would have to take part.
                if not leaf.is_fully_replicated:
                    return None
                leaf = leaf.addressable_data(0)
        local_leaves.append(leaf)
    return jax.tree.unflatten(structure, jax.device_get(local_leaves))


def _why_unreadable(tree: object) -> list[str]:
    leaves = jax.tree.leaves(tree)
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        return ["traced"]
    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
    return ["deleted"] if any(leaf.is_deleted() for leaf in arrays) else []
