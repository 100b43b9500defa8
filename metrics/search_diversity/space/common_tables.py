# A copy of metrics/common/space/tables.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""Tables in HTML, and the link that saves one as CSV."""

import base64
import csv
import html
import io
from collections.abc import Sequence
from typing import Any

SHOWN = 100  # rows of the table of queries; the CSV file has all

Row = Sequence[Any]


def cell(value: Any) -> str:
    """A value as the page shows it."""
    if value is None:
        return "none"
    return html.escape(f"{value:.4f}" if isinstance(value, float) else str(value))


def table(caption: str, head: Sequence[str], rows: Sequence[Row]) -> str:
    """A table whose first column names its rows, in a box that scrolls, by keyboard too."""
    titles = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{cell(first)}</th>'
        + "".join(f"<td>{cell(value)}</td>" for value in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return scrolling(caption, f"<thead><tr>{titles}</tr></thead><tbody>{body}</tbody>")


def scrolling(caption: str, inside: str, kind: str = "") -> str:
    """Rows of HTML as a table under its caption, in a box that scrolls."""
    caption = html.escape(caption)
    return (
        f'<div class="captioned"><p class="caption">{caption}</p>'
        f'<div class="scroll {kind}" tabindex="0" role="region" aria-label="{caption}">'
        f'<table aria-label="{caption}">{inside}</table></div></div>'
    )


def counted(n: int, what: str, many: str) -> str:
    """A number of things, such as 1 query or 2 queries."""
    return f"{n:,} {what if n == 1 else many}"


def queries_table(title: str, head: Sequence[str], rows: Sequence[Row]) -> str:
    """The table of the worst queries, which come first, and a link that saves all of them."""
    shown = f"the worst {SHOWN:,} of {len(rows):,}" if len(rows) > SHOWN else f"all {len(rows):,}"
    return table(f"{title}, worst first: {shown}", head, rows[:SHOWN]) + csv_link(head, rows)


def csv_link(head: Sequence[str], rows: Sequence[Row]) -> str:
    """A link that holds the file itself: nothing of it stays on the server."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    data = base64.b64encode(text.getvalue().encode()).decode()
    href = f"data:text/csv;charset=utf-8;base64,{data}"
    return (
        f'<p><a class="save" download="queries.csv" href="{href}">Save all queries as CSV</a></p>'
    )
