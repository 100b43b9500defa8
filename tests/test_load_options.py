# SPDX-License-Identifier: Apache-2.0
"""Options given to `evaluate.load`: defaults of the module, kept by copies, refused if wrong."""

import copy
import inspect
import pickle

import pytest
from support import TOY, load

ROWS = {
    "quoter_rank": {"predictions": [[0.5, 0.5, 0.1], [0.2, 0.3, 0.8]], "references": [0, 1]},
    "search_diversity": {"predictions": [["b", "a", "x", "c"]], "references": [TOY]},
    "paired_significance": {
        "predictions1": [1.0, 0.5, 0.5, 1.0],
        "predictions2": [0.5, 0.25, 0.5, 0.2],
    },
}
OPTIONS = {
    "quoter_rank": {"ties": "pessimistic", "ndcg_k": (3, 10)},
    "search_diversity": {"protocol": "recipe", "k": 3},
    "paired_significance": {"confidence_level": None, "n_resamples": 10, "random_state": 7},
}
every = pytest.mark.parametrize("name", ROWS)


@every
def test_options_at_loading_are_the_defaults(name):
    metric, plain = load(name, **OPTIONS[name]), load(name)
    expected = plain.compute(**ROWS[name], **OPTIONS[name])
    assert metric.compute(**ROWS[name]) == expected
    assert expected != load(name).compute(**ROWS[name])
    assert metric.signature == plain.signature
    parameters = inspect.signature(metric.compute).parameters
    assert all(parameters[key].default == value for key, value in OPTIONS[name].items())


@every
def test_compute_is_told_otherwise(name):
    defaults = load(name).compute.__kwdefaults__
    restored = {key: defaults[key] for key in OPTIONS[name]}
    found = load(name, **OPTIONS[name]).compute(**ROWS[name], **restored)
    assert found == load(name).compute(**ROWS[name])


@every
@pytest.mark.parametrize(
    "duplicate",
    [lambda metric: pickle.loads(pickle.dumps(metric)), copy.deepcopy, copy.copy],
    ids=["pickle", "deepcopy", "copy"],
)
def test_copies_keep_them(name, duplicate):
    made = duplicate(load(name, **OPTIONS[name]))
    assert made.compute(**ROWS[name]) == load(name).compute(**ROWS[name], **OPTIONS[name])


@every
def test_another_module_has_its_own(name):
    before = dict(load(name).compute.__kwdefaults__)
    assert load(name, **OPTIONS[name]).compute.__kwdefaults__ != before
    assert load(name).compute.__kwdefaults__ == before


def test_configured_goes_on_from_them():
    metric = load("search_diversity", protocol="released", k=3).configured(k=(2, 4))
    expected = load("search_diversity").compute(
        **ROWS["search_diversity"], protocol="released", k=(2, 4)
    )
    assert metric.compute(**ROWS["search_diversity"]) == expected
    assert set(metric.greater_is_better) == set(expected)


def test_compute_metrics_scores_by_them():
    np = pytest.importorskip("numpy")
    logits, labels = np.array([[0.5, 0.5, 0.1], [0.2, 0.3, 0.8]]), np.array([0, 1])
    metric = load("quoter_rank", ties="pessimistic")
    assert metric.compute_metrics((logits, labels)) == load("quoter_rank").compute(
        predictions=logits, references=labels, ties="pessimistic"
    )


def test_an_option_goes_before_the_named_config():
    metric = load("search_diversity", "recipe", protocol="released")
    metric.compute(**ROWS["search_diversity"])
    assert "|protocol:released|" in metric.signature


def test_compare_has_them_too():
    comparison = load("paired_significance", test="t", correction="bh", confidence_level=None)
    systems = {"A": [1.0, 0.5, 0.5], "B": [0.5, 0.25, 0.5], "C": [0.5, 0.75, 0.5]}
    expected = load("paired_significance").compare(
        systems, test="t", correction="bh", confidence_level=None
    )
    assert comparison.compare(systems) == expected
    assert "|test:t|correction:bh|" in comparison.signature
    assert copy.deepcopy(comparison).compare(systems) == expected
    assert comparison.compare.__doc__ == type(comparison).compare.__doc__


@every
@pytest.mark.parametrize("option", ["k3", "kwargs", "predictions", "references", "query_ids"])
def test_unknown_options_are_refused(name, option):
    with pytest.raises(TypeError) as caught:
        load(name, **{option: 3})
    assert f"got an unexpected keyword argument '{option}'; its options are " in str(caught.value)
    named = str(caught.value).partition("its options are ")[2].split(", ")
    defaults = {**type(load(name)).compute.__kwdefaults__, "correction": "holm"}
    assert named[-1] in ("random_state", "correction")
    for option in named:
        load(name, **{option: defaults[option]})


@every
def test_what_evaluate_itself_takes_is_no_option(name):
    metric = load(name, seed=3, timeout=7, max_concurrent_cache_files=5)
    assert (metric.seed, metric.timeout, metric.max_concurrent_cache_files) == (3, 7, 5)


WRONG = [
    ("quoter_rank", {"ties": "random"}, ValueError, "`ties` must be one of"),
    ("quoter_rank", {"protocol": "released", "ties": "expected"}, ValueError, "`ties` must be"),
    ("search_diversity", {"k": 0}, ValueError, "`k` must be an int from 1"),
    ("search_diversity", {"alpha": "half"}, TypeError, "`alpha` must be a number from 0 to 1"),
    ("search_diversity", {"per_query": True}, ValueError, "`per_query` must be given to compute"),
    ("quoter_rank", {"confidence_level": 0.9}, ValueError, "`confidence_level` must be given to"),
    ("paired_significance", {"test": "z"}, ValueError, "`test` must be one of"),
    ("paired_significance", {"test": "t", "correction": "tukey"}, ValueError, "`correction` must"),
]


@pytest.mark.parametrize(("name", "options", "exception", "message"), WRONG)
def test_wrong_values_are_refused_at_loading(name, options, exception, message):
    with pytest.raises(exception, match=message):
        load(name, **options)


def test_the_list_of_the_caller_is_not_kept():
    depths = [3]
    metric = load("quoter_rank", ndcg_k=depths)
    depths.append(7)
    assert "NDCG@7" not in metric.compute(**ROWS["quoter_rank"])
