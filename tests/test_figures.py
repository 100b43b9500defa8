# SPDX-License-Identifier: Apache-2.0
"""Figures by name, in both metrics: which there are, their order, refusals, directions, options."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import ndeval_figure
from support import BOTH, TOY, TOY_RANKING, load, recorded, reference_columns, reference_matrix

ROWS = {
    "quoter_rank": {
        "predictions": [[0.9, 0.5, 0.5, 0.1], [0.2, 0.3, 0.8, 0.3]],
        "references": [0, 1],
    },
    "search_diversity": {"predictions": [TOY_RANKING], "references": [TOY]},
}
DEEP = ("alpha-NDCG", "ERR-IA", "S-recall", "alpha-DCG", "nERR-IA", "P-IA")
WHOLE = ("NRBP", "nNRBP", "MAP-IA")
PAPER = ("alpha-NDCG@20", "ERR-IA@20", "NRBP", "P-IA@20", "S-recall@20")
both = pytest.mark.parametrize("name", ROWS)


def asked(name, figures, **options):
    result, _ = recorded(lambda: load(name).compute(**ROWS[name], figures=figures, **options))
    return result


# Names


@pytest.mark.parametrize(
    ("name", "figures", "keys"),
    [
        ("search_diversity", PAPER, PAPER),
        ("search_diversity", "NRBP", ("NRBP",)),
        ("search_diversity", ["P-IA@3", "NRBP", "P-IA@3"], ("P-IA@3", "NRBP")),
        ("search_diversity", ("S-recall", "MAP-IA"), ("S-recall@10", "S-recall@5", "MAP-IA")),
        ("search_diversity", ("P-IA@5", "P-IA"), ("P-IA@5", "P-IA@10")),
        ("quoter_rank", ("NDCG@10", "MRR@10", "MRR"), ("NDCG@10", "MRR@10", "MRR")),
        ("quoter_rank", ("Recall", "NDCG"), ("Recall@1", "Recall@10", "Recall@100", "NDCG@5")),
        ("quoter_rank", "RankVariance", ("RankVariance",)),
    ],
)
def test_the_result_has_the_keys_in_the_order_asked_for(name, figures, keys):
    assert tuple(asked(name, figures)) == keys


def test_bare_names_are_taken_at_every_depth_of_the_option():
    assert tuple(asked("search_diversity", "P-IA", k=(1, 7, 3))) == ("P-IA@7", "P-IA@3", "P-IA@1")
    found = asked("quoter_rank", ("NDCG", "Recall"), ndcg_k=(10, 3), recall_k=2)
    assert tuple(found) == ("NDCG@10", "NDCG@3", "Recall@2")


@both
def test_figures_of_the_defaults_are_the_defaults(name):
    default = load(name).compute(**ROWS[name])
    assert asked(name, list(default)) == default
    for key, value in default.items():
        assert asked(name, key) == {key: value}


REFUSED = [
    ("search_diversity", "alpha-nDCG@10", {}, "did you mean alpha-NDCG@k?"),
    ("search_diversity", "S-rec@20", {}, "did you mean S-recall@k?"),
    ("search_diversity", "NRBP@5", {}, "NRBP has no depth"),
    ("search_diversity", "P-IA@0", {}, "must have depths that are ints from 1 to 1000000"),
    ("search_diversity", "P-IA@1000001", {}, "must have depths that are ints from 1 to 1000000"),
    ("search_diversity", "P-IA@five", {}, "must have depths that are ints"),
    ("search_diversity", "P-IA@", {}, "must have depths that are ints"),
    ("search_diversity", "P-IA@k", {}, "must have depths that are ints"),
    ("search_diversity", "P-IA@1.0", {}, "must have depths that are ints"),
    ("search_diversity", "NRBP", {"protocol": "released"}, "be figures that protocol 'released'"),
    ("search_diversity", "P-IA@5", {"protocol": "recipe"}, "be figures that protocol 'recipe'"),
    ("search_diversity", "", {}, "be among alpha-NDCG@k, ERR-IA@k, S-recall@k, alpha-DCG@k"),
    ("search_diversity", [], {}, "must name figures: alpha-NDCG@k"),
    ("search_diversity", 5, {}, "must be a name or several, got 5"),
    ("search_diversity", ["NRBP", 5], {}, "must be a name or several"),
    ("search_diversity", {"NRBP"}, {}, "must be a name or several"),
    ("quoter_rank", "MeanRank@5", {}, "MeanRank has no depth"),
    ("quoter_rank", "MRR@10", {"protocol": "released"}, "be figures that protocol 'released'"),
    ("quoter_rank", "ndcg@10", {}, "did you mean NDCG@k?"),
    (
        "quoter_rank",
        "Recall@-1",
        {},
        "must have depths that are ints from 1 to 1000000000000000000, got 'Recall@-1'",
    ),
    ("quoter_rank", "missing", {"missing": "zero"}, "be among MRR, MRR@k, NDCG@k"),
    ("quoter_rank", "mrr", {}, "did you mean MRR?"),
    ("quoter_rank", "MRRR@5", {"protocol": "released"}, "did you mean MRR?"),
    (
        "search_diversity",
        "NRBPP",
        {"protocol": "recipe"},
        "be among alpha-NDCG@k, ERR-IA@k, S-recall@k, got",
    ),
]


@pytest.mark.parametrize(("name", "figures", "options", "message"), REFUSED)
def test_refused_names(name, figures, options, message):
    metric = load(name)
    metric.add_batch(**ROWS[name])
    with pytest.raises(BOTH, match=f"`figures` must .*{re.escape(message.removeprefix('must '))}"):
        metric.compute(figures=figures, **options)
    with pytest.raises(BOTH, match="`figures` must "):
        load(name, figures=figures, **options)
    assert len(metric) == len(ROWS[name]["predictions"])


@pytest.mark.parametrize("beta", [-0.1, 1.1, float("nan"), "half", True, None])
def test_refused_patience(beta):
    with pytest.raises(BOTH, match="`beta` must be a number from 0 to 1"):
        load("search_diversity").compute(**ROWS["search_diversity"], figures="NRBP", beta=beta)


# Directions, options, results


def test_directions_of_every_figure():
    better = load("search_diversity").greater_is_better
    assert all(better[f"{name}@{k}"] for name in DEEP for k in (1, 20, 1000))
    assert all(better[name] for name in WHOLE)
    ranks = load("quoter_rank").greater_is_better
    assert ranks["MRR@10"] and ranks["MRR"] and not ranks["MeanRank"]
    for metric, wrong in ((better, "NRBP@5"), (better, "P-IA"), (ranks, "MRR@0"), (ranks, "NDCG")):
        with pytest.raises(KeyError):
            metric[wrong]


PREFIXES = ("eval_", "test_", "eval_english_", "eval_modern_chinese_", "eval_5-19_", "eval_MRR_")


@pytest.mark.parametrize("prefix", PREFIXES)
def test_directions_of_the_keys_of_trainer(prefix):
    for name in ("quoter_rank", "search_diversity"):
        better = load(name).greater_is_better
        assert {key: better[prefix + key] for key in better} == dict(better)
        for wrong in ("loss", "runtime", "MRR@0", "NRBP@5", ""):
            with pytest.raises(KeyError, match=re.escape(repr(prefix + wrong))):
                better[prefix + wrong]
    better = load("quoter_rank").greater_is_better
    assert better[f"{prefix}MRR@10"] and not better[f"{prefix}missing"]
    with pytest.raises(KeyError):
        better[prefix.replace("_", "") + "MRR"]
    keys = list(better)
    assert better[f"{prefix}MRR"] and keys == list(better) and len(better) == len(keys)


def test_directions_at_depths_beyond_any_rank():
    metric = load("quoter_rank", ndcg_k=10**20, recall_k=10**18)
    assert set(metric.greater_is_better) == set(metric.compute(**ROWS["quoter_rank"]))


@both
def test_configured_and_the_trainer_take_figures(name):
    figures = {"quoter_rank": ("MRR@2", "MeanRank"), "search_diversity": ("NRBP", "P-IA@2")}[name]
    metric = load(name).configured(figures=figures)
    assert tuple(metric.greater_is_better) == figures
    assert metric.compute(**ROWS[name]) == asked(name, figures)
    scores = np.array([[0.9, 0.5, 0.4, 0.1]])
    labels = {"quoter_rank": np.array([1]), "search_diversity": np.array([reference_matrix(TOY)])}
    assert tuple(metric.compute_metrics((scores, labels[name]))) == figures


def test_the_signature_names_beta_where_it_changes_a_number():
    metric = load("search_diversity")
    for figures, named in ((PAPER, True), ("nNRBP", True), ("MAP-IA", False), (None, False)):
        recorded(
            lambda figures=figures: metric.compute(**ROWS["search_diversity"], figures=figures)
        )
        assert ("|beta:0.5|" in metric.signature) is named
    metric.compute(**ROWS["search_diversity"], figures="NRBP", beta=0.8)
    assert metric.signature.startswith("search_diversity|protocol:standard|alpha:0.5|beta:0.8|n:1|")


@both
def test_intervals_and_lists_of_queries(name):
    pytest.importorskip("scipy")
    figures = {
        "quoter_rank": ("RankVariance", "MRR@2", "MeanRank", "MRR"),
        "search_diversity": ("nNRBP", "P-IA@3", "MAP-IA", "alpha-DCG@2"),
    }[name]
    result = asked(name, figures, confidence_level=0.9, n_resamples=20, per_query=True)
    assert tuple(result["confidence_interval"]) == figures
    lists = [key for key in figures if key not in ("RankVariance", "MeanRank")]
    assert [key for key in result["per_query"] if key in figures] == lists
    for key in lists:
        values = result["per_query"][key]
        assert result[key] == pytest.approx(sum(values) / len(values), abs=1e-15)


def test_statistics_of_ranks_with_missing_golds_are_none():
    pytest.importorskip("scipy")
    result = load("quoter_rank").compute(
        predictions=[["a"], ["b"]],
        references=["a", "z"],
        missing="zero",
        figures=("MedianRank", "MRR@1"),
        confidence_level=0.9,
        n_resamples=20,
    )
    assert result["MedianRank"] is None and result["confidence_interval"]["MedianRank"] is None
    assert (result["MRR@1"], result["missing"]) == (0.5, 1)


@pytest.mark.parametrize("ties", ["expected", "optimistic", "pessimistic"])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 10**12])
def test_mrr_at_k_is_the_mean_over_all_orders_of_the_ties(ties, k):
    rng = np.random.default_rng(k % 97)
    scores, gold = rng.integers(0, 3, (40, 6)).astype(float), rng.integers(0, 6, 40)
    result = load("quoter_rank").compute(
        predictions=scores, references=gold, ties=ties, figures=f"MRR@{k}", per_query=True
    )
    for row, g, value in zip(scores, gold, result["per_query"][f"MRR@{k}"], strict=True):
        first = 1 + int((row > row[g]).sum())
        last = first + int((row == row[g]).sum()) - 1
        places = {"optimistic": [first], "pessimistic": [last]}.get(ties, range(first, last + 1))
        expected = [1 / place if place <= k else 0.0 for place in places]
        assert value == pytest.approx(sum(expected) / len(expected), abs=1e-12)


# Formulas


@st.composite
def queries(draw):
    labels = st.sets(st.sampled_from([str(n) for n in range(1, 7)]), max_size=4)
    documents = draw(
        st.dictionaries(st.sampled_from([f"d{n}" for n in range(9)]), labels, min_size=1)
    )
    names = st.lists(st.sampled_from([f"d{n}" for n in range(9)] + ["u1", "u2"]), unique=True)
    first = next(iter(documents))
    return [first, *(doc for doc in draw(names) if doc != first)], {
        doc: sorted(found) for doc, found in documents.items()
    }


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(queries(), min_size=1, max_size=3),
    alpha=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
    beta=st.sampled_from([0.0, 0.3, 0.5, 0.8, 0.99, 1.0]),
    k=st.sampled_from([1, 2, 3, 5, 40]),
)
def test_every_formula(rows, alpha, beta, k):
    keys = [*(f"{name}@{k}" for name in DEEP), *WHOLE]
    rankings, references = zip(*rows, strict=True)
    given_rows = {"predictions": list(rankings), "references": list(references)}
    options = {"alpha": alpha, "beta": beta, "figures": keys, "per_query": True}
    result, _ = recorded(lambda: METRIC.compute(**given_rows, **options))
    for query, (ranking, documents) in enumerate(rows):
        for key in keys:
            name, _, depth = key.partition("@")
            depth = int(depth) if depth else None
            expected = ndeval_figure(name, depth, ranking, documents, alpha, beta)
            assert result["per_query"][key][query] == pytest.approx(expected, abs=1e-12), key


METRIC = load("search_diversity")


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("beta", [0.5, 0.99, 1.0])
@pytest.mark.parametrize("n", [80, 6000])
def test_deep_rankings_and_ideals(alpha, beta, n):
    """The ways of deep rankings and of many documents, against the plain loops."""
    rng = np.random.default_rng(n)
    kinds = [sorted(str(s) for s in rng.permutation(6)[: rng.integers(0, 4)]) for _ in range(12)]
    share = 1.0 if n < 100 else 0.02  # the plain loops are quadratic in what is relevant
    documents = {
        f"doc-{i:05}": kinds[rng.integers(12)] if rng.random() < share else [] for i in range(n)
    }
    ranking = [f"doc-{i:05}" for i in rng.permutation(n)[: n - 7]]
    relevant = {doc: labels for doc, labels in documents.items() if labels}
    keys = ["alpha-NDCG@70", "nERR-IA@500", *WHOLE]
    result, _ = recorded(
        lambda: METRIC.compute(
            predictions=[ranking], references=[documents], alpha=alpha, beta=beta, figures=keys
        )
    )
    for key in keys:
        name, _, depth = key.partition("@")
        depth = int(depth) if depth else None
        expected = ndeval_figure(name, depth, ranking, relevant, alpha, beta)
        assert result[key] == pytest.approx(expected, abs=1e-12), key


@pytest.mark.parametrize("figures", [PAPER, [*(f"{name}@7" for name in DEEP), *WHOLE]])
def test_every_form_of_input_gives_the_same_bits(figures):
    pa = pytest.importorskip("pyarrow")
    datasets = pytest.importorskip("datasets")
    rng = np.random.default_rng(0)
    references, scores, rankings = [], [], []
    for _ in range(30):
        ids = [f"d{i:02}" for i in range(12)]
        labels = {doc: sorted(str(s) for s in rng.permutation(5)[: rng.integers(4)]) for doc in ids}
        values = rng.random(12)
        references.append(labels)
        scores.append(values.tolist())
        rankings.append([ids[i] for i in np.argsort(-values)])
    columns = [reference_columns(labels) for labels in references]
    table = {name: [row[name] for row in columns] for name in ("doc_ids", "subtopics")}
    found = [
        METRIC.compute(predictions=predictions, references=judged, alpha=0.1, figures=figures)
        for predictions, judged in (
            (rankings, references),
            (scores, references),
            (scores, [reference_matrix(labels) for labels in references]),
            (pa.array(rankings), pa.table(table)),
            (rankings, datasets.Dataset.from_dict(table)),
        )
    ]
    assert all(result == found[0] for result in found)


def test_figures_of_a_query_depend_on_that_query_alone():
    """To the bit: alone, beside others, beside itself, in any order, in deep rankings."""
    rng = np.random.default_rng(1)
    rankings, references = [], []
    for _ in range(12):
        n = int(rng.integers(3, 100))
        labels = [sorted(str(s) for s in rng.permutation(12)[: rng.integers(5)]) for _ in range(n)]
        references.append({f"d{i:03}": found for i, found in enumerate(labels)} | {"e": ["0"]})
        rankings.append([*rng.permutation(sorted(references[-1])).tolist()])
    keys = [*(f"{name}@{k}" for name in DEEP for k in (7, 80)), *WHOLE]
    for options in ({}, {"alpha": 0.3, "beta": 0.8}, {"alpha": 0.1, "beta": 0.99}):
        options = {**options, "figures": keys, "per_query": True}

        def of_queries(order, options=options):
            rows = [rankings[i] for i in order], [references[i] for i in order]
            return METRIC.compute(predictions=rows[0], references=rows[1], **options)["per_query"]

        whole = of_queries(range(12))
        shuffled = rng.permutation(12).tolist()
        again, copies = of_queries(shuffled), of_queries([3] * 9)
        for key in keys:
            assert [whole[key][i] for i in shuffled] == again[key], key
            assert copies[key] == [whole[key][3]] * 9, key
            assert [of_queries([i])[key][0] for i in range(12)] == whole[key], key


def test_ties_anywhere_count_where_a_figure_goes_over_whole_rankings():
    matrix = [[1, 0], [0, 1], [0, 0], [0, 1], [1, 0], [0, 0]]
    rows = {"predictions": [[9.0, 8.0, 7.0, 1.0, 1.0, 1.0]], "references": [matrix]}
    for figures in ("MAP-IA", ("P-IA@2", "MAP-IA"), ["NRBP", "P-IA@3"]):
        _, warned = recorded(lambda figures=figures: METRIC.compute(**rows, figures=figures, k=2))
        assert warned == [
            "1 of 1 queries have equal scores; their order is the protocol's, not the model's"
        ]
    assert recorded(lambda: METRIC.compute(**rows, figures="P-IA@3"))[1] == []


def test_names_in_an_array():
    found = asked("search_diversity", np.array(["NRBP", "P-IA@2"]))
    assert list(map(type, found)) == [str, str]
    assert found == asked("search_diversity", ("NRBP", "P-IA@2"))


# Invariants


def test_patience_0_sees_the_first_document_only():
    result = METRIC.compute(
        predictions=[["b", "a"], ["a", "c"]],
        references=[TOY, TOY],
        figures="NRBP",
        beta=0,
        per_query=True,
    )
    assert result["per_query"]["NRBP"] == [1 / 3, 2 / 3]


def test_the_ideal_ranking_scores_1():
    documents = {"a": ["1", "2", "3"], "b": ["1", "4"], "c": ["2"], "x": []}
    ideal, figures = ["a", "b", "c", "x"], ("nNRBP", "nERR-IA@3", "alpha-NDCG@3")
    result = METRIC.compute(predictions=[ideal], references=[documents], figures=figures, beta=0.9)
    assert result == dict.fromkeys(figures, 1.0)


def test_average_precision_of_all_relevant_documents_first():
    documents = {f"d{i}": ["7"] if i < 4 else [] for i in range(9)}
    result = METRIC.compute(predictions=[list(documents)], references=[documents], figures="MAP-IA")
    assert result == {"MAP-IA": 1.0}


def test_an_unjudged_document_counts_as_nothing_in_precision():
    result, _ = recorded(
        lambda: METRIC.compute(
            predictions=[["u", "a", "b"]], references=[TOY], figures=("P-IA@3", "P-IA@6")
        )
    )
    assert result == {"P-IA@3": (2 + 1) / 3 / 3, "P-IA@6": (2 + 1) / 6 / 3}


def test_one_figure_builds_no_ideal(monkeypatch):
    import sys

    blocks = sys.modules[type(METRIC).__module__.rpartition(".")[0] + ".blocks"]

    def refuse(*args):
        raise AssertionError("the ideal ranking was made")

    monkeypatch.setattr(blocks, "greedy_gains", refuse)
    figures = ("S-recall@10", "P-IA@10", "NRBP", "MAP-IA", "ERR-IA@10", "alpha-DCG@10")
    METRIC.compute(predictions=[TOY_RANKING], references=[TOY], figures=figures)
    with pytest.raises(AssertionError, match="the ideal ranking was made"):
        METRIC.compute(predictions=[TOY_RANKING], references=[TOY], figures="nNRBP")
