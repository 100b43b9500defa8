# SPDX-License-Identifier: Apache-2.0
"""What other tools compute of search_diversity's figures, each from what a user has at hand."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import datasets
import evaluate
import ir_measures
import numpy as np
import pyndeval
from diversity_inputs import Dicts
from ir_measures import ERR_IA, StRecall, alpha_nDCG
from measure import Figures

DEPTHS = (5, 10)
ALPHA = 0.5
PYNDEVAL = {"alpha-NDCG": "alpha-nDCG", "ERR-IA": "ERR-IA", "S-recall": "strec"}  # our names, its
DEFAULT = tuple(f"{name}@{k}" for k in DEPTHS for name in PYNDEVAL)
COLUMNS = (  # all that ndeval prints
    *(f"{name}@{k}" for k in (5, 10, 20) for name in (*PYNDEVAL, "alpha-DCG", "nERR-IA", "P-IA")),
    *("NRBP", "nNRBP", "MAP-IA"),
)
IR_MEASURES = {
    f"{name}@{k}": measure @ k
    for k in DEPTHS
    for name, measure in (
        ("alpha-NDCG", alpha_nDCG(alpha=ALPHA)),
        ("ERR-IA", ERR_IA),
        ("S-recall", StRecall),
    )
}

Labels = Mapping[str, Sequence[str]]  # document -> subtopics
Qrel = tuple[str, str, str, int]
Scored = tuple[str, str, float]


# Plain loops


def gains_of(ranking: Iterable[str], documents: Labels, alpha: float) -> list[float]:
    """Gain at each rank: the weights of the document's subtopics, which shrink when covered."""
    weights: dict[str, float] = {}
    gains = []
    for doc in ranking:
        gain = 0.0
        for label in documents.get(doc, ()):
            weight = weights.get(label, 1.0)
            gain += weight
            weights[label] = weight * (1 - alpha)
        gains.append(gain)
    return gains


def ideal_gains(documents: Labels, alpha: float, depth: int) -> list[float]:
    """Gains of the greedy order, the larger id first among equal gains."""
    weights = {label: 1.0 for found in documents.values() for label in found}
    weight_of = weights.__getitem__
    left = sorted(documents, reverse=True)
    gains = []
    while left and len(gains) < depth:
        best, best_gain = left[0], -1.0
        for doc in left:
            gain = sum(map(weight_of, documents[doc]))
            if gain > best_gain:
                best, best_gain = doc, gain
        left.remove(best)
        gains.append(best_gain)
        for label in documents[best]:
            weights[label] *= 1 - alpha
    return gains


def dcg(gains: list[float], k: int) -> float:
    """Sum of the gains over log2(rank + 1)."""
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:k], 1))


def plain_query(ranking: Sequence[str], documents: Labels, alpha: float) -> Figures:
    """The three figures of one query under the protocol "standard"."""
    n_subtopics = len({label for found in documents.values() for label in found})
    gains = gains_of(ranking[: max(DEPTHS)], documents, alpha)
    ideal = ideal_gains(documents, alpha, max(DEPTHS))
    figures = {}
    for k in DEPTHS:
        most = n_subtopics * sum((1 - alpha) ** (rank - 1) / rank for rank in range(1, k + 1))
        covered = {label for doc in ranking[:k] for label in documents.get(doc, ())}
        figures[f"alpha-NDCG@{k}"] = dcg(gains, k) / dcg(ideal, k)
        figures[f"ERR-IA@{k}"] = sum(g / rank for rank, g in enumerate(gains[:k], 1)) / most
        figures[f"S-recall@{k}"] = len(covered) / n_subtopics
    return figures


def means(queries: Iterable[Figures]) -> Figures:
    """Means over the queries."""
    sums: Figures = {}
    count = 0
    for query in queries:
        count += 1
        for name, value in query.items():
            sums[name] = sums.get(name, 0.0) + value
    return {name: total / count for name, total in sums.items()}


def by_plain_loops(inputs: Dicts) -> Figures:
    """All figures in plain Python."""
    pairs = zip(inputs.rankings, inputs.documents, strict=True)
    return means(plain_query(ranking, documents, ALPHA) for ranking, documents in pairs)


# pyndeval


