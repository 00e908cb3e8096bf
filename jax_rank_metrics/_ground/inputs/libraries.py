"""Recognises data of other libraries, and brings labelled data into the order of ids.

No such library is imported here, except polars: `as_frame` reads other tables with it.

An axis has ids if a call knows the thing that each entry stands for: item 3 of a catalogue,
row 5 of a model, query "q7" of an evaluation. Data along such an axis is read by its
labels: the index of a Series or a frame of pandas, the column of a frame that is named as
ids are, the keys of a dict. Labels that do not match the ids raise. An axis without ids,
such as the items of `rank`, is read by position, and raises if the indexes of two arguments
differ. Arrays and lists have no labels. The mask of a masked NumPy array is never dropped:
masked arrays raise.
"""

import datetime
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

import jax
import numpy as np
from jax.typing import ArrayLike

from jax_rank_metrics._ground import optional

# Patterns for the names of columns that hold ids of lists, ids of items, or tasks, and for
# the names under which an unnamed index is written. Names are in lower case and without
# spaces, "_" and "-". Groups of items may be called "document" or "product", so only
# "document_id" means ids.
_LISTS = re.compile(
    "(?:list|query|topic|user|session|request|question)s?(?:id|no|number|idx)?s?"
    "|queries|[qu]ids?|qno|ids?"
)
_ITEMS = re.compile(
    "(?:item|doc|document|product|entity|passage|label)(?:id|no|number|idx)s?"
    "|items?|[idp]ids?|ids?"
)
_TASKS = re.compile("task")
_UNNAMED = re.compile("(?:unnamed:|level|indexlevel)[0-9]+|index|")


@runtime_checkable
class _Variable(Protocol):
    """A variable of a model, which JAX reads as an array."""

    def __jax_array__(self) -> jax.Array:
        """Returns the array."""
        ...


def is_of_jax(value: object) -> TypeGuard[ArrayLike]:
    """True for a JAX array, or a variable of a model, which JAX reads as an array."""
    return isinstance(value, (jax.Array, _Variable))


