# SPDX-License-Identifier: Apache-2.0
"""`search_diversity`: alpha-NDCG, ERR-IA and S-recall, as a Hugging Face `evaluate` metric."""

from collections.abc import Iterable, Sequence
from typing import Any

import datasets
import evaluate

# evaluate copies a script with only the files that it imports itself: so import them all here.
from .blocks import figures_of_queries
from .common_arrays import is_array
from .common_batch import Batch
from .common_checks import check_choice
from .common_defaults import WithDefaults
from .common_figures import Directions
from .common_intervals import intervals
from .common_metric import RankingMetric
from .common_query_ids import Id
from .common_results import Results
from .common_rows import Rows
from .common_training import Evaluations
from .gains import covered
from .ids import id_words
from .inputs import read_batch
from .judgements import read_judgements
from .matching import meet
from .options import Options, check_options
from .queries import Queries
from .rankings import read_rankings
from .results import scored
from .scoring import FIGURES, PROTOCOLS
from .training import read_evaluation, scores_and_width

__version__ = "0.1.0"

_DESCRIPTION = """\
Scores search result diversification: a query has several subtopics, and the top of its ranking
should cover them. Reports alpha-NDCG, ERR-IA and subtopic recall at 5 and 10 under one of three
named protocols, which give different figures for the same ranking: "standard" is TREC's ndeval,
"released" the code published with MA4DIV, "recipe" the text of the benchmark description.
"""

_CITATION = """\
@inproceedings{clarke-etal-2008-novelty,
    title = "Novelty and Diversity in Information Retrieval Evaluation",
    author = "Clarke, Charles L. A. and Kolla, Maheedhar and Cormack, Gordon V. and
      Vechtomova, Olga and Ashkan, Azin and B{\\"u}ttcher, Stefan and MacKinnon, Ian",
    booktitle = "Proceedings of SIGIR 2008",
    year = "2008",
    pages = "659--666",
}
@article{chapelle-etal-2011-intent,
    title = "Intent-based Diversification of Web Search Results: Metrics and Algorithms",
    author = "Chapelle, Olivier and Ji, Shihao and Liao, Ciya and Velipasaoglu, Emre and
      Lai, Larry and Wu, Su-Lin",
    journal = "Information Retrieval",
    volume = "14",
    year = "2011",
    pages = "572--592",
}
@article{chen-etal-2024-ma4div,
    title = "{MA4DIV}: Multi-Agent Reinforcement Learning for Search Result Diversification",
    author = "Chen, Yiqun and others",
    journal = "arXiv preprint arXiv:2403.17421",
    year = "2024",
    url = "https://arxiv.org/abs/2403.17421",
}
"""

