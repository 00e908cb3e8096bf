"""The arguments that `rank`, `evaluate` and metrics share, declared and checked."""

from __future__ import annotations  # metrics show the names of types, not their unions

import inspect
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypedDict, TypeVar, Unpack, get_type_hints

import jax
import numpy as np

from jax_rank_metrics._engine import items
from jax_rank_metrics._engine.ordering import policies
from jax_rank_metrics._engine.places import soft_places
from jax_rank_metrics._engine.sources import lists
from jax_rank_metrics._ground import inputs, meshes, messages, pytrees, types
from jax_rank_metrics._ground.inputs.list_ids import IDS_OF_SIZES
from jax_rank_metrics._values import remarks

P = ParamSpec("P")
R = TypeVar("R")


class ListOptions(TypedDict, total=False):
    """The options of lists with scores; `rank` documents them. Each defaults to None."""

    ties: types.Ties | None
    list_weights: types.ListWeights | None
    segment_ids: types.SegmentIds | None
    num_segments: int | None
    items_axis: types.AxisNames | None
    retrieved: types.Mask | None
    columns: types.Columns | None
    relax: soft_places.sigmoid_ranks | None


def with_list_options(function: Callable[P, R]) -> Callable[P, R]:
    """Replaces `**options` at the end of a signature by the keywords of `ListOptions`."""
    signature = inspect.signature(function)
    *parameters, _ = signature.parameters.values()
    parameters += [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint
        )
        for name, hint in get_type_hints(ListOptions).items()
    ]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore
    return function


@pytrees.pytree("num_segments", "items_axis", "relax", "ranks", "few_relevant")
class ScoredLists:
    """The checked arguments of `rank`; fields without arrays are static.

    Attributes:
        list_weights: `[*lists]`, or a scalar for every list.
        key: The key of random ties; None once the policy has drawn seeds from it.
        ranks: How many ranks are read: None for all, 0 if no order is read.
        few_relevant: True to count the places of few relevant items, instead of sorting
            all items; see `few_relevant.is_faster`.
    """

    raw_items: items.RawItems
    scores: jax.Array
    list_weights: jax.Array | None
    key: jax.Array | None
    segment_ids: jax.Array | None
    policy: policies.Policy
    num_segments: int | None
    items_axis: types.AxisNames | None
    relax: soft_places.sigmoid_ranks | None
    ranks: int | None = None
    few_relevant: bool = False

    @property
    def num_lists(self) -> int:
        """The number of lists, packed or as rows."""
        return math.prod(self.scores.shape[:-1]) * (self.num_segments or 1)


def checked(
    labels: types.Labels,
    scores: types.Scores,
    mask: types.Mask | None = None,
    weights: types.Weights | None = None,
    key: types.Key | None = None,
    **options: Unpack[ListOptions],
) -> ScoredLists:
    """Checks the arguments of `rank`.

    Raises:
        TypeError: if an option is not one of `ListOptions`.
        ValueError: as `rank`.
    """
    for name in options.keys() - ListOptions.__annotations__.keys():
        known = ", ".join(ListOptions.__annotations__)
        if name in ("group", "groups", "group_id", "qid", "query_id"):
            known += (
                "; if that argument holds the list of each item, pass "
                f"segment_ids=jrm.pack({name}), and if it holds sizes of lists, pass "
                f"segment_ids=jrm.pack({IDS_OF_SIZES})"
            )
        raise TypeError(
            f"got an unexpected keyword argument {name!r}; beside labels, scores, mask, "
            f"weights and key, pass only {known}"
        )
    check_index(labels, scores, mask, weights, **options)
    labels, mask = inputs.item_arrays("labels", labels, mask)
    scores = inputs.real("scores", scores)
    inputs.same_shape("scores", scores, "labels", labels.shape)
    segment_ids, num_segments = inputs.read_segments(
        labels, options.get("segment_ids"), options.get("num_segments")
    )
    raw_weights = weights
    weights, list_weights = inputs.weights_for(
        labels, weights, options.get("list_weights"), num_segments
    )
    retrieved = options.get("retrieved")
    retrieved = inputs.boolean("retrieved", retrieved, "labels", labels.shape)
    columns = inputs.columns(options.get("columns"), "labels", labels.shape)
    items_axis = inputs.axis_names("items_axis", options.get("items_axis"))
    ties, relax = options.get("ties"), options.get("relax")
    _check_relax(relax, ties=ties, items_axis=items_axis)
    policy, key = lists.resolve(ties, key)
    if items_axis is not None:
        if segment_ids is not None:
            raise ValueError(
                "segment_ids and items_axis are both given, but packed lists must be whole "
                "on a device; pass one of the two"
            )
        if meshes.is_sharded(scores):
            raise ValueError(
                f"items_axis is {items_axis!r}, but the type of scores already says how "
                "they are sharded; leave items_axis out, or call inside jax.shard_map "
                "over that axis"
            )
    _warn_of_weights(labels, mask, raw_weights, options.get("list_weights"))
    dtype = inputs.float_dtype(labels, weights, list_weights, scores).name
    raw_items = items.RawItems(labels, dtype, mask, weights, retrieved, columns)
    arrays = (raw_items, scores, list_weights, key, segment_ids)
    return ScoredLists(*arrays, policy, num_segments, items_axis, relax)


def _warn_of_weights(
    labels: jax.Array, mask: jax.Array | None, weights: object, list_weights: object
) -> None:
    """Warns if known list weights are below 0 or NaN, or known item weights are NaN."""
    for name, value in (("weights", weights), ("list_weights", list_weights)):
        array = inputs.on_host(name, value)
        if array is None:
            continue
        if name == "weights" and array.ndim == labels.ndim:
            # Item weights may mask items on purpose, and be NaN at padding. So warn only if
            # an item with a label from 0 on has NaN, and never if a mask is passed.
            may_warn = mask is None and inputs.is_readable(labels)
            if not (may_warn and np.isnan(array).any()):
                continue
            array = np.where(np.asarray(labels) >= 0, abs(array), 1)
        for remark in remarks.remark_on_weights(name, array):
            messages.warn(remark)


def check_index(
    labels: object, scores: object, mask: object, weights: object, **options: Any
) -> None:
    """Raises if pandas arguments differ in the index of their items or lists."""
    item_values = {"labels": labels, "scores": scores, "mask": mask}
    item_values |= {name: options.get(name) for name in ("retrieved", "segment_ids")}
    item_values |= inputs.named(options.get("columns"))
    list_values = {"list_weights": options.get("list_weights")}
    # If labels have an axis of lists, the index of weights is an index of lists.
    (list_values if getattr(labels, "ndim", 1) > 1 else item_values)["weights"] = (
        weights
    )
    inputs.same_index(item_values, list_values)


def _check_relax(relax: object, **incompatible: object) -> None:
    """Raises unless `relax` is None, or valid and all `incompatible` arguments are None."""
    if relax is None:
        return
    if not isinstance(relax, soft_places.sigmoid_ranks):
        raise TypeError(
            f"relax is {relax!r}; pass None, or soft ranks with a temperature, such as "
            "jrm.sigmoid_ranks(0.1)"
        )
    for name, value in incompatible.items():
        if value is not None:
            raise ValueError(
                f"relax and {name} are both given, but soft ranks need whole lists and "
                "have no tie policy; pass one of the two"
            )
