# SPDX-License-Identifier: Apache-2.0
"""The figures of ranks under given options, query by query and over all."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .common_checks import Interval
from .common_figures import key_of
from .common_intervals import intervals
from .common_results import Results
from .options import Options
from .ranks import Ranks
from .scoring import FIGURES, mean_rank, resolve_ties

Floats = NDArray[np.float64]


class Scored(Results):
    """N queries, each with the rank of its gold and with the figures that the options ask for."""

    def __init__(self, rows: Ranks, values: dict[str, Floats], options: Options) -> None:
        self.rows, self.values, self.options = rows, values, options

    def __len__(self) -> int:
        """Number of queries."""
        return len(self.rows)

    def take(self, index: Any) -> "Scored":
        """The queries at these indices, or of this slice."""
        values = {key: column[index] for key, column in self.values.items()}
        return Scored(self.rows.take(index), values, self.options)

    def figures(self) -> dict[str, Any]:
        """Every figure that the options ask for and, on request, `missing` and intervals."""
        rank, tied = self.rows.rank, self.rows.tied
        n_missing = len(rank) - int(np.count_nonzero(rank))
        found: dict[str, Any] = {}
        for row, k in self.options.figures:
            key, figure = key_of(row, k), FIGURES[row]
            of_all = figure.protocols[self.options.protocol]
            if figure.of_query is not None:
                found[key] = of_all(self.values[key])
            else:
                found[key] = None if n_missing else of_all(rank, tied)
        if self.options.missing == "zero":
            found["missing"] = n_missing
        if self.options.interval:
            found["confidence_interval"] = self._intervals(self.options.interval)
        return found

    def per_query(self) -> dict[str, list[Any]]:
        """The rank of each query, None if it is missing, and its figures."""
        rank, tied = self.rows.rank, self.rows.tied
        ranks = np.where(rank > 0, mean_rank(rank, tied), 0).tolist()
        columns = {key: column.tolist() for key, column in self.values.items()}
        return {"rank": [rank if rank > 0 else None for rank in ranks], **columns}

    def _intervals(self, interval: Interval) -> dict[str, list[float] | None]:
        """Intervals of all figures in their order; None for rank statistics that are None."""
        asked = self.options.figures
        statistics = [row for row, _ in asked if FIGURES[row].of_query is None]
        means, ranks = dict(self.values), None
        if statistics and self.rows.rank.all():
            places = mean_rank(self.rows.rank, self.rows.tied)
            means["MeanRank"] = places
            ranks = places, self.rows.tied
        recalls = [key for key in self.values if key.startswith("Recall")]
        found = intervals(means, proportions=recalls, ranks=ranks, **interval._asdict())
        return {key_of(row, k): found.get(key_of(row, k)) for row, k in asked}


def scored(rows: Ranks, options: Options) -> Scored:
    """The figures of N >= 1 queries under the checked options of `compute`."""
    rows = Ranks(*resolve_ties(rows.rank, rows.tied, options.ties))
    values = {}
    for row, k in options.figures:
        of_query = FIGURES[row].of_query
        if of_query is not None:
            values[key_of(row, k)] = of_query(rows.rank, rows.tied, k)
    return Scored(rows, values, options)
