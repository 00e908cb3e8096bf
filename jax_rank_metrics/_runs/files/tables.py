"""Reads tables of scored items, of any library or format, as frames of checked columns."""

import collections
import glob
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np

from jax_rank_metrics._engine.items import GROUPS
from jax_rank_metrics._engine.ordering import order_on_host
from jax_rank_metrics._ground import inputs
from jax_rank_metrics._runs.files import frames, join, read, sources
from jax_rank_metrics._runs.files.frames import pl

# The names of columns that are read if a call names no column.
_NAMES = {
    "list": "query query_id qid session session_id user user_id group list".split(),
    "label": "label relevance rel grade click clicked target".split(),
    "score": "score scores prediction pred".split(),
}
_SCANS: dict[str, Callable[[Path], "pl.LazyFrame"]] = {
    "parquet": lambda path: pl.scan_parquet(path),
    "arrow": lambda path: pl.scan_ipc(path),
    "csv": lambda path: pl.scan_csv(path, infer_schema=False),
    "tsv": lambda path: pl.scan_csv(path, infer_schema=False, separator="\t"),
    "jsonl": lambda path: pl.scan_ndjson(path, infer_schema_length=None),
}
_FLAG_ROLES = ("mask", "retrieved", "columns['judged']", "columns['pooled']")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
MAX_WHOLE = 20_000_000  # rows of files that are read at once
PART = 2**20  # rows to collect before a part is yielded

# A dict from arguments, such as "list", and from entries of `columns` to names of columns.
# None means one of the names in _NAMES.
Roles = Mapping[str, str | None]


class _Rows(NamedTuple):
    """Unchecked rows of a table, whose columns have the names of arguments."""

    frame: "pl.DataFrame"
    names: dict[str, str]  # from arguments to the names of columns in the table
    where: str  # the name of the table, for messages
    first: int = 0  # the number of the first row


def parts(source: Any, roles: Roles, is_sorted_here: bool) -> Iterator["pl.DataFrame"]:
    """Yields a whole table, or parts of whole lists.

    The columns have the names of arguments. The label is null if an item is left out,
    because its label is missing or below 0, or because it is masked. The score is null if
    an item is left out or was not retrieved.

    Args:
        source: See `evaluate_scored`.
        roles: The columns to read.
        is_sorted_here: Whether to accept the rows of a stream in any order: files are then
            sorted by list, and other streams are read whole.

    Raises:
        TypeError: if `source` is not a table.
        ValueError: if the table is empty or lacks a column, or a value is wrong; if rows of
            a list are not neighbours in a stream.
    """
    rows, max_rows = _rows_of(source, roles, is_sorted_here)
    checked_rows = (_checked(batch) for batch in rows if batch.frame.height)
    pending, height = collections.deque[pl.DataFrame](), 0
    for frame in checked_rows:
        pending.append(frame)
        height += frame.height
        if height > max_rows:
            popped = (pending.popleft() for _ in range(len(pending)))
            yield from _whole_lists(itertools.chain(popped, checked_rows))
            return
    if not height:
        raise ValueError("source is empty; pass at least one row")
    yield _concatenated(pending)


def _concatenated(tables: Iterable["pl.DataFrame"]) -> "pl.DataFrame":
    """Returns the rows of all tables; integer scores beyond 2^53 stay integers.

    Polars would make floats of them, and ties, if another table has smaller scores, which
    are floats. It has no type for two enums, so these become strings.
    """
    tables = [*tables]
    if len({tuple(table.schema.items()) for table in tables}) > 1:
        as_strings = pl.selectors.enum().cast(pl.String)
        tables = [table.with_columns(as_strings) for table in tables]
    if len({table["score"].dtype for table in tables}) > 1:
        in_integers = [
            table.with_columns(pl.col("score").cast(pl.Int64, strict=False))
            for table in tables
        ]
        if all(
            table["score"].eq_missing(whole["score"]).all()
            for table, whole in zip(tables, in_integers, strict=True)
        ):
            tables = in_integers
    return pl.concat(tables, how="vertical_relaxed")


