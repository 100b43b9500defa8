# SPDX-License-Identifier: Apache-2.0
"""examples/compare_systems.py: the table of a paper, from runs and rankings to text."""

import importlib.util
import json
import re
import runpy
import warnings

import pytest
from support import ROOT, load

pytest.importorskip("scipy.stats", reason="intervals need scipy")
YEARS = {"2009": 1, "2010": 51, "2011": 101, "2012": 151}
UNJUDGED = {95, 100}
TOPIC = (
    '<topic number="{0}" type="faceted"><query>q {0}</query><description>d</description></topic>'
)


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(ROOT / "examples" / "compare_systems.py"))


@pytest.fixture
def printed(example, capsys):
    """What the example prints for a command line; its warnings are notes among it."""

    def run(*args):
        with warnings.catch_warnings():
            example["main"]([str(arg) for arg in args])
        return capsys.readouterr().out

    return run


@pytest.fixture(scope="module")
def trec(tmp_path_factory):
    """Files as NIST's for all four years, and two runs over their 198 topics."""
    if importlib.util.find_spec("ir_datasets") is None:
        pytest.skip("needs ir_datasets: quotediv[trec]")
    folder = tmp_path_factory.mktemp("trec")
    runs = {"good": "", "poor": ""}
    for year, first in YEARS.items():
        topics = "".join(TOPIC.format(number) for number in range(first, first + 50))
        xml = f'<?xml version="1.0"?><webtrack>{topics}</webtrack>'
        (folder / f"{year}.topics.full.xml").write_text(xml, encoding="utf-8")
        qrels = ""
        for number in {*range(first, first + 50)} - UNJUDGED:
            for doc in range(4):
                qrels += f"{number} {doc % 3 + 1} d{doc} {int(doc < 1 + number % 4)}\n"
            good, poor = "d0 d1 d2 d3", "d3 d0 d1 d2" if number % 5 else "d0 d3 d2 d1"
            for name, docs in (("good", good), ("poor", poor)):
                for rank, doc in enumerate(docs.split(), 1):
                    runs[name] += f"{number} Q0 {doc} {rank} {-rank} t\n"
        (folder / f"{year}.qrels.diversity").write_text(qrels, encoding="utf-8")
    for name, text in runs.items():
        (folder / f"{name}.run").write_text(text, encoding="utf-8")
    return folder


def test_folds_put_all_198_topics_together_once(printed, trec):
    runs = [trec / "good.run", trec / "poor.run"]
    whole = printed(*runs, "--data-dir", trec, "--pairs")
    assert "198 queries" in whole
    for folds in (2, 5):
        out = printed(*runs, "--data-dir", trec, "--pairs", "--folds", folds)
        first, _, rest = out.partition("\nalpha-NDCG@10 by fold\n")
        by_fold, _, pairs = rest.partition("\n\n")
        assert first + "\n" + pairs == whole
        head, good, poor = by_fold.splitlines()
        assert sum(map(int, re.findall(r"\((\d+)\)", head))) == 198
        assert len(good.split()) == len(poor.split()) == folds + 2


def test_figures_intervals_and_letters(printed, example, trec, search_diversity):
    out = printed(f"A={trec / 'good.run'}", trec / "poor.run", "--year", 2010, "--data-dir", trec)
    head, good, poor = [line for line in out.splitlines() if not line.startswith("note: ")][:3]
    assert head.split() == ["system", *example["KEYS"]]
    topics = example["trec_web"].load(2010, data_dir=trec)
    run = example["trec_web"].read_run(trec / "good.run")
    predictions = [run[query] for query in topics["query_id"]]
    result = search_diversity.compute(
        predictions=predictions, references=topics, k=10, confidence_level=0.95
    )
    for key in example["KEYS"][:2]:
        low, high = result["confidence_interval"][key]
        assert f"{result[key]:.4f} b [{low:.4f}, {high:.4f}]" in good
    assert good.startswith("A (a)")
    assert re.match(r"poor \(b\) +0\.\d{4} \[", poor)
    assert "permutation test, correction holm over 1 pair a figure" in out


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("markdown", r"^\| poor \| 0\.\d{4}<sup>\\\*\\\*\\\*</sup> \[0\.\d{4}, 0\.\d{4}\] \|"),
        ("latex", r"^poor & 0\.\d{4}\$\^\{\*\*\*\}\$ \[0\.\d{4}, 0\.\d{4}\] & "),
        ("text", r"^poor +0\.\d{4} \*\*\* \[0\.\d{4}, 0\.\d{4}\] "),
    ],
)
def test_forms_with_stars(printed, trec, style, expected):
    runs = [trec / "good.run", trec / "poor.run", "--data-dir", trec]
    out = printed(*runs, "--format", style, "--marks", "stars")
    assert re.search(expected, out, re.MULTILINE)


