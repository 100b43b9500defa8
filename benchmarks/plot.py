# SPDX-License-Identifier: Apache-2.0
"""Time a query against growing sizes, as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

OURS_COLORS = ("#c1121f", "#e76f51", "#f4a261")
PEER_COLORS = ("#1d3557", "#2a9d8f", "#6a4c93", "#457b9d", "#8d6e63", "#588157")


def style(names: Sequence[str], limit: str) -> dict[str, dict[str, Any]]:
    """Ours thick and warm, the limit dashed, peers thin and cool."""
    ours = [name for name in names if name.startswith("quotediv")]
    peers = [name for name in names if name not in ours and name != limit]
    thick = {"linewidth": 2.4, "markersize": 6, "marker": "o", "zorder": 3}
    thin = {"linewidth": 1.3, "markersize": 4.5, "marker": "s"}
    return {
        **{n: {"color": c, **thick} for n, c in zip(ours, OURS_COLORS, strict=False)},
        **{n: {"color": c, **thin} for n, c in zip(peers, PEER_COLORS, strict=False)},
        limit: {"color": "black", "linestyle": "--", "linewidth": 1.3},
    }


def panel(axes: Axes, sweep: Mapping[str, Any], limit: str) -> None:
    """One sweep, log-log."""
    points = sweep["points"]
    styles = style(list(points), limit)
    for name, line in points.items():
        axes.plot([int(size) for size in line], list(line.values()), label=name, **styles[name])
    axes.set(xscale="log", yscale="log", xlabel=sweep["axis"], ylabel="µs a query")
    axes.set_title(sweep["key"], fontsize=11)
    axes.set_xticks(sweep["sizes"], [f"{size:,}" for size in sweep["sizes"]])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(True, which="major", alpha=0.3)


def draw(sweeps: Sequence[Mapping[str, Any]], limit: str, path: Path) -> None:
    """A row of two panels a metric, its legend at the right."""
    figure, grid = plt.subplots(2, 2, figsize=(13, 9), layout="constrained")
    for axes, sweep in zip(grid.flat, sweeps, strict=True):
        panel(axes, sweep, limit)
    for right in grid[:, 1]:
        right.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=9)
    figure.suptitle("Median time of a whole call, a query: lower is better")
    figure.savefig(path, dpi=110)