def _rows_of(
    source: Any, roles: Roles, is_sorted_here: bool
) -> tuple[Iterable[_Rows], float]:
    """Returns the rows of a source, and up to how many rows the source is read whole."""
    entries = source if isinstance(source, (list, tuple)) and source else [source]
    if all(isinstance(path, (str, PathLike)) for path in entries):
        paths = [path for entry in entries for path in _paths(entry)]
        return _rows_of_files(paths, roles, is_sorted_here), MAX_WHOLE
    if isinstance(source, Mapping) or inputs.is_frame(source):
        return [_rows_of_frame("source", source, roles)], math.inf
    if not isinstance(source, Iterable) or inputs.is_series(source):
        raise TypeError(
            f"source: got {inputs.kind_of(source)}; pass a frame, a path of a table, or an "
            "iterator of frames"
        )
    batches = (
        _rows_of_frame(f"batch {number} of source", batch, roles)
        for number, batch in enumerate(source)
    )
    return batches, math.inf if is_sorted_here else 0


def _rows_of_frame(where: str, data: Any, roles: Roles) -> _Rows:
    """Returns the columns of a frame, a batch of Arrow, or a dict of arrays."""
    if hasattr(data, "__arrow_c_array__") and not isinstance(data, pl.Series):
        data = pl.DataFrame(data)
    data = inputs.as_frame(data, "jrm.evaluate_scored")
    if not isinstance(data, Mapping) and not inputs.is_frame(data):
        raise TypeError(
            f"{where}: got {inputs.kind_of(data)}; pass a frame, or a dict of arrays"
        )
    names = _names(where, [*getattr(data, "columns", data)], roles)
    columns = {role: data[name] for role, name in names.items()}
    for role, name in names.items():
        cure = "its .tolist(), where masked entries are missing"
        inputs.refuse_masked(f"{where}: {name}", columns[role], cure)
    if not isinstance(data, pl.DataFrame):
        columns = {
            # NumPy would turn a list of numbers and strings into strings.
            role: column
            if isinstance(column, list) and str in map(type, column)
            else join.numeric(column)
            for role, column in columns.items()
        }
    try:
        frame = pl.DataFrame([frames.series(where, *pair) for pair in columns.items()])
    except pl.exceptions.ShapeError as error:
        raise ValueError(
            f"{where}: columns differ in length ({error}); pass columns of one length"
        ) from error
    return _Rows(frame, names, where)


def _names(where: str, columns: Sequence[str], roles: Roles) -> dict[str, str]:
    """Returns a dict from arguments to columns; raises if a table lacks a column."""
    names = {}
    for role, name in roles.items():
        if not isinstance(name, str) and (name is not None or role not in _NAMES):
            raise TypeError(
                f"{role}: got {inputs.kind_of(name)}; pass the name of a column of source"
            )
        known = _NAMES[role] if name is None else [name]
        matches = [
            column
            for column in columns
            if (str(column).lower() if name is None else column) in known
        ]
        if len(matches) != 1:
            problem = f"has no column {' or '.join(known[:2])}"
            if len({*matches}) == 1:
                raise ValueError(
                    f"{where} has {len(matches)} columns {matches[0]!r}; pass a table "
                    "whose columns have different names"
                )
            if matches:
                problem = f"has the columns {frames.listed(matches)}"
            raise ValueError(
                f"{where} {problem}; pass {role}= one of {frames.listed(columns)[:200]}"
            )
        names[role] = matches[0]
    return names


def _paths(path: Any) -> list[Path]:
    """Returns the files at a path, in a folder, or of a glob, sorted by name."""
    if (folder := Path(path)).is_dir():
        files = [file for file in folder.rglob("*") if _format_of(file) in _SCANS]
        files = [file for file in sorted(files) if file.name[0] not in "._"]
    elif glob.has_magic(str(path)) and not folder.exists():
        files = [Path(file) for file in sorted(glob.glob(str(path), recursive=True))]
    else:
        return [folder]
    if not files:
        raise ValueError(f"source: there is no table at {path}; pass a table's path")
    return files


