# SPDX-License-Identifier: Apache-2.0
"""Check that all peers agree, measure everything, write RESULTS.md and scaling.png.

    python benchmarks/run.py

Each part runs in a process of its own, on one thread, with caches in a temporary folder.
"""

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MODULES = ("quoter_bench", "diversity_bench", "significance_bench")
METRICS = ("quoter_rank", "search_diversity")
ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR")
LOADS = 9  # fresh processes of each metric
LOAD = """
import sys, time
start = time.perf_counter()
import evaluate
imported = time.perf_counter()
evaluate.load(sys.argv[1])
print(imported - start, time.perf_counter() - imported)
"""


def environment(home: str) -> dict[str, str]:
    """One thread, offline, caches under `home`."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ONE_THREAD}
    quiet = {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "HF_UPDATE_DOWNLOAD_COUNTS": "0"}
    offline = {f"HF_{name}_OFFLINE": "1" for name in ("HUB", "EVALUATE", "DATASETS")}
    return {**os.environ, **threads, **quiet, **offline, "HF_HOME": home}


def python(*arguments: str) -> str:
    """Standard output of a fresh process in this environment; what it says is passed on."""
    done = subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"stopped: {' '.join(arguments[:3])}")
    return done.stdout


def run_part(*arguments: str) -> Any:
    """What a command of this file gives."""
    return json.loads(python(str(HERE / "run.py"), *arguments))


def bench(home: str) -> None:
    """The whole run."""
    os.environ.update(environment(home))
    agreement = {module: run_part("check", module) for module in MODULES}
    parts = {module: run_part("measure", module) for module in MODULES}
    loading = {name: load_times(name) for name in METRICS}
    prepared = python(str(HERE / "prepare_quoter.py"), "--repeats", "1")
    import report  # its imports wait for the environment

    report.write(agreement, parts, loading, prepared)


def load_times(name: str) -> dict[str, list[float]]:
    """Seconds of `import evaluate` and of `evaluate.load` after it, in fresh processes."""
    path = str(HERE.parent / "metrics" / name)
    runs = [python("-c", LOAD, path).split()[-2:] for _ in range(LOADS + 1)][1:]  # the first caches
    imports, loads = ([float(value) for value in values] for values in zip(*runs, strict=True))
    print(f"{name}: evaluate.load adds {statistics.median(loads):.3f} s", file=sys.stderr)
    return {"import evaluate": imports, "evaluate.load": loads}


# Commands: each prints JSON


def check(module: str) -> Any:
    """Agreement of the peers of a module."""
    bench = importlib.import_module(module)
    return {"agreement": [asdict(row) for row in bench.check()], "skipped": bench.NOT_COMPARED}


def measure(module: str) -> Any:
    """Times and memory of the groups of a module, then its sweeps."""
    from measure import Row, reached, say, swept, timed

    bench = importlib.import_module(module)
    groups = []
    for group in bench.groups():
        say(group.key)
        seconds = timed(group.calls, group.make(group.queries), group.make(2))
        rows = {
            name: Row(times, added(module, group, name) if name != group.limit else {})
            for name, times in seconds.items()
        }
        targets = [
            {**asdict(target), "reached": reached(target, rows, group.queries)}
            for target in group.targets
        ]
        groups.append(
            {
                "key": group.key,
                "queries": group.queries,
                "limit": group.limit,
                "rows": {name: asdict(row) for name, row in rows.items()},
                "targets": targets,
            }
        )
    sweeps = [
        {"key": sweep.key, "axis": sweep.axis, "sizes": sweep.sizes, "points": swept(sweep)}
        for sweep in bench.sweeps()
    ]
    return {"groups": groups, "sweeps": sweeps}


def added(module: str, group: Any, name: str) -> dict[int, float]:
    """Megabytes that a call adds at each number of queries, each in a fresh process."""
    from measure import OURS

    sizes = sorted({group.queries, *(group.memory if name == OURS else ())})
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda size: run_part("memory", module, group.key, name, str(size)), sizes)
        return dict(zip(sizes, found, strict=True))


def memory(module: str, key: str, name: str, queries: str) -> Any:
    """Megabytes that one call adds."""
    from measure import added_megabytes

    group = next(group for group in importlib.import_module(module).groups() if group.key == key)
    return added_megabytes(group, name, int(queries))


COMMANDS = {"check": check, "measure": measure, "memory": memory}


def main() -> None:
    """The whole run, or one command of it."""
    if len(sys.argv) > 1:
        print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
        return
    with tempfile.TemporaryDirectory() as home:
        bench(home)


if __name__ == "__main__":
    main()
