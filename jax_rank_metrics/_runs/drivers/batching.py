"""Divides queries into batches, and pads their ids to arrays of few shapes."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import numpy as np

from jax_rank_metrics._ground import inputs, types
from jax_rank_metrics._runs.drivers import interactions
from jax_rank_metrics._runs.drivers.devices import Array, Devices

# Each shape compiles a program. So the number of users in a batch, and the number of ids
# per user, are rounded up to a few sizes, and data of any size share programs.
SMALL_SIZES = (32, 256)
FACTOR = 4

# The largest numbers of seen and of relevant ids at the lowest level of users. Users with
# more ids belong to the next level, whose limits are `FACTOR` times as wide, and so on.
NARROW = (256, 16)

# The nanoseconds that another program must save in each call, or it is not compiled. It
# takes a second to compile, and then serves every evaluation of a process, such as one
# after each epoch.
WORTH_A_PROGRAM = 2e7

# A batch of more numbers than this (16 MiB) is padded to a power of two, because padding it
# to one of `SMALL_SIZES` takes too much memory.
MAX_PADDED = 2**22


def query_parts(devices: Devices, rows: np.ndarray, table: object) -> np.ndarray:
    """Returns the queries of each part of the devices, `[parts, slots]`; −1 is padding.

    Args:
        devices: The devices.
        rows: `[queries]`, the row of each query.
        table: `[rows, …]`, as the devices hold it. If it is an array of JAX, each part of
            the devices gets the queries whose rows are in that part; otherwise consecutive
            queries form a part.
    """
    num_parts = devices.num_query_parts
    if isinstance(table, jax.Array):
        part_of = rows // (len(table) // num_parts)
    else:
        # With 5 queries in 2 parts, the first has [0, 1, 2] and the second [3, 4, −1].
        part_of = np.arange(rows.size) // -(-rows.size // num_parts)
    return _padded([np.flatnonzero(part_of == part) for part in range(num_parts)])


def _members_of(parts: np.ndarray, levels: np.ndarray, level: int) -> list[np.ndarray]:
    """Returns the queries of each part whose level is `level`, in order."""
    return [row[(row >= 0) & (levels[row] == level)] for row in parts]


def _padded(members: list[np.ndarray]) -> np.ndarray:
    """Returns the queries of each part as an array `[parts, slots]`; −1 for padding."""
    order = np.full((len(members), max(row.size for row in members)), -1)
    for row, queries in zip(order, members, strict=True):
        row[: queries.size] = queries
    return order


class Batch(NamedTuple):
    """Users whose items are ranked together.

    Attributes:
        indices: `[size]`, indices into the array of users to evaluate; −1 for padding.
            Users of the first part come first, then users of the second, and so on.
        widths: The padded numbers of seen ids and of relevant ids; for queries that rank
            candidates, 0 and the padded number of listed items.
    """

    indices: np.ndarray
    widths: tuple[int, int]


class QueryBatch(NamedTuple):
    """The queries of a batch: the users, for a recommender.

    Attributes:
        indices: `[queries]` int32, the index of each query; −1 for padding.
        rows: `[queries, …]`, such as embeddings, or `[queries, items]` scores.
        key: The key of this batch for random ties, or None.
        tie_ids: `[queries]` int32. Their hash orders tied items: differently for each
            query, but in the same way in any batch. None if there is a key, or if all
            queries share one order.
        listed_ids: `[queries, listed]`, the relevant items, and the candidates if only
            candidates have a rank; padded with −1. None with `label_fn`.
        labels: `[queries, listed]`, the relevance of each listed item.
        excluded_ids: `[queries, excluded]`, padded with −1; or None.
        profile_ids: `[queries, profile]`, padded with −1, the items that each user has
            seen; or None.
        attributes: A pytree of arrays `[queries, …]`, which `label_fn` reads.
        items: `[queries, listed, …]`, the rows of listed items; None if all items have
            a rank.
        membership: `[queries, listed]` int8, the `Membership` of listed items; or None.
        candidates: `[queries, items]` bool, the items that have a rank; None if all do.
    """

    indices: Array
    rows: Array
    key: jax.Array | None
    tie_ids: Array | None = None
    listed_ids: Array | None = None
    labels: Array | None = None
    excluded_ids: Array | None = None
    profile_ids: Array | None = None
    attributes: types.Arrays = None
    items: Array | None = None
    membership: Array | None = None
    candidates: Array | None = None


class Cost(NamedTuple):
    """The numbers that determine how long it takes to evaluate a user.

    Attributes:
        num_items: The number of items, or a lower bound of it.
        num_blocks: The number of blocks in which items are scored.
        counts_places: True if items are counted to find the ranks of relevant items.
    """

    num_items: int
    num_blocks: int
    counts_places: bool

    def duration(self, widths: tuple[int, int]) -> float:
        """Estimates how many nanoseconds of a CPU a user with these widths takes.

        Leaves out work that does not depend on the widths, such as the top-k.
        """
        # Every block is compared with all ids of a batch. The constants were measured on a
        # CPU.
        num_passes = 2 if self.counts_places else 1
        duration = 5.0 * num_passes * self.num_blocks * sum(widths)
        if self.counts_places:
            # Items are counted for each relevant item, or sorted once for many of them.
            num_relevant = widths[1]
            duration += 30 * num_relevant + self.num_items * min(num_relevant / 2, 25)
        return duration


def batch_size_for(num_users: int, batch_size: int, row_size: int = 0) -> int:
    """Returns how many users are evaluated at a time, at most `batch_size`.

    The number may be less if users would fill fewer than four batches. Then users with many
    ids can have batches of their own, and a last batch that is nearly empty costs little.

    Args:
        num_users: How many users there are.
        batch_size: How many users may share a batch.
        row_size: How many numbers a batch holds for each user, including padding.
    """
    max_size = inputs.positive_integer("batch_size", batch_size)
    if num_users >= 4 * max_size:
        return max_size
    smallest, small = SMALL_SIZES
    size = min(smallest if num_users <= 4 * smallest else small, max_size)
    if size * row_size > MAX_PADDED:
        size = min(size, 1 << (num_users - 1).bit_length())
    return size


def make_batches(
    lengths: np.ndarray, size: int, cost: Cost, parts: np.ndarray
) -> Iterator[Batch]:
    """Divides all users into batches, the users of narrow levels first.

    If users stayed in order, a user with ten thousand ids would make a whole batch as wide.
    The numbers of ids of a user therefore determine the user's level (see `NARROW`). A
    level joins the next wider level if the time that its own widths save is not worth
    another program. Users of a level stay in order, and only the first batch of a level may
    also hold users of lower levels.

    For example, with `size` 2 and the `lengths` [[1, 1], [9, 2], [5, 1]], all users are
    narrow. The batches have the indices [0, 1] and [2, −1], both with the widths (256, 16).

    Each part orders its own users in this way, and all parts contribute the same number of
    slots to every batch.

    Args:
        lengths: `[users, 2]`, the numbers of seen and of relevant ids of each user, of at
            least one user.
        size: The number of users in a batch, a multiple of the number of parts.
        cost: The cost model: how long a user takes, by the widths of the batch.
        parts: `[parts, slots]`, the users of each part, from `query_parts`.
    """
    # Lengths [300, 5] exceed the limits (256, 16) but not the next ones, so their level is
    # 1; [5, 100] exceed (256, 16) and (1024, 64), so their level is 2.
    levels, limits = np.zeros(len(lengths), int), np.array(NARROW)
    while (exceeds := np.any(lengths > limits, axis=1)).any():
        levels += exceeds
        limits = limits * FACTOR
    # Start at the widest level. A level keeps widths of its own only if these save enough
    # time for its users and the users of all lower levels.
    widths_of: dict[int, tuple[int, int]] = {}
    for level in np.unique(levels)[::-1].tolist():
        # Include users of lower levels, because they may fill up the level's first batch.
        up_to_level = levels <= level
        num_seen, num_relevant = lengths[up_to_level].max(axis=0).tolist()
        widths = (padded_width(max(num_seen, NARROW[0])), padded_width(num_relevant))
        wider_level = min(widths_of, default=None)
        if wider_level is not None:
            saved = cost.duration(widths_of[wider_level]) - cost.duration(widths)
            if np.count_nonzero(up_to_level) * saved < WORTH_A_PROGRAM:
                levels[levels == level] = wider_level
                continue
        widths_of[level] = widths
    # Every part begins with its users of the lowest level, so that no early batch is wide.
    members_by_level = [
        _members_of(parts, levels, level) for level in np.unique(levels)
    ]
    order = _padded(
        [np.concatenate(part) for part in zip(*members_by_level, strict=True)]
    )
    return _cut(order, size, lambda users: widths_of[int(levels[users].max())])


def _cut(
    order: np.ndarray, size: int, widths: Callable[[np.ndarray], tuple[int, int]]
) -> Iterator[Batch]:
    """Divides users into batches, with the same number of slots for each part.

    Args:
        order: `[parts, slots]`, the users of each part, in order; −1 for padding.
        size: The number of users in a batch, a multiple of the number of parts. The last
            batch is filled up with padding.
        widths: A function from the users of a batch to the widths of the batch.
    """
    # A batch of 16 takes the next 8 users of each of two parts.
    in_part = size // len(order)
    padding = [(0, 0), (0, -order.shape[1] % in_part)]
    order = np.pad(order, padding, constant_values=-1)
    for start in range(0, order.shape[1], in_part):
        indices = order[:, start : start + in_part].ravel()
        yield Batch(indices, widths(indices[indices >= 0]))


def batches_by_width(
    widths: np.ndarray, size_for: Callable[[int], int], cost: float, parts: np.ndarray
) -> Iterator[Batch]:
    """Divides queries into batches whose lists have similar numbers of items.

    Each list is padded to the longest one of its level. The first level holds the longest
    list and every list with more than a quarter of its items; the next level does the same
    with the remaining lists. If another level would not save enough time to be worth a
    program, all remaining lists stay in the last level.

    Args:
        widths: `[queries]`, the number of items of each list.
        size_for: A function from a width to the largest number of queries in a batch,
            which is a multiple of the number of parts.
        cost: How many nanoseconds an item of a list takes.
        parts: `[parts, slots]`, the queries of each part, from `query_parts`.

    Yields:
        Batches with the widths (0, the number of items).
    """
    levels, level_widths = np.zeros(len(widths), int), [max(1, int(widths.max()))]
    # Lists of 60, 50, 1200 and 5000 items may have the widths 5000, 1200 and 60.
    while (is_narrow := widths <= level_widths[-1] // FACTOR).any():
        width = max(1, int(widths[is_narrow].max()))
        saved = cost * (level_widths[-1] - width) * np.count_nonzero(is_narrow)
        if saved < WORTH_A_PROGRAM or width == level_widths[-1]:
            break
        levels[is_narrow] = len(level_widths)
        level_widths.append(width)
    for level, width in enumerate(level_widths):
        order = _padded(_members_of(parts, levels, level))
        # Shrink a batch that few long lists do not fill: padding costs as much as lists.
        needed = len(order) * 2 ** (order.shape[1] - 1).bit_length()
        size = min(size_for(width), needed)
        yield from _cut(order, size, lambda _, width=width: (0, width))


def padded_width(min_width: int) -> int:
    """Returns the smallest of 1, 16, 64, 256, … that is at least `min_width`.

    The list begins with 1 because the most common data hold out one item of each user.
    """
    width = 1 if min_width <= 1 else 16
    while width < min_width:
        width *= FACTOR
    return width


def pad_rows(
    matrix: interactions.SparseRows, indices: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns rows of a matrix as padded ids and values, both `[len(indices), width]`.

    A row with the values 2 and 1 in the columns 5 and 7 becomes the ids [5, 7, −1, …]
    and the values [2, 1, 0, …]. An index of −1 makes a row of padding.
    """
    rows = np.flatnonzero(indices >= 0)
    # Compressed rows hold ids and values row after row, and a mask is filled in this order.
    part = matrix[indices[rows]]
    is_id = np.zeros((len(indices), width), bool)
    is_id[rows] = np.arange(width) < np.diff(part.indptr)[:, None]
    ids = np.full(is_id.shape, -1, np.int32)
    values = np.zeros(is_id.shape, np.float32)
    ids[is_id], values[is_id] = part.indices, part.data
    return ids, values
