# SPDX-License-Identifier: Apache-2.0
"""Files as bytes, lines, text and columns; errors name the file and, where known, the line."""

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import fsspec

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
CHUNK = 1 << 16
FIELD = re.compile(r"[^ \t\r]+")
INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
NATURAL = re.compile(r"0|[1-9][0-9]{0,17}")
DIGITS = re.compile(r"[+-]?[0-9]+")
RULES = {
    INTEGER: ("an integer", " of at most 18 digits"),
    NATURAL: ("a natural number", " without leading zeros, of at most 18 digits"),
}
LONGEST = 60  # characters of a file in a message


def digest(path: Path, algorithm: str = "sha256") -> str:
    """The hash of a file, in hexadecimal, read piece by piece.

    Raises:
        FileNotFoundError: no such file, or a folder.
    """
    _check_file(path)
    state = hashlib.new(algorithm)
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            state.update(chunk)
    return state.hexdigest()


def read_lines(path: str | Path, *, number_in_error: bool = False) -> Iterator[bytes]:
    r"""The lines of a file, gzipped or not; only \n ends a line, and stays at its end.

    Args:
        path: a local file, or, as a str, a URL.
        number_in_error: whether the error about a broken gzip file names the line.
    Raises:
        ValueError: a broken gzip file.
        FileNotFoundError: no such file, or a folder.
    """
    number = 0
    with _open(path) as stream:
        try:
            for number, line in enumerate(stream, 1):  # noqa: B007 - of the last whole line
                yield line
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            place = f"{path}:{number + 1}" if number_in_error else path
            raise ValueError(f"{place}: expected a whole gzip file, got {error}") from error


def read_text(path: Path) -> str:
    """The text of a file, gzipped or not, without a byte order mark.

    Raises:
        ValueError: not UTF-8, or a broken gzip file; names file and line.
        FileNotFoundError: no such file, or a folder.
    """
    data = b"".join(read_lines(path, number_in_error=True))
    return decode(data, path, "text in the encoding UTF-8")


def decode(data: bytes, path: str | Path, expected: str) -> str:
    """The text of the bytes of a file, without a byte order mark.

    Raises:
        ValueError: not UTF-8; names file and line, and what was `expected`.
    """
    data = data.removeprefix(BOM)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        got = f"byte 0x{data[error.start]:02x}"
        raise ValueError(f"{path}:{line}: expected {expected}, got {got}") from None


def read_fields(path: Path, columns: str) -> Iterator[tuple[int, list[str]]]:
    """The number and the fields of each line; blank lines are allowed only at the end.

    Spaces and tabs separate fields. So does a carriage return: lines may end in CRLF.

    Raises:
        ValueError: a line with another number of columns; names file and line.
    """
    n_columns = columns.count(",") + 1
    for number, line in enumerate(read_text(path).rstrip(" \t\r\n").split("\n"), 1):
        fields = FIELD.findall(line)
        if len(fields) != n_columns:
            expected = f"expected {n_columns} columns ({columns})"
            raise ValueError(f"{path}:{number}: {expected}, got {len(fields)}")
        yield number, fields


def check_number(place: str, name: str, text: str, form: re.Pattern[str]) -> None:
    """Refuse text that does not match `form`, INTEGER or NATURAL, before `int` reads it."""
    if not form.fullmatch(text):
        kind, limits = RULES[form]
        rule = kind + limits if DIGITS.fullmatch(text) else kind
        raise ValueError(f"{place}: expected {rule} as {name}, got {shortened(text)}")


def shortened(text: str) -> str:
    """The text in quotes, for a message; only its beginning if it is long."""
    return repr(text if len(text) <= LONGEST else f"{text[:LONGEST]}...")


@contextmanager
def _open(path: str | Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed if they begin as a gzip file does."""
    if isinstance(path, Path):
        _check_file(path)
    with path.open("rb") if isinstance(path, Path) else fsspec.open(path, "rb") as stream:
        magic = stream.read(len(GZIP))
        stream.seek(0)
        if magic != GZIP:
            yield stream
            return
        with gzip.GzipFile(fileobj=stream) as unzipped:
            yield unzipped  # type: ignore[misc]  # reads bytes as any other stream does


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise FileNotFoundError(f"{path} is a folder, not a file")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
