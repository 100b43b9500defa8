# SPDX-License-Identifier: Apache-2.0
"""What holds for every input, with Hypothesis."""

import functools
import json

import pytest
from reference import (
    diversity_figures,
    greedy_order,
    order_by_scores,
    quoter_figures,
    rank_and_tied,
)
from support import ROOT, TOY, load, recorded, run_python

hypothesis = pytest.importorskip("hypothesis")
given, settings, st = hypothesis.given, hypothesis.settings, hypothesis.strategies

TIES = ("expected", "optimistic", "pessimistic")
PROTOCOLS = ("standard", "released", "recipe")
quick = settings(max_examples=50, deadline=None, database=None)


@functools.cache
def metric(name):
    return load(name)


def quoter(predictions, references, **options):
    return metric("quoter_rank").compute(
        predictions=predictions, references=references, per_query=True, **options
    )


def diversity(predictions, references, **options):
    """The result; the two warnings are tested elsewhere."""
    compute = functools.partial(
        metric("search_diversity").compute, predictions=predictions, references=references
    )
    return recorded(lambda: compute(per_query=True, **options))[0]


def means(result):
    return {name: value for name, value in result.items() if name != "per_query"}


# --- quoter_rank ---------------------------------------------------------------------------

SCORE = st.one_of(
    st.integers(-3, 3).map(float), st.floats(allow_nan=False, width=64), st.just(-float("inf"))
)


@st.composite
def scored(draw, values=SCORE, unique=False, max_queries=12):
    """Rows of scores, ragged, and a gold each."""
    rows = draw(
        st.lists(
            st.lists(values, min_size=1, max_size=12, unique=unique),
            min_size=1,
            max_size=max_queries,
        )
    )
    return rows, [draw(st.integers(0, len(row) - 1)) for row in rows]


@st.composite
def ranked_lists(draw):
    """Lists of distinct str, best first, and a gold of each."""
    rows = draw(
        st.lists(
            st.lists(st.text(max_size=5), min_size=1, max_size=12, unique=True),
            min_size=1,
            max_size=8,
        )
    )
    return rows, [draw(st.sampled_from(row)) for row in rows]


@quick
@given(scored(), st.sampled_from(PROTOCOLS), st.sampled_from(TIES))
def test_equals_the_plain_loops(batch, protocol, ties):
    rows, gold = batch
    ties = ties if protocol == "standard" else None
    result = means(quoter(rows, gold, protocol=protocol, ties=ties))
    pairs = [rank_and_tied(row, g) for row, g in zip(rows, gold, strict=True)]
    assert result == pytest.approx(quoter_figures(pairs, protocol, ties), rel=1e-12, abs=1e-12)


@quick
@given(scored(), st.sampled_from(TIES), st.randoms(use_true_random=False))
def test_permuted_candidates(batch, ties, rng):
    rows, gold = batch
    orders = [rng.sample(range(len(row)), len(row)) for row in rows]
    permuted = [[row[c] for c in order] for row, order in zip(rows, orders, strict=True)]
    moved = [order.index(g) for order, g in zip(orders, gold, strict=True)]
    assert quoter(permuted, moved, ties=ties) == quoter(rows, gold, ties=ties)


@st.composite
def calls(draw, n_queries):
    """Consecutive (start, stop) and how that part is given; the last may go to compute."""
    made, start = [], 0
    while start < n_queries:
        stop = start + draw(st.integers(1, n_queries - start))
        routes = ["add_batch"] + ["add"] * (stop == start + 1) + ["compute"] * (stop == n_queries)
        made.append((start, stop, draw(st.sampled_from(routes))))
        start = stop
    return made


def computed_in(parts, rows, right, **options):
    """A fresh metric's result, the queries given in parts."""
    fresh, last = load("quoter_rank"), {}
    for start, stop, route in parts:
        batch = {"predictions": rows[start:stop], "references": right[start:stop]}
        if route == "compute":
            last = batch
        elif route == "add":
            fresh.add(prediction=rows[start], reference=right[start])
        else:
            fresh.add_batch(**batch)
    return fresh.compute(**last, **options)


@quick
@given(scored(max_queries=80), st.sampled_from(PROTOCOLS), st.data())
def test_any_split_into_calls(batch, protocol, data):
    rows, gold = batch
    parts = data.draw(calls(len(rows)))
    split = computed_in(parts, rows, gold, protocol=protocol, per_query=True)
    assert split == quoter(rows, gold, protocol=protocol)


@quick
@given(scored(), st.sampled_from(("standard", "recipe")), st.randoms(use_true_random=False))
def test_any_order_of_queries(batch, protocol, rng):
    rows, gold = batch
    order = rng.sample(range(len(rows)), len(rows))
    straight = quoter(rows, gold, protocol=protocol)
    shuffled = quoter([rows[i] for i in order], [gold[i] for i in order], protocol=protocol)
    assert means(shuffled) == means(straight)
    for name, values in straight["per_query"].items():
        assert shuffled["per_query"][name] == [values[i] for i in order]


