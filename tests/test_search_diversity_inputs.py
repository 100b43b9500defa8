# SPDX-License-Identifier: Apache-2.0
"""search_diversity: kinds of predictions x forms of references, the two warnings, labels' order."""

import itertools
import json

import numpy as np
import pytest
from reference import diversity_figures, diversity_query, mean, order_by_scores
from support import (
    ROOT,
    TOY,
    recorded,
    reference_columns,
    reference_matrix,
    run_python,
)

OTHER = {"p": ["4", "10"], "q": ["4"], "r": ["10", "11", "2"]}
REFERENCES = [TOY, OTHER]  # rows of both in ascending id order
SCORES = [[0.5, 2.0, -1.0, 0.25], [0.0, 3.0, 1.0]]
RANKINGS = [["b", "a", "x", "c"], ["q", "r", "p"]]
POSITIONS = [[1, 0, 3, 2], [1, 2, 0]]
EXPECTED = diversity_figures(RANKINGS, REFERENCES)


def mappings():
    return REFERENCES


def columns():
    return [reference_columns(mapping) for mapping in REFERENCES]


def matrices():
    return [reference_matrix(mapping) for mapping in REFERENCES]


def padded():
    """(2, 6, 5) array: three rows and up to two columns of padding."""
    return np.array([reference_matrix(mapping, 6, 5) for mapping in REFERENCES])


def dataset():
    datasets = pytest.importorskip("datasets")
    rows = [reference_columns(mapping) for mapping in REFERENCES]
    return datasets.Dataset.from_list([{"query_id": str(i), **row} for i, row in enumerate(rows)])


def table():
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.Table.from_pylist([reference_columns(mapping) for mapping in REFERENCES])


NAMED = [mappings, columns, dataset, table]
PREDICTIONS = [
    pytest.param(RANKINGS, id="ids"),
    pytest.param(tuple(map(tuple, RANKINGS)), id="tuples of ids"),
    pytest.param(POSITIONS, id="positions"),
    pytest.param([np.array(row, np.int16) for row in POSITIONS], id="arrays of positions"),
    pytest.param(SCORES, id="scores"),
    pytest.param([np.array(row, np.float32) for row in SCORES], id="arrays of scores"),
]


def same(result, expected):
    assert result == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize("references", NAMED)
@pytest.mark.parametrize("predictions", PREDICTIONS)
def test_named_documents(search_diversity, predictions, references):
    same(search_diversity.compute(predictions=predictions, references=references()), EXPECTED)


@pytest.mark.parametrize("references", [matrices, padded])
@pytest.mark.parametrize("predictions", PREDICTIONS[2:])
def test_matrices(search_diversity, predictions, references):
    if references is padded and isinstance(predictions[0][0], (float, np.floating)):
        predictions = [list(row) + [-100.0] * (6 - len(row)) for row in predictions]
    same(search_diversity.compute(predictions=predictions, references=references()), EXPECTED)


@pytest.mark.parametrize("fill", [-100.0, float("nan"), float("inf"), 0.0])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_scores_of_padded_rows_do_not_matter(search_diversity, fill, dtype):
    scores = np.full((2, 6), fill, dtype)
    for row, values in zip(scores, SCORES, strict=True):
        row[: len(values)] = values
    same(search_diversity.compute(predictions=scores, references=padded()), EXPECTED)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_torch(search_diversity, dtype):
    torch = pytest.importorskip("torch")
    scores = torch.full((2, 6), -100.0, dtype=getattr(torch, dtype))
    for row, values in zip(scores, SCORES, strict=True):
        row[: len(values)] = torch.tensor(values)
    labels = torch.tensor(padded())
    same(search_diversity.compute(predictions=scores, references=labels), EXPECTED)


def test_requires_grad(search_diversity):
    torch = pytest.importorskip("torch")
    scores = [torch.tensor(row, requires_grad=True) for row in SCORES]
    same(search_diversity.compute(predictions=scores, references=mappings()), EXPECTED)


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order(search_diversity, order):
    labels = np.array(padded(), order=order)
    scores = np.full((2, 6), -100.0, order=order)
    for row, values in zip(scores, SCORES, strict=True):
        row[: len(values)] = values
    same(search_diversity.compute(predictions=scores, references=labels), EXPECTED)


def test_pandas_series(search_diversity):
    pandas = pytest.importorskip("pandas")
    predictions = pandas.Series(SCORES, index=[4, 2])
    references = pandas.Series(mappings(), index=[4, 2])
    same(search_diversity.compute(predictions=predictions, references=references), EXPECTED)


