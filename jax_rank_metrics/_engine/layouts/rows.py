"""Lists as rows: whole, sharded, or with slots that stand for many items."""

import functools
from collections.abc import Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike

from jax_rank_metrics._engine.layouts import base
from jax_rank_metrics._engine.ordering import ideal, sort
from jax_rank_metrics._ground import arithmetic, pytrees, types

T = TypeVar("T")


@pytrees.pytree()
class Rows(base.RankedLayout):
    """The layout of arrays `[*lists, items]`."""

    def sum(self, x: jax.Array, trailing: int = 0) -> jax.Array:
        """Returns the total of each list; bools are counted."""
        if trailing:
            x = jnp.moveaxis(x, -1 - trailing, -1)
        if x.dtype == jnp.bool_:
            return arithmetic.count(x)
        if jnp.issubdtype(x.dtype, jnp.floating):
            return arithmetic.total(x)
        return arithmetic.total_of_integers(x)

    def amount(self, x: jax.Array, dtype: DTypeLike, trailing: int = 0) -> jax.Array:
        """Returns the total of each list in floats; bools are counted in floats as well."""
        if x.dtype == jnp.bool_ and not trailing:
            return arithmetic.count(x, dtype)
        return self.sum(x, trailing).astype(dtype)

    def max(self, x: jax.Array) -> jax.Array:
        """Returns the largest entry of each list."""
        return jnp.max(x, axis=-1, initial=arithmetic.max_identity(x.dtype))

    def broadcast_to_items(self, per_list: jax.Array) -> jax.Array:
        """Reshapes `[*lists]` to `[*lists, 1]`."""
        return per_list[..., None]

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, "Rows"]:
        """Returns the `depth` largest values of each list, largest first."""
        depth = x.shape[-1] if depth is None else min(depth, x.shape[-1])
        return ideal.largest(x, exists, depth), self

    def first(self, x: jax.Array) -> jax.Array:
        """Returns the first integer of each row; the least integer if rows are empty."""
        return arithmetic.at_slot(x, 0) if x.shape[-1] else self.max(x)

    def offset_in_list(self, x: jax.Array) -> jax.Array:
        """Numbers the slots 0, 1, …, `[1, …, items]`."""
        return arithmetic.iota(x)

    def cumulative_count(self, x: jax.Array) -> jax.Array:
        """Counts from the list's start up to and including each item, int32."""
        return arithmetic.cumulative_count(x)

    def cumulative_sum(self, x: jax.Array) -> jax.Array:
        """Sums floats from the list's start up to and including each item."""
        return arithmetic.cumulative_sum(x)

    def continues_list(self, x: jax.Array) -> jax.Array:
        """Returns F T T …: all slots of a row but the first."""
        return arithmetic.iota(x) > 0

    def at_ranks(
        self, x: jax.Array, ranks: jax.Array, items: base.RankedLayout
    ) -> jax.Array:
        """Gathers the slot rank − 1, or the last slot for ranks beyond it."""
        del items
        if not x.shape[-1]:
            return jnp.zeros(ranks.shape, x.dtype)
        return arithmetic.take(x, jnp.clip(ranks - 1, 0, x.shape[-1] - 1))

    def order(self, keys: Sequence[jax.Array]) -> tuple[jax.Array, jax.Array]:
        """Sorts by integers within each list; returns the first key and the slots."""
        first, slots = sort.sort_by(keys)
        return first, slots


@pytrees.pytree("axis_name")
class Sharded(base.PoolLayout):
    """The layout of a pool with items sharded over devices, `[*lists, local items]`.

    Only totals of lists travel between devices, never items.
    """

    axis_name: types.AxisNames

    @property
    def has_whole_lists(self) -> bool:
        """False: this device holds only a part of the items."""
        return False

    @property
    def on_device(self) -> Rows:
        """The layout of the items that this device holds."""
        return Rows()

    def over_devices(self, totals: T) -> T:
        """Adds up totals over the mesh axes of the items."""
        return lax.psum(totals, self.axis_name)

    def sum(self, x: jax.Array, trailing: int = 0) -> jax.Array:
        """Returns the total of each list over all devices; bools are counted."""
        return lax.psum(Rows().sum(x, trailing), self.axis_name)

    def max(self, x: jax.Array) -> jax.Array:
        """Returns the largest entry of each list over all devices."""
        return _max_over(self.axis_name, Rows().max(x))

    def broadcast_to_items(self, per_list: jax.Array) -> jax.Array:
        """Reshapes `[*lists]` to `[*lists, 1]`."""
        return per_list[..., None]

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, Rows]:
        """Returns the largest values of all devices, largest first, on every device."""
        items = x.shape[-1] * lax.axis_size(self.axis_name)
        depth = items if depth is None else min(depth, items)
        return ideal.largest(x, exists, depth, self.axis_name), Rows()


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _max_over(axis_name: types.AxisNames, x: jax.Array) -> jax.Array:
    return lax.pmax(x, axis_name)


@_max_over.defjvp
def _max_over_jvp(
    axis_name: types.AxisNames, primals: tuple[jax.Array], tangents: tuple[jax.Array]
) -> tuple[jax.Array, jax.Array]:
    # JAX cannot differentiate `pmax`. Devices that share the maximum share its slope.
    largest = lax.pmax(primals[0], axis_name)
    is_largest = primals[0] == largest
    number, slope = lax.psum(
        (is_largest.astype(largest.dtype), jnp.where(is_largest, tangents[0], 0)),
        axis_name,
    )
    return largest, slope / number


