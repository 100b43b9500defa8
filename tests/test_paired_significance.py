# SPDX-License-Identifier: Apache-2.0
"""`paired_significance` as a user meets it."""

import copy
import doctest
import itertools
import json
import pickle
import re
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from quotediv.metrics.paired_significance import scoring
from support import ROOT, run_python

stats = pytest.importorskip("scipy.stats", reason="the interval of a difference needs scipy")

RNG = np.random.default_rng
FEW = {"n_resamples": 999, "random_state": 3}
ONE, OTHER = [1.0, 0.5, 0.5, 1.0, 1.0], [0.5, 0.25, 0.5, 0.2, 0.5]


def loaded():
    import evaluate

    return evaluate.load(str(ROOT / "metrics" / "paired_significance"), keep_in_memory=True)


@pytest.fixture
def comparison():
    return loaded()


def test_it_is_a_comparison(comparison):
    import evaluate

    assert isinstance(comparison, evaluate.Comparison)
    path = str(ROOT / "metrics" / "paired_significance")
    named = evaluate.load(path, module_type="comparison", keep_in_memory=True)
    given = {"predictions1": ONE, "predictions2": OTHER}
    assert named.compute(**given) == comparison.compute(**given)


def test_examples_of_the_description(comparison, monkeypatch):
    monkeypatch.chdir(ROOT)
    test = doctest.DocTestParser().get_doctest(comparison.inputs_description, {}, "x", "x", 0)
    report = []
    results = doctest.DocTestRunner().run(test, out=report.append)
    assert results.attempted >= 4
    assert results.failed == 0, "".join(report)


def test_the_keys_of_a_result(comparison):
    result = comparison.compute(predictions1=ONE, predictions2=OTHER, **FEW)
    d = np.array([0.5, 0.25, 0.0, 0.8, 0.5])
    assert result["difference"] == pytest.approx(d.mean(), abs=1e-15)
    assert (result["n"], result["wins"], result["ties"], result["losses"]) == (5, 4, 1, 0)
    assert result["effect_size"] == pytest.approx(d.mean() / d.std(ddof=1), abs=1e-14)
    assert result["p_value"] == 2 * 2 / 2**5  # the zero either way, the rest all + or all -
    low, high = result["confidence_interval"]
    assert 0 < low < result["difference"] < high < 0.8
    assert list(result) == [
        *("difference", "confidence_interval", "p_value", "n"),
        *("wins", "ties", "losses", "effect_size"),
    ]
    assert comparison.signature == (
        "paired_significance|test:permutation|n_resamples:999|random_state:3|n:5|version:0.1.0"
    )


def test_lower_is_better(comparison):
    given = {"predictions1": ONE, "predictions2": OTHER}
    up = comparison.compute(**given)
    down = comparison.compute(**given, greater_is_better=False)
    assert (down["wins"], down["ties"], down["losses"]) == (0, 1, 4)
    assert {**down, "wins": 4, "losses": 0} == up


def test_ties_are_equal_up_to_rounding(comparison):
    result = comparison.compute(predictions1=[0.1 + 0.2, 0.5], predictions2=[0.3, 0.5])
    assert (result["ties"], result["p_value"], result["effect_size"]) == (2, 1.0, None)


@pytest.mark.parametrize("n", [1, 3, 6, 198])
@pytest.mark.parametrize("pair", [(0.9, 0.1), (0.3, 0.1), (0.7, 0.6), (0.1 + 0.2, 0.3)])
def test_the_interval_of_equal_differences_is_their_mean(comparison, n, pair):
    result = comparison.compute(predictions1=[pair[0]] * n, predictions2=[pair[1]] * n)
    assert result["confidence_interval"] == [result["difference"]] * 2
    assert result["difference"] == pytest.approx(pair[0] - pair[1], abs=1e-12)