@quick
@given(scored(), st.sampled_from(TIES))
def test_dense_ranks(batch, ties):
    rows, gold = batch
    dense = [[float(sorted(set(row)).index(score)) for score in row] for row in rows]
    assert quoter(dense, gold, ties=ties) == quoter(rows, gold, ties=ties)


@quick
@given(scored(unique=True))
def test_tie_rules_without_ties(batch):
    expected, optimistic, pessimistic = (quoter(*batch, ties=ties) for ties in TIES)
    assert expected == optimistic == pessimistic


@quick
@given(scored(), st.sampled_from(PROTOCOLS))
def test_range_and_json(batch, protocol):
    result = quoter(*batch, protocol=protocol)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    for name in ("MRR", "NDCG@5", "Recall@1", "Recall@10", "Recall@100"):
        assert 0.0 <= result[name] <= 1.0
        assert all(0.0 <= value <= 1.0 for value in result["per_query"][name])
    assert result["RankVariance"] >= 0.0
    assert result["MeanRank"] >= (0.0 if protocol == "released" else 1.0)


@quick
@given(scored(unique=True), st.sampled_from(PROTOCOLS))
def test_perfect(batch, protocol):
    rows, _ = batch
    result = quoter(rows, [row.index(max(row)) for row in rows], protocol=protocol)
    for name in ("MRR", "NDCG@5", "Recall@1", "Recall@10", "Recall@100"):
        assert result[name] == 1.0
    assert result["RankVariance"] == 0.0


