# SPDX-License-Identifier: Apache-2.0
"""search_diversity: the table of right values, protocols, options, what a result looks like."""

import json
import math

import pytest
from reference import diversity_figures, diversity_query
from support import TOY, TOY_RANKING, load, recorded

KEYS = ["alpha-NDCG@10", "ERR-IA@10", "S-recall@10", "alpha-NDCG@5", "ERR-IA@5", "S-recall@5"]
LOG = math.log2
PROTOCOLS = ["standard", "released", "recipe"]
LABELS = {"a": ["1", "2"], "b": ["3"], "c": ["1"]}
CYCLE = {"a": ["1", "3"], "b": ["2", "4"], "c": ["3", "4"]}
PAIR = {"a": ["1"], "b": ["1"], "c": ["2"]}
WEIGHTS = 1 + 1 / 2 / 2 + 1 / 4 / 3 + 1 / 8 / 4 + 1 / 16 / 5
TOY_GAINS = 1 + 3 / 2 / LOG(3) + 1 / LOG(5)
TOY_IDEAL = 2 + 1 / LOG(3) + 1 / 2 / LOG(4)
PAIR_GAINS = 1 + 1 / 2 / LOG(3) + 1 / LOG(4)
PAIR_IDEAL = 1 + 1 / LOG(3) + 1 / 2 / LOG(4)

