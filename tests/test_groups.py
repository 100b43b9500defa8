# SPDX-License-Identifier: Apache-2.0
"""`groups`: figures of each group as of its rows alone, and their means over the groups."""

import math
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quotediv.metrics.quoter_rank.quoter_rank import QuoterRank
from quotediv.metrics.search_diversity.search_diversity import SearchDiversity

QUOTER = [
    {"protocol": "standard", "ties": ties, "figures": figures}
    for ties in ("expected", "optimistic", "pessimistic")
    for figures in (None, ("NDCG@3", "MRR@2", "MedianRank"))
] + [{"protocol": "released"}, {"protocol": "recipe", "recall_k": 2}]
DIVERSITY = [
    {"protocol": "standard", "alpha": 0.3},
    {"protocol": "standard", "figures": ("NRBP", "MAP-IA", "P-IA", "nERR-IA@2")},
    {"protocol": "released"},
    {"protocol": "recipe", "k": 3},
]
TOY = {"a": ["1", "2"], "b": ["1"], "c": ["3"], "x": []}


def quoter_rows(rng: np.random.Generator, n: int, kind: str) -> tuple[list[Any], list[Any]]:
    if kind == "scores":
        return rng.integers(0, 4, (n, 5)).astype(float).tolist(), rng.integers(0, 5, n).tolist()
    names = np.array([f"q{i}" for i in range(6)])
    rankings = [rng.permutation(names).tolist() for _ in range(n)]
    return rankings, [str(rng.choice(names)) for _ in range(n)]


def diversity_rows(rng: np.random.Generator, n: int, kind: str) -> tuple[list[Any], list[Any]]:
    docs = [f"d{i}" for i in range(5)]
    references = [
        {doc: [str(s) for s in range(3) if rng.random() < 0.4] for doc in docs} for _ in range(n)
    ]
    if kind == "scores":
        return rng.integers(0, 4, (n, 5)).astype(float).tolist(), references
    return [rng.permutation([*docs, "u"]).tolist() for _ in range(n)], references


METRICS = [(QuoterRank, quoter_rows, QUOTER), (SearchDiversity, diversity_rows, DIVERSITY)]
CASES = [
    (metric, rows, kind, options)
    for metric, rows, all_options in METRICS
    for kind in ("scores", "ranking")
    for options in all_options
]


def plain(metric: type, predictions: Any, references: Any, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric(keep_in_memory=True).compute(
            predictions=predictions, references=references, **more
        )


@pytest.mark.parametrize(("metric", "make", "kind", "options"), CASES)
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 90), many=st.integers(1, 5), ints=st.booleans()
)
def test_a_group_is_scored_as_its_rows_alone(
    metric: type,
    make: Any,
    kind: str,
    options: dict[str, Any],
    seed: int,
    n: int,
    many: int,
    ints: bool,
) -> None:
    rng = np.random.default_rng(seed)
    predictions, references = make(rng, n, kind)
    groups = [int(g) if ints else f"g{g}" for g in rng.integers(0, many, n)]
    if options["protocol"] != "released" or metric is SearchDiversity:
        options = {**options, "confidence_level": 0.9, "n_resamples": 20}
    found = plain(metric, predictions, references, groups=groups, **options)
    top = {key: value for key, value in found.items() if key not in ("by_group", "macro")}
    assert top == plain(metric, predictions, references, **options)
    assert list(found["by_group"]) == sorted(set(groups))
    for group, figures in found["by_group"].items():
        own = [i for i in range(n) if groups[i] == group]
        alone = plain(
            metric, [predictions[i] for i in own], [references[i] for i in own], **options
        )
        assert figures == {**alone, "n": len(own)}
    keys = [key for key in top if key != "confidence_interval"]
    assert list(found["macro"]) == keys
    for key in keys:
        each = [figures[key] for figures in found["by_group"].values()]
        assert found["macro"][key] == math.fsum(each) / len(each)


