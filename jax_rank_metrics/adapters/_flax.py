"""Serialisation of states by Flax: `flax.serialization.to_bytes`, `to_state_dict`."""

from typing import TypeVar

import jax

import jax_rank_metrics._public  # noqa: F401  # defines every class of state
from jax_rank_metrics._values import per_list
from jax_rank_metrics._values.state import State
from jax_rank_metrics.adapters._shared import framework

T = TypeVar("T", bound=State | per_list.PerList)


def _leaf_names(state: State | per_list.PerList) -> list[str]:
    """Returns a name for each leaf of a state, such as "sums.high"."""
    return [
        jax.tree_util.keystr(path).removeprefix(".")
        for path, _ in jax.tree_util.tree_leaves_with_path(state)
    ]


def _to_state_dict(state: State | per_list.PerList) -> dict[str, jax.Array]:
    return dict(zip(_leaf_names(state), jax.tree.leaves(state), strict=True))


def _from_state_dict(target: T, leaves: dict[str, jax.Array]) -> T:
    """Returns a state with the static fields of `target` and the saved leaves."""
    names = _leaf_names(target)
    if set(names) != set(leaves):
        raise ValueError(
            f"got the leaves {', '.join(sorted(leaves))} for a {type(target).__name__}, "
            f"which has the leaves {', '.join(names)}; pass a target of the class that was "
            "saved"
        )
    return jax.tree.structure(target).unflatten([leaves[name] for name in names])


def register_states() -> None:
    """Registers every class of state, and `PerList`, with `flax.serialization`."""
    serialization = framework("flax.serialization", __name__)
    kinds: list[type] = [State, per_list.PerList]
    for kind in kinds:
        kinds += kind.__subclasses__()  # the loop visits the subclasses, too
        serialization.register_serialization_state(
            kind, _to_state_dict, _from_state_dict, override=True
        )
