# SPDX-License-Identifier: Apache-2.0
"""What a visitor gives: pasted JSON or files, read within bounds and never executed."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from texts import UploadError, bound, read_json, read_pasted, read_text

MAX_QUERIES = 20_000
MAX_DOCUMENTS = 1_000_000  # judged and ranked, of all queries
FORMATS = (".json", ".txt", ".qrels", ".diversity", ".run")
KEYS = '{"predictions": [...], "references": [...]}'
QRELS = "topic, subtopic, document, judgement"
RUN = "topic, Q0, document, rank, score, tag"
RANKING = '{query: [document, ...]}, best first, or {query: {"permutation": [document, ...]}}'
RUN_ORDERS = ("ranks, which scores must not contradict", "ranks", "scores")

Rankings = dict[str, list[str]]  # query -> documents, best first


class Upload(NamedTuple):
    """Arguments of `compute`, and what a visitor should know of how they came about."""

    predictions: list[Any]
    references: list[Any]
    query_ids: list[Any] | None = None
    notes: tuple[str, ...] = ()


def read(text: str | None, judged: str | None, ranked: str | None, order: str) -> Upload:
    """Read two files, judgements and rankings, or the text where there are none.

    Raises:
        UploadError: over the bounds, or of a form that is not known.
    """
    if judged and ranked:
        upload = _aligned(_read_judged(Path(judged)), _read_ranked(Path(ranked), order))
    elif judged or ranked:
        missing = "the ranking" if judged else "the judgements"
        raise UploadError(f"Two files are needed: upload {missing} too.")
    elif text and text.strip():
        upload = Upload(**read_pasted(text))
    else:
        raise UploadError(f"Paste JSON, {KEYS}, or upload judgements and a ranking.")
    if isinstance(upload.predictions, list) and isinstance(upload.references, list):
        bound("queries", max(len(upload.predictions), len(upload.references)), MAX_QUERIES)
        rows = [*upload.predictions, *upload.references]
        sizes = (len(row) for row in rows if isinstance(row, (list, dict)))
        bound("documents", sum(sizes), MAX_DOCUMENTS)
    return upload


# Judgements and rankings of files --------------------------------------------------------------


def _fields(text: str, name: str, columns: str) -> Iterator[tuple[str, list[str]]]:
    """Place and fields of each line; spaces and tabs part fields."""
    n_columns = columns.count(",") + 1
    for number, line in enumerate(text.split("\n"), 1):
        fields = line.replace("\t", " ").replace("\r", " ").split(" ")
        fields = [field for field in fields if field]
        if fields and len(fields) != n_columns:
            expected = f"expected {n_columns} columns ({columns})"
            raise UploadError(f"{name}, line {number}: {expected}, got {len(fields)}.")
        if fields:
            yield f"{name}, line {number}", fields


def _read_judged(file: Path) -> dict[str, dict[str, list[str]]]:
    """{query: {document: [subtopic, ...]}} of a diversity qrels file or of DU-DIV's JSON."""
    text = read_text(file)
    if text.lstrip()[:1] != "{":
        return _read_qrels(text, file.name)
    judged = read_json(text, file.name)
    if not all(isinstance(docs, dict) for docs in judged.values()):
        raise UploadError(f"{file.name} must be {{query: {{document: [subtopic, ...]}}}}.")
    return dict(judged)


def _read_qrels(text: str, name: str) -> dict[str, dict[str, list[str]]]:
    """A judgement above 0 gives a document the subtopic, any other makes it a judged document."""
    judged: dict[str, dict[str, list[str]]] = {}
    seen: set[tuple[str, ...]] = set()
    for place, fields in _fields(text, name, QRELS):
        topic, subtopic, doc, judgement = fields
        if (topic, subtopic, doc) in seen:
            raise UploadError(f"{place}: document {doc} is judged twice for subtopic {subtopic}.")
        seen.add((topic, subtopic, doc))
        try:
            relevant = int(judgement) > 0
        except ValueError:
            raise UploadError(f"{place}: the judgement is no integer: {judgement!r}.") from None
        labels = judged.setdefault(topic, {}).setdefault(doc, [])
        labels += [subtopic] if relevant else []
    return judged


def _read_ranked(file: Path, order: str) -> Rankings:
    """The documents of each query, best first, of a TREC run, or of JSON as `RANKING`."""
    text = read_text(file)
    if text.lstrip()[:1] != "{":
        return _read_run(text, file.name, order)
    ranked = read_json(text, file.name)
    found = {}
    for query, docs in ranked.items():
        docs = docs.get("permutation") if isinstance(docs, dict) else docs
        if not isinstance(docs, list):
            raise UploadError(f"{file.name} must be {RANKING}; query {query[:80]!r} is not.")
        found[query] = docs
    return found


def _read_run(text: str, name: str, order: str) -> Rankings:
    """As `quotediv.loaders.trec_web.read_run`; equal scores: the larger id first."""
    topics: dict[str, dict[str, tuple[int, float]]] = {}
    for place, fields in _fields(text, name, RUN):
        topic, _, doc, rank, score, _ = fields
        docs = topics.setdefault(topic, {})
        if doc in docs:
            raise UploadError(f"{place}: document {doc} is in topic {topic} already.")
        try:
            docs[doc] = int(rank), float(score)
        except ValueError:
            raise UploadError(f"{place}: rank and score must be numbers.") from None
        if not math.isfinite(docs[doc][1]):
            raise UploadError(f"{place}: the score must be finite, got {score}.")
    run, contradictory = {}, []
    for topic, docs in topics.items():
        ranking = sorted(docs, key=lambda doc: (docs[doc][1], doc), reverse=True)
        if order != "scores":
            ranking.sort(key=lambda doc: docs[doc][0])
        scores = [docs[doc][1] for doc in ranking]
        if scores != sorted(scores, reverse=True):
            contradictory.append(topic)
        run[topic] = ranking
    if contradictory and order == RUN_ORDERS[0]:
        found = f"{len(contradictory)} of {len(run)} topics, first in {contradictory[0]}"
        raise UploadError(
            f"{name}: ranks and scores give different orders in {found}; choose which one holds."
        )
    return run


def _aligned(judged: dict[str, Any], ranked: Rankings) -> Upload:
    """All judged queries; one without a ranking is an empty ranking and scores 0."""
    found = [query for query in judged if query in ranked]
    if not found:
        first = f"{next(iter(judged), None)!r} and {next(iter(ranked), None)!r}"
        raise UploadError(f"The two files have no query in common: their first are {first}.")
    notes = []
    if len(found) < len(judged):
        lacking = len(judged) - len(found)
        notes.append(f"{lacking:,} judged queries have no ranking and score 0.")
    if len(found) < len(ranked):
        notes.append(f"{len(ranked) - len(found):,} queries without judgements are left out.")
    predictions = [ranked.get(query, []) for query in judged]
    return Upload(predictions, list(judged.values()), list(judged), tuple(notes))