@pytest.mark.parametrize(
    ("style", "name", "cell"),
    [
        ("markdown", r"*a*_b_|<i>&c\`$d", r"| \*a\*\_b\_\|\<i\>\&c\\\`\$d \(a\) |"),
        ("latex", "[a]", "{[}a] (a) &"),
        ("latex", "*a", "{*}a (a) &"),
    ],
)
def test_names_mean_nothing_in_the_form(printed, trec, style, name, cell):
    runs = [f"{name}={trec / 'poor.run'}", trec / "good.run", "--year", 2010, "--data-dir", trec]
    out = printed(*runs, "--format", style)
    assert any(line.startswith(cell.replace(r"\(a\)", "(a)")) for line in out.splitlines())


def test_a_negative_number_in_latex(printed, trec):
    runs = [trec / "poor.run", trec / "good.run", "--year", 2010, "--data-dir", trec]
    assert re.search(
        r"^poor - good & \$-\$0\.\d{4} \[\$-\$0",
        printed(*runs, "--pairs", "--format", "latex"),
        re.M,
    )


def test_markdown_outside_of_the_tables(printed, trec):
    runs = [trec / "good.run", trec / "poor.run", "--data-dir", trec]
    options = ["--format", "markdown", "--marks", "stars", "--pairs", "--folds", 2]
    lines = printed(*runs, *options).splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        assert not line.startswith("|") or before == "" or before.startswith("|")
    caption = next(line for line in lines if line.startswith("198 queries"))
    assert r"\* \< .05, \*\* \< .01" in caption
    assert r"search\_diversity\|protocol" in caption


def test_without_a_correction(printed, trec):
    runs = [trec / "good.run", trec / "poor.run", "--year", 2010, "--data-dir", trec]
    out = printed(*runs, "--pairs", "--correction", "none")
    assert "better than these systems, p < 0.05; permutation test, not corrected;" in out
    head = next(line for line in out.splitlines() if line.startswith("pair"))
    assert re.split(" {2,}", head) == [
        "pair",
        "difference",
        "p",
        "wins, ties, losses",
        "effect size",
    ]


def test_a_fold_of_which_a_run_has_nothing(printed, trec):
    run = trec / "one.run"
    run.write_text("7 Q0 d0 1 1 t\n", encoding="utf-8")
    out = printed(run, trec / "good.run", "--data-dir", trec, "--folds", 5)
    by_fold = out.partition("by fold\n")[2].splitlines()
    assert by_fold[1].split().count("0.0000") == 4


FIVE = ["ERR-IA@20", "alpha-NDCG@20", "NRBP", "P-IA@20", "S-recall@20"]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (["paper"], FIVE),
        (["MAP-IA", "paper", "NRBP"], ["MAP-IA", *FIVE]),
        (["P-IA", "nNRBP", "S-recall@2"], ["P-IA@10", "nNRBP", "S-recall@2"]),
    ],
)
def test_figures_by_name(printed, example, trec, search_diversity, asked, names):
    files = [f"A={trec / 'good.run'}", f"B={trec / 'poor.run'}", "--year", 2010]
    out = printed(*files, "--data-dir", trec, "--figures", *asked)
    head, *rows = [re.split(" {2,}", line) for line in out.splitlines()[:3]]
    assert head == ["system", *names]
    topics = example["trec_web"].load(2010, data_dir=trec)
    for run, row in zip(("good", "poor"), rows, strict=True):
        ranked = example["trec_web"].read_run(trec / f"{run}.run")
        result = search_diversity.compute(
            predictions=[ranked[query] for query in topics["query_id"]],
            references=topics,
            figures=names,
            confidence_level=0.95,
        )
        for name, cell in zip(names, row[1:], strict=True):
            low, high = result["confidence_interval"][name]
            assert cell.replace(" b [", " [") == f"{result[name]:.4f} [{low:.4f}, {high:.4f}]"
    assert ("|beta:0.5|" in out) == any("NRBP" in name for name in names)


