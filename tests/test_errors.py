# SPDX-License-Identifier: Apache-2.0
"""quoter_rank: what is refused, and that a refusal leaves the metric as it was.

Each row of a table: how the metric is made and fed, the exception, and what the message must
hold. `message` is a full message where the table has one, else a tuple of fragments.
"""

import re

import numpy as np
import pytest
from reference import quoter_figures
from support import BOTH, check, load, name_of, refused

NAN = float("nan")
TWO = [{"a": ["1"], "b": []}] * 2


def row(config, predictions, references, exception, message, name):
    return pytest.param(config, predictions, references, exception, message, id=name)


POOL = [[float(c) for c in range(120)]]
ARRAY = np.array(POOL, np.float32)
GOOD_SCORES = ([[0.5, 0.25]], [1])
GOOD_LIST = ([["a", "b"]], ["b"])
GOOD_POSITIONS = ([[4, 9]], [9])
GOOD_RANKS = ([2], [1])

# Queries are counted over what was added before: one good query.
QUOTER = [
    *(
        row((), POOL, [gold], ValueError, ("`references`", str(gold), "query 1"), f"gold {gold}")
        for gold in (-100, -1, 120, 1.5)
    ),
    *(
        row((), ARRAY, [gold], ValueError, ("`references`", str(gold), "query 1"), f"array, {gold}")
        for gold in (-100, -1, 120, 1.5)
    ),
    row((), POOL, [True], BOTH, ("`references`", "True", "query 1"), "gold True"),
    row((), POOL, np.array([True]), BOTH, ("`references`",), "gold bool array"),
    row((), POOL, ["3"], BOTH, ("`references`", "3"), "gold str for scores"),
    row((), POOL, [None], BOTH, ("`references`", "None", "query 1"), "gold None"),
    row((), POOL, [NAN], ValueError, ("`references`", "nan", "query 1"), "gold NaN"),
    row((), POOL, np.array([1.5]), BOTH, ("`references`",), "gold float array"),
    row((), [[NAN, 0.5, 0.4]], [1], ValueError, ("`predictions`", "nan", "query 1"), "NaN"),
    row((), np.array([[NAN, 0.5]]), [1], ValueError, ("`predictions`", "nan", "query 1"), "array"),
    row((), [[None, 0.5]], [1], BOTH, ("`predictions`", "None", "query 1"), "None"),
    row((), [[True, False]], [1], BOTH, ("`predictions`", "bool"), "bool scores"),
    row((), np.array([[True, False]]), [1], BOTH, ("`predictions`", "bool"), "bool array"),
    row((), [[0.5, True]], [1], BOTH, ("`predictions`", "query 1"), "a bool among floats"),
    row((), [["a"]], ["a"], BOTH, ("`predictions`", "query 1"), "ids after scores"),
    row((), [[3, 1]], [1], BOTH, ("`predictions`", "query 1"), "positions after scores"),
    row((), [[0.5, 0.5]] * 2, [1], ValueError, ("predictions", "references", "2", "1"), "lengths"),
    row((), [[]], [0], ValueError, ("query 1",), "an empty row of scores"),
    row((), [0.5, 0.25], [0, 0], BOTH, ("`predictions`",), "flat scores"),
    row((), np.zeros((1, 2, 2)), [0], BOTH, ("`predictions`",), "three dimensions"),
    row((), [[0.5, "a"]], [0], BOTH, ("`predictions`", "query 1"), "a str among floats"),
    row((), [[0.5, 1j]], [0], BOTH, ("`predictions`",), "complex"),
    row((), [[0.5, 0.1]] * 3, [0, 1, 2], ValueError, ("`references`", "2", "query 3"), "third"),
]

LISTS = [
    row((), [["x", "x", "g"]], ["g"], ValueError, ("`predictions`", "x", "query 1"), "repeat"),
    row((), [["3", 4]], ["3"], ValueError, ("`predictions`", "str", "int", "query 1"), "mixed"),
    row((), [["g"]], [["g"]], BOTH, ("`references`", "one gold"), "a list as gold"),
    row((), [["3"]], [3], BOTH, ("`references`", "query 1"), "int gold for str"),
    row((), [["a", None]], ["a"], BOTH, ("`predictions`", "None", "query 1"), "None"),
    row((), [["a", ""]], [None], BOTH, ("`references`", "None", "query 1"), "gold None"),
    row((), ["abc"], ["a"], BOTH, ("`predictions`",), "a str as a ranking"),
    row((), [[0.5, 0.25]], [0], BOTH, ("`predictions`", "query 1"), "scores after ids"),
    row((), [[b"a", b"b"]], [b"a"], BOTH, ("`predictions`", "bytes"), "bytes"),
    row((), [["a"], ["b"]], ["a"], ValueError, ("predictions", "references", "2", "1"), "lengths"),
]

