# SPDX-License-Identifier: Apache-2.0
"""Bootstrap intervals over queries. Needs numpy; scipy only when an interval is asked for.

| figure | interval |
|---|---|
| a mean over queries | BCa, acceleration from the closed-form jackknife of a mean |
| a proportion with fewer than 10 hits or misses | Wilson score |
| any other mean, if all values equal v | [v, v] |
| MedianRank, RankVariance | percentile |

All figures share one set of resamples: the indices that `scipy.stats.bootstrap` draws from
`np.random.default_rng(random_state)`, so intervals of means equal those of its method "BCa".
scipy holds all N jackknife samples of N - 1 values in memory; this module takes time linear in N
and memory for one chunk of indices.
"""

import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Function = Callable[[Any], Any]

CHUNK_INDICES = 1 << 20  # indices drawn at a time
FEW = 10  # with fewer hits or misses, a proportion gets Wilson's interval
NOISE = 1e-12  # relative to the largest value: smaller differences are rounding errors


def intervals(
    means: dict[str, Floats],
    *,
    confidence_level: float,
    n_resamples: int,
    random_state: int,
    proportions: Collection[str] = (),
    ranks: tuple[Floats, NDArray[Any]] | None = None,
) -> dict[str, list[float]]:
    """The confidence interval of every figure, over N >= 1 queries.

    Args:
        means: {key: (N,) float64}, one value per query; their mean is the figure.
        confidence_level: between 0 and 1.
        n_resamples: >= 1.
        random_state: seed of the resamples.
        proportions: keys of `means` that are shares of hits, such as Recall@k.
        ranks: mean_rank and tied, (N,) each, for MedianRank and RankVariance.
    Returns:
        {key: [low, high]} in the order of `means`, then MedianRank and RankVariance.
    Raises:
        ImportError: scipy is not installed.
    References:
        Efron, "Better Bootstrap Confidence Intervals", JASA 1987.
        Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 1927.
    """
    ndtr, ndtri = normal_distribution()
    tail = (1 - confidence_level) / 2  # not 0 at a level near 1, where 1 - tail is 1
    z = -float(ndtri(tail))
    found = {key: closed_form(value, z, key in proportions) for key, value in means.items()}
    keys = [key for key, interval in found.items() if interval is None]
    columns = [means[key] for key in keys]
    if ranks is not None:
        columns += rank_columns(*ranks)
    if columns:
        table = np.column_stack(columns)
        mean_rank = None if ranks is None else ranks[0]
        averages, medians = resample(table, mean_rank, n_resamples, random_state)
        observed = np.ones(len(table)) @ table / len(table)  # summed as in `resample`, not by fsum
        for column, key in enumerate(keys):
            levels = bca_levels(means[key], observed[column], averages[:, column], z, ndtr, ndtri)
            found[key] = percentiles(averages[:, column], levels)
        if ranks is not None:
            levels = np.array([tail, 1 - tail])
            found["MedianRank"] = percentiles(medians, levels)
            variances = rank_variance(averages[:, len(keys) :], len(table))
            found["RankVariance"] = percentiles(variances, levels)
    return {key: interval for key, interval in found.items() if interval is not None}


def normal_distribution() -> tuple[Function, Function]:
    """The normal distribution function and its inverse."""
    try:
        from scipy.special import ndtr, ndtri
    except ImportError as error:
        what = "`confidence_level` needs scipy: pip install scipy, or pass confidence_level=None"
        raise ImportError(what) from error
    return ndtr, ndtri


def closed_form(values: Floats, z: float, is_proportion: bool) -> list[float] | None:
    """The interval where no resamples are needed, else None."""
    total, n = math.fsum(values.tolist()), len(values)
    if is_proportion and min(total, n - total) < FEW:
        return wilson(total, n, z)
    if np.ptp(values) <= NOISE * np.abs(values).max():
        return [total / n, total / n]
    return None


