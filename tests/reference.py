# SPDX-License-Identifier: Apache-2.0
"""Every formula of the two metrics as slow plain loops; shares no code with the metrics."""

import math
import re
import statistics

# --- quoter_rank ---------------------------------------------------------------------------


def rank_and_tied(scores, gold):
    """1 + the candidates scored above the gold, and the candidates that share its score."""
    above = sum(1 for score in scores if score > scores[gold])
    tied = sum(1 for score in scores if score == scores[gold])
    return above + 1, tied


def rank_in_list(candidates, gold):
    """Rank of the gold in a list, best first; (0, 0) where it is not in the list."""
    for position, candidate in enumerate(candidates):
        if candidate == gold:
            return position + 1, 1
    return 0, 0


def possible_ranks(rank, tied, ties):
    """The ranks that the tie rule averages over."""
    if ties == "optimistic":
        return [rank]
    if ties == "pessimistic":
        return [rank + tied - 1]
    return list(range(rank, rank + tied))


def reciprocal_rank(rank):
    return 1 / rank


def ndcg(rank, k):
    return 1 / math.log2(rank + 1) if rank <= k else 0.0


def recall(rank, k):
    return 1.0 if rank <= k else 0.0


def mean(values):
    return math.fsum(values) / len(values)


def mean_of_batch_means(values, size=64):
    """Mean of the means of consecutive batches, the last one shorter."""
    return mean([mean(values[i : i + size]) for i in range(0, len(values), size)])


def quoter_query(rank, tied, ties="expected", ndcg_k=5, recall_k=(1, 10, 100)):
    """The figures of one query; a missing gold has rank 0."""
    names = ["MRR", f"NDCG@{ndcg_k}", *(f"Recall@{k}" for k in recall_k)]
    if rank == 0:
        return {"rank": None, **dict.fromkeys(names, 0.0)}
    ranks = possible_ranks(rank, tied, ties)
    figures = {"rank": mean(ranks), "MRR": mean([reciprocal_rank(r) for r in ranks])}
    figures[f"NDCG@{ndcg_k}"] = mean([ndcg(r, ndcg_k) for r in ranks])
    for k in recall_k:
        figures[f"Recall@{k}"] = mean([recall(r, k) for r in ranks])
    return figures


def expected_rank_variance(pairs):
    """Mean over all orders of the tied candidates of the population variance of the ranks.

    E[mean of squares] - E[square of the mean], the queries being ordered independently.
    """
    n = len(pairs)
    ranks = [possible_ranks(rank, tied, "expected") for rank, tied in pairs]
    mean_squares = mean([mean([r * r for r in options]) for options in ranks])
    means = [mean(options) for options in ranks]
    spreads = [statistics.pvariance(options) for options in ranks]
    return mean_squares - (mean(means) ** 2 + math.fsum(spreads) / n**2)


def rank_statistics(pairs, ties):
    """MeanRank, MedianRank, RankVariance in 1-based ranks; None if a gold is missing."""
    if any(rank == 0 for rank, _ in pairs):
        return dict.fromkeys(["MeanRank", "MedianRank", "RankVariance"])
    ranks = [mean(possible_ranks(rank, tied, ties)) for rank, tied in pairs]
    variance = statistics.pvariance(ranks)
    if ties == "expected":
        variance = expected_rank_variance(pairs)
    return {
        "MeanRank": mean(ranks),
        "MedianRank": statistics.median(ranks),
        "RankVariance": variance,
    }


def quoter_figures(pairs, protocol="standard", ties=None, ndcg_k=5, recall_k=(1, 10, 100)):
    """All figures of (rank, tied) pairs under a protocol."""
    if ties is None:
        ties = "expected" if protocol == "standard" else "optimistic"
    queries = [quoter_query(rank, tied, ties, ndcg_k, recall_k) for rank, tied in pairs]
    figures = {
        name: mean([query[name] for query in queries]) for name in queries[0] if name != "rank"
    }
    figures |= rank_statistics(pairs, ties)
    if protocol == "released":
        for name in ("MRR", f"NDCG@{ndcg_k}"):
            figures[name] = mean_of_batch_means([query[name] for query in queries])
        if figures["MeanRank"] is not None:
            figures["MeanRank"] -= 1
            figures["RankVariance"] = math.sqrt(figures["RankVariance"])
    return figures


