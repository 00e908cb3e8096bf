"""Padded arrays of lists of any length: `jrm.pad_lists`, ids of any kind, and blocks."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
from jax.core import Tracer

from jax_rank_metrics._ground import messages, types
from jax_rank_metrics._ground.inputs import libraries
from jax_rank_metrics._ground.inputs.arrays import kind_of
from jax_rank_metrics._ground.inputs.options import is_integer, positive_integer

# The advice in errors about lists with masked items.
_COMPRESSED = "rows.compressed(), the items of each list that exist"
# The advice in errors about two arguments with different queries.
_SAME_QUERIES = (
    "pass the same queries to both, at least one, or call jrm.join, whose missing= and "
    "unjudged= say what becomes of queries that only one side has"
)


def pad_lists(
    *ragged: Iterable[Iterable[Any]],
    items: int | None = None,
    lists: int | None = None,
    fill: types.Number = 0,
) -> tuple[np.ndarray, ...]:
    """Pads ragged lists to arrays of few different shapes, and makes their mask.

    A jitted function is compiled once for every shape. Therefore both axes are padded to
    the next of the sizes 1, 2, 3, 4, 6, 8, 12, 16, …: powers of two, and one and a half
    times powers of two. An axis that already has such a length keeps it. A loop that
    passes its batch size as `lists` compiles nothing new for a smaller last batch; a loop
    that also passes `items` compiles only once.

    Lists that are added are wholly masked, so they do not count in any metric. Empty lists
    do not count either. Arguments with one number per list, such as list weights, can be
    padded with any number.

    Args:
        *ragged: Sequences of lists of numbers, such as labels and scores: lists of lists
            or of arrays. Lists at the same index have the same length in all arguments.
            Lists of feature vectors, as a ranker reads them, are arrays `[n, dims]`.
        items: The exact length of the last axis, instead of the next size.
        lists: The exact number of lists, instead of the next size.
        fill: The number in padded items. Calls that get the mask never read it; pass -1
            for ids, which have no mask.

    Returns:
        A NumPy array `[lists, items]` for each argument, or `[lists, items, dims]` for
        vectors, in the dtype of its numbers (bool, integers or floats, the widest if lists
        differ). Then the mask: bool, `[lists, items]`, True where an item exists.

    Raises:
        ValueError: if arguments differ in their number of lists, or in the length of a
            list; if a list is longer than `items`, or there are more than `lists`; if
            vectors of an argument differ in shape; or if `fill` is not a number of the
            dtype.
        TypeError: if an argument is traced, or does not hold numbers.

    >>> labels, scores, mask = pad_lists(
    ...     [[1, 0, 2], [0, 1], [1]], [[0.9, 0.8, 0.1], [0.5, 0.6], [0.3]], lists=4
    ... )
    >>> labels.tolist()
    [[1, 0, 2], [0, 1, 0], [1, 0, 0], [0, 0, 0]]
    >>> mask.sum(axis=-1).tolist()
    [3, 2, 1, 0]
    >>> from jax_rank_metrics import reciprocal_rank
    >>> state = reciprocal_rank(labels, scores, mask)
    >>> int(state.lists), float(state.compute())
    (3, 1.0)
    """
    if not ragged:
        raise ValueError("pad_lists got no lists; pass labels, scores, …")
    libraries.same_index(
        of_lists={f"argument {i}": rows for i, rows in enumerate(ragged)}
    )
    arguments = [_arrays(index, argument) for index, argument in enumerate(ragged)]
    all_lengths = [np.array([len(row) for row in rows], int) for rows in arguments]
    lengths = all_lengths[0]
    for index, argument_lengths in enumerate(all_lengths):
        if argument_lengths.size != lengths.size:
            raise ValueError(
                f"argument {index} has {argument_lengths.size} lists, but argument 0 has "
                f"{lengths.size}; pass the same number of lists"
            )
        if (argument_lengths != lengths).any():
            row = int(np.argmax(argument_lengths != lengths))
            raise ValueError(
                f"list {row} has {argument_lengths[row]} items in argument {index}, but "
                f"{lengths[row]} in argument 0; pass lists of equal length"
            )
    longest = int(np.argmax(lengths)) if lengths.size else 0
    num_items = int(lengths.max(initial=0))
    shape = (
        _size("lists", lists, lengths.size, f"there are {lengths.size} lists"),
        _size("items", items, num_items, f"list {longest} has {num_items} items"),
    )
    mask = np.zeros(shape, bool)
    mask[: lengths.size] = np.arange(shape[1]) < lengths[:, None]
    padded = [_padded(i, rows, mask, fill) for i, rows in enumerate(arguments)]
    return (*padded, mask)


def _arrays(index: int, argument: Iterable[object]) -> list[np.ndarray]:
    """Converts the lists of argument number `index` to arrays."""
    if isinstance(argument, Tracer):
        raise TypeError(f"argument {index} is traced; call pad_lists outside jax.jit")
    libraries.refuse_masked(f"argument {index}", argument, _COMPRESSED)
    try:
        rows = list(argument)
    except TypeError as error:
        raise TypeError(
            f"argument {index}: got {type(argument).__name__}; pass a sequence of lists"
        ) from error
    return [_array(f"list {i} of argument {index}", row) for i, row in enumerate(rows)]


def _array(name: str, row: object) -> np.ndarray:
    """Converts one list to an array of items; `name` is for messages."""
    if isinstance(row, Tracer) or (
        isinstance(row, (list, tuple)) and any(isinstance(item, Tracer) for item in row)
    ):
        raise TypeError(f"{name} is traced; call pad_lists outside jax.jit")
    libraries.refuse_masked(name, row, _COMPRESSED)
    cure = "pass a list of numbers"
    try:
        array = np.asarray(row)
    except ValueError as error:
        raise ValueError(f"{name} holds lists that differ in length; {cure}") from error
    if array.ndim < 1:
        raise ValueError(f"{name} has shape {array.shape}; {cure}")
    if array.dtype.kind not in "biufV" or array.dtype.names:  # "V": bfloat16, float8
        raise TypeError(f"{name} is {array.dtype}; {cure}")
    return array


def _size(name: str, exact: int | None, min_size: int, reason: str) -> int:
    """Returns the length of an axis that must hold `min_size` entries."""
    if exact is None:
        return next_size(min_size)
    if positive_integer(name, exact) < min_size:
        raise ValueError(
            f"{name} is {exact}, but {reason}; pass {name}={min_size} or more, or None"
        )
    return int(exact)


def next_size(min_size: int) -> int:
    """Returns the smallest of 1, 2, 3, 4, 6, 8, 12, … that is at least `min_size`.

    These are the sizes that `pad_lists` pads to.

    >>> [next_size(size) for size in (0, 4, 5, 7)]
    [1, 4, 6, 8]
    """
    power = 1 << max(min_size - 1, 0).bit_length()
    return power * 3 // 4 if power >= 4 and min_size <= power * 3 // 4 else power


@messages.short_errors()
def _padded(
    index: int, rows: list[np.ndarray], mask: np.ndarray, fill: types.Number
) -> np.ndarray:
    """Pads the lists of argument number `index` with `fill`, where `mask` is False."""
    # An empty Python list says nothing of its vectors; an empty array may say their length.
    shapes = {row.shape[1:]: i for i, row in enumerate(rows) if row.shape != (0,)}
    if len(shapes) > 1:
        (first, i), (second, j), *_ = shapes.items()
        raise ValueError(
            f"argument {index} has items of shape {first} in list {i}, and {second} in "
            f"list {j}; pass vectors of one length, or numbers alone"
        )
    dims = next(iter(shapes), ())
    # NumPy makes an empty Python list float64, so its dtype counts only if all are empty.
    dtypes = [row.dtype for row in rows if row.size] or [row.dtype for row in rows]
    dtype = np.result_type(*dtypes) if dtypes else np.dtype(np.float32)
    try:
        padded = np.full((*mask.shape, *dims), fill, dtype)
        holds_nan = fill != fill and np.issubdtype(dtype, np.inexact)
        fits = bool((padded == fill).all()) or holds_nan
    except (OverflowError, TypeError, ValueError):
        padded, fits = np.zeros(mask.shape, dtype), False
    if not fits:
        raise ValueError(
            f"fill is {fill!r}, which {dtype} cannot hold; pass another fill"
        )
    # Cast before joining: an empty Python list would turn large integers into floats.
    items = [row.astype(dtype).reshape(len(row), *dims) for row in rows]
    padded[mask] = np.concatenate([*items, np.zeros((0, *dims), dtype)])
    return padded


class RaggedLists(NamedTuple):
    """Lists of any lengths, and the ids of their queries."""

    query_ids: list[Any] | None  # None if lists are matched by position
    lists: list[list[Any]]


class PaddedIds(NamedTuple):
    """Arguments of `rank_ids` as padded arrays; ids are integers, and −1 is padding."""

    retrieved: np.ndarray  # [lists, retrieved]; a single list has no first axis
    relevant: np.ndarray | None  # [lists, relevant]
    profile: np.ndarray | None  # [lists, profile]
    relevant_labels: np.ndarray | None  # [lists, relevant]
    profile_weights: np.ndarray | None  # [lists, profile]
    query_ids: list[Any] | None  # as in `RaggedLists`
    # The number of each id, keyed by its text; None if the ids are the caller's integers.
    numbers: dict[str, int] | None


def ragged_lists(
    name: str, value: Any, is_ordered: bool = True, may_miss: bool = False
) -> RaggedLists:
    """Reads lists of any lengths, which are keyed by query or go by position.

    Args:
        name: The argument, for messages.
        value: A dict or a Series of pandas `{query: ids}`, or a list or an array of lists.
        is_ordered: True if the order of ids matters, so that sets are refused.
        may_miss: True if a missing entry, such as None, counts as an empty list.

    Raises:
        TypeError: if an entry is not a list, for example a single string.
    """
    query_ids: list[Any] | None = None
    refuse_rows(name, value, "query")
    rows: Iterable[Any] = value
    if libraries.is_series(value) or isinstance(value, Mapping):
        pairs = [*value.items()]
        query_ids, rows = [query for query, _ in pairs], [row for _, row in pairs]
    lists: list[list[Any]] = []
    for row in rows:
        libraries.refuse_masked(name, row, "lists of the ids that exist")
        ids: Any = () if may_miss and libraries.is_missing(row) else row
        if isinstance(row, Set) and not is_ordered:
            ids = sorted(row, key=repr)
        elif hasattr(ids, "to_list") or hasattr(ids, "tolist"):
            ids = libraries.hashable_ids(ids)
        if not isinstance(ids, (list, tuple)):
            query = len(lists) if query_ids is None else query_ids[len(lists)]
            order = " in rank order" if is_ordered else ""
            raise TypeError(
                f"{name}: query {query!r} holds {kind_of(row)}; pass a list of ids{order}"
            )
        lists.append(libraries.hashable_ids(ids))
    return RaggedLists(query_ids, lists)


def refuse_rows(name: str, value: object, unit: str) -> None:
    """Raises TypeError for a list of tuples of one length, which look like table rows."""
    if not isinstance(value, (list, tuple)) or not value:
        return
    lengths = {len(row) if isinstance(row, tuple) else 0 for row in value}
    if len(lengths) == 1 and max(lengths) > 1:
        raise TypeError(
            f"{name} is a list of tuples of {max(lengths)}, like rows of a table; pass a "
            f"dict {{{unit}: [id, …]}} made from these rows; or, if each tuple holds the "
            f"ids of a {unit}, pass lists instead of tuples"
        )


def padded_ids(
    retrieved_ids: Any,
    relevant_ids: Any,
    relevant_labels: Any = None,
    names: tuple[str, str] = ("retrieved_ids", "relevant_ids"),
    profile_ids: Any = None,
    profile_weights: Any = None,
) -> PaddedIds | None:
    """Pads ids of `rank_ids` that are strings, have queries, or differ in number.

    If all ids are integers from 0 to 2⁶³ − 1, they are kept. Otherwise ids are compared as
    strings, as in `join`, and numbered in order of first appearance, beginning with the
    retrieved ids. In lists, only −1 is padding; in arrays of integers, every number below 0
    is.

    Args:
        retrieved_ids: As for `ragged_lists`; or a single list of strings or integers.
        relevant_ids: Ids in the same form, in any order; or a dict `{query: {id: label}}`;
            or None.
        relevant_labels: Labels, in lists of the same form as `relevant_ids`; or None.
        names: The names of the first two arguments. If the second is not "relevant_ids",
            both arguments are rankings, and so in rank order.
        profile_ids: As `retrieved_ids`, in any order; or None.
        profile_weights: Weights, in lists of the same form as `profile_ids`; or None.

    Returns:
        None if no padding is needed, because arrays of integers hold all ids.

    Raises:
        ValueError: if arguments have different queries, if an id is missing, or if a list
            of `relevant_ids` repeats an id.
        TypeError: if an id is a float or a dict; see `ragged_lists`.
    """
    arguments = (*names, "profile_ids"), (retrieved_ids, relevant_ids, profile_ids)
    sides: dict[str, Any] = {
        name: ids for name, ids in zip(*arguments, strict=True) if ids is not None
    }
    if not any(map(_is_ragged, sides.values())):
        return None
    for name, ids in sides.items():
        if not isinstance(ids, Mapping) and not any(map(np.iterable, ids)):
            libraries.refuse_missing(name, [*ids])  # a single list, of numbers
    is_relevant, ids_name = names[1] == "relevant_ids", " and ".join(sides)
    sides = {name: _without_negatives(ids) for name, ids in sides.items()}
    # The labels or weights that go with ids, by the name of the argument of ids.
    partners: dict[str, tuple[str, Any]] = {
        names[1]: ("relevant_labels", relevant_labels),
        "profile_ids": ("profile_weights", profile_weights),
    }
    is_single = any(
        isinstance(ids, (list, tuple)) and ids and np.isscalar(ids[0])
        for ids in sides.values()
    )
    if is_single:
        sides = {name: [ids] for name, ids in sides.items()}
        partners = {
            name: (partner, None if numbers is None else [numbers])
            for name, (partner, numbers) in partners.items()
        }
    if isinstance(relevant_ids, Mapping) and relevant_labels is None:
        if any(isinstance(items, Mapping) for items in relevant_ids.values()):
            sides[names[1]] = {query: [*items] for query, items in relevant_ids.items()}
            labels_of = {
                query: [*dict(items).values()] for query, items in relevant_ids.items()
            }
            partners[names[1]] = "relevant_labels", labels_of
    retrieved = ragged_lists(names[0], sides[names[0]])

    def in_order(name: str, rows: Any, is_ordered: bool) -> list[list[Any]]:
        """Reads lists in the order of the queries of the retrieved lists."""
        read = ragged_lists(name, rows, is_ordered)
        order = _order_of_queries(names[0], retrieved, name, read)
        return [read.lists[i] for i in order]

    lists = {
        name: in_order(name, ids, not is_relevant)
        if name != names[0]
        else retrieved.lists
        for name, ids in sides.items()
    }
    num_lists = len(retrieved.lists)
    ids = [
        *itertools.chain.from_iterable(itertools.chain.from_iterable(lists.values()))
    ]
    queries = retrieved.query_ids or range(num_lists)
    for name, side in lists.items():
        for query, row in zip(queries, side, strict=True):
            if {*map(type, row)} - {int, str}:
                libraries.refuse_missing(f"{name} of query {query!r}", row)
    if any(isinstance(key, (list, tuple)) for key in ids):
        raise TypeError(
            f"{ids_name}: there is a list instead of an id; pass a list of lists for both, "
            "or a single list for both"
        )
    if wrong := [key for key in ids if isinstance(key, (float, Mapping))]:
        raise TypeError(f"{ids_name}: {wrong[0]} is no id; pass integers or strings")
    for row in lists.get("relevant_ids", ()):
        counts = Counter(key for key in row if key != -1)
        repeated = [key for key, count in counts.items() if count > 1]
        if repeated:
            raise ValueError(
                f"relevant_ids holds {repeated[0]!r} twice in a list; pass it once"
            )
    numbers = None
    if all(is_integer(key) and -1 <= key < 2**63 for key in ids):
        codes = {key: int(key) for key in ids}
    else:
        texts = dict.fromkeys(str(key) for key in ids if key != -1)
        numbers = {text: i for i, text in enumerate(texts)}
        codes = {key: numbers.get(str(key), -1) for key in ids}
    no_ids = np.zeros(0, np.int32)  # NumPy makes an empty Python list float64
    arrays: list[Any] = []
    for name in (names[0], names[1], "profile_ids"):
        rows = [[codes[key] for key in row] or no_ids for row in lists.get(name, ())]
        arrays.append(pad_lists(rows, lists=num_lists, fill=-1)[0] if rows else None)
    for name, (partner, numbers_of_ids) in partners.items():
        padded = None
        if numbers_of_ids is not None and name in lists:
            rows = in_order(partner, numbers_of_ids, True)
            slots = [[0] * len(row) for row in lists[name]]  # one slot for each id
            padded = pad_lists(rows, slots, lists=num_lists)[0]
        arrays.append(padded)
    if is_single:
        arrays = [None if array is None else array[0] for array in arrays]
    return PaddedIds._make([*arrays, retrieved.query_ids, numbers])


def _is_ragged(ids: Any) -> bool:
    """True if ids need padding or numbering; False for integer arrays and for non-ids."""
    if isinstance(ids, Mapping):
        return True
    if libraries.is_of_jax(ids) or libraries.is_frame(ids):
        return False
    try:
        array = np.asarray(ids)
    except ValueError:  # lists that differ in length
        return True
    except (TypeError, RuntimeError):  # traced values, or a tensor on another device
        return False
    if isinstance(ids, (list, tuple)) and array.size and array.dtype.kind in "iuf":
        # NumPy turns a list with numbers below 0 and beyond int64 into floats.
        return bool(array.min() < -1 or array.max() >= 2**63)
    return array.dtype.kind in "USO"


def _without_negatives(ids: Any) -> Any:
    """Returns ids; in an array of signed integers, ids below 0 become −1."""
    is_array = hasattr(ids, "__array__") and not libraries.is_series(ids)
    array = np.asarray(ids) if is_array else None
    return ids if array is None or array.dtype.kind != "i" else np.maximum(array, -1)


def _order_of_queries(
    of_retrieved: str, retrieved: RaggedLists, name: str, relevant: RaggedLists
) -> Sequence[int]:
    """Returns, for each retrieved list, the index of the other list of the same query.

    Args:
        of_retrieved: The name of the argument with the retrieved lists.
        retrieved: The retrieved lists.
        name: The name of the argument with the other lists.
        relevant: The other lists.
    """
    counts = len(retrieved.lists), len(relevant.lists)
    retrieved_queries, relevant_queries = retrieved.query_ids, relevant.query_ids
    if (
        (retrieved_queries is None) != (relevant_queries is None)
        or counts[0] != counts[1]
        or not counts[0]
    ):
        kinds = [
            "lists" if ids is None else "queries"
            for ids in (retrieved_queries, relevant_queries)
        ]
        raise ValueError(
            f"{of_retrieved} has {counts[0]} {kinds[0]}, and {name} {counts[1]} "
            f"{kinds[1]}; {_SAME_QUERIES}"
        )
    if retrieved_queries is None or relevant_queries is None:
        return range(counts[0])
    indices = {query: index for index, query in enumerate(relevant_queries)}
    unknown = [query for query in retrieved_queries if query not in indices]
    if unknown:
        raise ValueError(
            f"{of_retrieved} has the query {unknown[0]!r}, which {name} lacks; "
            f"{_SAME_QUERIES}"
        )
    return [indices[query] for query in retrieved_queries]


# The widths of blocks are 64, 256, 1024, …
_WIDTH, _FACTOR = 64, 4

# The number of lists in a block, padding included: 64 if at most 64 lists have the block's
# width, else 1,024. Wide blocks have fewer lists, so that no block has more than 2²⁰ items.
_LISTS, _ITEMS = (64, 1024), 2**20


class ListBlock(NamedTuple):
    """A few lists, padded to one of the fixed shapes `[lists, width]`.

    Lists that were added as padding have no items. Pass the weight 0 for them.

    Attributes:
        indices: The indices of the block's lists among all lists, ascending; at most
            `lists` many.
        slots: `[lists, width]` integers, the index of each item in flat arrays.
        exists: `[lists, width]` bool, False for padding.
    """

    indices: np.ndarray
    slots: np.ndarray
    exists: np.ndarray

    def items(self, values: np.ndarray) -> np.ndarray:
        """Returns the block's part of the flat values `[items, …]`; padding gets 0."""
        if not len(values):
            return np.zeros((*self.slots.shape, *values.shape[1:]), values.dtype)
        exists = self.exists.reshape(*self.exists.shape, *[1] * (values.ndim - 1))
        return np.where(exists, values[self.slots], values.dtype.type(0))

    def per_list(self, values: np.ndarray) -> np.ndarray:
        """Returns the block's part of the values `[all lists]`; added lists get 0."""
        padded = np.zeros(len(self.exists), values.dtype)
        padded[: len(self.indices)] = values[self.indices]
        return padded


