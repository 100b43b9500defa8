# SPDX-License-Identifier: Apache-2.0
"""search_diversity: what is refused, and that a refusal leaves the metric as it was.

Each row of a table: one bad query, the exception, and what the message must hold. `message` is a
full message where the table has one, else a tuple of fragments.
"""

import numpy as np
import pytest
from reference import diversity_query
from support import (
    BOTH,
    TOY,
    check,
    name_of,
    recorded,
    reference_columns,
    reference_matrix,
    refused,
)

NAN = float("nan")
MATRIX = reference_matrix(TOY)
SCORES = [0.5, 2.0, -1.0, 0.25]


def changed(cell, row=0, column=0, dtype=None):
    """TOY's matrix, padded by a row and a column, with one cell changed."""
    matrix = reference_matrix(TOY, 5, 4)
    matrix[row][column] = cell
    return matrix if dtype is None else np.array(matrix, dtype)


def with_columns(**values):
    return {**reference_columns(TOY), **values}


def bad(predictions, references, exception, message, name, good=None):
    """One bad query, after a good one of the same kind."""
    return pytest.param(predictions, references, exception, message, good, id=name)


IDS = (["b", "a"], TOY)
AT_1 = "query 1"
DIVERSITY = [
    bad(["a", "b", "a"], TOY, ValueError, ("`predictions`", "a", AT_1), "repeated id", IDS),
    bad(["a", 1], TOY, BOTH, ("`predictions`", AT_1), "mixed ids", IDS),
    bad(["a", None], TOY, BOTH, ("`predictions`", "None", AT_1), "id None", IDS),
    bad("ab", TOY, BOTH, ("`predictions`", AT_1), "a str as a ranking", IDS),
    bad([1, 2, 1], TOY, ValueError, ("`predictions`", "float", "query 0"), "repeated position"),
    bad([0, 4], TOY, ValueError, ("`predictions`", "4", "query 0"), "position n"),
    bad([0, -1], TOY, ValueError, ("`predictions`", "-1", "query 0"), "position -1"),
    bad([0, 4], MATRIX, ValueError, ("`predictions`", "4", "query 0"), "position n, matrix"),
    bad([0, 4], reference_matrix(TOY, 6), ValueError, ("4", "query 0"), "position of padding"),
    bad([True, False], TOY, BOTH, ("`predictions`", "bool"), "bool predictions"),
    bad(SCORES[:3], TOY, ValueError, ("`predictions`", "3", "4", "query 0"), "too few scores"),
    bad([*SCORES, 1.0], TOY, ValueError, ("`predictions`", "5", "4", "query 0"), "too many"),
    bad(SCORES[:3], MATRIX, ValueError, ("`predictions`", "query 0"), "too few, matrix"),
    bad([0.5, NAN, 1.0, 2.0], TOY, ValueError, ("`predictions`", "nan", "query 0"), "NaN"),
    bad([0.5, NAN, 1.0, 2.0], MATRIX, ValueError, ("nan", "query 0"), "NaN, matrix"),
    bad([0.5, NAN, 1.0, 2.0, 0.0], changed(0), ValueError, ("nan", "query 0"), "NaN, padded"),
    bad([0.5, None, 1.0, 2.0], TOY, BOTH, ("`predictions`", "None", "query 0"), "score None"),
    bad(["a"], {"a": "12"}, BOTH, ("`references`", "12", AT_1), "labels a str", IDS),
    bad(["a"], with_columns(subtopics=["12", [], [], []]), BOTH, ("12", AT_1), "columns", IDS),
    bad(["a"], {"a": [1, "2"]}, BOTH, ("`references`", "int", "str", AT_1), "int, str", IDS),
    bad(["a"], {"a": [1], "b": ["2"]}, BOTH, ("`references`", "int", "str", AT_1), "two", IDS),
    bad(["a"], {"a": [None]}, BOTH, ("`references`", "None", AT_1), "label None", IDS),
    bad(["a"], {"a": [1.5]}, BOTH, ("`references`", "1.5", AT_1), "label 1.5", IDS),
    bad(["a"], {"a": None}, BOTH, ("`references`", "None", AT_1), "labels None", IDS),
    bad(["a"], {1: ["1"]}, BOTH, ("`references`", "1", AT_1), "int document, ids", IDS),
    bad([0], {1: ["1"]}, BOTH, ("`references`", "1", "query 0"), "int document, positions"),
    bad(["a"], None, BOTH, ("`references`", AT_1), "reference None", IDS),
    bad(["a"], MATRIX, BOTH, ("query",), "ids with a matrix", IDS),
    bad(
        ["a"],
        {"doc_ids": ["a", "b", "a"], "subtopics": [["1"], [], []]},
        ValueError,
        ("doc_ids", "a", AT_1),
        "repeated doc_ids",
        IDS,
    ),
    bad(
        ["a"],
        {"doc_ids": ["a", "b"], "subtopics": [["1"]]},
        ValueError,
        ("doc_ids", "subtopics", AT_1),
        "columns of two lengths",
        IDS,
    ),
    bad([*SCORES, 0.0], changed(2), ValueError, ("`references`", "2", "query 0"), "cell 2"),
    bad([*SCORES, 0.0], changed(-1), ValueError, ("`references`", "-1", "query 0"), "cell -1"),
    bad([*SCORES, 0.0], changed(-100), ValueError, ("-100", "query 0"), "cell -100"),
    bad([*SCORES, 0.0], changed(1, 4), ValueError, ("`references`", "query 0"), "row half padded"),
    bad([*SCORES, 0.0], changed(1, 0, 3), ValueError, ("`references`", "query 0"), "column half"),
    bad([*SCORES, 0.0], changed(0.5), BOTH, ("`references`", "0.5", "query 0"), "cell 0.5"),
    bad(SCORES, np.array(MATRIX, bool), BOTH, ("`references`", "bool"), "bool matrix"),
    bad(SCORES, np.array(MATRIX, np.uint8), BOTH, ("`references`", "uint8"), "unsigned matrix"),
    bad(SCORES, [[True, False]] * 4, BOTH, ("`references`", "bool"), "matrix of bools"),
]