@pytest.mark.parametrize(
    ("name", "rows"), [("ranking", RANKINGS), ("scores", SCORES), ("positions", POSITIONS)]
)
@pytest.mark.parametrize("maker", [dataset, table])
def test_predictions_are_a_list_column(search_diversity, name, rows, maker):
    made = maker()
    if maker is dataset:
        made = made.add_column(name, rows)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        made = made.append_column(name, pyarrow.array(rows))
    same(search_diversity.compute(predictions=made[name], references=made), EXPECTED)


@pytest.mark.parametrize("pick", ["select", "filter"])
def test_dataset_view(search_diversity, pick):
    """`select` and `filter` leave the table as it was: the view must be read, not the table."""
    made = dataset().add_column("scores", SCORES)
    if pick == "select":
        view = made.select([1])
    else:
        view = made.filter(lambda row: row["query_id"] == "1", keep_in_memory=True)
    expected = diversity_query(RANKINGS[1], OTHER)
    same(search_diversity.compute(predictions=view["scores"], references=view), expected)
    same(search_diversity.compute(predictions=SCORES[1:], references=view), expected)


def test_sliced_table(search_diversity):
    made = table()
    result = search_diversity.compute(predictions=SCORES[1:], references=made.slice(1))
    same(result, diversity_query(RANKINGS[1], OTHER))


def test_chunked_table(search_diversity):
    pyarrow = pytest.importorskip("pyarrow")
    made = pyarrow.concat_tables([table(), table()])
    same(search_diversity.compute(predictions=SCORES * 2, references=made), EXPECTED)


def test_the_beginning_of_a_permutation(search_diversity):
    result = search_diversity.compute(predictions=[[1], [1, 2]], references=mappings())
    same(result, diversity_figures([["b"], ["q", "r"]], REFERENCES))


def test_int_labels_and_int_documents(search_diversity):
    references = [{1: [1, 2], 2: [1], 3: [3], 4: []}, {1: [4, 10], 2: [4], 3: [10, 11, 2]}]
    same(search_diversity.compute(predictions=SCORES, references=references), EXPECTED)


def test_int_labels(search_diversity):
    references = [{doc: [int(s) for s in labels] for doc, labels in r.items()} for r in REFERENCES]
    same(search_diversity.compute(predictions=RANKINGS, references=references), EXPECTED)


@pytest.mark.parametrize("make", [lambda: SCORES, lambda: RANKINGS, lambda: POSITIONS])
def test_add(search_diversity, make):
    for prediction, reference in zip(make(), REFERENCES, strict=True):
        search_diversity.add(prediction=prediction, reference=reference)
    same(search_diversity.compute(), EXPECTED)


def test_add_columns_and_matrix(search_diversity):
    search_diversity.add(prediction=SCORES[0], reference=reference_columns(TOY))
    search_diversity.add(prediction=SCORES[1], reference=reference_matrix(OTHER))
    same(search_diversity.compute(), EXPECTED)


@pytest.mark.parametrize(
    ("protocol", "alpha"),
    [("standard", None), ("standard", 0.1), ("standard", 0.9), ("recipe", None)],
)
def test_mapping_and_matrix_give_the_same_bits(search_diversity, protocol, alpha):
    options = {"protocol": protocol, "alpha": alpha, "per_query": True}
    labels = [{"a": [str(s) for s in row], "b": ["1"], "c": []} for row in ([1, 3], [2, 10])]
    scores = [[0.5, 0.5, 0.25], [1.0, 2.0, 1.0]]
    by_name, _ = recorded(
        lambda: search_diversity.compute(predictions=scores, references=labels, **options)
    )
    by_matrix, _ = recorded(
        lambda: search_diversity.compute(
            predictions=scores, references=[reference_matrix(row) for row in labels], **options
        )
    )
    assert by_name == by_matrix


def ten(n_judged):
    """A ranking of ten whose reference knows the first `n_judged`."""
    docs = [f"d{i}" for i in range(10)]
    return docs, {doc: ["1"] for doc in docs[:n_judged]}


@pytest.mark.parametrize(("n_judged", "n_warnings"), [(10, 0), (8, 0), (7, 1), (1, 1)])
def test_warning_on_unjudged_documents(search_diversity, n_judged, n_warnings):
    ranking, documents = ten(n_judged)
    _, messages = recorded(
        lambda: search_diversity.compute(predictions=[ranking], references=[documents])
    )
    assert len(messages) == n_warnings
    assert all("judged" in message for message in messages)


@pytest.mark.parametrize(
    ("n_constant", "n_queries", "n_warnings"),
    [(1, 100, 0), (2, 100, 1), (0, 3, 0), (1, 3, 1)],
)
def test_warning_on_equal_scores(search_diversity, n_constant, n_queries, n_warnings):
    scores = [[0.5] * 4] * n_constant + [[4.0, 3.0, 2.0, 1.0]] * (n_queries - n_constant)
    _, messages = recorded(
        lambda: search_diversity.compute(predictions=scores, references=[TOY] * n_queries)
    )
    assert len(messages) == n_warnings
    assert all(str(n_constant) in message for message in messages)


