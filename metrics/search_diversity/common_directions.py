# A copy of metrics/common/directions.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""Which figures are better when higher, by the keys of a result."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any


class Directions(dict[str, bool]):
    """One bool a key of the result; figures at other depths are answered when they are asked for.

    Args:
        table: the metric's table of figures, whose rows have `greater_is_better` and `has_depth`.
        keys: those of the result.
        counts: those that count queries, of which fewer are better.
    """

    def __init__(
        self, table: Mapping[str, Any], keys: Iterable[str], counts: Collection[str]
    ) -> None:
        self._table, self._counts = table, counts
        super().__init__()
        self.update({key: self[key] for key in keys})

    def __missing__(self, key: str) -> bool:
        """The direction of a key that this result does not have."""
        if key in self._counts:
            return False
        name, at, depth = key.partition("@")
        figure = self._table.get(name)
        whole = depth.isascii() and depth.isdecimal() and depth[0] != "0"
        if figure is None or figure.has_depth != bool(at) or (at and not whole):
            raise KeyError(key)
        return bool(figure.greater_is_better)