def _format_of(path: Path) -> str | None:
    """Returns the format of an extension, or the extension itself if it is unknown."""
    suffix = re.sub(sources.PACKED, "", path.name.lower()).rpartition(".")[2]
    return "arrow" if suffix in ("feather", "ipc") else read.format_of(path) or suffix


def _rows_of_files(
    paths: Sequence[Path], roles: Roles, is_sorted_here: bool
) -> Iterator[_Rows]:
    """Yields the rows of files; if asked, sorted by polars, outside of memory if it can."""
    scans, where = [], ""
    try:
        for path in paths:
            where = str(path)
            if (scan := _SCANS.get(str(_format_of(path)))) is None:
                raise ValueError(
                    f"{path}: has no extension of a table; pass a file that ends in "
                    ".parquet, .csv, .tsv, .jsonl or .arrow, or a frame"
                )
            names = _names(where, scan(path).collect_schema().names(), roles)
            chosen = {role: pl.col(name) for role, name in names.items()}
            scans.append((where, scan(path).select(**chosen), names))
        if is_sorted_here:
            table = pl.concat([scan for _, scan, _ in scans], how="vertical_relaxed")
            table = order_on_host.by_columns(table, ["list"], [False])
            scans = [("source", table, scans[0][-1])]
        for where, scan, names in scans:
            first = 0
            for frame in scan.collect_batches(chunk_size=PART, maintain_order=True):
                yield _Rows(frame, names, where, first)
                first += frame.height
    except pl.exceptions.PolarsError as error:
        raise ValueError(
            f"{where}: cannot be read as a table ({error}); pass a file whose content fits "
            "its extension"
        ) from error


def _checked(rows: _Rows) -> "pl.DataFrame":
    """Returns checked columns; see `parts`."""
    frame, names, where, first = rows

    def fail(row: int, reason: str) -> NoReturn:
        list_id = frame["list"][row]
        raise ValueError(f"{where}, row {first + row} (of list {list_id!r}): {reason}")

    def numbers(
        values: "pl.Series", kind: frames.ValueColumn, is_read: "pl.Series"
    ) -> "pl.Series":
        """Returns checked numbers, with null in rows that are not read."""
        if values.dtype == pl.Null:
            values = values.cast(pl.Float64)
        if is_read.all():
            return frames.numbers_of(values, kind, fail)
        frames.numbers_of(values[:0], kind, fail)  # raises if they are no numbers
        zero = pl.lit(0).cast(values.dtype)
        filled = pl.select(pl.when(is_read).then(values).otherwise(zero)).to_series()
        return frames.numbers_of(filled, kind, fail).set(~is_read, None)

    columns: dict[str, pl.Series] = {}
    for role, name in names.items():
        values = frame[role].alias(name)
        if role in ("list", "item"):
            if _format_of(Path(where)) in _SCANS:  # a file
                frames.refuse_breaks(values, fail)
            values = frames.ids_of(values, fail)
        elif role in ("weight", "list_weight"):
            values = frames.numbers_of(values, "relevance", fail).cast(pl.Float64)
            row = frames.first_true(values < 0)
            if row is not None:
                fail(row, f"{name} is {values[row]}; pass at least 0")
            if role == "list_weight":
                inputs.check_weights(f"{where}: {name}", values.unique().to_numpy())
        elif role in _FLAG_ROLES:
            values = _flags(values, fail)
        elif role.startswith("columns["):
            if isinstance(values.dtype, (pl.List, pl.Array)):
                values = _vectors(values, fail, role == f"columns['{GROUPS}']")
            else:
                values = frames.numbers_of(values, "relevance", fail)
        columns[role] = values
    labels = columns["label"]
    exists = labels.is_not_null() & columns.pop("mask", True)
    if labels.dtype.is_float():
        exists &= labels.is_not_nan()
    labels = numbers(labels, "relevance", exists)
    row = frames.first_true(labels.cast(pl.Float64) > np.finfo(np.float32).max)
    if row is not None:
        fail(
            row, f"{labels.name} is {labels[row]}, beyond float32; pass smaller labels"
        )
    exists &= (labels >= 0).fill_null(False)
    columns["label"] = labels.set(~exists, None)
    has_rank = exists & columns.get("retrieved", True)
    columns["score"] = numbers(columns["score"], "score", has_rank)
    return pl.DataFrame([values.alias(role) for role, values in columns.items()])


