# SPDX-License-Identifier: Apache-2.0
"""Predictions of `search_diversity`: ids, positions or scores, one row per query."""

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .common_arrays import all_strings, is_array, is_scalar, to_numpy
from .common_checks import InputTypeError, Plain, message

Ints = NDArray[np.integer[Any]]

EXACT = 2**53  # float64 holds every int up to this one exactly


class Rankings(NamedTuple):
    """Rankings of some queries, flat."""

    kind: str | None  # "ids", "positions" or "scores"; None if all rows are empty
    n_ranked: Ints  # (Q,) length of each row
    values: Any  # (sum n_ranked,) an Arrow string array, ints or floats


def read_rankings(predictions: Any, *, start: int) -> Rankings:
    """Flatten rows of ids, positions or scores.

    Args:
        predictions: an Arrow list array, a (Q, n) array, or a list of lists or 1-D arrays.
        start: number of queries before these; errors count on from it.
    """
    if isinstance(predictions, pa.Array):
        return _read_arrow(predictions, start)
    if isinstance(predictions, np.ndarray):
        return _read_array(predictions)
    if set(map(type, predictions)) == {list}:
        n_ranked = np.fromiter(map(len, predictions), np.int64, len(predictions))
        flat = list(chain.from_iterable(predictions))
        if flat and all_strings(flat):
            return Rankings("ids", n_ranked, _string_array(flat))
    rows = [_row(row, start + i) for i, row in enumerate(predictions)]
    kind = _kind(rows, start)
    n_ranked = np.fromiter(map(len, rows), np.int64, len(rows))
    dtypes = {getattr(row, "dtype", None) for row in rows}
    if len(dtypes) == 1 and None not in dtypes:
        return Rankings(kind, n_ranked, np.concatenate(rows))
    flat = [value for row in rows for value in (row if isinstance(row, list) else row.tolist())]
    if kind == "ids":
        return Rankings(kind, n_ranked, _string_array(flat))
    return Rankings(kind, n_ranked, np.array(flat, np.float64 if kind == "scores" else np.int64))


def _row(row: Any, query: int) -> Any:
    """One row as a list of Python values or a 1-D array of numbers."""
    if isinstance(row, (list, tuple)):
        if set(map(type, row)) <= {str, int, float}:
            return list(row)
        return [value.item() if is_scalar(value) else value for value in row]
    array = to_numpy(row) if is_array(row) else None
    if array is None or array.ndim != 1 or array.dtype.kind in "mM":
        hint = "give a list of ids or positions, best first, or of scores"
        raise InputTypeError(message("predictions", "be a list a query", row, query, hint))
    return array if array.dtype.kind in "fiu" else array.tolist()


def _kind(rows: list[Any], start: int) -> str | None:
    """The kind that all rows have; None if all rows are empty."""
    kind = None
    for query, row in enumerate(rows, start):
        found = _kind_of_row(row, query)
        if found and kind and found != kind:
            rule = f"be {kind} as in the rows before"
            raise ValueError(message("predictions", rule, Plain(found), query))
        kind = kind or found
    return kind


def _kind_of_row(row: Any, query: int) -> str | None:
    if not len(row):
        return None
    if isinstance(row, np.ndarray):
        return "scores" if row.dtype.kind == "f" else "positions"
    types = set(map(type, row))
    if types == {str}:
        return "ids"
    if types <= {int, float}:
        if (
            type(row) is list
            and int in types
            and any(type(v) is int and abs(v) > EXACT for v in row)
        ):
            raise ValueError(message("predictions", "be floats, or ints up to 2**53", row, query))
        return "scores" if float in types else "positions"
    if types == {float, type(None)}:
        raise ValueError(message("predictions", "hold no NaN or None", row, query))
    names = " and ".join(sorted(found.__name__ for found in types))
    rule = "be all str (ids), all int (positions) or all float (scores)"
    raise ValueError(message("predictions", rule, Plain(names), query))


def _read_array(predictions: NDArray[Any]) -> Rankings:
    if predictions.ndim != 2 or predictions.dtype.kind not in "fiu":
        got = Plain(f"{predictions.dtype} of shape {predictions.shape}")
        rule = "be float scores or int positions, one row a query"
        raise ValueError(message("predictions", rule, got))
    n_ranked = np.full(len(predictions), predictions.shape[1], np.int64)
    return _flat(n_ranked, predictions.ravel())


def _read_arrow(predictions: pa.Array, start: int) -> Rankings:
    if pa.types.is_fixed_size_list(predictions.type):
        predictions = predictions.cast(pa.list_(predictions.type.value_type))
    if not (pa.types.is_list(predictions.type) or pa.types.is_large_list(predictions.type)):
        rule = "be a column of lists"
        raise InputTypeError(message("predictions", rule, Plain(predictions.type)))
    _refuse_null(predictions, start)
    n_ranked = predictions.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    values = predictions.flatten()
    _refuse_null(values, start, n_ranked)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return Rankings("ids", n_ranked, values.cast(pa.large_string()))
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return _flat(n_ranked, values.to_numpy(zero_copy_only=False))
    if not len(values):
        return Rankings(None, n_ranked, np.empty(0, np.int64))
    rule = "be lists of strings, ints or floats"
    raise ValueError(message("predictions", rule, Plain(predictions.type)))


def _refuse_null(values: pa.Array, start: int, *outer: Ints) -> None:
    if values.null_count:
        first = np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0]
        for lengths in outer:
            first = np.searchsorted(np.cumsum(lengths), first, side="right")
        raise ValueError(message("predictions", "hold no null", None, start + int(first)))


def _flat(n_ranked: Ints, values: NDArray[Any]) -> Rankings:
    kind = "scores" if values.dtype.kind == "f" else "positions"
    return Rankings(kind if len(values) else None, n_ranked, values)


def _string_array(flat: list[str]) -> pa.Array:
    try:
        return pa.array(flat, pa.large_string())
    except UnicodeEncodeError:
        raise ValueError(message("predictions", "be valid Unicode", Plain("a surrogate"))) from None
