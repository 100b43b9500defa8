# SPDX-License-Identifier: Apache-2.0
"""References of `search_diversity`: mappings, the loaders' columns, matrices and Arrow tables."""

import contextlib
import re
from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .common_arrays import all_strings, is_scalar, to_numpy
from .common_checks import InputTypeError, Plain, message
from .common_rows import runs

Ints = NDArray[np.integer[Any]]

PADDING = -100
SUBSETS = {list, tuple, set, frozenset}
DECIMAL = re.compile(r"[+-]?[0-9]{1,4000}")  # int() has a limit of 4300 digits


class Judgements(NamedTuple):
    """Reference documents of some queries, flat, and the subtopics that they cover."""

    ids: pa.Array | None  # (sum n_docs,) strings; None where documents are rows of a matrix
    n_docs: Ints  # (Q,) documents
    pair_query: Ints  # (P,) query of each (document, subtopic) pair
    pair_doc: Ints  # (P,) its document, a position in the query
    pair_key: Ints  # (P,) its subtopic, as a key that sorts the subtopics of a query
    kept: NDArray[np.bool_] | None = None  # (sum of matrix rows,) False for rows of padding
    n_rows: Ints | None = None  # (Q,) rows of each matrix, padding included


def read_judgements(references: Any, *, int_ids: bool, start: int) -> Judgements:
    """Check references and flatten them.

    Args:
        references: an Arrow table, a (Q, n, T) array, or a list of mappings, rows or matrices.
        int_ids: whether document ids may be ints.
        start: number of queries before these; errors count on from it.
    """
    if isinstance(references, pa.Table):
        return _read_table(references, int_ids, start)
    if isinstance(references, np.ndarray):
        return _read_matrices(references, start)
    kinds = set(map(type, references))
    if kinds == {dict} or all(isinstance(row, Mapping) for row in references):
        return _read_mappings(references, int_ids, start)
    return _join([_read_matrix(row, start + i) for i, row in enumerate(references)])


def _read_mappings(rows: list[Any], int_ids: bool, start: int) -> Judgements:
    """Flatten {document: subtopics} mappings, or rows with columns `doc_ids` and `subtopics`."""
    if all("doc_ids" not in row for row in rows):
        docs, subsets = rows, [row.values() for row in rows]
    else:
        pairs = [_doc_columns(row, query) for query, row in enumerate(rows, start)]
        docs, subsets = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    n_docs = np.fromiter(map(len, docs), np.int64, len(docs))
    ids, subtopics = list(chain.from_iterable(docs)), list(chain.from_iterable(subsets))
    ids = _checked_ids(ids, n_docs, int_ids, start)
    subtopics = _checked_subsets(subtopics, n_docs, start)
    n_labels = np.fromiter(map(len, subtopics), np.int64, len(subtopics))
    labels = _checked_labels(list(chain.from_iterable(subtopics)), n_docs, n_labels, start)
    table = {label: code for code, label in enumerate(set(labels))}  # in any order
    codes = np.fromiter(map(table.__getitem__, labels), np.int64, len(labels))
    return _judgements(_string_array(ids), n_docs, n_labels, codes, list(table))


def _doc_columns(row: Mapping[Any, Any], query: int) -> tuple[Any, Any]:
    """The documents of one query and their subtopics."""
    if "doc_ids" not in row or "subtopics" not in row:
        return list(row), list(row.values())
    docs, subtopics = _as_list(row["doc_ids"]), _as_list(row["subtopics"])
    if not isinstance(docs, (list, tuple)) or not isinstance(subtopics, (list, tuple)):
        rule = "have lists in doc_ids and subtopics"
        raise InputTypeError(message("references", rule, row, query))
    if len(docs) != len(subtopics):
        got = Plain(f"{len(docs)} doc_ids and {len(subtopics)} subtopics")
        raise ValueError(message("references", "have one subtopic list a document", got, query))
    return docs, subtopics


def _checked_subsets(subtopics: list[Any], n_docs: Ints, start: int) -> list[Any]:
    """The subtopics of every document as a list, a tuple or a set."""
    if set(map(type, subtopics)) <= SUBSETS:
        return subtopics
    subtopics = [_as_list(subset) for subset in subtopics]
    for query, subset in zip(runs(n_docs)[0].tolist(), subtopics, strict=True):
        if type(subset) not in SUBSETS:
            rule = "give each document a list of its subtopics"
            raise InputTypeError(message("references", rule, subset, start + query))
    return subtopics


