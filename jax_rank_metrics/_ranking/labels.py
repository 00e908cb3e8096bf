"""Other labels than those passed, for metrics that are linear in gains."""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jax_rank_metrics._arithmetic import widen
from jax_rank_metrics._ranking.items import ItemFn, Items

# Results in the memo of a call are kept by the identity of functions of items, so that
# each of these functions is made once.


@functools.lru_cache(maxsize=256)
def relabelling(label_fn: ItemFn) -> Callable[[ItemFn], ItemFn]:
    """Returns what makes functions of items read the labels that `label_fn` gives them."""

    @functools.lru_cache(maxsize=256)
    def relabel(item_fn: ItemFn) -> ItemFn:
        return lambda items: item_fn(_with_labels(items, label_fn(items)))

    return relabel


@functools.lru_cache(maxsize=256)
def expected_worth(item_fn: ItemFn) -> ItemFn:
    """Returns the mean of `item_fn` where labels are the probabilities of 1, and else 0.

    An item worth 3 with the label 1 and 1 with the label 0 is worth 1.5 with 0.25.
    """

    def values(items: Items) -> jax.Array:
        labels = items.labels
        of_one, of_zero = (
            jnp.asarray(item_fn(_with_labels(items, x))).astype(labels.dtype)
            for x in (jnp.ones_like(labels), jnp.zeros_like(labels))
        )
        return of_zero + widen(labels, of_one) * (of_one - of_zero)

    return values


def _with_labels(items: Items, labels: jax.Array) -> Items:
    """Returns items with other labels, 0 where no item exists."""
    labels = jnp.where(items.exists, labels, 0)
    return dataclasses.replace(items, labels=labels)
