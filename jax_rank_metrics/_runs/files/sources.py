"""Opens files, unpacks their bytes, and quotes lines in messages."""

import gzip
import io
import re
import sys
import zlib
from collections.abc import Callable
from os import PathLike
from typing import Any, BinaryIO, NamedTuple

from jax_rank_metrics._ground import inputs, optional

BOM = b"\xef\xbb\xbf"
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# The extension of packed files, after the extension of the format. Only the first bytes
# tell whether a file is packed, because a file that `gzip.open` returns has this extension
# but holds text.
PACKED = r"\.(?:gz|zst|zstd|bz2|xz|lz4|z)$"

# Patterns of the first bytes of compressed files that are refused.
_REFUSED_COMPRESSION = {
    "xz": rb"\xfd7zXZ\x00",
    "bzip2": rb"BZh\d1AY&SY",
    "zip": rb"PK\x03\x04",
    "lz4": rb"\x04\x22\x4d\x18",
    "Unix compress": rb"\x1f\x9d",  # the extension .Z
}
# A file may unpack to this many bytes, or to this many times its size if that is more.
MAX_UNPACKED, MAX_RATIO = 2**27, 100
PIECE = 2**11  # bytes of a packed file that are unpacked at a time
MAX_SHOWN = 80  # characters of a bad line that a message quotes

File = str | PathLike[str] | BinaryIO


class Source(NamedTuple):
    """A file to read: its name for messages, and a function that opens it."""

    name: str
    open: Callable[[], BinaryIO]

    @classmethod
    def of(cls, file: File) -> "Source":
        """Returns the source for a path, or for a file that is open already.

        Raises:
            TypeError: if `file` is neither a path nor an open file. If the file is open as
                text, opening the source raises TypeError.
        """
        if not callable(getattr(file, "read", None)):
            if isinstance(file, str | PathLike):
                return cls(str(file), lambda: open(file, "rb"))
            raise TypeError(
                f"path: got {inputs.kind_of(file)}; pass a path, or a file that is open"
            )
        opened: Any = file
        # Files of fsspec have a path, but some lack a name.
        names = (getattr(file, attribute, None) for attribute in ("name", "path"))
        name = str(next(filter(None, names), "the open file"))

        def remaining() -> BinaryIO:
            data: bytes | str = opened.read()
            if isinstance(data, str):
                if getattr(file, "encoding", None) is not None:  # None for a StringIO
                    raise TypeError(
                        f"{name} is open as text; open it with mode 'rb', or pass "
                        "sys.stdin.buffer"
                    )
                data = data.encode("utf-8", "surrogatepass")
            return io.BytesIO(data)

        return cls(name, remaining)

    def __str__(self) -> str:
        """Returns the name."""
        return self.name


def is_packed(start: bytes) -> bool:
    """True if a file that begins with these bytes is packed."""
    return start.startswith((GZIP, ZSTD))


def content(source: Source, data: bytes) -> bytes:
    """Returns the text of a file from its bytes: unpacked, without a byte order mark.

    Raises:
        ValueError: as `decompressed`; if it is a tar archive; if a byte order mark begins
            another line.
        ModuleNotFoundError: as `decompressed`.
    """
    data = decompressed(source, data).removeprefix(BOM)
    if data[257:262] == b"ustar":
        raise ValueError(
            f"{source}: is a tar archive; pass a file in it, such as tarfile.open(path)"
            ".extractfile(name)"
        )
    start = (b"\n" + data).find(b"\n" + BOM) if BOM in data else -1
    if start >= 0:
        line = data.count(b"\n", 0, start) + 1
        raise ValueError(
            f"{source}, {quote_line(line, data)}: begins with a byte order mark, as if "
            "files had been concatenated; remove the mark"
        )
    return data


