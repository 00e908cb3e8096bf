"""Writes states as scalars for TensorBoard."""

from collections.abc import Mapping
from typing import Protocol

from jax_rank_metrics._values import mean
from jax_rank_metrics._verdicts.tables.estimates import estimates


class ScalarWriter(Protocol):
    """The method of a `SummaryWriter` that `write` calls."""

    def add_scalar(self, tag: str, value: float, step: int, /) -> object:
        """Writes one value of a tag, at a step."""


def write(
    writer: ScalarWriter,
    states: Mapping[str, mean.Mean],
    step: int,
    prefix: str = "",
    *,
    std_errors: bool = False,
) -> None:
    """Writes the mean of every metric and cutoff, at a step.

    Args:
        writer: A `SummaryWriter` of tensorboardX or of PyTorch, or any object with its
            `add_scalar`. tensorboardX writes an @ in a name as _.
        states: The result of `evaluate`, or a `PerList` for each name.
        step: The training step.
        prefix: The start of every name, such as "eval/".
        std_errors: If True, also write standard errors, under names that end in
            "/std_error".

    Raises:
        TypeError: if `states` holds anything else.
        ValueError: if states are stacked, or two cutoffs have the same name.

    >>> import jax.numpy as jnp
    >>> from jax_rank_metrics import evaluate
    >>> class Printing:
    ...     def add_scalar(self, *scalar):
    ...         print(*scalar)
    >>> labels, scores = jnp.array([[0, 1], [1, 0]]), jnp.array([[0.9, 0.1], [0.8, 0.3]])
    >>> states = evaluate(("mrr", "recall@1,2"), labels, scores)
    >>> write(Printing(), states, 20, "eval/")
    eval/mrr 0.75 20
    eval/recall@1 0.5 20
    eval/recall@2 1.0 20
    """
    if any(isinstance(state, Mapping) for state in states.values()):
        raise TypeError("states holds several runs; write one run at a time")
    (run,) = estimates(states, 0.95).values()
    for name, estimate in run.items():
        writer.add_scalar(f"{prefix}{name}", float(estimate.mean), step)
        if std_errors:
            error = float(estimate.std_error)
            writer.add_scalar(f"{prefix}{name}/std_error", error, step)
