# SPDX-License-Identifier: Apache-2.0
"""What a visitor pastes or uploads, read within bounds and never executed."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from common_texts import KEYS, UploadError, bound, read_json, read_pasted, read_text

MAX_QUERIES = 20_000
MAX_DOCUMENTS = 1_000_000  # judged and ranked, of all queries together
MAX_CELLS = 20_000_000  # documents x subtopics of a query
QRELS = "topic, subtopic, document, judgement"
RUN = "topic, Q0, document, rank, score, tag"
RANKING = '{query: [document, ...]}, best first, or {query: {"permutation": [document, ...]}}'
RUN_ORDERS = ("ranks, checked by scores", "ranks", "scores")
INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

Rankings = dict[str, list[str]]  # query -> documents, best first


class Upload(NamedTuple):
    """Arguments of `compute`, and what a visitor should know about how they were made."""

    predictions: list[Any]
    references: list[Any]
    query_ids: list[Any] | None = None
    notes: tuple[str, ...] = ()


def read(text: str | None, judged: str | None, ranked: str | None, order: str) -> Upload:
    """Read two files, judgements and rankings, or the text where there are none.

    Raises:
        UploadError: they are too large, or of an unknown form.
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
    if not (isinstance(upload.predictions, list) and isinstance(upload.references, list)):
        raise UploadError(f"The text must be {KEYS}, both lists with one entry per query.")
    bound("queries", max(len(upload.predictions), len(upload.references)), MAX_QUERIES)
    rows = [
        row for row in (*upload.predictions, *upload.references) if isinstance(row, (list, dict))
    ]
    documents = [row.get("doc_ids", row) if isinstance(row, dict) else row for row in rows]
    bound("documents", sum(len(row) for row in documents if hasattr(row, "__len__")), MAX_DOCUMENTS)
    cells = max(map(_cells, upload.references), default=0)
    bound("documents x subtopics of a query", cells, MAX_CELLS)
    return upload


def _cells(reference: Any) -> int:
    """Documents x subtopics of a query, which the metric holds as a matrix."""
    if isinstance(reference, dict):
        columns = "doc_ids" in reference and isinstance(reference.get("subtopics"), list)
        subsets = reference["subtopics"] if columns else reference.values()
        subsets = [subset for subset in subsets if isinstance(subset, list)]
        return len(subsets) * len({str(label) for subset in subsets for label in subset})
    rows = (
        [row for row in reference if isinstance(row, list)] if isinstance(reference, list) else []
    )
    return len(rows) * max(map(len, rows), default=0)


# Judgements and rankings from files -------------------------------------------------------------


def _fields(text: str, name: str, columns: str) -> Iterator[tuple[str, list[str]]]:
    """Place and fields of each line; spaces and tabs separate fields."""
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
    """{query: {document: [subtopic, ...]}} from a diversity qrels file or DU-DIV's JSON."""
    text = read_text(file)
    if text.lstrip()[:1] != "{":
        return _read_qrels(text, file.name)
    judged = read_json(text, file.name)
    if not all(isinstance(docs, dict) for docs in judged.values()):
        raise UploadError(f"{file.name} must be {{query: {{document: [subtopic, ...]}}}}.")
    return dict(judged)


def _read_qrels(text: str, name: str) -> dict[str, dict[str, list[str]]]:
    """A judgement above 0 gives the document that subtopic, any other only marks it as judged."""
    judged: dict[str, dict[str, list[str]]] = {}
    seen: set[tuple[str, ...]] = set()
    for place, fields in _fields(text, name, QRELS):
        topic, subtopic, doc, judgement = fields
        if (topic, subtopic, doc) in seen:
            raise UploadError(
                f"{place}: document {doc[:80]} is judged twice for subtopic {subtopic}."
            )
        seen.add((topic, subtopic, doc))
        if not INTEGER.fullmatch(judgement):
            raise UploadError(f"{place}: the judgement is no integer: {judgement[:80]!r}.")
        labels = judged.setdefault(topic, {}).setdefault(doc, [])
        labels += [subtopic] if int(judgement) > 0 else []
    return judged


def _read_ranked(file: Path, order: str) -> Rankings:
    """The documents of each query, best first, from a TREC run or JSON like `RANKING`."""
    text = read_text(file)
    if text.lstrip()[:1] != "{":
        return _read_run(text, file.name, order)
    ranked = read_json(text, file.name)
    found = {}
    for query, docs in ranked.items():
        docs = docs.get("permutation") if isinstance(docs, dict) else docs
        if not isinstance(docs, list):
            raise UploadError(f"{file.name} must be {RANKING}; query {query[:80]!r} is not.")
        if not all(isinstance(doc, str) for doc in docs):
            raise UploadError(
                f"{file.name}: documents must be strings, those of {query[:80]!r} are not."
            )
        found[query] = docs
    return found


def _read_run(text: str, name: str, order: str) -> Rankings:
    """As `quotediv.loaders.trec_web.read_run` does; of equal scores, the larger id comes first."""
    topics: dict[str, dict[str, tuple[int, float]]] = {}
    for place, fields in _fields(text, name, RUN):
        topic, _, doc, rank, score, _ = fields
        docs = topics.setdefault(topic, {})
        if doc in docs:
            raise UploadError(f"{place}: document {doc[:80]} is in topic {topic} already.")
        if not INTEGER.fullmatch(rank) or not DECIMAL.fullmatch(score):
            raise UploadError(f"{place}: rank must be an integer and score a number.")
        docs[doc] = int(rank), float(score)
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
            f"{name}: ranks and scores give different orders in {found}; choose which to follow."
        )
    return run


def _aligned(judged: dict[str, Any], ranked: Rankings) -> Upload:
    """All judged queries; one without a ranking gets an empty one, which scores 0."""
    found = [query for query in judged if query in ranked]
    if not found:
        first = " and ".join(repr(next(iter(of), None))[:80] for of in (judged, ranked))
        raise UploadError(f"The two files have no query in common: their first are {first}.")
    notes = []
    if len(found) < len(judged):
        lacking = len(judged) - len(found)
        notes.append(f"Judged queries without a ranking, which score 0: {lacking:,}.")
    if len(found) < len(ranked):
        notes.append(f"Queries without judgements, left out: {len(ranked) - len(found):,}.")
    predictions = [ranked.get(query, []) for query in judged]
    return Upload(predictions, list(judged.values()), list(judged), tuple(notes))
