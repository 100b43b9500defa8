# SPDX-License-Identifier: Apache-2.0
"""QuoteR's text files, from bytes to samples."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from quotediv.loaders.reading import BOM, read_lines


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
        start: first line, counted from 0; earlier lines are not checked.
        stop: line before which to end; None reads to the end.
    Raises:
        ValueError: a line without three fields or not in UTF-8; names file and line.
    """
    lines = islice(read_lines(path), start, stop)
    for number, line in enumerate(lines, start + 1):
        if number == 1:
            line = line.removeprefix(BOM)
        text = _decode(line.removesuffix(b"\n").removesuffix(b"\r"), path, number)
        fields = (text.lower() if lowercase else text).split("\t")
        if len(fields) != 3:
            raise ValueError(f"{path}:{number}: expected 3 tab-separated fields, got {len(fields)}")
        yield Sample(*fields)


def _decode(line: bytes, path: str, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        got = f"byte 0x{line[error.start]:02x} at byte {error.start} of the line"
        raise ValueError(
            f"{path}:{number}: expected text in the encoding UTF-8, got {got}"
        ) from None
