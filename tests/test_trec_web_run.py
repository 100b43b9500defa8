# SPDX-License-Identifier: Apache-2.0
"""TREC runs: reading one, putting it into a dataset's order, scoring it from the command line."""

import csv
import gzip
import importlib.util
import json
import re
import subprocess
import sys

import datasets
import pytest
from quotediv.loaders import trec_web
from support import ROOT, recorded

RUN = """\
7 Q0 b 1 2.5 tag
8 Q0 x 2 0.25 tag
7 Q0 c 3 -1e3 tag
8 Q0 y 1 0.5 tag
7 Q0 a 2 1 tag
"""
READ = {"7": ["b", "a", "c"], "8": ["y", "x"]}


@pytest.fixture
def write(tmp_path):
    def write_run(data):
        path = tmp_path / "a.run"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write_run


SPELLINGS = {
    "spaces": str.encode,
    "tabs": lambda text: text.replace(" ", "\t").encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "gzip": lambda text: gzip.compress(text.encode()),
    "BOM": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "indented": lambda text: text.replace("\n", "  \n  ").encode(),
    "no newline at the end": lambda text: text.strip().encode(),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("order", [None, "rank", "score"])
def test_spellings_of_one_run(write, spelling, order):
    assert trec_web.read_run(write(SPELLINGS[spelling](RUN)), order=order) == READ


def test_a_path_is_a_str_too(write):
    assert trec_web.read_run(str(write(RUN))) == READ


@pytest.mark.parametrize("blank", ["\u00a0", "\u0085", "\u2028", "\x0b", "\x1c"])
def test_only_ascii_blanks_part_columns(write, blank):
    text = f"7 Q0 a{blank}b 1 1 t\n7 Q0 c 2 0 t{blank}\n"
    assert trec_web.read_run(write(text)) == {"7": [f"a{blank}b", "c"]}


@pytest.mark.parametrize("score", ["1", "+1.", ".5", "1.5E-3", "1e+2", "0" * 5000 + "1", "1e-400"])
def test_decimal_scores(write, score):
    assert trec_web.read_run(write(f"7 Q0 a 1 {score} t\n")) == {"7": ["a"]}


def test_columns_that_disagree(write):
    path = write("7 Q0 a 1 0.1 t\n7 Q0 b 2 0.2 t\n8 Q0 a 1 0.2 t\n8 Q0 b 2 0.1 t\n")
    message = (
        f"{path}: expected ranks and scores in the same order, got different orders in 1 of 2 "
        "topics, first in 7; say which one holds: read_run(path, order='rank') or "
        "read_run(path, order='score')"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        trec_web.read_run(path)
    assert trec_web.read_run(path, order="rank")["7"] == ["a", "b"]
    assert trec_web.read_run(path, order="score")["7"] == ["b", "a"]


def test_equal_scores(write):
    path = write("7 Q0 a 1 1 t\n7 Q0 é 2 1 t\n7 Q0 z 3 1 t\n7 Q0 top 4 -1e3 t\n")
    assert trec_web.read_run(path)["7"] == ["a", "é", "z", "top"]
    assert trec_web.read_run(path, order="rank")["7"] == ["a", "é", "z", "top"]
    assert trec_web.read_run(path, order="score")["7"] == ["é", "z", "a", "top"]


def test_equal_ranks_are_ordered_by_score(write):
    path = write("7 Q0 a 0 1 t\n7 Q0 b 0 2 t\n7 Q0 c 0 2 t\n")
    for order in (None, "rank", "score"):
        assert trec_web.read_run(path, order=order)["7"] == ["c", "b", "a"]


BROKEN = {
    "five columns": (b"7 Q0 a 1 1 t\n7 Q0 a 1 1\n", ":2: expected 6 columns (topic, Q0, document, "
                     "rank, score, tag), got 5"),
    "seven columns": (b"7 Q0 a 1 1 my tag\n", ":1: expected 6 columns"),
    "a blank line": (b"7 Q0 a 1 1 t\n\n7 Q0 b 2 0 t\n", ":2: expected 6 columns"),
    "empty": (b"", ":1: expected 6 columns"),
    "duplicate": (b"7 Q0 a 1 1 t\n8 Q0 a 1 1 t\n7 Q0 a 2 0 t\n", ":3: document a of topic 7 is in "
                  "line 1 already"),
    "rank": (b"7 Q0 a 1.0 1 t\n", ":1: expected an integer as rank, got '1.0'"),
    **{
        f"score {score}": (f"7 Q0 a 1 {score} t\n".encode(), ":1: expected a finite number as "
                           f"score, got '{score}'")
        for score in ("high", "nan", "1_0", "inf", "-inf", "Infinity", "1e400", "١", "0x1", ".")
    },
    "long rank": (b"7 Q0 a 1 1 t\n7 Q0 b %s 1 t\n" % (b"9" * 5000), ":2: expected an integer of at "
                  f"most 18 digits as rank, got '{'9' * 60}...'"),
    "long score": (b"7 Q0 a 1 %s t\n" % (b"9" * 5000), ":1: expected a finite number as score, got "
                   f"'{'9' * 60}...'"),
    "no ASCII blank": ("7 Q0 a 1\u00a01 t\n".encode(), ":1: expected 6 columns (topic, Q0, "
                       "document, rank, score, tag), got 5"),
    "Latin-1": (b"7 Q0 a 1 1 t\n7 Q0 \xe9 1 1 t\n", ":2: expected text in the encoding UTF-8, got "
                "byte 0xe9"),
    "gzip cut": (gzip.compress(RUN.encode(), mtime=0)[:-9], "expected a whole gzip file"),
    "cut in a line": (RUN.encode()[:-5], ":5: expected 6 columns"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_broken_bytes_are_refused_by_file_and_line(write, case):
    data, message = BROKEN[case]
    path = write(data)
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        trec_web.read_run(path)
    assert message in str(caught.value)


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="is a folder, not a file"):
        trec_web.read_run(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none\.run does not exist"):
        trec_web.read_run(tmp_path / "none.run")


def test_wrong_order(write):
    with pytest.raises(ValueError, match=re.escape("`order` must be None, 'rank' or 'score'")):
        trec_web.read_run(write(RUN), order="scores")


@pytest.mark.parametrize("year", ["2009", "2010"])
def test_real_runs(shared_data, year):
    path = shared_data / "trec_web" / f"indri.{year}.run"
    lines = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    run = trec_web.read_run(path)
    assert sum(map(len, run.values())) == len(lines)
    by_rank = sorted(lines, key=lambda fields: int(fields[3]))
    for topic, documents in run.items():
        assert documents == [fields[2] for fields in by_rank if fields[0] == topic]


# Into a dataset's order


@pytest.fixture
def topics():
    return datasets.Dataset.from_dict({"query_id": ["8", "7"], "doc_ids": [["x"], ["a", "b"]]})


def test_align(topics):
    rankings, messages = recorded(lambda: trec_web.align(READ, topics))
    assert rankings == [READ["8"], READ["7"]]
    assert not messages
    assert trec_web.align(READ, topics.select([1, 0])) == [READ["7"], READ["8"]]


def test_align_counts_what_does_not_match(topics):
    run = {"7": ["a"], "9": ["x"], "10": ["x"]}
    rankings, messages = recorded(lambda: trec_web.align(run, topics))
    assert rankings == [[], ["a"]]
    assert messages == [
        "the run lacks 1 of the dataset's 2 queries (scored as empty rankings) and has 2 that the "
        "dataset lacks (dropped)"
    ]
    _, messages = recorded(lambda: trec_web.align(READ, topics.select([1])))
    assert messages == ["the run has 1 queries that the dataset lacks (dropped)"]
    _, messages = recorded(lambda: trec_web.align({"7": ["a"]}, topics))
    assert messages == ["the run lacks 1 of the dataset's 2 queries (scored as empty rankings)"]


@pytest.mark.parametrize("form", ["arrow", "numpy", "pandas"])
def test_align_takes_any_format(topics, form):
    rankings, messages = recorded(lambda: trec_web.align(READ, topics.with_format(form)))
    assert rankings == [READ["8"], READ["7"]]
    assert not messages


WRONG_RUNS = [
    ({7: ["a"]}, TypeError, "with keys that are str, got 7"),
    ({"7": "a"}, TypeError, "`run` must be a mapping query_id -> list of documents, got 'str'; see "
     "query 7"),
    ({"7": {"a": 1.0}}, TypeError, "list of documents, got 'dict'; see query 7"),
    ({"7": {"a"}}, TypeError, "list of documents, got 'set'; see query 7"),
    ({"7": None}, TypeError, "list of documents, got 'NoneType'; see query 7"),
    ({"7": b"a"}, TypeError, "list of documents, got 'bytes'; see query 7"),
    ({"51": ["a"], "52": []}, ValueError, "`run` must rank queries of the dataset, got none of "
     "them in 2 queries, first '51'; the dataset has 2, first '8': is it of another year?"),
    ({}, ValueError, "`run` must rank queries of the dataset, got none of them in 0 queries"),
]  # fmt: skip


@pytest.mark.parametrize(("run", "exception", "message"), WRONG_RUNS)
def test_align_refuses_wrong_runs(topics, run, exception, message):
    with pytest.raises(exception, match=re.escape(message)):
        trec_web.align(run, topics)


def test_align_refuses(topics):
    with pytest.raises(ValueError, match="`dataset` must have a column query_id, got "):
        trec_web.align(READ, topics.remove_columns("query_id"))
    parts = datasets.DatasetDict({"test": topics})
    with pytest.raises(TypeError, match="must be a Dataset, got 'DatasetDict'; take one"):
        trec_web.align(READ, parts)
    with pytest.raises(TypeError, match=r"`dataset` must be a Dataset, got 'list'"):
        trec_web.align(READ, [])
    with pytest.raises(TypeError, match=r"`run` must be a mapping .* read_run\(\) reads a file"):
        trec_web.align("my.run", topics)


# From the command line


@pytest.fixture
def score(tmp_path, monkeypatch):
    if importlib.util.find_spec("ir_datasets") is None:
        pytest.skip("needs ir_datasets: quotediv[trec]")
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "ir_datasets"))
    script = ROOT / "examples" / "score_trec_run.py"

    def run_script(*args):
        command = [sys.executable, script, *args]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True)

    return run_script


@pytest.mark.parametrize("year", ["2009", "2010"])
def test_the_example_prints_the_figures_and_writes_the_topics(shared_data, score, tmp_path, year):
    folder = shared_data / "trec_web"
    expected = json.loads((folder / "expected_ndeval.json").read_text(encoding="utf-8"))[year]
    out = tmp_path / "out.csv"
    files = ("--data-dir", folder, "--per-query", out)
    done = score(folder / f"indri.{year}.run", "--year", year, *files)
    assert done.returncode == 0, done.stderr
    printed = dict(re.findall(r"^(\S+@\d+) +([\d.]+)$", done.stdout, re.MULTILINE))
    assert printed == {key: f"{value:.6f}" for key, value in expected["mean"].items()}
    assert "search_diversity|protocol:standard|" in done.stdout
    with out.open(encoding="utf-8", newline="") as stream:
        rows = {row.pop("query_id"): row for row in csv.DictReader(stream)}
    assert len(rows) == {"2009": 50, "2010": 48}[year]
    for topic, row in rows.items():
        for key, value in expected["topics"][topic].items():
            assert f"{float(row[key]):.6f}" == f"{value:.6f}"


def test_the_example_takes_a_protocol_and_depths(shared_data, score):
    folder = shared_data / "trec_web"
    options = ("--year", "2009", "--data-dir", folder, "--protocol", "recipe", "--k", "3")
    done = score(folder / "indri.2009.run", *options, "--order", "score")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ERR-IA@3 ", done.stdout, re.MULTILINE)
    assert "protocol:recipe" in done.stdout


FIVE = ["ERR-IA@20", "alpha-NDCG@20", "NRBP", "P-IA@20", "S-recall@20"]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (["paper", "MAP-IA"], [*FIVE, "MAP-IA"]),
        (["nNRBP", "P-IA", "S-recall@2"], ["nNRBP", "P-IA@7", "P-IA@3", "S-recall@2"]),
    ],
)
def test_the_example_takes_figures(shared_data, score, search_diversity, tmp_path, asked, names):
    folder, out = shared_data / "trec_web", tmp_path / "out.csv"
    options = ("--year", "2009", "--data-dir", folder, "--k", "3", "7", "--per-query", out)
    done = score(folder / "indri.2009.run", *options, "--figures", *asked)
    assert done.returncode == 0, done.stderr
    topics = trec_web.load("2009", data_dir=folder)
    run = trec_web.read_run(folder / "indri.2009.run")
    call = {"predictions": trec_web.align(run, topics), "references": topics, "per_query": True}
    result, _ = recorded(lambda: search_diversity.compute(**call, figures=names))
    per_query = result.pop("per_query")
    printed = re.findall(r"^(\S+) +(\d\.\d{6})$", done.stdout, re.MULTILINE)
    assert printed == [(name, f"{result[name]:.6f}") for name in names]
    with out.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [name for name in rows[0] if "Judged" not in name] == ["query_id", *names]
    for name in names:
        assert [float(row[name]) for row in rows] == per_query[name]


