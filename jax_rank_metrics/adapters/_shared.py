"""Helpers of the adapters: import a framework, and read the batches of its loops."""

import difflib
import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np

from jax_rank_metrics._engine.calls.binding import Metrics, bind_all
from jax_rank_metrics._engine.calls.evaluate import empty, evaluate
from jax_rank_metrics._engine.metrics.spec import Bound
from jax_rank_metrics._ground import optional
from jax_rank_metrics._ground.inputs import padding
from jax_rank_metrics._values import mean, merging

# The arguments of `evaluate` that come with a batch. All other arguments are options.
BATCH_ARGUMENTS = (
    *("labels", "scores", "mask", "weights", "key", "list_weights"),
    *("segment_ids", "retrieved", "columns"),
)

# Arguments that replace labels: arguments of `rank_scores`, or a ranking of any source.
_OF_RANKINGS = ("relevant_ids", "relevant_labels", "exclude_ids", "ranking")

# The names of labels and scores in other libraries, for messages.
_SYNONYMS = {
    "labels": ("targets", "target", "y_true", "relevance", "label"),
    "scores": ("logits", "predictions", "preds", "y_pred", "outputs", "score"),
}


def framework(library: str, adapter: str) -> ModuleType:
    """Imports a module of a framework, such as "flax.nnx".

    Args:
        library: The dotted name of the module.
        adapter: The name of the module that needs it, for the message.

    Raises:
        ModuleNotFoundError: if the framework is not installed; the message says that the
            extra "frameworks" installs it.
    """
    return optional.import_optional(library, adapter, "frameworks")


def bind_metrics(metrics: Metrics, options: Mapping[str, Any]) -> tuple[Bound, ...]:
    """Returns metrics in a hashable form, and checks options.

    `evaluate` and `empty` accept the tuple as metrics. The tuple does not hold the options,
    so pass the options to each call of `evaluate`.

    Raises:
        ValueError: if a name is unknown.
        TypeError: if `evaluate` has no such option, or an option is `k`.
    """
    check_options(options)
    return bind_all(metrics)


def check_options(options: Mapping[str, Any]) -> None:
    """Raises TypeError if `evaluate` has no such option, or if an option is `k`."""
    if "k" in options:
        raise TypeError(
            "got the option k, but each metric has its own cutoff; write it into the "
            "name, as in 'ndcg@10'"
        )
    inspect.signature(evaluate).bind_partial((), **options)


def batch_arguments(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the entries of a batch that are arguments of `evaluate` or `rank_scores`.

    A mask with one axis less than the labels (or the scores, if there are relevant ids)
    masks whole lists. Metrics of single examples have such masks.

    Raises:
        TypeError: if labels or scores are missing; if a name is almost the name of an
            argument that the batch lacks.
    """
    known = (*BATCH_ARGUMENTS, *_OF_RANKINGS)
    arguments = {name: batch[name] for name in known if batch.get(name) is not None}
    for name in batch.keys() - {*known}:
        meant = difflib.get_close_matches(name, known, 1, 0.85)
        if meant and meant[0] not in arguments:
            raise TypeError(
                f"got {name}, which would be ignored; pass {meant[0]}=…, or give it "
                "another name if it is for another metric"
            )
    if "ranking" in arguments:
        return arguments
    in_batch = "relevant_ids" in arguments
    for name in ("scores",) if in_batch else ("labels", "scores"):
        if name not in arguments:
            synonym = next((word for word in _SYNONYMS[name] if word in batch), "…")
            raise TypeError(
                f"{name} are missing; pass {name}={synonym} (the batch holds "
                f"{', '.join(sorted(batch)) or 'nothing'})"
            )
    if "mask" in arguments:
        mask = jnp.asarray(arguments["mask"]).astype(bool)
        items = arguments["scores" if in_batch else "labels"]
        if mask.ndim == jnp.ndim(items) - 1:
            mask = jnp.broadcast_to(mask[..., None], jnp.shape(items))
        arguments["mask"] = mask
    return arguments


def require_lists(name: str, shape: tuple[int, ...], cure: str) -> None:
    """Raises `ValueError` unless an array of a batch has axes of lists and of items.

    In an array `[…, 1]`, every item would be a list of its own; an array `[batch]` would be
    a single list.

    Args:
        name: The argument, for the message.
        shape: The shape of the array.
        cure: The end of the message, which says what to pass.
    """
    if len(shape) < 2 or shape[-1] == 1:
        meaning = (
            "every list has a single item"
            if len(shape) > 1
            else "all items are one list"
        )
        raise ValueError(f"{name} has shape {shape}, so that {meaning}; {cure}")


def evaluate_lists(
    metrics: Metrics,
    starts: np.ndarray,
    items: Mapping[str, np.ndarray],
    per_list: Mapping[str, np.ndarray],
    options: Mapping[str, Any],
) -> dict[str, mean.Mean]:
    """Calls `evaluate` on lists of any number and length, in blocks of a few shapes.

    Evaluations of any size therefore share a few compiled programs.

    Args:
        metrics: The metrics, as returned by `bind_metrics`.
        starts: `[lists + 1]`, the index at which each list begins in the flat arrays, and
            the index at which the last list ends.
        items: A dict from names to flat arguments of `evaluate` for items.
        per_list: A dict from names to arguments of `evaluate` for lists, `[lists]`.
        options: Other arguments of `evaluate`, except `BATCH_ARGUMENTS`.
    """
    states = empty(metrics)
    for block in padding.padded_blocks(starts):
        arrays = {name: block.items(values) for name, values in items.items()}
        arrays |= {name: block.per_list(values) for name, values in per_list.items()}
        batch = evaluate(metrics, mask=block.exists, **arrays, **options)
        states = merging.merge(states, batch)
    return states