@quick
@given(ranked_lists(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_nothing_below_k_matters(batch, k, rng):
    rows, gold = batch
    shuffled = [row[:k] + rng.sample(row[k:], len(row[k:])) for row in rows]
    options = {"ndcg_k": k, "recall_k": k}
    before, after = quoter(rows, gold, **options), quoter(shuffled, gold, **options)
    for name in (f"NDCG@{k}", f"Recall@{k}"):
        assert before[name] == after[name]


@quick
@given(ranked_lists())
def test_a_helpful_swap_never_lowers(batch):
    rows, gold = batch
    raised = []
    for row, right in zip(rows, gold, strict=True):
        at = row.index(right)
        raised.append([*row[: max(at - 1, 0)], *row[max(at - 1, 0) : at + 1][::-1], *row[at + 1 :]])
    before, after = quoter(rows, gold), quoter(raised, gold)
    for name, better in metric("quoter_rank").greater_is_better.items():
        if name != "RankVariance":
            assert after[name] >= before[name] if better else after[name] <= before[name]


@quick
@given(ranked_lists())
def test_renamed_candidates(batch):
    rows, gold = batch
    names = {name: f"renamed {i}" for i, name in enumerate({c for row in rows for c in row})}
    renamed = [[names[c] for c in row] for row in rows]
    assert quoter(renamed, [names[g] for g in gold]) == quoter(rows, gold)
    numbers = {name: i for i, name in enumerate(names)}
    numbered = [[numbers[c] for c in row] for row in rows]
    assert quoter(numbered, [numbers[g] for g in gold]) == quoter(rows, gold)


# --- search_diversity ----------------------------------------------------------------------

LABELS = st.lists(st.integers(1, 12).map(str), max_size=5)


@st.composite
def judged_query(draw):
    """A ranking, part of it unjudged, and a mapping document -> subtopics in any order."""
    n = draw(st.integers(1, 9))
    ids = draw(st.permutations([f"d{i}" for i in range(n)]))
    documents = {doc: draw(LABELS) for doc in ids}
    known = draw(st.permutations(ids))[: draw(st.integers(1, n))]
    unknown = [f"u{i}" for i in range(draw(st.integers(0, 2)))]
    return draw(st.permutations([*known, *unknown])), documents


QUERIES = st.lists(judged_query(), min_size=1, max_size=6)
ALPHA = st.sampled_from([0, 0.1, 0.5, 0.9, 1])


def options_of(protocol, alpha):
    return {"protocol": protocol, **({} if protocol == "recipe" else {"alpha": alpha})}


@quick
@given(QUERIES, st.sampled_from(PROTOCOLS), ALPHA, st.sampled_from([(5, 10), (1, 2, 3)]))
def test_diversity_equals_the_plain_loops(queries, protocol, alpha, k):
    rankings, references = map(list, zip(*queries, strict=True))
    result = diversity(rankings, references, k=k, **options_of(protocol, alpha))
    expected = diversity_figures(rankings, references, protocol, alpha, k)
    assert means(result) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert json.loads(json.dumps(result, allow_nan=False)) == result


@quick
@given(QUERIES, st.sampled_from(PROTOCOLS), st.data())
def test_diversity_scores_equal_the_ranking_they_give(queries, protocol, data):
    references = [documents for _, documents in queries]
    scores = [
        [data.draw(st.integers(0, 4).map(float)) for _ in documents] for documents in references
    ]
    dense = [[float(sorted(set(row)).index(score)) for score in row] for row in scores]
    pairs = list(zip(scores, references, strict=True))
    rankings = [order_by_scores(*pair, protocol) for pair in pairs]
    positions = [
        [list(documents).index(doc) for doc in ranking]
        for ranking, documents in zip(rankings, references, strict=True)
    ]
    by_scores = diversity(scores, references, protocol=protocol)
    assert by_scores == diversity(rankings, references, protocol=protocol)
    assert by_scores == diversity(positions, references, protocol=protocol)
    assert by_scores == diversity(dense, references, protocol=protocol)


@quick
@given(QUERIES, st.sampled_from(PROTOCOLS), st.randoms(use_true_random=False))
def test_diversity_any_order_and_split(queries, protocol, rng):
    rankings, references = map(list, zip(*queries, strict=True))
    straight = diversity(rankings, references, protocol=protocol)
    order = rng.sample(range(len(queries)), len(queries))
    left = load("search_diversity")
    cut = rng.randrange(len(order) + 1)
    for i in order[:cut]:
        left.add(prediction=rankings[i], reference=references[i])
    if order[cut:]:
        left.add_batch(
            predictions=[rankings[i] for i in order[cut:]],
            references=[references[i] for i in order[cut:]],
        )
    shuffled, _ = recorded(lambda: left.compute(protocol=protocol, per_query=True))
    assert means(shuffled) == means(straight)
    for name, values in straight["per_query"].items():
        assert shuffled["per_query"][name] == [values[i] for i in order]


@quick
@given(QUERIES, st.sampled_from(PROTOCOLS), ALPHA)
def test_diversity_renamed_in_the_same_order(queries, protocol, alpha):
    rankings, references = map(list, zip(*queries, strict=True))
    renamed = [[f"x/{doc}y" for doc in ranking] for ranking in rankings]
    labels = [{f"x/{doc}y": row[::-1] for doc, row in r.items()} for r in references]
    options = options_of(protocol, alpha)
    assert diversity(renamed, labels, **options) == diversity(rankings, references, **options)


@quick
@given(QUERIES, st.sampled_from(PROTOCOLS), st.integers(1, 6), st.randoms(use_true_random=False))
def test_diversity_nothing_below_k_matters(queries, protocol, k, rng):
    rankings, references = map(list, zip(*queries, strict=True))
    shuffled = [r[:k] + rng.sample(r[k:], len(r[k:])) for r in rankings]
    shorter = [r[:k] for r in rankings]
    hypothesis.assume(any(doc in d for r, d in zip(shorter, references, strict=True) for doc in r))
    results = [
        diversity(each, references, protocol=protocol, k=k)
        for each in (rankings, shuffled, shorter)
    ]
    assert means(results[0]) == means(results[1]) == means(results[2])


@quick
@given(QUERIES, st.sampled_from(PROTOCOLS))
def test_diversity_range_and_perfect(queries, protocol):
    rankings, references = map(list, zip(*queries, strict=True))
    result = diversity(rankings, references, protocol=protocol)
    for depth in (5, 10):
        assert 0.0 <= result[f"S-recall@{depth}"] <= 1.0
        assert result[f"ERR-IA@{depth}"] >= 0.0
        assert result[f"alpha-NDCG@{depth}"] >= 0.0
        if protocol != "released":
            assert result[f"ERR-IA@{depth}"] <= 1.0


@quick
@given(QUERIES, st.sampled_from(("standard", "recipe")), ALPHA)
def test_diversity_ideal_order_is_one(queries, protocol, alpha):
    references = [documents for _, documents in queries if any(documents.values())]
    hypothesis.assume(references)
    ideal = [greedy_order(d, protocol, alpha, 10, protocol == "standard") for d in references]
    result = diversity(ideal, references, **options_of(protocol, alpha))
    assert result["alpha-NDCG@5"] == result["alpha-NDCG@10"] == 1.0


# --- both ----------------------------------------------------------------------------------

SEEDED = """
import json, sys
import evaluate
metric = evaluate.load(sys.argv[1], keep_in_memory=True)
rows = json.loads(sys.argv[2])
for protocol in ("standard", "released", "recipe"):
    result = metric.compute(**rows, protocol=protocol, per_query=True)
    print(json.dumps(result, allow_nan=False))
"""
SEEDED_ROWS = {
    "quoter_rank": {
        "predictions": [["to be", "or not", "to"], ["be", "that"]],
        "references": ["or not", "that"],
    },
    "search_diversity": {
        "predictions": [["b", "a", "x", "c"], ["ö", "a"]],
        "references": [TOY, {"ö": ["x", "10", "yy"], "a": ["10", "é"]}],
    },
}


@pytest.mark.parametrize("name", SEEDED_ROWS)
def test_same_bytes_under_three_hash_seeds(tmp_path, name):
    rows = json.dumps(SEEDED_ROWS[name])
    outputs = {
        run_python(SEEDED, tmp_path, ROOT / "metrics" / name, rows, PYTHONHASHSEED=seed)
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) == 3
