# SPDX-License-Identifier: Apache-2.0
"""Figures of rankings with one gold candidate per query. Needs numpy only.

Every figure is computed from two integers per query: `rank`, 1 + the number of candidates above the
gold (0 where the gold is not in the list), and `tied`, the number of candidates tied with the gold,
the gold included (0 where the rank is 0). A new figure is a function of these two and a row of `FIGURES`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PROTOCOLS = ("standard", "released", "recipe")
RELEASED_BATCH = 64
CHUNK_SCORES = 1 << 18  # scores compared at a time: few enough for the CPU cache


class Figure(NamedTuple):
    """A figure: the mean of one value per query, or a statistic of all ranks."""

    greater_is_better: bool
    of_query: Callable[[Ints, Ints, int], Floats] | None  # (rank, tied, k) -> (N,) values
    protocols: Mapping[str, Callable[..., float]]  # of (values), else of (rank, tied)


AVERAGED: Mapping[str, Callable[..., float]] = {
    "standard": lambda values: mean(values),
    "released": lambda values: mean_of_batch_means(values),
    "recipe": lambda values: mean(values),
}
FIGURES = {
    "MRR": Figure(
        greater_is_better=True,
        of_query=lambda rank, tied, k: reciprocal_rank(rank, tied),
        protocols=AVERAGED,
    ),
    "MRR@k": Figure(
        greater_is_better=True,
        of_query=lambda rank, tied, k: reciprocal_rank(rank, tied, k),
        protocols={"standard": AVERAGED["standard"], "recipe": AVERAGED["recipe"]},
    ),
    "NDCG@k": Figure(
        greater_is_better=True,
        of_query=lambda rank, tied, k: ndcg(rank, tied, k),
        protocols=AVERAGED,
    ),
    "Recall@k": Figure(
        greater_is_better=True,
        of_query=lambda rank, tied, k: recall(rank, tied, k),
        protocols=dict.fromkeys(PROTOCOLS, lambda values: mean(values)),
    ),
    "MeanRank": Figure(
        greater_is_better=False,
        of_query=None,
        protocols={
            "standard": lambda rank, tied: mean(mean_rank(rank, tied)),
            "released": lambda rank, tied: mean(mean_rank(rank, tied) - 1),
            "recipe": lambda rank, tied: mean(mean_rank(rank, tied)),
        },
    ),
    "MedianRank": Figure(
        greater_is_better=False,
        of_query=None,
        protocols=dict.fromkeys(PROTOCOLS, lambda rank, tied: median(mean_rank(rank, tied))),
    ),
    "RankVariance": Figure(
        greater_is_better=False,
        of_query=None,
        protocols={
            "standard": lambda rank, tied: rank_variance(rank, tied),
            "released": lambda rank, tied: math.sqrt(rank_variance(rank, tied)),
            "recipe": lambda rank, tied: rank_variance(rank, tied),
        },
    ),
}
DEFAULT = ("MRR", "NDCG", "Recall", "MeanRank", "MedianRank", "RankVariance")


def rank_of_gold(scores: NDArray[Any], gold: NDArray[Any]) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Rank of the gold in each row of scores, and how many candidates have its score.

    Scores are compared as they are given: no conversion can make or break a tie.

    Args:
        scores: (N, C) numbers, higher is better.
        gold: (N,) int, column of the gold, 0 <= gold < C.
    Returns:
        rank: (N,) int64, 1 + the number of candidates with a higher score.
        tied: (N,) int64, the number of candidates with the gold's score, the gold included.
        unordered: (N,) bool, whether the row holds a NaN; its rank and ties mean nothing.
    """
    queries, candidates = scores.shape
    rank, tied = np.empty(queries, np.int64), np.empty(queries, np.int64)
    unordered = np.zeros(queries, bool)
    rows = max(1, CHUNK_SCORES // candidates)
    count = _counter(min(rows, queries), candidates)
    for start in range(0, queries, rows):
        chunk = slice(start, start + rows)
        block = np.ascontiguousarray(scores[chunk])
        if block.dtype == np.float16:
            block = block.astype(np.float32)  # exact, and faster to compare
        gold_score = np.take_along_axis(block, gold[chunk, None], axis=1)
        above = count(np.greater, block, gold_score)
        rank[chunk] = 1 + above
        tied[chunk] = candidates - above - count(np.less, block, gold_score)
        # A score neither above nor below the gold's is equal to it or NaN. Mostly the gold is the
        # only one, and then no third pass is needed.
        doubt = np.flatnonzero((tied[chunk] != 1) | (gold_score != gold_score)[:, 0])
        equal = count(np.equal, block[doubt], gold_score[doubt])
        unordered[start + doubt] = equal != tied[start + doubt]
    return rank, tied, unordered


def _counter(rows: int, candidates: int) -> Callable[..., Ints]:
    """A function that counts, for each row of a chunk, where a comparison holds.

    The results of the comparison, one byte each, are added eight at a time as 64-bit words, at most
    255 words to a sum, so that no byte overflows. numpy's count along an axis is far slower.
    """
    words = -(-candidates // 8)
    answers = np.zeros((rows, 8 * words), bool)
    cuts = np.arange(0, words, 255)

    def count(compare: np.ufunc, block: NDArray[Any], gold_score: NDArray[Any]) -> Ints:
        part = answers[: len(block)]
        compare(block, gold_score, out=part[:, :candidates])
        sums = np.add.reduceat(part.view(np.uint64), cuts, axis=1)
        return np.asarray(sums.view(np.uint8).sum(axis=1, dtype=np.int64))

    return count


def resolve_ties(rank: Ints, tied: Ints, ties: str) -> tuple[Ints, Ints]:
    """Place the gold among the candidates it ties with.

    Args:
        rank: (N,) int, 1 + candidates above the gold, 0 if it is missing.
        tied: (N,) int, candidates tied with the gold, the gold included.
        ties: "optimistic" puts the gold first, "pessimistic" last, "expected" keeps them
            tied, to average over all orders (McSherry and Najork, "Computing Information Retrieval Performance Measures
            Efficiently in the Presence of Tied Scores", ECIR 2008).
    Returns:
        (rank, tied) as above; tied is at most 1 unless `ties` is "expected".
    """
    if ties == "expected":
        return rank, tied
    alone = np.minimum(tied, 1)
    return (rank if ties == "optimistic" else rank + tied - alone), alone


def reciprocal_rank(rank: Ints, tied: Ints, k: int = 2**53) -> Floats:
    """Reciprocal rank of the gold, averaged over the places it shares with its ties.

    MRR@k of one query = (1 / tied) sum_{r = rank}^{rank + tied - 1} [r <= k] / r

    Args:
        rank: (N,) int, 0 if the gold is missing.
        tied: (N,) int.
        k: depth, >= 1; MRR has none.
    Returns:
        (N,) float64 in [0, 1], higher is better; 0.0 where the gold is missing.
    References:
        Voorhees, "The TREC-8 Question Answering Track Report", 1999.
    """
    inside = (rank > 0) & (rank <= k)
    value = np.divide(1.0, rank, out=np.zeros(len(rank)), where=inside)
    shared = inside & (tied > 1)
    if shared.any():
        last = np.minimum((rank + tied - 1)[shared], k)
        harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, last.max() + 1))])
        value[shared] = (harmonic[last] - harmonic[rank[shared] - 1]) / tied[shared]
    return value


