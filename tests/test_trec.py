# SPDX-License-Identifier: Apache-2.0
"""search_diversity on the TREC Web Track's Indri baselines, to the six digits ndeval prints."""

import json
from collections import defaultdict

import pytest
from reference import diversity_query, judged, mean
from support import recorded, reference_columns

YEARS = ("2009", "2010")
UNJUDGED = {"2009": set(), "2010": {"95", "100"}}


def read_qrels(path):
    """{topic: {document: [subtopic, ...]}}; a judgement of 0 or less gives no subtopic."""
    topics = defaultdict(dict)
    for line in path.read_text(encoding="ascii").splitlines():
        topic, subtopic, doc, judgement = line.split()
        labels = topics[topic].setdefault(doc, [])
        if int(judgement) > 0:
            labels.append(subtopic)
    return dict(topics)


def read_run(path):
    """{topic: [document, ...]} by descending score, the larger id first among equals."""
    lines = defaultdict(list)
    for line in path.read_text(encoding="ascii").splitlines():
        topic, _, doc, rank, score, _ = line.split()
        lines[topic].append((float(score), doc, int(rank)))
    run = {}
    for topic, rows in lines.items():
        rows.sort(reverse=True)
        run[topic] = [doc for _, doc, _ in rows]
    return run, dict(lines)


@pytest.fixture(scope="module", params=YEARS)
def year(request):
    return request.param


@pytest.fixture(scope="module")
def files(shared_data, year):
    folder = shared_data / "trec_web"
    expected = json.loads((folder / "expected_ndeval.json").read_text(encoding="utf-8"))[year]
    qrels = read_qrels(folder / f"{year}.qrels.diversity")
    run, lines = read_run(folder / f"indri.{year}.run")
    return expected, qrels, run, lines


def test_what_the_files_hold(files, year):
    expected, qrels, run, lines = files
    assert len(expected["topics"]) == 50
    assert set(expected["topics"]) - set(qrels) == UNJUDGED[year]
    assert set(qrels) <= set(run)
    for rows in lines.values():
        assert len({doc for _, doc, _ in rows}) == len(rows)


def six(value):
    return f"{value:.6f}"


@pytest.mark.parametrize("form", ["mapping", "columns"])
def test_topic_by_topic_and_mean(search_diversity, files, form):
    expected, qrels, run, _ = files
    references = list(qrels.values())
    if form == "columns":
        references = [reference_columns(documents) for documents in references]
    rankings = [run[topic] for topic in qrels]
    result, messages = recorded(
        lambda: search_diversity.compute(
            predictions=rankings, references=references, per_query=True
        )
    )
    per_query = result.pop("per_query")
    assert {name: six(value) for name, value in result.items()} == {
        name: six(value) for name, value in expected["mean"].items()
    }
    for i, topic in enumerate(qrels):
        row = expected["topics"][topic]
        assert {name: six(per_query[name][i]) for name in row} == {
            name: six(value) for name, value in row.items()
        }, topic
    shares = [judged(run[topic], qrels[topic], 10) for topic in qrels]
    assert per_query["Judged@10"] == pytest.approx(shares, rel=0, abs=1e-12)
    assert len(messages) == (mean(shares) < 0.8)


def test_reference_topic_by_topic(files):
    expected, qrels, run, _ = files
    for topic, documents in qrels.items():
        row = expected["topics"][topic]
        found = diversity_query(run[topic], documents)
        assert {name: six(found[name]) for name in row} == {
            name: six(value) for name, value in row.items()
        }, topic


def test_an_unjudged_topic_is_a_zero_row(search_diversity, files, year):
    expected, _, run, _ = files
    for topic in UNJUDGED[year]:
        assert set(expected["topics"][topic].values()) == {0.0}
    ranking = run[min(run)]
    result, _ = recorded(
        lambda: search_diversity.compute(
            predictions=[ranking, ["a"]], references=[{}, {"a": ["1"]}], per_query=True
        )
    )
    assert result["per_query"]["alpha-NDCG@10"] == [0.0, 1.0]
