# SPDX-License-Identifier: Apache-2.0
"""quoter_rank and search_diversity against other tools, brute force and published recipes."""

import itertools
import math
import random
import statistics

import numpy as np
import pytest
from reference import expected_rank_variance, quoter_figures, rank_and_tied
from support import load

DEPTHS = (1, 3, 5, 10, 100)


def tie_free(n_queries=60, n_candidates=130, seed=1):
    """Rows of distinct scores, and golds."""
    rng = np.random.default_rng(seed)
    rows = np.arange(n_candidates, dtype=np.float64) - n_candidates / 2
    scores = rng.permuted(np.tile(rows, (n_queries, 1)), axis=1) / 4
    return scores, rng.integers(0, n_candidates, n_queries)


def as_run(scores):
    return {f"q{i}": {f"c{j}": float(s) for j, s in enumerate(row)} for i, row in enumerate(scores)}


def as_qrels(gold):
    return {f"q{i}": {f"c{g}": 1} for i, g in enumerate(gold)}


def computed(scores, gold, **options):
    result = load("quoter_rank").compute(
        predictions=scores, references=gold, recall_k=DEPTHS, per_query=True, **options
    )
    return result["per_query"]


@pytest.mark.parametrize("ties", ["expected", "optimistic", "pessimistic"])
def test_pytrec_eval(ties):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    scores, gold = tie_free()
    cuts = ",".join(map(str, DEPTHS))
    measures = {"recip_rank", "ndcg_cut.5", f"success.{cuts}", f"recall.{cuts}"}
    evaluator = pytrec_eval.RelevanceEvaluator(as_qrels(gold), measures)
    rows = evaluator.evaluate(as_run(scores))
    ours = computed(scores, gold, ties=ties)
    names = {"MRR": ["recip_rank"], "NDCG@5": ["ndcg_cut_5"]}
    names |= {f"Recall@{k}": [f"success_{k}", f"recall_{k}"] for k in DEPTHS}
    for name, theirs in names.items():
        for other in theirs:
            values = [rows[f"q{i}"][other] for i in range(len(gold))]
            assert ours[name] == pytest.approx(values, rel=0, abs=1e-12), other


@pytest.mark.filterwarnings("ignore")
def test_ranx():
    ranx = pytest.importorskip("ranx")
    scores, gold = tie_free(seed=2)
    measures = ["mrr", "ndcg@5", *(f"hit_rate@{k}" for k in DEPTHS)]
    qrels, run = ranx.Qrels(as_qrels(gold)), ranx.Run(as_run(scores))
    theirs = ranx.evaluate(qrels, run, measures)
    ours = load("quoter_rank").compute(predictions=scores, references=gold, recall_k=DEPTHS)
    assert ours["MRR"] == pytest.approx(theirs["mrr"], rel=0, abs=1e-12)
    assert ours["NDCG@5"] == pytest.approx(theirs["ndcg@5"], rel=0, abs=1e-12)
    for k in DEPTHS:
        assert ours[f"Recall@{k}"] == pytest.approx(theirs[f"hit_rate@{k}"], rel=0, abs=1e-12)


SMALL_POOLS = [
    ([0.5, 0.5, 0.5], 1),
    ([0.5, 0.9, 0.5, 0.1], 0),
    ([0.1, 0.1, 0.9, 0.9, 0.1], 4),
    ([0.1, 0.1, 0.9, 0.9, 0.1], 2),
    ([0.3, 0.3, 0.3, 0.3, 0.3, 0.3], 5),
    ([0.2, 0.3, 0.3, 0.4, 0.5, 0.5, 0.5], 1),
    ([1.0, 2.0, 3.0], 0),
]


def ranks_over_all_orders(scores, gold):
    """The gold's rank in each order of the candidates that respects the scores."""
    ranks = []
    for order in itertools.permutations(range(len(scores))):
        ranked = [scores[c] for c in order]
        if all(a >= b for a, b in itertools.pairwise(ranked)):
            ranks.append(order.index(gold) + 1)
    return ranks


