"""Other labels than those passed, for metrics that are linear in gains."""

import dataclasses

import jax
import jax.numpy as jnp

from jax_rank_metrics._arithmetic import widen
from jax_rank_metrics._by_options import by_options
from jax_rank_metrics._ranking.items import ItemFn, Items


@by_options
def relabelling(item_fn: ItemFn, *, label_fn: ItemFn) -> ItemFn:
    """Returns the function of items that reads the labels that `label_fn` gives them."""
    return _of_other_labels(item_fn, label_fn)


@by_options
def _of_other_labels(items: Items, *, item_fn: ItemFn, label_fn: ItemFn) -> jax.Array:
    return item_fn(_with_labels(items, label_fn(items)))


@by_options
def expected_worth(items: Items, *, item_fn: ItemFn) -> jax.Array:
    """Returns the mean of `item_fn` where labels are the probabilities of 1, and else 0.

    An item worth 3 with the label 1 and 1 with the label 0 is worth 1.5 with 0.25.
    """
    labels = items.labels
    of_one, of_zero = (
        jnp.asarray(item_fn(_with_labels(items, x))).astype(labels.dtype)
        for x in (jnp.ones_like(labels), jnp.zeros_like(labels))
    )
    return of_zero + widen(labels, of_one) * (of_one - of_zero)


def _with_labels(items: Items, labels: jax.Array) -> Items:
    """Returns items with other labels, 0 where no item exists."""
    labels = jnp.where(items.exists, labels, 0)
    return dataclasses.replace(items, labels=labels)
