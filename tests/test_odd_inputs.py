# SPDX-License-Identifier: Apache-2.0
"""Inputs that look like good ones: what they say is kept, or they are refused."""

import collections
import warnings

import datasets
import numpy as np
import pyarrow
import pytest
from support import TOY, load, reference_matrix

DOCS = {"a": ["1", "2"], "b": ["1"], "c": ["3"], "x": []}
HIDDEN = np.ma.masked
TIMES = np.array([2, 1, 0], "M8[ns]")


@pytest.mark.parametrize("config", ["scores", "default"])
def test_large_ints_are_not_rounded(config):
    row = [2**63 + 1, 2**63 + 2, 5] if config == "scores" else [2**53, 2**53 + 1, 0.5]
    assert load("quoter_rank", config).compute(predictions=[row], references=[1])["MRR"] == 1.0


REFUSED = [
    pytest.param("quoter_rank", np.ma.array([0.9, 0.5], mask=[1, 0]), 0, id="masked row"),
    pytest.param("quoter_rank", [HIDDEN, -0.5, -0.1], 1, id="masked cell"),
    pytest.param("quoter_rank", TIMES, 0, id="times as positions"),
    pytest.param("quoter_rank", [0.5, 0.1], np.datetime64(1, "ns"), id="a time as gold"),
    pytest.param("quoter_rank", ["a", np.timedelta64(1, "ns")], "a", id="a time among strings"),
    pytest.param(
        "search_diversity", np.ma.array([9.0, 5, 4, 3], mask=[1, 0, 0, 0]), DOCS, id="row"
    ),
    pytest.param("search_diversity", [HIDDEN, 0.5, 0.4, 0.3], DOCS, id="cell"),
    pytest.param("search_diversity", TIMES, DOCS, id="times"),
    pytest.param("search_diversity", [np.timedelta64(1, "ns"), 2], DOCS, id="a time"),
    pytest.param("search_diversity", ["a"], {"a": [np.datetime64(1, "ns")]}, id="a time as label"),
    pytest.param("search_diversity", [0], np.ma.array([[1, 1]], mask=[[0, 1]]), id="matrix"),
    pytest.param("search_diversity", [[np.array([0.5, 1.0])]], DOCS, id="a row too deep"),
    pytest.param("search_diversity", ["a"], {"doc_ids": None, "subtopics": [[]]}, id="no doc_ids"),
]


@pytest.mark.parametrize(("name", "prediction", "reference"), REFUSED)
def test_refused(name, prediction, reference):
    with pytest.raises(ValueError, match="^`(predictions|references)` must .* at query 0"):
        load(name).compute(predictions=[prediction], references=[reference])


def test_masked_and_sparse_containers(quoter_rank):
    sparse = pytest.importorskip("scipy.sparse")
    for rows in (np.ma.array([[0.5, 0.1]], mask=False), sparse.csr_matrix([[0.5, 0.1]])):
        with pytest.raises(TypeError, match="^`predictions` must have a row a query, got "):
            quoter_rank.compute(predictions=rows, references=[0])


def test_any_sequence_holds_rows(quoter_rank, search_diversity):
    rows, golds = collections.deque([["a", "b"]]), collections.deque(["b"])
    assert quoter_rank.compute(predictions=rows, references=golds)["MRR"] == 1 / 2
    rows, judged = collections.deque([["a"]]), collections.deque([TOY])
    assert search_diversity.compute(predictions=rows, references=judged)["S-recall@5"] == 2 / 3


def test_depths_as_arrays(quoter_rank, search_diversity):
    rows = {"predictions": [["a"]], "references": ["a"]}
    result = quoter_rank.compute(**rows, ndcg_k=np.array(3), recall_k=np.array([2, 4]))
    assert {"NDCG@3", "Recall@2", "Recall@4"} < set(result)
    rows["references"] = [TOY]
    assert "ERR-IA@7" in search_diversity.compute(**rows, k=np.array(7))


