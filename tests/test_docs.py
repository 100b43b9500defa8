# SPDX-License-Identifier: Apache-2.0
"""README and cards: every example runs, every option and every key appears."""

import doctest
import inspect

import pytest
from support import ROOT, load

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
    result = metric.compute(**CALLS[name], per_query=True)
    for word in options | set(result) | set(result["per_query"]) | set(metric.greater_is_better):
        assert f"`{word}`" in card, word


@pytest.mark.parametrize("name", CALLS)
def test_readme_names_every_key(name):
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("@k", "@10")
    for key in load(name).greater_is_better:
        assert f"`{key.replace('@5', '@10') if name == 'search_diversity' else key}`" in readme, key


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
