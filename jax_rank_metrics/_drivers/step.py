"""One batch of users on the device: ranked once, and read by every metric."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._calls.run import Bound, measure_ranking
from jax_rank_metrics._formulas.beyond_accuracy import (
    intra_list_diversity,
    novelty,
    popularity,
)
from jax_rank_metrics._one_off import one_off_jit
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.catalog import rank_catalog, rank_scores
from jax_rank_metrics._states.per_list import PerList

# Arrays of a batch come from the host, and are traced inside the program.
Array = jax.Array | np.ndarray


class Plan(NamedTuple):
    """The options that all batches share, static.

    Attributes:
        bounds: The metrics, with their options.
        k: How many items are recommended to each user.
        block_size: How many items `rank_catalog` scores at a time.
        ties: The tie policy.
    """

    bounds: tuple[Bound, ...]
    k: int
    block_size: int
    ties: str | None

    @property
    def top_k_metrics(self) -> tuple[Bound, ...]:
        """The metrics with a cutoff, which read the top-k."""
        return tuple(x for x in self.bounds if None not in _inputs.cutoffs(x.k))

    @property
    def whole_list_metrics(self) -> tuple[Bound, ...]:
        """The metrics without a cutoff, for which places are counted."""
        return tuple(x for x in self.bounds if None in _inputs.cutoffs(x.k))

    @property
    def ties_of_places(self) -> str | None:
        """The tie policy for counted places, which orders no ties that nobody reads."""
        reads_order = any(x.tie_reading == "order" for x in self.whole_list_metrics)
        return "expected" if self.ties is None and not reads_order else self.ties

    @property
    def depth(self) -> int:
        """The number of ranks in the top-k: for the recommendations and the cutoffs."""
        ks = [k for bound in self.top_k_metrics for k in _inputs.cutoffs(bound.k)]
        return max([self.k, *(k for k in ks if k is not None)])


class Catalog(NamedTuple):
    """Arrays over the items, for all batches; None where there is none.

    Attributes:
        item_embeddings: `[items, dims]`, where scores are products of embeddings.
        item_mask: `[items]` bool, the items that may be recommended.
        counts: `[items]` int32, how many users have seen each item.
        features: `[items, features]`, in which diversity is measured.
    """

    item_embeddings: jax.Array | None
    item_mask: jax.Array | None
    counts: jax.Array | None
    features: jax.Array | None


class UserBatch(NamedTuple):
    """The users of a batch.

    Attributes:
        rows: `[users, dims]` embeddings, or `[users, items]` scores.
        relevant_ids: `[users, relevant]`, padded with −1.
        relevant_labels: The same shape.
        seen_ids: `[users, seen]`, padded with −1; or None.
        weights: `[users]`, 1, or 0 for users that only fill up the batch.
        key: The key of this batch for random ties, or None.
    """

    rows: jax.Array
    relevant_ids: Array
    relevant_labels: Array
    seen_ids: Array | None
    weights: Array
    key: jax.Array | None


def metric_names(plan: Plan, catalog: Catalog) -> list[str]:
    """Returns the names of the values that `measure_users` returns, in their order.

    The metrics of the plan come first, such as "mrr" and "recall@1,2", with one name for
    all cutoffs of a metric. Then come "popularity@k" and "novelty@k" if the catalogue has
    counts, and "intra_list_diversity@k" if it has features, with the k of the plan.
    """
    beyond_accuracy = ["popularity", "novelty"] * (catalog.counts is not None)
    beyond_accuracy += ["intra_list_diversity"] * (catalog.features is not None)
    names = [bound.name for bound in plan.bounds]
    return names + [f"{name}@{plan.k}" for name in beyond_accuracy]


def measure_users(
    plan: Plan, catalog: Catalog, users: UserBatch
) -> tuple[list[PerList], jax.Array, jax.Array]:
    """Ranks the items for each user of a batch, and measures these rankings.

    Returns:
        The values of each metric, in the order of `metric_names`; the ids of the
        recommended items, `[users, k]`; and whether the scores of a user hold NaN,
        `[users]` bool.
    """

    def rank(k: int | None, ties: str | None) -> Ranking:
        arguments: dict[str, Any] = {
            "k": k,
            "relevant_labels": users.relevant_labels,
            "exclude_ids": users.seen_ids,
            "item_mask": catalog.item_mask,
            "list_weights": users.weights,
            "ties": ties,
            "key": users.key,
        }
        if catalog.item_embeddings is None:
            return rank_scores(users.rows, users.relevant_ids, **arguments)
        arguments["block_size"] = plan.block_size
        items = catalog.item_embeddings
        return rank_catalog(users.rows, items, users.relevant_ids, **arguments)

    top_k = rank(plan.depth, plan.ties)
    values = measure_ranking(plan.top_k_metrics, top_k)
    if plan.whole_list_metrics:
        places = rank(None, plan.ties_of_places)
        values |= measure_ranking(plan.whole_list_metrics, places)
    lists = [values[bound.name] for bound in plan.bounds]
    ids = top_k.items[..., : plan.k]
    if catalog.counts is not None:
        lists += [popularity(ids, catalog.counts), novelty(ids, catalog.counts)]
    if catalog.features is not None:
        lists.append(intra_list_diversity(ids, catalog.features))
    return lists, ids, _has_nan(catalog, users, ids)


program = one_off_jit(measure_users, ("plan",), level=1)


def _has_nan(catalog: Catalog, users: UserBatch, ids: jax.Array) -> jax.Array:
    """Whether the first recommended item, or a relevant one, has the score NaN, `[users]`.

    These few scores are enough. NaN ranks below every number, so a first item with the
    score NaN means that no score is a number; and other NaNs change a metric only if the
    item is relevant. Where scores are products, item embeddings with NaN were refused
    before, and only the first item is looked at.

    Args:
        catalog: The arrays over the items.
        users: The batch.
        ids: `[users, k]`, the recommended items; −1 where there are none.
    """
    top_ids = ids[:, :1]
    if catalog.item_embeddings is None:
        read_ids = jnp.concatenate([top_ids, users.relevant_ids], axis=1)
        indices = jnp.maximum(read_ids, 0)  # [users, ids]
        scores = jnp.take_along_axis(users.rows, indices, axis=1)
        if catalog.item_mask is not None:
            read_ids = jnp.where(catalog.item_mask[indices], read_ids, -1)
    else:
        read_ids = top_ids
        top_items = catalog.item_embeddings[jnp.maximum(top_ids[:, 0], 0)]
        products = users.rows.astype(jnp.float32) * top_items.astype(jnp.float32)
        scores = jnp.sum(products, axis=1, keepdims=True)
    is_nan = jnp.isnan(scores.astype(jnp.float32))
    return jnp.any((read_ids >= 0) & is_nan, axis=1)
