"""Array types and options of the public signatures.

Legend: `*lists` is any number of leading axes, one entry per list; `items` is the last
axis of an input, one entry per candidate of a list.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Literal, Protocol

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Shaped

from jax_rank_metrics._ground import shares
from jax_rank_metrics._ground.meshes import AxisNames as AxisNames

Arrays = Any  # a pytree of arrays, such as one array, or a dict of several

if TYPE_CHECKING:

    class _SupportsArray(Protocol):
        """An object that NumPy reads: a tensor of another library, a data-frame column."""

        def __array__(self) -> np.ndarray[Any, Any]: ...

    class _SupportsJaxArray(Protocol):
        """An object that JAX reads, such as the variable of a model."""

        def __jax_array__(self) -> jax.Array: ...

    _Arrays = jax.Array | np.ndarray | _SupportsArray | _SupportsJaxArray
    # Lists, nested one to three deep; a bare number is not accepted.
    _Numbers = (
        Sequence[float | _Arrays]
        | Sequence[Sequence[float | _Arrays]]
        | Sequence[Sequence[Sequence[float | _Arrays]]]
    )
    _Bools = (
        Sequence[bool | _Arrays]
        | Sequence[Sequence[bool | _Arrays]]
        | Sequence[Sequence[Sequence[bool | _Arrays]]]
    )
else:
    # No protocols here: in a union with a protocol, run-time type checkers would accept an
    # array of any shape.
    _Arrays = jax.Array | np.ndarray
    _Numbers = _Bools = list | tuple

Labels = Shaped[_Arrays, "*lists items"] | _Numbers
Scores = Shaped[_Arrays, "*lists items"] | _Numbers
Mask = Shaped[_Arrays, "*lists items"] | _Bools
Places = Shaped[_Arrays, "*lists items"] | _Numbers
# A `Packing` is such a tuple.
SegmentIds = (
    Shaped[_Arrays, "*lists items"] | _Numbers | tuple[np.ndarray, int, np.ndarray]
)
# A scalar, [*lists] or [*lists, items].
Weights = Shaped[_Arrays | ArrayLike, "..."] | _Numbers
Pool = Shaped[_Arrays, "*lists pool"] | _Numbers
PoolMask = Shaped[_Arrays, "*lists pool"] | _Bools
PerListInput = Shaped[_Arrays | ArrayLike, "*lists"] | _Numbers
ListIds = Shaped[_Arrays, "..."] | _Numbers | Sequence[str | bytes]  # [*lists(, 2)]
RowIds = Shaped[_Arrays, "rows"] | Sequence[Any]  # of any kind
RetrievedIds = Shaped[_Arrays, "*lists retrieved"] | _Numbers
RelevantIds = Shaped[_Arrays, "*lists relevant"] | _Numbers
# Ids of any kind, outside `jax.jit`: a list, lists of any lengths, or a dict from queries
# to such lists.
RaggedIds = (
    Sequence[str]
    | Sequence[Sequence[str] | AbstractSet[Any]]
    | Mapping[Any, Sequence[Any] | AbstractSet[Any] | Mapping[Any, float] | _Arrays]
)
ExcludedIds = Shaped[_Arrays, "*lists excluded"] | _Numbers
RankedIds = Shaped[_Arrays, "*lists ranks"] | _Numbers
PerItem = Shaped[_Arrays, "num_items"] | _Numbers
ItemMask = Shaped[_Arrays, "items"] | _Bools
ListsItemMask = Shaped[_Arrays, "..."] | _Bools  # [items] or [*lists, items]
# A dict from names to columns `[num_items, …]`. Each column is an array; or a Series, a
# frame or a dict that is keyed by item id.
ItemColumns = Mapping[str, Any]
ProfileIds = Shaped[_Arrays, "*lists profile"] | _Numbers
ProfileWeights = Shaped[_Arrays, "*lists profile"] | _Numbers
# [*lists], or [*lists, num_segments] if lists are packed.
ListWeights = Shaped[_Arrays | ArrayLike, "..."] | _Numbers
Columns = Mapping[str, _Arrays | _Numbers]  # each [*lists, items, …]
Key = Shaped[jax.Array, "..."]  # a typed key or the raw data of one

# A cutoff inside the package: a rank, None for every rank, or an array `[*lists]` of ranks.
Cut = int | None | jax.Array

Number = float | int
Cutoffs = int | shares.share | Sequence[int | shares.share | None] | None
RankCutoffs = int | Sequence[int | None] | None  # with a static number of ranks

# Options. Run-time checks read the choices from these types.
Ties = Literal["expected", "random", "stable", "best", "worst"]
# The ways in which a metric reads tied items; see `metric`.
TieReading = Literal["expected", "order", "own"]
# The choices for items that `item_ids` lacks.
UnknownItems = Literal["error", "miss", "drop"]

Undefined = Literal["zero", "one", "skip"]
IntervalMethod = Literal["auto", "t", "normal", "wilson"]
PrecisionDenominator = Literal["retrieved", "k"]
RecallDenominator = Literal["relevant", "attainable"]
AveragePrecisionDenominator = Literal["relevant", "attainable", "hits", "k"]
RecallLevels = Number | tuple[Number, ...]
NoveltyCount = Literal["interactions", "users"]
RankReading = Literal["realistic"]
TauVariant = Literal["a", "b"]
# The part of expected exposure to return, and how two extremes are compared.
ExposurePart = Literal["loss", "disparity", "relevance"]
Comparison = Literal["difference", "ratio"]
# A share for each group; or "relevant", the groups' shares of the relevant items; or None,
# the groups' shares of the pool.
GroupTarget = tuple[Number, ...] | Literal["relevant"] | None
PairWeighting = Literal["list", "pairs"]
UserValue = Literal["utility", "total_utility", "cost", "total_cost", "items"]
PropensitySetting = Literal["default", "wikipedia", "amazon"]

Gain = Callable[[jax.Array], jax.Array]
PositionFn = Callable[[jax.Array], jax.Array]  # takes ranks 1, 2, …
Discount = PositionFn
