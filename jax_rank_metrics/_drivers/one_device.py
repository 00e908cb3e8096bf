"""A batch on one device, and values that are collected on the host."""

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jax_rank_metrics import _inputs
from jax_rank_metrics._drivers import step
from jax_rank_metrics._drivers.checkpoints import Saved, are_equal, refuse_changed
from jax_rank_metrics._drivers.parts import Parts
from jax_rank_metrics._drivers.plan import Plan
from jax_rank_metrics._states.exposure import Exposure
from jax_rank_metrics._states.mean import Mean
from jax_rank_metrics._states.on_host import HostSums
from jax_rank_metrics._states.per_list import PerList

# The indices of the queries of a batch, and what is measured for them.
Pending = tuple[np.ndarray, step.Measured]

Measure = Callable[[Any], step.Measured]


class Collected(NamedTuple):
    """The values of all queries.

    Attributes:
        lists: The values of each metric; zeros where queries are not done.
        items: `[queries, k]`, the ids of the first items; −1 where there are no more.
    """

    lists: list[PerList]
    items: Any


class Summary(NamedTuple):
    """The numbers of all queries together.

    Attributes:
        states: The state of each metric.
        is_defined: Whether each metric is defined for any query.
        exposure: How often each item was found; None where that was not asked for.
    """

    states: list[Mean]
    is_defined: list[bool]
    exposure: Exposure | None


class OneDevice:
    """One device does the work: that of the items, or the default."""

    def batch_size(self, size: int) -> int:
        """Returns how many queries are in a batch if `size` are wanted."""
        return size

    def parts(self, rows: np.ndarray, table: Any) -> Parts:
        """Returns which queries are together: all of them."""
        del table
        return Parts.equal(rows.size, 1)

    def table(self, table: Any, *, of_scores: bool = False) -> Any:
        """Returns an array over queries as it is held between batches: as it was."""
        del of_scores
        return table

    def rows(
        self, name: str, table: Any, indices: np.ndarray, *, of_scores: bool = False
    ) -> jax.Array:
        """Returns the rows of a batch."""
        del of_scores
        return _inputs.real(name, table[indices])

    def items(self, name: str, items: Any) -> jax.Array:
        """Returns an array over items as JAX holds it."""
        return _inputs.real(name, items)

    def catalog(self, catalog: step.Catalog, num_items: int) -> step.Catalog:
        """Returns the arrays over the items as the program reads them."""
        del num_items
        return catalog

    def program(
        self,
        plan: Plan,
        catalog: step.Catalog,
        measure_fn: step.MeasureFn = step.measure_queries,
    ) -> Measure:
        """Returns the program that measures a batch."""
        return lambda queries: step.program()(measure_fn, plan, catalog, queries)

    def collector(self, parts: Parts, k: int) -> "Collector":
        """Returns what collects the results of batches."""
        return Collector(parts.num_queries, k)

    def summary(
        self,
        parts: Parts,
        collected: Collected,
        kinds: Sequence[type[Mean]],
        num_items: int | None,
    ) -> Summary:
        """Returns what is known of all queries.

        Args:
            parts: Which slot has which query.
            collected: The values of all queries.
            kinds: The kind of state of each metric.
            num_items: How many items there are, or None if `exposure` is not asked for.
        """
        del parts
        states = [
            HostSums.of_lists(values, kind).state()
            for values, kind in zip(collected.lists, kinds, strict=True)
        ]
        is_defined = [bool(values.defined.any()) for values in collected.lists]
        if num_items is None:
            return Summary(states, is_defined, None)
        return Summary(states, is_defined, _exposure(collected.items, num_items))


def _exposure(items: np.ndarray, num_items: int) -> Exposure:
    """Counts how often each item was found, as `jrm.exposure` does."""
    counts = np.bincount(items[items >= 0], minlength=num_items)
    num_empty = np.count_nonzero((items < 0).all(axis=1))
    tally = jnp.asarray([len(items), num_empty], jnp.int32)
    return Exposure(items.shape[1], jnp.asarray(counts, jnp.int32), tally)


class Collector:
    """Collects the results of batches on the host, in the order of queries.

    Attributes:
        collected: The values of the batches waited for.
    """

    def __init__(self, num_queries: int, k: int) -> None:
        self.collected = Collected([], np.full((num_queries, k), -1, np.int32))
        self._saved: Saved | None = None
        self._lenders: list[weakref.ref[_Lender]] = []

    def restore(self, saved: Saved) -> None:
        """Begins with the values of a checkpoint; the next batch is among them."""
        self._saved = saved
        self.collected = Collected([], np.array(saved.items))

    def start(self, indices: np.ndarray, measured: step.Measured) -> Pending:
        """Returns a batch to wait for."""
        return indices, measured

    def wait(self, pending: Pending) -> tuple[int, step.Fault] | None:
        """Waits for a batch, and stores the values of its queries.

        The indices [4, 2, −1] of a batch write its first two values to the indices 4 and 2
        of each array; the third is padding.

        Args:
            pending: The indices of these queries among all, and what was measured for
                them.

        Returns:
            The index of a query with a fault, and this fault, or None.
        """
        indices, measured = pending
        lists, ids, faults = jax.device_get(measured)
        is_query, items = indices >= 0, self.collected.items
        indices = indices[is_query]
        if not self.collected.lists:
            zeros = jax.tree.map(
                lambda x: np.zeros((len(items), *x.shape[1:]), x.dtype), lists
            )
            all_lists = self._saved.lists(lists, np.array) if self._saved else zeros
            self.collected = Collected(all_lists, items)
        if any(lender() is not None for lender in self._lenders):
            self.collected = jax.tree.map(np.copy, self.collected)
            items = self.collected.items
        faults = faults[is_query]
        if faults.any():
            first = np.argmax(faults > 0)
            return int(indices[first]), step.Fault(faults[first])
        arrays = jax.tree.leaves(self.collected.lists)
        pairs = [*zip(arrays, jax.tree.leaves(lists), strict=True)]
        pairs.append((items[:, : ids.shape[-1]], ids))
        for array, values in pairs:
            values = values[is_query]
            if self._saved and not are_equal(array[indices], values, np).all():
                refuse_changed()
            array[indices] = values
        self._saved = None
        return None

    def snapshot(self) -> Collected:
        """Returns what is collected so far, in arrays that do not change later.

        They are views. While anything of them is alive, the next batch is written to a
        copy, so that a caller who keeps nothing pays for none.
        """
        lenders = []

        def view(x: np.ndarray) -> np.ndarray:
            lender = _Lender(x)
            lenders.append(weakref.ref(lender))
            return np.asarray(lender)

        views = jax.tree.map(view, self.collected)
        self._lenders = lenders
        return views


class _Lender:
    """The owner of a read-only view: it lives as long as the view and slices of it do."""

    def __init__(self, x: np.ndarray) -> None:
        self._array = x
        address, _ = x.__array_interface__["data"]
        self.__array_interface__ = x.__array_interface__ | {"data": (address, True)}