def _checked_ids(ids: list[Any], n_docs: Ints, int_ids: bool, start: int) -> list[str]:
    """Document ids as strings; ints are accepted if `int_ids` is true."""
    if all_strings(ids):
        return ids
    queries, _ = runs(n_docs)
    allowed = (str, int, np.integer) if int_ids else str
    for query, doc in zip(queries.tolist(), ids, strict=True):
        if isinstance(doc, (bool, np.bool_)) or not isinstance(doc, allowed):
            hint = "" if int_ids else "int ids are taken with scores only"
            rule = "have str document ids"
            raise ValueError(message("references", rule, doc, start + query, hint))
    return list(map(str, ids))


def _checked_labels(labels: list[Any], n_docs: Ints, n_labels: Ints, start: int) -> list[Any]:
    """The labels as str and int, of one type in each query."""
    if all_strings(labels) or set(map(type, labels)) == {int}:
        return labels
    labels = [label.item() if is_scalar(label) else label for label in labels]
    queries = runs(n_docs)[0].repeat(n_labels)
    seen: dict[int, Any] = {}
    for query, label in zip(queries.tolist(), labels, strict=True):
        if type(label) not in (str, int):
            rule = "have subtopics that are all str or all int"
            raise ValueError(message("references", rule, label, start + query))
        if seen.setdefault(query, type(label)) is not type(label):
            rule = "have subtopics of one type in a query"
            raise ValueError(message("references", rule, Plain("str and int"), start + query))
    return labels


def _read_table(table: pa.Table, int_ids: bool, start: int) -> Judgements:
    """Flatten the columns `doc_ids` (lists) and `subtopics` (lists of lists) of an Arrow table."""
    missing = {"doc_ids", "subtopics"} - set(table.column_names)
    if missing:
        rule = "have the columns doc_ids and subtopics"
        raise ValueError(message("references", rule, sorted(table.column_names)))
    docs, n_docs = _flat_lists(table["doc_ids"], start)
    subsets, n_subsets = _flat_lists(table["subtopics"], start)
    for i in np.flatnonzero(n_docs != n_subsets)[:1].tolist():
        got = Plain(f"{n_docs[i]} doc_ids and {n_subsets[i]} subtopics")
        rule = "have one subtopic list a document"
        raise ValueError(message("references", rule, got, start + i))
    labels, n_labels = _flat_lists(subsets, start, n_subsets)
    if not (_is_string(docs.type) or (int_ids and pa.types.is_integer(docs.type)) or not len(docs)):
        raise ValueError(message("references", "have str document ids", Plain(docs.type), start))
    if not (_is_string(labels.type) or pa.types.is_integer(labels.type) or not len(labels)):
        rule = "have subtopics that are all str or all int"
        raise ValueError(message("references", rule, Plain(labels.type), start))
    encoded = labels.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    ids = docs.cast(pa.large_string())
    return _judgements(ids, n_docs, n_labels, codes, encoded.dictionary.to_pylist())


def _flat_lists(lists: Any, start: int, *outer: Ints) -> tuple[pa.Array, Ints]:
    """Values and lengths of an Arrow list array; nulls are refused.

    `outer`: if the lists are themselves elements of lists, the lengths of the outer lists.
    """
    lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    if pa.types.is_fixed_size_list(lists.type):
        lists = lists.cast(pa.list_(lists.type.value_type))
    lists = lists if len(lists) else pa.array([], pa.list_(pa.string()))  # may be of type null
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
        rule = "have lists in doc_ids and lists of lists in subtopics"
        raise InputTypeError(message("references", rule, Plain(lists.type)))
    _refuse_null(lists, start, *outer)
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    values = lists.flatten()
    _refuse_null(values, start, lengths, *outer)
    return values, lengths


def _refuse_null(values: pa.Array, start: int, *outer: Ints) -> None:
    if values.null_count:
        first = np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0]
        for lengths in outer:
            first = np.searchsorted(np.cumsum(lengths), first, side="right")
        raise ValueError(message("references", "hold no null", None, start + int(first)))


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _judgements(
    ids: pa.Array, n_docs: Ints, n_labels: Ints, codes: Ints, table: list[Any]
) -> Judgements:
    """Turn labels, given as indices in `table`, into keys that order them within each query.

    A query's labels are ordered as numbers if all are decimal integers, else by UTF-8 bytes.
    """
    doc = np.arange(int(n_docs.sum())).repeat(n_labels)
    query = np.arange(len(n_docs)).repeat(n_docs)[doc]
    decimal = np.array([bool(DECIMAL.fullmatch(str(label))) for label in table], bool)
    as_text = _ranks(table, lambda label: str(label).encode("utf-8", "surrogatepass"))
    as_number = np.zeros(len(table), np.int64)
    numbers = [label for label, number in zip(table, decimal, strict=True) if number]
    as_number[decimal] = _ranks(numbers, lambda label: (int(label), str(label)))
    key = as_number[codes]
    if not decimal.all():
        by_text = np.bincount(query[~decimal[codes]], minlength=len(n_docs)) > 0
        key = np.where(by_text[query], as_text[codes], key)
    first_doc = np.cumsum(n_docs) - n_docs
    return Judgements(ids, n_docs, query, doc - first_doc[query], key)


