# SPDX-License-Identifier: Apache-2.0
"""QuoteR's text files, from bytes to samples."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO, NamedTuple

import fsspec

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"


class Sample(NamedTuple):
    """One line: a quote and the text around it."""

    left_context: str
    quote: str
    right_context: str


def read_samples(
    path: str, *, lowercase: bool, start: int = 0, stop: int | None = None
) -> Iterator[Sample]:
    r"""Read `left context \t quote \t right context` lines, gzipped or not.

    Only \n ends a line, and a \r before it is dropped, as is a byte order mark at the start of the
    file; every other byte is kept.

    Args:
        path: local path or URL.
        lowercase: whether to apply `str.lower` to all three fields.
        start: first line, from 0; lines before it are not looked at.
        stop: line before which to end; None reads to the end.
    Raises:
        ValueError: a line that has not three fields or is not UTF-8; names file and line.
    """
    with _open(path) as stream:
        lines = islice(_lines(stream, path), start, stop)
        for number, line in enumerate(lines, start + 1):
            if number == 1:
                line = line.removeprefix(BOM)
            text = _decode(line.removesuffix(b"\n").removesuffix(b"\r"), path, number)
            fields = (text.lower() if lowercase else text).split("\t")
            if len(fields) != 3:
                raise ValueError(
                    f"{path}:{number}: expected 3 tab-separated fields, got {len(fields)}"
                )
            yield Sample(*fields)


@contextmanager
def _open(path: str) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed if they begin like a gzip file's."""
    with fsspec.open(path, "rb") as stream:
        magic = stream.read(2)
        stream.seek(0)
        if magic != GZIP:
            yield stream
            return
        with gzip.GzipFile(fileobj=stream) as unzipped:
            yield unzipped  # type: ignore[misc]  # reads bytes as any other


def _lines(stream: BinaryIO, path: str) -> Iterator[bytes]:
    try:
        yield from stream
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: expected a whole gzip file, got {error}") from error


def _decode(line: bytes, path: str, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        got = f"byte 0x{line[error.start]:02x} at byte {error.start} of the line"
        raise ValueError(
            f"{path}:{number}: expected text in the encoding UTF-8, got {got}"
        ) from None