def _vectors(
    column: "pl.Series", fail: frames.Fail, may_be_unknown: bool
) -> "pl.Series":
    """Returns a column of lists, such as memberships in subtopics, as arrays of one length.

    Only numbers that `may_be_unknown` may be missing.
    """
    inner: pl.DataType = column.dtype.inner  # type: ignore[attr-defined]
    column = column.cast(pl.List(inner))
    lengths = column.list.len()
    width = cast(int, lengths.max() or 0)
    row = frames.first_true(column.is_null() | (lengths != width))
    if row is not None:
        number = (
            "is missing" if column[row] is None else f"holds {lengths[row]} numbers"
        )
        fail(row, f"{column.name} {number}; pass {width} numbers in every row")
    if not may_be_unknown and inner.is_numeric():
        numbers = column.explode().cast(pl.Float64)
        place = frames.first_true(numbers.is_null() | numbers.is_nan())
        if place is not None:
            fail(place // width, f"{column.name} lacks a number; pass {width} numbers")
    return column.list.to_array(width)


def _flags(column: "pl.Series", fail: frames.Fail) -> "pl.Series":
    """Returns a column of bools, also from text such as "true" or "0"."""
    flags = column
    if column.dtype == pl.String:
        flags = column.str.to_lowercase().replace_strict(
            _FLAGS, default=None, return_dtype=pl.Boolean
        )
    if flags.dtype != pl.Boolean:
        fail(0, f"{column.name} is {column.dtype}; pass bools, such as column != 0")
    row = frames.first_true(flags.is_null())
    if row is not None:
        fail(row, f"{column.name} is {column[row]}; pass True or False")
    return flags


def _whole_lists(tables: Iterable["pl.DataFrame"]) -> Iterator["pl.DataFrame"]:
    """Yields parts of whole lists from a stream; the rows of a list are neighbours."""
    pending: list[pl.DataFrame] = []
    height, enough, seen = 0, PART, _Seen()
    for table in tables:
        pending.append(table)
        height += table.height
        if height < enough:
            continue
        part = _concatenated(pending)
        lengths = part["list"].rle().struct.field("len")
        cut = height - lengths[-1]  # more rows of the last list may follow
        if cut:
            seen.add(part["list"][:cut])
            yield part[:cut]
        pending, height = [part[cut:]], height - cut
        enough = max(PART, 2 * height)
    part = _concatenated(pending)
    seen.add(part["list"])
    yield part


class _Seen:
    """Digests of 64 bits of the lists that a stream has yielded, in few sorted arrays."""

    def __init__(self) -> None:
        """Starts without lists."""
        self._digests: list[np.ndarray] = []

    def add(self, ids: "pl.Series") -> None:
        """Adds the lists of a part; raises if a list has ended before."""
        lists = ids.rle().struct.field("value")
        digests = lists.hash().to_numpy()
        new, first = np.unique(digests, return_index=True)
        repeats = np.setdiff1d(np.arange(len(digests)), first)
        for known in self._digests:
            places = np.minimum(known.searchsorted(digests), len(known) - 1)
            repeats = np.append(repeats, np.flatnonzero(known[places] == digests))
        if len(repeats):
            raise ValueError(
                f"source: the list {lists[int(repeats.min())]!r} comes again after it has "
                "ended; sort the rows by list, or pass sort=True"
            )
        while self._digests and len(self._digests[-1]) <= len(new):
            new = np.union1d(self._digests.pop(), new)
        self._digests.append(new)