_INPUTS = """
One ranking, three definitions. Documents a, b, c and x cover the subtopics {1, 2}, {1}, {3} and
none; the ranking is b, a, x, c:

    >>> import evaluate
    >>> metric = evaluate.load("metrics/search_diversity")
    >>> judged = {"a": ["1", "2"], "b": ["1"], "c": ["3"], "x": []}
    >>> for protocol in ("standard", "released", "recipe"):
    ...     result = metric.compute(
    ...         predictions=[["b", "a", "x", "c"]], references=[judged], protocol=protocol
    ...     )
    ...     print(f"{protocol:9} {result['alpha-NDCG@5']:.4f} {result['ERR-IA@5']:.4f}")
    standard  0.8251 0.4841
    released  0.8443 0.4062
    recipe    0.6547 0.3333

Inputs:
    predictions, one row per query, all of one kind, which is read from their type:
    - ids: lists of str, best first, none twice. An id that is not in the reference is unjudged: it
      keeps its rank and gains nothing.
    - positions: lists of int, positions in the reference's documents, best first, none twice.
    - scores: floats aligned with the reference's documents, higher is better.
    references, one per query:
    - a mapping document -> list of subtopics, of all judged documents, also those without any;
    - a row of a dataset, {"doc_ids": [...], "subtopics": [[...], ...]};
    - with scores or positions, a 0/1 matrix documents x subtopics, or a (Q, n, T) array of them;
      rows and columns of -100 are padding;
    - instead of a list, a `datasets.Dataset` or an Arrow table with the columns doc_ids and
      subtopics.

    query_ids, optional: one str or int for each row, for all rows or for none. Rows that repeat an
    id with the same documents, ranking and coverage of subtopics count once, with one warning; an
    id with two different rows is an error.

    groups, optional: one str or int for each row, for all rows or for none, such as its language; or,
    given with query_ids, a mapping {query_id: group} of all of them. The result then has `by_group`
    and `macro` too.

Options of compute:
    protocol (str): "standard", "released" or "recipe"; None means the config name, or "standard".
    alpha (float): redundancy penalty from 0 to 1; None means 0.5. Not allowed in "recipe"; ERR-IA
        uses it in "standard" only.
    beta (float): patience of NRBP and nNRBP, from 0 to 1; default 0.5.
    k (int or several): depths, at most 1,000,000; default (5, 10).
    figures (str or several): the keys wanted, such as ("ERR-IA@20", "NRBP"); a name without its depth
        means every k. None: alpha-NDCG, ERR-IA and S-recall at every k. "standard" also has
        alpha-DCG@k, nERR-IA@k, NRBP, nNRBP, MAP-IA and P-IA@k.
    per_query (bool): add `per_query`, {"alpha-NDCG@10": [...], ..., "Judged@10": [...]} in input
        order; Judged@k is the share of the top k that is in the reference, None for an empty
        ranking; with "query_ids" and "groups" if they were given.
    confidence_level (float): for example 0.95, to add `confidence_interval`, {key: [low, high]} over
        queries; needs scipy. None: no intervals.
    n_resamples (int): resamples of the bootstrap; default 9999.
    random_state (int): their seed; default 0.

Returns:
    A dict of Python floats, higher is better. A query without a covered subtopic scores 0.
    alpha-NDCG@10, alpha-NDCG@5: discounted gain over that of the ideal ranking of all reference
        documents; from 0, mostly below 1: the ideal ranking is found greedily and can be beaten.
    ERR-IA@10, ERR-IA@5: expected reciprocal rank over the subtopics; from 0 to 1 (up to
        rounding); values above 1 are possible under "released".
    S-recall@10, S-recall@5: share of the subtopics that the top k covers, from 0 to 1.
    by_group: {group: {key: figure, ..., "n": rows}}, each entry what the rows of the group alone
        give; macro: {key: mean over the groups}. Only with groups.
    `metric.greater_is_better[key]` is the direction; `metric.signature` says how figures were made.

Raises:
    ValueError: a value that breaks these rules; the message names the argument, the rule, the value
        and the query, counted from 0 over all that was added. Rows added before are kept.
    TypeError: an argument of a wrong type.

Warns:
    UserWarning: more than 1% of the queries have equal scores in their top; less than 80% of the
        top documents are judged.

Examples:
    Scores of the documents in the order of the reference:

    >>> metric.compute(predictions=[[0.4, 0.9, 0.1, 0.2]], references=[judged], k=2)["S-recall@2"]
    0.6666666666666666

    The same with a matrix of documents x subtopics:

    >>> matrix = [[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]
    >>> metric.compute(predictions=[[0.4, 0.9, 0.1, 0.2]], references=[matrix], k=2)["S-recall@2"]
    0.6666666666666666

    Positions in the reference's documents, best first:

    >>> metric.compute(predictions=[[1, 0, 3, 2]], references=[judged])["S-recall@5"]
    1.0
    >>> metric.signature
    'search_diversity|protocol:standard|alpha:0.5|n:1|version:0.1.0'

    A metric whose default is another protocol:

    >>> metric = evaluate.load("metrics/search_diversity", "recipe")
    >>> metric.compute(predictions=[["a", "c"]], references=[judged])["ERR-IA@10"]
    0.41666666666666663
"""


