# SPDX-License-Identifier: Apache-2.0
"""Dense blocks of queries of similar size, and their figures block by block."""

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from .common_rows import runs, starts
from .gains import (
    Bools,
    Floats,
    Ints,
    count_order,
    covered,
    greedy_gains,
    intent_gains,
    intent_weights,
    novelty_gains,
    recipe_gains,
    recipe_value,
)
from .options import Options
from .queries import Queries
from .scoring import FIGURES, judged, patience

WHOLE = (1 << 31) - 1  # no ranking is deeper
BLOCK_QUERIES = 1024
BLOCK_CELLS = 1 << 19  # subtopics x documents x queries of a block: few enough for the CPU cache


def figures_of_queries(queries: Queries, options: Options) -> dict[str, Floats]:
    """Every figure asked for, then `Judged@k` at each of their depths: one value per query.

    Args:
        queries: Q queries.
        options: the checked options of `compute`.
    Returns:
        {"alpha-NDCG@10": (Q,) float64, ..., "Judged@10": ...}.
    """
    protocol, depths = options.protocol, options.depths
    ranking = queries.ranking if protocol != "released" else _ties_in_reference_order(queries)
    keys = [*options.keys, *(f"Judged@{k}" for k in depths)]
    values = {key: np.empty(len(queries)) for key in keys}
    depth = WHOLE if options.is_whole else max(depths)
    for chosen, labels, ranked in _blocks(queries, ranking, protocol, depth):
        block = figures(
            labels,
            ranked,
            n_docs=queries.n_docs[chosen],
            n_subtopics=queries.n_subtopics[chosen],
            protocol=protocol,
            alpha=options.alpha,
            beta=options.beta,
            asked=options.figures,
        )
        found = ranked < labels.shape[1] - 1
        n_ranked = queries.n_ranked[chosen]
        block += [judged(found, n_ranked, k=k) for k in depths]
        for column, value in zip(values.values(), block, strict=True):
            column[chosen] = value
    return values


def figures(
    labels: Bools,
    ranking: Ints,
    *,
    n_docs: Ints,
    n_subtopics: Ints,
    protocol: str,
    alpha: float,
    asked: Iterable[tuple[str, int]],
    beta: float = 0.5,
) -> list[Floats]:
    """Figures of a block of queries.

    Args:
        labels: (T, n, Q) bool, the subtopics of each reference document; of documents with equal
            gain, the ideal ranking takes the first along n.
        ranking: (K, Q) int, index along n of the document at each rank, down to the largest depth, or
            all ranks if a figure has no depth; for an unjudged document, and past the end of a
            ranking, the index of a row without subtopics.
        n_docs: (Q,) int, reference documents of each query.
        n_subtopics: (Q,) int, subtopics that at least one of them covers.
        protocol: "standard", "released" or "recipe".
        alpha: redundancy penalty in [0, 1]; not used by "recipe".
        asked: (row of `FIGURES`, depth or 0 if it has none) of each figure wanted.
        beta: patience in [0, 1], used by NRBP and nNRBP.
    Returns:
        (Q,) float64 for each figure.
    """
    asked = list(asked)
    subtopics, docs, _ = labels.shape
    reach = [k or patience(beta, subtopics, docs) for row, k in asked if k or row == "nNRBP"]
    depth = min(max(reach, default=0), docs)
    block = Block(labels, ranking, n_docs, n_subtopics, protocol, alpha, beta, depth)
    return [FIGURES[row].protocols[protocol](block, k) for row, k in asked]


