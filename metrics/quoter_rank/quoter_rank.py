# SPDX-License-Identifier: Apache-2.0
"""`quoter_rank`: MRR, NDCG and Recall of the gold quote, as a Hugging Face `evaluate` metric."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import evaluate
import numpy as np
from numpy.typing import NDArray

from .inputs import KINDS, Batch, read_batch
from .options import Options, check_choice, check_options, message
from .scoring import averages, mean_rank, per_query_figures, rank_statistics, resolve_ties

__version__ = "0.1.0"

_DESCRIPTION = """\
Scores a quote recommender: a model ranks a pool of candidate quotes for each writing context, and
one of them, the gold quote, is the right one. Reports MRR, NDCG@5, Recall@1/10/100 and the mean,
median and variance of the gold's rank, under one of three named protocols.
"""

_CITATION = """\
@inproceedings{qi-etal-2022-quoter,
    title = "{Q}uote{R}: A Benchmark of Quote Recommendation for Writing",
    author = "Qi, Fanchao and Yang, Yanhui and Yi, Jing and Cheng, Zhili and Liu, Zhiyuan and
      Sun, Maosong",
    booktitle = "Proceedings of the 60th Annual Meeting of the Association for Computational
      Linguistics (Volume 1: Long Papers)",
    year = "2022",
    pages = "336--348",
    url = "https://arxiv.org/abs/2202.13145",
}
"""

_INPUTS = """
Inputs:
    One row a query. The kind of a row is read from its type, or named as the config:
    `evaluate.load("metrics/quoter_rank", "scores")`.

    | kind | predictions | references |
    |---|---|---|
    | scores | (N, C) floats, higher is better; rows of a list may differ in length | position of the gold in its row, int from 0 |
    | ranking | lists of candidates, best first, all str or all int, none twice | the gold candidate |
    | ranks (only by name) | 1 + number of candidates above the gold, 0 if it is missing | number of candidates tied with the gold, the gold included, 0 where the rank is 0 |

    Arrays, tensors, lists, columns of `datasets` and of pandas are taken. Ranks of ints are a
    ranking: ints that are meant as scores must be floats, or the kind named "scores". Scores are
    compared as they are given and reduced to two integers a query when they are added.

Options of compute:
    protocol (str): "standard"; "released" averages as the published QuoteR code does (MRR and NDCG
        over batches of 64, MeanRank from 0, RankVariance a standard deviation; it depends on the
        order of the queries); "recipe" is `ranking.index(gold) + 1`.
    ties (str): where the gold stands among candidates of equal score: "expected" is the mean over
        all their orders, "optimistic" puts it first, "pessimistic" last. None is "expected" in
        "standard", "optimistic" elsewhere, where no other is taken.
    missing (str): a gold that is not in its ranking is an error under "error"; "zero" scores it 0,
        counts it under the key `missing`, and sets the three rank statistics to None.
    ndcg_k (int or several): depths of NDCG, 5.
    recall_k (int or several): depths of Recall, (1, 10, 100).
    per_query (bool): add `per_query`, {"rank": [...], "MRR": [...], ...} in input order.

Returns:
    A dict of Python floats.
    MRR: mean of 1 / rank, from 0 to 1, higher is better.
    NDCG@5: mean of 1 / log2(rank + 1) where rank <= 5, else 0, from 0 to 1, higher is better.
    Recall@1, Recall@10, Recall@100: share of queries with rank <= k, higher is better.
    MeanRank, MedianRank, RankVariance: of the rank, from 1 (variance: population, from 0), lower
        is better.
    `metric.greater_is_better[key]` tells the direction; `metric.signature` names the figures.

Raises:
    ValueError: a value against these rules; the message names the argument, the rule, the value
        and the query, counted from 0 over all that was added. What was added before still counts;
        what a compute() refused for missing golds was given waits for compute(missing="zero").
    TypeError: an argument of a wrong type.

