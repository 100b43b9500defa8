# SPDX-License-Identifier: Apache-2.0
"""Topics, judgements and runs of the TREC Web Track, from bytes to records.

`ir_datasets` parses topics and judgements. Its parsers trust their input, so that what they get is
checked here first, line by line.
"""

import itertools
import logging
import os
import re
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

from .reading import read_fields, read_text

FIRST_YEAR = 2009
TOPICS_A_YEAR = 50
UNJUDGED = {"95", "100"}  # topics of 2010 that NIST's assessors left out
QRELS_COLUMNS = "topic, subtopic, document, judgement"
RUN_COLUMNS = "topic, Q0, document, rank, score, tag"
ORDERS = (None, "rank", "score")

INTEGER = re.compile(r"[+-]?[0-9]+")
NATURAL = re.compile(r"[0-9]+")

_logger = logging.getLogger(__name__)

Judged = dict[str, list[str]]  # document -> subtopics


class OtherYearError(ValueError):
    """A file with topics of another year than the one asked for."""


class Topic(NamedTuple):
    """What a topic asks for; line breaks and indents of the file are single spaces."""

    query_id: str
    query: str
    description: str


class _Ranked(NamedTuple):
    """A line of a run."""

    doc_id: str
    rank: int
    score: float


def read_year(
    year: str, topics_path: Path, qrels_path: Path
) -> tuple[dict[str, Topic], dict[str, Judged]]:
    """Topics and judgements of a year; says which topics have no judgements.

    Raises:
        ValueError: bytes that are not as published, or judgements of a topic that is not there.
    """
    topics, judged = read_topics(topics_path, year), read_qrels(qrels_path, year)
    unknown = [topic for topic in judged if topic not in topics]
    if unknown:
        expected = f"expected the topics that {qrels_path} judges"
        raise ValueError(f"{topics_path}: {expected}, got none with number {', '.join(unknown)}")
    left_out = [topic for topic in topics if topic not in judged and topic not in UNJUDGED]
    if left_out:
        _logger.warning(f"{qrels_path}: no judgements, left out: topics {', '.join(left_out)}")
    return topics, judged


def read_topics(path: Path, year: str) -> dict[str, Topic]:
    """Read a file of topics, XML, gzipped or not.

    Args:
        path: the file.
        year: the year whose topics it should have.
    Returns:
        {query_id: topic} by number.
    Raises:
        ValueError: not what was expected; names file and line.
        ImportError: `ir_datasets` is not installed.
    """
    text = read_text(path)
    lines = _check_topics(text, path, year)
    import_ir_datasets()
    from ir_datasets.datasets.clueweb09 import TrecWebTrackQuery
    from ir_datasets.formats import TrecXmlQueries
    from ir_datasets.util import StringFile

    topics = {}
    for query in TrecXmlQueries(StringFile(text), qtype=TrecWebTrackQuery).queries_iter():
        topic = Topic(query.query_id, _one_line(query.query), _one_line(query.description))
        if not topic.query:
            place = f"{path}:{lines[topic.query_id]}"
            raise ValueError(f"{place}: expected a topic with a query, got none")
        topics[topic.query_id] = topic
    return dict(sorted(topics.items(), key=lambda item: int(item[0])))


def read_qrels(path: Path, year: str) -> dict[str, Judged]:
    """Read `topic subtopic document judgement` lines, gzipped or not.

    A judgement above 0 gives the document the subtopic; any other (0: not relevant, -2: spam) only
    makes it a judged document. That holds for subtopic 0 too, under which the file of 2009 lists
    the documents that are relevant to no subtopic.

    Args:
        path: the file.
        year: the year whose topics it should judge.
    Returns:
        {query_id: {document: [subtopic, ...]}}: topics and subtopics by number, documents by the
        UTF-8 bytes of their ids.
    Raises:
        ValueError: not what was expected, or two judgements of one document for one subtopic;
            names file and lines.
        ImportError: `ir_datasets` is not installed.
    """
    lines = list(read_fields(path, QRELS_COLUMNS))
    _check_qrels(lines, path, year)
    import_ir_datasets()
    from ir_datasets.formats import TrecSubQrels
    from ir_datasets.util import StringFile

    text = "\n".join(" ".join(fields) for _, fields in lines)
    judged: dict[str, dict[str, set[str]]] = {}
    for qrel in TrecSubQrels(StringFile(text), {}).qrels_iter():
        labels = judged.setdefault(qrel.query_id, {}).setdefault(qrel.doc_id, set())
        if qrel.relevance > 0:
            labels.add(qrel.subtopic_id)
    return {topic: _in_order(judged[topic]) for topic in sorted(judged, key=int)}


