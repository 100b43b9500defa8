# SPDX-License-Identifier: Apache-2.0
"""Both metrics as a user meets them: loading, copies, processes, memory, documentation."""

import ast
import copy
import doctest
import inspect
import json
import pickle
import shutil
import sys
import tokenize
from pathlib import Path

import pytest
from reference import diversity_figures, quoter_figures
from support import (
    METRICS,
    ROOT,
    TOY,
    TOY_RANKING,
    finish,
    load,
    modules,
    run_python,
    start_python,
)

ROWS = {
    "quoter_rank": {"predictions": [[0.5, 0.25, 0.5], [1.0, 3.0]], "references": [0, 1]},
    "search_diversity": {
        "predictions": [TOY_RANKING, ["q", "p"]],
        "references": [TOY, {"p": ["7"], "q": []}],
    },
}
EXPECTED = {
    "quoter_rank": quoter_figures([(1, 2), (1, 1)]),
    "search_diversity": diversity_figures(*ROWS["search_diversity"].values()),
}
both = pytest.mark.parametrize("name", METRICS)
every = pytest.mark.parametrize("name", [*METRICS, "paired_significance"])


def close(result, name):
    assert result == pytest.approx(EXPECTED[name], rel=0, abs=1e-12)


def split(rows):
    """The rows one query at a time."""
    return zip(rows["predictions"], rows["references"], strict=True)


ALONE = """
import json, socket, sys
def refuse(*args, **kwargs):
    raise AssertionError("the network was touched")
socket.socket.connect = socket.socket.connect_ex = refuse
socket.create_connection = socket.getaddrinfo = refuse
sys.modules["quotediv"] = None
import evaluate
metric = evaluate.load(sys.argv[1])
result = metric.compute(**json.loads(sys.argv[2]))
print(json.dumps([result, metric.signature]))
"""