def test_the_example_takes_types_of_topics(shared_data, score, search_diversity, tmp_path):
    folder, out = shared_data / "trec_web", tmp_path / "out.csv"
    options = ("--year", "2009", "--data-dir", folder, "--figures", "ERR-IA@20", "NRBP")
    done = score(folder / "indri.2009.run", *options, "--by", "type", "--per-query", out)
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()[-5:-1]
    topics = trec_web.load("2009", data_dir=folder)
    run = trec_web.read_run(folder / "indri.2009.run")
    parts = {"all": topics}
    for kind in ("ambiguous", "faceted"):
        rows = [i for i, found in enumerate(topics["type"]) if found == kind]
        parts[kind] = topics.select(rows)
    figures = {}
    for kind, part in parts.items():
        predictions, _ = recorded(lambda part=part: trec_web.align(run, part))
        call = {"predictions": predictions, "references": part}
        result, _ = recorded(
            lambda call=call: search_diversity.compute(**call, figures=("ERR-IA@20", "NRBP"))
        )
        figures[kind] = {name: f"{value:.6f}" for name, value in result.items()}
        parts[kind] = result
    assert head.split() == ["all", "ambiguous", "faceted", "macro"]
    for name, line in zip(("ERR-IA@20", "NRBP"), lines, strict=False):
        macro = (parts["ambiguous"][name] + parts["faceted"][name]) / 2
        assert line.split() == [name, *(figures[kind][name] for kind in parts), f"{macro:.6f}"]
    assert lines[2].split() == ["n", "50", "12", "38"]
    with out.open(encoding="utf-8", newline="") as stream:
        assert [row["groups"] for row in csv.DictReader(stream)] == topics["type"][:]


def test_the_example_refuses_an_unknown_figure_in_one_line(shared_data, score):
    folder = shared_data / "trec_web"
    options = ("--year", "2009", "--data-dir", folder, "--figures", "paper", "P-AI@20")
    done = score(folder / "indri.2009.run", *options)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "score_trec_run.py: error: `figures` must be among alpha-NDCG@k, ERR-IA@k, S-recall@k, "
        "alpha-DCG@k, nERR-IA@k, NRBP, nNRBP, MAP-IA, P-IA@k, got 'P-AI@20'; did you mean P-IA@k?"
    )
    assert "Traceback" not in done.stderr


def test_the_example_refuses_a_run_of_another_year(shared_data, score):
    folder = shared_data / "trec_web"
    done = score(folder / "indri.2009.run", "--year", "2010", "--data-dir", folder)
    assert done.returncode == 2
    assert "is it of another year?" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_example_says_what_is_wrong_in_one_line(score, tmp_path):
    done = score(tmp_path / "none.run", "--year", "2009", "--data-dir", tmp_path)
    assert done.returncode == 2
    assert "none.run does not exist" in done.stderr
    assert "Traceback" not in done.stderr
