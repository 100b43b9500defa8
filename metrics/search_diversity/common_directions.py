# A copy of metrics/common/directions.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""Whether higher is better, for each key of a result."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any


class Directions(dict[str, bool]):
    """True for each key where higher is better; keys at other depths are worked out on lookup.

    Args:
        table: the metric's table of figures, whose rows have `greater_is_better` and `has_depth`.
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
        if key in self._counts:
            return False
        name, at, depth = key.partition("@")
        figure = self._table.get(name)
        whole = depth.isascii() and depth.isdecimal() and depth[0] != "0"
        if figure is None or figure.has_depth != bool(at) or (at and not whole):
            raise KeyError(key)
        return bool(figure.greater_is_better)
