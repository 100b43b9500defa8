# SPDX-License-Identifier: Apache-2.0
"""The error table: one call a rule, its exception and its whole message."""

import re

import numpy as np
import pytest
from support import TOY, load

NAN = float("nan")


def case(name, config, rows, exception, message):
    return pytest.param(config, rows, exception, message, id=name)


QUOTER_RANK = [
    case(
        "no predictions",
        (),
        {"references": [0]},
        TypeError,
        "`predictions` must have a row a query, got NoneType; give a dense array, a tensor or a list with a row a query",
    ),
    case(
        "a dict",
        (),
        {"predictions": {"a": 1}, "references": [0]},
        TypeError,
        "`predictions` must have a row a query, got dict; give a dense array, a tensor or a list with a row a query",
    ),
    case(
        "no rows",
        (),
        {"predictions": [], "references": []},
        ValueError,
        "`predictions` must have at least one query, got 0",
    ),
    case(
        "lengths",
        (),
        {"predictions": [["a"]], "references": ["a", "b"]},
        ValueError,
        "`predictions` must have one row for each of the 2 references, got 1",
    ),
    case(
        "one row for all",
        (),
        {"predictions": [0.5, 0.25], "references": [0, 0]},
        TypeError,
        "`predictions` must be a list a query, got 0.5 at query 0; give a list of scores, or of candidates, best first",
    ),
    case(
        "flat array",
        (),
        {"predictions": np.zeros(3), "references": [0, 0, 0]},
        ValueError,
        "`predictions` must have a row a query, got shape (3,) at query 0; give (N, C) scores or (N, K) positions",
    ),
    case(
        "bool array",
        (),
        {"predictions": np.array([[True, False]]), "references": [0]},
        ValueError,
        "`predictions` must be floats (scores), or a ranking of all strings or all ints, got bool at query 0",
    ),
    case(
        "NaN",
        (),
        {"predictions": [[NAN, 0.5, 0.4]], "references": [1]},
        ValueError,
        "`predictions` must hold no NaN, got [nan, 0.5, 0.4] at query 0",
    ),
    case(
        "None",
        (),
        {"predictions": [[None, 0.5]], "references": [1]},
        ValueError,
        "`predictions` must hold no NaN or None, got [None, 0.5] at query 0",
    ),
    case(
        "gold -1",
        (),
        {"predictions": [[0.5, 0.4]], "references": [-1]},
        ValueError,
        "`references` must be a position from 0 to 1, got -1 at query 0",
    ),
    case(
        "gold C",
        (),
        {"predictions": np.zeros((1, 120), np.float32), "references": np.array([120])},
        ValueError,
        "`references` must be a position from 0 to 119, got 120 at query 0",
    ),
    case(
        "gold 1.5",
        (),
        {"predictions": [[0.5, 0.4]], "references": [1.5]},
        ValueError,
        "`references` must be one gold a query, an int, its position in the row, got 1.5 at query 0",
    ),
    case(
        "gold float array",
        (),
        {"predictions": [[0.5, 0.4]], "references": np.array([1.0])},
        ValueError,
        "`references` must be one gold a query, an int, its position in the row, got float64 of shape (1,) from query 0 on",
    ),
    case(
        "gold True",
        (),
        {"predictions": [[0.5, 0.4]], "references": [True]},
        ValueError,
        "`references` must be one gold a query, an int, its position in the row, got True at query 0",
    ),
    case(
        "no candidates",
        (),
        {"predictions": [[0.5], np.zeros(0)], "references": [0, 0]},
        ValueError,
        "`predictions` must have at least one candidate, got 0 at query 1",
    ),
    case(
        "a str among scores",
        (),
        {"predictions": [[0.5], ["a"]], "references": [0, 0]},
        ValueError,
        "`predictions` must be scores as named or in the rows before, got ranking at query 1; scores are floats, or ints where the kind is named 'scores'",
    ),
    case(
        "duplicate",
        (),
        {"predictions": [["x", "x", "g"]], "references": ["g"]},
        ValueError,
        "`predictions` must name no candidate twice, got 'x' at query 0",
    ),
    case(
        "mixed types",
        (),
        {"predictions": [["3", 4]], "references": ["3"]},
        ValueError,
        "`predictions` must be floats (scores), or a ranking of all strings or all ints, got int and str at query 0",
    ),
    case(
        "several golds",
        (),
        {"predictions": [["g"]], "references": [["g"]]},
        ValueError,
        "`references` must be one gold a query, a str or an int, got ['g'] at query 0; repeat the query for each of its golds",
    ),
    case(
        "gold of another type",
        (),
        {"predictions": [["3"]], "references": [3]},
        ValueError,
        "`references` must be of the type of the candidates, str, got 3 at query 0",
    ),
    case(
        "negative position",
        (),
        {"predictions": [[4, -1]], "references": [4]},
        ValueError,
        "`predictions` must be positions >= 0, got -1 at query 0",
    ),
    case(
        "negative gold",
        (),
        {"predictions": [[4, 1]], "references": [-4]},
        ValueError,
        "`references` must be positions >= 0, got -4 at query 0",
    ),
    case(
        "gold absent",
        (),
        {"predictions": [["a", "b", "c"], ["d", "e", "f"]], "references": ["b", "z"]},
        ValueError,
        "`references` must be among the predictions of their query, got 1 of 2 missing, the first at query 1; pass missing='zero' to score them 0",
    ),
    case(
        "another kind than named",
        ("ranking",),
        {"predictions": [[0.5, 0.4]], "references": [0]},
        ValueError,
        "`predictions` must be ranking as named or in the rows before, got scores at query 0; scores are floats, or ints where the kind is named 'scores'",
    ),
    case(
        "rank -1",
        ("ranks",),
        {"predictions": [-1], "references": [1]},
        ValueError,
        "`predictions` must be a rank from 1 to 2**53, or 0 for a missing gold, got -1 at query 0",
    ),
    case(
        "rank 1.5",
        ("ranks",),
        {"predictions": [1.5], "references": [1]},
        ValueError,
        "`predictions` must be an int, the rank of the gold, got 1.5 at query 0",
    ),
    case(
        "rank beyond",
        ("ranks",),
        {"predictions": [2**60], "references": [1]},
        ValueError,
        "`predictions` must be a rank from 1 to 2**53, or 0 for a missing gold, got 1152921504606846976 at query 0",
    ),
    case(
        "ties beyond",
        ("ranks",),
        {"predictions": [10**7], "references": [2]},
        ValueError,
        "`references` must be 1, or end at rank 10000000 at the latest, got 2 at query 0",
    ),
    case(
        "no ties",
        ("ranks",),
        {"predictions": [2], "references": [0]},
        ValueError,
        "`references` must be >= 1, the gold included, or 0 where the rank is 0, got 0 at query 0",
    ),
    case(
        "protocol",
        (),
        {"predictions": [["a"]], "references": ["a"], "protocol": "trec"},
        ValueError,
        "`protocol` must be one of 'standard', 'released', 'recipe', got 'trec'",
    ),
    case(
        "ties",
        (),
        {"predictions": [["a"]], "references": ["a"], "ties": "expected", "protocol": "recipe"},
        ValueError,
        "`ties` must be None or 'optimistic' under protocol 'recipe', got 'expected'; protocol 'standard' takes every rule",
    ),
    case(
        "missing",
        (),
        {"predictions": [["a"]], "references": ["a"], "missing": "skip"},
        ValueError,
        "`missing` must be one of 'error', 'zero', got 'skip'",
    ),
    case(
        "depth 0",
        (),
        {"predictions": [["a"]], "references": ["a"], "recall_k": (1, 0)},
        ValueError,
        "`recall_k` must be an int >= 1, or several, got (1, 0)",
    ),
    case(
        "depth True",
        (),
        {"predictions": [["a"]], "references": ["a"], "ndcg_k": True},
        TypeError,
        "`ndcg_k` must be an int >= 1, or several, got True",
    ),
    case(
        "per_query",
        (),
        {"predictions": [["a"]], "references": ["a"], "per_query": 1},
        TypeError,
        "`per_query` must be a bool, got 1",
    ),
    case(
        "config",
        ("logits",),
        {},
        ValueError,
        "`config_name` must be one of 'default', 'scores', 'ranking', 'ranks', got 'logits'",
    ),
]

