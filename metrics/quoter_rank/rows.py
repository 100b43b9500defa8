# SPDX-License-Identifier: Apache-2.0
"""Rows of `quoter_rank`: queries, each reduced to two integers, with their ids if they have any."""

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .query_ids import Id

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Rows(NamedTuple):
    """N queries."""

    rank: Ints  # (N,) 1 + candidates above the gold, 0 if it is missing
    tied: Ints  # (N,) candidates tied with it
    ids: list[Id]  # N, or none

    def pairs(self) -> list[tuple[int, int]]:
        """N (rank, tied)."""
        return list(zip(self.rank.tolist(), self.tied.tolist(), strict=True))


NO_ROWS = Rows(np.empty(0, np.int64), np.empty(0, np.int64), [])


def joined(rows: Rows, more: Rows) -> Rows:
    """The rows, then more."""
    rank, tied = np.append(rows.rank, more.rank), np.append(rows.tied, more.tied)
    return Rows(rank, tied, rows.ids + more.ids)


def take(rows: Rows, index: Any) -> Rows:
    """The rows at these indices."""
    return Rows(rows.rank[index], rows.tied[index], [rows.ids[i] for i in index if rows.ids])


def to_text(rows: Rows, is_given: Bools) -> list[str]:
    """What another process needs besides the ranks: [tied, is_given, id] of each row as JSON."""
    ids: list[Any] = rows.ids or [None] * len(rows.rank)
    cells = zip(rows.tied.tolist(), is_given.tolist(), ids, strict=True)
    return [json.dumps(row) for row in cells]


def from_text(rank: Any, text: list[str]) -> tuple[Rows, Bools]:
    """The inverse of `to_text`, of all processes together; None for an id that is not there."""
    cells = [json.loads(row) for row in text]
    ids = [name for _, _, name in cells]
    ids = ids if any(name is not None for name in ids) else []
    tied = np.array([tied for tied, _, _ in cells], np.int64)
    is_given = np.array([given for _, given, _ in cells], bool)
    return Rows(np.asarray(rank, np.int64), tied, ids), is_given
