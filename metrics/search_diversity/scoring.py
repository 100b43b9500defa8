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
    has_depth: bool
    of_block: Mapping[str, Callable[[Any, int], Floats]]  # by protocol: (block, k) -> (Q,)


FIGURES = {
    "alpha-NDCG": Figure(
        greater_is_better=True,
        has_depth=True,
        of_block=dict.fromkeys(PROTOCOLS, lambda block, k: ndcg(block.gains, block.ideal, k=k)),
    ),
    "ERR-IA": Figure(
        greater_is_better=True,
        has_depth=True,
        of_block={
            "standard": lambda b, k: err_ia(b.gains, b.n_subtopics, b.alpha, k=k),
            "released": lambda b, k: intent_err(b.stops, k=k),
            "recipe": lambda b, k: intent_err(b.stops, k=k),
        },
    ),
    "S-recall": Figure(
        greater_is_better=True,
        has_depth=True,
        of_block=dict.fromkeys(PROTOCOLS, lambda b, k: s_recall(b.covers, b.n_subtopics, k=k)),
    ),
}


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
    longest = max(len(gains), len(ideal))
    discounts = np.array([math.log2(rank + 1) for rank in range(1, min(k, longest) + 1)])
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
    best = np.cumsum(np.cumprod(np.append(1.0, np.full(k - 1, 1.0 - alpha))) / ranks)[-1]
    return _ratio(_sum(gains, ranks, k), n_subtopics * best)


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


def _sum(gains: Floats, divisors: Floats, k: int) -> Floats:
    """sum_{i<=k} gains_i / divisors_i, from rank 1 on."""
    total = np.zeros(gains.shape[1])
    for gain, divisor in zip(gains[:k], divisors.tolist(), strict=False):
        total += gain / divisor
    return total


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    """Part / whole, 0.0 where the whole is 0."""
    return np.asarray(np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0))