def test_the_default_figures_are_unchanged(printed, example, trec):
    files = [trec / "good.run", trec / "poor.run", "--year", 2010, "--data-dir", trec]
    assert printed(*files) == printed(*files, "--figures", *example["KEYS"])
    assert example["KEYS"] == ("alpha-NDCG@10", "ERR-IA@10", "S-recall@10")


@pytest.mark.parametrize(
    ("style", "kind", "mark"),
    [
        ("text", "letters", " b"),
        ("text", "stars", " ***"),
        ("markdown", "letters", "<sup>b</sup>"),
        ("markdown", "stars", r"<sup>\*\*\*</sup>"),
        ("latex", "letters", "$^{b}$"),
        ("latex", "stars", "$^{***}$"),
    ],
)
def test_figures_in_every_form_with_folds_and_pairs(printed, trec, tmp_path, style, kind, mark):
    pytest.importorskip("matplotlib", reason="the picture needs matplotlib")
    files = [trec / "good.run", trec / "poor.run", "--data-dir", trec]
    picture = tmp_path / "plot.png"
    options = ["--format", style, "--marks", kind, "--folds", 2, "--pairs", "--plot", picture]
    for asked in (["NRBP"], ["P-IA@1", "alpha-DCG@3", "nERR-IA@10", "MAP-IA"]):
        lines = printed(*files, *options, "--figures", *asked).splitlines()
        words = [[word for word in line.split() if word not in "|&\\\\"] for line in lines]
        assert words.count(["system", *asked]) == 1
        named = "good (a)" if kind == "letters" else "poor"
        row = next(line for line in lines if line.removeprefix("| ").startswith(named))
        assert len(re.findall(rf"\d\.\d{{4}}{re.escape(mark)} \[", row)) == len(asked)
        titles = [line.removeprefix("% ") for line in lines]
        assert [title for title in titles if title in asked] == asked
        assert [title for title in titles if "by fold" in title] == [f"{asked[0]} by fold"]
        assert picture.read_bytes().startswith(b"\x89PNG")
        picture.unlink()


def test_the_better_of_two_is_the_lower_where_lower_is_better(example):
    row = {"system1": "A", "system2": "B", "difference": 0.5, "p_corrected": 0.001}
    assert example["marks"](["A", "B"], [row], "letters", True) == {"A": "b", "B": ""}
    assert example["marks"](["A", "B"], [row], "letters", False) == {"A": "", "B": "a"}


def test_the_metric_tells_which_direction_is_better(example, trec, capsys, monkeypatch):
    """No figure of the metric is better when lower; where one is said to be, letters turn."""
    main = example["main"]
    load_as_is = example["evaluate"].load

    def loaded(path, *args, **kwargs):
        metric = load_as_is(path, *args, **kwargs)
        if not path.endswith("search_diversity"):
            return metric
        figures = metric.FIGURES
        turned = {"MAP-IA": figures["MAP-IA"]._replace(greater_is_better=False)}
        monkeypatch.setattr(type(metric), "FIGURES", {**figures, **turned})
        return metric

    monkeypatch.setattr(example["evaluate"], "load", loaded)
    files = [f"A={trec / 'good.run'}", f"B={trec / 'poor.run'}", "--year", "2010"]
    options = ["--data-dir", str(trec), "--figures", "NRBP", "MAP-IA", "--pairs"]
    with warnings.catch_warnings():
        main([*files, *options])
    out = capsys.readouterr().out
    head, good, poor = [re.split(" {2,}", line) for line in out.splitlines()[:3]]
    assert head == ["system", "NRBP", "MAP-IA"]
    assert (" b [" in good[1], " b [" in good[2]) == (True, False)
    assert (" a [" in poor[1], " a [" in poor[2]) == (False, True)
    nrbp, map_ia = [line.split("  ") for line in out.splitlines() if line.startswith("A - B")]
    wins = [re.search(r"(\d+), \d+, (\d+)", "  ".join(row)).groups() for row in (nrbp, map_ia)]
    assert wins[0][0] > wins[0][1] == "0"
    assert wins[1][0] == "0" < wins[1][1]


