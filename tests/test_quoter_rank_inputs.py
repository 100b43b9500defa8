# SPDX-License-Identifier: Apache-2.0
"""quoter_rank: each kind of input, in each container that a user may hold it in."""

import numpy as np
import pytest
from reference import quoter_figures
from support import load

ROWS = [[0.5, 2.0, 1.0, -4.0], [3.0, 0.25, -1.0, 3.0], [0.0, 8.0, 4.0, 2.0]]
GOLD = [0, 3, 2]
PAIRS = [(3, 1), (1, 2), (2, 1)]


def torch_tensor(**options):
    torch = pytest.importorskip("torch")
    dtype = getattr(torch, options.pop("dtype", "float32"))
    return torch.tensor(ROWS, dtype=dtype, **options)


def dataset(style=None):
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_dict({"scores": ROWS, "gold": GOLD})
    return made if style is None else made.with_format(style)


def pandas_frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"scores": ROWS, "gold": GOLD}, index=[7, 3, 5])


def torch_gold():
    return pytest.importorskip("torch").tensor(GOLD)


SCORE_FORMS = [
    pytest.param(lambda: (ROWS, GOLD), id="lists"),
    pytest.param(lambda: (tuple(map(tuple, ROWS)), tuple(GOLD)), id="tuples"),
    pytest.param(lambda: (np.array(ROWS, np.float16), GOLD), id="float16"),
    pytest.param(lambda: (np.array(ROWS, np.float32), np.array(GOLD, np.int32)), id="float32"),
    pytest.param(lambda: (np.array(ROWS), np.array(GOLD)), id="float64"),
    pytest.param(lambda: (np.array(ROWS), np.array(GOLD, np.uint8)), id="unsigned gold"),
    pytest.param(lambda: (np.array(ROWS, order="F"), GOLD), id="Fortran order"),
    pytest.param(lambda: (np.repeat(ROWS, 2, axis=0)[::2], GOLD), id="strided"),
    pytest.param(lambda: (np.array(ROWS).astype(">f4"), GOLD), id="big endian"),
    pytest.param(lambda: (list(np.array(ROWS, np.float32)), GOLD), id="list of arrays"),
    pytest.param(lambda: ([list(map(np.float32, r)) for r in ROWS], GOLD), id="numpy scalars"),
    pytest.param(lambda: (ROWS, [np.int64(g) for g in GOLD]), id="numpy int gold"),
    pytest.param(lambda: (torch_tensor(), torch_gold()), id="torch"),
    pytest.param(lambda: (torch_tensor(dtype="float64"), GOLD), id="torch float64"),
    pytest.param(lambda: (torch_tensor(dtype="float16"), GOLD), id="torch float16"),
    pytest.param(lambda: (torch_tensor(dtype="bfloat16"), GOLD), id="torch bfloat16"),
    pytest.param(lambda: (torch_tensor(requires_grad=True), torch_gold()), id="requires_grad"),
    pytest.param(lambda: (list(torch_tensor()), list(torch_gold())), id="list of tensors"),
    pytest.param(lambda: (dataset()["scores"], dataset()["gold"]), id="datasets columns"),
    pytest.param(
        lambda: (dataset("numpy")["scores"], dataset("numpy")["gold"]), id="numpy columns"
    ),
    pytest.param(lambda: (dataset()[:]["scores"], dataset()[:]["gold"]), id="datasets slice"),
    pytest.param(lambda: (pandas_frame()["scores"], pandas_frame()["gold"]), id="pandas Series"),
    pytest.param(
        lambda: (pytest.importorskip("pandas").DataFrame(ROWS), pandas_frame()["gold"]),
        id="pandas DataFrame",
    ),
]


@pytest.mark.parametrize("make", SCORE_FORMS)
@pytest.mark.parametrize("config", [(), ("scores",)], ids=["by dtype", "by name"])
def test_scores(make, config):
    predictions, references = make()
    result = load("quoter_rank", *config).compute(predictions=predictions, references=references)
    assert result == pytest.approx(quoter_figures(PAIRS), rel=0, abs=1e-12)


@pytest.mark.parametrize("make", SCORE_FORMS)
def test_scores_in_two_batches(quoter_rank, make):
    predictions, references = make()
    quoter_rank.add_batch(predictions=predictions[:1], references=references[:1])
    quoter_rank.add_batch(predictions=predictions[1:], references=references[1:])
    assert quoter_rank.compute() == pytest.approx(quoter_figures(PAIRS), rel=0, abs=1e-12)


