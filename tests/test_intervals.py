# SPDX-License-Identifier: Apache-2.0
"""Bootstrap intervals against scipy, and what `compute` makes of them."""

import inspect
import math
import sys

import numpy as np
import pytest
from quotediv.metrics.quoter_rank import common_intervals as iv
from support import METRICS, ROOT, load

stats = pytest.importorskip("scipy.stats", reason="intervals need scipy")

RNG = np.random.default_rng
SEED_NAME = "rng" if "rng" in inspect.signature(stats.bootstrap).parameters else "random_state"
OPTIONS = {"confidence_level": 0.95, "n_resamples": 999, "random_state": 7}


def scipy_interval(values, statistic=np.mean, method="BCa", **options):
    options = {**OPTIONS, **options}
    seed = {SEED_NAME: RNG(options.pop("random_state"))}
    found = stats.bootstrap((values,), statistic, method=method, vectorized=None, **seed, **options)
    return list(found.confidence_interval)


@pytest.mark.parametrize("n", [2, 3, 17, 198, 1500])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_bca_is_scipys(n, level):
    """Values are multiples of 2^-20: scipy's sums are exact, so it finds the ties of few values."""
    rng = RNG(n)
    options = {**OPTIONS, "confidence_level": level}
    means = {
        "normal": rng.normal(size=n),
        "skewed": rng.exponential(size=n) ** 3,
        "negative": -(rng.exponential(size=n) ** 2),
        "far": 1e6 + rng.random(n),
    }
    means = {key: np.round(values * 2**20) / 2**20 for key, values in means.items()}
    found = iv.intervals(means, **options)
    for key, values in means.items():
        expected = scipy_interval(values, **options)
        scale = max(np.abs(values).max(), 1)
        np.testing.assert_allclose(found[key], expected, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("n", [5, 12, 50, 198])
def test_ties_of_a_discrete_mean_are_found(n):
    """Multiples of 1 / 2520 as scipy sees them without rounding: integers."""
    rank = RNG(n).integers(1, 11, n)
    found = iv.intervals({"MRR": 1 / rank}, **OPTIONS)["MRR"]
    np.testing.assert_allclose(found, np.array(scipy_interval(2520 / rank)) / 2520, atol=1e-10)


def test_one_hit_and_difference_of_recalls():
    one = np.zeros(198)
    one[50] = 1
    difference = RNG(1).integers(-1, 2, 198).astype(float)
    found = iv.intervals({"one": one, "d": difference}, **OPTIONS)
    np.testing.assert_allclose(found["one"], scipy_interval(one), atol=1e-10)
    np.testing.assert_allclose(found["d"], scipy_interval(difference), atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 5, 198])
def test_rank_figures_are_scipys_percentiles(n):
    rng = RNG(n)
    rank, tied = rng.integers(1, 100, n), rng.integers(1, 5, n)
    mean_rank = rank + (tied - 1) / 2
    found = iv.intervals({}, ranks=(mean_rank, tied), **OPTIONS)
    index = RNG(7).integers(0, n, size=(999, n))
    m, t = mean_rank[index], tied[index]
    variance = m.var(axis=1) + (n - 1) / n * ((t**2 - 1) / 12).mean(axis=1)
    for key, values in {"MedianRank": np.median(m, axis=1), "RankVariance": variance}.items():
        np.testing.assert_allclose(found[key], np.percentile(values, [2.5, 97.5]), rtol=1e-10)
    if n > 1:
        expected = scipy_interval(mean_rank, np.median, "percentile")
        np.testing.assert_allclose(found["MedianRank"], expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 9, 100])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson_is_scipys(n, level):
    options = {**OPTIONS, "confidence_level": level}
    for hits in {0, 1, 9, n // 2, n - 9, n - 1, n} & set(range(n + 1)):
        if min(hits, n - hits) >= 10:
            continue
        values = np.repeat([1.0, 0.0], [hits, n - hits])
        found = iv.intervals({"Recall@1": values}, proportions=["Recall@1"], **options)["Recall@1"]
        expected = stats.binomtest(hits, n).proportion_ci(level, method="wilson")
        np.testing.assert_allclose(found, list(expected), atol=1e-14)


def test_ten_hits_take_bca():
    values = np.repeat([1.0, 0.0], [10, 40])
    found = iv.intervals({"Recall@1": values}, proportions=["Recall@1"], **OPTIONS)["Recall@1"]
    np.testing.assert_allclose(found, scipy_interval(values), atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 3, 50])
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1.0, -2.5])
def test_equal_values(n, value):
    values = np.full(n, value)
    figure = math.fsum(values.tolist()) / n
    assert iv.intervals({"x": values}, **OPTIONS)["x"] == [figure, figure]


