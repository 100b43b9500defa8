# SPDX-License-Identifier: Apache-2.0
"""Match rankings with judgements: each ranking as positions among its query's reference documents."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .common_checks import Plain, message
from .common_rows import runs, starts
from .ids import find, hash_ids, id_words, order_docs
from .judgements import Judgements
from .queries import Queries
from .rankings import Rankings

Ints = NDArray[np.integer[Any]]

FEW = 4096  # cells of a table small enough for a batch of any size
FLOATS = "scores must be floats"


def meet(rankings: Rankings, judgements: Judgements, *, start: int, has_ids: bool) -> Queries:
    """Flat queries: each ranking as positions among its reference documents.

    Args:
        rankings: the rankings of some queries.
        judgements: the judgements of the same queries.
        start: number of queries before these; errors count on from it.
        has_ids: whether the queries have ids; rows of one id are then compared.
    Raises:
        ValueError: an id or position that occurs twice; a position outside the documents, or another
            number of scores than documents; a NaN.
    """
    n_ranked, tied = rankings.n_ranked, np.zeros(len(rankings.values), bool)
    ranked_ids = rankings.values if isinstance(rankings.values, pa.Array) else None
    docs, ranked = id_words(judgements.ids, ranked_ids)
    if judgements.ids is None:
        if len(ranked):
            hint = "documents of a matrix have no ids: give scores or positions"
            raise ValueError(
                message("references", "name documents", Plain("a matrix"), start, hint)
            )
        _, id_rank = runs(judgements.n_docs)  # a later row counts as a larger id
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
    queries = _queries(judgements, id_rank, ranking, n_ranked, tied)
    if has_ids:
        both = (judgements.ids, judgements.n_docs), (ranked_ids, rankings.n_ranked)
        named = [(ids, lengths) for ids, lengths in both if ids is not None]
        queries = replace(queries, id_hash=hash_ids(named, len(queries)))
    return queries


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
        id_hash=np.zeros(queries, np.uint64),
    )


def _number(query: Ints, key: Ints, queries: int) -> tuple[Ints, Ints]:
    """Number the distinct keys of each query from 0, ascending, and count them."""
    width = int(key.max(initial=0)) + 1
    if queries * width > 64 * len(key) + FEW:  # each query has few of the many labels
        distinct, index = np.unique(query * width + key, return_inverse=True)
        count = np.bincount(distinct // width, minlength=queries)
        return index - starts(count)[query], count
    present = np.zeros((queries, width), bool)
    present[query, key] = True
    number = np.cumsum(present, axis=1, dtype=np.int32)
    return number[query, key] - 1, number[:, -1]


def _check_positions(rankings: Rankings, judgements: Judgements, start: int) -> Ints:
    """Check positions among matrix rows; return positions among documents, not counting padding."""
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
    """Rankings by score, equal scores by larger id first; their lengths; and where scores are tied."""
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
    """`_sort_scores` if all queries have equally many documents: a stable sort, larger ids first."""
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
    """(Q,) number of rows that predictions can refer to, and which of these rows are documents."""
    if judgements.kept is None or judgements.n_rows is None:
        return judgements.n_docs, np.ones(int(judgements.n_docs.sum()), bool)
    return judgements.n_rows, judgements.kept