def wilson(hits: float, n: int, z: float) -> list[float]:
    """Wilson score interval of hits / n."""
    share, scale = hits / n, 1 + z**2 / n
    center = (share + z**2 / (2 * n)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return [0.0 if hits == 0 else center - half, 1.0 if hits == n else center + half]


def resample(
    table: Floats, mean_rank: Floats | None, n_resamples: int, random_state: int
) -> tuple[Floats, Floats]:
    """Column means of the resamples, and the medians of their ranks.

    Each resample becomes a vector of counts, how often it draws each query; one matrix product
    then gives all sums.

    Args:
        table: (N, K).
        mean_rank: (N,), or None for no medians.
        n_resamples: B.
        random_state: seed.
    Returns:
        (B, K) means and (B,) medians (zeros without `mean_rank`).
    """
    n, rng = len(table), np.random.default_rng(random_state)
    order = None if mean_rank is None else np.argsort(mean_rank, kind="stable")
    ordered = None if mean_rank is None else mean_rank[order]
    middle = [(n - 1) // 2, n // 2]
    means, medians = np.empty((n_resamples, table.shape[1])), np.zeros(n_resamples)
    chunk = min(n_resamples, max(1, CHUNK_INDICES // n))
    counts = np.empty((chunk, n))
    for start in range(0, n_resamples, chunk):
        size = min(chunk, n_resamples - start)
        for row, index in enumerate(rng.integers(0, n, size=(size, n))):
            count = np.bincount(index, minlength=n)
            counts[row] = count
            if ordered is not None:
                place = np.searchsorted(np.cumsum(count[order]), middle, side="right")
                medians[start + row] = (ordered[place[0]] + ordered[place[1]]) / 2
        means[start : start + size] = counts[:size] @ table / n
    return means, medians


def bca_levels(
    values: Floats, observed: float, resampled: Floats, z: float, ndtr: Function, ndtri: Function
) -> Floats:
    """The two levels at which quantiles of the resampled means bound the BCa interval.

    Args:
        values: (N,), not all equal.
        observed: their mean.
        resampled: (B,) means of the resamples.
        z: normal quantile of the confidence level.
        ndtr: normal distribution function.
        ndtri: its inverse.
    Returns:
        (2,) between 0 and 1.
    """
    # A resampled mean that equals the observed one in exact arithmetic can differ in its last bits,
    # as its terms were added in another order. Half of such ties count as below, hence `noise`.
    noise = NOISE * np.abs(values).max()
    below = np.count_nonzero(resampled < observed - noise)
    share = (below + np.count_nonzero(resampled <= observed + noise)) / (2 * len(resampled))
    least = 0.5 / len(resampled)  # with few resamples a share can be 0 or 1: NaN in scipy
    bias = ndtri(min(max(share, least), 1 - least))
    centered = values - values.mean()
    centered /= np.abs(centered).max()  # so that the cubes neither overflow nor all vanish
    acceleration = (centered**3).sum() / (6 * (centered**2).sum() ** 1.5)
    shifted = bias + np.array([-z, z])
    room = 1 - acceleration * shifted  # <= 0 only at extreme levels: the limit is then 0 or 1
    inside = shifted / np.where(room > 0, room, 1)
    levels = np.where(room > 0, ndtr(bias + inside), shifted > 0)
    return np.asarray(levels, np.float64)


def rank_columns(mean_rank: Floats, tied: NDArray[Any]) -> list[Floats]:
    """Columns from whose means `rank_variance` follows; their sums are exact below 2^53."""
    shifted = mean_rank - np.median(mean_rank)
    return [shifted, shifted**2, tied.astype(np.float64) ** 2 - 1]


def rank_variance(means: Floats, n: int) -> Floats:
    """RankVariance of n queries from the means of `rank_columns` along the last axis."""
    shifted, square, within = np.moveaxis(means, -1, 0)
    return np.asarray(np.maximum(square - shifted**2, 0) + (n - 1) / n * within / 12)


def percentiles(resampled: Floats, levels: Floats) -> list[float]:
    """[low, high] of the resampled figures."""
    return [float(value) for value in np.percentile(resampled, 100 * levels)]