@pytest.mark.parametrize(("predictions", "references", "exception", "message", "good"), DIVERSITY)
def test_diversity_refused(search_diversity, predictions, references, exception, message, good):
    if good is not None:
        search_diversity.add_batch(predictions=[good[0]], references=[good[1]])
    refused(search_diversity, [predictions], [references], exception, message)
    if good is None:
        result, _ = recorded(
            lambda: search_diversity.compute(predictions=[IDS[0]], references=[IDS[1]])
        )
    else:
        result, _ = recorded(search_diversity.compute)
    assert result == pytest.approx(diversity_query(*IDS), rel=0, abs=1e-12)


TABLES = [
    pytest.param(["a", "b"], [["1"]], ("doc_ids", "subtopics"), id="columns of two lengths"),
    pytest.param(["a", "b", "a"], [["1"], [], []], ("a",), id="repeated doc_ids"),
    pytest.param(["a", None], [["1"], []], (), id="document null"),
    pytest.param(["a", "b"], [["1"], None], (), id="subtopics null"),
    pytest.param(["a", "b"], [["1"], [None]], (), id="label null"),
    pytest.param(None, [["1"]], (), id="doc_ids null"),
]


@pytest.mark.parametrize(("doc_ids", "subtopics", "message"), TABLES)
@pytest.mark.parametrize("wrap", ["table", "dataset"])
def test_table_refused(search_diversity, wrap, doc_ids, subtopics, message):
    """One good query was added, the first of the batch is good: the bad one is query 2."""
    pyarrow = pytest.importorskip("pyarrow")
    datasets = pytest.importorskip("datasets")
    good = reference_columns(TOY)
    rows = pyarrow.Table.from_pylist([good, {"doc_ids": doc_ids, "subtopics": subtopics}])
    references = datasets.Dataset(rows) if wrap == "dataset" else rows
    search_diversity.add_batch(predictions=[IDS[0]], references=[TOY])
    message = ("`references`", "query 2", *message)
    refused(search_diversity, [["a"], ["a"]], references, BOTH, message)
    result, _ = recorded(search_diversity.compute)
    assert result == pytest.approx(diversity_query(*IDS), rel=0, abs=1e-12)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([["a"], None], id="row"),
        pytest.param([["a"], ["b", None]], id="id"),
        pytest.param([[1.0, 2.0, 3.0, 4.0], [1.0, None, 2.0, 3.0]], id="score"),
        pytest.param([[1, 0], [1, None]], id="position"),
    ],
)
def test_null_in_a_column_of_predictions(search_diversity, rows):
    pyarrow = pytest.importorskip("pyarrow")
    references = pyarrow.Table.from_pylist([reference_columns(TOY)] * 2)
    search_diversity.add_batch(predictions=rows[:1], references=[TOY])
    message = ("`predictions`", "query 2")
    refused(search_diversity, pyarrow.array(rows), references, BOTH, message)


def test_table_without_the_columns(search_diversity):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"documents": [["a"]], "subtopics": [[["1"]]]})
    message = ("`references`", "doc_ids", "subtopics")
    refused(search_diversity, [["a"]], table, BOTH, message)


