# SPDX-License-Identifier: Apache-2.0
"""Tables of a result, and the picture of one query."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from common_charts import INK, chart
from common_tables import Row, scrolling
from picture import Step

OURS, IDEAL = "this ranking", "ideal ranking"
MARKS = {True: ("first", "●"), False: ("again", "○"), None: ("none", "")}


def figures(results: Mapping[str, Mapping[str, float]]) -> str:
    """Each figure under each protocol that defines it, rounded and, below, to the last digit."""
    keys = dict.fromkeys(key for result in results.values() for key in result)
    head = "".join(f'<th scope="col">{name}</th>' for name in ("figure", *results))
    body = "".join(
        f'<tr><th scope="row">{key}</th>'
        + "".join(f"<td>{_figure(result.get(key))}</td>" for result in results.values())
        + "</tr>"
        for key in keys
    )
    caption = "Figures under each protocol, higher is better"
    return scrolling(caption, f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>")


def _figure(value: float | None) -> str:
    """A value rounded and to the last digit, a dash where the protocol defines none."""
    if value is None:
        return '<span role="img" aria-label="not defined">-</span>'
    return f"{value:.4f}<br><small>{value!r}</small>"


def worst_first(per_query: Mapping[str, Sequence[Any]]) -> tuple[list[str], list[Row], list[int]]:
    """Head and rows of the table of queries, and their order: the lowest primary figure first."""
    columns = {name: per_query[name] for name in per_query if name != "query_ids"}
    primary = next(iter(columns.values()))
    names = per_query.get("query_ids") or range(len(primary))
    order = sorted(range(len(primary)), key=primary.__getitem__)
    rows = list(zip(names, *columns.values(), strict=True))
    return ["query", *columns], [rows[index] for index in order], order


def coverage(title: str, steps: Sequence[Step], subtopics: Sequence[str]) -> str:
    """Ranks against subtopics: ● where a document is the first to cover one, ○ where it is not."""
    names = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in subtopics)
    body = ""
    for rank, step in enumerate(steps, 1):
        cells = "".join(_mark(step.covers.get(name)) for name in subtopics)
        doc = html.escape(step.doc) + ("" if step.judged else " (not judged)")
        gain = f"{step.gain:.4g}"
        body += f'<tr><th scope="row">{rank}</th><td class="document">{doc}</td><td>{gain}</td>{cells}</tr>'
    head = f'<th scope="col">rank</th><th scope="col">document</th><th scope="col">gain</th>{names}'
    inside = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return scrolling(title, inside, "whole")


def beside(tables: Sequence[str], n_subtopics: int) -> str:
    """Tables side by side, or one below the other where they are wide."""
    return f'<div class="beside{" wide" if n_subtopics > 8 else ""}">{"".join(tables)}</div>'


def _mark(first: bool | None) -> str:
    kind, sign = MARKS[first]
    told = f'<span role="img" aria-label="{kind}">{sign}</span>' if sign else ""
    return f'<td class="{kind}">{told}</td>'


def gains(ours: Sequence[Step], ideal: Sequence[Step]) -> alt.Chart:
    """The gain of each rank, ours beside the ideal."""
    rows = [
        {"rank": rank, "gain": step.gain, "ranking": name}
        for name, steps in ((OURS, ours), (IDEAL, ideal))
        for rank, step in enumerate(steps, 1)
    ]
    told = "; ".join(f"{row['ranking']}, rank {row['rank']}: {row['gain']:.4g}" for row in rows)
    title = ["Gain of each rank:", "left this ranking, right the ideal one"]
    return (
        chart(rows, alt.Title(title, fontSize=12), f"{' '.join(title)}. {told}")
        .mark_bar(stroke="#1b1b1b")
        .encode(
            x=alt.X("rank:O", axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("ranking:N", sort=[OURS, IDEAL]),
            y=alt.Y("gain:Q"),
            color=alt.Color(
                "ranking:N",
                scale=alt.Scale(domain=[OURS, IDEAL], range=[INK, "#e8e4d8"]),
                legend=alt.Legend(orient="bottom", title=None),
            ),
            tooltip=["ranking:N", "rank:O", alt.Tooltip("gain:Q", format=".4f")],
        )
    )
