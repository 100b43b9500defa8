# SPDX-License-Identifier: Apache-2.0
"""Files as bytes, text and columns; what is wrong in one is named with its line."""

import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

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


def read_bytes(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        FileNotFoundError: no such file, or a folder.
    """
    _check_file(path)
    return path.read_bytes()


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


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise FileNotFoundError(f"{path} is a folder, not a file")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")


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

    Spaces and tabs part fields. A carriage return counts as one: lines may end in CRLF.

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
    """Refuse what is not of a form, INTEGER or NATURAL, before Python's `int` reads it."""
    if not form.fullmatch(text):
        kind, limits = RULES[form]
        rule = kind + limits if DIGITS.fullmatch(text) else kind
        raise ValueError(f"{place}: expected {rule} as {name}, got {shortened(text)}")


def shortened(text: str) -> str:
    """The text in quotes, for a message: a part of it if it is long."""
    return repr(text if len(text) <= LONGEST else f"{text[:LONGEST]}...")
