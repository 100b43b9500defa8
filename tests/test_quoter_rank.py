# SPDX-License-Identifier: Apache-2.0
"""quoter_rank: the table of right values, what each option does, what a result looks like."""

import json
import math

import numpy as np
import pytest
from reference import possible_ranks, quoter_figures, quoter_query, rank_and_tied, rank_in_list
from support import load

KEYS = [
    "MRR",
    "NDCG@5",
    "Recall@1",
    "Recall@10",
    "Recall@100",
    "MeanRank",
    "MedianRank",
    "RankVariance",
]
INF = math.inf
CLOSE_FLOAT64 = [0.7001, 0.7002, 0.7003, 0.7000]
CLOSE_FLOAT16 = [float(x) for x in np.array(CLOSE_FLOAT64, dtype=np.float16)]
RANK_10 = [float(-c) for c in range(20)]
PARTIAL_TIE = [[0.9, 0.5, 0.5, 0.5, 0.1]]
LOG = math.log2

SCORES = [
    pytest.param(
        [[0.25] * 20] * 4,
        [0, 3, 7, 19],
        {},
        {
            "MRR": 0.1798869828571841,
            "NDCG@5": 0.14742295594396962,
            "Recall@1": 1 / 20,
            "Recall@10": 10 / 20,
            "Recall@100": 1.0,
            "MeanRank": 10.5,
            "MedianRank": 10.5,
            "RankVariance": 3 / 4 * (20**2 - 1) / 12,
        },
        id="constant scorer",
    ),
    pytest.param(
        [[0.25] * 20] * 4,
        [0, 3, 7, 19],
        {"ties": "pessimistic"},
        {"MRR": 1 / 20, "NDCG@5": 0.0, "Recall@10": 0.0, "MeanRank": 20.0, "RankVariance": 0.0},
        id="constant scorer, pessimistic",
    ),
    pytest.param(
        PARTIAL_TIE,
        [2],
        {},
        {
            "MRR": (1 / 2 + 1 / 3 + 1 / 4) / 3,
            "NDCG@5": (1 / LOG(3) + 1 / LOG(4) + 1 / LOG(5)) / 3,
            "Recall@1": 0.0,
            "MeanRank": 3.0,
            "RankVariance": 0.0,
        },
        id="partial tie",
    ),
    pytest.param(
        PARTIAL_TIE,
        [2],
        {"ties": "optimistic"},
        {"MRR": 1 / 2, "NDCG@5": 1 / LOG(3), "MeanRank": 2.0},
        id="partial tie, optimistic",
    ),
    pytest.param(
        PARTIAL_TIE,
        [2],
        {"ties": "pessimistic"},
        {"MRR": 1 / 4, "NDCG@5": 1 / LOG(5), "MeanRank": 4.0},
        id="partial tie, pessimistic",
    ),
    pytest.param(
        [[0.12345678901, 0.12345678902]], [1], {}, {"MRR": 1.0}, id="false tie by float32 storage"
    ),
    pytest.param(
        [CLOSE_FLOAT16],
        [2],
        {},
        {"MRR": (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4},
        id="float16 values are a four-way tie",
    ),
    pytest.param([CLOSE_FLOAT64], [2], {}, {"MRR": 1.0}, id="the same as float64"),
    pytest.param([[-128.0, 5.0, 3.0]], [1], {}, {"MRR": 1.0}, id="int8's lowest value"),
    pytest.param([[0.9, -INF, 0.5]], [0], {}, {"MRR": 1.0}, id="minus infinity below"),
    pytest.param([[0.9, INF, 0.5]], [0], {}, {"MRR": 1 / 2}, id="infinity above"),
    pytest.param([[-INF] * 3], [1], {}, {"MRR": (1 + 1 / 2 + 1 / 3) / 3}, id="all minus infinity"),
    pytest.param([[-3.0, -1.0, -2.0]], [1], {}, {"MRR": 1.0}, id="negative scores"),
    pytest.param([[-6.0, -2.0, -4.0]], [1], {}, {"MRR": 1.0}, id="negative scores, doubled"),
    pytest.param([[0.0, -0.0, -1.0]], [0], {}, {"MRR": 3 / 4}, id="zero and minus zero tie"),
    pytest.param(
        [[-0.5, -0.2, -0.9], [-0.3, -0.4]],
        [0, 1],
        {},
        {"MRR": 1 / 2, "MeanRank": 2.0, "RankVariance": 0.0},
        id="ragged rows",
    ),
    pytest.param([[0.5]], [0], {}, {"MRR": 1.0, "MeanRank": 1.0}, id="a pool of one"),
    pytest.param(
        [RANK_10] * 65,
        [0] * 64 + [9],
        {},
        {
            "MRR": (64 + 1 / 10) / 65,
            "NDCG@5": 64 / 65,
            "Recall@1": 64 / 65,
            "Recall@10": 1.0,
            "MeanRank": (64 + 10) / 65,
            "MedianRank": 1.0,
        },
        id="65 queries",
    ),
    pytest.param(
        [RANK_10] * 65,
        [0] * 64 + [9],
        {"protocol": "released"},
        {
            "MRR": (1 + 1 / 10) / 2,
            "NDCG@5": 1 / 2,
            "Recall@1": 64 / 65,
            "Recall@10": 1.0,
            "MeanRank": 9 / 65,
            "MedianRank": 1.0,
            "RankVariance": math.sqrt(81 / 65 - (9 / 65) ** 2),
        },
        id="65 queries, released",
    ),
    pytest.param(
        [RANK_10] * 3,
        [0, 1, 8],
        {},
        {
            "MeanRank": 4.0,
            "MedianRank": 2.0,
            "MRR": (1 + 1 / 2 + 1 / 9) / 3,
            "RankVariance": (9 + 4 + 25) / 3,
        },
        id="ranks 1, 2, 9",
    ),
    pytest.param(
        [RANK_10] * 3,
        [0, 1, 8],
        {"protocol": "released"},
        {"MeanRank": 3.0, "MedianRank": 2.0, "RankVariance": math.sqrt((9 + 4 + 25) / 3)},
        id="ranks 1, 2, 9, released",
    ),
    pytest.param(
        [RANK_10] * 4,
        [0, 1, 2, 5],
        {},
        {"MedianRank": 2.5, "NDCG@5": (1 + 1 / LOG(3) + 1 / LOG(4)) / 4},
        id="median of an even number; rank 6 is outside NDCG@5",
    ),
    pytest.param(
        [[0.5, 0.5, 0.1]],
        [0],
        {"protocol": "recipe"},
        {"MRR": 1.0, "MeanRank": 1.0},
        id="recipe takes ties as optimistic",
    ),
    pytest.param(
        [[0.5, 0.5, 0.1]],
        [1],
        {"protocol": "released"},
        {"MRR": 1.0, "MeanRank": 0.0},
        id="released takes ties as optimistic",
    ),
]

LISTS = [
    pytest.param(
        [["a", "b", "c"], ["d", "e", "f"]],
        ["b", "z"],
        {"missing": "zero"},
        {
            "MRR": 1 / 4,
            "NDCG@5": 1 / LOG(3) / 2,
            "Recall@1": 0.0,
            "Recall@10": 1 / 2,
            "missing": 1,
            "MeanRank": None,
            "MedianRank": None,
            "RankVariance": None,
        },
        id="gold absent",
    ),
    pytest.param(
        [["a", "b"], ["d", "e"]],
        ["b", "d"],
        {"missing": "zero"},
        {"MRR": 3 / 4, "missing": 0, "MeanRank": 1.5},
        id="no gold absent",
    ),
    pytest.param(
        [["To be, or not to be", "All is well"]],
        ["All is well"],
        {},
        {"MRR": 1 / 2},
        id="the quotes themselves",
    ),
    pytest.param([[7, 3, 5]], [5], {}, {"MRR": 1 / 3}, id="positions"),
    pytest.param([["a"], ["c", "b", "a"]], ["a", "a"], {}, {"MRR": 2 / 3}, id="unequal lists"),
    pytest.param([["\u00e9", "e\u0301"]], ["e\u0301"], {}, {"MRR": 1 / 2}, id="no normalising"),
    pytest.param(
        [["a", "b", "c"], ["d", "e", "f"]],
        ["b", "z"],
        {"missing": "zero", "protocol": "recipe"},
        {"MRR": 1 / 4, "missing": 1},
        id="recipe, gold absent",
    ),
    pytest.param(
        [["a"]] * 64 + [["b"]],
        ["a"] * 65,
        {"missing": "zero", "protocol": "released"},
        {"MRR": 1 / 2, "NDCG@5": 1 / 2, "Recall@1": 64 / 65, "missing": 1, "MeanRank": None},
        id="released, gold absent is 0 in its batch",
    ),
]


def same(result, expected):
    """Each expected figure within 1e-12; None and counts exactly."""
    for name, value in expected.items():
        if value is None or name == "missing":
            assert result[name] == value, name
        else:
            assert result[name] == pytest.approx(value, rel=0, abs=1e-12), name


@pytest.mark.parametrize(("predictions", "references", "options", "expected"), SCORES + LISTS)
def test_right_values(quoter_rank, predictions, references, options, expected):
    result = quoter_rank.compute(predictions=predictions, references=references, **options)
    same(result, expected)


@pytest.mark.parametrize(("predictions", "references", "options", "expected"), SCORES)
def test_reference_scores(predictions, references, options, expected):
    pairs = [rank_and_tied(*row) for row in zip(predictions, references, strict=True)]
    same(quoter_figures(pairs, **options), expected)


@pytest.mark.parametrize(("predictions", "references", "options", "expected"), LISTS)
def test_reference_lists(predictions, references, options, expected):
    pairs = [rank_in_list(*row) for row in zip(predictions, references, strict=True)]
    options = {name: value for name, value in options.items() if name != "missing"}
    same(
        quoter_figures(pairs, **options),
        {name: value for name, value in expected.items() if name != "missing"},
    )


def test_float16_array_is_taken_as_given(quoter_rank):
    predictions = np.array([CLOSE_FLOAT64], dtype=np.float16)
    result = quoter_rank.compute(predictions=predictions, references=[2])
    assert result["MRR"] == pytest.approx(25 / 48, rel=0, abs=1e-12)


RANKS = [1, 2, 9, 0]
TIED = [1, 3, 2, 0]


@pytest.mark.parametrize("ties", ["expected", "optimistic", "pessimistic"])
def test_ranks_by_name(ties):
    result = load("quoter_rank", "ranks").compute(
        predictions=RANKS[:3], references=TIED[:3], ties=ties
    )
    same(result, quoter_figures(list(zip(RANKS[:3], TIED[:3], strict=True)), ties=ties))


def test_rank_zero_is_a_missing_gold():
    metric = load("quoter_rank", "ranks")
    metric.add_batch(predictions=RANKS, references=TIED)
    with pytest.raises(ValueError, match="query 3"):
        metric.compute()
    same(
        metric.compute(missing="zero"),
        {**quoter_figures(list(zip(RANKS, TIED, strict=True))), "missing": 1},
    )


def test_keys_and_types(quoter_rank):
    result = quoter_rank.compute(predictions=PARTIAL_TIE, references=[2])
    assert sorted(result) == sorted(KEYS)
    assert {type(value) for value in result.values()} == {float}
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_types_with_missing_and_per_query(quoter_rank):
    result = quoter_rank.compute(
        predictions=[["a", "b"], ["c"]],
        references=["b", "z"],
        missing="zero",
        per_query=True,
    )
    per_query = result["per_query"]
    assert type(result["missing"]) is int
    assert sorted(per_query) == sorted(["rank", *KEYS[:5]])
    assert per_query["rank"] == [2, None]
    assert {type(x) for name in KEYS[:5] for x in per_query[name]} == {float}
    assert all(type(values) is list and len(values) == 2 for values in per_query.values())
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_missing_key_only_when_asked(quoter_rank):
    assert "missing" not in quoter_rank.compute(predictions=[["a"]], references=["a"])
    result = quoter_rank.compute(predictions=[["a"]], references=["a"], missing="zero")
    assert result["missing"] == 0


@pytest.mark.parametrize("protocol", ["standard", "recipe", "released"])
def test_per_query_is_in_standard_units(quoter_rank, protocol):
    predictions, references = [RANK_10] * 66, [*[0] * 64, 9, 3]
    result = quoter_rank.compute(
        predictions=predictions, references=references, protocol=protocol, per_query=True
    )
    rows = [quoter_query(g + 1, 1) for g in references]
    for name, values in result["per_query"].items():
        assert values == pytest.approx([row[name] for row in rows], rel=0, abs=1e-12), name


@pytest.mark.parametrize("ties", ["expected", "optimistic", "pessimistic"])
def test_per_query_under_ties(quoter_rank, ties):
    result = quoter_rank.compute(predictions=PARTIAL_TIE, references=[2], ties=ties, per_query=True)
    row = quoter_query(2, 3, ties)
    for name, values in result["per_query"].items():
        assert values == pytest.approx([row[name]], rel=0, abs=1e-12), name


def test_median_of_mean_ranks(quoter_rank):
    scores = [[0.5, 0.5, 0.1], [0.9, 0.5, 0.1], [0.5, 0.5, 0.5]]
    result = quoter_rank.compute(predictions=scores, references=[0, 1, 2])
    ranks = [possible_ranks(1, 2, "expected"), [2], possible_ranks(1, 3, "expected")]
    assert result["MedianRank"] == sorted(sum(r) / len(r) for r in ranks)[1] == 2.0


@pytest.mark.parametrize(
    ("ndcg_k", "recall_k", "names"),
    [
        pytest.param(1, 3, ["NDCG@1", "Recall@3"], id="one int each"),
        pytest.param(10, (2, 50), ["NDCG@10", "Recall@2", "Recall@50"], id="several"),
        pytest.param(200, [1], ["NDCG@200", "Recall@1"], id="a list, deeper than the pool"),
    ],
)
def test_depths(quoter_rank, ndcg_k, recall_k, names):
    scores = [RANK_10, [0.5, 0.5, 0.5, 0.1], RANK_10]
    result = quoter_rank.compute(
        predictions=scores, references=[2, 0, 9], ndcg_k=ndcg_k, recall_k=recall_k
    )
    depths = (recall_k,) if isinstance(recall_k, int) else tuple(recall_k)
    expected = quoter_figures([(3, 1), (1, 3), (10, 1)], ndcg_k=ndcg_k, recall_k=depths)
    assert sorted(result) == sorted(["MRR", *names, *KEYS[5:]])
    same(result, expected)


def test_greater_is_better(quoter_rank):
    better = quoter_rank.greater_is_better
    assert {name: better[name] for name in KEYS} == {
        **dict.fromkeys(KEYS[:5], True),
        **dict.fromkeys(KEYS[5:], False),
    }
    assert {type(better[name]) for name in KEYS} == {bool}
    assert list(better) == list(KEYS)
    other = {"NDCG@10": True, "Recall@3": True, "missing": False}
    assert {name: better[name] for name in other} == other
    for name in ("NDCG", "NDCG@", "NDCG@x", "alpha-NDCG@5"):
        with pytest.raises(KeyError):
            better[name]


def test_depths_and_ranks_beyond_any_pool():
    """Nothing is as large as the depth; only tied ranks need a table, which has an end."""
    metric = load("quoter_rank", "ranks")
    result = metric.compute(
        predictions=[2**53, 9_999_996], references=[1, 5], ndcg_k=10**30, recall_k=10**30
    )
    tied = sum(1 / rank for rank in range(9_999_996, 10_000_001)) / 5
    assert result["MRR"] == pytest.approx((2.0**-53 + tied) / 2, rel=1e-9)
    assert result[f"Recall@{10**30}"] == 1.0


@pytest.mark.parametrize(
    ("options", "signature"),
    [
        pytest.param(
            {},
            "quoter_rank|protocol:standard|ties:expected|missing:error|n:1|version:0.1.0",
            id="defaults",
        ),
        pytest.param(
            {"ties": "pessimistic", "missing": "zero"},
            "quoter_rank|protocol:standard|ties:pessimistic|missing:zero|n:1|version:0.1.0",
            id="options",
        ),
        pytest.param(
            {"protocol": "released"},
            "quoter_rank|protocol:released|ties:optimistic|missing:error|n:1|version:0.1.0",
            id="released",
        ),
    ],
)
def test_signature(quoter_rank, options, signature):
    quoter_rank.compute(predictions=PARTIAL_TIE, references=[2], **options)
    assert quoter_rank.signature == signature


def test_recall_k_takes_an_expected_share(quoter_rank):
    result = quoter_rank.compute(predictions=[[0.5] * 7], references=[0], recall_k=(2, 3))
    assert result["Recall@2"] == pytest.approx(2 / 7, rel=0, abs=1e-12)
    assert result["Recall@3"] == pytest.approx(3 / 7, rel=0, abs=1e-12)
