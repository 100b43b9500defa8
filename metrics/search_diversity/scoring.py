# SPDX-License-Identifier: Apache-2.0
"""Diversity figures of rankings against subtopic judgements. Needs numpy only.

A new figure is a function and a row of `FIGURES`, computed from a `Block` (blocks.py) of Q queries.
Its parts: `gains` and `ideal`, the gain at each of K ranks, of the rankings and of the ideal ones;
`stops`, the chance that a user stops at each rank; `covers`, (T, K, Q), which of the T subtopics
the document at each rank covers.
"""

import math
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

PROTOCOLS = ("standard", "released", "recipe")


class Figure(NamedTuple):
    """A figure: the mean of one value per query."""

    greater_is_better: bool
    protocols: Mapping[str, Callable[[Any, int], Floats]]  # (block, k) -> (Q,) values


FIGURES = {
    "alpha-NDCG@k": Figure(
        greater_is_better=True,
        protocols=dict.fromkeys(PROTOCOLS, lambda b, k: ndcg(b.gains, b.ideal, k=k)),
    ),
    "ERR-IA@k": Figure(
        greater_is_better=True,
        protocols={
            "standard": lambda b, k: err_ia(b.gains, b.n_subtopics, b.alpha, k=k),
            "released": lambda b, k: intent_err(b.stops, k=k),
            "recipe": lambda b, k: intent_err(b.stops, k=k),
        },
    ),
    "S-recall@k": Figure(
        greater_is_better=True,
        protocols=dict.fromkeys(PROTOCOLS, lambda b, k: s_recall(b.covers, b.n_subtopics, k=k)),
    ),
    "alpha-DCG@k": Figure(
        greater_is_better=True,
        protocols={"standard": lambda b, k: alpha_dcg(b.gains, b.n_subtopics, b.alpha, k=k)},
    ),
    "nERR-IA@k": Figure(
        greater_is_better=True,
        protocols={"standard": lambda b, k: nerr_ia(b.gains, b.ideal, k=k)},
    ),
    "NRBP": Figure(
        greater_is_better=True,
        protocols={"standard": lambda b, k: nrbp(b.gains, b.n_subtopics, b.alpha, b.beta)},
    ),
    "nNRBP": Figure(
        greater_is_better=True,
        protocols={"standard": lambda b, k: nnrbp(b.gains, b.ideal, b.beta)},
    ),
    "MAP-IA": Figure(
        greater_is_better=True,
        protocols={"standard": lambda b, k: map_ia(b.covers, b.n_covering, b.n_subtopics)},
    ),
    "P-IA@k": Figure(
        greater_is_better=True,
        protocols={"standard": lambda b, k: p_ia(b.n_covered, b.n_subtopics, k=k)},
    ),
}
DEFAULT = ("alpha-NDCG@k", "ERR-IA@k", "S-recall@k")  # at each k, the largest first


def ndcg(gains: Floats, ideal: Floats, *, k: int) -> Floats:
    """Discounted cumulative gain over that of the ideal ranking.

    alpha-NDCG@k = sum_{i<=k} g_i / log2(i + 1) over the same sum of the ideal gains

    Args:
        gains: (K, Q) float64, 0 past the end of a ranking.
        ideal: (L, Q) float64, 0 past the last reference document.
        k: depth, >= 1.
    Returns:
        (Q,) float64 >= 0, higher is better; 0.0 where nothing can be gained. Can exceed 1.
    """
    discounts = _logarithms(min(k, max(len(gains), len(ideal))))
    return _ratio(_sum(gains, discounts, k), _sum(ideal, discounts, k))


def err_ia(gains: Floats, n_subtopics: Ints, alpha: float, *, k: int) -> Floats:
    """ERR-IA at depth k, normalised at every depth as TREC's ndeval does from depth 2 on.

    ERR-IA@k = [sum_{i<=k} g_i / i] / [S sum_{i<=k} (1 - alpha)^(i-1) / i]

    Args:
        gains: (K, Q) float64, novelty gain of the document at each rank, 0 past the end.
        n_subtopics: (Q,) int, S, subtopics that at least one reference document covers.
        alpha: redundancy penalty in [0, 1].
        k: depth, >= 1.
    Returns:
        (Q,) float64 in [0, 1], higher is better; 0.0 where no subtopic is covered.
    References:
        Clarke et al., "Overview of the TREC 2009 Web Track"; ndeval.c 4.5.
    """
    ranks = np.arange(1.0, k + 1)
    return _ratio(_sum(gains, ranks, k), n_subtopics * _largest(alpha, ranks))


