# SPDX-License-Identifier: Apache-2.0
"""`quoter_rank`: MRR, NDCG and Recall of the gold quote, as a Hugging Face `evaluate` metric."""

from collections.abc import Hashable, Mapping, Sequence
from copy import copy, deepcopy
from threading import get_ident
from typing import Any

import datasets
import evaluate
import numpy as np
from numpy.typing import NDArray

from .inputs import KINDS, Batch, read_batch
from .intervals import intervals, normal_distribution
from .options import Interval, Options, Plain, check_choice, check_options, message
from .query_ids import Id, count_once, new_rows, read_ids, refuse_different, sorted_by_number
from .rows import NO_ROWS, Rows, from_text, joined, take, to_text
from .scoring import averages, mean_rank, per_query_figures, rank_statistics, resolve_ties
from .training import Evaluation, ranks_on_device, read_evaluation, running_loops

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

    query_ids, optional, one str or int for each row, of all rows or of none: rows that repeat an id
    with the same rank and ties count once, with one warning; another row is an error. Under
    "released" they must be ints, or strings of digits, and give the order.

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
    per_query (bool): add `per_query`, {"rank": [...], "MRR": [...], ...} in input order, with
        "query_ids" if they were given.
    confidence_level (float): add `confidence_interval`, {key: [low, high]} over queries, as 0.95;
        needs scipy. None, no intervals.
    n_resamples (int): resamples of the bootstrap, 9999. random_state (int): their seed, 0.

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
# What evaluate's cache passes between processes: the rank of each query and, as JSON, the rest.
_STORED = datasets.Features(
    predictions=datasets.Value("int64"), references=datasets.Value("string")
)

_LOWER_IS_BETTER = ("MeanRank", "MedianRank", "RankVariance")

_DATA = ("predictions", "references", "query_ids")


class _Directions(dict[str, bool]):
    """One bool a key of the result; keys of other options are answered when they are asked for."""

    def __missing__(self, key: str) -> bool:
        name, _, depth = key.partition("@")
        if (
            name not in ("NDCG", "Recall")
            or not (depth.isascii() and depth.isdecimal() and depth[0] != "0")
        ) and key != "missing":
            raise KeyError(key)
        return key != "missing"