POSITIONS = [
    row((), [[4, 9, 4]], [9], ValueError, ("`predictions`", "4", "query 1"), "repeat"),
    row((), [[4, 9]], ["9"], BOTH, ("`references`", "query 1"), "str gold for int"),
    row((), [[4, True]], [4], BOTH, ("`predictions`",), "a bool among ints"),
    row((), [[4, 9]], [True], BOTH, ("`references`", "True", "query 1"), "gold True"),
]

RANKS = [
    row(("ranks",), [-1], [1], ValueError, ("`predictions`", "-1", "query 1"), "negative rank"),
    row(("ranks",), [2], [0], ValueError, ("`references`", "0", "query 1"), "no tied"),
    row(("ranks",), [2], [-3], ValueError, ("`references`", "-3", "query 1"), "negative tied"),
    row(("ranks",), [0], [1], ValueError, ("`references`", "1", "query 1"), "missing but tied"),
    row(("ranks",), [1.5], [1], BOTH, ("`predictions`", "1.5", "query 1"), "rank 1.5"),
    row(("ranks",), [True], [1], BOTH, ("`predictions`", "True", "query 1"), "rank True"),
    row(("ranks",), [1, 2], [1], ValueError, ("predictions", "references", "2", "1"), "lengths"),
]

NAMED = [
    row(("scores",), [["a"]], ["a"], BOTH, ("`predictions`",), "ids as scores"),
    row(("scores",), [[True, False]], [0], BOTH, ("`predictions`", "bool"), "bool as scores"),
    row(("ranking",), [[0.5, 0.25]], [0], BOTH, ("`predictions`",), "floats as ranking"),
    row(("scores",), [[3, 2]], [-1], ValueError, ("`references`", "-1"), "ints, gold -1"),
]


def feed(metric, good):
    if good is not None:
        metric.add_batch(predictions=good[0], references=good[1])


HEAD = ("config", "predictions", "references", "exception", "message")


@pytest.mark.parametrize(HEAD, QUOTER)
def test_scores_refused(config, predictions, references, exception, message):
    metric = load("quoter_rank", *config)
    feed(metric, GOOD_SCORES)
    refused(metric, predictions, references, exception, message)
    assert metric.compute() == quoter_figures([(2, 1)])


@pytest.mark.parametrize(HEAD, LISTS)
def test_lists_refused(config, predictions, references, exception, message):
    metric = load("quoter_rank", *config)
    feed(metric, GOOD_LIST)
    refused(metric, predictions, references, exception, message)
    assert metric.compute() == quoter_figures([(2, 1)])


@pytest.mark.parametrize(HEAD, POSITIONS)
def test_positions_refused(config, predictions, references, exception, message):
    metric = load("quoter_rank", *config)
    feed(metric, GOOD_POSITIONS)
    refused(metric, predictions, references, exception, message)
    assert metric.compute() == quoter_figures([(2, 1)])


@pytest.mark.parametrize(HEAD, RANKS)
def test_ranks_refused(config, predictions, references, exception, message):
    metric = load("quoter_rank", *config)
    feed(metric, GOOD_RANKS)
    refused(metric, predictions, references, exception, message)
    assert metric.compute() == quoter_figures([(2, 1)])


@pytest.mark.parametrize(HEAD, NAMED)
def test_named_kind_refuses_another(config, predictions, references, exception, message):
    with pytest.raises(exception) as caught:
        load("quoter_rank", *config).compute(predictions=predictions, references=references)
    check(caught, message)


FIRST = [
    r for r in QUOTER if "after" not in r.id and r.id not in ("third", "an empty row of scores")
]


@pytest.mark.parametrize(HEAD, FIRST)
def test_a_refused_first_batch_fixes_nothing(config, predictions, references, exception, message):
    metric = load("quoter_rank", *config)
    with pytest.raises(exception) as caught:
        metric.add_batch(predictions=predictions, references=references)
    wanted = tuple(re.sub("^query 1$", "query 0", part) for part in message)
    check(caught, wanted)
    feed(metric, GOOD_LIST)
    assert metric.compute() == quoter_figures([(2, 1)])


