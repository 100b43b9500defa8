# SPDX-License-Identifier: Apache-2.0
"""The figures of queries under given options, one by one and over all."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .blocks import WHOLE, figures_of_queries
from .common_checks import Plain, message, warn
from .common_intervals import intervals
from .common_results import Results
from .options import Options
from .queries import Bools, Queries, has_judged, has_ties, most_subtopics
from .scoring import Floats, mean


class Scored(Results):
    """Queries with the figures that the options ask for, and with `Judged@k`."""

    def __init__(self, columns: dict[str, Floats], named: Bools, options: Options) -> None:
        self.columns, self.options = columns, options
        self.named = named  # (Q, 2), whether the ranking names a document, and one of its reference

    def __len__(self) -> int:
        """Number of queries."""
        return len(self.named)

    def take(self, index: Any) -> "Scored":
        """The queries at these indices, or of this slice."""
        columns = {key: column[index] for key, column in self.columns.items()}
        return Scored(columns, self.named[index], self.options)

    def figures(self) -> dict[str, Any]:
        """Every figure that the options ask for and, on request, intervals."""
        values = {key: self.columns[key] for key in self.options.keys}
        found: dict[str, Any] = {key: mean(column) for key, column in values.items()}
        if self.options.interval:
            found["confidence_interval"] = intervals(values, **self.options.interval._asdict())
        return found

    def per_query(self) -> dict[str, list[Any]]:
        """The figures of each query, and `Judged@k`, None for an empty ranking."""
        return {
            key: [None if math.isnan(v) else v for v in column.tolist()]
            for key, column in self.columns.items()
        }

    @property
    def is_lost(self) -> bool:
        """Whether no ranking names a document of its reference, though they name some."""
        return bool(self.named[:, 0].any() and not self.named[:, 1].any())


def scored(parts: Iterable[Queries], options: Options) -> Scored:
    """The figures of queries under the checked options of `compute`.

    Raises:
        ValueError: no queries, or no ranking that names a document of its reference; a document
            whose gain float64 cannot hold.
    """
    columns: dict[str, list[Floats]] = {}
    named = [np.empty((0, 2), bool)]
    queries = tied = 0
    for part in parts:
        _check_recipe(part, options, start=queries)
        for key, value in figures_of_queries(part, options).items():
            columns.setdefault(key, []).append(value)
        queries += len(part)
        depth = WHOLE if options.is_whole else options.depths[0]
        tied += int(np.count_nonzero(has_ties(part, depth)))
        named.append(np.stack([part.n_ranked > 0, has_judged(part)], axis=1))
    if not queries:
        raise ValueError(message("predictions", "have at least one query", 0))
    joined = {key: np.concatenate(values) for key, values in columns.items()}
    found = Scored(joined, np.concatenate(named), options)
    if found.is_lost:
        rule = "name documents of their references"
        got = Plain(f"not one of theirs in {queries} queries")
        hint = "use the ids of the references"
        raise ValueError(message("predictions", rule, got, hint=hint))
    _warn(joined[f"Judged@{options.depths[0]}"], tied, options)
    return found


def _check_recipe(queries: Queries, options: Options, start: int) -> None:
    """Refuse a document whose gain 2^m - 1 is too large for float64."""
    if options.protocol == "recipe" and queries.n_subtopics.max(initial=0) > 1023:
        most = most_subtopics(queries)
        for query in np.flatnonzero(most > 1023)[:1].tolist():
            rule = "have at most 1023 subtopics a document under protocol 'recipe'"
            raise ValueError(message("references", rule, most[query], start + query))


def _warn(judged: Floats, tied: int, options: Options) -> None:
    """Warn of ties that the protocol had to break, and of unjudged documents."""
    depth = options.depths[0]
    place = "" if options.is_whole else f" within rank {depth}"
    if tied > 0.01 * len(judged):
        warn(
            f"{tied} of {len(judged)} queries have equal scores{place}; "
            "their order is the protocol's, not the model's"
        )
    share = np.mean(judged[~np.isnan(judged)]) if not np.isnan(judged).all() else 1.0
    if share < 0.8 - 1e-9:  # a mean of 0.8 may be rounded down
        warn(
            f"{share:.0%} of the documents within rank {depth} are judged; the others gain nothing"
        )
