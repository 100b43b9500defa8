# SPDX-License-Identifier: Apache-2.0
"""Rankings and judgements of many queries as flat arrays, and their scoring block by block."""

import io
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .scoring import figures, judged

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]

BLOCK_QUERIES = 1024
BLOCK_CELLS = 1 << 19  # subtopics x queries x documents of a block: it stays in the cache


class Queries(NamedTuple):
    """Q queries; what belongs to one query is one run of the flat arrays, in input order.

    A document is named by its position among the reference documents of its query.
    """

    n_docs: Ints  # (Q,) reference documents
    n_subtopics: Ints  # (Q,) subtopics that at least one of them covers
    n_pairs: Ints  # (Q,) (document, subtopic) pairs
    n_ranked: Ints  # (Q,) documents in the ranking
    id_rank: Ints  # (sum n_docs,) place of each document's id, smallest first
    pair_doc: Ints  # (sum n_pairs,) document of each pair; a pair may stand twice
    pair_subtopic: Ints  # (sum n_pairs,) its subtopic, from 0 in ascending order
    ranking: Ints  # (sum n_ranked,) best first, the larger id first among equal scores; -1 unjudged
    tied: NDArray[np.bool_]  # (sum n_ranked,) its score is that of the document one rank above


# The lengths of each column's runs; None: one value a query.
_LENGTHS = {
    "n_docs": None,
    "n_subtopics": None,
    "n_pairs": None,
    "n_ranked": None,
    "id_rank": "n_docs",
    "pair_doc": "n_pairs",
    "pair_subtopic": "n_pairs",
    "ranking": "n_ranked",
    "tied": "n_ranked",
}


def no_queries() -> Queries:
    """Zero queries."""
    none = np.empty(0, np.int32)
    return Queries(none, none, none, none, none, none, none, none, none.astype(bool))


def concatenate(parts: Sequence[Queries]) -> Queries:
    """The queries of all parts in order."""
    return Queries(*map(np.concatenate, zip(*parts, strict=True)))


def take(queries: Queries, index: Ints) -> Queries:
    """The queries at these indices."""
    taken = {}
    for name, lengths in _LENGTHS.items():
        values = getattr(queries, name)
        if lengths is None:
            taken[name] = values[index]
            continue
        length = getattr(queries, lengths)
        row, column = runs(length[index])
        taken[name] = values[starts(length)[index][row] + column]
    return Queries(**taken)


def fingerprints(queries: Queries) -> list[bytes]:
    """One for each query; those of two queries are equal if all that is scored of them is."""
    query = np.arange(len(queries.n_pairs)).repeat(queries.n_pairs)
    pairs = np.stack([query, queries.pair_subtopic, queries.pair_doc])
    query, subtopic, doc = np.unique(pairs, axis=1)  # in one order, none twice
    count = np.bincount(query, minlength=len(queries.n_pairs))
    queries = queries._replace(n_pairs=count, pair_doc=doc, pair_subtopic=subtopic)
    columns = []
    for name, lengths in _LENGTHS.items():
        values = getattr(queries, name)
        n = np.ones(len(values), int) if lengths is None else getattr(queries, lengths)
        ends = (np.cumsum(n) * values.itemsize).tolist()
        data = values.tobytes()
        columns.append([data[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)])
    return [b"".join(cells) for cells in zip(*columns, strict=True)]


def to_bytes(queries: Queries) -> bytes:
    """A form that `from_bytes` reads in another process."""
    buffer = io.BytesIO()
    np.savez(buffer, **queries._asdict())
    return buffer.getvalue()