def _ranks(values: list[Any], key: Any) -> Ints:
    """Place of each value in ascending order."""
    order = sorted(range(len(values)), key=lambda i: key(values[i]))
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values))
    return ranks


def _read_matrices(matrices: NDArray[Any], start: int) -> Judgements:
    """Flatten a (Q, n, T) array of 0 and 1, with -100 in rows and columns of padding."""
    if matrices.ndim != 3 or matrices.dtype.kind not in "if":
        got = Plain(f"{matrices.dtype} of shape {matrices.shape}")
        rule = "be signed ints or floats, documents x subtopics for each query"
        raise ValueError(message("references", rule, got))
    ones = matrices == 1
    if (ones | (matrices == 0)).all():
        kept = np.ones(matrices.shape[:2], bool)
        position = None
    else:
        ones, kept = _without_padding(matrices, ones, start)
        position = np.cumsum(kept, axis=1) - 1
    cell = np.flatnonzero(ones)  # faster than nonzero() of three axes
    doc, key = np.divmod(cell, max(1, matrices.shape[2]))
    query, row = np.divmod(doc, max(1, matrices.shape[1]))
    doc = row if position is None else position[query, row]
    n_rows = np.full(len(matrices), matrices.shape[1], np.int64)
    return Judgements(None, kept.sum(axis=1), query, doc, key, kept.ravel(), n_rows)


def _without_padding(
    matrices: NDArray[Any], ones: NDArray[np.bool_], start: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks: the cells that are 1, outside of padding, and the rows that are documents."""
    padding = matrices == PADDING
    wrong = ~(padding | ones | (matrices == 0))
    _refuse_cell("hold 0, 1, or -100 in rows and columns of padding", wrong, matrices, start)
    rows, columns = ~padding.all(axis=2), ~padding.all(axis=1)
    real = rows[:, :, None] & columns[:, None, :]
    rule = "hold -100 only in whole rows and columns of padding"
    _refuse_cell(rule, padding & real, matrices, start)
    return ones & real, rows


def _read_matrix(row: Any, query: int) -> Judgements:
    matrix = np.empty(0)
    if not isinstance(row, np.ma.MaskedArray):
        with contextlib.suppress(ValueError):  # lists of different lengths
            matrix = to_numpy(row)
    if matrix.ndim != 2 or (matrix.dtype.kind not in "if" and matrix.size):
        rule = "be a mapping document -> subtopics, or a 0/1 matrix documents x subtopics"
        got = row if matrix.ndim != 2 else Plain(f"an array of {matrix.dtype}")
        raise ValueError(message("references", rule, got, query))
    return _read_matrices(matrix[None].astype(float) if not matrix.size else matrix[None], query)


def _join(parts: list[Judgements]) -> Judgements:
    """The matrices of several queries one after another."""

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    return Judgements(
        ids=None,
        n_docs=column("n_docs"),
        pair_query=np.arange(len(parts)).repeat([len(part.pair_query) for part in parts]),
        pair_doc=column("pair_doc"),
        pair_key=column("pair_key"),
        kept=column("kept"),
        n_rows=column("n_rows"),
    )


def _refuse_cell(rule: str, wrong: NDArray[np.bool_], matrices: Any, start: int) -> None:
    for query, row, column in np.argwhere(wrong)[:1].tolist():
        raise ValueError(message("references", rule, matrices[query, row, column], start + query))


def _string_array(ids: list[str]) -> pa.Array:
    try:
        return pa.array(ids, pa.large_string())
    except UnicodeEncodeError:
        rule = "have ids of valid Unicode"
        raise ValueError(message("references", rule, Plain("a surrogate"))) from None


def _as_list(values: Any) -> Any:
    """An array as a list; any other value unchanged."""
    return values.tolist() if hasattr(values, "tolist") else values
