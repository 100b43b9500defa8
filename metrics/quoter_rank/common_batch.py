# A copy of metrics/common/batch.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""Rows of queries with their ids and groups, added together or gathered from several processes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from .common_checks import Plain, message
from .common_query_ids import (
    Id,
    count_once,
    groups_of,
    new_rows,
    read_ids,
    refuse_different,
    refuse_two_groups,
    sorted_by_number,
)
from .common_rows import Rows


@dataclass(frozen=True)
class Batch:
    """Rows, in parts, with the id and the group of each row."""

    parts: Iterable[Rows] = ()
    ids: list[Any] = field(default_factory=list)  # [] if the rows have none
    groups: list[Any] = field(default_factory=list)  # [] if the rows have none

    @property
    def n_rows(self) -> int:
        """Number of rows; not for parts that are read while they are scored."""
        return sum(map(len, self.parts))

    @classmethod
    def joined(cls, batches: Sequence["Batch"]) -> "Batch":
        """The rows of several batches; parts that are lists give a list."""
        each = [batch.parts for batch in batches]
        parts: Iterable[Rows] = chain.from_iterable(each)
        if all(isinstance(part, Sequence) for part in each):
            parts = list(parts)
        ids = list(chain.from_iterable(batch.ids for batch in batches))
        return cls(parts, ids, list(chain.from_iterable(batch.groups for batch in batches)))

    def grouped(self, groups: Mapping[Any, Any], start: int) -> "Batch":
        """These rows with the groups that a mapping {query id: group} gives them.

        Args:
            groups: the group of every id.
            start: number of queries before these; errors count on from it.
        Raises:
            ValueError: as `groups_of` and `read_ids`; a row that is in another group already.
        """
        rows = self.n_rows
        found = groups_of(groups, self.ids, rows, start)
        found = read_ids(found, rows=rows, held=[], start=0, name="groups")
        before = dict(zip(self.ids, self.groups, strict=False))
        refuse_two_groups(self.ids, found, before, start)
        return replace(self, groups=found)

    def refuse_conflicts(self, rows: Rows) -> None:
        """Refuse ids and groups that do not agree among processes.

        Args:
            rows: the parts, joined.
        Raises:
            ValueError: some rows have ids or groups and others have none; str and int; an id with
                two different rows, or in two groups.
        """
        refuse_different(self.ids, "query_ids")
        refuse_different(self.groups, "groups")
        refuse_two_groups(self.ids, self.groups, {})
        if self.ids:
            new_rows(self.ids, rows.fingerprints(), {})

    def once(self, rows: Rows, in_order: bool) -> "Batch":
        """Drop rows that repeat an id, and sort the others by id if their order counts.

        Args:
            rows: the parts, joined.
            in_order: whether figures depend on the order of the queries.
        """
        kept = count_once(self.ids, rows.fingerprints())
        if in_order:
            order = sorted_by_number([self.ids[index] for index in kept])
            kept = [kept[index] for index in order]
        ids, groups = ([v[index] for index in kept] if v else [] for v in (self.ids, self.groups))
        return Batch([rows.take(np.array(kept, np.intp))], ids, groups)

    def names(self) -> str:
        """Ids and groups as text, for another process."""
        return json.dumps([self.ids, self.groups])


def of_processes(parts: Sequence[Rows], names: Sequence[str]) -> list[Batch]:
    """Batches from the rows and the `names` of other processes.

    Rows without ids or groups get None, where rows of other processes have some.
    """
    read = [json.loads(text) for text in names]
    filled = []
    for values in zip(*read, strict=True):
        some = any(values)
        each = zip(values, parts, strict=True)
        filled.append([own or [None] * len(part) if some else [] for own, part in each])
    return [Batch([part], *own) for part, *own in zip(parts, *filled, strict=True)]


def refuse_two_types(groups: Sequence[Id]) -> None:
    """Refuse groups of which some are str and some int."""
    if len(set(map(type, groups))) > 1:
        raise ValueError(message("groups", "be all str or all int", Plain("both")))