@both
def test_a_folder_alone_in_an_isolated_interpreter(tmp_path, name):
    folder = tmp_path / "alone" / name
    shutil.copytree(ROOT / "metrics" / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    home = tmp_path / "home"
    home.mkdir()
    out = run_python(ALONE, home, folder, json.dumps(ROWS[name]), isolated=True)
    result, signature = json.loads(out.splitlines()[-1])
    close(result, name)
    assert signature.startswith(f"{name}|")


@both
@pytest.mark.parametrize("keep_in_memory", [True, False])
def test_keep_in_memory(tmp_path, name, keep_in_memory):
    cache = {} if keep_in_memory else {"cache_dir": str(tmp_path)}
    metric = load(name, keep_in_memory=keep_in_memory, **cache)
    for _ in range(2):
        metric.add_batch(**ROWS[name])
        close(metric.compute(), name)
        close(metric.compute(**ROWS[name]), name)


@both
@pytest.mark.parametrize("route", ["compute", "add_batch", "add"])
def test_combine(name, route):
    evaluate = pytest.importorskip("evaluate")
    combined = evaluate.combine([load(name), load(name)])
    if route == "compute":
        result = combined.compute(**ROWS[name])
    else:
        if route == "add_batch":
            combined.add_batch(**ROWS[name])
        else:
            for prediction, reference in split(ROWS[name]):
                combined.add(prediction=prediction, reference=reference)
        result = combined.compute()
    assert len(result) == 2 * len(EXPECTED[name])
    for i in range(2):
        close({key: result[f"{name}_{i}_{key}"] for key in EXPECTED[name]}, name)


@both
@pytest.mark.parametrize(
    "duplicate",
    [lambda metric: pickle.loads(pickle.dumps(metric)), copy.deepcopy],
    ids=["pickle", "deepcopy"],
)
def test_copies_of_a_fresh_metric(name, duplicate):
    original = load(name)
    made = duplicate(original)
    made.add_batch(**ROWS[name])
    assert len(original) == 0
    close(made.compute(), name)
    close(original.compute(**ROWS[name]), name)


@both
def test_two_instances_keep_their_rows_apart(name):
    first, second = load(name), load(name)
    first.add_batch(**ROWS[name])
    second.add_batch(**ROWS[name])
    second.add_batch(**ROWS[name])
    assert (len(first), len(second)) == (2, 4)
    close(first.compute(), name)


@both
def test_compute_twice(name):
    metric = load(name)
    close(metric.compute(**ROWS[name]), name)
    with pytest.raises(ValueError, match="predictions"):
        metric.compute()
    close(metric.compute(**ROWS[name]), name)


@both
def test_added_rows_and_given_rows_count_together(name):
    metric = load(name)
    (first, second) = split(ROWS[name])
    metric.add(prediction=first[0], reference=first[1])
    close(metric.compute(predictions=[second[0]], references=[second[1]]), name)


def test_a_refused_compute_then_the_right_one(quoter_rank):
    rows = {"predictions": [["a", "b"], ["c"]], "references": ["b", "z"]}
    for wrong in ({}, {"missing": "skip"}, {"missing": "zero", "ndcg_k": 0}):
        with pytest.raises(ValueError):
            quoter_rank.compute(**rows, **wrong)
    result = quoter_rank.compute(**rows, missing="zero")
    assert (result["MRR"], result["missing"]) == (1 / 4, 1)


PROCESS = """
import json, pickle, sys
import evaluate
path, home, rank, route, rows = sys.argv[1:]
metric = evaluate.load(
    path, num_process=2, process_id=int(rank), experiment_id="shares", cache_dir=home
)
rows = json.loads(rows)
given = rows.pop() if route == "given" else {}
for batch in rows:
    metric.add_batch(**batch)
result = metric.compute(**given, per_query=True)
pickle.loads(pickle.dumps(metric))  # nothing of the round is left open
print(json.dumps(result))
"""


def batches(rows, start, sizes):
    """Batches of the given sizes from query `start` on."""
    made = []
    for size in sizes:
        made.append({name: values[start : start + size] for name, values in rows.items()})
        start += size
    return made


@both
@pytest.mark.parametrize("route", ["added", "given"])
@pytest.mark.parametrize("shares", [((1, 5), (3,)), ((2,), (3, 4))], ids=["6 and 3", "2 and 7"])
def test_two_processes(tmp_path, name, route, shares):
    rows = {key: (values * 5)[:9] for key, values in ROWS[name].items()}
    parts = [batches(rows, 0, shares[0]), batches(rows, sum(shares[0]), shares[1])]
    folder = ROOT / "metrics" / name
    processes = [
        start_python(PROCESS, tmp_path, folder, tmp_path / "rows", rank, route, json.dumps(part))
        for rank, part in enumerate(parts)
    ]
    first, second = (json.loads(finish(process).splitlines()[-1]) for process in processes)
    assert second is None
    assert first == load(name).compute(**rows, per_query=True)


LARGE = """
import json, sys
import numpy as np
import evaluate

def peak():
    try:
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except FileNotFoundError:
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # bytes on macOS

metric = evaluate.load(sys.argv[1], keep_in_memory=sys.argv[2] == "True")
metric.compute(predictions=[[0.5, 0.25]], references=[0])
n, c = 12771, 6108
rng = np.random.default_rng(0)
scores = np.empty((n, c), np.float32)
for row in scores:
    rng.random(out=row, dtype=np.float32)
gold = rng.integers(0, c, n)
before = peak()
result = metric.compute(predictions=scores, references=gold)
after = peak()
ranks = [1 + int((row > row[g]).sum()) for row, g in zip(scores, gold)]
ties = [int((row == row[g]).sum()) for row, g in zip(scores, gold)]
mean_rank = float(np.mean([r + (t - 1) / 2 for r, t in zip(ranks, ties)]))
print(json.dumps([after - before, result["MeanRank"], mean_rank]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read as Linux or macOS give it")
@pytest.mark.parametrize("keep_in_memory", [True, False])
def test_memory_of_the_full_english_shape(tmp_path, keep_in_memory):
    """12,771 x 6,108 scores are 312 MB; reducing them to ranks takes less than a tenth more."""
    out = run_python(LARGE, tmp_path, ROOT / "metrics" / "quoter_rank", keep_in_memory)
    added_kb, found, expected = json.loads(out.splitlines()[-1])
    assert found == pytest.approx(expected, rel=1e-12)
    assert added_kb < 32 * 1024


@both
def test_doctests(monkeypatch, name):
    """The examples load the metric by whatever path they print."""
    evaluate = pytest.importorskip("evaluate")
    real, inputs_description = evaluate.load, load(name).inputs_description

    def load_here(path, *args, **kwargs):
        return real(str(ROOT / "metrics" / Path(path).name), *args, **kwargs)

    monkeypatch.setattr(evaluate, "load", load_here)
    test = doctest.DocTestParser().get_doctest(inputs_description, {}, name, None, 0)
    report = []
    results = doctest.DocTestRunner().run(test, out=report.append)
    assert results.failed == 0, "".join(report)
    assert len([e for e in test.examples if "compute(" in e.source]) >= 3


TAUGHT = {
    "quoter_rank": ["scores", "ranking", "ranks", "predictions", "references", "tied"],
    "search_diversity": ["ids", "positions", "scores", "mapping", "doc_ids", "subtopics", "-100"],
}
OPTIONS = {
    "quoter_rank": ["protocol", "ties", "missing", "ndcg_k", "recall_k", "per_query"],
    "search_diversity": ["protocol", "alpha", "k", "per_query"],
}


@both
def test_the_printed_metric_teaches_its_inputs(name):
    metric = load(name)
    for word in TAUGHT[name] + OPTIONS[name] + list(EXPECTED[name]):
        assert word in repr(metric), word
        assert word in metric.compute.__doc__, word


@every
def test_citation_and_description(name):
    metric = load(name)
    assert "@" in metric.citation
    assert metric.description.strip()
    assert metric.features


def sources(name):
    return [ROOT / "metrics" / name / file for file in modules(name)]


@every
def test_the_script_imports_every_file_of_its_folder(name):
    """evaluate copies no other: a file that only another one imports would be missing."""
    folder = ROOT / "metrics" / name
    assert set(modules(name)) == {path.name for path in folder.glob("*.py")} - {"__init__.py"}


@both
def test_scoring_imports_numpy_only(name):
    tree = ast.parse((ROOT / "metrics" / name / "scoring.py").read_text(encoding="utf-8"))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add("." if node.level else node.module.split(".")[0])
    assert imported - set(sys.stdlib_module_names) == {"numpy"}


@every
def test_no_hash_sign_inside_a_string(name):
    """evaluate's hash of the code stops at a hash sign: an edit after it would not be seen."""
    checked = 0
    for path in sources(name):
        with tokenize.open(path) as lines:
            for token in tokenize.generate_tokens(lines.readline):
                kind = tokenize.tok_name[token.type]
                if kind == "STRING" or kind.startswith("FSTRING"):
                    checked += 1
                    assert "#" not in token.string, f"{path.name}:{token.start[0]}"
    assert checked > 0


@both
def test_one_metric_class_in_the_namespace(name):
    """evaluate takes the first class that is not abstract, and so passes over the imported base."""
    evaluate = pytest.importorskip("evaluate")
    namespace = vars(sys.modules[type(load(name)).__module__])
    classes = [
        value
        for value in namespace.values()
        if isinstance(value, type)
        and issubclass(value, evaluate.EvaluationModule)
        and not inspect.isabstract(value)
    ]
    assert classes == [type(load(name))]


@every
def test_overrides_have_docstrings(name):
    for method in ("add", "add_batch", "compute"):
        assert getattr(type(load(name)), method).__doc__.strip()


NOTHING = """
import sys
import evaluate
path, process, home = sys.argv[1], int(sys.argv[2]), sys.argv[3]
metric = evaluate.load(path, num_process=2, process_id=process, cache_dir=home)
try:
    print(metric.compute())
except ValueError as error:
    print(error)
"""


@both
def test_two_processes_without_rows(name, tmp_path):
    args = (ROOT / "metrics" / name, tmp_path / "cache")
    workers = [start_python(NOTHING, tmp_path, args[0], i, args[1]) for i in range(2)]
    first, second = (finish(worker).strip() for worker in workers)
    assert first == "`predictions` must have at least one query, got 0"
    assert second == "None"


ROUNDS = """
import json, sys
import evaluate
path, process, home = sys.argv[1], int(sys.argv[2]), sys.argv[3]
metric = evaluate.load(path, num_process=2, process_id=process, cache_dir=home)
for shift in range(20):
    rows = [["a", "b"]] * (shift + process)
    if "quoter" in path:
        metric.add_batch(predictions=rows, references=["b"] * len(rows))
    else:
        metric.add_batch(predictions=rows, references=[{"a": ["1"]}] * len(rows))
    metric.compute()
    if not process:
        print(metric.signature)
"""


@both
def test_two_processes_many_rounds_without_a_barrier(name, tmp_path):
    """No process runs ahead and overwrites rows that are still to be read."""
    args = (ROOT / "metrics" / name, tmp_path / "cache")
    workers = [start_python(ROUNDS, tmp_path, args[0], i, args[1]) for i in range(2)]
    first, _ = (finish(worker) for worker in workers)
    counts = [int(part[2:]) for part in first.replace("\n", "|").split("|") if part[:2] == "n:"]
    assert counts == [2 * shift + 1 for shift in range(20)]
