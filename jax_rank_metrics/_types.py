"""Array types of the public signatures, and how the package registers its pytrees.

Legend: `*lists` is any number of leading axes, one entry per list; `items` is the last
axis of an input, one entry per candidate of a list.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, dataclass_transform

import jax
import numpy as np
from jax import export
from jax.typing import ArrayLike
from jaxtyping import Shaped

if TYPE_CHECKING:

    class _SupportsArray(Protocol):
        """What NumPy can read: tensors of other libraries, columns of data frames."""

        def __array__(self) -> np.ndarray[Any, Any]: ...

    class _SupportsJaxArray(Protocol):
        """What JAX can read: variables of models."""

        def __jax_array__(self) -> jax.Array: ...

    _Arrays = jax.Array | np.ndarray | _SupportsArray | _SupportsJaxArray
    # Anything of at least one axis that holds numbers: no scalars.
    _Numbers = (
        _Arrays
        | Sequence[float | _Arrays]
        | Sequence[Sequence[float | _Arrays]]
        | Sequence[Sequence[Sequence[float | _Arrays]]]
    )
    _Bools = (
        _Arrays
        | Sequence[bool | _Arrays]
        | Sequence[Sequence[bool | _Arrays]]
        | Sequence[Sequence[Sequence[bool | _Arrays]]]
    )
else:
    # What is checked while programs run, by those who switch that on: the shapes of
    # arrays. A protocol beside these would let every array pass.
    _Numbers = _Bools = jax.Array | np.ndarray

Labels = Shaped[_Numbers, "*lists items"]
Scores = Shaped[_Numbers, "*lists items"]
Mask = Shaped[_Bools, "*lists items"]
SegmentIds = Shaped[_Numbers, "*lists items"]
Weights = Shaped[_Numbers | ArrayLike, "..."]  # a scalar, [*lists] or [*lists, items]
Pool = Shaped[_Numbers, "*lists pool"]
PoolMask = Shaped[_Bools, "*lists pool"]
PerListInput = Shaped[_Numbers | ArrayLike, "*lists"]
ListIds = Shaped[_Numbers, "*lists"]
RetrievedIds = Shaped[_Numbers, "*lists retrieved"]
RelevantIds = Shaped[_Numbers, "*lists relevant"]
ExcludedIds = Shaped[_Numbers, "*lists excluded"]
RankedIds = Shaped[_Numbers, "*lists ranks"]
PerItem = Shaped[_Numbers, "num_items"]
ItemMask = Shaped[_Bools, "items"]
ListsItemMask = Shaped[_Bools, "..."]  # [items] or [*lists, items]
Embeddings = Shaped[_Numbers, "num_items features"]
ListWeights = Shaped[_Numbers | ArrayLike, "..."]  # [*lists], [*lists, num_segments]
Columns = Mapping[str, _Numbers]  # each [*lists, items, …]
AxisNames = str | tuple[str, ...]
Key = Shaped[jax.Array, "..."]  # a typed key or the raw data of one

# A cutoff inside: a rank, None for every rank, or an array `[*lists]` of ranks.
Cut = int | None | jax.Array

Number = float | int
Cutoffs = int | Sequence[int | None] | None

# Choices. Checks read them back, so that each is written down once.
Ties = Literal["expected", "random", "stable", "best", "worst"]
# How a metric reads tied items: see `metric`.
TieReading = Literal["expected", "order", "own"]
Undefined = Literal["zero", "one", "skip"]
IntervalMethod = Literal["auto", "t", "normal", "wilson"]
ComparisonTest = Literal["permutation", "bootstrap", "t"]
PrecisionDenominator = Literal["retrieved", "k"]
RecallDenominator = Literal["relevant", "attainable"]
AveragePrecisionDenominator = Literal["relevant", "attainable", "hits", "k"]
RecallLevels = Number | tuple[Number, ...]
PairWeighting = Literal["list", "pairs"]

Gain = Callable[[jax.Array], jax.Array]
PositionFn = Callable[[jax.Array], jax.Array]  # of ranks 1, 2, …
Discount = PositionFn

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def pytree(*static: str) -> Callable[[type[T]], type[T]]:
    """Makes a class a frozen dataclass, a pytree, and exportable by `jax.export`.

    The fields named in `static` are part of the tree structure; all others are leaves.
    """

    def register(cls: type[T]) -> type[T]:
        # A repr of its own, or of a base, is kept.
        plain = cls.__repr__ is object.__repr__
        cls = dataclasses.dataclass(frozen=True, repr=plain)(cls)
        names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
        dynamic = [name for name in names if name not in static]

        def flatten_with_keys(tree: Any):
            leaves = [(jax.tree_util.GetAttrKey(n), getattr(tree, n)) for n in dynamic]
            return leaves, tuple(getattr(tree, n) for n in static)

        def flatten(tree: Any):
            return [getattr(tree, n) for n in dynamic], tuple(
                getattr(tree, n) for n in static
            )

        def unflatten(aux: tuple[Any, ...], leaves: Iterable[Any]) -> Any:
            # Past `__init__`: JAX unflattens with leaves that are not arrays, which
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
                tuple(x) if isinstance(x, list) else x for x in json.loads(data)
            ),
        )
        return cls

    return register
