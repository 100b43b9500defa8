# SPDX-License-Identifier: Apache-2.0
"""Queries of `quoter_rank`, each reduced to two integers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .common_rows import Rows

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Ranks(Rows):
    """Rank and ties of the gold in N queries."""

    rank: Ints  # (N,) 1 + candidates above the gold; 0 if the gold is missing
    tied: Ints  # (N,) candidates tied with the gold, the gold included; 0 if it is missing

    @classmethod
    def none(cls) -> "Ranks":
        """Zero queries."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64))
