# SPDX-License-Identifier: Apache-2.0
"""Paired tests against scipy, statsmodels, enumerations and slow loops."""

import itertools
import math
import sys

import numpy as np
import pytest
from quotediv.metrics.paired_significance import scoring as sg

stats = pytest.importorskip("scipy.stats", reason="the tests t and wilcoxon need scipy")

RNG = np.random.default_rng


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("scipy.special", sg.t_p_value),
        ("scipy.stats", sg.wilcoxon_p_value),
    ],
)
def test_missing_scipy(monkeypatch, module, call):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match="pip install scipy"):
        call(np.array([1.0, 2.0]))


def enumerated(d):
    """Exact p-value of the sums as numbers: the decimals as integers."""
    units = [round(x * 1000) for x in d]
    sums = [
        abs(sum(s * u for s, u in zip(signs, units, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(d))
    ]
    return sum(value >= abs(sum(units)) for value in sums) / len(sums)


@pytest.mark.parametrize(
    "d",
    [
        [0.1, 0.2, -0.3, 0.1],
        [0.1, 0.2, -0.3],
        [0.3, 0.3, 0.3, 0.1, -0.7, 0.2],
        [0.7, 0.1, 0.1, 0.1, -0.2, 0.3, 0.001],
        [0.0, 0.0, 0.5],
        [0.5],
        [-0.25, 0.75],
        [0.0],
        [0.0, 0.0],
        [1.0, -1.0, 1.0, 1.0, 0.0, 0.0, -1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0],
    ],
)
def test_all_sign_flips(d):
    assert sg.flip_p_value(np.array(d), 9999, RNG(0)) == enumerated(d)


def test_random_decimals_against_enumeration():
    rng = RNG(0)
    for n in range(1, 11):
        d = rng.integers(-9, 10, (30, n)) / 10
        expected = [enumerated(row) for row in d.tolist()]
        assert sg.flip_p_values(d, 1024, rng).tolist() == expected
        scaled = sg.flip_p_values(d / 3e7, 1024, rng)  # other roundings, the same ties
        assert scaled.tolist() == expected


@pytest.mark.parametrize("n", [2, 5, 8])
def test_exact_permutation_is_scipys(n):
    for seed in range(5):
        x, y = RNG(seed).normal(size=(2, n))
        expected = stats.permutation_test(
            (x, y),
            lambda x, y, axis: np.sum(x - y, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        ).pvalue
        assert sg.flip_p_value(x - y, 9999, RNG(0)) == pytest.approx(expected, abs=1e-12)


def test_all_flips_where_they_are_few():
    d = np.round(RNG(5).normal(0.3, 1, 10), 3)
    exact = enumerated(d.tolist())
    assert {sg.flip_p_value(d, 1024, RNG(seed)) for seed in range(9)} == {exact}
    random = [sg.flip_p_value(d, 1023, RNG(seed)) for seed in range(50)]
    assert len(set(random)) > 1
    assert abs(np.mean(random) - exact) < 0.01


@pytest.mark.parametrize("n", [20, 64, 65, 1024, 1025, 2500])
def test_random_flips_against_a_slow_loop(n):
    d = RNG(n).normal(0.2 / math.sqrt(n) * 5, 1, n)
    found = sg.flip_p_value(d, 1999, RNG(3))
    signs = RNG(4).choice([-1.0, 1.0], (1999, n))
    slow = (1 + np.count_nonzero(np.abs(signs @ d) >= abs(d.sum()))) / 2000
    error = math.sqrt(2 * max(slow, 1 / 2000) / 2000)
    assert abs(found - slow) < 5 * error


def test_pairs_share_the_signs_and_chunks_do_not_matter(monkeypatch):
    d = RNG(0).integers(-3, 4, (6, 1100)) / 4 + 0.01
    together = sg.flip_p_values(d, 999, RNG(1))
    assert together.tolist() == sg.flip_p_values(d, 999, RNG(1)).tolist()
    assert together.tolist() == [sg.flip_p_value(row, 999, RNG(1)) for row in d]
    small = sg.flip_p_values(d[:, :9], 999, RNG(1))
    monkeypatch.setattr(sg, "CHUNK_ROWS", 7)
    assert together.tolist() == sg.flip_p_values(d, 999, RNG(1)).tolist()
    assert small.tolist() == sg.flip_p_values(d[:, :9], 999, RNG(1)).tolist()
    assert together.tolist() != sg.flip_p_values(d, 999, RNG(2)).tolist()


def test_random_flips_are_fair_bits():
    sums = sg.random_sums(np.eye(1100), 4000, RNG(0))
    assert set(np.unique(sums)) == {0.0, 1.0}
    assert np.abs(sums.mean(axis=0) - 0.5).max() < 5 * 0.5 / math.sqrt(4000)
    off = np.corrcoef(sums.T) - np.eye(1100)
    assert np.abs(off).max() < 6 / math.sqrt(4000)


@pytest.mark.parametrize("n", [1, 2, 5, 50])
def test_all_zeros(n):
    zeros = np.zeros(n)
    assert sg.flip_p_value(zeros, 99, RNG(0)) == 1
    assert sg.t_p_value(zeros) == (1, False)
    assert sg.wilcoxon_p_value(zeros) == 1
    assert sg.randomised_tukey(np.zeros((3, n)), [(0, 1), (1, 2)], 9, RNG(0)).tolist() == [1, 1]


@pytest.mark.parametrize("n", [2, 3, 30, 500])
def test_t_is_scipys(n):
    for seed in range(5):
        x, y = RNG(seed).normal(size=(2, n))
        p, is_constant = sg.t_p_value(x - y)
        assert p == pytest.approx(stats.ttest_rel(x, y).pvalue, rel=1e-10)
        assert not is_constant


def test_t_without_spread():
    assert sg.t_p_value(np.array([0.3, 0.3])) == (0, True)
    assert sg.t_p_value(np.array([0.3 - 0.2, 0.4 - 0.3, 0.1])) == (0, True)  # as numbers
    with pytest.raises(ValueError, match="with one query"):
        sg.t_p_value(np.array([0.3]))


@pytest.mark.parametrize("n", [1, 2, 12, 40, 300])
def test_wilcoxon_is_scipys(n):
    for seed in range(5):
        x, y = RNG(seed).normal(size=(2, n))
        assert sg.wilcoxon_p_value(x - y) == stats.wilcoxon(x, y).pvalue


def test_wilcoxon_drops_zeros():
    d = np.append(RNG(0).normal(0.3, 1, 100), np.zeros(40))
    assert sg.wilcoxon_p_value(d) == sg.wilcoxon_p_value(d[:100])


@pytest.mark.parametrize("size", [1, 2, 10, 45])
def test_corrections_are_statsmodels(size):
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="no statsmodels")
    for seed in range(10):
        p = RNG(seed).random(size) ** 3
        p[: size // 3] = p[-1]  # ties
        for correct, name in ((sg.holm, "holm"), (sg.benjamini_hochberg, "fdr_bh")):
            expected = multitest.multipletests(p, method=name)[1]
            np.testing.assert_allclose(correct(p), expected, rtol=1e-13)


def slow_tukey(values, pairs, n_resamples, rng):
    n = values.shape[1]
    largest = []
    for _ in range(n_resamples):
        columns = [rng.permutation(values[:, q]) for q in range(n)]
        means = np.mean(columns, axis=0)
        largest.append(max(means) - min(means))
    own = [abs(values[a].mean() - values[b].mean()) for a, b in pairs]
    return [(1 + sum(q >= d - 1e-9 for q in largest)) / (n_resamples + 1) for d in own]


def test_tukey_against_a_slow_loop():
    pairs = list(itertools.combinations(range(4), 2))
    values = RNG(0).integers(0, 4, (4, 30)) / 3 + np.array([[0.0], [0.1], [0.3], [0.3]])
    before = values.copy()
    found = sg.randomised_tukey(values, pairs, 4000, RNG(1))
    assert (values == before).all()
    assert found.tolist() == sg.randomised_tukey(values, pairs, 4000, RNG(1)).tolist()
    slow = slow_tukey(values, pairs, 4000, RNG(2))
    assert np.abs(found - slow).max() < 5 * math.sqrt(2 * 0.25 / 4000)
    assert 0.005 < min(slow) < 0.2 < max(slow)


def test_tukey_on_all_shuffles():
    """Two queries, three systems: the exact p-values by enumeration."""
    values = np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.7]])
    orders = list(itertools.permutations(range(3)))
    largest = [np.ptp(values[list(a), 0] + values[list(b), 1]) for a in orders for b in orders]
    pairs = [(0, 1), (0, 2), (1, 2)]
    own = [abs(values[a].sum() - values[b].sum()) for a, b in pairs]
    exact = [np.mean(np.array(largest) >= d - 1e-9) for d in own]
    found = sg.randomised_tukey(values, pairs, 20000, RNG(0))
    np.testing.assert_allclose(found, exact, atol=0.02)


def test_tukey_of_two_systems_is_the_permutation_test():
    values = RNG(0).normal(size=(2, 40)) + np.array([[0.0], [0.4]])
    tukey = sg.randomised_tukey(values, [(0, 1)], 9999, RNG(0))[0]
    assert tukey == pytest.approx(sg.flip_p_value(values[0] - values[1], 9999, RNG(1)), abs=0.02)
