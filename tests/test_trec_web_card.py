# SPDX-License-Identifier: Apache-2.0
"""The card of the TREC Web Track: its metadata, and its figures measured anew."""

import importlib.util
import random
import re
import runpy
from collections import Counter

import datasets
import pytest
import yaml
from quotediv.loaders import trec_web
from support import ROOT, recorded

CARD = ROOT / "cards" / "trec_web.md"
KEYS = [f"{name}@{k}" for k in (5, 10) for name in ("alpha-NDCG", "ERR-IA", "S-recall")]
PROTOCOLS = ("standard", "released", "recipe")
SIZES = {"2009": 50, "2010": 48, "2011": 50, "2012": 50, "all": 198}


def greedy(docs, subtopics, depth=10):
    """The document with the largest gain next, the larger id among equal gains."""
    left, weight, ranking = dict(zip(docs, subtopics, strict=True)), {}, []
    while left and len(ranking) < depth:
        best = max(left, key=lambda doc: (sum(weight.get(s, 1.0) for s in left[doc]), doc.encode()))
        ranking.append(best)
        for subtopic in left.pop(best):
            weight[subtopic] = weight.get(subtopic, 1.0) / 2
    return ranking


def most_subtopics_first(docs, subtopics):
    labels = dict(zip(docs, subtopics, strict=True))
    return sorted(docs, key=lambda doc: -len(labels[doc]))


def rankings_of(topics, run):
    rng = random.Random(0)
    columns = list(zip(topics["doc_ids"], topics["subtopics"], strict=True))
    return {
        "random": [rng.sample(docs, len(docs)) for docs, _ in columns],
        "Indri": trec_web.align(run, topics),
        "most subtopics first": [most_subtopics_first(*pair) for pair in columns],
        "greedy oracle": [greedy(*pair) for pair in columns],
    }


def printed_figures():
    """{(year, ranking, protocol): {key: text}} of the table."""
    _, _, section = CARD.read_text(encoding="utf-8").partition("## Values to judge by\n")
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert rows[0] == ["year", "ranking", "protocol", *KEYS]
    return {tuple(row[:3]): dict(zip(KEYS, row[3:], strict=True)) for row in rows[2:]}


@pytest.mark.parametrize("year", ["2009", "2010"])
def test_values_to_judge_by(shared_data, search_diversity, year):
    if importlib.util.find_spec("ir_datasets") is None:
        pytest.skip("needs ir_datasets: quotediv[trec]")
    folder = shared_data / "trec_web"
    topics = trec_web.load(year, data_dir=folder)
    run = trec_web.read_run(folder / f"indri.{year}.run")
    covering = [bool(labels) for row in topics["subtopics"] for labels in row]
    assert (sum(covering), len(covering)) == {"2009": (4942, 26407), "2010": (6553, 6553)}[year]
    rankings, _ = recorded(lambda: rankings_of(topics, run))
    measured = {}
    for protocol in PROTOCOLS:
        for name, ranking in rankings.items():
            options = {"predictions": ranking, "references": topics, "protocol": protocol}
            result, _ = recorded(lambda options=options: search_diversity.compute(**options))
            measured[year, name, protocol] = {key: f"{result[key]:.4f}" for key in KEYS}
    printed = printed_figures()
    assert measured == {row: figures for row, figures in printed.items() if row[0] == year}
    assert {row[0] for row in printed} == {"2009", "2010"}


RUNS = {
    "DSSA": "dssa-doc2vec.run",
    "DVGAN": "dvgan.run",
    "DESA": "result_desa.run",
    "GDESA": "result_gdesa.run",
}


@pytest.mark.parametrize("year", SIZES)
def test_types_of_topics(shared_data, year):
    if importlib.util.find_spec("ir_datasets") is None:
        pytest.skip("needs ir_datasets: quotediv[trec]")
    folder = shared_data / "trec_web"
    types = Counter(trec_web.load(None if year == "all" else year, data_dir=folder)["type"])
    _, _, section = CARD.read_text(encoding="utf-8").partition("## Types\n")
    printed = cells(section.partition("\n## ")[0])
    assert dict(zip(printed["year"], map(int, printed[year]), strict=True)) == types
    assert types.total() == SIZES[year]


def public_runs():
    """The section of the four runs."""
    _, _, section = CARD.read_text(encoding="utf-8").partition("## Public runs, re-scored\n")
    return section.partition("\n## ")[0]


