# SPDX-License-Identifier: Apache-2.0
"""Tests of paired differences, and corrections over all pairs. Needs scipy for t and wilcoxon.

| name | function |
|---|---|
| permutation | `flip_p_value`, `flip_p_values` |
| t | `t_p_value` |
| wilcoxon | `wilcoxon_p_value` |
| holm, bh | `holm`, `benjamini_hochberg` |
| tukey | `randomised_tukey` |
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

BLOCK_QUERIES = 1024  # queries whose signs are drawn at a time, a multiple of 64
CHUNK_ROWS = 1024  # sign vectors drawn at a time
NOISE = 1e-12  # relative to the largest value: sums that differ by less are equal


def flip_p_value(differences: Floats, n_resamples: int, rng: np.random.Generator) -> float:
    """Two-sided p-value of one pair of systems: `flip_p_values` of (N,) differences."""
    return float(flip_p_values(differences[None], n_resamples, rng)[0])


def flip_p_values(differences: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Two-sided paired permutation test: the sign of every difference is flipped at random.

    p = share of all 2^N sign vectors with |sum| >= |observed sum| if 2^N <= B, else
    (1 + number of such vectors among B random ones) / (B + 1). The null hypothesis is that the differences
    are symmetric about 0. All pairs share the sign vectors.

    Args:
        differences: (P, N) float64, N >= 1, one row per pair of systems.
        n_resamples: B.
        rng: source of the signs; not used if all 2^N sign vectors are.
    Returns:
        (P,) p-values.
    References:
        Smucker, Allan and Carterette, "A Comparison of Statistical Significance Tests for
        Information Retrieval Evaluation", CIKM 2007.
        Phipson and Smyth, "Permutation P-values Should Never Be Zero", SAGMB 2010.
    """
    total = differences.sum(axis=1)
    least = np.abs(total) - NOISE * np.abs(differences).max(axis=1)
    if differences.shape[1] < n_resamples.bit_length():  # 2^N <= B
        counts = [extremes(sums, total, least) for sums in all_sums(differences)]
        return np.asarray(np.sum(counts, axis=0) / 2 ** differences.shape[1])
    sums = random_sums(differences, n_resamples, rng)
    return np.asarray((extremes(sums, total, least) + 1) / (n_resamples + 1))


def all_sums(differences: Floats) -> Iterator[Floats]:
    """Sums of the differences over every subset of the queries, in chunks of (rows, P)."""
    n = differences.shape[1]
    for start in range(0, 2**n, CHUNK_ROWS):
        subsets = np.arange(start, min(start + CHUNK_ROWS, 2**n), dtype=np.uint64)
        yield bits(subsets[:, None], n) @ differences.T


def random_sums(differences: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Sums of the differences over random subsets of the queries: (B, P)."""
    pairs, n = differences.shape
    sums = np.zeros((n_resamples, pairs))
    for first in range(0, n, BLOCK_QUERIES):
        block = differences[:, first : first + BLOCK_QUERIES].T
        words = -(-len(block) // 64)
        for start in range(0, n_resamples, CHUNK_ROWS):
            rows = sums[start : start + CHUNK_ROWS]
            subsets = rng.integers(0, 2**64, size=(len(rows), words), dtype=np.uint64)
            rows += bits(subsets, len(block)) @ block
    return sums


def bits(words: Words, n: int) -> Floats:
    """The first n bits of each row of 64-bit words, as 0.0 and 1.0."""
    octets = words.astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n, bitorder="little").astype(np.float64)


def extremes(sums: Floats, total: Floats, least: Floats) -> NDArray[np.int64]:
    """For each pair, how many flipped sums are at least as extreme as the observed one: (P,).

    Queries of a subset keep their signs, the rest are flipped: flipped sum = 2 * sum - total.
    """
    return np.asarray(np.count_nonzero(np.abs(2 * sums - total) >= least, axis=0), np.int64)


def t_p_value(differences: Floats) -> tuple[float, bool]:
    """Two-sided p-value of Student's paired t-test.

    Args:
        differences: (N,) float64.
    Returns:
        p, and whether p is 0 only because all differences are the same and not 0.
    Raises:
        ValueError: a single difference that is not 0: it has no spread.
        ImportError: scipy is not installed.
    """
    n = len(differences)
    if not differences.any():
        return 1.0, False
    if n < 2:
        raise ValueError("`test` must be 'permutation' or 'wilcoxon' with one query, got 't'")
    if np.ptp(differences) <= NOISE * np.abs(differences).max():
        return 0.0, True
    try:
        from scipy.special import stdtr
    except ImportError as error:
        raise ImportError("`test` 't' needs scipy: pip install scipy") from error
    t = differences.mean() / (differences.std(ddof=1) / math.sqrt(n))
    return float(2 * stdtr(n - 1, -abs(t))), False


def wilcoxon_p_value(differences: Floats) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test; zero differences are dropped.

    Args:
        differences: (N,) float64.
    Raises:
        ImportError: scipy is not installed.
    """
    if not differences.any():
        return 1.0
    try:
        from scipy.stats import wilcoxon
    except ImportError as error:
        raise ImportError("`test` 'wilcoxon' needs scipy: pip install scipy") from error
    return float(wilcoxon(differences).pvalue)


def holm(p: Floats) -> Floats:
    """Adjusted p-values that bound the chance of any false positive among P tests.

    References:
        Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979.
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return unsorted(adjusted, order)


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjusted p-values that bound the expected share of false positives among the positives.

    References:
        Benjamini and Hochberg, "Controlling the False Discovery Rate", JRSS B 1995.
    """
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    return unsorted(np.minimum.accumulate(scaled[::-1])[::-1], order)


def unsorted(adjusted: Floats, order: NDArray[np.intp]) -> Floats:
    """Adjusted p-values, capped at 1, put back in the order that `order` sorted."""
    back = np.empty_like(adjusted)
    back[order] = np.minimum(adjusted, 1.0)
    return back


def randomised_tukey(
    values: Floats, pairs: Sequence[tuple[int, int]], n_resamples: int, rng: np.random.Generator
) -> Floats:
    """p-values of pairs of systems by the randomised Tukey HSD test, corrected for all pairs.

    The systems are shuffled within each query, and the largest difference of two means is taken:
    p of a pair = (1 + number of largest differences >= the pair's own) / (B + 1).

    Args:
        values: (S, N) float64, figures of S systems for the same N >= 1 queries.
        pairs: P pairs of rows of `values`.
        n_resamples: B.
        rng: source of the shuffles.
    Returns:
        (P,) p-values.
    References:
        Carterette, "Multiple Testing in Statistical Analysis of Systems-Based Information
        Retrieval Experiments", TOIS 2012.
    """
    shuffled = np.array(values.T, dtype=np.float64, order="C")  # a copy
    sums = shuffled.sum(axis=0)
    largest = np.empty(n_resamples)
    for resample in range(n_resamples):
        rng.permuted(shuffled, axis=1, out=shuffled)  # reshuffling is as good as starting anew
        largest[resample] = np.ptp(shuffled.sum(axis=0))
    index = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
    own = np.abs(sums[index[:, 0]] - sums[index[:, 1]]) - NOISE * np.abs(values).max()
    below = np.searchsorted(np.sort(largest), own, side="left")
    return np.asarray((1 + n_resamples - below) / (n_resamples + 1))
