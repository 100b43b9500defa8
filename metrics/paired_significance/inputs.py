# SPDX-License-Identifier: Apache-2.0
"""Where figures enter `paired_significance`: their checks, and their alignment by query."""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .common_checks import InputTypeError, Plain, message

Floats = NDArray[np.float64]

LARGEST = 1e100  # so that its square and cube do not overflow
RULE = "be a list of numbers, one a query, or {query_id: number}"


def read_systems(figures: Mapping[str, Any], held: Sequence[Any] | None) -> tuple[Floats, Any]:
    """Check the figures of several systems and align them by query.

    Args:
        figures: {name of the argument or of the system: figures}, two or more.
        held: query ids of the figures added before, [] if those had none; None if none were added.
    Returns:
        (S, N) float64, and the query ids of the N columns, [] if the figures have no ids.
    Raises:
        ValueError: a number that is not finite; different numbers of queries; different sets of
            ids; ids for one system but not for another; an id that was added before.
        TypeError: not a list, array or mapping of numbers.
    """
    read = _without_counts({name: _read(name, values) for name, values in figures.items()})
    first, (ids, _) = next(iter(read.items()))
    rows = []
    for name, (own, values) in read.items():
        if (own is None) != (ids is None):
            got = Plain("ids" if ids is None else "no ids")
            raise ValueError(message(name, f"have query ids, or none, as {first} has", got))
        if own is not None and ids is not None:
            _refuse_other_ids(name, own, first, ids)
            values = values[[own[query] for query in ids]]
        elif len(values) != len(read[first][1]):
            rule = f"have one number for each of the {len(read[first][1])} of {first}"
            raise ValueError(message(name, rule, len(values)))
        rows.append(values)
    names = [] if ids is None else list(ids)
    if held is not None and len(rows[0]):
        if bool(held) != bool(names):
            got = Plain("some" if names else "none")
            raise ValueError(message(first, "have query ids in all batches or in none", got))
        for query in sorted(set(held) & set(names), key=str)[:1]:
            raise ValueError(message(first, "name each query once", query))
    return np.array(rows, np.float64), names


Read = tuple[dict[Any, int] | None, Floats]  # place of each query id, or None; numbers


def _without_counts(read: dict[str, Read]) -> dict[str, Read]:
    """Drop ids that only count from 0, as the default index of a pandas Series does."""
    if all(ids is None or list(ids) == list(range(len(ids))) for ids, _ in read.values()):
        return {name: (None, values) for name, (_, values) in read.items()}
    return read


def _read(name: str, values: Any) -> Read:
    ids = None
    if hasattr(values, "iloc") and hasattr(values, "index"):  # a pandas Series: by its index
        ids, values = values.index.tolist(), values.to_numpy()
    elif isinstance(values, Mapping):
        ids, values = list(values), list(values.values())
    elif hasattr(values, "to_pylist"):
        values = values.to_pylist()
    if isinstance(values, (str, bytes, Set)) or not hasattr(values, "__len__"):
        raise InputTypeError(message(name, RULE, values))
    if isinstance(values, np.ma.MaskedArray):
        raise InputTypeError(message(name, RULE, Plain("a masked array")))
    array = _array(values)
    if array.ndim != 1:
        raise InputTypeError(message(name, RULE, Plain(f"shape {array.shape}")))
    if array.dtype.kind not in "fiu":
        array = _numbers(name, array.tolist(), ids)
    array = array.astype(np.float64)
    for query in np.flatnonzero(~(np.abs(array) <= LARGEST))[:1].tolist():
        place = query if ids is None else repr(ids[query])
        rule = f"hold finite numbers, up to {LARGEST:g}"
        raise ValueError(message(name, rule, float(array[query]), place))
    if ids is None:
        return None, array
    places = {query: place for place, query in enumerate(ids)}
    if len(places) < len(ids):
        twice = next(query for place, query in enumerate(ids) if places[query] != place)
        raise ValueError(message(name, "name each query once", twice))
    return places, array


def _array(values: Any) -> NDArray[Any]:
    """A numpy array; of objects if `values` is a list, which numpy could turn into text or refuse."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "detach"):  # a tensor, on whatever device
        values = values.detach().cpu()
        values = values.to_dense() if values.is_sparse else values
        return np.asarray(values.double() if values.is_floating_point() else values)
    values = list(values)
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _numbers(name: str, values: list[Any], ids: Sequence[Any] | None) -> Floats:
    for query, value in enumerate(values):
        number = isinstance(value, (int, float, np.integer, np.floating))
        if not number or isinstance(value, bool):
            place = query if ids is None else repr(ids[query])
            hint = "leave the query out of both" if value is None else ""
            raise InputTypeError(message(name, "hold numbers", value, place, hint))
    fits = (not isinstance(value, int) or abs(value) <= LARGEST for value in values)
    return np.array([float(v) if fit else np.inf for v, fit in zip(values, fits, strict=True)])


def _refuse_other_ids(
    name: str, own: Mapping[Any, int], first: str, ids: Mapping[Any, int]
) -> None:
    for here, there, queries in ((name, first, own), (first, name, ids)):
        other = ids if queries is own else own
        for query in [query for query in queries if query not in other][:1]:
            count = sum(query not in other for query in queries)
            got = Plain(f"{query!r} in {here} and not in {there}, {count} such")
            raise ValueError(message(name, f"have the query ids of {first}", got))
