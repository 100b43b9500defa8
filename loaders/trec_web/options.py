# SPDX-License-Identifier: Apache-2.0
"""The options of the loader, their checks, and the form of its error messages."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from quotediv.loaders.builder import is_integer

from .sources import YEARS

ALL = "all"
Run = Mapping[str, Sequence[str]]


def years_of(config: str | None) -> Sequence[str]:
    """The years of a config; none for an unknown config, which `datasets` refuses."""
    return YEARS if config in (None, ALL) else [year for year in YEARS if year == config]


def config_of(year: Any) -> str:
    """The config of a year, an int or a str; None is all four."""
    if year is None:
        return ALL
    name = str(year)
    if name not in YEARS:
        raise ValueError(message("year", f"be one of {', '.join(YEARS)}, or None for all", year))
    return name


def check_candidates(candidates: Any) -> str | dict[str, list[str]] | None:
    """A path as a str, or a run with lists of distinct ids."""
    if candidates is None or isinstance(candidates, (str, os.PathLike)):
        return None if candidates is None else str(candidates)
    rule = "be the path of a run, or a mapping query_id -> list of document ids"
    if not isinstance(candidates, Mapping):
        raise TypeError(message("candidates", rule, candidates))
    for query, docs in candidates.items():
        strings = is_list(docs) and all(isinstance(doc, str) for doc in docs)
        if not isinstance(query, str) or not strings:
            raise TypeError(message("candidates", rule, {query: docs}))
        if len(set(docs)) != len(docs):
            twice = next(doc for doc in docs if list(docs).count(doc) > 1)
            rule = "name no document twice in a query"
            raise ValueError(message("candidates", rule, twice, f"see query {query}"))
    return {query: list(docs) for query, docs in candidates.items()}


def check_rankings(name: str, run: Any) -> None:
    """Refuse a run that is not a mapping from query ids, str, to lists."""
    rule = "be a mapping query_id -> list of documents"
    if not isinstance(run, Mapping):
        raise TypeError(message(name, rule, type(run).__name__, "read_run() reads a file"))
    for query, docs in run.items():
        if not isinstance(query, str):
            raise TypeError(message(name, f"{rule} with keys that are str", query))
        if not is_list(docs):
            raise TypeError(message(name, rule, type(docs).__name__, f"see query {query}"))


def is_list(value: Any) -> bool:
    """Whether the value is an ordered collection, such as a list or tuple; not a str or bytes."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def check_fold(fold: Any) -> tuple[int, int]:
    """The fold (i, m) as ints, 0 <= i < m."""
    rule = "be two ints (i, m) with 0 <= i < m and m >= 2"
    if not isinstance(fold, (tuple, list)) or len(fold) != 2:
        raise TypeError(message("fold", rule, fold))
    if not all(map(is_integer, fold)):
        raise TypeError(message("fold", rule, fold))
    i, m = map(int, fold)
    if m < 2 or not 0 <= i < m:
        raise ValueError(message("fold", rule, fold))
    return i, m


def check_int(name: str, value: Any, least: int | None = None) -> int:
    """The value as an int; refused: a bool, and what is below `least`."""
    rule = "be an int" if least is None else f"be an int >= {least}"
    if not is_integer(value):
        raise TypeError(message(name, rule, value))
    number = int(value)
    if least is not None and number < least:
        raise ValueError(message(name, rule, value))
    return number


def message(name: str, rule: str, got: Any, hint: str = "") -> str:
    """`name` must <rule>, got <value>; <what to do>."""
    return f"`{name}` must {rule}, got {got!r}{'; ' + hint if hint else ''}"