def _features() -> list[datasets.Features]:
    def listed(dtype: str) -> Any:
        return datasets.Sequence(datasets.Value(dtype))

    columns = {"doc_ids": listed("string"), "subtopics": datasets.Sequence(listed("string"))}
    matrix = datasets.Sequence(listed("int8"))
    return [
        datasets.Features(predictions=listed(dtype), references=references)
        for dtype, references in (
            ("string", columns),
            ("int64", columns),
            ("float64", columns),
            ("int64", matrix),
            ("float64", matrix),
        )
    ]


class SearchDiversity(RankingMetric):
    """How well the top of each ranking covers its query's subtopics, under a named protocol."""

    ROWS = Queries
    FIGURES = FIGURES

    def _info(self) -> evaluate.MetricInfo:
        if self.config_name != "default":
            check_choice("config_name", self.config_name, PROTOCOLS)
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=_features(),
            license="Apache-2.0",
            reference_urls=[
                "https://plg.uwaterloo.ca/~claclark/novelty.pdf",
                "https://arxiv.org/abs/2403.17421",
            ],
            codebase_urls=[
                "https://trec.nist.gov/data/web/10/ndeval.c",
                "https://github.com/chenyiqun/MA4DIV",
            ],
        )

    def check_options(self, **options: Any) -> Options:
        """The checked options of `compute`; protocol None becomes the config name, or "standard"."""
        if options["protocol"] is None:
            options["protocol"] = "standard" if self.config_name == "default" else self.config_name
        return check_options(**options)

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        query_ids: Any = None,
        groups: Any = None,
        protocol: str | None = None,
        alpha: float | None = None,
        beta: float = 0.5,
        k: int | Sequence[int] = (5, 10),
        figures: str | Sequence[str] | None = None,
        per_query: bool = False,
        confidence_level: float | None = None,
        n_resamples: int = 9999,
        random_state: int = 0,
    ) -> dict[str, Any] | None:
        """Score how the rankings of all queries, added before or given here, cover subtopics.

        If it raises, the rows added before are kept. Processes other than process 0 get None.
        """
        options = self.check_options(
            protocol=protocol,
            alpha=alpha,
            beta=beta,
            figures=figures,
            k=k,
            per_query=per_query,
            confidence_level=confidence_level,
            n_resamples=n_resamples,
            random_state=random_state,
        )
        return self._run(options, predictions, references, query_ids, groups)

    def preprocess_logits_for_metrics(self, logits: Any, labels: Any) -> Any:
        """For `Trainer`: the scores of a batch, and the length of the last axis of its labels.

        From this length `compute_metrics` sees, and refuses, labels that Trainer has broadcast.

        Args:
            logits: (B, n) float tensor, or several outputs of a model, the first being this tensor.
            labels: (B, n, T) tensor of 0, 1 and, as padding, -100; signed ints or floats; n may
                differ from batch to batch, T may not.
        Returns:
            (the scores, (B,) int64 tensor filled with T), for `compute_metrics`.
        Raises:
            ValueError: tensors of another shape or type.
        """
        return scores_and_width(logits, labels)

    def read(
        self, predictions: Any, references: Any, *, kind: str | None, start: int, has_ids: bool
    ) -> Iterable[tuple[str | None, Rows]]:
        """Check a batch and flatten it part by part; rows of one id must have the same documents."""
        return read_batch(predictions, references, kind=kind, start=start, has_ids=has_ids)

    def read_evaluation(self, outputs: Any, labels: Any, *, start: int) -> Iterable[Rows]:
        """Check a batch from `Trainer`: scores, and matrices of labels."""
        return read_evaluation(outputs, labels, start=start)

    def score(self, parts: Iterable[Any], options: Any) -> Results:
        """The figures of each of the rows, which are scored part by part."""
        return scored(parts, options)
