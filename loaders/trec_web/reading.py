# SPDX-License-Identifier: Apache-2.0
"""Files as bytes, text and columns; what is wrong in one is named with its line."""

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
CHUNK = 1 << 16


def read_bytes(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        FileNotFoundError: no such file, or a folder.
    """
    if path.is_dir():
        raise FileNotFoundError(f"{path} is a folder, not a file")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    return path.read_bytes()


def read_text(path: Path) -> str:
    """The text of a file, gzipped or not, without a byte order mark.

    Raises:
        ValueError: not UTF-8, or a broken gzip file; names file and line.
        FileNotFoundError: no such file, or a folder.
    """
    data = read_bytes(path)
    data = _gunzip(data, path) if data.startswith(GZIP) else data
    data = data.removeprefix(BOM)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        got = f"byte 0x{data[error.start]:02x}"
        raise ValueError(f"{path}:{line}: expected text in the encoding UTF-8, got {got}") from None


def _gunzip(data: bytes, path: Path) -> bytes:
    out = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            while chunk := stream.read1(CHUNK):
                out += chunk
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        line = out.count(b"\n") + 1
        raise ValueError(f"{path}:{line}: expected a whole gzip file, got {error}") from error
    return bytes(out)


def read_fields(path: Path, columns: str) -> Iterator[tuple[int, list[str]]]:
    """Number and fields of each line; blank lines are fine only at the end.

    Raises:
        ValueError: a line with another number of columns; names file and line.
    """
    n_columns = columns.count(",") + 1
    for number, line in enumerate(read_text(path).rstrip().split("\n"), 1):
        fields = line.split()
        if len(fields) != n_columns:
            expected = f"expected {n_columns} columns ({columns})"
            raise ValueError(f"{path}:{number}: {expected}, got {len(fields)}")
        yield number, fields