CASES = [
    pytest.param(
        [TOY_RANKING],
        [TOY],
        {"k": (2, 5)},
        {
            "alpha-NDCG@5": TOY_GAINS / TOY_IDEAL,
            "ERR-IA@5": (1 + 3 / 2 / 2 + 1 / 4) / (3 * WEIGHTS),
            "S-recall@2": 2 / 3,
            "S-recall@5": 1.0,
        },
        id="toy, standard",
    ),
    pytest.param(
        [TOY_RANKING],
        [TOY],
        {"k": (2, 5), "protocol": "recipe"},
        {
            "alpha-NDCG@5": (1 + 3 / 2 / LOG(3) + 1 / LOG(5)) / (3 + 1 / LOG(3)),
            "ERR-IA@5": (1 / 2 + (1 / 4 + 1 / 2) / 2 + 1 / 2 / 4) / 3,
            "S-recall@2": 2 / 3,
        },
        id="toy, recipe",
    ),
    pytest.param(
        [TOY_RANKING],
        [TOY],
        {"k": (2, 5), "protocol": "released"},
        {
            "alpha-NDCG@5": TOY_GAINS / (2 + 1 / 2 / LOG(3) + 1 / LOG(4)),
            "ERR-IA@5": 2 / 4 / 2 + (2 / 4 / 4 + 1 / 4 / 2) / 2 + 1 / 4 / 2 / 4,
            "S-recall@2": 2 / 3,
        },
        id="toy, released",
    ),
    pytest.param(
        [["c", "b"]],
        [LABELS],
        {"k": 5},
        {
            "alpha-NDCG@5": (1 + 1 / LOG(3)) / (2 + 1 / LOG(3) + 1 / 2 / LOG(4)),
            "S-recall@5": 2 / 3,
        },
        id="the ideal is over all judged documents",
    ),
    pytest.param(
        [["x", "a", "b", "c"]],
        [LABELS],
        {"k": 5},
        {
            "alpha-NDCG@5": (2 / LOG(3) + 1 / LOG(4) + 1 / 2 / LOG(5))
            / (2 + 1 / LOG(3) + 1 / 2 / LOG(4))
        },
        id="an unjudged document keeps its rank",
    ),
    pytest.param(
        [["a", "b"]],
        [{"a": ["1", "1", "2"], "b": ["3"]}],
        {"k": 5},
        {"alpha-NDCG@5": 1.0},
        id="a label twice in one document",
    ),
    pytest.param(
        [["a", "b", "c"]],
        [CYCLE],
        {"k": 5},
        {"alpha-NDCG@5": (2 + 2 / LOG(3) + 1 / LOG(4)) / (2 + 3 / 2 / LOG(3) + 3 / 2 / LOG(4))},
        id="greedy is not optimal",
    ),
    pytest.param(
        [["a", "b"], ["c", "d"]],
        [{"a": ["1"], "b": []}, {"c": [], "d": []}],
        {},
        {"alpha-NDCG@10": 1 / 2, "S-recall@5": 1 / 2},
        id="a query with nothing relevant counts as 0",
    ),
    pytest.param(
        [["a"], ["c"]],
        [{"a": ["1"]}, {}],
        {},
        {"alpha-NDCG@10": 1 / 2, "S-recall@5": 1 / 2},
        id="an empty reference counts as 0",
    ),
    pytest.param(
        [["a"], []],
        [{"a": ["1"]}, {"b": ["1"]}],
        {},
        {"alpha-NDCG@10": 1 / 2, "S-recall@5": 1 / 2},
        id="an empty ranking counts as 0",
    ),
    pytest.param(
        [["a", "b", "c"]], [PAIR], {"alpha": 0, "k": 5}, {"alpha-NDCG@5": 1.0}, id="alpha 0"
    ),
    pytest.param(
        [["a", "b", "c"]],
        [PAIR],
        {"k": 5},
        {"alpha-NDCG@5": PAIR_GAINS / PAIR_IDEAL},
        id="alpha 0.5 by default",
    ),
    pytest.param(
        [["a", "b", "c"]],
        [PAIR],
        {"alpha": 1, "k": 5},
        {"alpha-NDCG@5": (1 + 1 / LOG(4)) / (1 + 1 / LOG(3)), "ERR-IA@5": (1 + 1 / 3) / 2},
        id="alpha 1",
    ),
    pytest.param(
        [["a", "b"]],
        [{"a": [], "b": ["1"]}],
        {"k": 5},
        {"alpha-NDCG@5": 1 / LOG(3), "S-recall@5": 1.0},
        id="a document judged and not relevant",
    ),
    pytest.param(
        [["a", "b", "c"]],
        [PAIR],
        {"k": 1},
        {"alpha-NDCG@1": 1.0, "ERR-IA@1": 1 / 2, "S-recall@1": 1 / 2},
        id="ERR-IA@1 is normalised",
    ),
]
PRINTED = [
    pytest.param([["b", "a", "x", "c"]], [TOY], {}, 0.8251055706872926, id="three definitions"),
    pytest.param([["c", "b"]], [LABELS], {}, 0.5661122946679319, id="ideal over the judged"),
    pytest.param([["x", "a", "b", "c"]], [LABELS], {}, 0.6863054483464932, id="unjudged"),
    pytest.param([["a", "b", "c"]], [CYCLE], {}, 1.017710467450658, id="greedy"),
    pytest.param([["a", "b", "c"]], [PAIR], {"alpha": 0.5}, 0.9651954696014428, id="alpha .5"),
    pytest.param([["a", "b", "c"]], [PAIR], {"alpha": 1}, 0.9197207891481876, id="alpha 1"),
]


def same(result, expected):
    for name, value in expected.items():
        assert result[name] == pytest.approx(value, rel=0, abs=1e-12), name


def compute(metric, rankings, references, **options):
    """The result, the warning on judged documents being no matter here."""
    return recorded(lambda: metric.compute(predictions=rankings, references=references, **options))[
        0
    ]


@pytest.mark.parametrize(("rankings", "references", "options", "expected"), CASES)
def test_right_values(search_diversity, rankings, references, options, expected):
    same(compute(search_diversity, rankings, references, **options), expected)


@pytest.mark.parametrize(("rankings", "references", "options", "expected"), CASES)
def test_reference_values(rankings, references, options, expected):
    depths = options.get("k", (5, 10))
    depths = (depths,) if isinstance(depths, int) else depths
    same(diversity_figures(rankings, references, **{**options, "k": depths}), expected)


