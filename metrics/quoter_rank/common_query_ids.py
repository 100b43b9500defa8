# A copy of metrics/common/query_ids.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""`query_ids`, which find the rows that a distributed sampler repeated, and `groups` of queries."""

from collections.abc import Hashable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from .common_checks import InputTypeError, Plain, message, warn

Id = str | int
LARGEST = 2**63


def read_ids(
    values: Any, *, rows: int, held: list[Id], start: int, name: str = "query_ids"
) -> list[Id]:
    """The ids, or the groups, of a batch of queries; [] if `values` is None.

    Args:
        values: one str or int per query, in a list, an array, a tensor or a column; or None.
        rows: number of queries in the batch.
        held: ids of the queries added before.
        start: number of queries added before; all of them have ids, or none has.
        name: the argument, "query_ids" or "groups".
    Raises:
        ValueError: not one id per query; ids of two types; ids for some queries, but not for all.
        TypeError: not a one-dimensional, ordered container of ids.
    """
    noun = "group" if name == "groups" else "id"
    if values is None:
        ids = []
    elif _is_no_column(values):
        raise InputTypeError(message(name, f"have one {noun} a query", values))
    else:
        values = values.to_pylist() if hasattr(values, "to_pylist") else values
        ids = list(values)
        if not set(map(type, ids)) <= {str, int}:
            ids = [value.item() if hasattr(value, "item") else value for value in ids]
        if len(ids) != rows:
            raise ValueError(message(name, f"have one {noun} for each of {rows} rows", len(ids)))
    if rows and start and bool(ids) != bool(held):
        got = Plain("some" if ids else "none")
        raise ValueError(message(name, "be given for all queries or for none", got, start))
    kind = type(held[0] if held else ids[0]) if ids else str
    if set(map(type, ids)) == {kind} and (kind is str or _are_small(ids)):
        return ids
    for query, value in enumerate(ids, start):
        if type(value) not in (str, int):
            raise ValueError(message(name, "be str or int", value, query))
        if type(value) is int and not -LARGEST < value < LARGEST:
            got = Plain("a larger int")
            raise ValueError(message(name, "be str, or int below 2**63", got, query))
        if type(value) is not kind:
            raise ValueError(message(name, "be all str or all int", value, query))
    return ids


def _are_small(ids: list[Any]) -> bool:
    """Whether all are ints that int64 holds; not for bools."""
    return type(ids[0]) is int and min(ids) > -LARGEST and max(ids) < LARGEST


def _is_no_column(values: Any) -> bool:
    """Whether `values` is not a one-dimensional, ordered container, or its cells cannot be ids."""
    unordered = isinstance(values, (str, bytes, Mapping, Set))
    if unordered or not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1:
        return True
    masked = isinstance(values, np.ma.MaskedArray)
    return masked or getattr(getattr(values, "dtype", None), "kind", "") in ("m", "M")


def groups_of(groups: Mapping[Any, Any], ids: Sequence[Id], rows: int, start: int) -> list[Any]:
    """The groups of queries, from a mapping {query id: group}.

    Args:
        groups: may hold other queries too.
        ids: the ids of the queries, [] if they have none.
        rows: number of queries.
        start: number of queries before these; errors count on from it.
    Raises:
        ValueError: queries without ids; an id that the mapping lacks.
    """
    if rows and not ids:
        hint = "a mapping {query_id: group} needs query_ids"
        raise ValueError(message("groups", "have one group a query", Plain("a mapping"), hint=hint))
    for query, name in enumerate(ids, start):
        if name not in groups:
            rule = "have a group for every query id"
            raise ValueError(message("groups", rule, Plain(f"none for {name!r}"), query))
    return [groups[name] for name in ids]


def refuse_two_groups(
    ids: Sequence[Id], groups: Sequence[Id], held: Mapping[Id, Id], start: int = 0
) -> None:
    """Refuse a query id in two groups.

    Args:
        ids: the ids of a batch of queries; [] if they have none.
        groups: their groups; [] if they have none.
        held: the group of each id seen before.
        start: number of queries before these; errors count on from it.
    """
    found: dict[Id, Id] = {}
    for query, (name, group) in enumerate(zip(ids, groups, strict=False), start):
        before = held[name] if name in held else found.setdefault(name, group)
        if before != group:
            hint = f"another row with the query id {name!r} is in group {before!r}"
            raise ValueError(message("groups", "be one for each query id", group, query, hint))


def refuse_different(ids: Sequence[Id | None], name: str = "query_ids") -> None:
    """Refuse ids that only some processes gave, or that are str in one process and int in another."""
    if None in ids:
        got = Plain("none from some processes")
        raise ValueError(message(name, "be given for all queries or for none", got))
    if len(set(map(type, ids))) > 1:
        got = Plain("str and int from different processes")
        raise ValueError(message(name, "be all str or all int", got))


def new_rows(
    ids: Sequence[Id], rows: Sequence[Hashable], held: Mapping[Id, Hashable], start: int = 0
) -> dict[Id, int]:
    """The first row of each id that is new.

    Args:
        ids: the ids of a batch of queries.
        rows: the fingerprint of each query; queries with equal ones are the same.
        held: the fingerprint of each id seen before.
        start: number of queries before these; errors count on from it.
    Returns:
        {id: index in `rows`}, by ascending index.
    Raises:
        ValueError: an id whose earlier row is different.
    """
    found: dict[Id, int] = {}
    for index, (name, row) in enumerate(zip(ids, rows, strict=True)):
        before = held[name] if name in held else rows[found.setdefault(name, index)]
        if before != row:
            hint = "another query has this id, and other predictions or references"
            raise ValueError(message("query_ids", "name one query each", name, start + index, hint))
    return found


def count_once(ids: Sequence[Id], rows: Sequence[Hashable]) -> list[int]:
    """Indices of the rows, repeats of an earlier one left out; warns if there are any.

    Raises:
        ValueError: one id with two different rows.
    """
    kept = list(new_rows(ids, rows, {}).values())
    if len(kept) < len(ids):
        repeats = f"{len(ids) - len(kept)} of {len(ids)} rows"
        warn(f"{repeats} repeat the `query_ids` of another and are counted once")
    return kept


def sorted_by_number(ids: Sequence[Id]) -> list[int]:
    """Indices that sort the ids, ints or strings of digits, in ascending order.

    Raises:
        ValueError: an id that is neither.
    """
    for query, name in enumerate(ids):
        if isinstance(name, str) and not (name.isascii() and name.isdecimal()):
            rule = "be ints, or strings of digits, under protocol 'released'"
            hint = "its figures depend on the order of the queries"
            raise ValueError(message("query_ids", rule, name, query, hint))
    return sorted(range(len(ids)), key=lambda index: _number(ids[index]))


def _number(name: Id) -> Any:
    """A key that orders ints, or strings of digits of any length, as numbers."""
    if isinstance(name, int):
        return name
    digits = name.lstrip("0")
    return len(digits), digits
