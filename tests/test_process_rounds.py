# SPDX-License-Identifier: Apache-2.0
"""Two processes: refusals that all agree on, and rounds in which process 0 is slow."""

import json

import pytest
from support import METRICS, ROOT, TOY, finish, start_python

both = pytest.mark.parametrize("name", METRICS)
REFERENCES = {"quoter_rank": ["b", "b"], "search_diversity": [TOY, TOY]}

EACH = """
import json, os, sys, time
import evaluate
path, home = sys.argv[1:3]
process, references = int(sys.argv[3]), json.loads(sys.argv[4])
rows = {"predictions": [["a", "b"], ["b", "a"]], "references": references}
found = {}

def made(case):
    options = {"num_process": 2, "process_id": process, "cache_dir": home, "timeout": 60}
    return evaluate.load(path, experiment_id=case, **options)

def tried(metric, **options):
    start = time.monotonic()
    try:
        result = metric.compute(**options) and metric.signature
    except ValueError as error:
        result = str(error)
    return [result, len(metric), time.monotonic() - start]

conflicts = {
    "str and int": [[0, 1], ["2", "3"]],
    "ids in 1 only": [None, [0, 1]],
    "two queries of one id": [[0, 1], [1, 2]],
}
for case, ids in conflicts.items():
    metric = made(case)
    metric.add_batch(**rows, query_ids=ids[process])
    found[case] = [tried(metric)]
    metric.add_batch(**rows, query_ids=[[0, 1], [2, 3]][process])
    found[case].append(tried(metric))

metric = made("added and given")
if process:
    metric.add_batch(**rows, query_ids=[0, 1])
    found["added and given"] = [tried(metric)]
else:
    found["added and given"] = [tried(metric, **rows, query_ids=[1, 2])]
metric.add_batch(**rows, query_ids=[[0, 1], [2, 3]][process])
found["added and given"].append(tried(metric))

remove = os.remove

def slow(path):
    if path.endswith("-2-0.arrow"):
        time.sleep(0.5)
    remove(path)

os.remove = slow
metric = made("rounds")
found["rounds"] = []
for _ in range(3):
    metric.add_batch(**rows)
    found["rounds"].append(tried(metric))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """{metric: [{case: [[result, rows left, seconds], ...]} of each process]}."""
    found = {}
    for name in METRICS:
        home = tmp_path_factory.mktemp(name)
        given = ROOT / "metrics" / name, home / "cache"
        started = [
            start_python(EACH, home, *given, process, json.dumps(REFERENCES[name]))
            for process in (0, 1)
        ]
        found[name] = [json.loads(finish(process).splitlines()[-1]) for process in started]
    return found


DROPPED = "; the rows of all processes are dropped: add them again"


@both
@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("str and int", "be all str or all int"),
        ("ids in 1 only", "be given for all queries or for none"),
        ("two queries of one id", "name one query each, got 1 at query 2"),
        ("added and given", "name one query each, got 1 at query 3"),
    ],
)
def test_ids_in_conflict_end_the_round_of_all_processes(results, name, case, message):
    """No call could mend the rows, so none of them stays to be refused again and again."""
    first, other = (each[case] for each in results[name])
    text, rows, _ = first[0]
    assert text.startswith(f"`query_ids` must {message}")
    assert text.endswith(DROPPED)
    assert rows == 0
    assert other[0][:2] == [None, 0]
    assert "|n:4|" in first[1][0]  # the next round is scored
    assert other[1][:2] == [None, 0]


@both
def test_no_process_runs_ahead_of_a_slow_process_0(results, name):
    first, other = (each["rounds"] for each in results[name])
    assert all("|n:4|" in result for result, _, _ in first)
    assert [result for result, _, _ in other] == [None] * 3