Examples:
    Scores of a pool, and the position of the gold:

    >>> import evaluate
    >>> metric = evaluate.load("metrics/quoter_rank")
    >>> result = metric.compute(
    ...     predictions=[[0.9, 0.5, 0.1], [0.2, 0.3, 0.8]], references=[0, 1]
    ... )
    >>> result["MRR"], result["Recall@1"], result["MeanRank"]
    (0.75, 0.5, 1.5)

    Candidates, best first, and the gold itself:

    >>> rankings = [["q3", "q1", "q2"], ["q2", "q3", "q1"]]
    >>> metric.compute(predictions=rankings, references=["q3", "q1"])["MRR"]
    0.6666666666666666

    A tie is not decided by luck: the gold shares rank 1 and 2.

    >>> metric.compute(predictions=[[0.5, 0.5, 0.1]], references=[0])["MRR"]
    0.75
    >>> metric.signature
    'quoter_rank|protocol:standard|ties:expected|missing:error|n:1|version:0.1.0'

    Ranks that were computed elsewhere:

    >>> metric = evaluate.load("metrics/quoter_rank", "ranks")
    >>> metric.compute(predictions=[1, 4], references=[1, 1], recall_k=3)["Recall@3"]
    0.5
"""

_FEATURES = {
    "scores": [
        datasets.Features(
            predictions=datasets.Sequence(datasets.Value("float64")),
            references=datasets.Value("int64"),
        )
    ],
    "ranking": [
        datasets.Features(
            predictions=datasets.Sequence(datasets.Value("string")),
            references=datasets.Value("string"),
        ),
        datasets.Features(
            predictions=datasets.Sequence(datasets.Value("int64")),
            references=datasets.Value("int64"),
        ),
    ],
    "ranks": [
        datasets.Features(predictions=datasets.Value("int64"), references=datasets.Value("int64"))
    ],
}
_STORED = _FEATURES["ranks"][0]  # what evaluate's cache holds: rank and ties of each query

_LOWER_IS_BETTER = ("MeanRank", "MedianRank", "RankVariance")

Ranks = NDArray[np.int64]  # (2, N): rank and ties of each query


class _Directions(dict[str, bool]):
    """One bool a key of the result; keys of other options are answered when they are asked for."""

    def __missing__(self, key: str) -> bool:
        name, _, depth = key.partition("@")
        if (name not in ("NDCG", "Recall") or not depth.isdecimal()) and key != "missing":
            raise KeyError(key)
        return key != "missing"


class QuoterRank(evaluate.Metric):
    """Rank of one gold candidate a query, reduced to figures under a named protocol."""

    _kind: str | None
    _added: Ranks
    _waiting: Ranks  # given to a compute() that missing golds refused: for compute(missing="zero")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._signature: str | None = None
        self._start_over()

    def _info(self) -> evaluate.MetricInfo:
        check_choice("config_name", self.config_name, ("default", *KINDS))
        kinds = KINDS if self.config_name == "default" else (self.config_name,)
        features = [feature for kind in kinds for feature in _FEATURES[kind]]
        info = evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=features[0] if len(features) == 1 else features,
            license="Apache-2.0",
            reference_urls=["https://arxiv.org/abs/2202.13145"],
            codebase_urls=["https://github.com/thunlp/QuoteR"],
        )
        info.format = "numpy"  # the stored form; the constructor refuses it for these features
        return info

    def __len__(self) -> int:
        """Number of queries added since the last figures."""
        return int(self._added.shape[1])

    @property
    def greater_is_better(self) -> Mapping[str, bool]:
        """Direction of each key of the result; it knows NDCG and Recall at every depth."""
        better = ("MRR", "NDCG@5", "Recall@1", "Recall@10", "Recall@100")
        return _Directions(dict.fromkeys(better, True) | dict.fromkeys(_LOWER_IS_BETTER, False))

    @property
    def signature(self) -> str | None:
        """One line that names what the last figures are; None before the first."""
        return self._signature

    def add(
        self,
        *,
        prediction: Any = None,
        reference: Any = None,
        predictions: Any = None,
        references: Any = None,
    ) -> None:
        """Add one query: `prediction` and `reference` (the plurals are for `evaluate.combine`)."""
        prediction = predictions if prediction is None else prediction
        reference = references if reference is None else reference
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add a batch of queries: checked, reduced to ranks and kept until `compute`."""
        batch = self._read(predictions, references)
        self._added = np.hstack([self._added, _ranks(batch)])
        if len(batch.rank):
            self._kind, self._waiting = batch.kind, _ranks()

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        protocol: str = "standard",
        ties: str | None = None,
        missing: str = "error",
        ndcg_k: int | Sequence[int] = 5,
        recall_k: int | Sequence[int] = (1, 10, 100),
        per_query: bool = False,
    ) -> dict[str, Any] | None:
        """Score all queries added since the last figures, and those given here.

        If it raises, what was added before stays. Processes other than process 0 get None.
        """
        options = check_options(protocol, ties, missing, ndcg_k, recall_k, per_query)
        if options.protocol == "released" and self.num_process > 1:
            hint = "add all queries to one process: this protocol depends on their order"
            raise ValueError(message("num_process", "be 1 here", self.num_process, hint=hint))
        if predictions is not None or references is not None:
            given = _ranks(self._read(predictions, references))
        else:
            given = self._waiting if options.missing == "zero" else _ranks()
        gathered = self._gather(given)
        if gathered is None:
            return None
        rows, is_given = gathered
        self._added, self._waiting = rows[:, ~is_given], rows[:, is_given]
        if not rows.shape[1]:
            raise ValueError(message("predictions", "have at least one query", 0))
        if options.missing == "error" and not rows[0].all():
            raise ValueError(_missing_message(rows[0]))
        result = _figures(rows[0], rows[1], options)
        self._start_over()
        self._signature = (
            f"{self.name}|protocol:{options.protocol}|ties:{options.ties}"
            f"|missing:{options.missing}|n:{rows.shape[1]}|version:{__version__}"
        )
        return result

    def _read(self, predictions: Any, references: Any) -> Batch:
        named = self.config_name != "default"
        return read_batch(predictions, references, kind=self._kind, named=named, start=len(self))

    def _start_over(self) -> None:
        self._kind = None if self.config_name == "default" else self.config_name
        self._added = _ranks()
        self._waiting = _ranks()

    def _gather(self, given: Ranks) -> tuple[Ranks, NDArray[np.bool_]] | None:
        """The rows of all processes and which of them were given to `compute`; None elsewhere.

        evaluate's cache files pass the rows of other processes; a given row has its ties inverted.
        """
        if self.num_process == 1:
            is_given = np.arange(len(self) + given.shape[1]) >= len(self)
            return np.hstack([self._added, given]), is_given
        rank, tied = np.hstack([self._added, [given[0], ~given[1]]])
        self.selected_feature_format = _STORED
        self._init_writer(timeout=self.timeout)  # a process without rows takes part too
        file = self.cache_file_name
        if len(rank):
            super().add_batch(predictions=rank, references=tied)
        columns = super().compute()
        if columns is None:
            _wait_until_read(file, self.timeout)
            self._start_over()
            return None
        rank, tied = (np.asarray(column, np.int64) for column in columns)
        return np.stack([rank, np.where(tied < 0, ~tied, tied)]), tied < 0

    def _compute(self, *, predictions: Any, references: Any) -> Any:
        return predictions, references