@pytest.mark.parametrize("test", ["permutation", "t", "wilcoxon"])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_all_differences_zero(comparison, test, n):
    result = comparison.compute(predictions1=[0.3] * n, predictions2=[0.3] * n, test=test)
    assert (result["p_value"], result["difference"], result["effect_size"]) == (1.0, 0.0, None)
    assert result["confidence_interval"] == [0.0, 0.0]


def test_t_without_spread_warns(comparison):
    with pytest.warns(UserWarning, match="all differences are the same and not 0"):
        result = comparison.compute(predictions1=[1, 2, 3], predictions2=[0, 1, 2], test="t")
    assert (result["p_value"], result["effect_size"]) == (0.0, None)


@pytest.mark.parametrize("seed", range(5))
def test_tests_are_scipys(comparison, seed):
    x, y = RNG(seed).random((2, 60))
    given = {"predictions1": x, "predictions2": y}
    t = comparison.compute(**given, test="t")["p_value"]
    assert t == pytest.approx(stats.ttest_rel(x, y).pvalue, rel=1e-10)
    assert comparison.compute(**given, test="wilcoxon")["p_value"] == stats.wilcoxon(x - y).pvalue


def test_ids_put_the_figures_in_order(comparison):
    one = {"q1": 0.1, "q2": 0.9, "q3": 0.5}
    other = {"q3": 0.5, "q1": 0.2, "q2": 0.3}
    by_id = comparison.compute(predictions1=one, predictions2=other)
    lists = {"predictions1": [0.1, 0.9, 0.5], "predictions2": [0.2, 0.3, 0.5]}
    assert by_id == comparison.compute(**lists)
    series = {
        name: pd.Series(values) for name, values in (("predictions1", one), ("predictions2", other))
    }
    assert by_id == comparison.compute(**series)
    plain = {name: pd.Series(values) for name, values in lists.items()}
    assert by_id == comparison.compute(**plain)
    assert by_id == comparison.compute(**{**plain, "predictions2": lists["predictions2"]})
    turned = {**plain, "predictions2": plain["predictions2"][::-1]}  # by the index, not the place
    assert by_id == comparison.compute(**turned)


def test_columns_of_arrow(comparison):
    given = {
        "predictions1": pa.array(ONE),
        "predictions2": pa.chunked_array([OTHER[:2], OTHER[2:]]),
    }
    expected = comparison.compute(predictions1=ONE, predictions2=OTHER)
    assert comparison.compute(**given) == expected


@pytest.mark.parametrize("form", ["float16", "float64", "bfloat16", "int64", "sparse"])
def test_tensors(comparison, form):
    torch = pytest.importorskip("torch")
    one, other = torch.tensor([1.0, 0, 1, 4]), torch.tensor([0.0, 0, 1, 2])
    if form != "sparse":
        one, other = (values.to(getattr(torch, form)) for values in (one, other))
    else:
        one, other = one.to_sparse(), other.to_sparse()
    expected = comparison.compute(predictions1=[1, 0, 1, 4], predictions2=[0, 0, 1, 2])
    assert comparison.compute(predictions1=one, predictions2=other) == expected


@pytest.mark.filterwarnings("error")
def test_differences_too_small_to_square(comparison):
    result = comparison.compute(predictions1=[1e-300, 2e-300], predictions2=[0, 0])
    assert (result["ties"], result["p_value"], result["effect_size"]) == (2, 1.0, None)


def test_any_split_into_batches(comparison):
    whole = comparison.compute(predictions1=ONE, predictions2=OTHER)
    comparison.add_batch(predictions1=ONE[:2], predictions2=OTHER[:2])
    comparison.add(prediction1=ONE[2], prediction2=OTHER[2])
    assert len(comparison) == 3
    assert comparison.compute(predictions1=ONE[3:], predictions2=OTHER[3:]) == whole
    assert len(comparison) == 0