@pytest.mark.parametrize("split", [False, True])
def test_empty_rankings_after_ids(search_diversity, split):
    """4,096 queries are read at a time: the last part holds nothing but an empty ranking."""
    rankings, references = [["a"]] * 4096 + [[]], [TOY] * 4097
    if split:
        search_diversity.add_batch(predictions=rankings[:-1], references=references[:-1])
        search_diversity.add_batch(predictions=[[]], references=[TOY])
        result = search_diversity.compute()
    else:
        result = search_diversity.compute(predictions=rankings, references=references)
    assert result["S-recall@5"] == pytest.approx(2 / 3 * 4096 / 4097, abs=1e-12)


MATRIX = reference_matrix(TOY)
SCORES = [0.4, 0.9, 0.1, 0.2]
FIXED = datasets.Sequence(datasets.Value("float32"), length=4)


@pytest.mark.parametrize(
    ("references", "features"),
    [
        pytest.param(MATRIX, None, id="matrix"),
        pytest.param(MATRIX, {"p": FIXED, "m": datasets.Array2D((4, 3), "int8")}, id="fixed sizes"),
        pytest.param({"doc_ids": list(TOY), "subtopics": list(TOY.values())}, None, id="struct"),
    ],
)
def test_columns_of_a_dataset(search_diversity, references, features):
    features = features and datasets.Features(features)
    rows = datasets.Dataset.from_dict({"p": [SCORES], "m": [references]}, features=features)
    expected = search_diversity.compute(predictions=[SCORES], references=[TOY])
    assert search_diversity.compute(predictions=rows["p"], references=rows["m"]) == expected
    assert search_diversity.compute(predictions=rows[:]["p"], references=rows[:]["m"]) == expected


def test_empty_rankings_of_type_null(search_diversity):
    result = search_diversity.compute(predictions=pyarrow.array([[]]), references=[TOY])
    assert set(result.values()) == {0.0}


@pytest.mark.parametrize("prediction", [[0, 1], [0.5, 0.25]], ids=["positions", "scores"])
def test_matrix_without_columns_scores_zero(search_diversity, prediction):
    rows = {"predictions": [prediction], "references": [np.zeros((2, 0), int)]}
    result = search_diversity.compute(**rows, per_query=True)
    assert result.pop("per_query")["Judged@5"] == [1.0]
    assert set(result.values()) == {0.0}


@pytest.mark.parametrize("count", range(1, 110))
def test_no_warning_at_four_fifths_judged(search_diversity, count):
    references = [{f"d{i}": ["1"] for i in range(4)}] * count
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search_diversity.compute(
            predictions=[["d0", "d1", "d2", "d3", "u"]] * count, references=references, k=5
        )


def test_a_warning_made_an_error_loses_no_rows(search_diversity):
    search_diversity.add_batch(predictions=[[0.0] * 4], references=[TOY])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="1 of 1 queries have equal scores"):
            search_diversity.compute()
    with pytest.warns(UserWarning, match="2 of 2 queries have equal scores"):
        search_diversity.compute(predictions=[[0.0] * 4], references=[TOY])


@pytest.mark.parametrize("label", ["9" * 5000, "\ud800"], ids=["long number", "surrogate"])
def test_labels_beyond_what_python_converts(search_diversity, label):
    result = search_diversity.compute(predictions=[["a"]], references=[{"a": [label, "1"]}])
    assert result["S-recall@5"] == 1.0


def test_signature_tells_alphas_apart(search_diversity):
    seen = set()
    for alpha in (0.1234567, 0.1234568, -0.0, 0):
        search_diversity.compute(predictions=[["a"]], references=[TOY], alpha=alpha)
        seen.add(search_diversity.signature.split("|")[2])
    assert seen == {"alpha:0.1234567", "alpha:0.1234568", "alpha:0.0"}


def test_matrices_as_tensors(search_diversity):
    torch = pytest.importorskip("torch")
    expected = search_diversity.compute(predictions=[SCORES], references=[TOY])
    for dtype in (torch.float32, torch.bfloat16):
        matrix = torch.tensor(MATRIX, dtype=dtype, requires_grad=True)
        result = search_diversity.compute(predictions=[SCORES], references=[matrix])
        assert result == expected
