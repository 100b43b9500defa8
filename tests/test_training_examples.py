# SPDX-License-Identifier: Apache-2.0
"""The examples that train and distribute, on the sample, as a user starts them."""

import json
import os
import re
import runpy
import subprocess
import sys

import pytest
from support import ROOT, offline_environment

FIGURES = re.compile(r"(\S.*?)\s{2,}(\d[\d.]*(?:\s{2,}\d[\d.]*)+)$")


def run(script, home, *arguments):
    """What the example prints, and {first cell: figures} of its table."""
    environment = {**os.environ, **offline_environment(home), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / script), *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=home,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    matches = map(FIGURES.match, done.stdout.splitlines())
    rows = {m[1]: [float(cell) for cell in m[2].split()] for m in matches if m}
    return done.stdout, rows


@pytest.fixture
def training():
    for module in ("torch", "transformers", "accelerate"):
        pytest.importorskip(module, reason=f"training needs {module}")


def test_quote_ranker_beats_the_frequency_baseline(training, tmp_path):
    out, rows = run("train_quote_ranker.py", tmp_path, "--output", tmp_path / "run")
    assert rows["dual encoder, trained"][0] > rows["training frequency"][0] + 0.03
    assert "quoter_rank|protocol:standard|ties:expected|missing:error|n:13|" in out
    assert list((tmp_path / "run").glob("checkpoint-*"))


GROUP = re.compile(r"^epoch +(\S+)  validation, (\w+): (\w+) (\d+\.\d{4})$", re.MULTILINE)


@pytest.mark.parametrize(
    ("key", "group", "best"), [("MRR", "frequent", max), ("MeanRank", "rare", min)]
)
def test_quote_ranker_is_selected_on_one_of_two_groups(training, tmp_path, key, group, best):
    folder = tmp_path / "run"
    out, _ = run(
        *("train_quote_ranker.py", tmp_path, "--output", folder),
        *("--metric", key, "--group", group, "--epochs", 2),
    )
    assert "validation queries: 9 rare, 4 frequent (rare: at most 1 training lines" in out
    printed = GROUP.findall(out)
    assert [found for _, found, _, _ in printed] == ["rare", "frequent"] * 3
    assert {found for _, _, found, _ in printed} == {key}
    values = [float(value) for _, found, _, value in printed if found == group]
    checkpoint = max(folder.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    state = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    assert f"{state['best_metric']:.4f}" == f"{best(values):.4f}"


def test_quote_ranker_refuses_an_empty_group(training, tmp_path):
    with pytest.raises(AssertionError, match="--rare 3: no query of the validation split is freq"):
        run("train_quote_ranker.py", tmp_path, "--rare", 3)


def test_diversifier_beats_random_order(training, tmp_path):
    out, rows = run("train_diversifier.py", tmp_path, "--output", tmp_path / "run")
    random, trained, oracle = (
        rows[name][0] for name in ("random order", "set ranker, trained", "greedy oracle")
    )
    assert random + 0.1 < trained <= oracle == 1.0
    assert "features: made up from the labels" in out
    assert re.search(r"best of 3 validation queries: checkpoint-\d+, alpha-NDCG@10 0\.\d{4}", out)
    assert list((tmp_path / "run").glob("checkpoint-*"))


def test_ray_gives_the_bits_of_one_process(tmp_path):
    pytest.importorskip("ray", reason="the example needs ray")
    out, _ = run("score_with_ray.py", tmp_path, "--queries", 5_000)
    assert out.count("the same bits") == 2
    assert "quotes: 8 files" in out and "diversity: 8 files" in out


def write(path, **columns):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table(columns), path)
    return path


def test_ray_refuses_a_nan(tmp_path):
    pytest.importorskip("ray", reason="the example needs ray")
    path = write(tmp_path / "rows.parquet", scores=[[0.5, float("nan")]], gold=[0])
    with pytest.raises(AssertionError, match="`scores` must hold no NaN"):
        run("score_with_ray.py", tmp_path, "quotes", path)


@pytest.mark.parametrize(
    ("work", "columns", "message"),
    [
        ("rank_quotes", {"scores": [[0.5, 0.1]], "gold": [2]}, "be positions from 0 to 1"),
        ("rank_quotes", {"scores": [[0.5, 0.1]], "gold": [None]}, "`gold` must hold no null"),
        ("rank_quotes", {"scores": [[0.5, 0.1], [0.5]], "gold": [0, 0]}, "be lists of one length"),
        ("rank_quotes", {"scores": [[5, 1]], "gold": [0]}, "`scores` must be floats"),
        ("score_documents", {"scores": [[0.5, 0.1]], "labels": [[[0, 2], [1, 0]]]}, "of 0 and 1"),
        ("score_documents", {"scores": [[0.5, 0.1]], "labels": [[[0, 1]]]}, "of 0 and 1"),
        ("score_documents", {"scores": [[float("nan")]], "labels": [[[1]]]}, "hold no NaN"),
        (
            "score_documents",
            {"scores": [[2, 1]], "labels": [[[1], [0]]]},
            "`scores` must be floats",
        ),
    ],
)
def test_workers_refuse(work, columns, message):
    pytest.importorskip("ray", reason="the example needs ray")
    pa = pytest.importorskip("pyarrow")
    example = runpy.run_path(str(ROOT / "examples" / "score_with_ray.py"))
    with pytest.raises(ValueError, match=message):
        example[work](pa.table(columns))


def test_ray_counts_repeated_queries_once(tmp_path):
    pytest.importorskip("ray", reason="the example needs ray")
    rows = [([0.9, 0.1, 0.5], 2, "a"), ([0.3, 0.2, 0.1], 0, "b"), ([0.1, 0.2, 0.3], 1, "c")]
    files = [
        write(  # the last one without rows
            tmp_path / f"{i}.parquet",
            scores=[row[0] for row in part],
            gold=[row[1] for row in part],
            query_id=[row[2] for row in part],
        )
        for i, part in enumerate((rows[:2], rows[1:], []))
    ]
    out, rows = run("score_with_ray.py", tmp_path, "quotes", *files, "--check")
    assert "the same bits" in out
    assert f"MRR            {(1 / 2 + 1 + 1 / 2) / 3!r}" in out
