"""Catalogues whose arrays are sharded by their types: each device ranks with its part."""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax.sharding import PartitionSpec

from jax_rank_metrics import _shards
from jax_rank_metrics._sources.blocks import Catalog

R = TypeVar("R")


def map_catalog_shards(
    fn: Callable[[Catalog], R], catalog: Catalog, *, has_items: bool = False
) -> R:
    """Computes `fn(catalog)`, shard by shard where types say that arrays are sharded.

    Items stay where they are, since most of the data are theirs. Where one mesh axis cuts
    items and queries, the queries are gathered.

    Args:
        fn: Returns a pytree of arrays `[*lists, …]`, which must be equal on all devices
            over which items are cut.
        catalog: The catalogue, traced.
        has_items: Whether `fn` returns arrays `[*lists, items]` instead.
    """
    leaves, structure = jax.tree.flatten(catalog)
    axes = structure.flatten_up_to(_axes_of(catalog))
    # Arrays that are whole on every device do not say how to cut the ranking.
    arrays = {
        kind: [
            x for x, axes_of_x in zip(leaves, axes, strict=True) if axes_of_x == kind
        ]
        for kind in ("items", "per_item", "per_list")
    }
    cut = _shards.cut_of(len(catalog.lists), **arrays)
    if cut is None:
        return fn(catalog)
    # Every list draws the seeds that it has on one device.
    catalog = dataclasses.replace(catalog, drawn_seeds=catalog.seeds)
    in_specs = jax.tree.map(
        lambda kind: getattr(cut, kind, PartitionSpec()), _axes_of(catalog)
    )
    return _shards.shard_map(
        # No axes, where only lists are cut: every device then has all items of its lists.
        lambda part: fn(dataclasses.replace(part, items_axis=cut.over_items or None)),
        cut.mesh,
        (in_specs,),
        cut.per_item if has_items else cut.per_list,
        catalog,
    )


def _axes_of(catalog: Catalog) -> Catalog:
    """Returns, for each array, what its first axes are: the name of a spec of `Cut`.

    "whole" is no such name, and stands for arrays that are the same on every device.
    """
    mask = catalog.item_mask
    is_shared = mask is not None and mask.ndim == 1
    kinds = {
        # Known scores, `[*lists, items]`, stand in the place of queries, `[*lists, dims]`.
        "queries": "per_item" if catalog.scorer.has_scores else "per_list",
        "items": "items",
        "similarity": "whole",
        "item_groups": "whole",
        "item_mask": "items" if is_shared else "per_item",
        "retrieved": "per_item",
        "key": "whole",
        "first_id": "whole",
        "item_attributes": "items",
    }

    def kind(path: tuple[Any, ...], _: object) -> str:
        # The field of the catalogue, and the field of what this holds.
        names = [getattr(key, "name", None) for key in path[:2]]
        return next((kinds[name] for name in names if name in kinds), "per_list")

    return jax.tree_util.tree_map_with_path(kind, catalog)
