# SPDX-License-Identifier: Apache-2.0
"""What a visitor pastes or uploads, read within bounds and never executed."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from common_texts import (
    KEYS,
    MAX_BYTES,
    UploadError,
    bound,
    checked,
    read_json,
    read_pasted,
    read_text,
)

MAX_ROWS = 20_000
MAX_VALUES = 5_000_000  # scores or candidates, of all rows together
FORMATS = (".json", ".jsonl", ".csv", ".parquet", ".npy")
INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,17})")  # a leading zero makes it a name
NUMBER = re.compile(
    rf"{INTEGER.pattern}|[+-]?(?:(?:0|[1-9][0-9]*)?\.[0-9]*|(?:0|[1-9][0-9]*))(?:[eE][+-]?[0-9]+)?"
    r"|[+-]?inf(?:inity)?|nan",
    re.IGNORECASE,
)
COMMA = re.compile(r"^([+-]?[0-9]*),([0-9]+(?:[eE][+-]?[0-9]+)?)$")
COLUMNS = "rank and tied, or gold and, after it, one for each score or candidate"


class Upload(NamedTuple):
    """Arguments of `compute`, and the kind of the rows where the format tells it."""

    predictions: Any
    references: Any
    query_ids: Any = None
    kind: str | None = None


def read(text: str | None, paths: Sequence[str] | None) -> Upload:
    """Read the files, or the text where there are none.

    Raises:
        UploadError: they are too large, or of an unknown form.
    """
    if paths:
        upload = _read_files([Path(path) for path in paths])
    elif text and text.strip():
        upload = Upload(**read_pasted(text))
    else:
        raise UploadError(f"Paste JSON, {KEYS}, or upload a file.")
    rows = upload.predictions
    if isinstance(rows, list):
        bound("rows", len(rows), MAX_ROWS)
        bound("values", sum(len(row) for row in rows if isinstance(row, list)), MAX_VALUES)
    return upload


def _read_files(files: list[Path]) -> Upload:
    formats = [file.suffix.lower() for file in files]
    for file, form in zip(files, formats, strict=True):
        if form not in FORMATS:
            raise UploadError(f"{file.name}: the formats are {', '.join(FORMATS)}.")
        bound(f"bytes in {file.name}", file.stat().st_size, MAX_BYTES)
    if set(formats) == {".npy"}:
        return _read_npy(files)
    if len(files) != 1:
        raise UploadError("Upload one file, or two .npy files, of scores and of golds.")
    return READERS[formats[0]](files[0])


# JSON ------------------------------------------------------------------------------------------


def _read_json(file: Path) -> Upload:
    return Upload(**checked(read_json(read_text(file), file.name), file.name))


def _read_jsonl(file: Path) -> Upload:
    """Lines {"prediction": ..., "reference": ...}."""
    rows = []
    for number, line in enumerate(read_text(file).split("\n"), 1):
        if line.strip():
            name = f"{file.name}, line {number}"
            row = read_json(line, name)
            if not isinstance(row, dict) or not {"prediction", "reference"} <= row.keys():
                form = '{"prediction": ..., "reference": ...}'
                raise UploadError(f'{name} must be {form}; "query_id": ... may be added.')
            rows.append(row)
    ids = [row.get("query_id") for row in rows] if any("query_id" in row for row in rows) else None
    return Upload([row["prediction"] for row in rows], [row["reference"] for row in rows], ids)


# CSV -------------------------------------------------------------------------------------------


def _read_csv(file: Path) -> Upload:
    """A header, then one line per query: rank and tied, or gold and its scores or candidates."""
    text = read_text(file)
    first = text.partition("\n")[0]
    delimiter = ";" if ";" in first and "," not in first else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        head, *lines = [[cell.strip() for cell in row] for row in reader if row] or [[]]
    except csv.Error as error:
        raise UploadError(f"{file.name}, line {reader.line_num}: {error}.") from None
    for number, row in enumerate(lines, 1):
        if len(row) > len(head):
            found = f"{len(row)} cells for {len(head)} columns"
            raise UploadError(f"{file.name}, row {number}: {found}.")
    if len(set(head)) < len(head):
        raise UploadError(f"{file.name}: two columns have one name.")
    if "" in head and any(row[head.index("")] for row in lines if len(row) > head.index("")):
        raise UploadError(f"{file.name}: column {head.index('') + 1} has no name.")
    if "gold" in head and not set(head[: head.index("gold")]) <= {"query_id"}:
        raise UploadError(f"{file.name}: scores or candidates must stand after the column gold.")
    bound("rows", len(lines), MAX_ROWS)
    bound("cells", len(lines) * len(head), MAX_VALUES)  # short rows are filled up
    columns = {
        name: [row[place] if place < len(row) else "" for row in lines]
        for place, name in enumerate(head)
    }
    ids = columns.pop("query_id", None)
    if set(columns) in ({"rank"}, {"rank", "tied"}):
        ranks = _numbers(columns["rank"])
        tied = columns.get("tied")
        return Upload(ranks, _numbers(tied) if tied else [min(1, r) for r in ranks], ids, "ranks")
    if "gold" not in columns or len(columns) == 1:
        raise UploadError(f"{file.name}: the columns must be {COLUMNS}; query_id may be added.")
    golds = columns.pop("gold")
    rows = [_without_end(row) for row in zip(*columns.values(), strict=True)]
    if delimiter == ";":  # then a comma may be a decimal comma
        rows = [[COMMA.sub(r"\1.\2", cell) for cell in row] for row in rows]
    return Upload(*_typed(rows, golds, file.name), ids)


def _without_end(cells: Sequence[str]) -> list[str]:
    """The cells without the empty ones at the end, which only fill up a short row."""
    size = len(cells)
    while size and not cells[size - 1]:
        size -= 1
    return list(cells[:size])


def _typed(rows: list[list[str]], golds: list[str], name: str) -> tuple[list[Any], list[Any]]:
    """Ints if all cells are ints, else floats if all are numbers, else text."""
    cells = [(number, cell) for number, row in enumerate(rows, 1) for cell in row]
    for number, cell in cells:
        if not cell:
            raise UploadError(f"{name}, row {number}: an empty cell between others.")
    texts = [cell for cell in cells if not NUMBER.fullmatch(cell[1])]
    if not texts:
        kind = int if all(INTEGER.fullmatch(cell) for _, cell in cells) else float
        return [[kind(cell) for cell in row] for row in rows], _numbers(golds)
    if len(texts) < len(cells) and all(map(INTEGER.fullmatch, golds)):
        number, cell = texts[0]
        raise UploadError(f"{name}, row {number}: among numbers, {cell[:80]!r} is none.")
    return rows, golds


def _numbers(cells: Sequence[str]) -> list[Any]:
    """Cells as ints, or as floats where they are not ints."""
    for cell in cells:
        if not NUMBER.fullmatch(cell):
            raise UploadError(f"A number was expected, not {cell[:80]!r}.")
    return [int(cell) if INTEGER.fullmatch(cell) else float(cell) for cell in cells]


# Parquet and .npy ------------------------------------------------------------------------------


def _read_parquet(file: Path) -> Upload:
    """The columns predictions and references, and query_ids if there is one."""
    try:
        opened = pq.ParquetFile(file)
        bound("rows", opened.metadata.num_rows, MAX_ROWS)
        groups = [opened.metadata.row_group(i) for i in range(opened.metadata.num_row_groups)]
        for place in range(opened.metadata.num_columns):
            parts = [group.column(place) for group in groups]
            bound("values", sum(part.num_values for part in parts), MAX_VALUES)
            size = sum(part.total_uncompressed_size for part in parts)
            bound("bytes in a column", size, 4 * MAX_BYTES)
        # Dictionaries stay as they are: a long string repeated often would fill the memory.
        texts = [
            c.path
            for c in map(opened.schema.column, range(len(opened.schema)))
            if c.physical_type == "BYTE_ARRAY"
        ]
        opened = pq.ParquetFile(file, read_dictionary=texts)
        names = set(opened.schema_arrow.names)
        if not {"predictions", "references"} <= names:
            raise UploadError(f"{file.name}: the columns must be predictions and references.")
        wanted = [n for n in ("predictions", "references", "query_ids") if n in names]
        table = opened.read(wanted)
        for name in wanted:
            values, size = _expanded(table[name])  # its metadata may say less than it holds
            bound("values", values, MAX_VALUES)
            bound("bytes in a column", size, 4 * MAX_BYTES)
        table = table.to_pydict()
    except (pa.ArrowException, OSError, LookupError) as error:
        raise UploadError(f"{file.name} is not a Parquet file: {error}.") from None
    return Upload(table["predictions"], table["references"], table.get("query_ids"))


def _expanded(column: Any) -> tuple[int, int]:
    """Values in the lists of an Arrow column, and their bytes without a dictionary."""
    values = size = 0
    for chunk in column.chunks:
        while pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type):
            chunk = chunk.flatten()
        if pa.types.is_nested(chunk.type):
            raise UploadError(f"Columns must be numbers, text or lists of them, not {chunk.type}.")
        values += len(chunk)
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.binary_length(chunk.dictionary)
            size += pc.sum(lengths.take(chunk.indices)).as_py() or 0
        else:
            size += chunk.nbytes
    return values, size


def _read_npy(files: Sequence[Path]) -> Upload:
    """(N, C) scores and (N,) positions of the golds, in any order of the files."""
    arrays = [_array(file) for file in files]
    if sorted(array.ndim for array in arrays) != [1, 2]:
        shapes = ", ".join(str(array.shape) for array in arrays)
        rule = "Upload two .npy files, (N, C) scores and (N,) positions of the golds"
        raise UploadError(f"{rule}; these are {shapes}.")
    golds, scores = sorted(arrays, key=lambda array: array.ndim)
    bound("rows", len(scores), MAX_ROWS)
    bound("values", scores.size, MAX_VALUES)
    return Upload(scores, golds, kind="scores")


def _array(file: Path) -> Any:
    try:
        array = np.lib.format.open_memmap(file, mode="r")  # refuses pickled objects
    except Exception as error:  # of many types: numpy evaluates the header as a Python literal
        raise UploadError(f"{file.name} is not a .npy file of numbers: {error}.") from None
    if array.dtype.kind not in "fiub":
        raise UploadError(f"{file.name} must hold numbers, got {array.dtype}.")
    return np.array(array)


READERS = {".json": _read_json, ".jsonl": _read_jsonl, ".csv": _read_csv, ".parquet": _read_parquet}
