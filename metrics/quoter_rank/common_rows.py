# A copy of metrics/common/rows.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""Queries as flat arrays, which can be joined, selected, compared and sent to other processes."""

import abc
import dataclasses
import io
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer[Any]]
Self = TypeVar("Self", bound="Rows")


@dataclasses.dataclass(frozen=True)
class Rows(abc.ABC):
    """Queries, each field a flat array over all of them.

    A field holds one value per query or, if it is a key of `LENGTHS`, one run of values per query.
    """

    LENGTHS: ClassVar[Mapping[str, str]] = {}  # field of runs -> field with the lengths of its runs

    def __len__(self) -> int:
        """Number of queries."""
        return len(getattr(self, dataclasses.fields(self)[0].name))

    def columns(self) -> dict[str, Any]:
        """The arrays by field name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    @abc.abstractmethod
    def none(cls: type[Self]) -> Self:
        """Zero queries."""

    @classmethod
    def joined(cls: type[Self], parts: Iterable[Self]) -> Self:
        """The queries of one or more parts, in order."""
        columns = zip(*(part.columns().values() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def take(self: Self, index: Any) -> Self:
        """The queries at these indices."""
        taken = {}
        for name, values in self.columns().items():
            if name not in self.LENGTHS:
                taken[name] = values[index]
                continue
            length = getattr(self, self.LENGTHS[name])
            row, column = runs(length[index])
            taken[name] = values[starts(length)[index][row] + column]
        return type(self)(**taken)

    def fingerprints(self) -> list[bytes]:
        """Bytes for each query, equal for two queries exactly if all their fields are equal."""
        cells = []
        for name, values in self.columns().items():
            lengths = self.LENGTHS.get(name)
            n = np.ones(len(values), int) if lengths is None else getattr(self, lengths)
            ends = (np.cumsum(n) * values.itemsize).tolist()
            data = values.tobytes()
            cells.append([data[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)])
        return [b"".join(row) for row in zip(*cells, strict=True)]

    def to_bytes(self) -> bytes:
        """The rows as bytes, which `from_bytes` can read in another process."""
        buffer = io.BytesIO()
        np.savez(buffer, **self.columns())
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls: type[Self], data: bytes) -> Self:
        """The inverse of `to_bytes`."""
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return cls(**arrays)


def starts(lengths: Ints) -> Ints:
    """Index of the first element of each run in a flat array."""
    return np.cumsum(lengths) - lengths


def runs(lengths: Ints) -> tuple[Ints, Ints]:
    """Row and column of every cell of a ragged array."""
    row = np.arange(len(lengths)).repeat(lengths)
    return row, np.arange(len(row)) - starts(lengths).repeat(lengths)