def test_a_picture_with_any_name(printed, trec, tmp_path):
    pytest.importorskip("matplotlib", reason="the picture needs matplotlib")
    runs = [f"$x^${{={trec / 'poor.run'}", trec / "good.run", "--year", 2010, "--data-dir", trec]
    printed(*runs, "--plot", tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_latex_is_one_table(printed, trec):
    runs = [f"a_b={trec / 'good.run'}", f"c&d\\^={trec / 'poor.run'}"]
    options = ["--format", "latex", "--marks", "stars", "--pairs", "--folds", "2"]
    lines = printed(*runs, "--data-dir", trec, *options).splitlines()
    outside, inside = [], False
    for line in lines:
        inside |= line.startswith(r"\begin{tabular}")
        outside += [] if inside else [line]
        inside &= line != r"\end{tabular}"
    assert all(line == "" or line.startswith("% ") for line in outside)
    assert sum(line == r"\end{tabular}" for line in lines) == 5
    assert lines[0] == r"\begin{tabular}{lccc}"
    assert [line.split(" & ")[0] for line in lines[4:6]] == [
        r"a\_b",
        r"c\&d\textbackslash{}\textasciicircum{}",
    ]
    assert lines[7] == r"\end{tabular}"


def test_three_orders_of_du_div(printed, shared_data, du_div, tmp_path):
    orders = {
        "file": list,
        "reversed": lambda docs: list(docs)[::-1],
        "most": lambda docs: sorted(docs, key=lambda doc: -len(docs[doc])),
    }
    for name, order in orders.items():
        rankings = {query: order(docs) for query, docs in du_div.items()}
        if name == "most":
            rankings = {query: {"permutation": docs} for query, docs in rankings.items()}
        (tmp_path / f"{name}.json").write_text(json.dumps(rankings), encoding="utf-8")
    files = [tmp_path / f"{name}.json" for name in orders]
    labels = shared_data / "du_div" / "query_doc_subtopics_doc15_2.json"
    picture = tmp_path / "plot.png"
    pytest.importorskip("matplotlib", reason="the picture needs matplotlib")
    out = printed(*files, "--du-div", labels, "--correction", "tukey", "--plot", picture)
    assert "895 queries" in out
    assert "correction tukey over 3 pairs a figure" in out
    row = next(line for line in out.splitlines() if line.startswith("most (c)"))
    assert re.match(r"most \(c\) +0\.9\d{3} ab \[", row)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_real_runs(printed, shared_data, tmp_path):
    if importlib.util.find_spec("ir_datasets") is None:
        pytest.skip("needs ir_datasets: quotediv[trec]")
    folder = shared_data / "trec_web"
    expected = json.loads((folder / "expected_ndeval.json").read_text(encoding="utf-8"))
    for year in ("2009", "2010"):
        run = folder / f"indri.{year}.run"
        lines = [line.split() for line in run.read_text(encoding="utf-8").splitlines()]
        worse = tmp_path / f"worse.{year}.run"
        worse.write_text("".join(f"{t} Q0 {d} {-int(r)} {r} w\n" for t, _, d, r, *_ in lines))
        out = printed(f"indri={run}", f"w={worse}", "--year", year, "--data-dir", folder)
        row = next(line for line in out.splitlines() if line.startswith("indri (a)"))
        assert row.split()[2] == f"{expected[year]['mean']['alpha-NDCG@10']:.4f}"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a.run"], "give 2 to 26 systems, got 1"),
        (["a.run", "b.run"], "no such file: a.run"),
        (["=a.run", "b.run"], "the name of a system must be printable, got ''"),
        (["a\nb=a.run", "b.run"], "the name of a system must be printable, got 'a\\nb'"),
        (
            ["a", "b", "--test", "t", "--correction", "tukey"],
            "--correction tukey is a permutation test of its own, got t",
        ),
        (["a", "b", "--plot", "{0}/none/plot.png"], "no such folder: {0}/none"),
        (["{0}/good.run", "{0}/one_year.run"], "{0}/one_year.run: `run` must rank queries of"),
        (["{0}/good.run", "{0}/odd.run"], "(--order rank, --order score)"),
        (["{0}/good.run", "{0}/latin.run"], "{0}/latin.run"),
        (["x/a.run", "y/a.run"], "two systems are called a: name them, NAME=y/a.run"),
        (["a.run", "b.run", "--data-dir", "{0}"], "a.run"),
        (["a", "b", "--du-div", "x", "--folds", "2"], "--du-div takes no --year, --data-dir, "),
        (["a", "b", "--folds", "1"], "--folds must be 2 or more, got 1"),
        (
            ["a", "b", "--figures", "paper", "ERR-AI@20"],
            "error: `figures` must be among alpha-NDCG@k, ERR-IA@k, S-recall@k, alpha-DCG@k, "
            "nERR-IA@k, NRBP, nNRBP, MAP-IA, P-IA@k, got 'ERR-AI@20'; did you mean ERR-IA@k?\n",
        ),
        (["a", "b", "--figures", "NRBP@20"], "got 'NRBP@20'; NRBP has no depth\n"),
        (
            ["a", "b", "--figures", "paper", "--protocol", "recipe"],
            "error: `figures` must be figures that protocol 'recipe' defines: alpha-NDCG@k, ",
        ),
    ],
)
def test_refusals(example, trec, capsys, args, message):
    (trec / "one_year.run").write_text("7 Q0 d0 1 1 t\n", encoding="utf-8")
    (trec / "odd.run").write_text("51 Q0 d0 1 1 t\n51 Q0 d1 2 3 t\n", encoding="utf-8")
    (trec / "latin.run").write_bytes(b"51 Q0 d\xe9 1 1 t\n")
    if args[0].startswith("{0}"):
        args = [*args, "--year", "2010", "--data-dir", "{0}"]
    with warnings.catch_warnings(), pytest.raises(SystemExit):
        example["main"]([arg.format(trec) for arg in args])
    assert message.format(trec) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("no json", "Expecting value: line 1 column 1 (char 0)"),
        ("[1]", "a list"),
        ('{"7": {"x": 1}}', "no list for query 7"),
        ('{"7": ["x"], "8": [], "7": []}', "'7' twice"),
    ],
)
def test_rankings_that_are_none(example, shared_data, tmp_path, capsys, text, got):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    labels = shared_data / "du_div" / "query_doc_subtopics_doc15_2.json"
    files = [str(tmp_path / "a.json"), f"b={tmp_path / 'a.json'}"]
    with warnings.catch_warnings(), pytest.raises(SystemExit):
        example["main"]([*files, "--du-div", str(labels)])
    expected = f"{tmp_path / 'a.json'}: expected JSON, {{query: [document, ...]}}, got {got}\n"
    assert capsys.readouterr().err.endswith(expected)


