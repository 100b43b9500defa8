# SPDX-License-Identifier: Apache-2.0
"""`query_ids`: repeated rows count once, another row is refused, "released" gets its order back."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from reference import quoter_figures
from support import TOY, load, recorded

ROW = {
    "quoter_rank": ([[0.9, 0.5, 0.1], [0.2, 0.3, 0.8], [0.1, 0.2, 0.3]], [0, 1, 0]),
    "search_diversity": ([["b", "a", "x", "c"], ["c", "a"], ["x"]], [TOY] * 3),
}
both = pytest.mark.parametrize("name", ROW)


def picked(name, *index):
    predictions, references = ROW[name]
    return {
        "predictions": [predictions[i] for i in index],
        "references": [references[i] for i in index],
    }


@both
@pytest.mark.parametrize("ids", [["q0", "q1", "q2"], [7, 3, 5]], ids=["str", "int"])
def test_ids_change_no_figure(name, ids):
    metric = load(name)
    plain = metric.compute(**picked(name, 0, 1, 2), per_query=True)
    result = metric.compute(**picked(name, 0, 1, 2), query_ids=ids, per_query=True)
    assert result["per_query"].pop("query_ids") == ids
    assert result == plain
    assert "query_ids" not in plain["per_query"]


@both
def test_repeated_rows_count_once_with_one_warning(name):
    metric = load(name)
    expected = metric.compute(**picked(name, 0, 1, 2), per_query=True)
    signature = metric.signature
    for index, query_id in ((0, "q0"), (1, "q1")):
        metric.add(prediction=ROW[name][0][index], reference=ROW[name][1][index], query_id=query_id)
    metric.add_batch(**picked(name, 2, 0), query_ids=["q2", "q0"])
    result, warned = recorded(
        lambda: metric.compute(**picked(name, 1), query_ids=["q1"], per_query=True)
    )
    assert result["per_query"].pop("query_ids") == ["q0", "q1", "q2"]
    assert result == expected
    assert warned == ["2 of 5 rows repeat the `query_ids` of another and are counted once"]
    assert metric.signature == signature


CONTAINERS = {
    "tuple": tuple,
    "array": np.array,
    "array of objects": lambda ids: np.array(ids, object),
    "Arrow": lambda ids: pytest.importorskip("pyarrow").array(ids),
    "pandas": lambda ids: pytest.importorskip("pandas").Series(ids),
    "datasets": lambda ids: pytest.importorskip("datasets").Dataset.from_dict({"i": ids})["i"],
    "tensor": lambda ids: pytest.importorskip("torch").tensor(ids),
}


@both
@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_of_ids(name, container):
    ids = CONTAINERS[container]([4, 9, 2])
    result = load(name).compute(**picked(name, 0, 1, 2), query_ids=ids, per_query=True)
    assert result["per_query"]["query_ids"] == [4, 9, 2]
    assert set(map(type, result["per_query"]["query_ids"])) == {int}


# Refusals


@both
@pytest.mark.parametrize(
    ("ids", "message"),
    [
        pytest.param(["a"], "`query_ids` must have one id for each of 2 rows, got 1", id="fewer"),
        pytest.param([], "`query_ids` must have one id for each of 2 rows, got 0", id="none"),
        pytest.param("ab", "`query_ids` must have one id a query, got 'ab'", id="a string"),
        pytest.param(5, "`query_ids` must have one id a query, got 5", id="an int"),
        pytest.param(np.array(7), "`query_ids` must have one id a query, got 7", id="0-d"),
        pytest.param(
            np.array([1, 2], "datetime64[ns]"), "`query_ids` must have one id a query", id="times"
        ),
        pytest.param({"q1", "q2"}, "`query_ids` must have one id a query", id="a set"),
        pytest.param({"q1": 1, "q2": 2}, "`query_ids` must have one id a query", id="a mapping"),
        pytest.param(
            np.ma.array([1, 2], mask=[0, 1]), "`query_ids` must have one id a query", id="masked"
        ),
        pytest.param(
            [2**63, 1],
            "`query_ids` must be str, or int below 2**63, got a larger int at query 1",
            id="large",
        ),
        pytest.param([1.0, 2.0], "`query_ids` must be str or int, got 1.0 at query 1", id="floats"),
        pytest.param([True, 2], "`query_ids` must be str or int, got True at query 1", id="bool"),
        pytest.param(["a", None], "`query_ids` must be str or int, got None at query 2", id="None"),
        pytest.param(
            ["a", 2], "`query_ids` must be all str or all int, got 2 at query 2", id="two"
        ),
        pytest.param([1, 2], "`query_ids` must be all str or all int, got 1 at query 1", id="held"),
        pytest.param(
            ["q0", "q1"],
            "`query_ids` must name one query each, got 'q0' at query 1; another query has this id, "
            "and other predictions or references",
            id="another row",
        ),
        pytest.param(
            ["q1", "q1"],
            "`query_ids` must name one query each, got 'q1' at query 2; another query has this id, "
            "and other predictions or references",
            id="another row in the batch",
        ),
        pytest.param(
            None,
            "`query_ids` must be given for all queries or for none, got none at query 1",
            id="left out",
        ),
    ],
)
@pytest.mark.parametrize("way", ["add_batch", "compute"])
def test_refused_ids(name, ids, message, way):
    metric = load(name)
    metric.add_batch(**picked(name, 0), query_ids=["q0"])
    with pytest.raises(ValueError) as caught:
        getattr(metric, way)(**picked(name, 1, 2), query_ids=ids)
    assert str(caught.value) == message or (" got " not in message and message in str(caught.value))
    assert len(metric) == 1
    assert metric.compute(**picked(name, 1), query_ids=["q1"]) == load(name).compute(
        **picked(name, 0, 1)
    )


@both
def test_ids_of_later_rows_only(name):
    metric = load(name)
    metric.add_batch(**picked(name, 0))
    with pytest.raises(ValueError, match="for all queries or for none, got some at query 1"):
        metric.add_batch(**picked(name, 1), query_ids=["q1"])
    assert metric.compute() == load(name).compute(**picked(name, 0))


@both
def test_ids_without_rows(name):
    metric = load(name)
    metric.add_batch(**picked(name, 0))
    with pytest.raises(ValueError, match="`query_ids` must come with predictions"):
        metric.compute(query_ids=["q0"])
    assert len(metric) == 1


def test_a_changed_reference_is_another_row():
    metric = load("search_diversity")
    metric.add_batch(predictions=[["b", "a"]], references=[TOY], query_ids=["q"])
    changed = {**TOY, "x": ["3"]}
    with pytest.raises(ValueError, match="must name one query each, got 'q' at query 1"):
        metric.add_batch(predictions=[["b", "a"]], references=[changed], query_ids=["q"])


OTHER_DOCUMENTS = {
    "judged": ([["a", "b"]], [{"a": ["1"], "c": []}]),
    "ranked": ([["a", "z"]], [{"a": ["1"], "b": []}]),
    "columns": ([["a", "b"]], [{"doc_ids": ["a", "bb"], "subtopics": [["1"], []]}]),
    "parted elsewhere": ([["ab"]], [{"a": ["1"], "b": []}]),
}


@pytest.mark.parametrize("case", OTHER_DOCUMENTS)
@pytest.mark.parametrize("way", ["add_batch", "compute"])
def test_other_documents_of_the_same_pattern_are_another_row(case, way):
    metric = load("search_diversity")
    metric.add_batch(predictions=[["a", "y"]], references=[{"a": ["1"], "b": []}], query_ids=["q"])
    predictions, references = OTHER_DOCUMENTS[case]
    with pytest.raises(ValueError, match="must name one query each, got 'q' at query 1"):
        getattr(metric, way)(predictions=predictions, references=references, query_ids=["q"])
    assert len(metric) == 1


EMPTY = {
    "ranking": ([], {"a": ["1"]}),
    "reference": (["a"], {}),
    "both": ([], {}),
}


@pytest.mark.parametrize("case", EMPTY)
@pytest.mark.parametrize("neighbour", [0, 1, 4095])
def test_a_row_is_the_same_beside_any_other(case, neighbour):
    """Whatever stands in the same batch, or in the same part of a large one."""
    ranking, documents = EMPTY[case]
    metric = load("search_diversity")
    others = {"predictions": [["b"]] * neighbour, "references": [{"b": ["1"]}] * neighbour}
    metric.add_batch(
        predictions=[ranking, *others["predictions"]],
        references=[documents, *others["references"]],
        query_ids=list(range(neighbour + 1)),
    )
    metric.add_batch(predictions=[["b"]], references=[{"b": ["1"]}], query_ids=[-1])
    _, warned = recorded(
        lambda: metric.compute(predictions=[ranking], references=[documents], query_ids=[0])
    )
    assert f"1 of {neighbour + 3} rows repeat the `query_ids` of another" in warned[0]


def test_the_same_documents_in_another_form_are_the_same_row():
    pa = pytest.importorskip("pyarrow")
    metric = load("search_diversity")
    judged = {"a": ["1"], "b": [], "long-document-name": ["2"]}
    columns = {"doc_ids": list(judged), "subtopics": list(judged.values())}
    ranking = [["b", "a", "not judged"]]
    table = pa.table({name: [column] for name, column in columns.items()})
    for references in ([judged], [columns], table):
        metric.add_batch(predictions=ranking, references=references, query_ids=["q"])
    metric.add_batch(predictions=pa.array(ranking), references=table, query_ids=["q"])
    result, warned = recorded(metric.compute)
    expected, _ = recorded(
        lambda: load("search_diversity").compute(predictions=ranking, references=[judged])
    )
    assert result == expected
    assert warned[0] == "3 of 4 rows repeat the `query_ids` of another and are counted once"


def test_order_and_repeats_of_labels_make_no_other_row():
    metric, ranking = load("search_diversity"), [["a", "b"]]
    for labels in (["1", "2"], ["2", "1"], ["1", "2", "2"]):
        judged = {"a": labels, "b": ["2"]}
        metric.add_batch(predictions=ranking, references=[judged], query_ids=["q"])
    result, warned = recorded(metric.compute)
    assert result == load("search_diversity").compute(predictions=ranking, references=[judged])
    assert warned == ["2 of 3 rows repeat the `query_ids` of another and are counted once"]


@both
def test_a_data_frame_is_no_column_of_ids(name):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [3, 4]})
    with pytest.raises(ValueError, match="must have one id a query"):
        load(name).compute(**picked(name, 0, 1), query_ids=frame)


@both
def test_a_copy_has_rows_of_its_own(name):
    metric = load(name)
    metric.add_batch(**picked(name, 0), query_ids=["a"])
    made = copy.copy(metric)
    made.add_batch(**picked(name, 1), query_ids=["b"])
    assert (len(metric), len(made)) == (1, 2)
    metric.add_batch(**picked(name, 2), query_ids=["b"])
    assert metric.compute() == load(name).compute(**picked(name, 0, 2))
    assert made.compute() == load(name).compute(**picked(name, 0, 1))


def test_long_digits_have_an_order():
    ids = ["1" + "0" * 5000, "0" * 5000 + "2"]
    result = load("quoter_rank").compute(
        **picked("quoter_rank", 0, 1), query_ids=ids, protocol="released", per_query=True
    )
    assert result["per_query"]["query_ids"] == ids[::-1]


def test_configured_keeps_no_list_of_the_caller():
    depths = [3]
    metric = load("quoter_rank").configured(ndcg_k=depths)
    depths.append(7)
    assert "NDCG@7" not in metric.compute(**picked("quoter_rank", 0))


def test_waiting_rows_keep_their_ids():
    metric = load("quoter_rank")
    rows = {"predictions": [["a", "b"], ["c"]], "references": ["b", "z"]}
    with pytest.raises(ValueError, match="missing"):
        metric.compute(**rows, query_ids=["x", "y"])
    result = metric.compute(missing="zero", per_query=True)
    assert result["per_query"]["query_ids"] == ["x", "y"]
    assert result["missing"] == 1


def test_refused_ids_do_not_wait():
    metric = load("quoter_rank")
    metric.add_batch(**picked("quoter_rank", 0), query_ids=["q"])
    with pytest.raises(ValueError, match="digits"):
        metric.compute(protocol="released")
    with pytest.raises(ValueError, match="name one query each"):
        metric.compute(**picked("quoter_rank", 1), query_ids=["q"], missing="zero")
    assert metric.compute(missing="zero")["missing"] == 0


# "released" depends on the order of the queries


@pytest.mark.parametrize("kind", [int, str])
def test_released_is_scored_in_the_order_of_the_ids(kind):
    rng = np.random.default_rng(0)
    scores = rng.random((150, 30))
    gold = rng.integers(30, size=150)
    expected = load("quoter_rank").compute(
        predictions=scores, references=gold, protocol="released", per_query=True
    )
    shuffled = rng.permutation(150)
    metric = load("quoter_rank")
    without = metric.compute(
        predictions=scores[shuffled], references=gold[shuffled], protocol="released"
    )
    assert without["MRR"] != expected["MRR"]
    result = metric.compute(
        predictions=scores[shuffled],
        references=gold[shuffled],
        query_ids=[kind(i) for i in shuffled],
        protocol="released",
        per_query=True,
    )
    assert result["per_query"].pop("query_ids") == [kind(i) for i in range(150)]
    assert result == expected
    ranks = [(int(r), 1) for r in expected["per_query"]["rank"]]
    assert result["MRR"] == pytest.approx(quoter_figures(ranks, "released")["MRR"], abs=1e-12)


def test_released_needs_ids_that_have_an_order():
    with pytest.raises(ValueError) as caught:
        load("quoter_rank").compute(
            **picked("quoter_rank", 0, 1), query_ids=["1", "q2"], protocol="released"
        )
    assert str(caught.value) == (
        "`query_ids` must be ints, or strings of digits, under protocol 'released', got 'q2' at "
        "query 1; its figures depend on the order of the queries"
    )


# Metrics with other defaults

CONFIGURED = {
    "quoter_rank": {"ties": "pessimistic", "ndcg_k": (3, 10), "missing": "zero"},
    "search_diversity": {"protocol": "released", "alpha": 0.25, "k": (3, 20)},
}


@both
def test_configured_changes_the_defaults_of_the_copy(name):
    original, rows = load(name), picked(name, 0, 1, 2)
    original.add_batch(**rows)
    metric = original.configured(**CONFIGURED[name])
    assert len(metric) == 0 and len(original) == 3
    expected = load(name).compute(**rows, **CONFIGURED[name])
    assert metric.compute(**rows) == expected
    assert set(metric.greater_is_better) == set(expected)
    assert original.compute() == load(name).compute(**rows)
    parameters = inspect.signature(metric.compute).parameters
    assert all(parameters[key].default == value for key, value in CONFIGURED[name].items())
    key = list(CONFIGURED[name])[-1]
    other = {"missing": "error", "k": 7}[key]
    assert metric.compute(**rows, **{key: other}) == load(name).compute(
        **rows, **{**CONFIGURED[name], key: other}
    )


@both
def test_configured_twice(name):
    (first, value), *rest = CONFIGURED[name].items()
    metric = load(name).configured(**{first: value}).configured(**dict(rest))
    rows = picked(name, 0, 1, 2)
    assert metric.compute(**rows) == load(name).compute(**rows, **CONFIGURED[name])


@both
@pytest.mark.parametrize(
    "duplicate",
    [lambda metric: pickle.loads(pickle.dumps(metric)), copy.deepcopy, copy.copy],
    ids=["pickle", "deepcopy", "copy"],
)
def test_copies_keep_the_defaults(name, duplicate):
    original = load(name).configured(**CONFIGURED[name])
    made, rows = duplicate(original), picked(name, 0, 1, 2)
    assert made.compute(**rows) == load(name).compute(**rows, **CONFIGURED[name])
    assert dict(made.greater_is_better) == dict(original.greater_is_better)
    made.add_batch(**rows)
    assert len(original) == 0
    assert made.compute.__doc__ == load(name).compute.__doc__


def test_configured_keeps_the_named_config():
    metric = load("search_diversity", "recipe").configured(k=3)
    rows = picked("search_diversity", 0, 1, 2)
    assert metric.compute(**rows) == load("search_diversity").compute(
        **rows, protocol="recipe", k=3
    )


@both
@pytest.mark.parametrize("value", [True, False])
def test_per_query_is_not_configured(name, value):
    with pytest.raises(ValueError, match="`per_query` must be given to compute"):
        load(name).configured(per_query=value)


@both
@pytest.mark.parametrize("option", ["gamma", "predictions", "query_ids"])
def test_unknown_options_are_not_configured(name, option):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{option}'"):
        load(name).configured(**{option: None})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("quoter_rank", {"ties": "random"}, "`ties` must be one of"),
        ("quoter_rank", {"protocol": "released", "ties": "expected"}, "`ties` must be None"),
        ("quoter_rank", {"ndcg_k": 0}, "`ndcg_k` must be an int >= 1"),
        ("search_diversity", {"k": 0}, "`k` must be an int from 1"),
        ("search_diversity", {"protocol": "recipe", "alpha": 0.5}, "`alpha` must be None"),
    ],
)
def test_wrong_options_are_refused_when_configured(name, options, message):
    with pytest.raises(ValueError, match=message):
        load(name).configured(**options)