@pytest.fixture
def compared(shared_data, capsys):
    """What the command of the card prints with an order, and its notes."""
    if importlib.util.find_spec("ir_datasets") is None:
        pytest.skip("needs ir_datasets: quotediv[trec]")
    pytest.importorskip("scipy.stats", reason="intervals need scipy")
    main = runpy.run_path(str(ROOT / "examples" / "compare_systems.py"))["main"]
    command = public_runs().partition("```sh\n")[2].partition("```")[0]
    words = command.replace("\\\n", "").split()
    assert words[:2] == ["python", "examples/compare_systems.py"]
    args = words[2:]
    systems = args[: len(RUNS)]
    assert [system.partition("=")[0] for system in systems] == list(RUNS)
    args[: len(RUNS)] = [f"{name}={shared_data / 'runs' / run}" for name, run in RUNS.items()]
    args[args.index("DIR")] = str(shared_data / "trec_web")
    assert args[args.index("--order") + 1] == "rank"

    def run(order):
        args[args.index("--order") + 1] = order
        recorded(lambda: main(args))
        return capsys.readouterr()

    return run


def cells(text):
    """{name: cells} of a table."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {name: row for name, *row in rows}


def letters(cell):
    return "".join(re.findall("<sup>(.*)</sup>", cell))


def without_letters(row):
    return [re.sub("<sup>.*</sup>", "", cell) for cell in row]


def test_public_runs_scored_both_ways(compared):
    section = public_runs()
    by_rank, by_score = compared("rank"), compared("score")
    assert f"```\n\n{by_rank.out}" in section
    ranks, scores = cells(by_rank.out), cells(by_score.out)
    both = cells(section[section.index("| GDESA ordered by |") :])
    assert both["GDESA ordered by"] == ranks.pop("system") == scores.pop("system")
    assert both["rank"] == ranks.pop("GDESA (d)")
    assert both["score"] == scores.pop("GDESA (d)")
    assert list(ranks) == list(scores) == ["DSSA (a)", "DVGAN (b)", "DESA (c)"]
    for name in ranks:
        assert without_letters(ranks[name]) == without_letters(scores[name])
        assert "d" not in "".join(map(letters, ranks[name]))
    for own, *others in zip(both["score"], *scores.values(), strict=True):
        assert float(own.split()[0]) < min(float(cell[:6]) for cell in others)
        assert "".join(map(letters, others)).count("d") in (2, 3)
    judged = re.findall(r"(\d+)% of the documents within rank 20 are judged", by_rank.err)
    assert sorted(judged) == ["63", "64", "64", "64"]


def test_the_column_that_orders_each_public_run(shared_data):
    folder = shared_data / "runs"
    table = public_runs().partition("\nDIR holds NIST's files.")[2].partition("\n\nGDESA ")[0]
    printed = cells(table)
    assert list(printed) == ["run", *RUNS]
    topics = set(map(str, range(1, 201)))
    for name, file in RUNS.items():
        by_rank = trec_web.read_run(folder / file, order="rank")
        column, depth, _ = printed[name]
        assert depth == f"at most {max(map(len, by_rank.values()))}"
        assert set(by_rank) == (topics if name == "DVGAN" else topics - {"95", "100"})
        if name == "GDESA":
            assert column == "rank"
            with pytest.raises(ValueError, match="different orders in 167 of 198 topics"):
                trec_web.read_run(folder / file)
        else:
            assert column == "either"
            assert trec_web.read_run(folder / file, order="score") == by_rank
    for name, best in (("DSSA", 1), ("DVGAN", 100)):
        for line in (folder / RUNS[name]).read_text(encoding="ascii").splitlines():
            rank, score = map(float, line.split()[3:5])
            assert score == pytest.approx(best / rank, abs=1e-6)


def test_metadata():
    card = yaml.safe_load(CARD.read_text(encoding="utf-8").split("---\n")[1])
    assert [config["config_name"] for config in card["configs"]] == list(SIZES)
    for config in card["configs"]:
        path = f"{config['config_name']}/trec_web-test*.parquet"
        assert config["data_files"] == [{"split": "test", "path": path}]
    features = trec_web.TrecWeb._info(None).features
    for info in card["dataset_info"]:
        assert datasets.Features._from_yaml_list(info["features"]) == features
        size = SIZES[info["config_name"]]
        assert info["splits"] == [{"name": "test", "num_examples": size}]
