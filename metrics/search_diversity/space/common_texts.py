# A copy of metrics/common/space/texts.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""Text that visitors paste or upload, read within bounds."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

MAX_BYTES = 20 * 2**20  # of one file, or of pasted text
KEYS = '{"predictions": [...], "references": [...]}'


class UploadError(ValueError):
    """What is wrong with an upload, in words for the visitor."""


def bound(what: str, size: int, most: int) -> None:
    """Refuse more than the page takes."""
    if size > most:
        raise UploadError(f"There may be at most {most:,} {what}, here are {size:,}.")


def read_text(file: Path) -> str:
    """The text of a file."""
    bound(f"bytes in {file.name}", file.stat().st_size, MAX_BYTES)
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UploadError(f"{file.name}: not UTF-8 at byte {error.start:,}.") from None


def read_json(text: str, name: str) -> Any:
    """The value of a JSON text."""
    try:
        value = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_unique)
        if "\\u" in text:  # an escape can name half a character, which no page can show
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except RecursionError:
        raise UploadError(f"{name}: the JSON is nested too deeply.") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UploadError(f"{name} is not JSON: {error.msg} at {place}.") from None
    except UnicodeEncodeError:
        raise UploadError(f"{name}: the JSON holds half a character, a lone surrogate.") from None
    except UploadError:
        raise
    except ValueError:  # the only other one that json raises
        raise UploadError(f"{name}: an integer of the JSON has too many digits.") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object without repeated names, one of which would hide the other's value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise UploadError(f"The name {twice[:80]!r} is used twice in one JSON object.")
    return found


def read_pasted(text: str) -> dict[str, Any]:
    """`predictions`, `references` and perhaps `query_ids` from pasted JSON."""
    bound("characters of text", len(text), MAX_BYTES)
    return checked(read_json(text, "The text"), "The text")


def checked(value: Any, name: str) -> dict[str, Any]:
    """The value, if it has `predictions`, `references`, perhaps `query_ids` and nothing else."""
    known = {"predictions", "references", "query_ids"}
    if not isinstance(value, dict) or not {"predictions", "references"} <= value.keys() <= known:
        raise UploadError(f'{name} must be {KEYS}; "query_ids": [...] may be added.')
    return value


def read_depths(name: str, text: str, largest: int) -> list[int]:
    """The ints of a line such as "1, 10, 100", at most 20."""
    parts = text.replace(",", " ").split()
    if len(parts) > 20 or any(not part.isdecimal() or len(part) > 9 for part in parts):
        raise UploadError(f"{name}: give up to 20 whole numbers, such as 1, 10; got {text[:80]!r}.")
    found = [int(part) for part in parts]
    bound(f"ranks in {name}", max(found, default=0), largest)
    return found


def read_figures(name: str, text: str, largest: int) -> list[str] | None:
    """The names of a line such as "ERR-IA@20, NRBP", at most 20; None where it is empty."""
    names = text.replace(",", " ").split()
    bound(f"names in {name}", len(names), 20)
    depths = [figure.partition("@")[2] for figure in names]
    known = [int(k) for k in depths if k.isascii() and k.isdecimal() and len(k) < 19]
    bound(f"ranks in {name}", max(known, default=0), largest)  # the metric refuses other depths
    return names or None


def section(card: str, title: str) -> str:
    """The text under a heading of a card."""
    return card.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
