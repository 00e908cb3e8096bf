"""Registers the classes of the package as pytrees."""

import dataclasses
import json
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar, dataclass_transform

import jax
from jax import export

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def pytree(
    *static: str, of_trace: Collection[str] = ()
) -> Callable[[type[T]], type[T]]:
    """Makes a class a frozen dataclass, a pytree, and serialisable by `jax.export`.

    Args:
        *static: Names of the fields that are part of the tree structure. Their values must
            be hashable and survive JSON: strings, numbers, bools, None, and flat tuples
            of such values. All fields outside `static` and `of_trace` hold leaves.
        of_trace: Names of the fields that belong to the trace in which they were set. These
            fields are not part of the tree: an object that is rebuilt from leaves has their
            defaults.
    """

    def register(cls: type[T]) -> type[T]:
        # Keep a repr that the class defines or inherits.
        has_no_repr = cls.__repr__ is object.__repr__
        cls = dataclasses.dataclass(frozen=True, repr=has_no_repr)(cls)
        names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
        dynamic = [name for name in names if name not in (*static, *of_trace)]

        def aux_of(tree: T) -> tuple[Any, ...]:
            return tuple(getattr(tree, name) for name in static)

        def flatten_with_keys(tree: T):
            keyed = [
                (jax.tree_util.GetAttrKey(name), getattr(tree, name))
                for name in dynamic
            ]
            return keyed, aux_of(tree)

        def flatten(tree: T):
            return [getattr(tree, name) for name in dynamic], aux_of(tree)

        def unflatten(aux: tuple[Any, ...], leaves: Iterable[Any]) -> T:
            # Bypass `__init__`: JAX unflattens with leaves that are not arrays, which
            # run-time type checkers of the constructor would refuse.
            tree = object.__new__(cls)
            for name, value in zip((*dynamic, *static), (*leaves, *aux), strict=True):
                object.__setattr__(tree, name, value)
            return tree

        jax.tree_util.register_pytree_with_keys(
            cls, flatten_with_keys, unflatten, flatten
        )
        export.register_pytree_node_serialization(
            cls,
            serialized_name=f"jax_rank_metrics.{cls.__name__}",
            serialize_auxdata=lambda aux: json.dumps(aux).encode(),
            deserialize_auxdata=lambda data: tuple(
                tuple(entry) if isinstance(entry, list) else entry
                for entry in json.loads(data)
            ),
        )
        return cls

    return register