def ndcg(rank: Ints, tied: Ints, k: int) -> Floats:
    """NDCG at depth k of one gold of gain 1, averaged over the places it shares with its ties.

    NDCG@k of one query = (1 / tied) sum_{r = rank}^{rank + tied - 1} [r <= k] / log2(r + 1)

    The ideal DCG is 1: the gold at rank 1.

    Args:
        rank: (N,) int, 0 if the gold is missing.
        tied: (N,) int.
        k: depth, >= 1.
    Returns:
        (N,) float64 in [0, 1], higher is better; 0.0 where the gold is missing.
    References:
        Jarvelin and Kekalainen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
    """
    value = np.zeros(len(rank))
    inside = (rank > 0) & (rank <= k)
    distinct, index = np.unique(rank[inside], return_inverse=True)
    value[inside] = np.array([_discount(r) for r in distinct.tolist()])[index]
    shared = inside & (tied > 1)
    if shared.any():
        first, last = rank[shared], np.minimum((rank + tied - 1)[shared], min(k, 2**53))
        total = np.cumsum([0.0] + [_discount(r) for r in range(1, int(last.max()) + 1)])
        value[shared] = (total[last] - total[first - 1]) / tied[shared]
    return value


def _discount(rank: int) -> float:
    return 1.0 / math.log2(rank + 1)