def test_equal_ranks():
    found = iv.intervals({}, ranks=(np.full(7, 2.5), np.full(7, 4)), **OPTIONS)
    assert found["MedianRank"] == [2.5, 2.5]
    assert found["RankVariance"][0] == found["RankVariance"][1] == pytest.approx(6 / 7 * 15 / 12)


@pytest.mark.parametrize("n_resamples", [1, 2, 5])
def test_no_nan_with_few_resamples_or_an_extreme_level(n_resamples):
    for seed in range(20):
        values = RNG(seed).exponential(size=9) ** 4
        for level in (1e-9, 0.95, 1 - 1e-12, 1 - 2**-53):
            low, high = iv.intervals(
                {"x": values}, confidence_level=level, n_resamples=n_resamples, random_state=seed
            )["x"]
            assert values.min() <= low <= high <= values.max()


@pytest.mark.filterwarnings("error")
def test_the_scale_of_the_values_does_not_matter():
    values = RNG(0).exponential(size=40) ** 3
    expected = np.array(iv.intervals({"x": values}, **OPTIONS)["x"])
    for scale in (2.0**-600, 2.0**-360, 2.0**330, 2.0**600):
        found = iv.intervals({"x": values * scale}, **OPTIONS)["x"]
        np.testing.assert_allclose(found, expected * scale, rtol=1e-13)


@pytest.mark.parametrize("level", [1e-9, 1 - 2**-53])
def test_no_error_at_an_extreme_level(level):
    options = {**OPTIONS, "confidence_level": level}
    hits = np.array([1.0, 0, 0])
    low, high = iv.intervals({"r": hits}, proportions=["r"], **options)["r"]
    assert 0 < low <= 1 / 3 <= high < 1
    low, high = iv.intervals({}, ranks=(np.arange(9.0), np.ones(9, int)), **options)["MedianRank"]
    assert 0 <= low <= high <= 8


def test_chunks_do_not_matter(monkeypatch):
    rng = RNG(0)
    rank = np.ceil(rng.exponential(20, 60)).astype(int)
    means = {"MRR": 1 / rank, "normal": rng.normal(size=60)}
    ranks = (rank.astype(float), np.ones(60, int))
    whole = iv.intervals(means, ranks=ranks, **OPTIONS)
    assert whole == iv.intervals(means, ranks=ranks, **OPTIONS)  # the same bytes
    for chunk in (1, 60, 431):
        monkeypatch.setattr(iv, "CHUNK_INDICES", chunk)
        for key, interval in iv.intervals(means, ranks=ranks, **OPTIONS).items():
            np.testing.assert_allclose(interval, whole[key], rtol=1e-13)


def test_all_keys_share_the_resamples():
    values, options = RNG(0).random(40), {**OPTIONS, "random_state": 3}
    both = iv.intervals({"a": values, "b": RNG(1).random(40)}, **options)
    assert list(both) == ["a", "b"]
    np.testing.assert_allclose(both["a"], iv.intervals({"a": values}, **options)["a"], rtol=1e-13)
    assert iv.intervals({"a": values}, **OPTIONS)["a"] != both["a"]


# Through compute -------------------------------------------------------------------------------

RANKS = {"predictions": [1, 3, 0, 2, 9, 30], "references": [1, 2, 0, 1, 1, 4]}


def test_one_file():
    """Each folder stands alone: the same module in each."""
    folders = (*METRICS, "paired_significance")
    files = {(ROOT / "metrics" / name / "common_intervals.py").read_bytes() for name in folders}
    assert len(files) == 1