ROWS = "be a list of numbers, one a query, or {query_id: number}"
SAME = "`predictions2` must have the query ids of predictions1, got "
FINITE = "`predictions1` must hold finite numbers, up to 1e+100, got "
NUMBERS = "`predictions1` must hold numbers, got "
REFUSED = [
    ([1.0], [1, 2], "`predictions2` must have one number for each of the 1 of predictions1, got 2"),
    ({"a": 1}, {"b": 1}, f"{SAME}'b' in predictions2 and not in predictions1, 1 such"),
    ({"a": 1, "b": 1}, {"b": 1}, f"{SAME}'a' in predictions1 and not in predictions2, 1 such"),
    ({"1": 1}, {1: 1}, f"{SAME}1 in predictions2 and not in predictions1, 1 such"),
    ({"a": 1}, [1], "`predictions2` must have query ids, or none, as predictions1 has, got no ids"),
    ([None], [1], f"{NUMBERS}None at query 0; leave the query out of both"),
    ([1, True], [1, 1], f"{NUMBERS}True at query 1"),
    (["1"], [1], f"{NUMBERS}'1' at query 0"),
    ("ab", "cd", f"`predictions1` must {ROWS}, got 'ab'"),
    ([1.0], None, f"`predictions2` must {ROWS}, got None"),
    ([np.nan], [1], f"{FINITE}nan at query 0"),
    ({"a": np.inf}, {"a": 1}, f"{FINITE}inf at query 'a'"),
    ([1e300], [1], f"{FINITE}1e+300 at query 0"),
    ([10**400], [1], f"{FINITE}inf at query 0"),
    (pa.array([0.5, None]), [1, 1], f"{NUMBERS}None at query 1; leave the query out of both"),
    (np.ma.array([0.5, 1], mask=[0, 1]), [1, 1], f"`predictions1` must {ROWS}, got a masked array"),
    ({1.0, 2.0}, [1, 1], f"`predictions1` must {ROWS}, got {{1.0, 2.0}}"),
    (
        pd.Series([0.1, 0.2], index=["a", "a"]),
        {"a": 1},
        "`predictions1` must name each query once, got 'a'",
    ),
    ([], [], "`predictions1` must have at least one query, got 0"),
    (np.ones((2, 2)), np.ones((2, 2)), f"`predictions1` must {ROWS}, got shape (2, 2)"),
]


@pytest.mark.parametrize(("one", "other", "expected"), REFUSED)
def test_figures_that_are_refused(comparison, one, other, expected):
    comparison.add_batch(predictions1=np.ones(0), predictions2=np.ones(0))
    with pytest.raises(ValueError) as refused:
        comparison.compute(predictions1=one, predictions2=other)
    assert str(refused.value) == expected


OPTIONS = [
    ({"test": "u"}, "`test` must be one of 'permutation', 't', 'wilcoxon', got 'u'"),
    ({"greater_is_better": 1}, "`greater_is_better` must be a bool, got 1"),
    ({"confidence_level": 95}, "must be None or a float between 0 and 1, got 95"),
    ({"n_resamples": 0}, "`n_resamples` must be an int >= 1, got 0"),
    ({"n_resamples": np.int64(0)}, "`n_resamples` must be an int >= 1, got 0"),
    ({"random_state": None}, "`random_state` must be an int >= 0, got None"),
]


@pytest.mark.parametrize(("options", "expected"), OPTIONS)
def test_options_that_are_refused(comparison, options, expected):
    comparison.add_batch(predictions1=ONE, predictions2=OTHER)
    for call in (comparison.compute, lambda **o: comparison.compare({"a": ONE, "b": OTHER}, **o)):
        with pytest.raises(ValueError, match=re.escape(expected)):
            call(**options)
    assert len(comparison) == 5


def test_arguments_of_other_names(comparison):
    message = "`arguments` must be figures of two systems, got 'predictions1'; give prediction1 and"
    with pytest.raises(TypeError, match=message):
        comparison.add(predictions1=1, predictions2=2)
    message = "got 'references'; give predictions1 and predictions2"
    with pytest.raises(TypeError, match=message):
        comparison.add_batch(predictions1=[1], references=[2])


