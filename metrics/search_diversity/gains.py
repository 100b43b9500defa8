# SPDX-License-Identifier: Apache-2.0
"""Gains of ranked documents, and the ideal rankings of each protocol. Needs numpy only.

The axes of the arrays are T subtopics in ascending order, n reference documents or K ranks, and Q
queries. Subtopics come first, so that a sum over them is a left-to-right sum; queries come last, so
that numpy's innermost loops are long ones.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

SHALLOW = 64  # ranks up to which gains are made rank by rank
MANY_CELLS = 1 << 15  # subtopics x documents of a query above which the ideal goes by sets
RECIPE_SCALE = 2.0**-64  # a power of two: exact, cancels out, and keeps sums of 2**1023 finite


def covered(labels: Bools, ranking: Ints) -> Bools:
    """Subtopics of the document at each rank.

    Args:
        labels: (T, n, Q) bool.
        ranking: (K, Q) int, index along n.
    Returns:
        (T, K, Q) bool.
    """
    subtopics, docs, queries = labels.shape
    cells = ranking * queries + np.arange(queries)
    return np.asarray(labels.reshape(subtopics, docs * queries).take(cells, axis=1))


def novelty_gains(covers: Bools, alpha: float, weights: Floats | None = None) -> Floats:
    """Gain of the document at each rank, less for subtopics that documents above it cover.

    g(i) = sum_{s in d_i} p_s (1 - alpha)^c_s(i), c_s(i) = documents above rank i that cover s

    The power is multiplied up rank by rank, and the sum runs from the first subtopic to the last:
    any implementation that does the same gets the same bits at any alpha.

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
    if depth > SHALLOW:
        return _deep_gains(covers, alpha, weights)
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


def _deep_gains(covers: Bools, alpha: float, weights: Floats | None) -> Floats:
    """`novelty_gains` subtopic by subtopic: the powers are the same products, looked up."""
    _, depth, queries = covers.shape
    powers = np.cumprod(np.append(1.0, np.full(depth, 1.0 - alpha)))
    gains = np.zeros((depth, queries))
    for subtopic, shown in enumerate(covers):
        above = np.cumsum(shown, axis=0, dtype=np.int32) - shown
        worth = powers[above] if weights is None else powers[above] * weights[subtopic]
        gains += np.where(shown, worth, 0.0)
    return gains


def _exact_type(alpha: float, depth: int, subtopics: int) -> Any:
    """float32 if it holds all sums of powers of 1 - alpha exactly, else float64.

    The sums are integers at alpha 0 and 1; at 0.5, multiples of 2^-depth below 2^(bits of T).
    """
    exact = alpha in (0, 1) or (alpha == 0.5 and depth + subtopics.bit_length() <= 24)
    return np.float32 if exact and subtopics < 2**24 else np.float64


def recipe_gains(covers: Bools) -> Floats:
    """Gain of the document at each rank under "recipe", the benchmark description.

    g(i) = (2^m - 1) (new / m), m = number of subtopics of d_i, new = how many of them no
    document above it covers; 0 if m = 0. In units of 2^64.

    Args:
        covers: (T, K, Q) bool, at most 1023 subtopics per document.
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
    """Gains of the ideal ranking, which takes at each rank the document that gains most there.

    Args:
        labels: (T, n, Q) bool; of documents with equal gain, the first along n is taken.
        alpha: redundancy penalty in [0, 1].
        depth: ranks to fill, <= n.
        value: (n, Q) novelty gains -> (n, Q) gains; None if these are the same.
    Returns:
        (depth, Q) float64 >= 0. Their DCG may not be the largest possible: greedy approximates it.
    References:
        Clarke et al., SIGIR 2008; ndeval.c 4.5.
    """
    return greedy(labels, alpha, depth, value)[1]


def greedy(
    labels: Bools, alpha: float, depth: int, value: Callable[[Any], Floats] | None = None
) -> tuple[Ints, Floats]:
    """The ideal ranking, (depth, Q) int, index along n, and its gains: see `greedy_gains`."""
    subtopics, docs, queries = labels.shape
    if value is None and subtopics * docs > MANY_CELLS:
        pairs = [_greedy_by_sets(labels[:, :, query], alpha, depth) for query in range(queries)]
        orders, gains_of = zip(*pairs, strict=True)
        return np.stack(orders, axis=1), np.stack(gains_of, axis=1)
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
        if not ideal[rank].any():  # nor does any document below gain: they stand as in n
            order[rank:] = np.argsort(placed, axis=0, kind="stable")[: depth - rank]
            break
        placed.ravel()[cells] = True
        weights *= 1 - kind(alpha) * flat.take(cells, axis=1)
    return order, ideal


def _greedy_by_sets(labels: Bools, alpha: float, depth: int) -> tuple[Ints, Floats]:
    """`greedy` of one query, (T, n) labels, in time linear in n.

    Documents with the same subtopics gain the same, so only the first of each set can be next.
    """
    subtopics, docs = labels.shape
    packed = np.ascontiguousarray(np.packbits(labels, axis=0).T)
    packed = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
    _, first, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)  # numpy 2.0 gives it another shape
    members = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group))
    heads = ends - np.bincount(group)
    sets = labels[:, first].astype(np.float64)
    weights, share = np.ones(subtopics), np.empty(len(first))
    order, ideal, rank = np.empty(depth, np.intp), np.zeros(depth), 0
    while rank < depth:
        gains = np.zeros(len(first))
        for label, weight in zip(sets, weights.tolist(), strict=True):
            gains += np.multiply(label, weight, out=share)
        gains[heads == ends] = -1.0
        most = gains.max()
        if most <= 0:
            break
        equal = np.flatnonzero(gains == most)
        best = equal[members[heads[equal]].argmin()]
        order[rank], ideal[rank] = members[heads[best]], most
        heads[best] += 1
        weights *= 1 - alpha * sets[:, best]
        rank += 1
    left = np.ones(docs, bool)
    left[order[:rank]] = False
    order[rank:] = np.flatnonzero(left)[: depth - rank]
    return order, ideal


def count_order(labels: Bools, depth: int) -> Ints:
    """Documents by number of subtopics, most first; those with equal numbers keep their order.

    Args:
        labels: (T, n, Q) bool.
        depth: ranks to fill, <= n.
    Returns:
        (depth, Q) int, index along n.
    References:
        chenyiqun/MA4DIV, which uses this order as the ideal one.
    """
    return np.argsort(-labels.sum(axis=0), axis=0, kind="stable")[:depth]


def intent_gains(covers: Bools, weights: Floats) -> Floats:
    """Chance that a user stops at each rank, if a document satisfies each of its subtopics half the time.

    e(i) = sum_{s in d_i} p_s (1/2) (1/2)^c_s(i), c_s(i) = documents above rank i that cover s

    Args:
        covers: (T, K, Q) bool.
        weights: (T, Q) float64, p_s from `intent_weights`.
    Returns:
        (K, Q) float64 >= 0.
    """
    return novelty_gains(covers, 0.5, weights * 0.5)


def intent_weights(labels: Bools, n_docs: Ints | None, n_subtopics: Ints) -> Floats:
    """Weight p_s of each subtopic: n_s / n, or 1 / S if `n_docs` is None.

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
