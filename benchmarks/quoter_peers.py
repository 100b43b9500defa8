# SPDX-License-Identifier: Apache-2.0
"""What other tools compute of quoter_rank's figures, from a score matrix or from rankings."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import datasets
import evaluate
import numpy as np
import pytrec_eval
import ranx
import torch
from measure import Figures
from numpy.typing import NDArray
from sklearn.metrics import label_ranking_average_precision_score, ndcg_score
from torchmetrics.retrieval import RetrievalHitRate, RetrievalMRR, RetrievalNormalizedDCG

DEPTHS = (1, 10, 100)


class Scores(NamedTuple):
    """(N, C) scores, and the position of the gold in each row."""

    scores: Any
    gold: NDArray[np.int64]
    folder: Any = None  # holds the file of a memory-mapped matrix


class Rankings(NamedTuple):
    """Lists of candidates, best first, and the gold of each."""

    rankings: Sequence[Any]
    gold: Sequence[Any]


def by_bare_loop(inputs: Rankings) -> list[int]:
    """Ranks by what any check and any look-up in Python lists must do."""
    ranks = []
    for ranking, gold in zip(inputs.rankings, inputs.gold, strict=True):
        if len(set(ranking)) != len(ranking):
            raise ValueError("a candidate is there twice")
        ranks.append(ranking.index(gold) + 1)
    return ranks


def as_run(scores: NDArray[Any]) -> dict[str, dict[str, float]]:
    """A run of TREC tools: {query: {candidate: score}}."""
    names = [f"c{i}" for i in range(scores.shape[1])]
    rows = scores.astype(np.float64).tolist()
    return {f"q{i}": dict(zip(names, row, strict=True)) for i, row in enumerate(rows)}


def as_qrels(gold: NDArray[np.int64]) -> dict[str, dict[str, int]]:
    """Judgements of TREC tools: {query: {candidate: 1}}."""
    return {f"q{i}": {f"c{g}": 1} for i, g in enumerate(gold.tolist())}


def by_pytrec_eval(inputs: Scores) -> Figures:
    """All five figures, the dicts that it takes being made in the call."""
    measures = {"recip_rank", "ndcg_cut.5", "success.1,10,100"}
    rows = pytrec_eval.RelevanceEvaluator(as_qrels(inputs.gold), measures).evaluate(
        as_run(inputs.scores)
    )
    names = {"MRR": "recip_rank", "NDCG@5": "ndcg_cut_5"}
    names |= {f"Recall@{k}": f"success_{k}" for k in DEPTHS}
    return {
        ours: float(np.mean([row[theirs] for row in rows.values()]))
        for ours, theirs in names.items()
    }


def by_ranx(inputs: Scores) -> Figures:
    """All five figures, the dicts that it takes being made in the call."""
    names = {"MRR": "mrr", "NDCG@5": "ndcg@5"} | {f"Recall@{k}": f"hit_rate@{k}" for k in DEPTHS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ranx.evaluate(
            ranx.Qrels(as_qrels(inputs.gold)), ranx.Run(as_run(inputs.scores)), [*names.values()]
        )
    return {ours: float(found[theirs]) for ours, theirs in names.items()}


def by_torchmetrics(inputs: Scores) -> Figures:
    """MRR only: its metrics do not share the sorting."""
    return {"MRR": _torchmetrics(RetrievalMRR(), inputs)}


def by_torchmetrics_others(inputs: Scores) -> Figures:
    """The figures that `by_torchmetrics` leaves out."""
    recalls = {f"Recall@{k}": _torchmetrics(RetrievalHitRate(top_k=k), inputs) for k in DEPTHS}
    return {"NDCG@5": _torchmetrics(RetrievalNormalizedDCG(top_k=5), inputs), **recalls}


def _torchmetrics(metric: Any, inputs: Scores) -> float:
    queries, candidates = inputs.scores.shape
    target = torch.zeros((queries, candidates), dtype=torch.bool)
    target[torch.arange(queries), torch.from_numpy(inputs.gold)] = True
    query = torch.arange(queries).repeat_interleave(candidates)
    metric.update(torch.from_numpy(inputs.scores).flatten(), target.flatten(), query)
    return float(metric.compute())


def _one_hot(inputs: Scores) -> NDArray[np.int8]:
    target = np.zeros(inputs.scores.shape, np.int8)
    target[np.arange(len(target)), inputs.gold] = 1
    return target


def by_sklearn(inputs: Scores) -> Figures:
    """MRR: with one gold it is the label ranking average precision."""
    return {"MRR": float(label_ranking_average_precision_score(_one_hot(inputs), inputs.scores))}


def by_sklearn_ndcg(inputs: Scores) -> Figures:
    """NDCG@5."""
    return {"NDCG@5": float(ndcg_score(_one_hot(inputs), inputs.scores, k=5))}


class DefaultMRR(evaluate.Metric):
    """MRR as a metric of `evaluate` is usually written: the scores go through its cache."""

    def _info(self) -> evaluate.MetricInfo:
        scores = datasets.Sequence(datasets.Value("float64"))
        features = datasets.Features(predictions=scores, references=datasets.Value("int64"))
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=features
        )

    def _compute(self, *, predictions: Any, references: Any) -> Figures:
        scores, gold = np.asarray(predictions), np.asarray(references)
        rank = 1 + (scores > scores[np.arange(len(gold)), gold][:, None]).sum(1)
        return {"MRR": float((1 / rank).mean())}


def by_default_path(inputs: Scores) -> Figures:
    """MRR by a metric that leaves the inputs to `evaluate`."""
    found: Figures = DefaultMRR().compute(predictions=inputs.scores, references=inputs.gold)
    return found