@pytest.mark.parametrize(("rankings", "references", "options", "printed"), PRINTED)
def test_printed_digits(search_diversity, rankings, references, options, printed):
    result = compute(search_diversity, rankings, references, **options)
    assert result["alpha-NDCG@5"] == pytest.approx(printed, rel=0, abs=1e-14)


@pytest.mark.parametrize(
    ("protocol", "err_ia"),
    [("standard", 0.4841149773071105), ("recipe", 0.3333333333333333), ("released", 0.40625)],
)
@pytest.mark.parametrize("by_name", [False, True], ids=["option", "config name"])
def test_protocol(protocol, err_ia, by_name):
    metric = load("search_diversity", *([protocol] if by_name else []))
    options = {} if by_name else {"protocol": protocol}
    result = metric.compute(predictions=[TOY_RANKING], references=[TOY], **options)
    assert result["ERR-IA@5"] == pytest.approx(err_ia, rel=0, abs=1e-12)
    same(result, diversity_query(TOY_RANKING, TOY, protocol))
    assert metric.signature.startswith(f"search_diversity|protocol:{protocol}|")


def test_option_overrides_config_name():
    result = load("search_diversity", "recipe").compute(
        predictions=[TOY_RANKING], references=[TOY], protocol="released"
    )
    assert result["ERR-IA@5"] == pytest.approx(0.40625, rel=0, abs=1e-12)


@pytest.mark.parametrize("protocol", ["standard", "released"])
@pytest.mark.parametrize("alpha", [0, 0.1, 0.9, 1.0])
def test_alpha(search_diversity, protocol, alpha):
    result = search_diversity.compute(
        predictions=[TOY_RANKING], references=[TOY], protocol=protocol, alpha=alpha
    )
    same(result, diversity_query(TOY_RANKING, TOY, protocol, alpha))


def test_the_ideal_takes_the_larger_id_among_equal_gains(search_diversity):
    """CYCLE with "a" and "c" renamed: the ideal starts elsewhere and is higher."""
    renamed = {"c": ["1", "3"], "b": ["2", "4"], "a": ["3", "4"]}
    result = search_diversity.compute(
        predictions=[["c", "b", "a"]], references=[renamed], protocol="standard"
    )
    assert result["alpha-NDCG@5"] == 1.0


def test_larger_id_is_by_utf8_bytes(search_diversity):
    """U+FF5E sorts above U+10000 in UTF-16, below it in UTF-8."""
    documents = {"\uff5e": [], "\U00010000": ["1"]}
    result, _ = recorded(
        lambda: search_diversity.compute(predictions=[[0.0, 0.0]], references=[documents])
    )
    assert result["alpha-NDCG@5"] == 1.0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_equal_scores(search_diversity, protocol):
    """The larger id first, but reference order under released."""
    documents = {"b": ["1", "2"], "a": ["1"], "c": ["3"], "x": []}
    ranking = list("bacx") if protocol == "released" else list("xcba")
    result, _ = recorded(
        lambda: search_diversity.compute(
            predictions=[[0.5] * 4], references=[documents], protocol=protocol, k=(2, 3)
        )
    )
    same(result, diversity_query(ranking, documents, protocol, k=(2, 3)))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ties_of_the_ideal_by_protocol(search_diversity, protocol):
    """The three ideals of documents whose reference order is not their id order."""
    documents = {"d": ["1"], "a": ["2", "3"], "c": ["3", "4"], "b": ["1", "2"], "e": ["5"]}
    ranking = ["e", "b", "c", "d", "a"]
    result = search_diversity.compute(
        predictions=[ranking], references=[documents], protocol=protocol, k=(3, 5)
    )
    same(result, diversity_query(ranking, documents, protocol, k=(3, 5)))


