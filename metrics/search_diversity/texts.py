# SPDX-License-Identifier: Apache-2.0
"""Text that a visitor gives, read within bounds. The same file in each Space."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

MAX_BYTES = 20_000_000  # of a file, and of pasted text


class UploadError(ValueError):
    """What is wrong with an upload, for its owner to read."""


def bound(what: str, size: int, most: int) -> None:
    """Refuse more than the page takes."""
    if size > most:
        raise UploadError(f"There may be at most {most:,} {what}, here are {size:,}.")


def read_text(file: Path) -> str:
    """The text of a file."""
    bound(f"bytes in {file.name}", file.stat().st_size, MAX_BYTES)
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UploadError(f"{file.name}: not UTF-8 at byte {error.start:,}.") from None


def read_json(text: str, name: str) -> Any:
    """The value of a JSON text."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise UploadError(f"{name}: the JSON is nested too deeply.") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UploadError(f"{name} is not JSON: {error.msg} at {place}.") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; a name that is there twice would hide a value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise UploadError(f"The name {twice[:80]!r} is there twice in one object of the JSON.")
    return found


def read_pasted(text: str) -> dict[str, Any]:
    """`predictions`, `references` and perhaps `query_ids` of pasted JSON."""
    bound("characters of text", len(text), MAX_BYTES)
    return checked(read_json(text, "The text"), "The text")


def checked(value: Any, name: str) -> dict[str, Any]:
    """`predictions`, `references` and perhaps `query_ids`, and nothing else."""
    known = {"predictions", "references", "query_ids"}
    if not isinstance(value, dict) or not {"predictions", "references"} <= value.keys() <= known:
        form = '{"predictions": [...], "references": [...]}'
        raise UploadError(f'{name} must be {form}; "query_ids": [...] may be added.')
    return value
