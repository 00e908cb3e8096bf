"""What the adapters share: their framework, and the states of a batch given by name."""

import inspect
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from jax_rank_metrics._calls.evaluate import evaluate
from jax_rank_metrics._calls.names import Metrics, bind_all
from jax_rank_metrics._optional import import_optional
from jax_rank_metrics._states.mean import Mean

# The arguments of `evaluate` that come with a batch. All others are options.
ARRAYS = ("labels", "scores", "mask", "weights", "key", "list_weights")
ARRAYS += ("segment_ids", "retrieved", "columns")


def framework(library: str, adapter: str) -> Any:
    """The module of a framework, or an error that names the extra."""
    return import_optional(library, adapter, "frameworks")


def checked(metrics: Metrics, options: Mapping[str, Any]) -> Any:
    """The same metrics as a hashable value, which `evaluate` and `empty` take too.

    Raises:
        TypeError: if `evaluate` has no such option.
    """
    inspect.signature(evaluate).bind_partial(metrics, **options)
    return bind_all(metrics)


def evaluate_named(
    metrics: Any, batch: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Mean]:
    """`evaluate` of what a batch holds for it, whatever else is there.

    A mask may have an axis less than the labels, as metrics of single examples have it:
    then it is of whole lists.
    """
    given = {name: batch[name] for name in ARRAYS if batch.get(name) is not None}
    if "mask" in given and "labels" in given:
        mask, labels = jnp.asarray(given["mask"]).astype(bool), given["labels"]
        if mask.ndim == jnp.ndim(labels) - 1:
            mask = jnp.broadcast_to(mask[..., None], jnp.shape(labels))
        given["mask"] = mask
    return evaluate(metrics, **given, **options)