# --- search_diversity ----------------------------------------------------------------------


def id_key(doc):
    return doc.encode("utf-8")


def label_order(documents):
    """The query's subtopics, ascending: as numbers if all are decimal integers, else as bytes."""
    labels = {label for found in documents.values() for label in found}
    if all(re.fullmatch(r"[0-9]+", str(label)) for label in labels):
        return sorted(labels, key=int)
    return sorted(labels, key=id_key)


def order_by_scores(scores, documents, protocol="standard"):
    """Documents by descending score; equal: the larger id first, or reference order (released)."""
    pairs = list(zip(documents, scores, strict=True))
    if protocol != "released":
        pairs.sort(key=lambda pair: id_key(pair[0]), reverse=True)
    return [doc for doc, _ in sorted(pairs, key=lambda pair: -pair[1])]


def novelty_gain(labels, seen, order, alpha):
    """Left-to-right sum over the document's subtopics, ascending, of their weights."""
    total = 0.0
    for label in order:
        if label in labels:
            weight = 1.0
            for _ in range(seen[label]):
                weight *= 1 - alpha
            total += weight
    return total


def description_gain(labels, seen):
    """(2^m - 1) * (new / m), new being the subtopics not seen above."""
    m = len(set(labels))
    new = sum(1 for label in set(labels) if seen[label] == 0)
    return (2.0**m - 1) * (new / m) if m else 0.0


def gain(labels, seen, order, alpha, protocol):
    if protocol == "recipe":
        return description_gain(labels, seen)
    return novelty_gain(labels, seen, order, alpha)


def gains_of(ranking, documents, protocol, alpha):
    """Gain at each rank; a document outside the reference gains nothing."""
    order = label_order(documents)
    seen = dict.fromkeys(order, 0)
    gains = []
    for doc in ranking:
        labels = set(documents.get(doc, ()))
        gains.append(gain(labels, seen, order, alpha, protocol))
        for label in labels:
            seen[label] += 1
    return gains


def greedy_order(documents, protocol, alpha, depth, larger_id_first):
    """Documents by greedy gain down to `depth`."""
    order = label_order(documents)
    seen = dict.fromkeys(order, 0)
    left = list(documents)
    if larger_id_first:
        left.sort(key=id_key, reverse=True)
    chosen = []
    while left and len(chosen) < depth:
        best = left[0]
        best_gain = gain(set(documents[best]), seen, order, alpha, protocol)
        for doc in left[1:]:
            other = gain(set(documents[doc]), seen, order, alpha, protocol)
            if other > best_gain:
                best, best_gain = doc, other
        left.remove(best)
        chosen.append(best)
        for label in set(documents[best]):
            seen[label] += 1
    return chosen


def ideal_order(documents, protocol, alpha, depth):
    if protocol == "released":
        return sorted(documents, key=lambda doc: -len(set(documents[doc])))[:depth]
    return greedy_order(documents, protocol, alpha, depth, protocol == "standard")


def dcg(gains, k):
    total = 0.0
    for rank, value in enumerate(gains[:k], 1):
        total += value / math.log2(rank + 1)
    return total


def err_ia_standard(gains, n_subtopics, alpha, k):
    total = 0.0
    for rank, value in enumerate(gains[:k], 1):
        total += value / rank
    bound = 0.0
    for rank in range(1, k + 1):
        bound += (1 - alpha) ** (rank - 1) / rank
    return total / (n_subtopics * bound)


def err_ia_half(ranking, documents, weights, k):
    """Sum over ranks of 1/rank * sum over subtopics of weight * 1/2 * (1/2)^(times seen)."""
    seen = dict.fromkeys(weights, 0)
    total = 0.0
    for rank, doc in enumerate(ranking[:k], 1):
        for label in set(documents.get(doc, ())):
            total += weights[label] * 0.5 * 0.5 ** seen[label] / rank
            seen[label] += 1
    return total