def read_run(path: str | os.PathLike[str], order: str | None = None) -> dict[str, list[str]]:
    """Read a TREC run: `topic Q0 document rank score tag` lines in any order, gzipped or not.

    Tabs or spaces, CRLF and a byte order mark are fine.

    Args:
        path: the file.
        order: the column that orders a topic's documents. None: ranks, which must not contradict
            the scores, that is, no score may be above that of a better rank. Ranks may put equal
            scores in any order: that is no contradiction. "rank": ranks, whatever the scores.
            "score": scores, larger ids first among equal ones: the rule of trec_eval and ndeval,
            which do not read ranks. Equal ranks are ordered by score.
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


def import_ir_datasets() -> Any:
    """The module `ir_datasets`, with a hint where it is missing."""
    try:
        import ir_datasets
    except ModuleNotFoundError as error:
        hint = "the TREC loader needs ir_datasets: pip install quotediv[trec]"
        raise ImportError(f"{hint} ({error})") from error
    return ir_datasets


# Checks


def _check_topics(text: str, path: Path, year: str) -> dict[str, int]:
    """Check what the parser of topics takes for granted; the line of each topic."""
    parser = expat.ParserCreate("utf-8")
    lines: dict[str, int] = {}
    parents: list[str] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        place = f"{path}:{parser.CurrentLineNumber}"
        if len(parents) == 1:
            number = _check_topic(tag, attributes, place, year)
            if number in lines:
                raise ValueError(f"{place}: topic {number} is in line {lines[number]} already")
            lines[number] = parser.CurrentLineNumber
        elif tag == "subtopic" and not {"number", "type"} <= set(attributes):
            raise ValueError(f"{place}: expected a subtopic with number and type")
        parents.append(tag)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: parents.pop()
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        got = expat.ErrorString(error.code)
        raise ValueError(f"{path}:{error.lineno}: expected topics in XML, got {got}") from None
    if not lines:
        raise ValueError(f"{path}:1: expected topics, got none")
    return lines


def _check_topic(tag: str, attributes: dict[str, str], place: str, year: str) -> str:
    """The number of a topic."""
    number = attributes.get("number", "").strip()
    if tag != "topic" or not NATURAL.fullmatch(number):
        got = " ".join([tag, *(f'{name}="{value}"' for name, value in attributes.items())])
        raise ValueError(f'{place}: expected <topic number="...">, got <{got}>')
    _check_year(number, place, year)
    return number


def _check_qrels(lines: list[tuple[int, list[str]]], path: Path, year: str) -> None:
    seen: dict[tuple[str, ...], tuple[int, str]] = {}
    for line, (topic, subtopic, doc, judgement) in lines:
        place = f"{path}:{line}"
        _check_number(place, "topic", topic, NATURAL)
        _check_year(topic, place, year)
        _check_number(place, "subtopic", subtopic, NATURAL)
        _check_number(place, "judgement", judgement, INTEGER)
        first, before = seen.setdefault((topic, subtopic, doc), (line, judgement))
        if int(before) != int(judgement):
            what = f"topic {topic}, subtopic {subtopic}, document {doc}"
            raise ValueError(
                f"{place}: judgement {judgement} of {what} contradicts {before} in line {first}"
            )


def _check_number(place: str, name: str, text: str, form: re.Pattern[str]) -> None:
    if not form.fullmatch(text):
        kind = "a natural number" if form is NATURAL else "an integer"
        raise ValueError(f"{place}: expected {kind} as {name}, got {text!r}")


def _check_year(topic: str, place: str, year: str) -> None:
    """50 topics a year, numbered on from 1 in 2009."""
    found = FIRST_YEAR + (int(topic) - 1) // TOPICS_A_YEAR
    if found != int(year):
        last = (int(year) - FIRST_YEAR + 1) * TOPICS_A_YEAR
        expected = f"expected topics {last - TOPICS_A_YEAR + 1} to {last} of {year}"
        raise OtherYearError(f"{place}: {expected}, got topic {topic} of {found}")


# Records


def _read_ranked(path: Path) -> dict[str, list[_Ranked]]:
    """The lines of each topic of a run."""
    topics: dict[str, list[_Ranked]] = {}
    seen: dict[tuple[str, str], int] = {}
    for line, (topic, _, doc, rank, score, _) in read_fields(path, RUN_COLUMNS):
        place = f"{path}:{line}"
        _check_number(place, "rank", rank, INTEGER)
        first = seen.setdefault((topic, doc), line)
        if first != line:
            raise ValueError(f"{place}: document {doc} of topic {topic} is in line {first} already")
        topics.setdefault(topic, []).append(_Ranked(doc, int(rank), _score(score, place)))
    return topics


def _score(text: str, place: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = float("nan")
    if score != score or "_" in text:
        raise ValueError(f"{place}: expected a number as score, got {text!r}")
    return score


def _in_order(judged: dict[str, set[str]]) -> Judged:
    """Documents by id, their subtopics by number."""
    return {doc: sorted(judged[doc], key=lambda s: (int(s), s)) for doc in sorted(judged)}


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