KINDS = [
    pytest.param(["b", "a"], [0.5, 2.0, 1.0, 0.0], id="scores after ids"),
    pytest.param(["b", "a"], [1, 0], id="positions after ids"),
    pytest.param([1, 0], ["b", "a"], id="ids after positions"),
    pytest.param([1, 0], [0.5, 2.0, 1.0, 0.0], id="scores after positions"),
    pytest.param([1.0, 2.0, 0.5, 0.0], ["b", "a"], id="ids after scores"),
    pytest.param([1.0, 2.0, 0.5, 0.0], [1, 0], id="positions after scores"),
]


@pytest.mark.parametrize(("first", "second"), KINDS)
def test_diversity_kind_is_fixed(search_diversity, first, second):
    search_diversity.add_batch(predictions=[first], references=[TOY])
    refused(search_diversity, [second], [TOY], BOTH, ("`predictions`", "query 1"))
    result, _ = recorded(search_diversity.compute)
    assert (
        result["S-recall@5"]
        == diversity_query(["b", "a", "x", "c"][: len(first)], TOY)["S-recall@5"]
    )


def test_diversity_lengths(search_diversity):
    refused(
        search_diversity, [["a"]] * 2, [TOY], ValueError, ("predictions", "references", "2", "1")
    )


DIVERSITY_OPTIONS = [
    ({"protocol": "trec"}, ValueError, ("`protocol`", "trec")),
    ({"alpha": -0.5}, ValueError, ("`alpha`", "-0.5")),
    ({"alpha": 1.5}, ValueError, ("`alpha`", "1.5")),
    ({"alpha": NAN}, ValueError, ("`alpha`", "nan")),
    ({"alpha": "0.5"}, BOTH, ("`alpha`", "0.5")),
    ({"protocol": "recipe", "alpha": 0.5}, ValueError, ("`alpha`", "0.5", "recipe")),
    ({"k": 0}, ValueError, ("`k`", "0")),
    ({"k": -10}, ValueError, ("`k`", "-10")),
    ({"k": 2.5}, BOTH, ("`k`", "2.5")),
    ({"k": True}, BOTH, ("`k`", "True")),
    ({"k": (5, 0)}, ValueError, ("`k`", "0")),
    ({"k": "10"}, BOTH, ("`k`", "10")),
]


@pytest.mark.parametrize(
    ("options", "exception", "message"), DIVERSITY_OPTIONS, ids=map(name_of, DIVERSITY_OPTIONS)
)
@pytest.mark.parametrize("given", [False, True], ids=["added", "given"])
def test_diversity_option_refused(search_diversity, options, exception, message, given):
    rows = {"predictions": [["b", "a"]], "references": [TOY]}
    if not given:
        search_diversity.add_batch(**rows)
    with pytest.raises(exception) as caught:
        search_diversity.compute(**(rows if given else {}), **options)
    check(caught, message)
    result = search_diversity.compute(**(rows if given else {}))
    assert result == pytest.approx(diversity_query(*IDS), rel=0, abs=1e-12)


def test_more_subtopics_than_the_recipe_holds(search_diversity):
    """2.0 ** 1024 is no float64; the same rows are fine under another protocol."""
    documents = {"a": [str(s) for s in range(1024)]}
    search_diversity.add_batch(predictions=[["b"], ["a"]], references=[TOY, documents])
    with pytest.raises(ValueError, match="query 1") as caught:
        search_diversity.compute(protocol="recipe")
    check(caught, ("1023", "1024"))
    assert search_diversity.compute()["S-recall@5"] == (1 / 3 + 1) / 2


def test_wrong_ids(search_diversity):
    search_diversity.add_batch(predictions=[["p"], ["q", "r"]], references=[TOY, TOY])
    with pytest.raises(ValueError, match="`predictions`"):
        search_diversity.compute()
    search_diversity.add_batch(predictions=[["a"]], references=[TOY])
    result, messages = recorded(search_diversity.compute)
    assert result["S-recall@5"] == pytest.approx(2 / 3 / 3, rel=0, abs=1e-12)
    assert len(messages) == 1


@pytest.mark.parametrize("protocol", ["standard", "released", "recipe"])
def test_references_without_a_document(search_diversity, protocol):
    search_diversity.add_batch(predictions=[["p"], ["q", "r"]], references=[{}, {}])
    with pytest.raises(ValueError, match="not one of theirs in 2 queries"):
        search_diversity.compute(protocol=protocol)
    assert len(search_diversity) == 2
