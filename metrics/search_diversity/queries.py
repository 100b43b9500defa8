# SPDX-License-Identifier: Apache-2.0
"""Rankings and judgements of many queries as flat arrays."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .common_rows import Rows, starts

Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Queries(Rows):
    """Q queries; in each flat array, the values of one query are one run, in input order.

    Documents are given as positions among the reference documents of their query.
    """

    n_docs: Ints  # (Q,) reference documents
    n_subtopics: Ints  # (Q,) subtopics that at least one of them covers
    n_pairs: Ints  # (Q,) (document, subtopic) pairs
    n_ranked: Ints  # (Q,) documents in the ranking
    id_rank: Ints  # (sum n_docs,) place of each document's id in ascending order, from 0
    pair_doc: Ints  # (sum n_pairs,) document of each pair; pairs may repeat
    pair_subtopic: Ints  # (sum n_pairs,) its subtopic, from 0 in ascending order
    ranking: Ints  # (sum n_ranked,) best first, of equal scores the larger id; -1 if unjudged
    tied: NDArray[np.bool_]  # (sum n_ranked,) whether the document one rank above scores the same
    id_hash: NDArray[np.uint64]  # (Q,) hash of its documents' ids; 0 if rows are not compared

    LENGTHS: ClassVar = {
        "id_rank": "n_docs",
        "pair_doc": "n_pairs",
        "pair_subtopic": "n_pairs",
        "ranking": "n_ranked",
        "tied": "n_ranked",
    }

    @classmethod
    def none(cls) -> "Queries":
        """Zero queries."""
        none, no_ties = np.empty(0, np.int32), np.empty(0, bool)
        no_hash = np.empty(0, np.uint64)
        return cls(none, none, none, none, none, none, none, none, no_ties, no_hash)

    def fingerprints(self) -> list[bytes]:
        """Bytes for each query, equal for two queries if their ids and all that is scored are."""
        query = np.arange(len(self)).repeat(self.n_pairs)
        pairs = np.stack([query, self.pair_subtopic, self.pair_doc])
        query, subtopic, doc = np.unique(pairs, axis=1)  # sorted, without repeats
        count = np.bincount(query, minlength=len(self))
        in_order = replace(self, n_pairs=count, pair_doc=doc, pair_subtopic=subtopic)
        return super(Queries, in_order).fingerprints()


def most_subtopics(queries: Queries) -> Ints:
    """(Q,) int, the largest number of subtopics that one document of the query has."""
    docs = starts(queries.n_docs).repeat(queries.n_pairs) + queries.pair_doc
    pairs = np.unique(np.stack([docs, queries.pair_subtopic]), axis=1)
    count = np.bincount(pairs[0], minlength=len(queries.id_rank))
    most = np.zeros(len(queries.n_docs), np.int64)
    np.maximum.at(most, np.arange(len(most)).repeat(queries.n_docs), count)
    return most


def has_judged(queries: Queries) -> Bools:
    """(Q,) bool, whether the ranking names a document of the reference."""
    query = np.arange(len(queries)).repeat(queries.n_ranked)
    return np.bincount(query[queries.ranking >= 0], minlength=len(queries)) > 0


def has_ties(queries: Queries, depth: int) -> Bools:
    """(Q,) bool, whether a document within rank `depth` has the same score as another."""
    query = np.arange(len(queries.n_ranked)).repeat(queries.n_ranked)
    rank = np.arange(len(query)) - starts(queries.n_ranked).repeat(queries.n_ranked)
    return np.bincount(query[queries.tied & (rank <= depth)], minlength=len(queries.n_docs)) > 0