QUOTER_OPTIONS = [
    ({"protocol": "trec"}, ValueError, ("`protocol`", "trec")),
    ({"protocol": None}, BOTH, ("`protocol`", "None")),
    ({"ties": "random"}, ValueError, ("`ties`", "random")),
    ({"missing": "skip"}, ValueError, ("`missing`", "skip")),
    ({"protocol": "released", "ties": "expected"}, ValueError, ("`ties`", "expected")),
    ({"protocol": "recipe", "ties": "pessimistic"}, ValueError, ("`ties`", "pessimistic")),
    ({"ndcg_k": 0}, ValueError, ("`ndcg_k`", "0")),
    ({"ndcg_k": -10}, ValueError, ("`ndcg_k`", "-10")),
    ({"ndcg_k": 2.5}, BOTH, ("`ndcg_k`", "2.5")),
    ({"ndcg_k": True}, BOTH, ("`ndcg_k`", "True")),
    ({"recall_k": 0}, ValueError, ("`recall_k`", "0")),
    ({"recall_k": (1, -3)}, ValueError, ("`recall_k`", "-3")),
    ({"recall_k": (1, 2.5)}, BOTH, ("`recall_k`", "2.5")),
    ({"recall_k": "10"}, BOTH, ("`recall_k`", "10")),
    ({"recall_k": (True, 2)}, BOTH, ("`recall_k`", "True")),
]


@pytest.mark.parametrize(("options", "exception", "message"), QUOTER_OPTIONS, ids=map(
    name_of, QUOTER_OPTIONS
))  # fmt: skip
@pytest.mark.parametrize("given", [False, True], ids=["added", "given"])
def test_quoter_option_refused(quoter_rank, options, exception, message, given):
    rows = {"predictions": [[0.5, 0.25], [0.5, 0.75]], "references": [0, 0]}
    if not given:
        quoter_rank.add_batch(**rows)
    with pytest.raises(exception) as caught:
        quoter_rank.compute(**(rows if given else {}), **options)
    check(caught, message)
    assert quoter_rank.compute(**(rows if given else {})) == quoter_figures([(1, 1), (2, 1)])


def test_unknown_option(quoter_rank, search_diversity):
    for metric in (quoter_rank, search_diversity):
        with pytest.raises(TypeError, match="depth"):
            metric.compute(predictions=[["a"]], references=["a"], depth=3)


def test_unknown_config():
    with pytest.raises(ValueError, match="logits"):
        load("quoter_rank", "logits")
    with pytest.raises(ValueError, match="trec"):
        load("search_diversity", "trec")


def test_missing_gold_names_first_query_and_count(quoter_rank):
    quoter_rank.add_batch(predictions=[["a"], ["b"], ["c"]], references=["a", "z", "y"])
    quoter_rank.add_batch(predictions=[["d"]], references=["x"])
    for _ in range(2):
        with pytest.raises(ValueError, match="query 1") as caught:
            quoter_rank.compute()
        check(caught, ("`references`", "3", "missing"))
    result = quoter_rank.compute(missing="zero")
    assert (result["missing"], result["MRR"]) == (3, 1 / 4)


@pytest.mark.parametrize("name", ["quoter_rank", "search_diversity"])
def test_nothing_to_compute(name):
    metric = load(name)
    with pytest.raises(ValueError, match="predictions"):
        metric.compute()
    with pytest.raises(BOTH, match="references"):
        metric.compute(predictions=[["a"]])


SPLIT = [
    pytest.param("quoter_rank", [[3, 1, 2], [0.1, 0.2, 0.3]], [2, 2], id="scores after positions"),
    pytest.param("quoter_rank", [[0.1, 0.2], [1, 0]], [1, 1], id="positions after scores"),
    pytest.param("quoter_rank", [[0.1, 0.2], ["a"]], [1, "a"], id="ids after scores"),
    pytest.param("search_diversity", [[1, 0], [0.1, 0.2]], TWO, id="diversity, scores"),
    pytest.param("search_diversity", [[0.1, 0.2], [1, 0]], TWO, id="diversity, positions"),
    pytest.param("search_diversity", [["a"], [1, 0]], TWO, id="diversity, ids first"),
    pytest.param(
        "search_diversity", [np.array([1, 0]), np.array([0.1, 0.2])], TWO, id="diversity, arrays"
    ),
]


@pytest.mark.parametrize(("name", "predictions", "references"), SPLIT)
def test_rows_of_two_kinds_are_refused_in_one_call_and_in_two(name, predictions, references):
    metric = load(name)
    rows = {"predictions": predictions, "references": references}
    with pytest.raises(ValueError, match="^`predictions` must be .* at query 1"):
        metric.add_batch(**rows)
    metric.add_batch(predictions=predictions[:1], references=references[:1])
    with pytest.raises(ValueError, match="^`predictions` must be .* at query 1"):
        metric.add_batch(predictions=predictions[1:], references=references[1:])


def test_int_arrays_of_any_width_are_one_kind(search_diversity):
    """numpy joins uint64 and int64 as float64."""
    rows = [np.array([1, 0], np.uint64), np.array([0, 1], np.int64), [1, 0]]
    result = search_diversity.compute(predictions=rows, references=[*TWO, TWO[0]])
    plain = [[1, 0], [0, 1], [1, 0]]
    assert result == search_diversity.compute(predictions=plain, references=[*TWO, TWO[0]])