def intent_err(gains: Floats, *, k: int) -> Floats:
    """Expected reciprocal rank over intents.

    ERR-IA@k = sum_{i<=k} e(i) / i

    Args:
        gains: (K, Q) float64, `intent_gains`.
        k: depth, >= 1.
    Returns:
        (Q,) float64 >= 0, higher is better; at most 1 if the weights of a query sum to 1.
    References:
        Chapelle et al., "Intent-based diversification of web search results", Inf. Retr. 2011;
        chenyiqun/MA4DIV for the weights n_s / n.
    """
    return _sum(gains, np.arange(1.0, len(gains) + 1), k)


def s_recall(covers: Bools, n_subtopics: Ints, *, k: int) -> Floats:
    """Share of the subtopics that the top k cover.

    S-recall@k = |union_{i<=k} d_i| / S

    Args:
        covers: (T, K, Q) bool.
        n_subtopics: (Q,) int, S, subtopics that at least one reference document covers.
        k: depth, >= 1.
    Returns:
        (Q,) float64 in [0, 1], higher is better; 0.0 where no subtopic is covered.
    References:
        Zhai, Cohen and Lafferty, "Beyond Independent Relevance", SIGIR 2003.
    """
    return _ratio(covers[:, :k].any(axis=1).sum(axis=0), n_subtopics)


def alpha_dcg(gains: Floats, n_subtopics: Ints, alpha: float, *, k: int) -> Floats:
    """Discounted cumulative gain, as TREC's ndeval normalises it from rank 2 on, here everywhere.

    alpha-DCG@k = [sum_{i<=k} g_i / log2(i + 1)] / [S sum_{i<=k} (1 - alpha)^(i-1) / log2(i + 1)]

    Args:
        gains: (K, Q) float64, novelty gain of the document at each rank, 0 past the end.
        n_subtopics: (Q,) int, S, subtopics that at least one reference document covers.
        alpha: redundancy penalty in [0, 1].
        k: depth, >= 1.
    Returns:
        (Q,) float64 in [0, 1], higher is better; 0.0 where no subtopic is covered.
    References:
        Clarke et al., SIGIR 2008; ndeval.c 4.5.
    """
    logarithms = _logarithms(k)
    return _ratio(_sum(gains, logarithms, k), n_subtopics * _largest(alpha, logarithms))


def nerr_ia(gains: Floats, ideal: Floats, *, k: int) -> Floats:
    """Expected reciprocal rank over intents, over that of the ideal ranking.

    nERR-IA@k = sum_{i<=k} g_i / i over the same sum of the ideal gains

    Args:
        gains: (K, Q) float64, 0 past the end of a ranking.
        ideal: (L, Q) float64, 0 past the last reference document.
        k: depth, >= 1.
    Returns:
        (Q,) float64 >= 0, higher is better; 0.0 where nothing can be gained. Can exceed 1.
    References:
        ndeval.c 4.5.
    """
    ranks = np.arange(1.0, min(k, max(len(gains), len(ideal))) + 1)
    return _ratio(_sum(gains, ranks, k), _sum(ideal, ranks, k))


def nrbp(gains: Floats, n_subtopics: Ints, alpha: float, beta: float) -> Floats:
    """Novelty- and rank-biased precision of whole rankings.

    NRBP = [1 - (1 - alpha) beta] / S * sum_i g_i beta^(i-1)

    Args:
        gains: (K, Q) float64, novelty gain of the document at each rank, 0 past the end.
        n_subtopics: (Q,) int, S, subtopics that at least one reference document covers.
        alpha: redundancy penalty in [0, 1].
        beta: patience in [0, 1], the chance that a user goes on to the next rank.
    Returns:
        (Q,) float64 in [0, 1], higher is better; 0.0 where no subtopic is covered.
    References:
        Clarke, Kolla and Vechtomova, "An Effectiveness Measure for Ambiguous and Underspecified
        Queries", ICTIR 2009; ndeval.c 4.5.
    """
    return (1 - (1 - alpha) * beta) * _ratio(_patient_sum(gains, beta), n_subtopics)


def nnrbp(gains: Floats, ideal: Floats, beta: float) -> Floats:
    """Rank-biased gain of whole rankings, over that of the whole ideal ranking.

    nNRBP = sum_i g_i beta^(i-1) over the same sum of the ideal gains

    Args:
        gains: (K, Q) float64, 0 past the end of a ranking.
        ideal: (L, Q) float64, to the depth of `patience`, 0 past the last reference document.
        beta: patience in [0, 1].
    Returns:
        (Q,) float64 >= 0, higher is better; 0.0 where nothing can be gained. Can exceed 1.
    References:
        ndeval.c 4.5.
    """
    return _ratio(_patient_sum(gains, beta), _patient_sum(ideal, beta))


