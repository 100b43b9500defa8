# SPDX-License-Identifier: Apache-2.0
"""Tables and charts of a result."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
from common_charts import INK, chart
from common_tables import Row, table


def figures(result: Mapping[str, Any], better: Mapping[str, bool]) -> str:
    """The table of figures, each rounded and to the last digit."""
    rows = [
        (key, value, repr(value), "higher" if key != "missing" and better[key] else "lower")
        for key, value in result.items()
    ]
    return table("Figures", ("figure", "value", "exact", "better"), rows)


def worst_first(per_query: Mapping[str, Sequence[Any]]) -> tuple[list[str], list[Row]]:
    """Head and rows of the table of queries: missing golds first, then the largest ranks."""
    columns = {name: per_query[name] for name in per_query if name != "query_ids"}
    names = per_query.get("query_ids") or range(len(columns["rank"]))
    columns["rank"] = [int(r) if r and r == int(r) else r for r in columns["rank"]]
    rows: list[Row] = list(zip(names, *columns.values(), strict=True))
    rows.sort(key=lambda row: -np.inf if row[1] is None else -row[1])
    return ["query", *columns], rows


def histogram(ranks: Sequence[float | None]) -> alt.Chart:
    """Gold ranks in bins that double: 1, 2, 3 and 4, 5 to 8, and so on."""
    found = np.array([rank for rank in ranks if rank is not None])
    edges = [1, 2, 3]
    while edges[-1] <= found.max(initial=1):
        edges.append(2 * edges[-1] - 1)
    counts, _ = np.histogram(found, edges)
    bins = [
        {"from": 1.02 * low, "to": 0.98 * high, "queries": int(count), "ranks": _span(low, high)}
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    missing = len(ranks) - len(found)
    title = "Queries by rank of the gold" + (f" ({missing} without it)" if missing else "")
    most = max(int(counts.max()), 2)
    whole = {"values": list(range(most + 1))} if most < 6 else {}
    told = "; ".join(f"rank {bin_['ranks']}: {bin_['queries']}" for bin_ in bins)
    return (
        chart(bins, title, f"{title}. {told}")
        .mark_bar(color=INK)
        .encode(
            x=_log("from", "rank of the gold, bins that double", edges[-1], edges),
            x2="to:Q",
            y=alt.Y("queries:Q", title="queries", axis=alt.Axis(format="d", **whole)),
            y2=alt.datum(0),
            tooltip=["ranks:N", "queries:Q"],
        )
    )


def _span(low: int, high: int) -> str:
    return str(low) if high == low + 1 else f"{low} to {high - 1}"


def depths(largest: float) -> list[int]:
    """Depths of the recall curve, evenly spread on a log axis."""
    return sorted({int(k) for k in np.geomspace(1, max(largest, 10), 60).round()})


def recall_curve(recall: Mapping[int, float]) -> alt.Chart:
    """Recall at each depth, as a line of steps."""
    points = [{"k": k, "recall": value} for k, value in recall.items()]
    told = "; ".join(f"{value:.3f} at {k}" for k, value in list(recall.items())[::6])
    return (
        chart(points, "Recall at k", f"Recall at k. {told}")
        .mark_line(color=INK, interpolate="step-after", point={"color": INK, "size": 12})
        .encode(
            x=_log("k", "k", max(recall), [t * 10**p for p in range(8) for t in (1, 2, 5)]),
            y=alt.Y("recall:Q", title="recall", scale=alt.Scale(domain=[0, 1])),
            tooltip=["k:Q", alt.Tooltip("recall:Q", format=".4f")],
        )
    )


def _log(name: str, title: str, largest: int, ticks: Sequence[int]) -> alt.X:
    scale = alt.Scale(type="log", domain=[1, largest], nice=False)
    axis = alt.Axis(values=[tick for tick in ticks if tick <= largest], format="d", grid=False)
    return alt.X(f"{name}:Q", title=title, scale=scale, axis=axis)