def test_intervals_of_compute_are_those_of_its_figures():
    rank = RNG(0).geometric(0.1, 198)
    metric = load("quoter_rank", "ranks")
    given = {"predictions": rank, "references": np.ones(198, int)}
    result = metric.compute(**given, per_query=True, **OPTIONS)
    found, per_query = result["confidence_interval"], result["per_query"]
    assert list(found) == [key for key in result if key not in ("per_query", "confidence_interval")]
    for key in ("MRR", "NDCG@5", "Recall@10"):
        np.testing.assert_allclose(
            found[key], scipy_interval(per_query[key]), atol=1e-4, err_msg=key
        )
    assert found["MeanRank"] == pytest.approx(scipy_interval(rank), abs=1e-10)
    assert found["MedianRank"] == scipy_interval(rank, np.median, "percentile")
    assert found["RankVariance"] == pytest.approx(scipy_interval(rank, np.var, "percentile"))
    wilson = stats.binomtest(198, 198).proportion_ci(0.95, method="wilson")
    assert found["Recall@100"] == pytest.approx(list(wilson), abs=1e-14)
    for key, (low, high) in found.items():
        assert low <= result[key] <= high
        assert type(low) is type(high) is float


def test_diversity_intervals_of_compute(search_diversity):
    rng = RNG(0)
    given = {
        "predictions": rng.random((60, 12)),
        "references": (rng.random((60, 12, 5)) < 0.3).astype(int),
    }
    for protocol in ("standard", "released", "recipe"):
        result = search_diversity.compute(**given, per_query=True, protocol=protocol, **OPTIONS)
        found = result["confidence_interval"]
        assert list(found) == list(result)[:6]
        for key, interval in found.items():
            values = np.array(result["per_query"][key])
            assert interval == pytest.approx(iv.intervals({key: values}, **OPTIONS)[key], rel=1e-13)
            if key.startswith("S-recall"):  # sixtieths, whose sums scipy rounds: as integers
                expected = np.array(scipy_interval(np.round(60 * values))) / 60
            else:
                expected = scipy_interval(values)
            np.testing.assert_allclose(interval, expected, atol=1e-10)


def test_the_same_random_state_gives_the_same_bytes():
    def computed(seed):
        options = {**OPTIONS, "random_state": seed}
        return repr(load("quoter_rank", "ranks").compute(**RANKS, missing="zero", **options))

    assert computed(7) == computed(7)
    assert computed(7) != computed(8)


def test_a_figure_that_is_none_has_none():
    result = load("quoter_rank", "ranks").compute(**RANKS, missing="zero", **OPTIONS)
    assert result["MeanRank"] is result["confidence_interval"]["MeanRank"] is None
    assert result["confidence_interval"]["MRR"] == pytest.approx([0.1, 0.6], abs=0.2)
    assert "missing" not in result["confidence_interval"]


LEVEL = "`confidence_level` must be None or a float between 0 and 1, got "
REFUSED = [
    ({"confidence_level": 95}, f"{LEVEL}95"),
    ({"confidence_level": 1.0}, f"{LEVEL}1.0"),
    ({"confidence_level": 0.0}, f"{LEVEL}0.0"),
    ({"n_resamples": 0}, "`n_resamples` must be an int >= 1, got 0"),
    ({"n_resamples": 99.0}, "`n_resamples` must be an int >= 1, got 99.0"),
    ({"random_state": -1}, "`random_state` must be an int >= 0, got -1"),
    ({"random_state": True}, "`random_state` must be an int >= 0, got True"),
]


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(("options", "expected"), REFUSED, ids=str)
def test_options_that_are_refused(name, options, expected):
    metric = load(name)
    metric.add_batch(predictions=[["a"]], references=["a" if "rank" in name else {"a": ["1"]}])
    with pytest.raises(ValueError) as refused:
        metric.compute(**options)
    assert str(refused.value) == expected
    assert len(metric) == 1


def test_released_has_no_intervals(quoter_rank):
    rows = {"predictions": [["a"]], "references": ["a"]}
    with pytest.raises(ValueError) as refused:
        quoter_rank.compute(**rows, protocol="released", confidence_level=0.95)
    assert str(refused.value) == (
        "`confidence_level` must be None under protocol 'released', got 0.95; "
        "its MRR and NDCG are no means over queries"
    )


@pytest.mark.parametrize("name", METRICS)
def test_no_default_of_a_trainer(name):
    with pytest.raises(ValueError, match="`confidence_level` must be given to compute"):
        load(name).configured(confidence_level=0.95)


@pytest.mark.parametrize("name", METRICS)
def test_scipy_is_needed_for_intervals_only(name, monkeypatch):
    metric = load(name)
    metric.add_batch(predictions=[["a"]], references=["a" if "rank" in name else {"a": ["1"]}])
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(ImportError, match="needs scipy: pip install scipy"):
        metric.compute(confidence_level=0.95)
    assert len(metric) == 1
    assert len(metric.compute()) in (6, 8)