@pytest.mark.parametrize(("metric", "make", "options"), METRICS)
@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_any_way_to_give_them_is_the_same(
    metric: type, make: Any, options: Any, ids: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n = 40
    predictions, references = make(rng, n, "scores")
    groups = rng.choice(["en", "zh"], n).tolist()
    names = {"query_ids": list(range(n))} if ids else {}
    whole = plain(metric, predictions, references, groups=groups, per_query=True, **names)
    assert whole["per_query"]["groups"] == groups
    module = metric(keep_in_memory=True)
    for i in range(10):
        own = {"query_id": i} if ids else {}
        module.add(prediction=predictions[i], reference=references[i], group=groups[i], **own)
    own = {"query_ids": np.arange(10, 25)} if ids else {}
    column = np.array(groups[10:25])
    module.add_batch(
        predictions=predictions[10:25], references=references[10:25], groups=column, **own
    )
    own = {"query_ids": range(25, n)} if ids else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        split = module.compute(
            predictions=predictions[25:],
            references=references[25:],
            groups=groups[25:],
            per_query=True,
            **own,
        )
    assert split == whole
    if ids:
        mapping = dict(zip(range(n), groups, strict=True)) | {n: "none here"}
        assert (
            plain(metric, predictions, references, groups=mapping, per_query=True, **names) == whole
        )
        module.add_batch(predictions=predictions, references=references, query_ids=range(n))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert module.compute(groups=mapping, per_query=True) == whole


@pytest.mark.parametrize(("metric", "make", "options"), METRICS)
@pytest.mark.parametrize("ids", [False, True])
def test_several_processes_give_the_same(
    metric: type, make: Any, options: Any, ids: bool, tmp_path: Any
) -> None:
    rng = np.random.default_rng(3)
    n = 30
    predictions, references = make(rng, n, "ranking")
    if metric is QuoterRank:
        references = [ranking[int(rng.integers(6))] for ranking in predictions]
    groups = rng.integers(0, 3, n).tolist()
    modules = [
        metric(num_process=2, process_id=i, experiment_id="g", cache_dir=str(tmp_path))
        for i in (0, 1)
    ]

    def score(process: int) -> Any:
        own = slice(process, None, 2)
        names = {"query_ids": list(range(n))[own]} if ids else {}
        return modules[process].compute(
            predictions=predictions[own],
            references=references[own],
            groups=groups[own],
            per_query=ids,
            **names,
        )

    with ThreadPoolExecutor(2) as pool:
        found, nothing = pool.map(score, (0, 1))
    assert nothing is None
    order = [*range(0, n, 2), *range(1, n, 2)]
    whole = plain(
        metric,
        [predictions[i] for i in order],
        [references[i] for i in order],
        groups=[groups[i] for i in order],
        per_query=ids,
        **({"query_ids": order} if ids else {}),
    )
    assert found == whole


def test_groups_that_some_processes_lack_end_the_round(tmp_path: Any) -> None:
    modules = [
        QuoterRank("ranks", num_process=2, process_id=i, experiment_id="g", cache_dir=str(tmp_path))
        for i in (0, 1)
    ]

    def score(process: int) -> Any:
        groups = ["en"] if process else None
        return modules[process].compute(predictions=[1], references=[1], groups=groups)

    with ThreadPoolExecutor(2) as pool:
        rounds = [pool.submit(score, process) for process in (0, 1)]
    assert str(rounds[0].exception()) == (
        "`groups` must be given for all queries or for none, got none from some processes; "
        "the rows of all processes are dropped: add them again"
    )
    assert rounds[1].result() is None


def test_a_repeated_query_counts_once_in_its_group() -> None:
    module = QuoterRank("ranks", keep_in_memory=True)
    with pytest.warns(UserWarning, match="1 of 3 rows repeat"):
        found = module.compute(
            predictions=[1, 2, 1],
            references=[1, 1, 1],
            query_ids=["a", "b", "a"],
            groups=["x", "y", "x"],
        )
    assert {group: figures["n"] for group, figures in found["by_group"].items()} == {"x": 1, "y": 1}
    assert found["macro"]["MRR"] == 0.75


def test_released_orders_the_queries_of_each_group_by_id() -> None:
    rng = np.random.default_rng(0)
    rank = rng.integers(1, 9, 300)
    groups, ids = rng.integers(0, 2, 300), rng.permutation(300)
    more = {"protocol": "released"}
    module = QuoterRank("ranks", keep_in_memory=True)
    ones = np.ones(300, int)
    found = module.compute(predictions=rank, references=ones, query_ids=ids, groups=groups, **more)
    order = np.argsort(ids)
    for group in (0, 1):
        own = rank[order][groups[order] == group]
        alone = module.compute(predictions=own, references=np.ones(len(own), int), **more)
        assert found["by_group"][group] == {**alone, "n": len(own)}


def test_missing_golds_count_in_their_group() -> None:
    module = QuoterRank("ranks", keep_in_memory=True)
    found = module.compute(
        predictions=[1, 0, 2], references=[1, 0, 1], groups=["x", "y", "x"], missing="zero"
    )
    assert found["by_group"]["x"]["missing"] == 0
    assert found["by_group"]["x"]["MeanRank"] == 1.5
    assert found["by_group"]["y"]["missing"] == 1
    assert found["by_group"]["y"]["MeanRank"] is None
    assert found["macro"]["MeanRank"] is None
    assert "missing" not in found["macro"]


def test_groups_of_a_refused_call_are_kept_for_the_next() -> None:
    module = QuoterRank(keep_in_memory=True)
    rows = {"predictions": [["a", "b"], ["c", "d"]], "references": ["a", "z"]}
    with pytest.raises(ValueError, match="missing"):
        module.compute(**rows, groups=["x", "y"])
    found = module.compute(missing="zero")
    assert found["by_group"]["y"]["missing"] == 1


def test_a_group_without_a_document_of_its_reference_is_told() -> None:
    module = SearchDiversity(keep_in_memory=True)
    with pytest.warns(
        UserWarning, match="no ranking of group 'y' names a document of its reference"
    ):
        module.compute(
            predictions=[["a"]] * 5 + [["u"]], references=[TOY] * 6, groups=["x"] * 5 + ["y"], k=1
        )


ONE, TWO = {"predictions": [1], "references": [1]}, {"predictions": [1, 2], "references": [1, 1]}
REFUSED = [
    ({**TWO, "groups": ["x"]}, "`groups` must have one group for each of 2 rows, got 1"),
    ({**TWO, "groups": "xy"}, "`groups` must have one group a query, got 'xy'"),
    ({**TWO, "groups": {"x", "y"}}, None),
    ({**TWO, "groups": 3}, "`groups` must have one group a query, got 3"),
    ({**TWO, "groups": ["x", 1]}, "`groups` must be all str or all int, got 1 at query 1"),
    ({**TWO, "groups": [True, False]}, "`groups` must be str or int, got True at query 0"),
    ({**TWO, "groups": ["x", None]}, "`groups` must be str or int, got None at query 1"),
    ({**TWO, "groups": [0.5, 1.0]}, "`groups` must be str or int, got 0.5 at query 0"),
    ({**TWO, "groups": np.array([np.nan, 1])}, "`groups` must be str or int, got nan at query 0"),
    (
        {**ONE, "groups": [2**63]},
        "`groups` must be str, or int below 2**63, got a larger int at query 0",
    ),
    (
        {**ONE, "groups": {"q": "x"}},
        "`groups` must have one group a query, got a mapping; "
        "a mapping {query_id: group} needs query_ids",
    ),
    (
        {**TWO, "query_ids": ["a", "b"], "groups": {"a": "x"}},
        "`groups` must have a group for every query id, got none for 'b' at query 1",
    ),
    (
        {**TWO, "query_ids": ["a", "b"], "groups": {"a": "x", "b": 1}},
        "`groups` must be all str or all int, got 1 at query 1",
    ),
    (
        {
            "predictions": [1, 1],
            "references": [1, 1],
            "query_ids": ["a", "a"],
            "groups": ["x", "y"],
        },
        "`groups` must be one for each query id, got 'y' at query 1; "
        "another row with the query id 'a' is in group 'x'",
    ),
    ({"groups": ["x"]}, "`groups` must come with predictions, got ['x']"),
]


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_is_refused_leaves_the_rows_added_before(case: int, held: bool) -> None:
    given, text = REFUSED[case]
    module = QuoterRank("ranks", keep_in_memory=True)
    if held:
        ids = {"query_ids": ["h"]} if "query_ids" in given else {}
        group = 0 if isinstance(given["groups"], list) and type(given["groups"][0]) is int else "x"
        module.add_batch(predictions=[4], references=[1], groups=[group], **ids)
    calls = [module.compute, module.add_batch] if "predictions" in given else [module.compute]
    for call in calls:
        with pytest.raises(ValueError) as caught:
            call(**given)
        if text is not None and not held:
            assert str(caught.value) == text
        assert re.match("`groups` must", str(caught.value))
        assert len(module) == held
    if held:
        assert module.compute()["MRR"] == 0.25


@pytest.mark.parametrize("first", [None, ["x"]])
def test_groups_are_for_all_rows_or_for_none(first: Any) -> None:
    module = QuoterRank("ranks", keep_in_memory=True)
    module.add_batch(**ONE, groups=first)
    second = ["x"] if first is None else None
    got = "some" if second else "none"
    text = f"`groups` must be given for all queries or for none, got {got} at query 1"
    for call in (module.add_batch, module.compute):
        with pytest.raises(ValueError, match=re.escape(text)):
            call(**ONE, groups=second)
    assert ("by_group" in module.compute()) == (first is not None)


def test_a_mapping_that_contradicts_added_groups_is_refused() -> None:
    module = QuoterRank("ranks", keep_in_memory=True)
    module.add_batch(**ONE, query_ids=["a"], groups=["x"])
    with pytest.raises(ValueError, match="be one for each query id, got 'y' at query 0"):
        module.compute(groups={"a": "y"})
    assert module.compute(groups={"a": "x"})["by_group"]["x"]["n"] == 1
