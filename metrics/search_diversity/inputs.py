# SPDX-License-Identifier: Apache-2.0
"""Where data enters `search_diversity`: containers are converted and read part by part."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import datasets
import pyarrow as pa

from .common_arrays import is_array, to_numpy
from .common_checks import InputTypeError, Plain, message
from .judgements import read_judgements
from .matching import meet
from .queries import Queries
from .rankings import read_rankings

PART = 4096  # queries read at a time


def read_batch(
    predictions: Any, references: Any, *, kind: str | None, start: int, has_ids: bool = False
) -> Iterator[tuple[str | None, Queries]]:
    """Check a batch of queries and flatten it, PART queries at a time.

    Args:
        predictions: one ranking or row of scores per query (see the metric's description).
        references: the judged documents of each query.
        kind: the kind that the rows must have; if None, it is read from their type.
        start: number of queries added before; errors count on from it.
        has_ids: whether the queries have ids; rows of one id are then compared.
    Yields:
        The kind of the rows so far, and flat queries.
    Raises:
        ValueError: a value against the rules of its kind.
        TypeError: a container that holds no rows.
    """
    predictions = _container("predictions", predictions)
    references = _references(references)
    if len(predictions) != len(references):
        rule = f"have one row for each of the {len(references)} references"
        raise ValueError(message("predictions", rule, len(predictions)))
    for first in range(0, len(predictions), PART):
        at = start + first
        rankings = read_rankings(_to_part(predictions[first : first + PART]), start=at)
        kind = _agreed_kind(kind, rankings.kind, at)
        judged = _part_of(references, first)
        judgements = read_judgements(judged, int_ids=kind == "scores", start=at)
        rankings = rankings._replace(kind=kind)
        yield kind, meet(rankings, judgements, start=at, has_ids=has_ids)


def _agreed_kind(kind: str | None, found: str | None, start: int) -> str | None:
    """The kind of the rows; raise if `found` differs from the `kind` of the rows before."""
    if found is None or kind in (None, found):
        return kind or found
    hint = "call compute() before adding another kind"
    raise ValueError(message("predictions", f"be {kind} as before", Plain(found), start, hint))


# Containers


def _container(name: str, values: Any) -> Any:
    """An Arrow array, a numpy array or tensor, or a list, without a copy where it is one."""
    source = getattr(values, "source", None)
    if isinstance(source, datasets.Dataset):  # a column of a dataset
        values = source.with_format("arrow")[:][values.column_name]
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if hasattr(values, "iloc"):  # pandas
        values = values.to_numpy()
    if hasattr(values, "column_name"):  # a column of a formatted dataset
        values = values[:]
    if is_array(values) and not hasattr(values, "toarray") and len(values.shape):
        return values.tolist() if getattr(values.dtype, "kind", "") in tuple("OUST") else values
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return list(values)
    hint = "give a list, a dense array or a tensor with a row a query"
    got = Plain(type(values).__name__)
    raise InputTypeError(message(name, "have a row a query", got, hint=hint))


def _references(references: Any) -> Any:
    """The references as an Arrow table, an array or tensor, or a list."""
    if isinstance(references, datasets.Dataset):
        columns = [name for name in ("doc_ids", "subtopics") if name in references.column_names]
        references = references.select_columns(columns).with_format("arrow")[:]
    if isinstance(references, pa.Table):
        return references
    if hasattr(references, "iloc") and hasattr(references, "columns"):
        references = references.to_dict("list")
    if isinstance(references, Mapping) and {"doc_ids", "subtopics"} <= set(references):
        docs, subtopics = references["doc_ids"], references["subtopics"]
        sized = hasattr(docs, "__len__") and hasattr(subtopics, "__len__")
        if sized and len(docs) == len(subtopics):
            pairs = zip(docs, subtopics, strict=True)
            return [{"doc_ids": doc_ids, "subtopics": labels} for doc_ids, labels in pairs]
    opened = _container("references", references)
    return opened.to_pylist() if isinstance(opened, (pa.Array, pa.ChunkedArray)) else opened


def _part_of(references: Any, first: int) -> Any:
    if isinstance(references, pa.Table):
        return references.slice(first, PART)
    return _to_part(references[first : first + PART])


def _to_part(rows: Any) -> Any:
    """Part of a container: an Arrow array, a numpy array or a list."""
    if isinstance(rows, pa.ChunkedArray):
        return rows.combine_chunks()
    return to_numpy(rows) if hasattr(rows, "dtype") else rows