@runtime_checkable
class _ArrowTable(Protocol):
    """A table that can be read as an Arrow table, for example from pyarrow or DuckDB."""

    @property
    def columns(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


def as_frame(value: Any, purpose: str) -> Any:
    """Returns lazy frames, tables of Arrow and datasets as a frame of polars.

    Other values are returned unchanged.

    Raises:
        ModuleNotFoundError: for a table, if polars is not installed.
        TypeError: for a dict of the splits of a dataset.
    """
    if _is_of(value, "polars", "LazyFrame"):
        return value.collect()
    if is_pandas_frame(value) or _is_of(value, "polars", "DataFrame"):
        return value
    if _is_splits(value):
        raise TypeError(
            f"{purpose}: got a {type(value).__name__} of {[*value]}; pass one split, as "
            f"dataset{[*value][-1:]}"
        )
    if _is_dataset(value):
        value = value.with_format("arrow")[:]
    if not isinstance(value, _ArrowTable):
        return value
    return optional.import_optional("polars", purpose, "trec").DataFrame(value)


def _is_dataset(value: Any) -> TypeGuard[Any]:
    """Returns True for a `Dataset` of Hugging Face, and False for a dict of splits."""
    methods = (
        getattr(type(value), name, None) for name in ("with_format", "to_pandas")
    )
    return all(map(callable, methods))


def _is_splits(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    """Returns True for a `DatasetDict` of Hugging Face."""
    return isinstance(value, Mapping) and "with_format" in dir(type(value))


def _is_of(value: object, library: str, *class_names: str) -> bool:
    """True if a value is of a class of a library that a caller may have imported.

    If the library is not imported, the value cannot be of one of its classes.
    """
    module = sys.modules.get(library)
    classes = tuple(getattr(module, name, ()) for name in class_names)
    return module is not None and isinstance(value, classes)


def is_pandas_frame(value: Any) -> TypeGuard[Any]:
    """True for a DataFrame of pandas."""
    return _is_of(value, "pandas", "DataFrame")


def is_frame(value: Any) -> TypeGuard[Any]:
    """True for a frame of pandas or polars, a table of Arrow, or a dataset.

    Call `as_frame` before you read its columns.
    """
    is_polars = _is_of(value, "polars", "DataFrame", "LazyFrame")
    is_known = is_pandas_frame(value) or is_polars or _is_dataset(value)
    # A dict of splits counts too, so that `as_frame` can refuse it.
    return is_known or _is_splits(value) or isinstance(value, _ArrowTable)


def is_series(value: Any) -> TypeGuard[Any]:
    """True for a Series of pandas, which has an index."""
    return _is_of(value, "pandas", "Series")


def is_sparse(value: Any) -> TypeGuard[Any]:
    """True for a sparse matrix or array of scipy."""
    return _is_of(value, "scipy.sparse", "sparray", "spmatrix")


def is_torch_tensor(value: Any) -> TypeGuard[Any]:
    """True for a tensor of PyTorch."""
    return _is_of(value, "torch", "Tensor")


def keys_of(column: Any) -> np.ndarray:
    """Returns ids or groups as an array, of objects if NumPy would change them.

    NumPy would drop the zone of times, and turn times in nanoseconds into integers. It
    would turn a list of numbers and strings into strings, and tuples into rows.
    """
    if not isinstance(column, (list, tuple)):
        array = np.asarray(column)
        if array.dtype.kind not in "mM" or array.ndim != 1:
            return array
        entries = array.tolist() if column is array else list(column)
        # `tolist` turns nanoseconds into integers, because Python's dates cannot hold them.
        column = (
            list(array) if any(isinstance(entry, int) for entry in entries) else entries
        )
    return np.fromiter(column, object, len(column))


def hold_text(ids: Any) -> bool:
    """True if the first entry of a list, an array or a Series is a string."""
    if is_of_jax(ids) or not np.iterable(ids):
        return False
    listed: Iterable[Any] = ids
    return isinstance(next(iter(listed), None), str)


def hashable_ids(ids: Any) -> list[Any]:
    """Returns ids of any library as keys of a dict; equal ids are equal keys."""
    if hasattr(ids, "to_list") or not hasattr(ids, "__array__") or ids.dtype == object:
        # Times of a Series keep their zone.
        keys = ids.to_list() if hasattr(ids, "to_list") else [*ids]
        if keys and isinstance(keys[0], np.datetime64):
            keys = [hashable_ids(np.array([key]))[0] for key in keys]
        return keys
    array = np.asarray(ids)
    if array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] == "ns":
        # `tolist` turns nanoseconds into integers, so read microseconds if they are exact.
        rounded = array.astype(f"{array.dtype.kind}8[us]")
        return rounded.tolist() if (rounded == array).all() else [*array]
    return array.tolist()


def lookup_keys(ids: Any) -> list[Any]:
    """Returns ids as keys of a dict; a date becomes its midnight, as in pandas."""
    keys = hashable_ids(ids)
    if not any(type(key) is datetime.date for key in keys[:1]):
        return keys
    midnight = datetime.time()
    return [
        datetime.datetime.combine(key, midnight) if type(key) is datetime.date else key
        for key in keys
    ]


def refuse_masked(name: str, value: object, cure: str | None = None) -> None:
    """Raises `TypeError` for a masked array, or a list that holds one at any depth."""
    if isinstance(value, np.ma.MaskedArray):
        if cure is None and re.match(r"(labels|scores|weights|columns)\b", name):
            cure = f"{name}.filled(0), and mask=~numpy.ma.getmaskarray({name})"
        cure = cure or f"{name}.filled(…), with a value for what is masked"
        raise TypeError(
            f"{name}: got a masked NumPy array, whose mask would be lost; pass {cure}"
        )
    if isinstance(value, (list, tuple)):
        # A list of many numbers has few types, so check types rather than entries.
        nested = (list, tuple, np.ma.MaskedArray)
        if any(issubclass(kind, nested) for kind in {*map(type, value)}):
            for part in value:
                refuse_masked(name, part, cure)


def is_missing(value: object) -> bool:
    """Returns True for None, NaN, NaT and NA, and False for lists of any kind."""
    return value is None or not (np.iterable(value) or _equals_itself(value))


def _equals_itself(value: object) -> bool:
    """True unless a value is missing: NaN differs from itself, and pandas.NA raises."""
    try:
        return bool(value == value)
    except (TypeError, ValueError):
        return False


def refuse_missing(
    name: str, cells: Any, cure: str = "a value there", places: Any = None
) -> None:
    """Raises if a cell of a list or an array is missing, and says at which place."""
    is_table = isinstance(cells, np.ndarray) and cells.ndim != 1
    places = itertools.count() if places is None else places
    placed_cells = zip(places, cells, strict=False)
    for place, cell in np.ndenumerate(cells) if is_table else placed_cells:
        if is_missing(cell):
            raise ValueError(f"{name} is {cell} at {place}; pass {cure}")


def named(columns: object, name: str = "columns") -> dict[str, object]:
    """Returns the columns of a dict, keyed by the names that messages use for them."""
    columns = columns if isinstance(columns, Mapping) else {}
    return {f"{name}[{key!r}]": column for key, column in columns.items()}


def frames_among(**arguments: object) -> dict[str, object]:
    """Returns the arguments that are frames of pandas, whose index names the lists."""
    return {name: value for name, value in arguments.items() if is_pandas_frame(value)}


def same_index(
    of_items: Mapping[str, Any] | None = None,
    of_lists: Mapping[str, Any] | None = None,
) -> None:
    """Raises if frames and Series that are read by position have different indexes.

    Frames of polars have no index, so only the names of their columns are compared.

    Args:
        of_items: Arguments of any form with the same items: `[items]` or `[lists, items]`.
        of_lists: Arguments of the same lists: `[lists]`, or frames whose columns may be
            different items. A Series is `[lists]`.
    """
    if not {"pandas", "polars"} & sys.modules.keys():
        return
    known: dict[str, tuple[str, Any]] = {}  # for each axis, the first argument's index
    for has_items, arguments in ((True, of_items), (False, of_lists)):
        for name, value in (arguments or {}).items():
            axes: list[tuple[str, Any]] = []
            if is_pandas_frame(value):
                axes = [("index", value.index), ("columns", value.columns)]
                axes = axes if has_items else axes[:1]
            elif is_series(value):
                axes = [("columns" if has_items else "index", value.index)]
            elif has_items and _is_of(value, "polars", "DataFrame"):
                names = value.columns
                axes = [] if _are_numbered(names) else [("columns", names)]
            for axis, index in axes:
                owner, owner_index = known.setdefault(axis, (name, index))
                if not _are_same(index, owner_index):
                    raise ValueError(
                        f"{name} has another index than {owner}, but both are read by "
                        "position; bring both into one order, or call .to_numpy() on "
                        f"{name}"
                    )


def _are_same(index: Any, of_owner: Any) -> bool:
    """True if two indexes of pandas, or lists of names, have equal entries in one order."""
    if isinstance(index, list) or isinstance(of_owner, list):
        return [*index] == [*of_owner]
    return index.equals(of_owner)


def _are_numbered(names: list[Any]) -> bool:
    """True if polars made up these names of columns, which then mean nothing."""
    return names == [f"column_{i}" for i in range(len(names))]


def refuse_other_order(name: str, ids: Any) -> None:
    """Raises if the index of a Series of row ids counts the rows in another order."""
    if not is_series(ids) or ids.index.is_monotonic_increasing:
        return
    if {*ids.index.tolist()} == {*range(len(ids))}:
        raise ValueError(
            f"{name} is a Series whose index counts the rows in another order; pass "
            f"{name}.sort_index(), or {name}.to_numpy() if its values are in the order of "
            "the rows"
        )


def refuse_ids(name: str, columns: Sequence[Any]) -> None:
    """Raises if a frame that is read by position has a column of ids among others."""
    for key in columns:
        if len(columns) > 1 and _is_named_by(_LISTS, key):
            raise ValueError(
                f"{name} has a column of ids, {key!r}, which would be read as numbers; "
                "leave it out, or make it the index of a pandas frame"
            )


def by_ids(
    name: str,
    value: Any,
    ids: Sequence[Any] | np.ndarray | range | None,
    unit: str,
    as_array: Callable[[Any], np.ndarray] = np.asarray,
) -> Any:
    """Returns labelled data in the order of the ids of its first axis.

    Args:
        name: The argument, for messages.
        value: Data of any form; data without labels is returned unchanged.
        ids: The ids; None for 0, 1, … up to the length of the data.
        unit: A plural for the entries of the axis. For "items", a frame has its labels in
            the column that is named like ids of items, and labels that are not among the
            ids raise. For other units, a frame has its labels in the column that is named
            like ids of lists, and labels that are not among the ids are left out.
        as_array: Reads the values of labelled data; `keys_of` if the values are ids too.
    """
    id_names = _ITEMS if unit == "items" else _LISTS
    labels, values = _parts(name, value, id_names, as_array)
    return values if labels is None else _ordered(name, labels, values, ids, unit)


def ids_of_items(name: str, value: Any) -> list[Any] | None:
    """Returns the ids that label the data of items, as dict keys; None without labels."""
    labels, _ = _parts(name, value, _ITEMS)
    return None if labels is None else lookup_keys(labels)


def labelled_items(name: str, value: Any) -> tuple[list[Any] | None, Any]:
    """Returns the ids of items in labelled data, or None, and the values of these items."""
    labels, values = _parts(name, value, _ITEMS)
    return (None if labels is None else list(keys_of(labels))), values


def by_items(name: str, value: Any, num_items: int | None = None) -> Any:
    """Returns labelled data in the order of the items of a catalogue, 0, 1, …"""
    return by_ids(name, value, None if num_items is None else range(num_items), "items")


def has_item_ids(frame: Any) -> bool:
    """True if a frame has a row for each item: one column of ids, and one of values."""
    keys = [*as_frame(frame, "a mask").columns]
    return len(keys) == 2 and any(
        _is_named_by(names, key) for names in (_ITEMS, _UNNAMED) for key in keys
    )


def by_items_of_rows(
    name: str, value: Any, units: str | None, ids: tuple[Any, Any] = (None, None)
) -> Any:
    """Returns a frame `[rows, items]` in the order of its items and of its rows.

    Args:
        name: The argument, for messages.
        value: Data of any form; data other than a frame is returned unchanged.
        units: A plural for the rows, such as "users"; None if rows have no ids.
        ids: The ids of rows and the ids of items; None for 0, 1, ….
    """
    if not is_frame(value):
        return value
    value = as_frame(value, name)
    labels, frame = _index_of(name, value, _LISTS)
    names = [*frame.columns]
    if ids[1] is None:
        names = [int(item) if str(item).isdecimal() else item for item in names]
    values = np.asarray(frame)
    if not _are_numbered(names):
        values = _ordered(name, names, values.T, ids[1], "items").T
    if labels is None or units is None:
        return values
    return _ordered(name, labels, values, ids[0], units)


def parts_of_tasks(frame: Any) -> list[tuple[Any, Any]]:
    """Splits a frame by its column or index level of tasks; [] if it has none."""
    if is_pandas_frame(frame) and "task" in frame.index.names:
        frame = frame.reset_index()
    keys = [key for key in frame.columns if _is_named_by(_TASKS, key)]
    if not keys:
        return []
    tasks = keys_of(frame[keys[0]])
    rows = frame.drop(columns=keys) if is_pandas_frame(frame) else frame.drop(keys)
    select = rows.loc.__getitem__ if is_pandas_frame(frame) else rows.filter
    return [(task, select(tasks == task)) for task in dict.fromkeys(tasks.tolist())]


def list_columns(
    name: str, frame: Any, is_metric: Callable[[Any], bool]
) -> tuple[Any, dict[Any, Any]]:
    """Splits a frame with a row for each list into the ids of lists and other columns.

    Ids are the column that is named like ids, or else the index. Without an index, or with
    an unnamed index of integers, a column that looks like ids raises, unless it has the
    name of a metric.
    """
    labels, values = _index_of(name, frame, _LISTS)
    columns = {key: values[key] for key in values.columns}
    is_unnamed = labels is None
    if is_pandas_frame(values) and labels is values.index:
        is_unnamed = labels.names == [None] and labels.dtype.kind in "iu"
    for key, column in columns.items() if is_unnamed else ():
        metric = key[-1] if isinstance(key, tuple) else key  # of several levels
        if _looks_like_ids(np.asarray(column)) and not is_metric(metric):
            raise ValueError(
                f"{name} has no column of ids, and the column {key!r} holds "
                f"{column.dtype}; if this column holds the ids of lists, call it 'list', "
                f"or pass {name}.set_index({key!r}); otherwise leave it out"
            )
    return (range(len(frame)) if labels is None else labels), columns


def _looks_like_ids(column: np.ndarray) -> bool:
    """True if the values of a column may be ids, which pandas may have made floats."""
    if column.dtype.kind != "f":
        return column.dtype.kind != "b"
    is_whole = bool((column % 1 == 0).all())
    return is_whole and column.size > 2 and np.unique(column).size == column.size


def key_of_ids(columns: Mapping[Any, Any]) -> Any:
    """Returns the key of the column that holds the ids of lists, or None."""
    for key, column in columns.items():
        if _is_named_by(_LISTS, key) and isinstance(column, (list, tuple, np.ndarray)):
            # A system may have such a name, but its values repeat or are fractions.
            ids = np.asarray(column)
            if ids.dtype.kind in "iuU" and np.unique(ids).size == ids.size > 1:
                return key
    return None


def _ordered(name: str, labels: Any, values: np.ndarray, ids: Any, unit: str) -> Any:
    """Returns values in the order of ids; labels may be in another order."""
    keys = lookup_keys(labels)
    listed = lookup_keys(range(len(keys)) if ids is None else ids)
    slots = {key: slot for slot, key in enumerate(keys)}
    if keys == listed and len(slots) == len(keys):
        return values
    refuse_missing(f"the id of {unit} in {name}", keys)
    is_other = any(key not in slots for key in listed)
    # Labels of lists that are not evaluated are ignored; labels of unknown items raise.
    is_other |= unit == "items" and len(keys) > len(listed)
    if is_other or len(slots) < len(keys):
        problem = "has some labels more than once"
        if is_other:
            unlisted = [key for key in listed if key not in slots]
            labels, absent, expected = (
                ", ".join(map(repr, names[:3])) + ", …" * (len(names) > 3)
                for names in (keys, unlisted, listed)
            )
            # Name absent labels, because the first labels may be equal on both sides.
            absent = f" without {absent} ({len(unlisted)})," if unlisted else ""
            problem = (
                f"has the labels {labels},{absent} which are not the ids of the {unit}, "
                f"{expected}"
            )
        raise ValueError(
            f"{name} {problem}; pass a value for each of the {unit}; or, if the values are "
            "in the order of the ids, pass the values alone as an array (.to_numpy() of a "
            "Series)"
        )
    return values[[slots[key] for key in listed]]


def read_labelled(name: str, value: Any) -> tuple[Any, np.ndarray]:
    """Returns the ids of lists in a Series or a frame, and the values of these lists."""
    labels, values = _parts(name, value, _LISTS)
    return (range(len(values)) if labels is None else labels), values


def _parts(
    name: str,
    value: Any,
    id_names: re.Pattern[str],
    as_array: Callable[[Any], np.ndarray] = np.asarray,
) -> tuple[Any, Any]:
    """Returns the labels of the first axis, or None, and the values."""
    if is_series(value):
        return value.index, as_array(value)
    if is_frame(value):
        value = as_frame(value, name)
        labels, columns = _index_of(name, value, id_names)
        # A single column beside the column of ids holds the values themselves.
        if labels is not getattr(value, "index", None) and columns.shape[1] == 1:
            return labels, as_array(columns[columns.columns[0]])
        return labels, np.asarray(columns)
    if isinstance(value, Mapping):
        refuse_masked(name, list(value.values()), "a number in place of what is masked")
        try:
            return list(value), as_array(list(value.values()))
        except ValueError as error:
            raise ValueError(
                f"{name}: values differ in length; pass values of one length for all keys"
            ) from error
    return None, value


def _index_of(name: str, frame: Any, id_names: re.Pattern[str]) -> tuple[Any, Any]:
    """Returns the labels of the rows of a frame, or None, and its other columns."""
    keys = [key for key in frame.columns if _is_named_by(id_names, key)]
    unnamed = [key for key in frame.columns if _is_named_by(_UNNAMED, key)]
    # An unnamed index may have left a column that only numbers the rows. Ignore it if there
    # are ids.
    dropped, keys = [*keys, *unnamed], keys or unnamed
    index = frame.index if is_pandas_frame(frame) else None
    # An index that is named like ids holds ids too; any other index numbers the rows.
    names = [index.name] if index is not None else []
    names = [*keys, *(key for key in names if _is_named_by(id_names, key))]
    if keys and len(names) > 1:
        listed = ", ".join(map(repr, names))
        raise ValueError(
            f"{name} has several columns of ids, {listed}; keep one of them"
        )
    if not keys:
        return index, frame
    columns = frame.drop(columns=dropped) if index is not None else frame.drop(dropped)
    return keys_of(frame[keys[0]]), columns


def _is_named_by(pattern: re.Pattern[str], key: object) -> bool:
    # If columns have several levels, the column of an index has the key ("list", "") or, in
    # CSV, ("list", "Unnamed: 0_level_1").
    parts = list(key) if isinstance(key, tuple) else [key]
    texts = [
        re.sub(r"[\s_-]", "", part).lower() for part in parts if isinstance(part, str)
    ]
    if len(texts) < len(parts) or any(
        not re.fullmatch("(?:unnamed:[0-9]+level[0-9]+)?", text) for text in texts[1:]
    ):
        return False
    return pattern.fullmatch(texts[0]) is not None