@pytest.mark.parametrize(("scores", "gold"), SMALL_POOLS)
def test_expected_ties_are_the_mean_over_all_orders(quoter_rank, scores, gold):
    ranks = ranks_over_all_orders(scores, gold)
    result = quoter_rank.compute(
        predictions=[scores], references=[gold], recall_k=(1, 2, 3), ndcg_k=3, per_query=True
    )
    expected = {
        "MRR": statistics.fmean([1 / r for r in ranks]),
        "NDCG@3": statistics.fmean([1 / math.log2(r + 1) if r <= 3 else 0.0 for r in ranks]),
        "MeanRank": statistics.fmean(ranks),
        "MedianRank": statistics.fmean(ranks),
    }
    expected |= {f"Recall@{k}": statistics.fmean([float(r <= k) for r in ranks]) for k in (1, 2, 3)}
    for name, value in expected.items():
        assert result[name] == pytest.approx(value, rel=0, abs=1e-12), name
    assert result["per_query"]["rank"] == [statistics.fmean(ranks)]
    assert result["RankVariance"] == pytest.approx(0.0, rel=0, abs=1e-12)


@pytest.mark.parametrize("chosen", [(0, 1), (1, 4, 6), (0, 2, 3), (4, 4), (0, 1, 2, 6)])
def test_rank_variance_is_the_mean_over_all_orders(quoter_rank, chosen):
    pools = [SMALL_POOLS[i] for i in chosen]
    options = [sorted(set(ranks_over_all_orders(*pool))) for pool in pools]
    brute = statistics.fmean([statistics.pvariance(ranks) for ranks in itertools.product(*options)])
    result = quoter_rank.compute(
        predictions=[scores for scores, _ in pools], references=[gold for _, gold in pools]
    )
    assert result["RankVariance"] == pytest.approx(brute, rel=0, abs=1e-12)
    pairs = [rank_and_tied(*pool) for pool in pools]
    assert expected_rank_variance(pairs) == pytest.approx(brute, rel=0, abs=1e-12)


def released_batches(scores, gold, size=64):
    """The published test loop: figures a batch, then their mean over the batches."""
    mrr, ndcg, recalls, positions = [], [], dict.fromkeys(DEPTHS, 0), []
    for start in range(0, len(scores), size):
        batch = list(zip(scores[start : start + size], gold[start : start + size], strict=True))
        batch_mrr = batch_ndcg = 0.0
        for row, right in batch:
            order = np.argsort(-row)
            position = order.tolist().index(right)
            positions.append(position)
            batch_mrr += 1 / (position + 1)
            if position < 5:
                batch_ndcg += 1 / math.log2(position + 2)
            for k in DEPTHS:
                recalls[k] += right in order[:k]
        mrr.append(batch_mrr / len(batch))
        ndcg.append(batch_ndcg / len(batch))
    return {
        "MRR": sum(mrr) / len(mrr),
        "NDCG@5": sum(ndcg) / len(ndcg),
        **{f"Recall@{k}": hits / len(gold) for k, hits in recalls.items()},
        "MeanRank": float(np.mean(positions)),
        "MedianRank": float(np.median(positions)) + 1,
        "RankVariance": float(np.std(positions)),
    }


@pytest.mark.parametrize("n_queries", [1, 63, 64, 65, 128, 200])
def test_released_code_on_tie_free_scores(quoter_rank, n_queries):
    scores, gold = tie_free(n_queries, seed=n_queries)
    result = quoter_rank.compute(
        predictions=scores, references=gold, protocol="released", recall_k=DEPTHS
    )
    assert result == pytest.approx(released_batches(scores, gold), rel=0, abs=1e-12)
    pairs = [rank_and_tied(list(row), right) for row, right in zip(scores, gold, strict=True)]
    assert quoter_figures(pairs, "released", recall_k=DEPTHS) == pytest.approx(
        result, rel=0, abs=1e-12
    )


