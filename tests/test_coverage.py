# SPDX-License-Identifier: Apache-2.0
"""Do 95% intervals hold the truth, and are p-values small as often as they say? 2,000 simulations.

With 999 resamples, for time; benchmarks/coverage_of_intervals.py takes 9,999 for the card's tables.
"""

import importlib
import math

import pytest
from support import ROOT

pytest.importorskip("scipy.stats", reason="intervals need scipy")


@pytest.fixture(scope="module")
def simulation():
    path = str(ROOT / "benchmarks")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path)
        yield importlib.import_module("coverage_of_intervals")


@pytest.fixture(scope="module")
def covered(simulation):
    return simulation.coverage(n_resamples=999)


@pytest.mark.parametrize("figure", ["MRR", "alpha-NDCG", "Recall p=.3"])
def test_intervals_of_means_hold_the_truth(covered, figure):
    share, below, above = covered[figure]
    assert 0.93 <= share <= 0.97
    assert share + below + above == pytest.approx(1)


def test_the_table_of_the_card(covered):
    """Within the noise of fewer resamples; intervals of a long tail are too narrow."""
    card = (ROOT / "cards" / "paired_significance.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in card.splitlines()]
    printed = {line[0]: float(line[1]) for line in lines if line[0] in covered}
    assert printed.keys() == covered.keys()
    for figure, (share, _, _) in covered.items():
        assert 100 * share == pytest.approx(printed[figure], abs=1.0)
    assert covered["MeanRank"][0] < 0.93
    assert covered["RankVariance"][0] < 0.7


def test_p_values_of_symmetric_differences_are_uniform(simulation):
    for permutation, t in simulation.continuous_null(n_resamples=1999).values():
        assert permutation > 0.001
        assert t > 0.001


def test_p_values_of_few_or_discrete_differences_are_not_too_small(simulation):
    for shares in simulation.discrete_null(n_resamples=1999).values():
        for share, level in zip(shares, (0.01, 0.05, 0.1), strict=True):
            assert share <= level + 3 * math.sqrt(level * (1 - level) / simulation.SETS)
