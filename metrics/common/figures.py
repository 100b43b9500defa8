# SPDX-License-Identifier: Apache-2.0
"""Figures by name: which ones are asked for, and which ones are better when higher.

The table of a metric, at the head of its scoring.py, has a row for each figure, by its name or, with
a depth, by its name and "@k". A row has `greater_is_better` and `protocols`.
"""

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .checks import InputTypeError, message

Asked = tuple[tuple[str, int], ...]  # row of the table and depth, 0 where it has none


def parse_figures(
    figures: Any,
    table: Mapping[str, Any],
    protocol: str,
    depths: Callable[[str], Iterable[int]],
    deepest: int,
) -> Asked:
    """The figures that names ask for, in their order, none twice.

    Args:
        figures: a name or several, as "NDCG@10", or "NDCG" for NDCG at every depth.
        table: the figures that there are.
        protocol: the protocol in force.
        depths: name -> the depths of a figure that is named without one.
        deepest: the largest depth.
    Raises:
        ValueError: no name; an unknown one; a depth where there is none, or no int from 1 on; a
            figure that the protocol does not define.
        TypeError: no str.
    """
    names = figures.tolist() if isinstance(figures, np.ndarray) else figures
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InputTypeError(message("figures", "be a name or several", figures))
    there = [row for row, figure in table.items() if protocol in figure.protocols]
    if not names:
        raise ValueError(message("figures", f"name figures: {_list(there)}", figures))
    asked: list[tuple[str, int]] = []
    for name in map(str, names):
        row, k = _row(name, table, there, deepest)
        if row not in there:
            rule = f"be figures that protocol {protocol!r} defines: {_list(there)}"
            raise ValueError(message("figures", rule, name))
        bare = row.removesuffix("@k")
        asked += [(row, k)] if k or row == bare else [(row, depth) for depth in depths(bare)]
    return tuple(dict.fromkeys(asked))


def key_of(row: str, k: int) -> str:
    """The key of a result: the row with its depth."""
    return f"{row.removesuffix('k')}{k}" if k else row


def _row(
    name: str, table: Mapping[str, Any], there: Iterable[str], deepest: int
) -> tuple[str, int]:
    """The row of a name, and its depth if it has one."""
    bare, at, depth = name.partition("@")
    if name in table and not at:
        return name, 0
    row = f"{bare}@k"
    if row not in table:
        hint = f"{bare} has no depth" if bare in table else _nearest(bare, there)
        raise ValueError(message("figures", f"be among {_list(there)}", name, hint=hint))
    if not at:
        return row, 0
    k = _depth(depth)
    if not 0 < k <= deepest:
        rule = f"have depths that are ints from 1 to {deepest}"
        raise ValueError(message("figures", rule, name, hint=f"there are {_list(there)}"))
    return row, k


def _depth(text: str) -> int:
    """An int >= 1 as it is printed, else 0; Python reads none of over 4,300 digits."""
    whole = text.isascii() and text.isdecimal() and text[0] != "0" and len(text) < 4000
    return int(text) if whole else 0


def _nearest(bare: str, table: Iterable[str]) -> str:
    spelled: dict[str, str] = {}
    for row in table:  # a name without depth before the same one with it
        spelled.setdefault(row.removesuffix("@k").casefold(), row)
    near = difflib.get_close_matches(bare.casefold(), spelled, n=1)
    return f"did you mean {spelled[near[0]]}?" if near else ""


def _list(rows: Iterable[str]) -> str:
    return ", ".join(rows)


class Directions(dict[str, bool]):
    """True for each key where higher is better; other figures and depths are worked out on lookup.

    A key may have a prefix that ends in "_", as `Trainer` gives it: "eval_MRR", "eval_english_MRR".

    Args:
        table: the figures that there are.
        keys: the keys of the result.
        counts: keys that count queries; fewer is better.
    """

    def __init__(
        self, table: Mapping[str, Any], keys: Iterable[str], counts: Collection[str]
    ) -> None:
        self._table, self._counts = table, counts
        super().__init__()
        self.update({key: self[key] for key in keys})

    def __missing__(self, key: str) -> bool:
        """The direction of a key that this result does not have."""
        bare = key.rpartition("_")[2]
        if bare in self._counts:
            return False
        name, at, depth = bare.partition("@")
        row = f"{name}@k" if at else name
        if row not in self._table or (at and not _depth(depth)):
            raise KeyError(key)
        return bool(self._table[row].greater_is_better)