class QuoterRank(evaluate.Metric):
    """Rank of one gold candidate a query, reduced to figures under a named protocol."""

    _kind: str | None
    _added: Rows
    _waiting: Rows  # given to a compute() that missing golds refused: for compute(missing="zero")
    _row_of: dict[Id, Hashable]  # of the rows that were added with an id

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._arguments = args, kwargs
        self._experiment, self._turn = self.experiment_id, 0
        self._configured: dict[str, Any] = {}
        self._signature: str | None = None
        self._evaluations: list[Evaluation] = []
        self._start_over()

    def __reduce__(self) -> Any:
        """Pickle without evaluate's copies of the methods, which are made again."""
        made_by_evaluate = ("compute", "add", "add_batch")
        state = {
            name: copy(value) if isinstance(value, (list, dict)) else value
            for name, value in vars(self).items()
            if name not in made_by_evaluate
        }
        state["_evaluations"] = []  # of calls that run here
        return _restored, (type(self), *self._arguments, self._configured), state

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
        return len(self._added.rank)

    @property
    def kind(self) -> str | None:
        """Named, or read from the rows that were added; None before them."""
        return self._kind

    @property
    def greater_is_better(self) -> Mapping[str, bool]:
        """Direction of each key of the result; it knows NDCG and Recall at every depth."""
        options = self._default_options()
        better = ["MRR", *(f"NDCG@{k}" for k in options.ndcg_k)]
        better += [f"Recall@{k}" for k in options.recall_k]
        worse = (*_LOWER_IS_BETTER, *(("missing",) if options.missing == "zero" else ()))
        return _Directions(dict.fromkeys(better, True) | dict.fromkeys(worse, False))

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
        query_id: Any = None,
    ) -> None:
        """Add one query: `prediction` and `reference` (the plurals are for `evaluate.combine`)."""
        prediction = predictions if prediction is None else prediction
        reference = references if reference is None else reference
        ids = None if query_id is None else [query_id]
        self.add_batch(predictions=[prediction], references=[reference], query_ids=ids)

    def add_batch(
        self, *, predictions: Any = None, references: Any = None, query_ids: Any = None
    ) -> None:
        """Add a batch of queries: checked, reduced to ranks and kept until `compute`."""
        batch, rows = self._read(predictions, references, query_ids)
        if not len(rows.rank):
            return
        found = new_rows(rows.ids, rows.pairs(), self._row_of, len(self)) if rows.ids else {}
        self._row_of.update(zip(found, map(rows.pairs().__getitem__, found.values()), strict=True))
        self._added = joined(self._added, rows)
        self._kind, self._waiting = batch.kind, NO_ROWS

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        query_ids: Any = None,
        protocol: str = "standard",
        ties: str | None = None,
        missing: str = "error",
        ndcg_k: int | Sequence[int] = 5,
        recall_k: int | Sequence[int] = (1, 10, 100),
        per_query: bool = False,
        confidence_level: float | None = None,
        n_resamples: int = 9999,
        random_state: int = 0,
    ) -> dict[str, Any] | None:
        """Score all queries added since the last figures, and those given here.

        If it raises, what was added before stays. Processes other than process 0 get None.
        """
        interval = confidence_level, n_resamples, random_state
        options = check_options(protocol, ties, missing, ndcg_k, recall_k, per_query, *interval)
        given = NO_ROWS
        if predictions is not None or references is not None:
            _, given = self._read(predictions, references, query_ids)
        elif query_ids is not None:
            raise ValueError(message("query_ids", "come with predictions", query_ids))
        elif options.missing == "zero":
            given = self._waiting
        self._refuse_unordered(joined(self._added, given), options)  # without waiting for others
        if options.interval:
            normal_distribution()  # refused here, nothing is lost
        gathered = self._gather(given)
        if gathered is None:
            return None
        rows, is_given = gathered
        self._added = take(rows, np.flatnonzero(~is_given))
        refuse_different(rows.ids)
        self._refuse_unordered(rows, options)
        if not len(rows.rank):
            raise ValueError(message("predictions", "have at least one query", 0))
        if options.missing == "error" and not rows.rank.all():
            self._waiting = take(rows, np.flatnonzero(is_given))
            raise ValueError(_missing_message(rows.rank))
        if rows.ids:
            rows = take(rows, count_once(rows.ids, rows.pairs()))
            if options.protocol == "released":
                rows = take(rows, sorted_by_number(rows.ids))
        result = self._result(rows.rank, rows.tied, options)
        if rows.ids and options.per_query:
            result["per_query"]["query_ids"] = rows.ids
        self._start_over()
        return result

    def configured(self, **options: Any) -> "QuoterRank":
        """A metric without rows whose `compute` and `compute_metrics` have other defaults.

        Args:
            options: options of `compute`, but for `per_query` and `confidence_level`.
        Raises:
            ValueError: a value that `compute` refuses.
            TypeError: an option that `compute` does not have.
        """
        made: QuoterRank = _restored(
            type(self), *self._arguments, deepcopy({**self._configured, **options})
        )
        made._default_options()
        return made

    def preprocess_logits_for_metrics(self, logits: Any, labels: Any) -> Any:
        """For `Trainer`: reduce the logits of a batch to two integers a query, on their device.

        Args:
            logits: (B, C) float tensor, or several outputs of a model, of which it is the first.
            labels: (B,) int tensor, position of the gold in its row.
        Returns:
            (B, 2) int64 tensor for `compute_metrics`, which refuses what stands for a NaN or for a
            label outside its row.
        Raises:
            ValueError: tensors of another shape or type.
        """
        return ranks_on_device(logits, labels)

    def compute_metrics(self, eval_pred: Any, compute_result: bool | None = None) -> dict[str, Any]:
        """For `Trainer`: the figures of one evaluation; rows that were added have no part in it.

        Args:
            eval_pred: predictions, of `preprocess_logits_for_metrics` or (N, C) logits, and
                label_ids, (N,) positions of the golds; lists of them are batches.
            compute_result: under `batch_eval_metrics` False for all batches but the last one. What
                an evaluation that was broken off has left is dropped when Trainer starts another;
                outside Trainer, compute_result=None starts anew.
        Returns:
            What `compute` returns, under the options of `configured`; {} before the last batch.
        Raises:
            ValueError: as `compute`; a row whose padding could change the rank of its gold.
        """
        options = self._default_options()
        batches = self._begun(compute_result)
        start = sum(len(batch.rank) for batch in batches)
        batches += read_evaluation(eval_pred, start=start)
        if compute_result is not None and not compute_result:
            self._evaluations.append(Evaluation(get_ident(), running_loops()[0], batches))
            return {}
        rank = np.concatenate([NO_ROWS.rank, *(batch.rank for batch in batches)])
        tied = np.concatenate([NO_ROWS.tied, *(batch.tied for batch in batches)])
        if not len(rank):
            raise ValueError(message("predictions", "have at least one query", 0))
        return self._result(rank, tied, options)

    def _begun(self, compute_result: bool | None) -> list[Batch]:
        """Take what the running evaluation has given; drop what is left of broken ones."""
        loops, thread = running_loops(), get_ident()
        kept = [e for e in self._evaluations if e.thread != thread or e.loop in loops]
        mine = [e for e in kept if e.thread == thread and e.loop is loops[0]]
        self._evaluations = [e for e in kept if e not in mine]  # nothing stays if it is refused
        return [] if compute_result is None else [row for e in mine for row in e.batches]

    def _default_options(self) -> Options:
        """What `compute` takes where it is not told, and so what `compute_metrics` takes."""
        for name in sorted({"per_query", "confidence_level"} & self._configured.keys()):
            rule = "be given to compute()"
            hint = "Trainer logs numbers only"
            raise ValueError(message(name, rule, Plain("a default"), hint=hint))
        defaults = self.compute.__kwdefaults__ or {}
        return check_options(**{name: defaults[name] for name in defaults if name not in _DATA})

    def _read(self, predictions: Any, references: Any, query_ids: Any) -> tuple[Batch, Rows]:
        named, start = self.config_name != "default", len(self)
        batch = read_batch(predictions, references, kind=self._kind, named=named, start=start)
        size, held = len(batch.rank), self._added.ids
        ids = read_ids(query_ids, rows=size, held=held, start=start)
        return batch, Rows(batch.rank, batch.tied, ids)

    def _start_over(self) -> None:
        self._kind = None if self.config_name == "default" else self.config_name
        self._added = self._waiting = NO_ROWS
        self._row_of = {}

    def _refuse_unordered(self, rows: Rows, options: Options) -> None:
        unordered = self.num_process > 1 and len(rows.rank) and not rows.ids
        if options.protocol == "released" and unordered:
            hint = "add all queries to one process, or give query_ids: their order counts here"
            raise ValueError(message("num_process", "be 1", self.num_process, hint=hint))

    def _gather(self, given: Rows) -> tuple[Rows, NDArray[np.bool_]] | None:
        """The rows of all processes and which of them were given to `compute`; None elsewhere.

        evaluate's cache files pass the rows of other processes.
        """
        rows = joined(self._added, given)
        is_given = np.arange(len(rows.rank)) >= len(self)
        if self.num_process == 1:
            return rows, is_given
        self.selected_feature_format = _STORED
        self.info.experiment_id = f"{self._experiment}-{self._turn}"
        self._init_writer(timeout=self.timeout)  # a process without rows takes part too
        if len(rows.rank):
            super().add_batch(predictions=rows.rank, references=to_text(rows, is_given))
        columns = super().compute()
        self._turn = 1 - self._turn  # process 0 may still hold these files when others go on
        if columns is None:
            self._start_over()
            return None
        return from_text(*columns)

    def _compute(self, *, predictions: Any, references: Any) -> Any:
        return predictions, references

    def _result(
        self, rank: NDArray[np.int64], tied: NDArray[np.int64], options: Options
    ) -> dict[str, Any]:
        result = _figures(rank, tied, options)
        self._signature = (
            f"{self.name}|protocol:{options.protocol}|ties:{options.ties}"
            f"|missing:{options.missing}|n:{len(rank)}|version:{__version__}"
        )
        return result