@pytrees.pytree("ranks")
class CountedSlots(base.PoolLayout):
    """The layout of a pool in which slots stand for any number of equal items.

    Shapes:
        counts: `[*lists, slots]` int32, the number of items that each slot stands for.
        ranks: The number of items that can have a rank, static; None if places were
            counted, because then not every rank is known.
    """

    counts: jax.Array
    ranks: int | None

    @property
    def has_whole_lists(self) -> bool:
        """False: slots hold counts of items, rather than the items."""
        return False

    def sum(self, x: jax.Array, trailing: int = 0) -> jax.Array:
        """Returns the total of each list, each slot multiplied by its count."""
        dtype = jnp.int32 if x.dtype == jnp.bool_ else x.dtype
        times = arithmetic.widen(self.counts, x).astype(dtype)
        return Rows().sum(x.astype(dtype) * times, trailing)

    def max(self, x: jax.Array) -> jax.Array:
        """Returns the largest entry of each list; entries must not be negative."""
        return Rows().max(jnp.where(self.counts > 0, x, 0))

    def broadcast_to_items(self, per_list: jax.Array) -> jax.Array:
        """Reshapes `[*lists]` to `[*lists, 1]`."""
        return per_list[..., None]

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, Rows]:
        """Returns the values of every list, largest first, repeated by the slots' counts.

        If slots stand for 1, 2 and 3 items, the values 0 5 2 at depth 4 give 5 5 2 2. Takes
        time proportional to slots·(slots + depth), so there must be few slots.
        """
        assert self.ranks is not None
        depth = self.ranks if depth is None else min(depth, self.ranks)
        counts = jnp.where(exists, self.counts, 0)
        # Count the items with at least the value of each slot. The value at rank r is the
        # largest value that at least r items reach.
        is_at_least = x[..., None, :] >= x[..., :, None]
        at_least = jnp.where(is_at_least, counts[..., None, :], 0)
        reaching = jnp.sum(at_least, axis=-1, dtype=counts.dtype)
        ranks = jnp.arange(1, depth + 1, dtype=counts.dtype)
        ranks = ranks.reshape((1,) * (x.ndim - 1) + (depth, 1))
        is_reached = reaching[..., None, :] >= ranks
        is_reached = is_reached & (counts > 0)[..., None, :]
        values = jnp.where(is_reached, x[..., None, :], jnp.zeros((), x.dtype))
        return jnp.max(values, axis=-1, initial=0), Rows()


@pytrees.pytree("ranks", "averaged")
class CatalogSlots(CountedSlots):
    """The layout of a catalogue's pool, `[*lists, listed items + 1]`.

    The last slot stands for all unlisted items, which the list of relevant items does not
    name. All of them have the label 0, so that one slot and a count represent them. Every
    other slot stands for one item or none.

    Attributes:
        averaged: The columns in which unlisted items may differ. The last slot holds the
            means of these columns, from which sums of linear functions are exact.
    """

    averaged: tuple[str, ...] = ()

    @property
    def averaged_columns(self) -> tuple[str, ...]:
        """The columns in which the last slot holds a mean."""
        return self.averaged

    @property
    def omits_unlisted(self) -> bool:
        """True if places were counted, so that no rank of an unlisted item is known."""
        return self.ranks is None

    def parts(self, items: T) -> list[tuple[T, base.PoolLayout]]:
        """Returns two parts: the listed items, and the slot of all other items.

        The value of a function at the label 0 is a constant, so the compiler mostly leaves
        the second part out.
        """
        axis = self.counts.ndim - 1

        def cut(start: int, stop: int | None) -> T:
            return jax.tree.map(
                lambda array: lax.slice_in_dim(array, start, stop, axis=axis), items
            )

        unlisted = CountedSlots(self.counts[..., -1:], self.ranks)
        return [(cut(0, -1), Rows()), (cut(-1, None), unlisted)]

    def largest(
        self, x: jax.Array, exists: jax.Array, depth: int | None
    ) -> tuple[jax.Array, Rows]:
        """Sorts the values of every list, largest first, with the last slot repeated.

        If the last slot stands for 3 items, the values 5 0 2 at depth 4 give 5 2 2 2.
        If places were counted, unlisted items are left out: their value must be 0.
        """
        if self.ranks is None:
            return Rows().largest(x[..., :-1], exists[..., :-1], None)
        depth = self.ranks if depth is None else min(depth, self.ranks)
        # Repeat the last slot as often as it is counted, but at most `depth` times.
        shape = (*x.shape[:-1], depth)
        copy_number = lax.broadcasted_iota(jnp.int32, shape, x.ndim - 1)
        x = jnp.concatenate([x[..., :-1], jnp.broadcast_to(x[..., -1:], shape)], -1)
        is_counted = copy_number < self.counts[..., -1:]
        exists = jnp.concatenate([exists[..., :-1], is_counted & exists[..., -1:]], -1)
        return Rows().largest(x, exists, depth)


def with_unlisted(
    is_listed: jax.Array,
    number: jax.Array,
    ranks: int | None = None,
    averaged: tuple[str, ...] = (),
) -> tuple[jax.Array, CatalogSlots]:
    """Adds a slot that stands for all unlisted items of a set.

    Args:
        is_listed: `[*lists, relevant]` bool, true for relevant items that are in the set.
        number: `[*lists]` int32, the number of all items of the set.
        ranks: See `CatalogSlots`.
        averaged: See `CatalogSlots`.

    Returns:
        `[*lists, relevant + 1]` bool, true for slots that hold items; and the layout of
        these slots.
    """
    unlisted = (number - Rows().sum(is_listed))[..., None]
    counts = jnp.concatenate([is_listed.astype(jnp.int32), unlisted], axis=-1)
    exists = jnp.concatenate([is_listed, unlisted > 0], axis=-1)
    return exists, CatalogSlots(counts, ranks, averaged)
