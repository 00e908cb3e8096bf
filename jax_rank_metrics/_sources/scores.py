"""`jrm.rank_scores`: few relevant items among scores that exist."""

from jax.typing import ArrayLike
from jaxtyping import Shaped

from jax_rank_metrics import _inputs
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.catalog import rank_checked
from jax_rank_metrics._types import (
    AxisNames,
    Columns,
    Cutoffs,
    Key,
    PerListInput,
    RelevantIds,
    Scores,
    Ties,
)


def rank_scores(
    scores: Scores,
    relevant_ids: RelevantIds,
    relevant_labels: RelevantIds | None = None,
    *,
    item_mask: Shaped[ArrayLike, "..."] | None = None,
    exclude_ids: Shaped[ArrayLike, "*lists excluded"] | None = None,
    k: Cutoffs = None,
    list_weights: PerListInput | None = None,
    items_axis: AxisNames | None = None,
    ties: Ties | None = None,
    key: Key | None = None,
    columns: Columns | None = None,
) -> Ranking:
    """Ranks few relevant items of each list among all scores, without a sort.

    With k=None each relevant item's place is counted: how many items score higher, and
    how many the same. That reads the scores once for each, and is exact for every
    metric at every cutoff and without one. With in-batch negatives, where query i is to
    find item i, `rank_scores(scores, jnp.arange(n)[:, None])` is all there is to it.

    Args:
        scores: `[*lists, items]`, as for `rank`; an item's index is its id.
        relevant_ids: As for `rank_catalog`, as are the rest.
        relevant_labels: The same shape, or None for 1.
        item_mask: `[items]` or `[*lists, items]` bool, items that exist.
        exclude_ids: `[*lists, excluded]` integers, items that leave the list.
        k: None to count; or how deep to rank by a top-k, which is quicker where many
            items are relevant.
        list_weights: `[*lists]`, or None for 1. 0 for queries that are padding: without,
            their lists count as such in which nothing was found.
        items_axis: Inside `jax.shard_map`, the mesh axis or axes over which items are
            cut, in equal parts; ids count through all parts.
        ties: As for `rank`.
        key: As for `rank`.
        columns: By name, arrays `[*lists, relevant, …]`; see `rank_ids`.

    Returns:
        A `Ranking`. With k=None it has no order, so no `items`.

    Raises:
        ValueError: if shapes differ, an option has no such value, or scores are sharded
            by their type outside `jax.shard_map`.
        TypeError: if ids are not integers, or the mask is not bool.

    >>> import jax.numpy as jnp
    >>> from jax_rank_metrics import reciprocal_rank
    >>> scores = jnp.array([[0.9, 0.2, 0.1], [0.8, 0.3, 0.5]])
    >>> ranking = rank_scores(scores, jnp.arange(2)[:, None])
    >>> [f"{value:.2f}" for value in reciprocal_rank.of(ranking).values]
    ['1.00', '0.33']
    """
    scores = _inputs.real("scores", scores)
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores has shape {scores.shape}; pass at least one item")
    _inputs.unsharded("scores", scores, "with items_axis if items are cut")
    relevant_ids, relevant_labels = _inputs.relevant_items(
        relevant_ids, relevant_labels, "scores", scores
    )
    if item_mask is not None:
        item_mask = _inputs.boolean("item_mask", item_mask)
        if item_mask.shape not in (scores.shape, scores.shape[-1:]):
            raise ValueError(
                f"item_mask has shape {item_mask.shape}, but scores has shape "
                f"{scores.shape}; pass one per item, {scores.shape[-1:]} or {scores.shape}"
            )
    return rank_checked(
        (scores, None, None),
        relevant_ids,
        relevant_labels,
        columns,
        exclude_ids,
        item_mask,
        list_weights,
        key,
        ties,
        k,
        1,
        items_axis,
        None,
    )