def err_ia(ranking, documents, protocol, alpha, k):
    labels = label_order(documents)
    if protocol == "standard":
        gains = gains_of(ranking, documents, protocol, alpha)
        return err_ia_standard(gains, len(labels), alpha, k)
    if protocol == "recipe":
        weights = {label: 1 / len(labels) for label in labels}
    else:
        covering = {s: sum(1 for d in documents if s in documents[d]) for s in labels}
        weights = {label: covering[label] / len(documents) for label in labels}
    return err_ia_half(ranking, documents, weights, k)


def subtopic_recall(ranking, documents, k):
    covered = {label for doc in ranking[:k] for label in documents.get(doc, ())}
    return len(covered) / len(label_order(documents))


def judged(ranking, documents, k):
    top = ranking[:k]
    return sum(1 for doc in top if doc in documents) / len(top)


def diversity_query(ranking, documents, protocol="standard", alpha=0.5, k=(5, 10)):
    """The figures of one query; 0 where no document covers a subtopic."""
    names = [f"{name}@{depth}" for depth in k for name in ("alpha-NDCG", "ERR-IA", "S-recall")]
    if not label_order(documents):
        return dict.fromkeys(names, 0.0)
    gains = gains_of(ranking, documents, protocol, alpha)
    ideal = gains_of(ideal_order(documents, protocol, alpha, max(k)), documents, protocol, alpha)
    figures = {}
    for depth in k:
        figures[f"alpha-NDCG@{depth}"] = dcg(gains, depth) / dcg(ideal, depth)
        figures[f"ERR-IA@{depth}"] = err_ia(ranking, documents, protocol, alpha, depth)
        figures[f"S-recall@{depth}"] = subtopic_recall(ranking, documents, depth)
    return figures


def diversity_figures(rankings, references, protocol="standard", alpha=0.5, k=(5, 10)):
    """Means over the queries."""
    queries = [
        diversity_query(ranking, documents, protocol, alpha, k)
        for ranking, documents in zip(rankings, references, strict=True)
    ]
    return {name: mean([query[name] for query in queries]) for name in queries[0]}


def ndeval_figure(name, k, ranking, documents, alpha=0.5, beta=0.5):
    """A figure of one query as ndeval defines it; `k` None for whole rankings."""
    labels = label_order(documents)
    if not labels:
        return 0.0
    gains = gains_of(ranking, documents, "standard", alpha)
    best = ideal_order(documents, "standard", alpha, len(documents))
    ideal = gains_of(best, documents, "standard", alpha)

    def discounted(values, discount):
        cut = values if k is None else values[:k]
        return sum(value * discount(rank) for rank, value in enumerate(cut, 1))

    def largest(discount):
        return sum((1 - alpha) ** (rank - 1) * discount(rank) for rank in range(1, k + 1))

    def inverse(rank):
        return 1 / rank

    def logarithmic(rank):
        return 1 / math.log2(rank + 1)

    def patient(rank):
        return beta ** (rank - 1)

    if name == "alpha-DCG":
        return discounted(gains, logarithmic) / (len(labels) * largest(logarithmic))
    if name == "alpha-NDCG":
        return discounted(gains, logarithmic) / discounted(ideal, logarithmic)
    if name == "ERR-IA":
        return discounted(gains, inverse) / (len(labels) * largest(inverse))
    if name == "nERR-IA":
        return discounted(gains, inverse) / discounted(ideal, inverse)
    if name == "NRBP":
        return (1 - (1 - alpha) * beta) / len(labels) * discounted(gains, patient)
    if name == "nNRBP":
        return discounted(gains, patient) / discounted(ideal, patient)
    if name == "S-recall":
        return subtopic_recall(ranking, documents, k)
    if name == "P-IA":
        hits = [doc for doc in ranking[:k] for label in labels if label in documents.get(doc, ())]
        return len(hits) / k / len(labels)
    assert name == "MAP-IA"
    return mean([average_precision(ranking, documents, label) for label in labels])


def average_precision(ranking, documents, label):
    found, total = 0, 0.0
    for rank, doc in enumerate(ranking, 1):
        if label in documents.get(doc, ()):
            found += 1
            total += found / rank
    return total / sum(1 for doc in documents if label in documents[doc])
