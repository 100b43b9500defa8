# SPDX-License-Identifier: Apache-2.0
"""README and cards: every example runs, every option and every key appears."""

import doctest
import inspect
import re

import pytest
import yaml
from support import ROOT, TOY, TOY_RANKING, load

TEXTS = ["README.md", *sorted(f"cards/{path.name}" for path in (ROOT / "cards").glob("*.md"))]


@pytest.mark.parametrize("name", TEXTS)
def test_examples_print_what_they_say(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / name).read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    report = []
    results = doctest.DocTestRunner().run(test, out=report.append)
    assert results.attempted >= 5
    assert results.failed == 0, "".join(report)


CALLS = {
    "quoter_rank": {
        "predictions": [["q1", "q2"], ["q1"]],
        "references": ["q2", "q2"],
        "missing": "zero",
    },
    "search_diversity": {"predictions": [["a"]], "references": [{"a": ["1"]}]},
}


@pytest.mark.parametrize("name", CALLS)
def test_card_names_every_option_and_key(name):
    metric = load(name)
    card = (ROOT / "cards" / f"{name}.md").read_text(encoding="utf-8")
    options = set(inspect.signature(type(metric).compute).parameters) - {"self"}
    result = metric.compute(**CALLS[name], per_query=True, confidence_level=0.9)
    for word in options | set(result) | set(result["per_query"]) | set(metric.greater_is_better):
        assert f"`{word}`" in card, word


def test_card_of_paired_significance_names_every_option_and_key():
    comparison = load("paired_significance")
    card = (ROOT / "cards" / "paired_significance.md").read_text(encoding="utf-8")
    words = set(comparison.compare({"A": [1.0, 0.5], "B": [0.5, 0.5]})[0])
    for call in (type(comparison).compute, type(comparison).compare):
        words |= set(inspect.signature(call).parameters) - {"self"}
    for word in words:
        assert f"`{word}`" in card, word


@pytest.mark.parametrize("name", CALLS)
def test_readme_names_every_key(name):
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("@k", "@10")
    for key in load(name).greater_is_better:
        assert f"`{key.replace('@5', '@10') if name == 'search_diversity' else key}`" in readme, key


def rows(text):
    """Cells of the lines of tables."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_ranking_of_the_readme_under_each_protocol(search_diversity):
    found = 0
    for name, _, *cells in rows((ROOT / "README.md").read_text(encoding="utf-8")):
        protocol = name.strip('`"')
        if protocol in ("standard", "released", "recipe"):
            found += 1
            result = search_diversity.compute(
                predictions=[TOY_RANKING], references=[TOY], protocol=protocol
            )
            keys = ("alpha-NDCG@5", "ERR-IA@5", "S-recall@5")
            assert cells[:3] == [f"{result[key]:.4f}" for key in keys]
    assert found == 3


def test_values_to_judge_by_are_those_of_the_loaders():
    """The card of the metric repeats what the cards of the loaders measure."""
    measured = {}
    for name, *cells in rows((ROOT / "cards" / "du_div.md").read_text(encoding="utf-8")):
        if len(cells) == 7:
            measured["DU-DIV, test", name, cells[0]] = cells[4:]
    for year, *cells in rows((ROOT / "cards" / "trec_web.md").read_text(encoding="utf-8")):
        if len(cells) == 8:
            measured[f"TREC {year}", cells[0], cells[1]] = cells[5:]
    card = (ROOT / "cards" / "search_diversity.md").read_text(encoding="utf-8")
    section = card[card.index("## Values to judge by") :].split("\n## ")[0]
    printed = rows(section)[1:]
    assert len(printed) == 9
    for data, ranking, *cells in printed:
        three = [measured[data, ranking, name] for name in ("standard", "released", "recipe")]
        ndcg, err, (s_recall, *_) = ([row[i] for row in three] for i in range(3))
        assert cells == [*ndcg, *err, s_recall]


SECTIONS = [
    *("Description", "How to use", "Inputs", "Output values", "Values to judge by"),
    *("Examples", "Limitations", "Citation", "Further references"),
]


@pytest.mark.parametrize("name", CALLS)
def test_card_of_a_space(name):
    text = (ROOT / "cards" / f"{name}.md").read_text(encoding="utf-8")
    _, head, body = text.split("---\n", 2)
    settings = yaml.safe_load(head)
    assert settings["title"] == name
    assert (settings["sdk"], settings["app_file"]) == ("gradio", "space/app.py")
    assert settings["tags"] == ["evaluate", "metric"]
    assert len(settings["short_description"]) <= 60  # the Hub's limit
    requirements = (ROOT / "metrics" / name / "requirements.txt").read_text(encoding="utf-8")
    assert f"gradio>={settings['sdk_version'].rpartition('.')[0]},<7" in requirements
    assert re.findall(r"^## (.+)$", body, re.MULTILINE) == SECTIONS


def test_ratios_of_the_readme_are_those_of_the_benchmark():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme[readme.index("## Speed") :].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:2] == "| "][1:]
    targets = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    measured = [
        tuple(cell.strip() for cell in line.strip("| ").split(" | "))
        for line in targets.split("## Targets")[1].split("\n## ")[0].splitlines()
        if line[:2] == "| "
    ]
    assert len(rows) >= 6
    for inputs, against, figure in rows:
        found = [row for row in measured if row[0] == inputs and row[2] == figure]
        assert any(against.replace("`", "") in row[1] for row in found), (inputs, figure)
