# SPDX-License-Identifier: Apache-2.0
"""Measured coverage of the intervals, and p-values where the null hypothesis holds.

    python benchmarks/coverage_of_intervals.py

Every data set is drawn with replacement from a population of 10^6 values, whose figures are known.
The tables of cards/paired_significance.md are what it prints.
"""

import numpy as np
from numpy.typing import NDArray
from quotediv.metrics.paired_significance import common_intervals as iv
from quotediv.metrics.paired_significance import scoring as sg
from scipy import stats

POPULATION, SETS, QUERIES, RESAMPLES, LAST_RANK = 10**6, 2000, 198, 9999, 6108
LEVELS = (0.01, 0.05, 0.1)


Floats = NDArray[np.float64]


def population(rng: np.random.Generator) -> tuple[dict[str, Floats], Floats]:
    """Values of the means, and the ranks."""
    ranks = np.minimum(np.ceil(rng.lognormal(2.5, 2.0, POPULATION)), LAST_RANK)
    means = {
        "MRR": 1 / ranks,
        "alpha-NDCG": np.where(rng.random(POPULATION) < 0.1, 0, rng.beta(1.5, 2.5, POPULATION)),
        "Recall p=.3": (rng.permutation(POPULATION) < 0.3 * POPULATION).astype(float),
        "Recall p=.97": (rng.permutation(POPULATION) < 0.97 * POPULATION).astype(float),
        "MeanRank": ranks,
    }
    return means, ranks


def coverage(n_resamples: int = RESAMPLES) -> dict[str, tuple[float, float, float]]:
    """{figure: (share of intervals that hold the truth, share below which it is, share above)}."""
    rng = np.random.default_rng(20240607)
    means, ranks = population(rng)
    truth = {key: float(value.mean()) for key, value in means.items()}
    truth |= {"MedianRank": float(np.median(ranks)), "RankVariance": float(ranks.var())}
    missed = {key: [0, 0] for key in truth}
    for seed in range(SETS):
        index = rng.integers(0, POPULATION, QUERIES)
        found = iv.intervals(
            {key: value[index] for key, value in means.items()},
            confidence_level=0.95,
            n_resamples=n_resamples,
            random_state=seed,
            proportions=["Recall p=.3", "Recall p=.97"],
            ranks=(ranks[index], np.ones(QUERIES, int)),
        )
        for key, (low, high) in found.items():
            missed[key][0] += truth[key] < low
            missed[key][1] += truth[key] > high
    shares = {key: (below / SETS, above / SETS) for key, (below, above) in missed.items()}
    return {key: (1 - below - above, below, above) for key, (below, above) in shares.items()}


def continuous_null(n_resamples: int = RESAMPLES) -> dict[str, tuple[float, float]]:
    """{differences: Kolmogorov-Smirnov p of the p-values of permutation and of t}."""
    found = {}
    for name in ("normal", "laplace"):
        rng = np.random.default_rng(11)
        sets = getattr(rng, name)(size=(SETS, 50))
        p = (
            [sg.flip_p_value(d, n_resamples, rng) for d in sets],
            [sg.t_p_value(d)[0] for d in sets],
        )
        permutation, t = (float(stats.kstest(values, "uniform").pvalue) for values in p)
        found[name] = (permutation, t)
    return found


def discrete_null(n_resamples: int = RESAMPLES) -> dict[str, list[float]]:
    """{differences: shares of permutation p-values up to each of LEVELS}."""
    rng = np.random.default_rng(12)
    recalls = (rng.random((2, SETS, QUERIES)) < 0.3).astype(float)
    sets = {
        f"Recall@1, n = {QUERIES}": recalls[0] - recalls[1],
        "Recall@1, n = 30": (recalls[0] - recalls[1])[:, :30],
        "normal, n = 6": rng.normal(size=(SETS, 6)),
    }
    found = {}
    for name, differences in sets.items():
        p = np.array([sg.flip_p_value(d, n_resamples, rng) for d in differences])
        found[name] = [float(np.mean(p <= level)) for level in LEVELS]
    return found


def row(*values: object) -> str:
    """A line of a table; shares in percent."""
    cells = [f"{100 * v:.1f}" if isinstance(v, float) else str(v) for v in values]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the three tables."""
    print(f"{SETS:,} data sets, n = {QUERIES}, n_resamples = {RESAMPLES}, percent\n")
    print("| figure | 95% intervals that hold the truth | below | above |\n|---|---|---|---|")
    print(*(row(key, *shares) for key, shares in coverage().items()), sep="\n")
    print("\n| differences, n = 50 | permutation, KS p | t, KS p |\n|---|---|---|")
    for name, (permutation, t) in continuous_null().items():
        print(row(name, f"{permutation:.2f}", f"{t:.2f}"))
    print("\n| differences | p <= .01 | p <= .05 | p <= .1 |\n|---|---|---|---|")
    print(*(row(name, *shares) for name, shares in discrete_null().items()), sep="\n")


if __name__ == "__main__":
    main()