def recall(rank: Ints, tied: Ints, k: int) -> Floats:
    """Share of the places of the gold and its ties that are within depth k.

    Recall@k of one query = (1 / tied) sum_{r = rank}^{rank + tied - 1} [r <= k]

    With one gold per query this is also success@k.

    Args:
        rank: (N,) int, 0 if the gold is missing.
        tied: (N,) int.
        k: depth, >= 1.
    Returns:
        (N,) float64 in [0, 1], higher is better; 0.0 where the gold is missing.
    References:
        Qi et al., "QuoteR: A Benchmark of Quote Recommendation for Writing", ACL 2022.
    """
    depth = min(k, int((rank + tied).max(initial=1)) - 1)
    inside = np.clip(depth - rank + 1, 0, tied)
    return np.divide(inside, tied, out=np.zeros(len(rank)), where=tied > 0)


def mean_rank(rank: Ints, tied: Ints) -> Floats:
    """Mean of the ranks that the gold shares with its ties: rank + (tied - 1) / 2.

    Args:
        rank: (N,) int, >= 1.
        tied: (N,) int, >= 1.
    Returns:
        (N,) float64 >= 1, lower is better.
    """
    return rank + (tied - 1) / 2


def rank_variance(rank: Ints, tied: Ints) -> float:
    """Population variance of the gold's rank, ddof 0.

    RankVariance = Var(m) + (N - 1) / N * mean((tied^2 - 1) / 12), m = `mean_rank`, is the mean of
    the population variance over all orders of the ties: a rank that is uniform over `tied` places
    has variance (tied^2 - 1) / 12, of which 1 / N is lost, as the mean of the N ranks varies too.

    Args:
        rank: (N,) int, >= 1, N >= 1.
        tied: (N,) int, >= 1.
    Returns:
        >= 0, lower is better. The QuoteR authors' test code prints its square root ("released").
    """
    ranks = mean_rank(rank, tied)
    between = mean((ranks - mean(ranks)) ** 2)
    if tied.max() == 1:
        return between
    within = mean((tied.astype(np.float64) ** 2 - 1) / 12) * (len(rank) - 1) / len(rank)
    return between + within


def median(values: Floats) -> float:
    """Median of N >= 1 values; for even N, the mean of the two in the middle."""
    middle = [(len(values) - 1) // 2, len(values) // 2]
    low, high = np.partition(values, middle)[middle].tolist()
    return float((low + high) / 2)


def mean(values: Floats) -> float:
    """Mean by an exactly rounded sum: the same bits for any order of the queries."""
    return math.fsum(values.tolist()) / len(values)


def mean_of_batch_means(values: Floats, size: int = RELEASED_BATCH) -> float:
    """Mean of the means of consecutive batches of `size` queries, the last one shorter.

    The QuoteR authors' test code averages MRR and NDCG this way.
    """
    starts = range(0, len(values), size)
    return mean(np.array([mean(values[start : start + size]) for start in starts]))