def _restored(
    kind: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: dict[str, Any]
) -> Any:
    """A metric made anew, with `options` in place of the defaults of `compute`."""
    metric = kind(*args, **kwargs)
    compute = metric.compute.__func__  # evaluate gives each metric its own
    unknown = options.keys() - compute.__kwdefaults__.keys() | (options.keys() & _DATA)
    for name in sorted(unknown):
        raise TypeError(f"configured() got an unexpected keyword argument {name!r}")
    compute.__kwdefaults__ = {**compute.__kwdefaults__, **options}
    metric._configured = options
    return metric


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
    if options.interval:
        result["confidence_interval"] = _intervals(rank, tied, values, options.interval)
    if options.per_query:
        ranks = [r if r > 0 else None for r in np.where(found, mean_rank(rank, tied), 0).tolist()]
        result["per_query"] = {"rank": ranks, **{k: v.tolist() for k, v in values.items()}}
    return result


def _intervals(
    rank: NDArray[np.int64],
    tied: NDArray[np.int64],
    values: dict[str, NDArray[np.float64]],
    interval: Interval,
) -> dict[str, list[float] | None]:
    """Intervals of all figures; None of rank statistics that are None."""
    recalls = [key for key in values if key.startswith("Recall")]
    options = {"proportions": recalls, **interval._asdict()}
    if not rank.all():
        none: dict[str, list[float] | None] = dict.fromkeys(_LOWER_IS_BETTER)
        return {**intervals(values, **options), **none}
    ranks = mean_rank(rank, tied)
    return {**intervals({**values, "MeanRank": ranks}, ranks=(ranks, tied), **options)}