def from_bytes(data: bytes) -> Queries:
    """The inverse of `to_bytes`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return Queries(**arrays)


def most_subtopics(queries: Queries) -> Ints:
    """(Q,) int, the largest number of subtopics that one document of the query has."""
    docs = starts(queries.n_docs).repeat(queries.n_pairs) + queries.pair_doc
    pairs = np.unique(np.stack([docs, queries.pair_subtopic]), axis=1)
    count = np.bincount(pairs[0], minlength=len(queries.id_rank))
    most = np.zeros(len(queries.n_docs), np.int64)
    np.maximum.at(most, np.arange(len(most)).repeat(queries.n_docs), count)
    return most


def has_ties(queries: Queries, depth: int) -> NDArray[np.bool_]:
    """(Q,) bool, whether equal scores reach a rank within `depth`."""
    query = np.arange(len(queries.n_ranked)).repeat(queries.n_ranked)
    rank = np.arange(len(query)) - starts(queries.n_ranked).repeat(queries.n_ranked)
    return np.bincount(query[queries.tied & (rank <= depth)], minlength=len(queries.n_docs)) > 0


def score(queries: Queries, *, protocol: str, alpha: float, k: Sequence[int]) -> dict[str, Floats]:
    """Figures of every query, `Judged@k` last.

    Args:
        queries: Q queries.
        protocol: "standard", "released" or "recipe".
        alpha: redundancy penalty in [0, 1].
        k: depths.
    Returns:
        {"alpha-NDCG@10": (Q,) float64, ...}, for the largest depth first.
    """
    ranking = queries.ranking if protocol != "released" else _ties_in_reference_order(queries)
    values: dict[str, Floats] = {}
    for chosen, labels, ranked in _blocks(queries, ranking, protocol, max(k)):
        block = figures(
            labels,
            ranked,
            n_docs=queries.n_docs[chosen],
            n_subtopics=queries.n_subtopics[chosen],
            protocol=protocol,
            alpha=alpha,
            k=k,
        )
        found = ranked < labels.shape[1] - 1
        for depth in sorted(k, reverse=True):
            block[f"Judged@{depth}"] = judged(found, queries.n_ranked[chosen], k=depth)
        for key, value in block.items():
            values.setdefault(key, np.empty(len(queries.n_docs)))[chosen] = value
    return dict(sorted(values.items(), key=lambda item: item[0].startswith("Judged")))


def _ties_in_reference_order(queries: Queries) -> Ints:
    """The ranking with equal scores in the order of the reference documents."""
    group = np.cumsum(~queries.tied)
    return queries.ranking[np.lexsort((queries.ranking, group))]


def _blocks(
    queries: Queries, ranking: Ints, protocol: str, depth: int
) -> Iterator[tuple[Ints, NDArray[np.bool_], Ints]]:
    """Queries of similar size as dense arrays: (chosen queries, labels, ranking to `depth`).

    The documents of a block stand in the order in which the ideal ranking takes equal gains: the
    larger id first in "standard", reference order elsewhere. The last row is no document: unjudged
    ones and what is past the end of a ranking stand there.
    """
    by_size = np.lexsort((queries.n_docs, queries.n_subtopics))
    doc_starts, pair_starts = starts(queries.n_docs), starts(queries.n_pairs)
    rank_starts = starts(queries.n_ranked)
    for chosen in _cut(by_size, queries):
        n_docs, n_ranked = queries.n_docs[chosen], np.minimum(queries.n_ranked[chosen], depth)
        size, rows = len(chosen), int(n_docs.max()) + 1
        labels = np.zeros((int(queries.n_subtopics[chosen].max()), rows, size), bool)
        query, column = runs(queries.n_pairs[chosen])
        pair = pair_starts[chosen][query] + column
        doc = queries.pair_doc[pair]
        if protocol == "standard":
            doc = n_docs[query] - 1 - queries.id_rank[doc_starts[chosen][query] + doc]
        cell = (queries.pair_subtopic[pair].astype(np.int64) * rows + doc) * size + query
        labels.ravel()[cell] = True
        query, column = runs(n_ranked)
        doc = ranking[rank_starts[chosen][query] + column]
        if protocol == "standard" and len(queries.id_rank):  # without any, all are unjudged
            place = n_docs[query] - 1 - queries.id_rank[doc_starts[chosen][query] + doc]
            doc = np.where(doc < 0, doc, place)
        ranked = np.full((int(n_ranked.max()), size), rows - 1)
        ranked[column, query] = np.where(doc < 0, rows - 1, doc)
        yield chosen, labels, ranked


def _cut(order: Ints, queries: Queries) -> Iterator[Ints]:
    """Runs of `order` whose dense labels have at most BLOCK_CELLS cells."""
    while len(order):
        chosen = order[:BLOCK_QUERIES]
        while len(chosen) > 1 and _cells(chosen, queries) > BLOCK_CELLS:
            chosen = chosen[: len(chosen) // 2]
        yield chosen
        order = order[len(chosen) :]


def _cells(chosen: Ints, queries: Queries) -> int:
    n_docs, n_subtopics = queries.n_docs[chosen], queries.n_subtopics[chosen]
    return len(chosen) * int(n_docs.max()) * int(n_subtopics.max())


def starts(lengths: Ints) -> Ints:
    """Index of the first element of each run in a flat array."""
    return np.cumsum(lengths) - lengths


def runs(lengths: Ints) -> tuple[Ints, Ints]:
    """Row and column of every cell of a ragged array."""
    row = np.arange(len(lengths)).repeat(lengths)
    return row, np.arange(len(row)) - starts(lengths).repeat(lengths)