def test_batches_with_ids(comparison):
    comparison.add_batch(predictions1={"a": 1}, predictions2={"a": 0})
    message = "`predictions1` must name each query once, got 'a'"
    with pytest.raises(ValueError, match=re.escape(message)):
        comparison.add_batch(predictions1={"a": 1}, predictions2={"a": 0})
    message = "`predictions1` must have query ids in all batches or in none, got none"
    with pytest.raises(ValueError, match=re.escape(message)):
        comparison.add_batch(predictions1=[1], predictions2=[0])
    assert comparison.compute(predictions1={"b": 1}, predictions2={"b": 1})["n"] == 2


# All pairs -------------------------------------------------------------------------------------


def systems(n=30, sizes=(0.0, 0.1, 0.4)):
    rng = RNG(1)
    return {f"s{i}": (rng.random(n) + size).tolist() for i, size in enumerate(sizes)}


@pytest.mark.parametrize("correction", ["holm", "bh", "tukey", None])
def test_rows_are_those_of_compute(comparison, correction):
    given = systems()
    table = comparison.compare(given, correction=correction, **FEW)
    assert f"|correction:{correction}|" in comparison.signature
    pairs = list(itertools.combinations(given, 2))
    assert [(row["system1"], row["system2"]) for row in table] == pairs
    for row, (one, other) in zip(table, pairs, strict=True):
        alone = comparison.compute(predictions1=given[one], predictions2=given[other], **FEW)
        assert row["confidence_interval"] == pytest.approx(alone.pop("confidence_interval"))
        assert {key: row[key] for key in alone} == pytest.approx(alone, rel=1e-12)
    p = np.array([row["p_value"] for row in table])
    rng = RNG(FEW["random_state"])
    expected = {
        "holm": lambda: scoring.holm(p),
        "bh": lambda: scoring.benjamini_hochberg(p),
        "tukey": lambda: scoring.randomised_tukey(
            np.array(list(given.values())), [(0, 1), (0, 2), (1, 2)], 999, rng
        ),
        None: lambda: p,
    }[correction]()
    assert [row["p_corrected"] for row in table] == expected.tolist()


@pytest.mark.parametrize("correction", ["holm", "bh", "tukey", None])
def test_a_pair_of_ties_has_p_1(comparison, correction):
    given = systems()
    given["s0 again"] = (np.array(given["s0"]) + 4e-13).tolist()
    row = comparison.compare(given, correction=correction, **FEW)[2]
    assert (row["system1"], row["system2"], row["ties"]) == ("s0", "s0 again", 30)
    assert (row["p_value"], row["p_corrected"], row["difference"]) == (1, 1, 0)
    (row,) = comparison.compare({"a": np.zeros(30), "b": np.full(30, 4e-13)}, correction=correction)
    assert (row["p_value"], row["p_corrected"], row["difference"]) == (1, 1, 0)


def test_the_table_prints_and_turns_into_a_frame(comparison):
    table = comparison.compare(systems(), **FEW)
    lines = str(table).splitlines()
    assert len(lines) == 4
    assert lines[0].split()[:3] == ["system1", "system2", "difference"]
    assert f"{table[0]['difference']:.4f}" in lines[1]
    far = comparison.compare({"a": np.ones(30), "b": np.zeros(30)}, n_resamples=99999)
    assert str(far).splitlines()[1].split()[-2:] == ["none", "<.0001"]
    for frame in (table.to_pandas(), pd.DataFrame(table)):
        assert frame.shape == (3, len(table[0]))
        assert frame["p_value"].tolist() == [row["p_value"] for row in table]