def _ranks(batch: Batch | None = None) -> Ranks:
    return np.empty((2, 0), np.int64) if batch is None else np.stack([batch.rank, batch.tied])


def _wait_until_read(file: str, timeout: float) -> None:
    """Process 0 deletes what it has read; before that a new file would take its place."""
    end = time.monotonic() + timeout
    while Path(file).exists():
        if time.monotonic() > end:
            raise TimeoutError(f"process 0 has not read {file} within {timeout} s")
        time.sleep(0.005)


def _missing_message(rank: NDArray[np.int64]) -> str:
    count, first = np.count_nonzero(rank == 0), int(np.argmin(rank != 0))
    got = f"{count} of {len(rank)} missing, the first at query {first}"
    return (
        f"`references` must be among the predictions of their query, got {got}; "
        "pass missing='zero' to score them 0"
    )


def _figures(rank: NDArray[np.int64], tied: NDArray[np.int64], options: Options) -> dict[str, Any]:
    """The result of `compute`."""
    rank, tied = resolve_ties(rank, tied, options.ties)
    values = per_query_figures(rank, tied, ndcg_k=options.ndcg_k, recall_k=options.recall_k)
    found = rank > 0
    result: dict[str, Any] = averages(values, options.protocol)
    if found.all():
        result |= rank_statistics(rank, tied, options.protocol)
    else:
        result |= dict.fromkeys(_LOWER_IS_BETTER)
    if options.missing == "zero":
        result["missing"] = int(np.count_nonzero(~found))
    if options.per_query:
        ranks = [r if r > 0 else None for r in np.where(found, mean_rank(rank, tied), 0).tolist()]
        result["per_query"] = {"rank": ranks, **{k: v.tolist() for k, v in values.items()}}
    return result
