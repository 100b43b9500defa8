# SPDX-License-Identifier: Apache-2.0
"""One query rank by rank: what each document covers and gains, here and in the ideal ranking."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from common_metric import metric_module

formulas = metric_module("search_diversity", "gains")
DECIMAL = re.compile(r"[+-]?[0-9]{1,4000}")
PADDING = -100


class Step(NamedTuple):
    """One rank of a ranking."""

    doc: str
    covers: dict[str, bool]  # subtopic -> whether no document above covers it
    gain: float
    judged: bool


class Query(NamedTuple):
    """A query in one form, whatever it was given as."""

    docs: list[str]
    subtopics: list[set[str]]  # of each document
    by_id: list[int]  # documents in the order in which ids break ties
    ranking: list[tuple[str, int | None]]  # names and indices of documents; no index: not judged


def read(prediction: Sequence[Any], reference: Any, *, kind: str, protocol: str) -> Query:
    """A query that the metric has accepted and read as this kind."""
    if isinstance(reference, Mapping):
        if {"doc_ids", "subtopics"} <= reference.keys():
            reference = dict(zip(reference["doc_ids"], reference["subtopics"], strict=True))
        docs = [str(doc) for doc in reference]
        subtopics = [{str(label) for label in labels} for labels in reference.values()]
        by_id = sorted(range(len(docs)), key=docs.__getitem__, reverse=True)
    else:
        rows = [row for row in enumerate(reference) if set(row[1]) != {PADDING}]
        docs = [f"row {index}" for index, _ in rows]
        subtopics = [
            {str(column) for column, cell in enumerate(row) if cell == 1} for _, row in rows
        ]
        by_id = list(range(len(rows)))[::-1]
        place_of_row = {index: place for place, (index, _) in enumerate(rows)}
        if kind == "scores":
            prediction = [prediction[index] for index in place_of_row]
        else:
            prediction = [place_of_row[index] for index in prediction]
    if kind == "ids":
        place = {doc: index for index, doc in enumerate(docs)}
        return Query(docs, subtopics, by_id, [(doc, place.get(doc)) for doc in prediction])
    order = prediction
    if kind == "scores":
        order = list(range(len(docs))) if protocol == "released" else by_id
        order = sorted(order, key=lambda index: -prediction[index])  # equal ones keep their order
    return Query(docs, subtopics, by_id, [(docs[index], index) for index in order])


def names_of_subtopics(query: Query) -> list[str]:
    """Subtopics in ascending order: as numbers if all are, else by their UTF-8 bytes."""
    names = set().union(*query.subtopics)
    if all(DECIMAL.fullmatch(name) for name in names):
        return sorted(names, key=lambda name: (int(name), name))
    return sorted(names)


def steps(
    query: Query, *, protocol: str, alpha: float, depth: int
) -> tuple[list[Step], list[Step]]:
    """The first `depth` ranks, and those of the protocol's ideal ranking."""
    order = query.by_id if protocol == "standard" else list(range(len(query.docs)))
    names = names_of_subtopics(query)
    labels = np.zeros((len(names), len(order) + 1, 1), bool)  # the last: not judged
    for place, index in enumerate(order):
        labels[:, place, 0] = [name in query.subtopics[index] for name in names]
    place_of: dict[int | None, int] = {index: place for place, index in enumerate(order)}
    ours = query.ranking[:depth]
    ranks = np.array([[place_of.get(index, len(order))] for _, index in ours], np.intp)
    ranks = ranks.reshape(-1, 1)
    if protocol == "released":
        best = formulas.count_order(labels[:, :-1], depth)
    else:
        value = formulas.recipe_value(labels[:, :-1]) if protocol == "recipe" else None
        penalty = 1.0 if protocol == "recipe" else alpha
        best, _ = formulas.greedy(labels[:, :-1], penalty, min(depth, len(order)), value)
    ideal = [(query.docs[order[place]], order[place]) for place in best[:, 0].tolist()]
    return (
        _steps(ours, formulas.covered(labels, ranks), names, protocol, alpha),
        _steps(ideal, formulas.covered(labels, best), names, protocol, alpha),
    )


def _steps(
    docs: list[tuple[str, int | None]], covers: Any, names: list[str], protocol: str, alpha: float
) -> list[Step]:
    if protocol == "recipe":
        gains = formulas.recipe_gains(covers) / formulas.RECIPE_SCALE
    else:
        gains = formulas.novelty_gains(covers, alpha)
    seen: set[str] = set()
    found = []
    for rank, (doc, index) in enumerate(docs):
        here = [name for name, is_there in zip(names, covers[:, rank, 0], strict=True) if is_there]
        marks = {name: name not in seen for name in here}
        found.append(Step(doc, marks, float(gains[rank, 0]), index is not None))
        seen.update(here)
    return found
