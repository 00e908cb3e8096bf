"""A ranking as a metric that is linear in gains reads it, with other labels."""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from jax_rank_metrics._ranking.items import ItemFn, Items
from jax_rank_metrics._ranking.ranking import Ranking
from jax_rank_metrics._states.per_list import PerList
from jax_rank_metrics._types import Cut, Cutoffs, Number


class Relabelled:
    """The same places, whose items have other labels: what linear formulas read.

    Every function of items is given the other labels, also where it is asked for the
    value of items that are not listed, or of those that tie across the cut. Nothing else
    of the ranking depends on labels, and results that metrics share are kept apart by
    their functions. What a metric that is linear in gains has no use for is missing, such
    as the ideal order.
    """

    def __init__(self, ranking: Ranking, label_fn: ItemFn) -> None:
        """Takes a ranking and the function of its items that gives the other labels."""
        self._ranking, self._label_fn = ranking, label_fn

    def __getattr__(self, name: str) -> object:
        """Raises ValueError for what no linear formula reads."""
        raise ValueError(
            f"a metric with linear=True does not read {name} of a ranking; register the "
            "metric without it"
        )

    def cutoffs(self, k: Cutoffs) -> tuple[Cut, ...]:
        """As `Ranking.cutoffs`."""
        return self._ranking.cutoffs(k)

    def depth(self, ks: Sequence[Cut], *, nominal: bool = False) -> jax.Array:
        """As `Ranking.depth`."""
        return self._ranking.depth(ks, nominal=nominal)

    def expected_sum(
        self,
        item_fn: ItemFn,
        place_fn: Callable[..., jax.Array],
        ks: Sequence[Cut],
        *,
        counting: Sequence[ItemFn] = (),
        per_list: Sequence[jax.Array] = (),
    ) -> jax.Array:
        """As `Ranking.expected_sum`."""
        counting = tuple(map(self._reading, counting))
        return self._ranking.expected_sum(
            self._reading(item_fn), place_fn, ks, counting=counting, per_list=per_list
        )

    def pool_sum(self, item_fn: ItemFn) -> jax.Array:
        """As `Ranking.pool_sum`."""
        return self._ranking.pool_sum(self._reading(item_fn))

    def pool_max(self, item_fn: ItemFn) -> jax.Array:
        """As `Ranking.pool_max`."""
        return self._ranking.pool_max(self._reading(item_fn))

    def num_relevant(self, relevance_threshold: Number) -> jax.Array:
        """As `Ranking.num_relevant`, where all labels are known."""
        return self.pool_sum(_is_relevant(relevance_threshold))

    def per_list(
        self,
        values: jax.Array,
        defined: jax.Array | bool,
        k: Cutoffs,
        item_fn: ItemFn,
    ) -> PerList:
        """As `Ranking.per_list`."""
        return self._ranking.per_list(values, defined, k, self._reading(item_fn))

    @property
    def _column_names(self) -> list[str]:
        return self._ranking._column_names

    def _check_complete(self, column: str) -> None:
        self._ranking._check_complete(column)

    @property
    def _has_item_weights(self) -> bool:
        if self._ranking._has_item_weights:
            raise ValueError(
                "weights weighs items, and their mean weight, by which this metric "
                "divides, depends on the labels of all, so that it is not linear in gains; "
                "pass weights of lists, or a metric that does not read those of items, "
                "such as rbp"
            )
        return False

    def _reading(self, item_fn: ItemFn) -> ItemFn:
        return _with_labels(item_fn, self._label_fn)


@functools.lru_cache(maxsize=256)
def _is_relevant(threshold: Number) -> ItemFn:
    return lambda items: items.relevant(threshold)


@functools.lru_cache(maxsize=256)
def _with_labels(item_fn: ItemFn, label_fn: ItemFn) -> ItemFn:
    """Returns `item_fn` of the items with the labels that `label_fn` gives them."""

    def values(items: Items) -> jax.Array:
        labels = jnp.where(items.exists, label_fn(items), 0)
        return item_fn(dataclasses.replace(items, labels=labels))

    return values