def decompressed(source: Source, data: bytes) -> bytes:
    """Returns the content of a file from its bytes, which may be packed.

    Raises:
        ValueError: if it is truncated or corrupt gzip or zstd; if it is compressed in
            another way, or twice.
        ModuleNotFoundError: if it is zstd, and no library for that is installed.
    """
    for format, magic in _REFUSED_COMPRESSION.items():
        if re.match(magic, data):
            raise ValueError(
                f"{source}: is compressed by {format}, which is not supported; decompress "
                "it, or compress it by gzip or zstd"
            )
    limit = max(MAX_UNPACKED, MAX_RATIO * len(data))
    if not is_packed(data):
        return data
    if data.startswith(GZIP):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(limit + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"{source}: is a truncated or corrupt gzip file ({error}); copy it anew"
            ) from error
    else:
        data = _unpack_zstd(source, data, limit)
    if len(data) > limit:
        raise ValueError(
            f"{source}: unpacks to more than {limit >> 20} MiB, over {MAX_RATIO} times its "
            "size; if you trust it, decompress it first, or pass the result of gzip.open"
        )
    if is_packed(data):
        raise ValueError(f"{source}: is packed twice; decompress it once")
    return data


def _unpack_zstd(source: Source, data: bytes, limit: int) -> bytes:
    """Returns the content of all frames of a file that zstd has packed.

    Unpacking stops soon after `limit` bytes.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd

        new_decompressor: Callable[[], Any] = zstd.ZstdDecompressor
        failure: type[Exception] = zstd.ZstdError
    else:
        library = optional.import_optional("zstandard", f"{source}: zstd", "trec")
        new_decompressor = library.ZstdDecompressor().decompressobj
        failure = library.ZstdError

    def corrupt(reason: str) -> ValueError:
        return ValueError(
            f"{source}: is a truncated or corrupt zstd file ({reason}); copy it anew"
        )

    parts, size, start, decompressor = [], 0, 0, None
    # Unpack in pieces, so that unpacking can stop at the limit. A piece unpacks to some
    # 40 MB at most.
    while start < len(data) and size <= limit:
        if decompressor is None or decompressor.eof:  # a frame begins
            decompressor = new_decompressor()
        piece = data[start : start + PIECE]
        try:
            parts.append(decompressor.decompress(piece))
        except failure as error:
            raise corrupt(str(error)) from error
        start += len(piece) - len(decompressor.unused_data)
        size += len(parts[-1])
    if decompressor is None:
        raise corrupt("no frame")
    if size <= limit and not decompressor.eof:
        raise corrupt("the last frame has no end")
    return b"".join(parts)


def check_utf8(source: Source, data: bytes) -> None:
    """Raises ValueError with the line of the first byte that is not UTF-8, if any."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{source}, {quote_line(line, data)}: bytes are not UTF-8; save the file as "
            "UTF-8"
        ) from error


def check_line_ends(source: Source, data: bytes) -> None:
    """Raises ValueError if a carriage return stands inside a line.

    Old Macintosh programs end every line with a carriage return and no newline, so the
    whole file would be read as a single line.
    """
    match = re.search(rb"\r(?![\r\n]|\Z)", data) if b"\r" in data else None
    if match is not None:
        line = data.count(b"\n", 0, match.start()) + 1
        raise ValueError(
            f"{source}, {quote_line(line, data)}: has a carriage return inside the line; "
            "end lines with \\n or \\r\\n"
        )


def quote_line(line: int, data: bytes) -> str:
    r"""Returns the number of a line of a file, counted from 1, and its first characters.

    >>> quote_line(2, b"q1 0 d7 2\nq1 0 d9\n")
    "line 2 ('q1 0 d9')"
    """
    text = data.split(b"\n", line)[line - 1].decode(errors="replace").strip("\r")
    excerpt = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
    return f"line {line} ({excerpt!r})"


def half_character(error: UnicodeEncodeError) -> str:
    """Returns why an id is refused: it holds half a surrogate pair, which is not UTF-8."""
    return (
        f"the id {error.object[:MAX_SHOWN]!r} holds half a surrogate pair; write whole "
        "characters"
    )
