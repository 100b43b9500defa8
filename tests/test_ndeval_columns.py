# SPDX-License-Identifier: Apache-2.0
"""All 21 columns of TREC's ndeval, topic by topic, against pyndeval, which wraps its code."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import load, recorded

pyndeval = pytest.importorskip("pyndeval")
pytest.importorskip("ir_datasets", reason="the TREC loader needs ir_datasets")

OURS = {"alpha-nDCG": "alpha-NDCG", "strec": "S-recall"}  # pyndeval's names of our figures
DEEP = ("ERR-IA", "nERR-IA", "alpha-DCG", "alpha-nDCG", "P-IA", "strec")
WHOLE = ("NRBP", "nNRBP", "MAP-IA")
COLUMNS = [*(f"{name}@{k}" for name in DEEP for k in (5, 10, 20)), *WHOLE]
RUNS = {
    "dssa-doc2vec.run": "score",
    "dvgan.run": "score",
    "result_desa.run": "score",
    "result_gdesa.run": "score",
    "indri.2009.run": "rank",
    "indri.2010.run": "rank",
}
METRIC = load("search_diversity")


def key_of(column):
    name, at, depth = column.partition("@")
    return OURS.get(name, name) + at + depth


def by_pyndeval(rankings, references, alpha=0.5):
    """{topic: {column: value}}; scores are made that keep the order of each ranking."""
    qrels = [
        pyndeval.SubtopicQrel(topic, label, doc, 1)
        for topic, documents in references.items()
        for doc, labels in documents.items()
        for label in labels
    ]
    run = [
        pyndeval.ScoredDoc(topic, doc, float(len(docs) - place))
        for topic, docs in rankings.items()
        for place, doc in enumerate(docs)
    ]
    return pyndeval.ndeval(qrels, run, COLUMNS, alpha=alpha)


def compare(rankings, references, alpha=0.5):
    """Every column of every topic that covers a subtopic; how many there were."""
    expected = by_pyndeval(rankings, references, alpha)
    topics = [topic for topic in references if any(references[topic].values())]
    result, _ = recorded(
        lambda: METRIC.compute(
            predictions=[rankings.get(topic, []) for topic in topics],
            references=[references[topic] for topic in topics],
            figures=list(map(key_of, COLUMNS)),
            alpha=alpha,
            per_query=True,
        )
    )
    compared = 0
    for place, topic in enumerate(topics):
        for column, value in expected.get(topic, {}).items():
            found = result["per_query"][key_of(column)][place]
            assert found == pytest.approx(value, abs=1e-9), (topic, column)
            compared += 1
    return compared


@pytest.fixture(scope="module")
def judged(shared_data):
    from quotediv.loaders import trec_web

    topics = trec_web.load(data_dir=str(shared_data / "trec_web"))
    return {
        row["query_id"]: dict(zip(row["doc_ids"], row["subtopics"], strict=True)) for row in topics
    }


@pytest.mark.parametrize("name", RUNS)
def test_every_run(name, shared_data, judged):
    from quotediv.loaders import trec_web

    folder = "trec_web" if name.startswith("indri") else "runs"
    run = trec_web.read_run(shared_data / folder / name, order=RUNS[name])
    references = {topic: judged[topic] for topic in run if topic in judged}
    assert compare(run, references) >= 48 * len(COLUMNS)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_all_judged_documents_in_random_order(alpha, judged):
    shuffle = random.Random(4)
    rankings = {}
    for topic, documents in judged.items():
        rankings[topic] = list(documents)
        shuffle.shuffle(rankings[topic])
    assert compare(rankings, judged, alpha) == 198 * len(COLUMNS)


@st.composite
def toys(draw):
    labels = st.sets(st.sampled_from("12345"), max_size=4)
    ids = [f"d{n}" for n in range(8)]
    documents = draw(st.dictionaries(st.sampled_from(ids), labels, min_size=1))
    documents["d0"] = {"1"}
    ranking = draw(st.permutations(ids))[: draw(st.integers(1, 8))]
    return ["d0", *(doc for doc in ranking if doc != "d0")], {
        doc: sorted(found) for doc, found in documents.items()
    }


@settings(max_examples=200, deadline=None)
@given(toy=toys(), alpha=st.sampled_from([0.0, 0.5, 1.0]))
def test_toys(toy, alpha):
    ranking, documents = toy
    assert compare({"t": ranking}, {"t": documents}, alpha) == len(COLUMNS)