def test_released_batches_go_by_query_order_not_by_call(quoter_rank):
    scores, gold = tie_free(150, seed=9)
    for start, stop in ((0, 10), (10, 90), (90, 91), (91, 150)):
        quoter_rank.add_batch(predictions=scores[start:stop], references=gold[start:stop])
    result = quoter_rank.compute(protocol="released", recall_k=DEPTHS)
    assert result == pytest.approx(released_batches(scores, gold), rel=0, abs=1e-12)


def described_quotes(pred_lists, golds):
    """The benchmark description's figures for quotes."""
    figures = {"MRR": 0.0, "NDCG@5": 0.0, "Recall@1": 0.0, "Recall@10": 0.0, "Recall@100": 0.0}
    for pred_list, gold in zip(pred_lists, golds, strict=True):
        rank = pred_list.index(gold) + 1
        figures["MRR"] += 1 / rank
        figures["NDCG@5"] += 1 / math.log2(rank + 1) if rank <= 5 else 0
        for k in (1, 10, 100):
            figures[f"Recall@{k}"] += rank <= k
    return {name: value / len(golds) for name, value in figures.items()}


def test_recipe_for_quotes(quoter_rank):
    rng = random.Random(4)
    pool = [f"quote {i}" for i in range(150)]
    pred_lists = [rng.sample(pool, len(pool)) for _ in range(80)]
    golds = [rng.choice(pred_list[: rng.choice([3, 20, 150])]) for pred_list in pred_lists]
    result = quoter_rank.compute(predictions=pred_lists, references=golds, protocol="recipe")
    for name, value in described_quotes(pred_lists, golds).items():
        assert result[name] == pytest.approx(value, rel=0, abs=1e-12), name


def described_dcg(ranking, labels, k):
    """The benchmark description's alpha-DCG, as its users know it."""
    covered = set()
    dcg = 0.0
    for i, doc in enumerate(ranking[:k]):
        topics = set(labels[doc])
        rel = len(topics)
        new_topics = len(topics - covered)
        dcg += (2**rel - 1) / math.log2(i + 2) * (new_topics / rel if rel > 0 else 0)
        covered |= topics
    return dcg


def described_ideal(labels, k):
    """Greedy on the same gain, equal gains in the order given."""
    left, chosen, covered = list(labels), [], set()

    def gain(doc):
        topics = set(labels[doc])
        return (2 ** len(topics) - 1) * (len(topics - covered) / len(topics)) if topics else 0

    while left and len(chosen) < k:
        best = max(left, key=gain)  # max keeps the first of equals
        left.remove(best)
        chosen.append(best)
        covered |= set(labels[best])
    return chosen


@pytest.mark.parametrize("order", ["file", "random"])
def test_recipe_on_du_div(search_diversity, du_div, order):
    references = list(du_div.values())[:400]
    rng = random.Random(6)
    rankings = [list(r) if order == "file" else rng.sample(list(r), len(r)) for r in references]
    result = search_diversity.compute(
        predictions=rankings, references=references, protocol="recipe", per_query=True
    )
    for k in (5, 10):
        expected = [
            described_dcg(ranking, labels, k) / described_dcg(described_ideal(labels, k), labels, k)
            for ranking, labels in zip(rankings, references, strict=True)
        ]
        found = result["per_query"][f"alpha-NDCG@{k}"]
        assert found == pytest.approx(expected, rel=0, abs=1e-12)
        recalls = [
            len(set().union(*(labels[d] for d in ranking[:k]))) / len(set().union(*labels.values()))
            for ranking, labels in zip(rankings, references, strict=True)
        ]
        found = result["per_query"][f"S-recall@{k}"]
        assert found == pytest.approx(recalls, rel=0, abs=1e-12)
