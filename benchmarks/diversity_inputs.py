# SPDX-License-Identifier: Apache-2.0
"""Made-up judgements like DU-DIV's and rankings of their documents, in every form."""

from typing import NamedTuple

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets.table import InMemoryTable
from numpy.typing import NDArray

SUBTOPICS = 25  # the most that a query of DU-DIV has
LABELS_A_DOCUMENT = (104, 13_150, 36_482, 15_329, 1_678, 249, 103)  # how often 0, 1, ... 6 and more


class Drawn(NamedTuple):
    """Labels and rankings of Q queries with n documents each."""

    labels: NDArray[np.int8]  # (Q, n, 6), subtopics from 0, the first `counts` of each document
    counts: NDArray[np.int8]  # (Q, n)
    order: NDArray[np.int64]  # (Q, n), positions of the documents, best first


class Dicts(NamedTuple):
    """Python objects: a list of ids and a mapping document -> subtopics a query."""

    rankings: list[list[str]]
    documents: list[dict[str, list[str]]]


class Arrays(NamedTuple):
    """(Q, n) float32 scores and (Q, n, SUBTOPICS) labels of 0 and 1."""

    scores: NDArray[np.float32]
    labels: NDArray[np.int8]


def draw(queries: int, documents: int) -> Drawn:
    """3 to 25 subtopics a query, 9 on average, some of them in most of its documents."""
    rng = np.random.default_rng(3)
    shape = (queries, documents)
    share = np.array(LABELS_A_DOCUMENT) / sum(LABELS_A_DOCUMENT)
    width = len(share) - 1
    subtopics = np.clip(rng.normal(9, 3, (queries, 1, 1)).astype(int), 3, SUBTOPICS)
    counts = rng.choice(len(share), shape, p=share)
    counts[:, 0] = np.maximum(counts[:, 0], 1)  # pyndeval leaves out a query without labels
    counts = np.minimum(counts, subtopics[:, :, 0])
    step = 1 + (rng.random((*shape, width)) ** 2 * (subtopics // width)).astype(int)
    step[:, :, 0] = (rng.random(shape) ** 3 * subtopics[:, :, 0]).astype(int)
    labels = np.cumsum(step, axis=2) % subtopics
    order = rng.random(shape).argsort(axis=1)
    return Drawn(labels.astype(np.int8), counts.astype(np.int8), order)


def columns(queries: int, documents: int = 15) -> datasets.Dataset:
    """A dataset with the loaders' columns, and the rankings in a list column."""
    labels, counts, order = draw(queries, documents)
    named = labels[np.arange(labels.shape[2]) < counts[:, :, None]]
    text = pa.array([str(i + 1) for i in range(SUBTOPICS)]).take(pa.array(named))
    query = pa.array(np.repeat(np.arange(queries), documents)).cast(pa.string())
    place = pa.array(np.tile(np.arange(documents), queries)).cast(pa.string())
    ids = pc.binary_join_element_wise(query, place, "_")
    ranked = ids.take(pa.array((order + documents * np.arange(queries)[:, None]).ravel()))
    ends = pa.array(np.arange(queries + 1, dtype=np.int32) * np.int32(documents))
    of_documents = pa.array(np.append(0, np.cumsum(counts, dtype=np.int32)).astype(np.int32))
    subtopics = pa.ListArray.from_arrays(of_documents, text)
    table = pa.table(
        {
            "query_id": pa.array(np.arange(queries)).cast(pa.string()),
            "doc_ids": pa.ListArray.from_arrays(ends, ids),
            "subtopics": pa.ListArray.from_arrays(ends, subtopics),
            "ranking": pa.ListArray.from_arrays(ends, ranked),
        }
    )
    return datasets.Dataset(InMemoryTable(table))


def dicts(queries: int, documents: int = 15) -> Dicts:
    """The same as Python objects."""
    table = columns(queries, documents).with_format("arrow")[:]
    pairs = zip(table["doc_ids"].to_pylist(), table["subtopics"].to_pylist(), strict=True)
    judged = [dict(zip(docs, labels, strict=True)) for docs, labels in pairs]
    return Dicts(table["ranking"].to_pylist(), judged)


def arrays(queries: int, documents: int = 15) -> Arrays:
    """The same as dense arrays; rows stand in ascending order of the documents' ids."""
    labels, counts, order = draw(queries, documents)
    dense = np.zeros((queries, documents, SUBTOPICS), np.int8)
    query, document, at = np.nonzero(np.arange(labels.shape[2]) < counts[:, :, None])
    dense[query, document, labels[query, document, at]] = 1
    scores = np.empty((queries, documents), np.float32)
    np.put_along_axis(scores, order, np.arange(documents, 0, -1, dtype=np.float32)[None], 1)
    by_id = sorted(range(documents), key=str)
    return Arrays(scores[:, by_id], dense[:, by_id])


def one_deep(judged: int) -> Dicts:
    """One topic: so many judged documents, a tenth of them relevant, and half as many ranked."""
    rng = np.random.default_rng(5)
    ids = [f"clueweb09-en{i:04}-{i % 97:02}-{i:05}" for i in range(judged)]
    relevant = rng.random(judged) < 0.1
    labels = [
        sorted(str(s) for s in rng.permutation(6)[: rng.integers(1, 4)]) if found else []
        for found in relevant
    ]
    ranking = [ids[i] for i in rng.permutation(judged)[: judged // 2]]
    return Dicts([ranking], [dict(zip(ids, labels, strict=True))])
