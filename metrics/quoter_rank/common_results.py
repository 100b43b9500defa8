# A copy of metrics/common/results.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""Figures query by query, before they are averaged: over all queries, and over each group."""

import abc
import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from .common_checks import warn

Self = TypeVar("Self", bound="Results")


class Results(abc.ABC):
    """N queries whose figures are known."""

    @abc.abstractmethod
    def __len__(self) -> int:
        """Number of queries."""

    @abc.abstractmethod
    def take(self: Self, index: Any) -> Self:
        """The queries at these indices, or of this slice."""

    @abc.abstractmethod
    def figures(self) -> dict[str, Any]:
        """{key: figure} over the queries and, if asked for, `confidence_interval`."""

    @abc.abstractmethod
    def per_query(self) -> dict[str, list[Any]]:
        """{key: one value per query}."""

    @property
    def is_lost(self) -> bool:
        """Whether the figures say nothing, as predictions and references do not belong together."""
        return False


def by_group(results: Results, groups: Sequence[Any], keys: Iterable[str]) -> dict[str, Any]:
    """The figures of each group of queries, and their means over the groups.

    Args:
        results: N >= 1 queries.
        groups: the group of each query, all str or all int.
        keys: the figures to average over the groups.
    Returns:
        by_group: {group: {figure: value, ..., "n": queries}}, groups ascending.
        macro: {figure: mean over the groups, None if a group has None}.
    """
    names = sorted(set(groups))
    place = {name: index for index, name in enumerate(names)}
    places = np.fromiter(map(place.__getitem__, groups), np.intp, len(groups))
    in_order = results.take(np.argsort(places, kind="stable"))
    found, lost, start = {}, [], 0
    for name, n in zip(names, np.bincount(places).tolist(), strict=True):
        own = in_order.take(slice(start, start + n))
        start += n
        found[name] = {**own.figures(), "n": n}
        lost += [name] if own.is_lost else []
    if lost:
        more = f" and of {len(lost) - 1} more" if len(lost) > 1 else ""
        warn(f"no ranking of group {lost[0]!r}{more} names a document of its reference")
    macro = {key: _mean([figures[key] for figures in found.values()]) for key in keys}
    return {"by_group": found, "macro": macro}


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if len(known) == len(values) else None
