# SPDX-License-Identifier: Apache-2.0
"""Diversity figures of rankings against subtopic judgements. Needs numpy only.

| key | "standard" | "released" | "recipe" |
|---|---|---|---|
| alpha-NDCG@k | `novelty_gains`, `greedy_gains`, `ndcg` | the ideal is `count_order` | `recipe_gains`, `greedy_gains` |
| ERR-IA@k | `err_ia` | `intent_gains`, `intent_err` | the same |
| S-recall@k | `s_recall` | the same | the same |
| Judged@k | `judged` | the same | the same |

`figures` puts them together for a block of queries; a new figure is a function here and a line
there. The axes of the arrays are T subtopics in ascending order, n reference documents or K ranks,
and Q queries. Subtopics come first, so that a sum over them is a left-to-right sum; queries come
last, so that numpy's innermost loops are long ones.
"""

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

RECIPE_SCALE = 2.0**-64  # a power of two: exact, cancels, and keeps sums of 2**1023 finite


def figures(
    labels: Bools,
    ranking: Ints,
    *,
    n_docs: Ints,
    n_subtopics: Ints,
    protocol: str,
    alpha: float,
    k: Sequence[int],
) -> dict[str, Floats]:
    """Every figure of a block of queries.

    Args:
        labels: (T, n, Q) bool, the subtopics of each reference document; where the ideal ranking
            finds equal gains, the document that comes first in n wins.
        ranking: (K, Q) int, index in n of the document at each rank; of a row without subtopics for
            an unjudged document and past the end of a ranking.
        n_docs: (Q,) int, reference documents of each query.
        n_subtopics: (Q,) int, subtopics that at least one of them covers.
        protocol: "standard", "released" or "recipe".
        alpha: redundancy penalty in [0, 1]; not used by "recipe".
        k: depths.
    Returns:
        {"alpha-NDCG@10": (Q,) float64, ...}, for the largest depth first; higher is better.
    """
    covers = covered(labels, ranking)
    depth = min(max(k), labels.shape[1])
    if protocol == "recipe":
        gains = recipe_gains(covers)
        ideal = greedy_gains(labels, 1.0, depth, recipe_value(labels))
    elif protocol == "released":
        gains = novelty_gains(covers, alpha)
        ideal = novelty_gains(covered(labels, count_order(labels, depth)), alpha)
    else:
        gains = novelty_gains(covers, alpha)
        ideal = greedy_gains(labels, alpha, depth)
    if protocol != "standard":
        weights = intent_weights(labels, n_docs if protocol == "released" else None, n_subtopics)
        stops = intent_gains(covers, weights)
    result = {}
    for cut in sorted(k, reverse=True):
        result[f"alpha-NDCG@{cut}"] = ndcg(gains, ideal, k=cut)
        if protocol == "standard":
            result[f"ERR-IA@{cut}"] = err_ia(gains, n_subtopics, alpha, k=cut)
        else:
            result[f"ERR-IA@{cut}"] = intent_err(stops, k=cut)
        result[f"S-recall@{cut}"] = s_recall(covers, n_subtopics, k=cut)
    return result


def covered(labels: Bools, ranking: Ints) -> Bools:
    """Subtopics of the document at each rank.

    Args:
        labels: (T, n, Q) bool.
        ranking: (K, Q) int, index in n.
    Returns:
        (T, K, Q) bool.
    """
    subtopics, docs, queries = labels.shape
    cells = ranking * queries + np.arange(queries)
    return np.asarray(labels.reshape(subtopics, docs * queries).take(cells, axis=1))


def novelty_gains(covers: Bools, alpha: float, weights: Floats | None = None) -> Floats:
    """Gain of the document at each rank, less for subtopics that documents above it cover.

    g(i) = sum_{s in d_i} p_s (1 - alpha)^c_s(i), c_s(i) = documents above rank i that cover s

    The power is a product made rank by rank, the sum goes from the first subtopic to the last:
    any implementation that does so gets the same bits at any alpha.

    Args:
        covers: (T, K, Q) bool, subtopics of the document at each rank.
        alpha: redundancy penalty in [0, 1].
        weights: (T, Q) float64, p_s; 1 if None.
    Returns:
        (K, Q) float64 >= 0.
    References:
        Clarke et al., "Novelty and Diversity in Information Retrieval Evaluation", SIGIR 2008.
    """
    subtopics, depth, queries = covers.shape
    kind = _exact_type(alpha, depth, subtopics) if weights is None else np.float64
    shown = covers.astype(kind)
    left = np.ones((subtopics, queries), kind)  # (1 - alpha)^c
    gains = np.zeros((depth, queries), kind)
    for rank, gain in enumerate(gains):
        worth = left if weights is None else left * weights
        for share in shown[:, rank] * worth:
            gain += share
        left *= 1 - kind(alpha) * shown[:, rank]
    return gains.astype(np.float64, copy=False)


