# SPDX-License-Identifier: Apache-2.0
"""The result of `compute`: the figures of ranks under given options."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .common_checks import Interval
from .common_figures import Asked, key_of
from .common_intervals import intervals
from .options import Options
from .ranks import Ranks
from .scoring import FIGURES, mean_rank, resolve_ties

Floats = NDArray[np.float64]


def result(rows: Ranks, options: Options) -> dict[str, Any]:
    """Every figure that the options ask for, and on request intervals and per-query values.

    Args:
        rows: N >= 1 queries.
        options: the checked options of `compute`.
    """
    rows = Ranks(*resolve_ties(rows.rank, rows.tied, options.ties))
    found = rows.rank > 0
    values: dict[str, Floats] = {}
    figures: dict[str, Any] = {}
    for row, k in options.figures:
        key, figure = key_of(row, k), FIGURES[row]
        of_all = figure.protocols[options.protocol]
        if figure.of_query is not None:
            values[key] = figure.of_query(rows.rank, rows.tied, k)
            figures[key] = of_all(values[key])
        else:
            figures[key] = of_all(rows.rank, rows.tied) if found.all() else None
    if options.missing == "zero":
        figures["missing"] = int(np.count_nonzero(~found))
    if options.interval:
        figures["confidence_interval"] = _intervals(rows, values, options.figures, options.interval)
    if options.per_query:
        ranks = np.where(found, mean_rank(rows.rank, rows.tied), 0).tolist()
        figures["per_query"] = {"rank": [rank if rank > 0 else None for rank in ranks]}
        figures["per_query"] |= {key: column.tolist() for key, column in values.items()}
    return figures


def _intervals(
    rows: Ranks, values: dict[str, Floats], asked: Asked, interval: Interval
) -> dict[str, list[float] | None]:
    """Intervals of all figures in their order; None for rank statistics that are None."""
    statistics = [row for row, _ in asked if FIGURES[row].of_query is None]
    means, ranks = dict(values), None
    if statistics and rows.rank.all():
        places = mean_rank(rows.rank, rows.tied)
        means["MeanRank"] = places
        ranks = places, rows.tied
    recalls = [key for key in values if key.startswith("Recall")]
    found = intervals(means, proportions=recalls, ranks=ranks, **interval._asdict())
    return {key_of(row, k): found.get(key_of(row, k)) for row, k in asked}
