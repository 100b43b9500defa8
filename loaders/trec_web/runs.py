# SPDX-License-Identifier: Apache-2.0
"""TREC runs: read a run, and put its rankings in the order of a dataset."""

import itertools
import math
import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import datasets
from quotediv.loaders.reading import INTEGER, check_number, read_fields, shortened

from .options import Run, check_rankings, message

COLUMNS = "topic, Q0, document, rank, score, tag"
ORDERS = (None, "rank", "score")
DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class _Ranked(NamedTuple):
    """A line of a run."""

    doc_id: str
    rank: int
    score: float


def read_run(path: str | os.PathLike[str], order: str | None = None) -> dict[str, list[str]]:
    """Read a TREC run: `topic Q0 document rank score tag` lines in any order, gzipped or not.

    Only tabs and spaces separate columns; CRLF and a byte order mark are accepted.

    Args:
        path: the file.
        order: the column that orders a topic's documents. None: ranks, which must not contradict
            the scores: a document may not score higher than one at a better rank. Equal scores may
            have any ranks; equal ranks are ordered by score.
            "rank": ranks, whatever the scores, as ndeval reads a run; there, a rank twice in a
            topic is fatal.
            "score": scores; among equal scores the larger id comes first, as in trec_eval, which
            takes scores alone, and ndeval -traditional. pyndeval, and so ir_measures, takes scores
            alone too, but equal ones in ascending order of id.
    Returns:
        {query_id: [document, ...], ...}, best first, topics in the order of the file.
    Raises:
        ValueError: ranks and scores give different orders; a document twice in a topic; a line
            that is not as expected. Names the file and the line.
        FileNotFoundError: no such file.
    """
    if order not in ORDERS:
        raise ValueError(f"`order` must be None, 'rank' or 'score', got {order!r}")
    path = Path(path).expanduser()
    topics = _read_ranked(path)
    run, contradictory = {}, []
    for topic, documents in topics.items():
        # Python compares strings by code point: the order of their UTF-8 bytes.
        documents.sort(key=lambda d: (d.score, d.doc_id), reverse=True)
        if order != "score":
            documents.sort(key=lambda d: d.rank)
        if any(b.score > a.score for a, b in itertools.pairwise(documents)):
            contradictory.append(topic)
        run[topic] = [document.doc_id for document in documents]
    if contradictory and order is None:
        raise ValueError(
            f"{path}: expected ranks and scores in the same order, got different orders in "
            f"{len(contradictory)} of {len(run)} topics, first in {contradictory[0]}; say which "
            "one holds: read_run(path, order='rank') or read_run(path, order='score')"
        )
    return run


def align(run: Run, dataset: datasets.Dataset) -> list[list[str]]:
    """Put the rankings of a run into the order of a dataset, to pass both to `search_diversity`.

    Args:
        run: {query_id: [document, ...]}, as `read_run` returns it.
        dataset: has a column query_id.
    Returns:
        One ranking per row, empty where the run lacks the query. Queries that the dataset lacks
        are dropped. One warning gives the number of either.
    Raises:
        TypeError: `run` is not a mapping from str to lists, or `dataset` not a Dataset.
        ValueError: the run has no query of the dataset, or the dataset no column query_id.
    """
    check_rankings("run", run)
    queries = _query_ids(dataset)
    missing, dropped = len(set(queries) - set(run)), len(set(run) - set(queries))
    if queries and dropped == len(run):
        got = f"{len(run)} queries, first {next(iter(run), None)!r}"
        hint = f"the dataset has {len(queries)}, first {queries[0]!r}: is it of another year?"
        raise ValueError(
            f"`run` must rank queries of the dataset, got none of them in {got}; {hint}"
        )
    if missing or dropped:
        of = f"of the dataset's {len(queries)} queries"
        lacks = f"lacks {missing} {of} (scored as empty rankings)"
        has = f"has {dropped} {'' if missing else 'queries '}that the dataset lacks (dropped)"
        told = [clause for clause, count in ((lacks, missing), (has, dropped)) if count]
        warnings.warn(f"the run {' and '.join(told)}", stacklevel=2)
    return [list(run.get(query, ())) for query in queries]


def _query_ids(dataset: datasets.Dataset) -> list[str]:
    """The column query_id as Python strings, whatever the format of the dataset."""
    if not isinstance(dataset, datasets.Dataset):
        hint = "take one of its splits" if isinstance(dataset, Mapping) else "use load()"
        raise TypeError(message("dataset", "be a Dataset", type(dataset).__name__, hint))
    if "query_id" not in dataset.column_names:
        raise ValueError(message("dataset", "have a column query_id", dataset.column_names))
    return list(dataset.with_format(None)["query_id"])


def _read_ranked(path: Path) -> dict[str, list[_Ranked]]:
    """The lines of each topic of a run."""
    topics: dict[str, list[_Ranked]] = {}
    seen: dict[tuple[str, str], int] = {}
    for line, (topic, _, doc, rank, score, _) in read_fields(path, COLUMNS):
        place = f"{path}:{line}"
        check_number(place, "rank", rank, INTEGER)
        first = seen.setdefault((topic, doc), line)
        if first != line:
            raise ValueError(f"{place}: document {doc} of topic {topic} is in line {first} already")
        topics.setdefault(topic, []).append(_Ranked(doc, int(rank), _score(score, place)))
    return topics


def _score(text: str, place: str) -> float:
    score = float(text) if DECIMAL.fullmatch(text) else math.inf
    if math.isinf(score):
        raise ValueError(f"{place}: expected a finite number as score, got {shortened(text)}")
    return score