def padded_blocks(starts: np.ndarray) -> Iterator[ListBlock]:
    """Divides lists into blocks of a few shapes, the narrow lists first.

    A jitted function is compiled for every shape that it meets. A block has the width 64,
    256, 1,024 or a higher power of four. It has 64 lists if at most 64 lists have that
    width, as in most test collections, and else 1,024, or fewer if they are wide. So data
    with any number of lists share a few programs. Each list is in a block of the smallest
    width that holds it, so a few very long lists do not widen the other blocks.

    Args:
        starts: `[all lists + 1]`, the index at which the items of each list begin in flat
            arrays, one list after the other, and the index at which the last list ends.

    >>> blocks = list(padded_blocks(np.array([0, 3, 103, 103])))  # of 3, 100 and 0 items
    >>> [(block.indices.tolist(), block.exists.shape) for block in blocks]
    [([0, 2], (64, 64)), ([1], (64, 256))]
    >>> blocks[0].items(np.arange(7, 110))[0, :4].tolist()
    [7, 8, 9, 0]
    """
    lengths = np.diff(starts)
    width, shorter = _WIDTH, -1
    while shorter < lengths.max(initial=-1):
        indices = np.flatnonzero((lengths > shorter) & (lengths <= width))
        num_lists = next((size for size in _LISTS if len(indices) <= size), _LISTS[-1])
        num_lists = max(1, min(num_lists, _ITEMS // width))
        for start in range(0, len(indices), num_lists):
            part = indices[start : start + num_lists]
            padded = np.zeros((2, num_lists, 1), starts.dtype)
            padded[:, : len(part), 0] = starts[part], lengths[part]
            offsets = np.arange(width)
            exists = offsets < padded[1]
            yield ListBlock(part, np.where(exists, padded[0] + offsets, 0), exists)
        width, shorter = width * _FACTOR, width
