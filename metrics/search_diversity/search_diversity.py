# SPDX-License-Identifier: Apache-2.0
"""`search_diversity`: alpha-NDCG, ERR-IA and S-recall, as a Hugging Face `evaluate` metric."""

import json
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from itertools import chain
from threading import get_ident
from typing import Any

import datasets
import evaluate
import numpy as np

from .ids import id_words
from .inputs import agreed_kind, meet, split
from .intervals import intervals, normal_distribution
from .judgements import read_judgements
from .options import Options, Plain, check_options, check_protocol, message
from .queries import (
    Queries,
    concatenate,
    fingerprints,
    from_bytes,
    has_ties,
    most_subtopics,
    no_queries,
    score,
    take,
    to_bytes,
)
from .query_ids import Id, count_once, new_rows, read_ids, refuse_different
from .rankings import read_rankings
from .scoring import Floats, mean
from .training import Evaluation, batches, running_loops, scores_and_width

__version__ = "0.1.0"

_DESCRIPTION = """\
Scores search result diversification: a query has several subtopics, and the top of its ranking
should cover them. Reports alpha-NDCG, ERR-IA and subtopic recall at 5 and 10 under one of three
named protocols, which give different figures for the same ranking: "standard" is TREC's ndeval,
"released" the code that MA4DIV published, "recipe" the benchmark description.
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
    predictions, one row a query, all rows of one kind, which is read from their type:
    - ids: lists of str, best first, none twice. An id that is not in the reference is unjudged: it
      keeps its rank and gains nothing.
    - positions: lists of int, positions in the reference's documents, best first, none twice.
    - scores: floats aligned with the reference's documents, higher is better.
    references, one a query:
    - a mapping document -> list of subtopics, all judged documents, also those without subtopics;
    - a row of the loaders' columns, {"doc_ids": [...], "subtopics": [[...], ...]};
    - with scores or positions, a 0/1 matrix documents x subtopics, or a (Q, n, T) array of them;
      rows and columns of -100 are padding;
    - in place of the list, a `datasets.Dataset` or an Arrow table with the columns doc_ids and
      subtopics.

    query_ids, optional, one str or int for each row, of all rows or of none: rows that repeat an id
    with the same ranking and labels count once, with one warning; another row is an error.

Options of compute:
    protocol (str): "standard", "released" or "recipe"; None is the config name, or "standard".
    alpha (float): redundancy penalty from 0 to 1; None is 0.5. "recipe" takes none. ERR-IA uses it
        in "standard" only.
    k (int or several): depths, (5, 10), at most 1,000,000.
    per_query (bool): add `per_query`, {"alpha-NDCG@10": [...], ..., "Judged@10": [...]} in input
        order; Judged@k is the share of the top k that is in the reference, None for an empty
        ranking; with "query_ids" if they were given.
    confidence_level (float): add `confidence_interval`, {key: [low, high]} over queries, as 0.95;
        needs scipy. None, no intervals.
    n_resamples (int): resamples of the bootstrap, 9999. random_state (int): their seed, 0.

Returns:
    A dict of Python floats, higher is better. A query without a covered subtopic scores 0.
    alpha-NDCG@10, alpha-NDCG@5: gain over the gain of the ideal ranking of all reference documents;
        from 0, mostly below 1: the ideal ranking is found greedily and can be beaten.
    ERR-IA@10, ERR-IA@5: expected reciprocal rank over the subtopics; from 0 to 1 (but for the last
        digit), above 1 possible under "released".
    S-recall@10, S-recall@5: share of the subtopics that the top k covers, from 0 to 1.
    `metric.greater_is_better[key]` tells the direction; `metric.signature` names the figures.

Raises:
    ValueError: a value against these rules; the message names the argument, the rule, the value
        and the query, counted from 0 over all that was added. What was added before still counts.
    TypeError: an argument of a wrong type.

Warns:
    UserWarning: more than 1% of the queries have equal scores in their top; less than 80% of the
        top documents are judged.

Examples:
    Scores of the documents in the order of the reference:

    >>> metric.compute(predictions=[[0.4, 0.9, 0.1, 0.2]], references=[judged], k=2)["S-recall@2"]
    0.6666666666666666

    The same with a matrix, documents x subtopics:

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


# What evaluate's cache passes between processes: all queries of one process, or none, in one row.
_STORED = datasets.Features(
    predictions=datasets.Value("binary"), references=datasets.Value("string")
)


_FIGURES = ("alpha-NDCG", "ERR-IA", "S-recall")
_DATA = ("predictions", "references", "query_ids")


class _Directions(dict[str, bool]):
    """True for each key of the result; keys of other depths are answered when asked for."""

    def __missing__(self, key: str) -> bool:
        name, _, depth = key.partition("@")
        if name not in _FIGURES or not (depth.isascii() and depth.isdecimal() and depth[0] != "0"):
            raise KeyError(key)
        return True


class SearchDiversity(evaluate.Metric):
    """Coverage of subtopics by the top of each ranking, under a named protocol."""

    _kind: str | None
    _added: list[Queries]
    _length: int  # queries in `_added`
    _ids: list[Id]  # of the queries that were added, or none
    _row_of: dict[Id, bytes]  # fingerprint of the query with each id

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
        if self.config_name != "default":
            check_protocol("config_name", self.config_name)
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

    def __len__(self) -> int:
        """Number of queries added since the last figures."""
        return self._length

    @property
    def kind(self) -> str | None:
        """Read from the rows that were added: "ids", "positions" or "scores"; None before them."""
        return self._kind

    @property
    def greater_is_better(self) -> Mapping[str, bool]:
        """Direction of each key of the result; it knows the figures at every depth."""
        depths = sorted(self._default_options().k, reverse=True)
        return _Directions({f"{name}@{k}": True for k in depths for name in _FIGURES})

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
        """Add a batch of queries: checked, flattened and kept until `compute`."""
        read = list(self._read(predictions, references, self._kind, len(self)))
        parts = [queries for _, queries in read]
        ids = self._read_ids(query_ids, parts)
        if ids:
            rows = [row for part in parts for row in fingerprints(part)]
            found = new_rows(ids, rows, self._row_of, len(self))
            self._row_of.update({name: rows[index] for name, index in found.items()})
        self._kind = read[-1][0] if read else self._kind
        self._added += parts
        self._length += sum(len(part.n_docs) for part in parts)
        self._ids += ids

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        query_ids: Any = None,
        protocol: str | None = None,
        alpha: float | None = None,
        k: int | Sequence[int] = (5, 10),
        per_query: bool = False,
        confidence_level: float | None = None,
        n_resamples: int = 9999,
        random_state: int = 0,
    ) -> dict[str, Any] | None:
        """Score all queries added since the last figures, and those given here.

        If it raises, what was added before stays. Processes other than process 0 get None.
        """
        interval = confidence_level, n_resamples, random_state
        options = self._options(protocol, alpha, k, per_query, *interval)
        given: Iterable[Queries] = ()
        given_ids: list[Id] = []
        if predictions is not None or references is not None:
            read = self._read(predictions, references, self._kind, len(self))
            given = (queries for _, queries in read)
            if query_ids is not None or self._ids:
                given = list(given)
                given_ids = self._read_ids(query_ids, given)
        elif query_ids is not None:
            raise ValueError(message("query_ids", "come with predictions", query_ids))
        if options.interval:
            normal_distribution()  # refused here, nothing is lost
        gathered = self._gather(given, given_ids)
        if gathered is None:
            return None
        parts, ids = gathered
        refuse_different(ids)
        if ids:
            queries = concatenate([no_queries(), *parts])
            kept = count_once(ids, fingerprints(queries))
            parts, ids = [take(queries, np.array(kept))], [ids[index] for index in kept]
        result = self._result(parts, options)
        if ids and options.per_query:
            result["per_query"]["query_ids"] = ids
        self._start_over()
        return result

    def configured(self, **options: Any) -> "SearchDiversity":
        """A metric without rows whose `compute` and `compute_metrics` have other defaults.

        Args:
            options: options of `compute`, but for `per_query` and `confidence_level`.
        Raises:
            ValueError: a value that `compute` refuses.
            TypeError: an option that `compute` does not have.
        """
        made: SearchDiversity = _restored(
            type(self), *self._arguments, deepcopy({**self._configured, **options})
        )
        made._default_options()
        return made

    def preprocess_logits_for_metrics(self, logits: Any, labels: Any) -> Any:
        """For `Trainer`: the scores of a batch with the last axis of its labels.

        With it, `compute_metrics` refuses labels that Trainer has broadcast.

        Args:
            logits: (B, n) float tensor, or several outputs of a model, of which it is the first.
            labels: (B, n, T) tensor of 0, 1 and, as padding, -100; signed ints or floats; n may
                differ from batch to batch, T may not.
        Returns:
            (the scores, (B,) int64 tensor of T), for `compute_metrics`.
        Raises:
            ValueError: tensors of another shape or type.
        """
        return scores_and_width(logits, labels)

    def compute_metrics(self, eval_pred: Any, compute_result: bool | None = None) -> dict[str, Any]:
        """For `Trainer`: the figures of one evaluation; rows that were added have no part in it.

        Args:
            eval_pred: predictions, of `preprocess_logits_for_metrics` or (Q, n) scores, and
                label_ids, (Q, n, T) of 0, 1 and, as padding, -100; lists of them are batches.
            compute_result: under `batch_eval_metrics` False for all batches but the last one. What
                an evaluation that was broken off has left is dropped when Trainer starts another;
                outside Trainer, compute_result=None starts anew.
        Returns:
            What `compute` returns, under the options of `configured`; {} before the last batch.
        Raises:
            ValueError: as `compute`; labels with another last axis than those of other batches.
        """
        options = self._default_options()
        parts = self._begun(compute_result)
        at = sum(len(part.n_docs) for part in parts)
        for scores, labels, start in batches(eval_pred, start=at):
            parts += [queries for _, queries in self._read(scores, labels, "scores", start)]
        if compute_result is not None and not compute_result:
            self._evaluations.append(Evaluation(get_ident(), running_loops()[0], parts))
            return {}
        return self._result(parts, options)

    def _options(self, protocol: Any, *options: Any, **named: Any) -> Options:
        if protocol is None:
            protocol = "standard" if self.config_name == "default" else self.config_name
        return check_options(protocol, *options, **named)

    def _begun(self, compute_result: bool | None) -> list[Queries]:
        """Take what the running evaluation has given; drop what is left of broken ones."""
        loops, thread = running_loops(), get_ident()
        kept = [e for e in self._evaluations if e.thread != thread or e.loop in loops]
        mine = [e for e in kept if e.thread == thread and e.loop is loops[0]]
        self._evaluations = [e for e in kept if e not in mine]  # nothing stays if it is refused
        return [] if compute_result is None else [row for e in mine for row in e.parts]

    def _default_options(self) -> Options:
        """What `compute` takes where it is not told, and so what `compute_metrics` takes."""
        for name in sorted({"per_query", "confidence_level"} & self._configured.keys()):
            rule = "be given to compute()"
            hint = "Trainer logs numbers only"
            raise ValueError(message(name, rule, Plain("a default"), hint=hint))
        defaults = self.compute.__kwdefaults__ or {}
        return self._options(**{name: defaults[name] for name in defaults if name not in _DATA})

    def _result(self, parts: Iterable[Queries], options: Options) -> dict[str, Any]:
        columns, tied = _score(parts, options)
        judged = np.concatenate(columns[f"Judged@{max(options.k)}"])
        _warn(judged, tied, max(options.k))
        self._signature = _signature(self.name, options, len(judged))
        return _result(columns, options)

    def _read(
        self, predictions: Any, references: Any, kind: str | None, start: int
    ) -> Iterator[tuple[str | None, Queries]]:
        """A batch part by part: its kind, checked against the rows before, and flat queries."""
        for rows, judged, first in split(predictions, references, start=start):
            rankings = read_rankings(rows, start=first)
            kind = agreed_kind(kind, rankings.kind, first)
            judgements = read_judgements(judged, int_ids=kind == "scores", start=first)
            ranked = rankings.values if rankings.kind == "ids" else None
            words = id_words(judgements.ids, ranked)
            yield kind, meet(rankings._replace(kind=kind), judgements, words, first)

    def _read_ids(self, query_ids: Any, parts: Iterable[Queries]) -> list[Id]:
        rows = sum(len(part.n_docs) for part in parts)
        return read_ids(query_ids, rows=rows, held=self._ids, start=len(self))

    def _start_over(self) -> None:
        self._kind = None
        self._added = []
        self._length = 0
        self._ids = []
        self._row_of = {}

    def _gather(
        self, given: Iterable[Queries], given_ids: list[Id]
    ) -> tuple[Iterable[Queries], list[Id]] | None:
        """What each process added, then what it gave to `compute`; None outside process 0.

        In one process, what is given is read while it is scored: only figures are kept of it.
        """
        added = concatenate([no_queries(), *self._added])
        if self.num_process == 1:
            return chain([added], given), self._ids + given_ids
        passed = to_bytes(added), to_bytes(concatenate([no_queries(), *given]))
        self.selected_feature_format = _STORED
        self.info.experiment_id = f"{self._experiment}-{self._turn}"
        self._init_writer(timeout=self.timeout)
        ids = [json.dumps(self._ids), json.dumps(given_ids)]
        super().add_batch(predictions=list(passed), references=ids)
        columns = super().compute()
        self._turn = 1 - self._turn  # process 0 may still hold these files when others go on
        if columns is None:
            self._start_over()
            return None
        parts = [from_bytes(data) for data in columns[0]]
        all_ids = [json.loads(text) for text in columns[1]]
        if any(all_ids):
            pairs = zip(all_ids, parts, strict=True)
            all_ids = [ids or [None] * len(part.n_docs) for ids, part in pairs]
        self._added = parts[::2]  # if compute() raises: what was added, without what was given
        self._length = sum(len(part.n_docs) for part in self._added)
        self._ids = list(chain.from_iterable(all_ids[::2]))
        return parts, list(chain.from_iterable(all_ids))

    def _compute(self, *, predictions: Any, references: Any) -> Any:
        return predictions, references


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


def _signature(name: str, options: Options, n: int) -> str:
    alpha = "" if options.protocol == "recipe" else f"|alpha:{options.alpha}"
    return f"{name}|protocol:{options.protocol}{alpha}|n:{n}|version:{__version__}"


def _score(parts: Iterable[Queries], options: Options) -> tuple[dict[str, list[Floats]], int]:
    """Figures of every query, in parts, and the number of queries whose top has equal scores."""
    columns: dict[str, list[Floats]] = {}
    queries = tied = ranked = judged = 0
    for part in parts:
        _check_recipe(part, options, start=queries)
        values = score(part, protocol=options.protocol, alpha=options.alpha, k=options.k)
        for key, value in values.items():
            columns.setdefault(key, []).append(value)
        queries += len(part.n_docs)
        tied += int(np.count_nonzero(has_ties(part, max(options.k))))
        ranked += len(part.ranking)
        judged += int(np.count_nonzero(part.ranking >= 0))
    if not queries:
        raise ValueError(message("predictions", "have at least one query", 0))
    if ranked and not judged:
        rule = "name documents of their references"
        got = Plain(f"not one of theirs in {queries} queries")
        hint = "use the ids of the references"
        raise ValueError(message("predictions", rule, got, hint=hint))
    return columns, tied


def _check_recipe(queries: Queries, options: Options, start: int) -> None:
    """Refuse a document whose gain 2^m - 1 is no float64."""
    if options.protocol == "recipe" and queries.n_subtopics.max(initial=0) > 1023:
        most = most_subtopics(queries)
        for query in np.flatnonzero(most > 1023)[:1].tolist():
            rule = "have at most 1023 subtopics a document under protocol 'recipe'"
            raise ValueError(message("references", rule, most[query], start + query))


def _result(columns: dict[str, list[Floats]], options: Options) -> dict[str, Any]:
    """The result of `compute`."""
    result: dict[str, Any] = {
        key: mean(*parts) for key, parts in columns.items() if not key.startswith("Judged")
    }
    if options.interval:
        result["confidence_interval"] = intervals(
            {key: np.concatenate(columns[key]) for key in result}, **options.interval._asdict()
        )
    if options.per_query:
        result["per_query"] = {
            key: [None if math.isnan(v) else v for part in parts for v in part.tolist()]
            for key, parts in columns.items()
        }
    return result


def _warn(judged: Floats, tied: int, depth: int) -> None:
    """The two warnings: ties that the protocol had to break, and documents nobody judged."""
    if tied > 0.01 * len(judged):
        warnings.warn(
            f"{tied} of {len(judged)} queries have equal scores within rank {depth}; "
            "their order is the protocol's, not the model's",
            stacklevel=4,
        )
    share = np.mean(judged[~np.isnan(judged)]) if not np.isnan(judged).all() else 1.0
    if share < 0.8 - 1e-9:  # a mean of 0.8 may be rounded down
        warnings.warn(
            f"{share:.0%} of the documents within rank {depth} are judged; the others gain nothing",
            stacklevel=4,
        )
