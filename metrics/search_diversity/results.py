# SPDX-License-Identifier: Apache-2.0
"""The result of `compute`: the figures of queries under given options."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .blocks import WHOLE, figures_of_queries
from .common_checks import Plain, message, warn
from .common_intervals import intervals
from .options import Options
from .queries import Queries, has_ties, most_subtopics
from .scoring import Floats, mean


def result(parts: Iterable[Queries], options: Options) -> tuple[dict[str, Any], int]:
    """What `compute` returns under these options, and the number of queries.

    Raises:
        ValueError: no queries, or no ranking that names a document of its reference; a document
            whose gain float64 cannot hold.
    """
    columns, tied = _columns(parts, options)
    judged = np.concatenate(columns[f"Judged@{options.depths[0]}"])
    _warn(judged, tied, options)
    figures: dict[str, Any] = {key: mean(*columns[key]) for key in options.keys}
    if options.interval:
        values = {key: np.concatenate(columns[key]) for key in options.keys}
        figures["confidence_interval"] = intervals(values, **options.interval._asdict())
    if options.per_query:
        figures["per_query"] = {
            key: [None if math.isnan(v) else v for part in parts for v in part.tolist()]
            for key, parts in columns.items()
        }
    return figures, len(judged)


def _columns(parts: Iterable[Queries], options: Options) -> tuple[dict[str, list[Floats]], int]:
    """Figures of every query, in parts, and the number of queries with equal scores in their top."""
    columns: dict[str, list[Floats]] = {}
    queries = tied = ranked = judged = 0
    for part in parts:
        _check_recipe(part, options, start=queries)
        for key, value in figures_of_queries(part, options).items():
            columns.setdefault(key, []).append(value)
        queries += len(part)
        depth = WHOLE if options.is_whole else options.depths[0]
        tied += int(np.count_nonzero(has_ties(part, depth)))
        ranked += len(part.ranking)
        judged += int(np.count_nonzero(part.ranking >= 0))
    if not queries:
        raise ValueError(message("predictions", "have at least one query", 0))
    if ranked and not judged:
        rule = "name documents of their references"
        got = Plain(f"not one of theirs in {queries} queries")
        hint = "use the ids of the references"
        raise ValueError(message("predictions", rule, got, hint=hint))
    return columns, tied


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
