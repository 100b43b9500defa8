# SPDX-License-Identifier: Apache-2.0
"""The examples run on the embedded sample, and the sample is what it says."""

import contextlib
import io
import json
import runpy
from collections import Counter

import pytest
from support import ROOT, load

SAMPLE = ROOT / "examples" / "sample"
LANGUAGES = ("english", "modern_chinese", "ancient_chinese")
pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def baselines():
    return runpy.run_path(str(ROOT / "examples" / "score_baselines.py"))


def tables(text):
    """{title or protocol: {ranker: {key: figure}}} of what score_baselines prints."""
    found, title, keys = {}, "", []
    for line in text.splitlines():
        if line.startswith(("Quotes, ", "protocol ")):
            title = line.split(",")[1].split(":")[0].strip() if "," in line else line.split()[1]
        elif line.lstrip().startswith(("MRR  ", "alpha-NDCG")):
            keys = line.split()
        elif keys and len(line.split()) >= len(keys):
            words = line.split()
            name, figures = " ".join(words[: -len(keys)]), words[-len(keys) :]
            if all(figure.replace(".", "").isdigit() for figure in figures):
                found.setdefault(title, {})[name] = dict(
                    zip(keys, map(float, figures), strict=True)
                )
    return found


@pytest.fixture(scope="module")
def printed(baselines):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        baselines["main"]([])
    return tables(out.getvalue())


@pytest.mark.parametrize("language", LANGUAGES)
def test_quote_rankers_are_in_order(printed, language):
    mrr = {name: figures["MRR"] for name, figures in printed[language].items()}
    assert list(mrr) == ["random", "training frequency", "TF-IDF"]
    assert mrr["random"] < mrr["training frequency"] < mrr["TF-IDF"]


@pytest.mark.parametrize("protocol", ["standard", "released", "recipe"])
def test_document_rankers_are_in_order(printed, protocol):
    alpha_ndcg = {name: f["alpha-NDCG@10"] for name, f in printed[protocol].items()}
    assert list(alpha_ndcg) == ["file order", "random", "most subtopics first", "greedy oracle"]
    best = max(alpha_ndcg, key=alpha_ndcg.get)
    assert best == "greedy oracle"
    assert alpha_ndcg["random"] < alpha_ndcg["most subtopics first"]


def test_real_labels(shared_data, baselines, du_div_expected, capsys):
    path = shared_data / "du_div" / "query_doc_subtopics_doc15_2.json"
    baselines["main"](["--du-div", str(path)])
    found = tables(capsys.readouterr().out)
    for protocol, expected in du_div_expected["means"]["file_order"].items():
        assert found[protocol]["file order"] == {k: round(v, 4) for k, v in expected.items()}


@pytest.mark.parametrize("language", LANGUAGES)
def test_sample_of_quotes(language):
    lines = (SAMPLE / "quoter" / f"{language}.txt").read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    fields = [line.split("\t") for line in lines]
    assert len(lines) >= 60
    assert {len(row) for row in fields} == {3}
    quotes = Counter(quote for _, quote, _ in fields)
    assert len(quotes) >= 20
    assert max(quotes.values()) > 1


def test_sample_of_labels():
    labels = json.loads((SAMPLE / "du_div.json").read_text(encoding="utf-8"))
    assert len(labels) == 20
    assert {len(documents) for documents in labels.values()} == {15}


@pytest.mark.parametrize("option", ["--quoter", "--du-div"])
def test_missing_files_are_named(baselines, tmp_path, capsys, option):
    with pytest.raises(SystemExit):
        baselines["main"]([option, str(tmp_path)])
    assert f"{option}: {tmp_path}" in capsys.readouterr().err


def test_table_of_the_du_div_card(shared_data, baselines):
    """Each row of the card: a ranking of the 894 test queries under a protocol."""
    card = (ROOT / "cards" / "du_div.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in card.splitlines() if line.startswith("| ")]
    head = next(line for line in lines if line[0] == "ranking")
    rows = [line for line in lines if len(line) == len(head) and line[0] != "ranking"]
    labels = baselines["load_labels"](shared_data / "du_div" / "query_doc_subtopics_doc15_2.json")
    references = list(labels.values())
    rankers = {
        "random": baselines["random_documents"](0),
        "file order": list,
        "most subtopics first": baselines["most_subtopics_first"],
        "greedy oracle": baselines["greedy_oracle"],
    }
    rankings = {name: [rank(query) for query in references] for name, rank in rankers.items()}
    assert len(rows) == 12
    for name, protocol, *figures in rows:
        result = load("search_diversity").compute(
            predictions=rankings[name], references=references, protocol=protocol
        )
        assert figures == [f"{result[key]:.4f}" for key in head[2:]], (name, protocol)
