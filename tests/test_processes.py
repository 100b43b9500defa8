# SPDX-License-Identifier: Apache-2.0
"""Several processes: `num_process`, torchrun with gloo, Accelerate and Trainer."""

import json
import os
import subprocess
import sys

import pytest
from support import METRICS, ROOT, TOY, finish, load, offline_environment, start_python

# Each of two processes adds its rows of every case and computes.
EACH = """
import json, sys, warnings
import evaluate
path, home, process, cases = sys.argv[1:]
found = {}
for case, (parts, options) in json.loads(cases).items():
    metric = evaluate.load(
        path, num_process=2, process_id=int(process), cache_dir=home, experiment_id=case
    )
    rows = parts[int(process)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if rows["predictions"]:
                metric.add_batch(**rows)
            result = metric.compute(**options)
        except ValueError as error:
            result = str(error)
    found[case] = [result, [str(w.message) for w in caught if w.category is UserWarning]]
print(json.dumps(found))
"""
ROWS = {
    "quoter_rank": [([0.9, 0.5, 0.1], 0), ([0.2, 0.3, 0.8], 1), ([0.1, 0.2, 0.3], 0)],
    "search_diversity": [(["b", "a", "x", "c"], TOY), (["c", "a"], TOY), (["x"], TOY)],
}
LONG = [([0.1 * (i % 7), 0.25, 0.3], 0) for i in range(150)]
both = pytest.mark.parametrize("name", METRICS)


def picked(rows, index, ids=None):
    predictions, references = ([rows[i][j] for i in index] for j in (0, 1))
    return {"predictions": predictions, "references": references, "query_ids": ids}


def cases(name):
    """{case: (the rows of each process, options of compute)}."""
    rows = ROWS[name]
    found = {
        "repeated": (
            [picked(rows, [0, 2], [0, 2]), picked(rows, [1, 0], [1, 0])],
            {"per_query": True},
        ),
        "another row": ([picked(rows, [0, 2], ["a", "c"]), picked(rows, [1], ["a"])], {}),
        "ids in one": ([picked(rows, [0], ["a"]), picked(rows, [1])], {}),
        "no rows in 1": ([picked(rows, [0, 1]), picked(rows, [])], {}),
        "no rows in 0": ([picked(rows, []), picked(rows, [0, 1])], {}),
        "ids, no rows in 1": ([picked(rows, [0, 1], ["a", "b"]), picked(rows, [])], {}),
        "ids, no rows in 0": ([picked(rows, []), picked(rows, [0, 1], ["a", "b"])], {}),
    }
    if name == "quoter_rank":
        odd, even = list(range(1, 150, 2)), list(range(0, 150, 2))
        parts = [picked(LONG, odd, odd), picked(LONG, even, even)]
        found["released"] = (parts, {"protocol": "released"})
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """{metric: what the two processes gave, {case: (result, warnings)} each}."""
    found = {}
    for name in METRICS:
        home = tmp_path_factory.mktemp(name)
        given = ROOT / "metrics" / name, home / "cache"
        started = [
            start_python(EACH, home, *given, process, json.dumps(cases(name))) for process in (0, 1)
        ]
        found[name] = [json.loads(finish(process).splitlines()[-1]) for process in started]
    return found


@both
def test_repeated_rows_of_two_processes_count_once(results, name):
    (result, warned), other = (each["repeated"] for each in results[name])
    assert other == [None, []]
    assert warned == ["1 of 4 rows repeat the `query_ids` of another and are counted once"]
    expected = load(name).compute(**picked(ROWS[name], [0, 2, 1]), per_query=True)
    assert result["per_query"].pop("query_ids") == [0, 2, 1]
    assert result == expected


@both
def test_another_row_under_the_id_of_another_process(results, name):
    (result, _), other = (each["another row"] for each in results[name])
    assert "`query_ids` must name one query each, got 'a' at query 2" in result
    assert other == [None, []]


@both
@pytest.mark.parametrize("empty", [0, 1])
@pytest.mark.parametrize("ids", ["ids, ", ""], ids=["ids", "no ids"])
def test_a_process_without_rows_stalls_nobody(results, name, empty, ids):
    first, other = (each[f"{ids}no rows in {empty}"] for each in results[name])
    assert first == [load(name).compute(**picked(ROWS[name], [0, 1])), []]
    assert other == [None, []]


@both
def test_ids_in_one_process_only(results, name):
    (result, _), _ = (each["ids in one"] for each in results[name])
    assert "`query_ids` must be given for all queries or for none" in result


def test_released_across_processes_in_the_order_of_the_ids(results):
    (result, _), _ = (each["released"] for each in results["quoter_rank"])
    rows = picked(LONG, range(150))
    assert result == load("quoter_rank").compute(**rows, protocol="released")
    assert result != load("quoter_rank").compute(**rows)


# torchrun