def patience(beta: float, subtopics: int, docs: int) -> int:
    """Ranks of an ideal ranking below which nothing changes a float64 sum of g_i beta^(i-1).

    The sum is at least 1, a gain at most the number of subtopics.
    """
    if beta in (0, 1):
        return docs if beta else 1
    reach = (60 * math.log(2) + math.log(subtopics + 1) - math.log1p(-beta)) / -math.log(beta)
    return min(docs, math.ceil(reach) + 1)


def map_ia(covers: Bools, n_covering: Ints, n_subtopics: Ints) -> Floats:
    """Average precision of whole rankings, averaged over the subtopics.

    MAP-IA = 1/S sum_s 1/n_s sum_{i: d_i covers s} |{j <= i: d_j covers s}| / i

    Args:
        covers: (T, K, Q) bool.
        n_covering: (T, Q) int, n_s, reference documents that cover each subtopic.
        n_subtopics: (Q,) int, S, subtopics that at least one reference document covers.
    Returns:
        (Q,) float64 in [0, 1], higher is better; 0.0 where no subtopic is covered.
    References:
        Agrawal et al., "Diversifying Search Results", WSDM 2009; ndeval.c 4.5.
    """
    subtopics, depth, queries = covers.shape
    by_query = np.ascontiguousarray(covers.transpose(0, 2, 1))
    row, position = np.divmod(np.flatnonzero(by_query), max(1, depth))  # row: subtopic and query
    n_found = np.bincount(row, minlength=subtopics * queries)
    found = np.arange(1, len(row) + 1) - (np.cumsum(n_found) - n_found)[row]
    total = np.bincount(row, found / (position + 1), minlength=subtopics * queries)
    average = _ratio(total, n_covering.reshape(-1)).reshape(subtopics, queries)
    return _ratio(
        np.cumsum(np.append(np.zeros((1, queries)), average, axis=0), axis=0)[-1], n_subtopics
    )


def p_ia(n_covered: Ints, n_subtopics: Ints, *, k: int) -> Floats:
    """Precision at depth k, averaged over the subtopics.

    P-IA@k = 1/S sum_s |{i <= k: d_i covers s}| / k

    Args:
        n_covered: (K, Q) int, subtopics of the document at each rank, 0 past the end.
        n_subtopics: (Q,) int, S, subtopics that at least one reference document covers.
        k: depth, >= 1.
    Returns:
        (Q,) float64 in [0, 1], higher is better; 0.0 where no subtopic is covered.
    References:
        Agrawal et al., "Diversifying Search Results", WSDM 2009; ndeval.c 4.5.
    """
    return _ratio(n_covered[:k].sum(axis=0), n_subtopics * k)


def judged(found: Bools, n_ranked: Ints, *, k: int) -> Floats:
    """Share of the top k that are reference documents.

    Args:
        found: (K, Q) bool, whether the document at each rank is a reference document; False past
            the end of a ranking.
        n_ranked: (Q,) int, length of each ranking.
        k: depth, >= 1.
    Returns:
        (Q,) float64 in [0, 1]; NaN for an empty ranking.
    """
    length = np.minimum(n_ranked, k)
    count = found[:k].sum(axis=0)
    return np.where(length > 0, _ratio(count, length), np.nan)


def mean(*values: Floats) -> float:
    """Mean of one or more (Q,) arrays; the sum is exact: the same bits for any order of queries."""
    parts = (part.tolist() for part in values)
    return math.fsum(chain.from_iterable(parts)) / sum(map(len, values))


def _logarithms(k: int) -> Floats:
    """log2(i + 1) for the ranks i from 1 to k."""
    return np.array([math.log2(rank + 1) for rank in range(1, k + 1)])


def _largest(alpha: float, divisors: Floats) -> float:
    """What one subtopic can gain at most: sum_i (1 - alpha)^(i-1) / divisors_i."""
    powers = np.cumprod(np.append(1.0, np.full(len(divisors) - 1, 1.0 - alpha)))
    return float(np.cumsum(powers / divisors)[-1])


def _patient_sum(gains: Floats, beta: float) -> Floats:
    """sum_i gains_i beta^(i-1)."""
    powers = np.cumprod(np.append(1.0, np.full(len(gains), beta)))[: len(gains)]
    total = np.cumsum(gains * powers[:, None], axis=0)  # rank by rank, the same in any block
    return np.asarray(total[-1]) if len(gains) else np.zeros(gains.shape[1])


def _sum(gains: Floats, divisors: Floats, k: int) -> Floats:
    """sum_{i<=k} gains_i / divisors_i, from rank 1 on."""
    total = np.zeros(gains.shape[1])
    for gain, divisor in zip(gains[:k], divisors.tolist(), strict=False):
        total += gain / divisor
    return total


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """Part / whole, 0.0 where the whole is 0."""
    return np.asarray(np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0))