def test_no_warning_on_equal_scores_below_the_depth(search_diversity):
    _, messages = recorded(
        lambda: search_diversity.compute(
            predictions=[[4.0, 3.0, 1.0, 1.0]], references=[TOY], k=(1, 2)
        )
    )
    assert messages == []


def test_equal_scores_across_the_depth_warn(search_diversity):
    _, messages = recorded(
        lambda: search_diversity.compute(predictions=[[4.0, 1.0, 1.0, 3.0]], references=[TOY], k=3)
    )
    assert len(messages) == 1


def test_equal_scores_of_padded_rows_do_not_warn(search_diversity):
    scores = [list(row) + [0.0] * (6 - len(row)) for row in SCORES]
    _, messages = recorded(
        lambda: search_diversity.compute(predictions=scores, references=padded())
    )
    assert messages == []


RENAMED = {"1": "10", "2": "9", "3": "2"}


@pytest.mark.parametrize("alpha", [0.1, 0.9])
def test_order_of_labels_in_a_list(search_diversity, alpha):
    ranking, labels = ["a", "b", "c"], {"b": ["9", "3"], "c": ["2"]}
    results = []
    for order in itertools.permutations(["10", "9", "2", "3"]):
        reference = {"a": list(order), **labels}
        results.append(
            search_diversity.compute(
                predictions=[ranking], references=[reference], alpha=alpha, per_query=True
            )
        )
    assert all(result == results[0] for result in results)
    same(
        {name: value for name, value in results[0].items() if name != "per_query"},
        diversity_query(ranking, {"a": ["2", "3", "9", "10"], **labels}, alpha=alpha),
    )


SEEDED = """
import json, sys
import evaluate
metric = evaluate.load(sys.argv[1], keep_in_memory=True)
toy = {doc: set(labels) for doc, labels in json.loads(sys.argv[2]).items()}
toy = {doc: list(labels) for doc, labels in toy.items()}
results = [
    metric.compute(predictions=[list("baxc")], references=[toy], alpha=alpha, per_query=True)
    for alpha in (0.1, 0.9)
]
print(json.dumps(results))
"""


def test_order_of_labels_under_three_hash_seeds(tmp_path):
    toy = {doc: [RENAMED[s] for s in labels] + ["7", "77", "x"] for doc, labels in TOY.items()}
    outputs = {
        run_python(
            SEEDED,
            tmp_path,
            ROOT / "metrics" / "search_diversity",
            json.dumps(toy),
            PYTHONHASHSEED=seed,
        )
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


def test_constant_scorer_on_du_div(search_diversity, du_div, du_div_expected):
    """File order leaks the labels: it would give 0.79918."""
    references = [du_div[query] for query in du_div_expected["test894"]]
    scores = [[0.0] * len(documents) for documents in references]
    result, messages = recorded(
        lambda: search_diversity.compute(predictions=scores, references=references)
    )
    assert result["alpha-NDCG@10"] == pytest.approx(0.7523294633573747, rel=0, abs=1e-12)
    assert len(messages) == 1
    assert "894" in messages[0]


def test_reference_of_constant_scorer(du_div, du_div_expected):
    references = [du_div[query] for query in du_div_expected["test894"]]
    rankings = [order_by_scores([0.0] * len(documents), documents) for documents in references]
    figures = [diversity_query(*pair) for pair in zip(rankings, references, strict=True)]
    value = mean([figure["alpha-NDCG@10"] for figure in figures])
    assert value == pytest.approx(0.7523294633573747, rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("doc_ids", "subtopics", "rankings"),
    [
        pytest.param([["a"], ["b"]], [[[]], [[]]], [["a"], ["b"]], id="no subtopic anywhere"),
        pytest.param([[], []], [[], []], [[], []], id="no document anywhere"),
    ],
)
def test_arrow_columns_of_type_null_score_zero(search_diversity, doc_ids, subtopics, rankings):
    """Arrow gives lists that are empty in every row the type null."""
    pyarrow = pytest.importorskip("pyarrow")
    references = pyarrow.table({"doc_ids": doc_ids, "subtopics": subtopics})
    result = search_diversity.compute(predictions=rankings, references=references)
    assert set(result.values()) == {0.0}


@pytest.mark.parametrize("start", [0, 1])
def test_sliced_arrow_tables(search_diversity, start):
    pyarrow = pytest.importorskip("pyarrow")
    rankings = pyarrow.chunked_array([[RANKINGS[0]], [RANKINGS[1]]]).slice(start, 1)
    result = search_diversity.compute(predictions=rankings, references=table().slice(start, 1))
    assert result == diversity_figures(RANKINGS[start : start + 1], REFERENCES[start : start + 1])
