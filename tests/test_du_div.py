# SPDX-License-Identifier: Apache-2.0
"""search_diversity on DU-DIV: published means, pyndeval, and the plain loops bit for bit."""

import hashlib
import random

import numpy as np
import pytest
from reference import dcg, diversity_figures, diversity_query, gains_of, greedy_order
from support import recorded, reference_matrix

PROTOCOLS = ["standard", "released", "recipe"]
DEPTHS = (5, 10, 20)
PEER = {"ERR-IA": "ERR-IA", "alpha-NDCG": "alpha-nDCG", "S-recall": "strec"}


def sha256(doc):
    return hashlib.sha256(doc.encode()).hexdigest()


ORDERS = {"file_order": list, "sha256_order": lambda documents: sorted(documents, key=sha256)}


@pytest.fixture(scope="module")
def test_split(du_div, du_div_expected):
    return [du_div[query] for query in du_div_expected["test894"]]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("order", ORDERS)
def test_means(search_diversity, du_div_expected, test_split, order, protocol):
    rankings = [ORDERS[order](documents) for documents in test_split]
    expected = du_div_expected["means"][order][protocol]
    result = search_diversity.compute(
        predictions=rankings, references=test_split, protocol=protocol
    )
    assert result == pytest.approx(expected, rel=0, abs=1e-9)
    assert diversity_figures(rankings, test_split, protocol) == pytest.approx(
        expected, rel=0, abs=1e-9
    )


@pytest.mark.parametrize("order", ORDERS)
def test_released_per_query(search_diversity, du_div, du_div_expected, order):
    expected = du_div_expected["released_per_query_first20"][order]
    references = [du_div[query] for query in expected]
    result = search_diversity.compute(
        predictions=[ORDERS[order](documents) for documents in references],
        references=references,
        protocol="released",
        per_query=True,
    )
    assert len(expected) == 20
    for i, row in enumerate(expected.values()):
        found = {name: result["per_query"][name][i] for name in row}
        assert found == pytest.approx(row, rel=0, abs=1e-9)


def ranked(du_div, order):
    rng = random.Random(8)
    return [
        list(documents) if order == "file" else rng.sample(list(documents), len(documents))
        for documents in du_div.values()
    ]


def by_pyndeval(du_div, rankings, alpha):
    pyndeval = pytest.importorskip("pyndeval")
    qrels = [
        (query, label, doc, 1)
        for query, documents in du_div.items()
        for doc, labels in documents.items()
        for label in labels
    ]
    run = [
        (query, doc, float(-position))
        for query, ranking in zip(du_div, rankings, strict=True)
        for position, doc in enumerate(ranking)
    ]
    measures = [f"{name}@{k}" for name in PEER.values() for k in DEPTHS]
    return pyndeval.ndeval(qrels, run, measures, alpha=alpha)


@pytest.mark.parametrize("alpha", [0, 0.5, 1])
@pytest.mark.parametrize("order", ["file", "random"])
def test_all_queries_against_pyndeval(search_diversity, du_div, order, alpha):
    rankings = ranked(du_div, order)
    theirs = by_pyndeval(du_div, rankings, alpha)
    assert len(theirs) == 4473
    result = search_diversity.compute(
        predictions=rankings,
        references=list(du_div.values()),
        alpha=alpha,
        k=DEPTHS,
        per_query=True,
    )
    for ours, other in PEER.items():
        for k in DEPTHS:
            expected = [theirs[query][f"{other}@{k}"] for query in du_div]
            found = result["per_query"][f"{ours}@{k}"]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def ideal_dcg(documents, larger_id_first):
    """DCG@10 of the greedy order, equal gains going to the larger or to the smaller id."""
    by_id = {doc: documents[doc] for doc in sorted(documents, key=str.encode)}
    order = greedy_order(by_id, "standard", 0.5, 10, larger_id_first)
    return dcg(gains_of(order, documents, "standard", 0.5), 10)


def test_the_ideals_tie_rule_where_it_matters(search_diversity, du_div):
    matters = {
        query: documents
        for query, documents in du_div.items()
        if ideal_dcg(documents, True) != ideal_dcg(documents, False)
    }
    assert len(matters) > 500
    rankings = [list(documents) for documents in matters.values()]
    theirs = by_pyndeval(matters, rankings, 0.5)
    result = search_diversity.compute(
        predictions=rankings, references=list(matters.values()), per_query=True
    )
    found = result["per_query"]["alpha-NDCG@10"]
    expected = [theirs[query]["alpha-nDCG@10"] for query in matters]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    wrong = [
        dcg(gains_of(list(documents), documents, "standard", 0.5), 10) / ideal_dcg(documents, False)
        for documents in matters.values()
    ]
    assert np.abs(np.array(found) - wrong).max() > 1e-3


@pytest.mark.parametrize("alpha", [0.1, 0.9])
@pytest.mark.parametrize("order", ["file", "random"])
def test_plain_loops_bit_for_bit(search_diversity, du_div, order, alpha):
    rankings = ranked(du_div, order)
    references = list(du_div.values())
    result = search_diversity.compute(
        predictions=rankings, references=references, alpha=alpha, k=DEPTHS, per_query=True
    )
    rows = [
        diversity_query(ranking, documents, "standard", alpha, DEPTHS)
        for ranking, documents in zip(rankings, references, strict=True)
    ]
    for name in rows[0]:
        expected = [row[name] for row in rows]
        found = result["per_query"][name]
        assert sum(a != b for a, b in zip(found, expected, strict=True)) == 0, name


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_mapping_and_matrix_give_the_same_bits(search_diversity, du_div, alpha):
    references = list(du_div.values())
    rng = np.random.default_rng(5)
    values = {doc: float(x) for r in references for doc, x in zip(r, rng.random(15), strict=True)}
    by_id = [sorted(documents, key=str.encode) for documents in references]
    width = max(len({s for labels in r.values() for s in labels}) for r in references)
    matrix = np.array([reference_matrix(r, 16, width) for r in references], np.int64)
    scores = np.full((len(references), 16), -100.0)
    scores[:, :15] = [[values[doc] for doc in docs] for docs in by_id]
    named, _ = recorded(
        lambda: search_diversity.compute(
            predictions=[[values[doc] for doc in r] for r in references],
            references=references,
            alpha=alpha,
            per_query=True,
        )
    )
    unnamed, _ = recorded(
        lambda: search_diversity.compute(
            predictions=scores, references=matrix, alpha=alpha, per_query=True
        )
    )
    assert named == unnamed


@pytest.mark.parametrize("protocol", ["standard", "recipe"])
def test_mapping_and_matrix_under_equal_scores(search_diversity, test_split, protocol):
    rng = random.Random(2)
    scores = [{doc: float(rng.randrange(4)) for doc in documents} for documents in test_split]
    by_id = [sorted(documents, key=str.encode) for documents in test_split]
    in_id_order = [
        {doc: documents[doc] for doc in docs}
        for documents, docs in zip(test_split, by_id, strict=True)
    ]
    rows = [[row[doc] for doc in docs] for row, docs in zip(scores, by_id, strict=True)]
    results = [
        recorded(
            lambda form=form: search_diversity.compute(
                predictions=rows, references=form, protocol=protocol, per_query=True
            )
        )[0]
        for form in (in_id_order, [reference_matrix(documents) for documents in in_id_order])
    ]
    assert results[0] == results[1]
