# SPDX-License-Identifier: Apache-2.0
"""Topics and judgements of the TREC Web Track, from bytes to records.

`ir_datasets` parses topics and judgements. Its parsers do not check their input, so it is checked
here first, line by line.
"""

import re
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from quotediv.loaders.reading import (
    INTEGER,
    NATURAL,
    check_number,
    read_fields,
    read_text,
    shortened,
)

from .library import import_ir_datasets

FIRST_YEAR = 2009
TOPICS_A_YEAR = 50
UNJUDGED = {"95", "100"}  # topics of 2010 that NIST did not judge
QRELS_COLUMNS = "topic, subtopic, document, judgement"
ONCE = ("query", "description")  # elements of a topic
TYPES = ("ambiguous", "faceted", "other")  # of a topic; NIST's files declare the first as default
BLANKS = re.compile(r"[ \t\r\n]+")

Judged = dict[str, list[str]]  # document -> subtopics


class OtherYearError(ValueError):
    """A file with topics of another year than the one asked for."""


class Topic(NamedTuple):
    """What a topic asks for; each run of line breaks and blanks is one space."""

    query_id: str
    query: str
    description: str
    type: str


def read_year(
    year: str, topics_path: Path, qrels_path: Path
) -> tuple[dict[str, Topic], dict[str, Judged]]:
    """Topics and judgements of a year.

    Raises:
        ValueError: bytes that are not as published; a judged topic that is not among the topics.
    """
    topics, judged = read_topics(topics_path, year), read_qrels(qrels_path, year)
    for number in judged:
        if number not in topics:
            expected = f"expected all {len(judged)} judged topics"
            raise ValueError(f"{topics_path}: {expected}, got none with number {number}")
    return topics, judged


def published_topics(year: str) -> list[str]:
    """The topics of a year for which NIST published judgements."""
    return [number for number in _numbers(year) if number not in UNJUDGED]


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
        kind = TYPES[0] if query.type is None else query.type
        words, need = _one_line(query.query), _one_line(query.description)
        topic = Topic(query.query_id, words, need, kind)
        place = f"{path}:{lines[topic.query_id]}"
        if not topic.query:
            raise ValueError(f"{place}: expected a topic with a query, got none")
        if topic.type not in TYPES:
            expected = f"expected a topic of type {', '.join(TYPES)}"
            raise ValueError(f"{place}: {expected}, got {shortened(topic.type)}")
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

    # Line numbers stand for document ids: ir_datasets would split ids at Unicode blanks.
    text = "\n".join(f"{t} {s} {i} {j}" for i, (_, (t, s, _, j)) in enumerate(lines))
    judged: dict[str, dict[str, set[str]]] = {}
    for qrel in TrecSubQrels(StringFile(text), {}).qrels_iter():
        doc = lines[int(qrel.doc_id)][1][2]
        labels = judged.setdefault(qrel.query_id, {}).setdefault(doc, set())
        if qrel.relevance > 0:
            labels.add(qrel.subtopic_id)
    return {topic: _in_order(judged[topic]) for topic in sorted(judged, key=int)}


# Checks


def _check_topics(text: str, path: Path, year: str) -> dict[str, int]:
    """Check what the parser of topics does not check; returns the line of each topic."""
    parser = expat.ParserCreate("utf-8")
    lines: dict[str, int] = {}
    parents: list[str] = []
    elements: set[str] = set()  # of the topic so far

    def start(tag: str, attributes: dict[str, str]) -> None:
        place = f"{path}:{parser.CurrentLineNumber}"
        if len(parents) == 1:
            number = _check_topic(tag, attributes, place, year)
            if number in lines:
                raise ValueError(f"{place}: topic {number} is in line {lines[number]} already")
            lines[number] = parser.CurrentLineNumber
            elements.clear()
        elif len(parents) == 2 and tag in ONCE and tag in elements:
            raise ValueError(f"{place}: expected one <{tag}> a topic, got a second one")
        elif tag == "subtopic" and not {"number", "type"} <= set(attributes):
            raise ValueError(f"{place}: expected a subtopic with number and type")
        elements.add(tag)
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
    if tag != "topic" or not number:
        got = " ".join([tag, *(f'{name}="{value}"' for name, value in attributes.items())])
        raise ValueError(f'{place}: expected <topic number="...">, got <{got}>')
    check_number(place, "topic", number, NATURAL)
    _check_year(number, place, year)
    return number


def _check_qrels(lines: list[tuple[int, list[str]]], path: Path, year: str) -> None:
    seen: dict[tuple[str, ...], tuple[int, str]] = {}
    for line, (topic, subtopic, doc, judgement) in lines:
        place = f"{path}:{line}"
        check_number(place, "topic", topic, NATURAL)
        _check_year(topic, place, year)
        check_number(place, "subtopic", subtopic, NATURAL)
        check_number(place, "judgement", judgement, INTEGER)
        first, before = seen.setdefault((topic, subtopic, doc), (line, judgement))
        if int(before) != int(judgement):
            what = f"topic {topic}, subtopic {subtopic}, document {doc}"
            raise ValueError(
                f"{place}: judgement {judgement} of {what} contradicts {before} in line {first}"
            )


def _numbers(year: str) -> list[str]:
    """The numbers of a year's 50 topics; those of 2009 begin at 1, and each year goes on."""
    first = (int(year) - FIRST_YEAR) * TOPICS_A_YEAR + 1
    return [str(number) for number in range(first, first + TOPICS_A_YEAR)]


def _check_year(topic: str, place: str, year: str) -> None:
    numbers = _numbers(year)
    if topic not in numbers:
        found = FIRST_YEAR + (int(topic) - 1) // TOPICS_A_YEAR
        expected = f"expected topics {numbers[0]} to {numbers[-1]} of {year}"
        raise OtherYearError(f"{place}: {expected}, got topic {topic} of {found}")


# Records


def _in_order(judged: dict[str, set[str]]) -> Judged:
    """Documents by id, their subtopics by number."""
    return {doc: sorted(judged[doc], key=lambda s: (int(s), s)) for doc in sorted(judged)}


def _one_line(text: str | None) -> str:
    return BLANKS.sub(" ", text or "").strip(" ")