def _exact_type(alpha: float, depth: int, subtopics: int) -> Any:
    """float32 where sums of powers of 1 - alpha are exact in it, and so equal to those of float64.

    At alpha 0 and 1 they are integers, at 0.5 multiples of 2^-depth below 2^(bits of T).
    """
    exact = alpha in (0, 1) or (alpha == 0.5 and depth + subtopics.bit_length() <= 24)
    return np.float32 if exact and subtopics < 2**24 else np.float64


def recipe_gains(covers: Bools) -> Floats:
    """Gain of the document at each rank in the benchmark description's recipe.

    g(i) = (2^m - 1) (new / m), m = subtopics of d_i, new = those that no document above it covers;
    0 if m = 0. In units of 2^64.

    Args:
        covers: (T, K, Q) bool, at most 1023 subtopics a document.
    Returns:
        (K, Q) float64 >= 0.
    """
    value = recipe_value(covers)
    return value(novelty_gains(covers, 1.0))


def recipe_value(labels: Bools) -> Callable[[Any], Floats]:
    """The function new -> (2^m - 1) (new / m) of the documents in `labels`, (T, n, Q) bool."""
    count = labels.sum(axis=0).astype(np.float64)
    scale = (2.0**count - 1.0) * RECIPE_SCALE
    return lambda new: scale * (new / np.maximum(count, 1.0))


def greedy_gains(
    labels: Bools,
    alpha: float,
    depth: int,
    value: Callable[[Any], Floats] | None = None,
) -> Floats:
    """Gains of the ideal ranking: at each rank the document that gains most there.

    Args:
        labels: (T, n, Q) bool; of equal gains the first in n wins.
        alpha: redundancy penalty in [0, 1].
        depth: ranks to fill, <= n.
        value: (n, Q) novelty gains -> (n, Q) gains, if they are not the same.
    Returns:
        (depth, Q) float64 >= 0. Not the largest possible DCG: greedy is an approximation.
    References:
        Clarke et al., SIGIR 2008; ndeval.c 4.5.
    """
    return greedy(labels, alpha, depth, value)[1]


def greedy(
    labels: Bools, alpha: float, depth: int, value: Callable[[Any], Floats] | None = None
) -> tuple[Ints, Floats]:
    """The ideal ranking, (depth, Q) int, index in n, and its gains: see `greedy_gains`."""
    subtopics, docs, queries = labels.shape
    kind = _exact_type(alpha, depth, subtopics)
    shown = labels.astype(kind)
    flat = shown.reshape(subtopics, docs * queries)
    weights = np.ones((subtopics, queries), kind)
    placed = np.zeros((docs, queries), bool)
    gains, share = np.empty((2, docs, queries), kind)
    order, ideal = np.zeros((depth, queries), np.intp), np.zeros((depth, queries))
    for rank in range(depth):
        gains[:] = 0
        for label, weight in zip(shown, weights, strict=True):
            gains += np.multiply(label, weight, out=share)
        worth = gains if value is None else value(gains)
        left = np.where(placed, -1, worth)
        best = (left == left.max(axis=0)).argmax(axis=0)  # left.argmax(axis=0), but faster
        cells = best * queries + np.arange(queries)
        order[rank], ideal[rank] = best, worth.take(cells)
        placed.ravel()[cells] = True
        weights *= 1 - kind(alpha) * flat.take(cells, axis=1)
    return order, ideal


def count_order(labels: Bools, depth: int) -> Ints:
    """Documents by number of subtopics, most first, equal ones as they stand in n.

    Args:
        labels: (T, n, Q) bool.
        depth: ranks to fill, <= n.
    Returns:
        (depth, Q) int, index in n.
    References:
        chenyiqun/MA4DIV, which takes this order for the ideal one.
    """
    return np.argsort(-labels.sum(axis=0), axis=0, kind="stable")[:depth]


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
    """ERR-IA at depth k, as TREC's ndeval normalises it from rank 2 on, here at every depth.

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


def intent_gains(covers: Bools, weights: Floats) -> Floats:
    """Chance that a user stops at each rank: a document satisfies its subtopics half the time.

    e(i) = sum_{s in d_i} p_s (1/2) (1/2)^c_s(i), c_s(i) = documents above rank i that cover s

    Args:
        covers: (T, K, Q) bool.
        weights: (T, Q) float64, p_s as of `intent_weights`.
    Returns:
        (K, Q) float64 >= 0.
    """
    return novelty_gains(covers, 0.5, weights * 0.5)


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


def intent_weights(labels: Bools, n_docs: Ints | None, n_subtopics: Ints) -> Floats:
    """Weight p_s of each subtopic: n_s / n, or 1 / S without `n_docs`.

    Args:
        labels: (T, n, Q) bool.
        n_docs: (Q,) int, n, reference documents; n_s of them cover s.
        n_subtopics: (Q,) int, S.
    Returns:
        (T, Q) float64, 0.0 for a subtopic that no document covers.
    """
    if n_docs is None:
        return np.asarray(labels.any(axis=1) / np.maximum(n_subtopics, 1))
    return np.asarray(labels.sum(axis=1) / np.maximum(n_docs, 1))


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
        found: (K, Q) bool, whether the document at each rank is one; False past the end.
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
