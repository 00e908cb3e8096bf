"""`jrm.rank_scores`: few relevant items among scores that exist."""

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Shaped

from jax_rank_metrics import _inputs, _types
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.blocks import Catalog
from jax_rank_metrics._sources.catalog import rank_checked
from jax_rank_metrics._sources.ids import Relevant


def rank_scores(
    scores: _types.Scores,
    relevant_ids: _types.RelevantIds,
    relevant_labels: _types.RelevantIds | None = None,
    *,
    item_mask: Shaped[ArrayLike, "..."] | None = None,
    exclude_ids: Shaped[ArrayLike, "*lists excluded"] | None = None,
    k: _types.Cutoffs = None,
    list_weights: _types.PerListInput | None = None,
    items_axis: _types.AxisNames | None = None,
    ties: _types.Ties | None = None,
    key: _types.Key | None = None,
    columns: _types.Columns | None = None,
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
    relevant = _inputs.relevant_items(
        relevant_ids, relevant_labels, columns, "scores", scores
    )
    if item_mask is not None:
        item_mask = _inputs.boolean("item_mask", item_mask)
        if item_mask.shape not in (scores.shape, scores.shape[-1:]):
            raise ValueError(
                f"item_mask has shape {item_mask.shape}, but scores has shape "
                f"{scores.shape}; pass one per item, {scores.shape[-1:]} or {scores.shape}"
            )
    # A catalogue of one block, whose items have no embeddings.
    size = scores.shape[-1]
    return rank_checked(
        Catalog(
            queries=scores,
            items=jnp.zeros((size, 0)),
            relevant=Relevant(*relevant),
            exclude_ids=exclude_ids,
            item_mask=item_mask,
            list_weights=list_weights,
            key=key,
            score_fn=_known,
            block_size=size,
            depth=k,
            ties=ties,
            items_axis=items_axis,
        )
    )


def _known(scores: jax.Array, items: jax.Array) -> jax.Array:
    del items
    return scores