def test_systems_by_id(comparison):
    given = systems(6)
    rng = RNG(0)
    shuffled = {
        name: {f"q{i}": values[i] for i in (range(6) if name == "s0" else rng.permutation(6))}
        for name, values in given.items()
    }
    assert comparison.compare(shuffled) == comparison.compare(given)
    del shuffled["s2"]["q3"]
    message = "`s2` must have the query ids of s0, got 'q3' in s0 and not in s2, 1 such"
    with pytest.raises(ValueError, match=re.escape(message)):
        comparison.compare(shuffled)


def test_compare_refuses(comparison):
    with pytest.raises(ValueError, match="`systems` must be {name: figures} of two systems"):
        comparison.compare({"a": [1.0]})
    with pytest.raises(ValueError, match="`a` must have at least one query, got 0"):
        comparison.compare({"a": [], "b": []})
    with pytest.raises(ValueError, match="`systems` must have different names"):
        comparison.compare({1: [1.0], "1": [2.0]})
    message = "`correction` must be None, 'holm' or 'bh' where `test` is not 'permutation'"
    with pytest.raises(ValueError, match=re.escape(message)):
        comparison.compare(systems(), test="t", correction="tukey")
    with pytest.raises(ValueError, match="`correction` must be None or one of"):
        comparison.compare(systems(), correction="bonferroni")


def test_the_same_random_state_gives_the_same_bytes(comparison):
    one, other = (repr(loaded().compare(systems(), correction="tukey", **FEW)) for _ in range(2))
    assert one == other
    assert repr(comparison.compare(systems(), **{**FEW, "random_state": 4})) != one


ALONE = """
import json, socket, sys
def refuse(*args, **kwargs):
    raise AssertionError("the network was touched")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
sys.modules["quotediv"] = None
import evaluate
comparison = evaluate.load(sys.argv[1], module_type="comparison")
print(json.dumps(comparison.compute(**json.loads(sys.argv[2]))))
"""


def test_the_folder_alone_in_an_isolated_interpreter(comparison, tmp_path):
    folder = tmp_path / "alone" / "paired_significance"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "metrics" / "paired_significance", folder, ignore=ignored)
    home = tmp_path / "home"
    home.mkdir()
    given = {"predictions1": ONE, "predictions2": OTHER}
    out = run_python(ALONE, home, folder, json.dumps(given), isolated=True)
    assert json.loads(out.splitlines()[-1]) == comparison.compute(**given)


def test_a_copy_and_a_pickle_keep_their_rows_apart(comparison):
    comparison.add_batch(predictions1=ONE, predictions2=OTHER)
    copies = (copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made)))
    for twin in [made(comparison) for made in copies]:
        twin.add_batch(predictions1=ONE, predictions2=OTHER)
        assert (len(twin), len(comparison)) == (10, 5)
        assert twin.compute()["n"] == 10


def test_several_processes_are_refused(tmp_path):
    import evaluate

    path = str(ROOT / "metrics" / "paired_significance")
    metric = evaluate.load(path, num_process=2, process_id=0, experiment_id="x", cache_dir=tmp_path)
    with pytest.raises(ValueError, match="`num_process` must be 1, got 2; gather the figures"):
        metric.compute(predictions1=ONE, predictions2=OTHER)


def test_scipy_is_needed_for_intervals_only(tmp_path):
    code = """
import sys, evaluate
sys.modules["scipy.special"] = sys.modules["scipy.stats"] = None
metric = evaluate.load(sys.argv[1], keep_in_memory=True)
given = {"predictions1": [1.0, 0.75], "predictions2": [0.5, 0.0]}
print(metric.compute(**given, confidence_level=None)["p_value"])
for options in ({}, {"test": "t", "confidence_level": None}):
    try:
        metric.compute(**given, **options)
    except ImportError as error:
        print(error)
"""
    out = run_python(code, tmp_path, ROOT / "metrics" / "paired_significance")
    p, interval, t = out.splitlines()[-3:]
    assert p == "0.5"
    expected = "`confidence_level` needs scipy: pip install scipy, or pass confidence_level=None"
    assert interval == expected
    assert t == "`test` 't' needs scipy: pip install scipy"
