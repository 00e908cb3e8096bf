"""One batch of users on the device: ranked once, and read by every metric."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jax_rank_metrics import _inputs
from jax_rank_metrics._calls.run import Bound, measure_ranking
from jax_rank_metrics._formulas.recommended import (
    intra_list_diversity,
    novelty,
    popularity,
)
from jax_rank_metrics._ranking import Ranking
from jax_rank_metrics._sources.catalog import rank_catalog, rank_scores
from jax_rank_metrics._states.per_list import PerList


class Plan(NamedTuple):
    """What is the same for all batches, static."""

    bounds: tuple[Bound, ...]
    k: int
    block_size: int
    ties: Any

    @property
    def cut(self) -> tuple[Bound, ...]:
        """The metrics that have a cutoff, and read a top-k."""
        return tuple(one for one in self.bounds if None not in _inputs.cutoffs(one.k))

    @property
    def whole(self) -> tuple[Bound, ...]:
        """The others, for which places are counted."""
        return tuple(one for one in self.bounds if None in _inputs.cutoffs(one.k))

    @property
    def depth(self) -> int:
        """How many ranks there must be."""
        ks = [k for one in self.cut for k in _inputs.cutoffs(one.k) if k is not None]
        return max([self.k, *ks])


class Catalog(NamedTuple):
    """What is known of items, for all batches; None where it is not."""

    items: Any  # embeddings, of a model that is a product
    item_mask: Any
    counts: Any
    embeddings: Any


class Users(NamedTuple):
    """A batch of users: their embeddings or scores, and what is known of each."""

    rows: Any
    relevant_ids: Any
    labels: Any
    seen_ids: Any
    weights: Any
    key: Any


def names(plan: Plan, catalog: Catalog) -> list[str]:
    """Those of what `measure_users` gives."""
    beyond = ["popularity", "novelty"] * (catalog.counts is not None)
    beyond += ["intra_list_diversity"] * (catalog.embeddings is not None)
    return [one.name for one in plan.bounds] + [f"{one}@{plan.k}" for one in beyond]


@partial(jax.jit, static_argnums=0)
def measure_users(
    plan: Plan, catalog: Catalog, users: Users
) -> tuple[list[PerList], jax.Array, jax.Array]:
    """Measures a batch.

    Returns:
        The values of all metrics for each user; the ids of what comes first, `[users,
        k]`; and whether a user has a score that is nan, `[users]`.
    """

    def ranked(k: int | None) -> Ranking:
        shared: dict[str, Any] = {
            "k": k,
            "relevant_labels": users.labels,
            "exclude_ids": users.seen_ids,
            "item_mask": catalog.item_mask,
            "list_weights": users.weights,
            "ties": plan.ties,
            "key": users.key,
        }
        if catalog.items is None:
            return rank_scores(users.rows, users.relevant_ids, **shared)
        shared["block_size"] = plan.block_size
        return rank_catalog(users.rows, catalog.items, users.relevant_ids, **shared)

    top = ranked(plan.depth)
    lists = measure_ranking(plan.cut, top)
    if plan.whole:
        lists |= measure_ranking(plan.whole, ranked(None))
    found, ids = [lists[one.name] for one in plan.bounds], top.items[..., : plan.k]
    if catalog.counts is not None:
        found += [popularity(ids, catalog.counts), novelty(ids, catalog.counts)]
    if catalog.embeddings is not None:
        found.append(intra_list_diversity(ids, catalog.embeddings))
    return found, ids, _has_nan(catalog, users, ids)


def _has_nan(catalog: Catalog, users: Users, ids: jax.Array) -> jax.Array:
    """Whether the first recommended item, or a relevant one, has the score nan.

    `[users]`. It reads a few scores instead of all: nan ranks below every number, so that
    a user whose first item has it has nothing else, and an item that has it and is
    relevant loses its rank. Items whose embeddings are nan were refused before.
    """
    first = ids[:, :1]
    if catalog.items is None:
        read = jnp.concatenate([first, users.relevant_ids], axis=1)  # [users, ids]
        safe = jnp.maximum(read, 0)
        scores = jnp.take_along_axis(users.rows, safe, axis=1)
        if catalog.item_mask is not None:
            read = jnp.where(catalog.item_mask[safe], read, -1)
    else:
        read = first
        items = catalog.items[jnp.maximum(first[:, 0], 0)]  # [users, dims]
        products = users.rows.astype(jnp.float32) * items.astype(jnp.float32)
        scores = jnp.sum(products, axis=1, keepdims=True)
    return jnp.any((read >= 0) & jnp.isnan(scores.astype(jnp.float32)), axis=1)
