# SPDX-License-Identifier: Apache-2.0
"""Where data enters `search_diversity`: containers are opened, rankings meet judgements."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .ids import Words, find, order_docs
from .judgements import Judgements
from .options import InputTypeError, Plain, message
from .queries import Queries, runs, starts
from .rankings import Rankings, is_array, to_numpy

Ints = NDArray[np.integer[Any]]

PART = 4096  # queries read at a time
FLOATS = "scores must be floats"


def split(predictions: Any, references: Any, *, start: int) -> Iterator[tuple[Any, Any, int]]:
    """Open the containers of a batch, PART queries at a time.

    Args:
        predictions: one ranking or row of scores a query (see the metric's description).
        references: the judged documents of each query.
        start: number of queries added before; errors count on from it.
    Yields:
        (predictions, references, start): Arrow arrays, numpy arrays, an Arrow table or lists.
    Raises:
        ValueError: not one row of predictions for each reference.
        TypeError: a container that holds no rows.
    """
    predictions = _container("predictions", predictions)
    references = _references(references)
    if len(predictions) != len(references):
        rule = f"have one row for each of the {len(references)} references"
        raise ValueError(message("predictions", rule, len(predictions)))
    for first in range(0, len(predictions), PART):
        rows = _to_part(predictions[first : first + PART])
        yield rows, _part_of(references, first), start + first


def agreed_kind(kind: str | None, found: str | None, start: int) -> str | None:
    """The kind of the rows `found`, which must be the `kind` of rows before them."""
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


# Rankings meet judgements


def meet(
    rankings: Rankings, judgements: Judgements, words: tuple[Words, Words], start: int
) -> Queries:
    """Flat queries: each ranking as positions among its reference documents.

    Args:
        rankings: of some queries.
        judgements: of the same queries.
        words: `id_words` of the documents and of the ranked ids.
        start: number of queries before these; errors count on from it.
    Raises:
        ValueError: an id or position twice, a position or a number of scores that does not fit the
            documents, a NaN.
    """
    n_ranked, tied = rankings.n_ranked, np.zeros(len(rankings.values), bool)
    docs, ranked = words
    if judgements.ids is None:
        if len(ranked):
            hint = "documents of a matrix have no ids: give scores or positions"
            raise ValueError(
                message("references", "name documents", Plain("a matrix"), start, hint)
            )
        _, id_rank = runs(judgements.n_docs)  # rows are in order of id by definition
    else:
        order, twice = order_docs(docs, judgements.n_docs)
        id_rank = np.empty(len(docs), np.int64)
        id_rank[order] = runs(judgements.n_docs)[1]
        _refuse_repeat("references", "doc_ids", judgements.ids, judgements.n_docs, twice, start)
    if rankings.kind == "scores":
        ranking, n_ranked, tied = _sort_scores(rankings, judgements, id_rank, start)
    elif len(ranked):
        ranking, twice = find(docs, judgements.n_docs, order, ranked, n_ranked)
        _refuse_repeat("predictions", "ids", rankings.values, n_ranked, twice, start)
    else:
        ranking = _check_positions(rankings, judgements, start)
    return _queries(judgements, id_rank, ranking, n_ranked, tied)


def _refuse_repeat(
    name: str, what: str, ids: pa.Array, lengths: Ints, index: int | None, start: int
) -> None:
    if index is not None:
        query = int(np.searchsorted(np.cumsum(lengths), index, side="right"))
        got = ids[index].as_py()
        raise ValueError(message(name, f"have {what} without repeats", got, start + query))


def _queries(
    judgements: Judgements, id_rank: Ints, ranking: Ints, n_ranked: Ints, tied: NDArray[np.bool_]
) -> Queries:
    """Number the subtopics of each query from 0."""
    queries = len(judgements.n_docs)
    subtopic, n_subtopics = _number(judgements.pair_query, judgements.pair_key, queries)
    return Queries(
        n_docs=judgements.n_docs.astype(np.int32),
        n_subtopics=n_subtopics.astype(np.int32),
        n_pairs=np.bincount(judgements.pair_query, minlength=queries).astype(np.int32),
        n_ranked=n_ranked.astype(np.int32),
        id_rank=id_rank.astype(np.int32),
        pair_doc=judgements.pair_doc.astype(np.int32),
        pair_subtopic=subtopic.astype(np.int32),
        ranking=ranking.astype(np.int32),
        tied=tied,
    )


def _number(query: Ints, key: Ints, queries: int) -> tuple[Ints, Ints]:
    """Number the distinct keys of each query from 0, ascending, and count them."""
    width = int(key.max(initial=0)) + 1
    if queries * width > 64 * len(key) + PART:  # few of many labels in each query
        distinct, index = np.unique(query * width + key, return_inverse=True)
        count = np.bincount(distinct // width, minlength=queries)
        return index - starts(count)[query], count
    present = np.zeros((queries, width), bool)
    present[query, key] = True
    number = np.cumsum(present, axis=1, dtype=np.int32)
    return number[query, key] - 1, number[:, -1]


def _check_positions(rankings: Rankings, judgements: Judgements, start: int) -> Ints:
    """Positions among the documents; rows of padding do not count."""
    n_rows, kept = _matrix_rows(judgements)
    query, _ = runs(rankings.n_ranked)
    positions = rankings.values.astype(np.int64)
    wrong = (positions < 0) | (positions >= n_rows[query]) | (rankings.values >= 2**62)
    for i in np.flatnonzero(wrong)[:1].tolist():
        rule = f"be positions from 0 to {n_rows[query[i]] - 1}"
        got = rankings.values[i]
        raise ValueError(message("predictions", rule, got, start + int(query[i]), FLOATS))
    order = np.lexsort((positions, query))
    same = (np.diff(query[order]) == 0) & (np.diff(positions[order]) == 0)
    for i in order[:-1][same][:1].tolist():
        rule = "name no position twice"
        raise ValueError(message("predictions", rule, positions[i], start + int(query[i]), FLOATS))
    row = starts(n_rows)[query] + positions
    for i in np.flatnonzero(~kept[row])[:1].tolist():
        rule = "name no row of padding"
        raise ValueError(message("predictions", rule, positions[i], start + int(query[i])))
    document = (np.cumsum(kept) - 1)[row]
    return np.asarray(document - starts(judgements.n_docs)[query])


def _sort_scores(
    rankings: Rankings, judgements: Judgements, id_rank: Ints, start: int
) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Rankings by score, the larger id first among equal scores, and where those are."""
    n_rows, kept = _matrix_rows(judgements)
    for i in np.flatnonzero(rankings.n_ranked != n_rows)[:1].tolist():
        rule = f"have one score for each of the {n_rows[i]} documents"
        raise ValueError(message("predictions", rule, int(rankings.n_ranked[i]), start + i))
    query, position = runs(judgements.n_docs)
    scores = rankings.values if kept.all() else rankings.values[kept]
    wrong = scores != scores
    for i in np.flatnonzero(wrong)[:1].tolist():
        at = start + int(runs(judgements.n_docs)[0][i])
        raise ValueError(message("predictions", "hold no NaN", scores[i], at))
    n_docs = judgements.n_docs
    if len(scores) and (n_docs == n_docs[0]).all():
        ranking, tied = _sort_rows(scores.reshape(len(n_docs), -1), id_rank)
        return ranking, n_docs, tied
    query, position = runs(n_docs)
    order = np.lexsort((-id_rank, -scores, query))
    tied = np.zeros(len(order), bool)
    tied[1:] = (np.diff(query[order]) == 0) & (scores[order[1:]] == scores[order[:-1]])
    return position[order], n_docs, tied


def _sort_rows(scores: NDArray[Any], id_rank: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """`_sort_scores` where all queries have as many documents: a stable sort, larger ids first."""
    by_id = np.empty(scores.shape, np.int64)
    column = np.arange(scores.shape[1])[None]
    np.put_along_axis(by_id, scores.shape[1] - 1 - id_rank.reshape(scores.shape), column, axis=1)
    arranged = np.take_along_axis(scores, by_id, axis=1)
    order = np.argsort(-arranged, axis=1, kind="stable")
    ordered = np.take_along_axis(arranged, order, axis=1)
    tied = np.zeros(scores.shape, bool)
    tied[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return np.take_along_axis(by_id, order, axis=1).ravel(), tied.ravel()


def _matrix_rows(judgements: Judgements) -> tuple[Ints, NDArray[np.bool_]]:
    """Rows that a prediction may speak of, and which of them are documents."""
    if judgements.kept is None or judgements.n_rows is None:
        return judgements.n_docs, np.ones(int(judgements.n_docs.sum()), bool)
    return judgements.n_rows, judgements.kept
