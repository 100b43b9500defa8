# SPDX-License-Identifier: Apache-2.0
"""`quoter_rank`: MRR, NDCG and Recall of the gold quote, as a Hugging Face `evaluate` metric."""

from collections.abc import Iterable, Sequence
from typing import Any

import datasets
import evaluate
import numpy as np

# evaluate copies a script with only the files that it imports itself: so import them all here.
from .common_arrays import is_array
from .common_batch import Batch
from .common_checks import check_choice, message
from .common_defaults import WithDefaults
from .common_figures import Directions
from .common_intervals import intervals
from .common_metric import RankingMetric
from .common_query_ids import Id
from .common_results import Results
from .common_rows import Rows
from .common_training import Evaluations
from .inputs import KINDS, read_batch
from .options import Options, check_options
from .ranks import Ranks
from .results import scored
from .scoring import FIGURES
from .training import ranks_on_device, read_evaluation

__version__ = "0.1.0"

_DESCRIPTION = """\
Scores a quote recommender: a model ranks a pool of candidate quotes for each writing context, and
one of them, the gold quote, is right. Reports MRR, NDCG@5, Recall@1/10/100 and the mean,
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
    One row per query. The kind of the rows is read from their type, or named as the config:
    `evaluate.load("metrics/quoter_rank", "scores")`.

    | kind | predictions | references |
    |---|---|---|
    | scores | (N, C) floats, higher is better; rows of a list may differ in length | position of the gold in its row, int from 0 |
    | ranking | lists of candidates, best first, all str or all int, none twice | the gold candidate |
    | ranks (only if named) | 1 + number of candidates above the gold, 0 if it is missing | number of candidates tied with the gold, the gold included, 0 where the rank is 0 |

    Arrays, tensors, lists, and columns of `datasets` and of pandas are accepted. Rows of ints are
    read as rankings: to pass ints as scores, convert them to floats or name the kind "scores".
    Scores are compared in the type they have, and reduced to two integers per query when added.

    query_ids, optional: one str or int for each row, for all rows or for none. Rows that repeat an
    id with the same rank and ties count once, with one warning; an id with two different rows is
    an error. Under "released" ids must be ints, or strings of digits, and give the order.

    groups, optional: one str or int for each row, for all rows or for none, such as its language; or,
    given with query_ids, a mapping {query_id: group} of all of them. The result then has `by_group`
    and `macro` too.

Options of compute:
    protocol (str): "standard"; "released" averages as the published QuoteR code does (MRR and NDCG
        over batches of 64, MeanRank from 0, RankVariance a standard deviation; it depends on the
        order of the queries); "recipe" is `ranking.index(gold) + 1`.
    ties (str): where the gold stands among candidates of equal score: "expected" is the mean over
        all their orders, "optimistic" puts it first, "pessimistic" last. None means "expected" in
        "standard", and "optimistic" in the other protocols, which allow nothing else.
    missing (str): what happens if a gold is not in its ranking. "error" refuses it; "zero" scores
        it 0, counts it under the key `missing`, and sets the three rank statistics to None.
    ndcg_k (int or several): depths of NDCG; default 5.
    recall_k (int or several): depths of Recall; default (1, 10, 100).
    figures (str or several): the keys wanted, such as ("MRR@10", "NDCG@10"); "NDCG" means NDCG at
        every ndcg_k, "Recall" Recall at every recall_k. None: the keys below. MRR@k is there too,
        except in "released".
    per_query (bool): add `per_query`, {"rank": [...], "MRR": [...], ...} in input order, with
        "query_ids" if they were given.
    confidence_level (float): for example 0.95, to add `confidence_interval`, {key: [low, high]} over
        queries; needs scipy. None: no intervals.
    n_resamples (int): resamples of the bootstrap; default 9999.
    random_state (int): their seed; default 0.

Returns:
    A dict of Python floats.
    MRR: mean of 1 / rank, from 0 to 1, higher is better.
    NDCG@5: mean of 1 / log2(rank + 1) where rank <= 5, else 0, from 0 to 1, higher is better.
    Recall@1, Recall@10, Recall@100: share of queries with rank <= k, higher is better.
    MeanRank, MedianRank, RankVariance: of the rank, from 1 (variance: population, from 0), lower
        is better.
    by_group: {group: {key: figure, ..., "n": rows}}, each entry what the rows of the group alone
        give; macro: {key: mean over the groups}. Only with groups.
    `metric.greater_is_better[key]` is the direction; `metric.signature` says how figures were made.

Raises:
    ValueError: a value that breaks these rules; the message names the argument, the rule, the value
        and the query, counted from 0 over all that was added. Rows added before are kept. If
        compute() refuses missing golds, compute(missing="zero") scores what it was given.
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

    A tie is not decided by luck: the gold shares ranks 1 and 2.

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


class QuoterRank(RankingMetric):
    """Figures of the rank of each query's gold candidate, under a named protocol."""

    ROWS = Ranks
    FIGURES = FIGURES
    COUNTS = ("missing",)
    KINDS = KINDS
    READS_AHEAD = True

    def _info(self) -> evaluate.MetricInfo:
        check_choice("config_name", self.config_name, ("default", *KINDS))
        kinds = KINDS if self.config_name == "default" else (self.config_name,)
        features = [feature for kind in kinds for feature in _FEATURES[kind]]
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=features[0] if len(features) == 1 else features,
            license="Apache-2.0",
            reference_urls=["https://arxiv.org/abs/2202.13145"],
            codebase_urls=["https://github.com/thunlp/QuoteR"],
        )

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        query_ids: Any = None,
        groups: Any = None,
        protocol: str = "standard",
        ties: str | None = None,
        missing: str = "error",
        ndcg_k: int | Sequence[int] = 5,
        recall_k: int | Sequence[int] = (1, 10, 100),
        figures: str | Sequence[str] | None = None,
        per_query: bool = False,
        confidence_level: float | None = None,
        n_resamples: int = 9999,
        random_state: int = 0,
    ) -> dict[str, Any] | None:
        """Score the gold's rank over all queries, added before or given here.

        If it raises, the rows added before are kept. Processes other than process 0 get None.
        """
        options = self.check_options(
            protocol=protocol,
            ties=ties,
            missing=missing,
            ndcg_k=ndcg_k,
            recall_k=recall_k,
            figures=figures,
            per_query=per_query,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
        )
        return self._run(options, predictions, references, query_ids, groups)

    def preprocess_logits_for_metrics(self, logits: Any, labels: Any) -> Any:
        """For `Trainer`: reduce the logits of a batch to two integers per query, on their device.

        Args:
            logits: (B, C) float tensor, or several outputs of a model, the first being this tensor.
            labels: (B,) int tensor, position of the gold in its row.
        Returns:
            (B, 2) int64 tensor for `compute_metrics`, which raises where a row held a NaN or its
            label was outside the row.
        Raises:
            ValueError: tensors of another shape or type.
        """
        return ranks_on_device(logits, labels)

    def check_options(self, **options: Any) -> Options:
        """The checked options of `compute`."""
        return check_options(**options)

    def read(
        self, predictions: Any, references: Any, *, kind: str | None, start: int, has_ids: bool
    ) -> Iterable[tuple[str | None, Rows]]:
        """Check a batch and reduce it to ranks; rows of one id must have the same rank and ties."""
        named = self.config_name != "default"
        return [read_batch(predictions, references, kind=kind, named=named, start=start)]

    def read_evaluation(self, outputs: Any, labels: Any, *, start: int) -> Iterable[Rows]:
        """Check a batch from `Trainer`: logits, or what `preprocess_logits_for_metrics` returned."""
        return [read_evaluation(outputs, labels, start=start)]

    def refuse(self, parts: Iterable[Any], options: Any) -> None:
        """Refuse golds that are not in their rankings, under missing="error"."""
        rank = Ranks.joined([Ranks.none(), *parts]).rank
        if options.missing == "error" and not rank.all():
            count, first = np.count_nonzero(rank == 0), int(np.argmin(rank != 0))
            got = f"{count} of {len(rank)} missing, the first at query {first}"
            raise ValueError(
                f"`references` must be among the predictions of their query, got {got}; "
                "pass missing='zero' to score them 0"
            )

    def takes_waiting(self, options: Any) -> bool:
        """`compute(missing="zero")` scores rows that the call before refused for missing golds."""
        return bool(options.missing == "zero")

    def score(self, parts: Iterable[Any], options: Any) -> Results:
        """The figures of each of the rows."""
        rows = Ranks.joined([Ranks.none(), *parts])
        if not len(rows):
            raise ValueError(message("predictions", "have at least one query", 0))
        return scored(rows, options)
