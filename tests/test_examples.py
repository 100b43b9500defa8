# SPDX-License-Identifier: Apache-2.0
"""The examples run on the embedded sample, and the sample is what it says."""

import contextlib
import io
import json
import re
import runpy
import shutil
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
def text(baselines):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        baselines["main"]([])
    return out.getvalue()


@pytest.fixture(scope="module")
def printed(text):
    return tables(text)


def lines_after(text, title):
    """{first cell: the others} of the table under each line that is the title."""
    found = []
    for part in text.split(f"\n{title}\n")[1:]:
        head, *lines = part.partition("\n\n")[0].splitlines()
        keys = re.split(r" {2,}", head.strip())
        rows = [re.split(r" {2,}", line) for line in lines]
        found.append({name: dict(zip(keys, cells, strict=True)) for name, *cells in rows})
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_quote_rankers_are_in_order(printed, language):
    mrr = {name: figures["MRR"] for name, figures in printed[language].items()}
    assert list(mrr) == ["random", "training frequency", "TF-IDF"]
    assert mrr["random"] < mrr["training frequency"] < mrr["TF-IDF"]


RANKERS = ["random", "training frequency", "TF-IDF"]


def test_languages_side_by_side(text, printed):
    for key in ("MRR", "NDCG@5", "Recall@10"):
        (rows,) = lines_after(text, key)
        assert list(rows) == RANKERS
        for name, cells in rows.items():
            assert {n: float(v) for n, v in cells.items()} == {
                language: printed[language][name][key] for language in LANGUAGES
            }


def test_one_language_has_none_beside_it(baselines, tmp_path, capsys):
    shutil.copy(SAMPLE / "quoter" / "english.txt", tmp_path)
    baselines["main"](["--quoter", str(tmp_path)])
    out = capsys.readouterr().out
    assert "MRR by training lines of the gold quote" in out
    assert "side by side" not in out


def test_bins_of_training_frequency_of_the_sample(text):
    found = lines_after(text, "MRR by training lines of the gold quote")
    sizes = [{name: cells["n"] for name, cells in rows.items()} for rows in found]
    one, two = ({"0": n, "1-4": str(13 - int(n)), "mean of bins": "13"} for n in "12")
    assert sizes == [one, one, two]
    assert all(list(cells) == ["n", *RANKERS] for rows in found for cells in rows.values())


def test_bins_of_training_frequency(baselines, tmp_path, capsys):
    """A file with all bins: each figure is that of the bin's queries alone."""
    counts = {"never": 0, "once": 1, "four": 4, "five": 5, "nineteen": 19, "twenty": 20}
    train = [quote for quote, n in counts.items() for _ in range(n)] + ["other"] * 31
    test = [*counts, "other", "never", "twenty"]
    lines = [*train, *["other"] * 27, *test, *["once"] * 18]
    (tmp_path / "english.txt").write_text("".join(f"a\t{q}\tb\n" for q in lines), encoding="utf-8")
    baselines["main"](["--quoter", str(tmp_path)])
    (rows,) = lines_after(capsys.readouterr().out, "MRR by training lines of the gold quote")
    assert {name: int(cells["n"]) for name, cells in rows.items()} == {
        **{"0": 2, "1-4": 20, "5-19": 2, "20 and more": 3},
        "mean of bins": 27,
    }
    ranks = {"0": [7, 7], "1-4": [6, 5, *[6] * 18], "5-19": [4, 3], "20 and more": [2, 1, 2]}
    means = {name: sum(1 / rank for rank in found) / len(found) for name, found in ranks.items()}
    means["mean of bins"] = sum(means.values()) / 4
    assert {name: cells["training frequency"] for name, cells in rows.items()} == {
        name: f"{mean:.4f}" for name, mean in means.items()
    }


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