SEARCH_DIVERSITY = [
    case(
        "wrong ids",
        (),
        {"predictions": [["p"]], "references": [TOY]},
        ValueError,
        "`predictions` must name documents of their references, got not one of theirs in 1 queries; use the ids of the references",
    ),
    case(
        "lengths",
        (),
        {"predictions": [["a"]], "references": [TOY, TOY]},
        ValueError,
        "`predictions` must have one row for each of the 2 references, got 1",
    ),
    case(
        "one ranking for all",
        (),
        {"predictions": ["a", "b"], "references": [TOY, TOY]},
        TypeError,
        "`predictions` must be a list a query, got 'a' at query 0; give a list of ids or positions, best first, or of scores",
    ),
    case(
        "repeated id",
        (),
        {"predictions": [["a", "a"]], "references": [TOY]},
        ValueError,
        "`predictions` must have ids without repeats, got 'a' at query 0",
    ),
    case(
        "mixed ids",
        (),
        {"predictions": [["a", 1]], "references": [TOY]},
        ValueError,
        "`predictions` must be all str (ids), all int (positions) or all float (scores), got int and str at query 0",
    ),
    case(
        "repeated position",
        (),
        {"predictions": [[1, 1]], "references": [TOY]},
        ValueError,
        "`predictions` must name no position twice, got 1 at query 0; scores must be floats",
    ),
    case(
        "position outside",
        (),
        {"predictions": [[0, 4]], "references": [TOY]},
        ValueError,
        "`predictions` must be positions from 0 to 3, got 4 at query 0; scores must be floats",
    ),
    case(
        "position of padding",
        (),
        {"predictions": [[1]], "references": [[[1], [-100]]]},
        ValueError,
        "`predictions` must name no row of padding, got 1 at query 0",
    ),
    case(
        "too few scores",
        (),
        {"predictions": [[0.5]], "references": [TOY]},
        ValueError,
        "`predictions` must have one score for each of the 4 documents, got 1 at query 0",
    ),
    case(
        "NaN",
        (),
        {"predictions": [[0.5, NAN, 0.5, 0.5]], "references": [TOY]},
        ValueError,
        "`predictions` must hold no NaN, got nan at query 0",
    ),
    case(
        "None",
        (),
        {"predictions": [[0.5, None, 0.5, 0.5]], "references": [TOY]},
        ValueError,
        "`predictions` must hold no NaN or None, got [0.5, None, 0.5, 0.5] at query 0",
    ),
    case(
        "bool",
        (),
        {"predictions": np.ones((1, 4), bool), "references": [TOY]},
        ValueError,
        "`predictions` must be float scores or int positions, one row a query, got bool of shape (1, 4)",
    ),
    case(
        "a str for labels",
        (),
        {"predictions": [["a"]], "references": [{"a": "12"}]},
        TypeError,
        "`references` must give each document a list of its subtopics, got '12' at query 0",
    ),
    case(
        "judgements for labels",
        (),
        {"predictions": [["a"]], "references": [{"a": {"1": 1}}]},
        TypeError,
        "`references` must give each document a list of its subtopics, got {'1': 1} at query 0",
    ),
    case(
        "two types of labels",
        (),
        {"predictions": [["a"]], "references": [{"a": ["1", 2]}]},
        ValueError,
        "`references` must have subtopics of one type in a query, got str and int at query 0",
    ),
    case(
        "label None",
        (),
        {"predictions": [["a"]], "references": [{"a": [None]}]},
        ValueError,
        "`references` must have subtopics that are all str or all int, got None at query 0",
    ),
    case(
        "int document",
        (),
        {"predictions": [["a"]], "references": [{1: ["1"]}]},
        ValueError,
        "`references` must have str document ids, got 1 at query 0; int ids are taken with scores only",
    ),
    case(
        "repeated document",
        (),
        {"predictions": [["a"]], "references": [{"doc_ids": ["a", "a"], "subtopics": [["1"], []]}]},
        ValueError,
        "`references` must have doc_ids without repeats, got 'a' at query 0",
    ),
    case(
        "columns of two lengths",
        (),
        {"predictions": [["a"]], "references": [{"doc_ids": ["a"], "subtopics": []}]},
        ValueError,
        "`references` must have one subtopic list a document, got 1 doc_ids and 0 subtopics at query 0",
    ),
    case(
        "ids with a matrix",
        (),
        {"predictions": [["a"]], "references": [[[1]]]},
        ValueError,
        "`references` must name documents, got a matrix at query 0; documents of a matrix have no ids: give scores or positions",
    ),
    case(
        "cell 2",
        (),
        {"predictions": [[0]], "references": [[[2]]]},
        ValueError,
        "`references` must hold 0, 1, or -100 in rows and columns of padding, got 2 at query 0",
    ),
    case(
        "cell -100",
        (),
        {"predictions": [[0]], "references": [[[-100, 1], [0, 1]]]},
        ValueError,
        "`references` must hold -100 only in whole rows and columns of padding, got -100 at query 0",
    ),
    case(
        "bool matrix",
        (),
        {"predictions": [[0]], "references": [np.ones((1, 1), bool)]},
        ValueError,
        "`references` must be a mapping document -> subtopics, or a 0/1 matrix documents x subtopics, got an array of bool at query 0",
    ),
    case(
        "no reference",
        (),
        {"predictions": [[0]], "references": [None]},
        ValueError,
        "`references` must be a mapping document -> subtopics, or a 0/1 matrix documents x subtopics, got None at query 0",
    ),
    case(
        "protocol",
        (),
        {"predictions": [["a"]], "references": [TOY], "protocol": "trec"},
        ValueError,
        "`protocol` must be one of 'standard', 'released', 'recipe', got 'trec'",
    ),
    case(
        "alpha",
        (),
        {"predictions": [["a"]], "references": [TOY], "alpha": 1.5},
        ValueError,
        "`alpha` must be a number from 0 to 1, got 1.5",
    ),
    case(
        "alpha of recipe",
        (),
        {"predictions": [["a"]], "references": [TOY], "alpha": 0.5, "protocol": "recipe"},
        ValueError,
        "`alpha` must be None under protocol 'recipe', got 0.5; 'recipe' has no alpha; 'standard' and 'released' do",
    ),
    case(
        "k",
        (),
        {"predictions": [["a"]], "references": [TOY], "k": (5, 0)},
        ValueError,
        "`k` must be an int from 1 to 1000000, or several, got (5, 0)",
    ),
    case(
        "k True",
        (),
        {"predictions": [["a"]], "references": [TOY], "k": True},
        TypeError,
        "`k` must be an int from 1 to 1000000, or several, got True",
    ),
    case(
        "config",
        ("trec",),
        {},
        ValueError,
        "`config_name` must be one of 'standard', 'released', 'recipe', got 'trec'",
    ),
]


@pytest.mark.parametrize(
    ("name", "table"),
    [
        pytest.param(name, row, id=f"{name}: {row.id}")
        for name, rows in (("quoter_rank", QUOTER_RANK), ("search_diversity", SEARCH_DIVERSITY))
        for row in rows
    ],
)
def test_whole_message(name, table):
    config, rows, exception, message = table.values
    with pytest.raises(exception, match=f"^{re.escape(message)}$"):
        load(name, *config).compute(**rows)