def test_keys_and_types(search_diversity):
    result = search_diversity.compute(predictions=[TOY_RANKING], references=[TOY])
    assert sorted(result) == sorted(KEYS)
    assert {type(value) for value in result.values()} == {float}
    assert json.loads(json.dumps(result, allow_nan=False)) == result


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("k", "depths"),
    [
        pytest.param(3, (3,), id="an int"),
        pytest.param([1, 20], (1, 20), id="a list"),
        pytest.param((2, 5, 7), (2, 5, 7), id="a tuple"),
    ],
)
def test_depths(search_diversity, protocol, k, depths):
    result = search_diversity.compute(
        predictions=[TOY_RANKING], references=[TOY], k=k, protocol=protocol
    )
    expected = diversity_query(TOY_RANKING, TOY, protocol, k=depths)
    assert sorted(result) == sorted(expected)
    same(result, expected)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_per_query(search_diversity, protocol):
    rankings = [TOY_RANKING, ["c", "y", "a", "b", "z"]]
    references = [TOY, LABELS]
    result = search_diversity.compute(
        predictions=rankings, references=references, protocol=protocol, per_query=True, k=(2, 5)
    )
    rows = [
        diversity_query(*pair, protocol, k=(2, 5))
        for pair in zip(rankings, references, strict=True)
    ]
    per_query = result.pop("per_query")
    same(result, {name: (rows[0][name] + rows[1][name]) / 2 for name in rows[0]})
    assert per_query.pop("Judged@2") == [1.0, 1 / 2]
    assert per_query["Judged@5"][1] == pytest.approx(3 / 5, rel=0, abs=1e-12)
    del per_query["Judged@5"]
    assert sorted(per_query) == sorted(rows[0])
    for name, values in per_query.items():
        assert type(values) is list
        assert values == pytest.approx([row[name] for row in rows], rel=0, abs=1e-12), name
        assert {type(value) for value in values} == {float}
    json.dumps(per_query, allow_nan=False)


def test_greater_is_better(search_diversity):
    assert {name: search_diversity.greater_is_better[name] for name in KEYS} == dict.fromkeys(
        KEYS, True
    )
    assert list(search_diversity.greater_is_better) == list(KEYS)
    assert search_diversity.greater_is_better["alpha-NDCG@20"] is True
    for name in ("alpha-NDCG", "ERR-IA@", "NDCG@5", "Judged@5"):
        with pytest.raises(KeyError):
            search_diversity.greater_is_better[name]


def test_signature(search_diversity):
    search_diversity.compute(predictions=[TOY_RANKING] * 2, references=[TOY] * 2)
    signature = search_diversity.signature
    assert signature.startswith("search_diversity|protocol:standard|")
    assert "|alpha:0.5|" in signature
    assert "|n:2|" in signature
    assert signature.endswith("|version:0.1.0")
    assert "\n" not in signature


def test_recipe_at_the_limit_of_the_gain(search_diversity):
    """2.0 ** 1023 is the largest power that a float64 holds."""
    documents = {"a": [str(s) for s in range(1023)], "b": ["0"]}
    result = search_diversity.compute(
        predictions=[["b", "a"]], references=[documents], protocol="recipe", k=1
    )
    assert result["alpha-NDCG@1"] == pytest.approx(1 / (2.0**1023 - 1), rel=1e-12)


def test_recipe_beyond_the_range_of_a_float(search_diversity):
    """Three documents of the largest gain: their DCG is above every float64, the ratio is not."""
    documents = {doc: [f"{doc}{s}" for s in range(1023)] for doc in "abc"}
    result = search_diversity.compute(
        predictions=[["b", "c", "a"], ["c"]],
        references=[documents] * 2,
        protocol="recipe",
        k=3,
        per_query=True,
    )
    assert result["per_query"]["alpha-NDCG@3"] == pytest.approx(
        [1.0, 1 / (1 + 1 / LOG(3) + 1 / LOG(4))], rel=0, abs=1e-12
    )