class Block:
    """What the figures of a block of queries are computed from, each part on first use.

    The arguments are those of `figures`; `depth` is that of the ideal ranking.
    """

    def __init__(
        self,
        labels: Bools,
        ranking: Ints,
        n_docs: Ints,
        n_subtopics: Ints,
        protocol: str,
        alpha: float,
        beta: float,
        depth: int,
    ) -> None:
        self.labels, self.ranking = labels, ranking
        self.n_docs, self.n_subtopics = n_docs, n_subtopics
        self.protocol, self.alpha, self.beta = protocol, alpha, beta
        self.depth = depth

    @cached_property
    def covers(self) -> Bools:
        """(T, K, Q) bool, the subtopics of the document at each rank."""
        return covered(self.labels, self.ranking)

    @cached_property
    def n_covered(self) -> Ints:
        """(K, Q) int, the number of subtopics of the document at each rank."""
        return np.asarray(self.covers.sum(axis=0, dtype=np.int32))

    @cached_property
    def n_covering(self) -> Ints:
        """(T, Q) int, the reference documents that cover each subtopic."""
        return np.asarray(self.labels.sum(axis=1, dtype=np.int32))

    @cached_property
    def gains(self) -> Floats:
        """(K, Q) float64, the gain of the document at each rank."""
        if self.protocol == "recipe":
            return recipe_gains(self.covers)
        return novelty_gains(self.covers, self.alpha)

    @cached_property
    def ideal(self) -> Floats:
        """(depth, Q) float64, the gains of the ideal ranking."""
        if self.protocol == "recipe":
            return greedy_gains(self.labels, 1.0, self.depth, recipe_value(self.labels))
        if self.protocol == "released":
            order = count_order(self.labels, self.depth)
            return novelty_gains(covered(self.labels, order), self.alpha)
        return greedy_gains(self.labels, self.alpha, self.depth)

    @cached_property
    def stops(self) -> Floats:
        """(K, Q) float64, the chance that a user stops at each rank."""
        n_docs = self.n_docs if self.protocol == "released" else None
        weights = intent_weights(self.labels, n_docs, self.n_subtopics)
        return intent_gains(self.covers, weights)


def _ties_in_reference_order(queries: Queries) -> Ints:
    """The rankings, with documents of equal score put in reference order."""
    group = np.cumsum(~queries.tied)
    return queries.ranking[np.lexsort((queries.ranking, group))]


def _blocks(
    queries: Queries, ranking: Ints, protocol: str, depth: int
) -> Iterator[tuple[Ints, Bools, Ints]]:
    """Dense arrays of queries of similar size: (chosen queries, labels, ranking to `depth`).

    The rows of `labels` are in the order in which the ideal ranking takes documents of equal gain:
    the larger id first in "standard", reference order elsewhere. The last row is not a document:
    ranks with an unjudged document, and ranks past the end of a ranking, point to it.
    """
    by_size = np.lexsort((queries.n_docs, queries.n_subtopics))
    doc_starts, pair_starts = starts(queries.n_docs), starts(queries.n_pairs)
    rank_starts = starts(queries.n_ranked)
    for chosen in _cut(by_size, queries, depth):
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
        if protocol == "standard" and len(
            queries.id_rank
        ):  # without reference documents, all are unjudged
            place = n_docs[query] - 1 - queries.id_rank[doc_starts[chosen][query] + doc]
            doc = np.where(doc < 0, doc, place)
        ranked = np.full((int(n_ranked.max()), size), rows - 1)
        ranked[column, query] = np.where(doc < 0, rows - 1, doc)
        yield chosen, labels, ranked


def _cut(order: Ints, queries: Queries, depth: int) -> Iterator[Ints]:
    """Runs of `order`, each with dense labels of at most BLOCK_CELLS cells or of one query."""
    while len(order):
        chosen = order[:BLOCK_QUERIES]
        while len(chosen) > 1 and _cells(chosen, queries, depth) > BLOCK_CELLS:
            chosen = chosen[: len(chosen) // 2]
        yield chosen
        order = order[len(chosen) :]


def _cells(chosen: Ints, queries: Queries, depth: int) -> int:
    n_ranked = np.minimum(queries.n_ranked[chosen], depth)
    rows = max(int(queries.n_docs[chosen].max()), int(n_ranked.max()))
    return len(chosen) * rows * int(queries.n_subtopics[chosen].max())