INT_ROWS = [[-128, 5, 3], [7, 7, 127]]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_int_scores_by_name(dtype):
    result = load("quoter_rank", "scores").compute(
        predictions=np.array(INT_ROWS, dtype), references=[1, 0]
    )
    assert result == pytest.approx(quoter_figures([(1, 1), (2, 2)]), rel=0, abs=1e-12)


def test_int_lists_by_name():
    result = load("quoter_rank", "scores").compute(predictions=INT_ROWS, references=[1, 0])
    assert result["MRR"] == pytest.approx((1 + (1 / 2 + 1 / 3) / 2) / 2, rel=0, abs=1e-12)


def test_large_ints_by_name_are_not_rounded():
    rows = [[2**60, 2**60 + 1]]
    result = load("quoter_rank", "scores").compute(predictions=rows, references=[1])
    assert result["MRR"] == 1.0


RANKINGS = [
    pytest.param([["b", "a"], ["c", "d"]], ["a", "c"], id="lists of str"),
    pytest.param((("b", "a"), ("c", "d")), ("a", "c"), id="tuples of str"),
    pytest.param(np.array([["b", "a"], ["c", "d"]]), np.array(["a", "c"]), id="array of str"),
    pytest.param([[9, 4], [0, 1]], [4, 0], id="lists of int"),
    pytest.param(np.array([[9, 4], [0, 1]]), np.array([4, 0]), id="array of int"),
    pytest.param(np.array([[9, 4], [0, 1]], np.int16), [4, 0], id="array of int16"),
]


@pytest.mark.parametrize(("predictions", "references"), RANKINGS)
@pytest.mark.parametrize("config", [(), ("ranking",)], ids=["by dtype", "by name"])
def test_rankings(predictions, references, config):
    result = load("quoter_rank", *config).compute(predictions=predictions, references=references)
    assert result["MRR"] == 3 / 4
    assert result["MeanRank"] == 1.5


def test_torch_positions(quoter_rank):
    torch = pytest.importorskip("torch")
    result = quoter_rank.compute(
        predictions=torch.tensor([[9, 4], [0, 1]]), references=torch.tensor([4, 0])
    )
    assert result["MRR"] == 3 / 4


def test_dataset_of_rankings(quoter_rank):
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_dict({"ranking": [["b", "a"], ["c"]], "gold": ["a", "c"]})
    result = quoter_rank.compute(predictions=made["ranking"], references=made["gold"])
    assert result["MRR"] == 3 / 4


@pytest.mark.parametrize("wrap", [list, tuple, np.array], ids=["lists", "tuples", "arrays"])
def test_ranks_forms(wrap):
    result = load("quoter_rank", "ranks").compute(
        predictions=wrap([3, 1, 2]), references=wrap([1, 2, 1])
    )
    assert result == pytest.approx(quoter_figures(PAIRS), rel=0, abs=1e-12)


def test_add_takes_one_query(quoter_rank):
    for row, gold in zip(ROWS, GOLD, strict=True):
        quoter_rank.add(prediction=row, reference=gold)
    assert quoter_rank.compute() == pytest.approx(quoter_figures(PAIRS), rel=0, abs=1e-12)


def test_add_takes_one_array(quoter_rank):
    for row, gold in zip(np.array(ROWS, np.float32), np.array(GOLD), strict=True):
        quoter_rank.add(prediction=row, reference=gold)
    assert quoter_rank.compute() == pytest.approx(quoter_figures(PAIRS), rel=0, abs=1e-12)


def test_add_takes_one_ranking(quoter_rank):
    quoter_rank.add(prediction=["b", "a"], reference="a")
    quoter_rank.add(prediction=["c"], reference="c")
    assert quoter_rank.compute()["MRR"] == 3 / 4


def test_the_input_is_left_as_it_was(quoter_rank):
    scores, gold = np.array(ROWS), np.array(GOLD)
    quoter_rank.compute(predictions=scores, references=gold)
    assert (scores == np.array(ROWS)).all()
    assert (gold == np.array(GOLD)).all()


def test_the_kind_is_free_again_after_compute(quoter_rank):
    quoter_rank.compute(predictions=ROWS, references=GOLD)
    assert quoter_rank.compute(predictions=[["b", "a"]], references=["a"])["MRR"] == 1 / 2
