"""A case: the drawn arguments of one call, as plain arrays and options."""

import dataclasses
from typing import Any, Protocol

import numpy as np

from fuzzing.loops import METRICS, Lists, Metric

# The axes of each array: lists, items, dimensions; "." is an axis that is never cut.
AXES = {
    "labels": "li",
    "scores": "li",
    "mask": "li",
    "weights": "li",
    "list_weights": "l",
    "retrieved": "li",
    "excluded": "li",
    "candidates": "li",
    "item_mask": "i",
    "queries": "ld",
    "items": "id",
    "query_classes": "l",
    "item_classes": "i",
    "query_cameras": "l",
    "item_cameras": "i",
    "evaluated": "l",
    "triples": "l.",
    "known": "k.",
    "entities": "..",
}
OPTIONAL = {
    *("mask", "weights", "list_weights", "retrieved", "excluded", "item_mask"),
    *("evaluated", "candidates"),
}


class InvalidCase(Exception):
    """A case without a right result; it is not compared."""


@dataclasses.dataclass(frozen=True)
class Cut:
    """A metric by its name, at cutoffs."""

    name: str
    ks: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The name as a user types it."""
        return f"{self.name}@{','.join(map(str, self.ks))}" if self.ks else self.name

    @property
    def metric(self) -> Metric:
        """The metric of the oracle."""
        return METRICS[self.name]


@dataclasses.dataclass(frozen=True)
class Case:
    """The drawn arguments of one call.

    Attributes:
        source: The name of a source or a driver.
        metrics: The metrics that it measures.
        options: Other arguments; any may be absent.
        arrays: Dense arrays by name, with the axes of `AXES`.
    """

    source: str
    metrics: tuple[Cut, ...]
    options: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def option(self, name: str, default: Any = None) -> Any:
        """Returns an option, or a default."""
        return self.options.get(name, default)

    @property
    def policy(self) -> str | None:
        """The policy for ties; "random" for a key alone, and None without a key."""
        return self.option("ties") or ("random" if "key" in self.options else None)

    @property
    def depth(self) -> int:
        """The deepest cutoff."""
        return max((k for cut in self.metrics for k in cut.ks), default=1)

    def arguments(self, *names: str) -> str:
        """Renders arrays and options as keyword arguments, without those absent."""
        parts = []
        for name in names:
            if name == "key" and "key" in self.options:
                parts.append(f"key=jax.random.key({self.options['key']})")
            elif name in self.arrays:
                parts.append(f"{name}={name}")
            elif name in self.options:
                parts.append(f"{name}={self.options[name]!r}")
        return "".join(f", {part}" for part in parts)


class Source(Protocol):
    """A way to call the package."""

    def draw(self, shape: np.random.Generator, data: np.random.Generator) -> Case:
        """Draws a case: its programs depend on `shape` alone, its numbers on `data`."""
        ...

    def code(self, case: Case) -> tuple[str, dict[str, Any]]:
        """Returns code that sets some of `lists`, `states`, `items`, and its inputs."""
        ...

    def lists(self, case: Case) -> Lists:
        """Returns the lists that the call ranks."""
        ...

    def serves(self, cut: Cut, case: Case) -> bool:
        """True if the source can compute a metric."""
        ...
