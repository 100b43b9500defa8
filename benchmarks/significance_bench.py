# SPDX-License-Identifier: Apache-2.0
"""Intervals of a metric, and all pairs of systems, over many queries."""

import functools
import itertools
from typing import Any

import numpy as np
from measure import OURS, Agreement, Group, Sweep, Target, agreed, load
from numpy.typing import NDArray
from scipy import stats

QUERIES, SYSTEMS, RESAMPLES = 100_000, 10, 9_999
DRAWING = "drawing the resamples"
COMPARISON = load("paired_significance")
NOT_COMPARED = (
    "MedianRank and RankVariance: percentile intervals, which tests compare with scipy's.",
    "Time of scipy.stats.bootstrap with BCa: it holds N x (N - 1) jackknife samples, 80 GB here.",
)

Floats = NDArray[np.float64]
Ranks = tuple[NDArray[np.int64], NDArray[np.int64]]


def ranks(queries: int) -> Ranks:
    """Long-tailed gold ranks, some tied."""
    rng = np.random.default_rng(0)
    rank = np.minimum(np.ceil(rng.lognormal(2.5, 2.0, queries)), 6_108).astype(np.int64)
    return rank, rng.integers(1, 3, queries)


def with_intervals(inputs: Ranks) -> Any:
    """The whole call: eight figures and their intervals."""
    metric = load("quoter_rank", "ranks")
    return metric.compute(predictions=inputs[0], references=inputs[1], confidence_level=0.95)


def without_intervals(inputs: Ranks) -> Any:
    """The figures alone."""
    return load("quoter_rank", "ranks").compute(predictions=inputs[0], references=inputs[1])


def drawn(inputs: Ranks) -> None:
    """The random indices alone."""
    rng, n = np.random.default_rng(0), len(inputs[0])
    for _ in range(RESAMPLES):
        rng.integers(0, n, n)


def systems(queries: int) -> dict[str, Floats]:
    """Figures of several systems, of which some differ."""
    rng = np.random.default_rng(1)
    hardness = rng.beta(1.5, 2.5, queries)
    return {
        f"system {i}": np.clip(hardness + rng.normal(0.002 * i, 0.2, queries), 0, 1)
        for i in range(SYSTEMS)
    }


def all_pairs(inputs: dict[str, Floats], **options: Any) -> Any:
    """The whole call."""
    return COMPARISON.compare(inputs, **options)


def groups() -> list[Group]:
    """All groups."""
    return [
        Group(
            key=f"intervals, {QUERIES:,} queries, 8 figures, {RESAMPLES:,} resamples",
            queries=QUERIES,
            make=ranks,
            calls={
                OURS: with_intervals,
                f"{OURS}, without intervals": without_intervals,
                DRAWING: drawn,
            },
            limit=DRAWING,
            targets=(
                Target("at most 5x drawing the resamples", 5, "x", against=DRAWING),
                Target("adds less than 128 MB", 128, "MB"),
            ),
        ),
        Group(
            key=f"all pairs of {SYSTEMS} systems, {QUERIES:,} queries, {RESAMPLES:,} sign vectors",
            queries=QUERIES,
            make=systems,
            calls={
                OURS: functools.partial(all_pairs, confidence_level=None),
                f"{OURS}, with intervals": all_pairs,
            },
            targets=(Target("adds less than 256 MB", 256, "MB"),),
        ),
    ]


def sweeps() -> list[Sweep]:
    """None: time is linear in the queries."""
    return []


def check() -> list[Agreement]:
    """Compare with scipy at the size of TREC's topics, and with all sign vectors."""
    rng = np.random.default_rng(0)
    values = np.round(rng.beta(1.5, 2.5, 198) * 2**20) / 2**20
    given = {"predictions1": values, "predictions2": np.zeros(198)}
    ours = COMPARISON.compute(**given)["confidence_interval"]
    found = stats.bootstrap((values,), np.mean, random_state=np.random.default_rng(0))
    theirs = dict(zip(("low", "high"), found.confidence_interval, strict=True))
    expected = dict(zip(("low", "high"), ours, strict=True))
    rows = agreed("scipy.stats.bootstrap, BCa", theirs, expected, 1e-10)
    few = rng.normal(0.5, 1, 12)
    signs = np.array(list(itertools.product((-1, 1), repeat=12)))
    p = float(np.mean(np.abs(signs @ few) >= abs(few.sum()) - 1e-12))
    given = {"predictions1": few, "predictions2": np.zeros(12)}
    ours = {"p_value": COMPARISON.compute(**given)["p_value"]}
    return rows + agreed("all 4,096 sign vectors", {"p_value": p}, ours, 1e-12)