LAUNCHED = r"""
import json, os, sys, warnings
import numpy as np
import torch
import torch.distributed as dist
import transformers
from accelerate import Accelerator

import evaluate

repo, home = sys.argv[1:]
accelerator = Accelerator(cpu=True)
rank, world = accelerator.process_index, accelerator.num_processes
assert world == 2 and dist.get_backend() == "gloo", (world, dist.get_backend())
QUERIES = 23
found = {}

def made(name, ragged):
    rng = np.random.default_rng(11)
    rows = []
    for _ in range(QUERIES):
        n = int(rng.integers(3, 12)) if ragged else 9
        scores = rng.permutation(n).astype(np.float32) - 3
        labels = int(rng.integers(n))
        if name == "search_diversity":
            labels = (rng.random((n, 5)) < 0.4).astype(np.int64)
        rows.append((scores, labels))
    return rows

def collate(rows):
    longest = max(len(row["logits"]) for row in rows)
    logits = torch.full((len(rows), longest), -float("inf"))
    for i, row in enumerate(rows):
        logits[i, : len(row["logits"])] = torch.as_tensor(row["logits"])
    labels = [torch.as_tensor(row["labels"]) for row in rows]
    if labels[0].ndim:
        full = torch.full((len(rows), longest, 5), -100)
        for i, label in enumerate(labels):
            full[i, : len(label)] = label
        return {"logits": logits, "labels": full}
    return {"logits": logits, "labels": torch.stack(labels)}

class Stored(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))

    def forward(self, logits, labels):
        return {"loss": self.weight**2, "logits": logits}

class Rows(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        logits, labels = self.rows[index]
        return {"logits": logits, "labels": labels}

for name in ("quoter_rank", "search_diversity"):
    path = os.path.join(repo, "metrics", name)
    rows = made(name, True)
    expected = evaluate.load(path, keep_in_memory=True).compute(
        predictions=[row[0] for row in rows], references=[row[1] for row in rows]
    )
    # A DistributedSampler repeats a row, and each process adds its part.
    sampler = torch.utils.data.DistributedSampler(Rows(rows), num_replicas=2, rank=rank)
    metric = evaluate.load(
        path, num_process=2, process_id=rank, cache_dir=home, experiment_id="run"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for index in sampler:
            metric.add(prediction=rows[index][0], reference=rows[index][1], query_id=index)
        result = metric.compute(per_query=True)
    if rank == 0:
        ids = result.pop("per_query")["query_ids"]
        repeats = [str(w.message) for w in caught if "repeat" in str(w.message)]
        found[f"{name}, num_process"] = [result == expected, sorted(ids), repeats]
    # Accelerate gathers, the main process scores.
    even = made(name, False)
    loader = torch.utils.data.DataLoader(Rows(even), batch_size=4, collate_fn=collate)
    loader = accelerator.prepare(loader)
    metric = evaluate.load(path, keep_in_memory=True)
    for batch in loader:
        scores, labels = accelerator.gather_for_metrics((batch["logits"], batch["labels"]))
        metric.add_batch(predictions=scores, references=labels)
    result = metric.compute()
    metric = evaluate.load(path, keep_in_memory=True)
    found[f"{name}, gather_for_metrics"] = result == metric.compute(
        predictions=[row[0] for row in even], references=[row[1] for row in even]
    )
    # Trainer, with and without the hook, at once and by batches.
    for hook in (True, False):
        for by_batch in (True, False):
            hooks = {"preprocess_logits_for_metrics": metric.preprocess_logits_for_metrics}
            arguments = transformers.TrainingArguments(
                os.path.join(home, "trainer"), use_cpu=True, report_to="none", disable_tqdm=True,
                per_device_eval_batch_size=4, remove_unused_columns=False, ddp_backend="gloo",
                batch_eval_metrics=by_batch,
            )
            trainer = transformers.Trainer(
                Stored(), arguments, data_collator=collate, eval_dataset=Rows(rows),
                compute_metrics=metric.compute_metrics, **(hooks if hook else {}),
            )
            figures = trainer.evaluate()
            found[f"{name}, hook {hook}, by batch {by_batch}"] = all(
                figures[f"eval_{key}"] == value for key, value in expected.items()
            )
# A score at or below -100 with the padding of another process: refused, not counted.
metric = evaluate.load(os.path.join(repo, "metrics", "quoter_rank"), keep_in_memory=True)
rows = [(np.float32([-200.0, -300.0]), 0), (np.float32([1.0, 2.0, 3.0]), 0)] * 2
trainer = transformers.Trainer(
    Stored(), arguments, data_collator=collate, eval_dataset=Rows(rows),
    compute_metrics=metric.compute_metrics,
    preprocess_logits_for_metrics=metric.preprocess_logits_for_metrics,
)
trainer.args.per_device_eval_batch_size = 1
trainer.args.batch_eval_metrics = False
try:
    found["padding of another process"] = trainer.evaluate()
except ValueError as error:
    found["padding of another process"] = str(error)
if rank == 0:
    print("FOUND " + json.dumps(found))
accelerator.end_training()
"""


def test_torchrun(tmp_path):
    for module in ("torch", "accelerate", "transformers"):
        pytest.importorskip(module, reason=f"torchrun needs {module}")
    script = tmp_path / "launched.py"
    script.write_text(LAUNCHED, encoding="utf-8")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    environment = {**offline_environment(tmp_path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*launch, str(script), str(ROOT), str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    line = next(line for line in done.stdout.splitlines() if "FOUND " in line)
    found = json.loads(line[line.index("FOUND ") + 6 :])
    for name in METRICS:
        equal, ids, repeats = found.pop(f"{name}, num_process")
        assert equal and ids == list(range(23))
        assert repeats == ["1 of 24 rows repeat the `query_ids` of another and are counted once"]
    assert "must hold no -100.0 at or above the gold" in found.pop("padding of another process")
    assert found and all(found.values()), found
