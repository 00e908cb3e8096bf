"""Array types and options of the public signatures.

Legend: `*lists` is any number of leading axes, one entry per list; `items` is the last
axis of an input, one entry per candidate of a list.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import jax
import numpy as np
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
