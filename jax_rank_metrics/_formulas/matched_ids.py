"""Two lists of ids, matched by their ids and compared by a formula."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs, _shards
from jax_rank_metrics._formulas.id_lists import equally_weighted, if_ranked, ranked_ids
from jax_rank_metrics._ordering.matching import match
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import RankCutoffs, RankedIds

Ids = RankedIds | Ranking
Cuts = tuple[int | None, ...]
# Values `[*lists]`, an array per cutoff, and where they are defined, `[*lists]` bool.
Values = tuple[list[jax.Array], jax.Array]


def compare_ids(
    formula: Callable[..., Values],
    first: Ids,
    second: Ids,
    k: RankCutoffs = None,
    numbers: tuple[float, ...] = (),
    reads_cutoffs: bool = False,
    is_share: bool = False,
) -> PerList:
    """Matches two lists of ids, and applies a formula to the ranks of the matches.

    Args:
        formula: `formula(matched, ks, dtype, *numbers)`.
        first: Ids or a ranking.
        second: Ids or a ranking.
        k: As the caller passed it.
        numbers: Numbers that the formula reads; traced, so that changing them does not
            compile again.
        reads_cutoffs: Whether rankings must reach k.
        is_share: Whether values must lie in [0, 1].
    """
    _inputs.same_index(of_lists=_inputs.frames_among(first=first, second=second))
    ks = _inputs.rank_cutoffs(k)
    first_ids, first_dtype = ranked_ids("first", first, ks if reads_cutoffs else ())
    second_ids, second_dtype = ranked_ids("second", second, ks if reads_cutoffs else ())
    _inputs.same_lists("second", second_ids, "first", first_ids)
    dtype = max(first_dtype, second_dtype, key=lambda dtype: dtype.itemsize)
    keep_cutoffs = isinstance(k, (tuple, list))
    static = formula, ks, keep_cutoffs, is_share, dtype.name
    return if_ranked(_apply(*static, first_ids, second_ids, numbers), first, second)


@partial(jax.jit, static_argnums=(0, 1, 2, 3, 4))
def _apply(
    formula: Callable[..., Values],
    ks: Cuts,
    keep_cutoffs: bool,
    is_share: bool,
    dtype: str,
    first: jax.Array,
    second: jax.Array,
    numbers: tuple[jax.Array, ...],
) -> PerList:
    first = _shards.reshard_like(first, second)
    second = _shards.reshard_like(second, first)
    if first.dtype != second.dtype:
        first, second = first.astype(jnp.int64), second.astype(jnp.int64)

    def apply_to_shard(
        tree: tuple[jax.Array, jax.Array, tuple[jax.Array, ...]],
    ) -> PerList:
        first, second, numbers = tree
        cast_numbers = [x.astype(dtype) for x in numbers]
        matched = match(first, second)
        values, defined = formula(matched, ks, jnp.dtype(dtype), *cast_numbers)
        stacked = jnp.stack(values, axis=-1)
        return equally_weighted(stacked, defined, keep_cutoffs, is_share)

    tree = (first, second, tuple(map(jnp.asarray, numbers)))
    return _shards.map_shards(apply_to_shard, tree, first[..., 0])