def test_notes_name_their_system(example, trec, capsys):
    run = trec / "lr=0.1.run"
    run.write_text("1 Q0 d0 1 1 t\n1 Q0 zz 2 0 t\n", encoding="utf-8")
    example["main"]([str(run), f"b={trec / 'good.run'}", "--year", "2009", "--data-dir", str(trec)])
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("lr=0.1 (a)")
    assert "lr=0.1: 50% of the documents within rank 10 are judged" in err
    assert "b: the run has 148 queries that the dataset lacks" in err


def test_a_query_is_scored_once(example, trec):
    topics = example["trec_web"].load(2009, data_dir=trec)
    run = example["trec_web"].read_run(trec / "good.run")
    for parts in ([topics, topics], [topics.select(range(49))]):
        with pytest.raises(ValueError, match="the parts must have each query once"):
            example["score"](load("search_diversity"), run, topics, parts, "standard")


def test_the_mean_is_not_that_of_the_folds(example, trec):
    """48 topics in 5 folds of 9 or 10; each is scored by itself, and counts once."""
    whole = example["trec_web"].load(2010, data_dir=trec)
    folds = [(fold, 5) for fold in range(5)]
    parts = [example["trec_web"].load(2010, data_dir=trec, fold=fold)["test"] for fold in folds]
    assert {len(part) for part in parts} == {9, 10}
    run = example["trec_web"].read_run(trec / "poor.run")
    metric = load("search_diversity")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run has topics of other years
        scores = example["score"](metric, run, whole, parts, "standard")
    for key, values in scores.by_query.items():
        assert list(values) == list(whole["query_id"])
        assert sum(values.values()) / 48 == pytest.approx(scores.means[key], abs=1e-12)