def qrels_of(inputs: Dicts) -> Iterator[Qrel]:
    """Judgements as pyndeval takes them."""
    for query, documents in enumerate(inputs.documents):
        name = str(query)
        for doc, labels in documents.items():
            for label in labels:
                yield name, label, doc, 1


def run_of(inputs: Dicts) -> Iterator[Scored]:
    """Rankings as pyndeval takes them."""
    for query, ranking in enumerate(inputs.rankings):
        name = str(query)
        for rank, doc in enumerate(ranking):
            yield name, doc, -float(rank)


def its_name(key: str) -> str:
    """What pyndeval calls a figure of ours."""
    name, at, depth = key.partition("@")
    return PYNDEVAL.get(name, name) + at + depth


def ndeval(
    qrels: Iterable[Qrel], run: Iterable[Scored], alpha: float, figures: Sequence[str]
) -> Figures:
    """The means of pyndeval's figures."""
    names = {key: its_name(key) for key in figures}
    rows = pyndeval.ndeval(qrels, run, names.values(), alpha=alpha)
    return {
        ours: sum(row[theirs] for row in rows.values()) / len(rows)
        for ours, theirs in names.items()
    }


def by_pyndeval(inputs: Dicts, alpha: float = ALPHA, figures: Sequence[str] = DEFAULT) -> Figures:
    """Figures, the tuples that it takes being made in the call."""
    return ndeval(qrels_of(inputs), run_of(inputs), alpha, figures)


def by_pyndeval_from_columns(rows: datasets.Dataset, figures: Sequence[str] = DEFAULT) -> Figures:
    """Figures from Arrow columns, by the quickest conversion we know: a list a flat column."""
    names = ["query_id", "doc_ids", "subtopics", "ranking"]
    table = rows.select_columns(names).with_format("arrow")[:]
    query, ids, subtopics, ranking = (table[name].combine_chunks() for name in names)
    queries = query.to_numpy(zero_copy_only=False)
    docs, labels = ids.flatten().to_numpy(zero_copy_only=False), subtopics.flatten()
    n_labels = labels.value_lengths().to_numpy()
    of_documents = queries.repeat(ids.value_lengths().to_numpy())
    qrels = zip(
        of_documents.repeat(n_labels).tolist(),
        labels.flatten().to_numpy(zero_copy_only=False).tolist(),
        docs.repeat(n_labels).tolist(),
        np.ones(len(labels.flatten()), int).tolist(),
        strict=True,
    )
    n_ranked = ranking.value_lengths().to_numpy()
    ranked = ranking.flatten().to_numpy(zero_copy_only=False).tolist()
    falling = np.arange(len(ranked), 0, -1, dtype=float).tolist()
    run = zip(queries.repeat(n_ranked).tolist(), ranked, falling, strict=True)
    return ndeval(qrels, run, ALPHA, figures)


# ir_measures


def by_ir_measures(inputs: Dicts) -> Figures:
    """All figures, the tuples that it takes being made in the call."""
    qrels = (
        ir_measures.GenericQrel(query, doc, relevance, label)
        for query, label, doc, relevance in qrels_of(inputs)
    )
    run = (ir_measures.ScoredDoc(*row) for row in run_of(inputs))
    found = ir_measures.calc_aggregate(IR_MEASURES.values(), qrels, run)
    return {name: float(found[measure]) for name, measure in IR_MEASURES.items()}


# evaluate's own path


class NestedDiversity(evaluate.Metric):
    """Plain loops in a usual metric of `evaluate`: nested lists go through its cache."""

    def _info(self) -> evaluate.MetricInfo:
        ids = datasets.Sequence(datasets.Value("string"))
        references = {"doc_ids": ids, "subtopics": datasets.Sequence(ids)}
        features = datasets.Features(predictions=ids, references=references)
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=features
        )

    def _compute(self, *, predictions: Any, references: Any) -> Figures:
        judged = [dict(zip(row["doc_ids"], row["subtopics"], strict=True)) for row in references]
        return by_plain_loops(Dicts(predictions, judged))


def by_nested_features(inputs: Dicts) -> Figures:
    """All figures by a metric that leaves the inputs to `evaluate`."""
    references = [
        {"doc_ids": [*documents], "subtopics": [*documents.values()]}
        for documents in inputs.documents
    ]
    found: Figures = NestedDiversity().compute(predictions=inputs.rankings, references=references)
    return found
