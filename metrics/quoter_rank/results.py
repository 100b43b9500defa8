# SPDX-License-Identifier: Apache-2.0
"""The result of `compute`: the figures of ranks under given options."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .common_checks import Interval
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
    for key, (name, k) in zip(options.keys, options.figures, strict=False):
        figure = FIGURES[name]
        of_all = figure.of_all[options.protocol]
        if figure.of_query is not None:
            values[key] = figure.of_query(rows.rank, rows.tied, k)
            figures[key] = of_all(values[key])
        else:
            figures[key] = of_all(rows.rank, rows.tied) if found.all() else None
    if options.missing == "zero":
        figures["missing"] = int(np.count_nonzero(~found))
    if options.interval:
        figures["confidence_interval"] = _intervals(rows, values, options.interval)
    if options.per_query:
        ranks = np.where(found, mean_rank(rows.rank, rows.tied), 0).tolist()
        figures["per_query"] = {"rank": [rank if rank > 0 else None for rank in ranks]}
        figures["per_query"] |= {key: column.tolist() for key, column in values.items()}
    return figures


def _intervals(
    rows: Ranks, values: dict[str, Floats], interval: Interval
) -> dict[str, list[float] | None]:
    """Intervals of all figures; None for rank statistics that are None."""
    recalls = [key for key in values if key.startswith("Recall")]
    options = {"proportions": recalls, **interval._asdict()}
    if not rows.rank.all():
        statistics = [name for name, figure in FIGURES.items() if figure.of_query is None]
        none: dict[str, list[float] | None] = dict.fromkeys(statistics)
        return {**intervals(values, **options), **none}
    ranks = mean_rank(rows.rank, rows.tied)
    return {**intervals({**values, "MeanRank": ranks}, ranks=(ranks, rows.tied), **options)}
