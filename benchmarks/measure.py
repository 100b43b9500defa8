# SPDX-License-Identifier: Apache-2.0
"""Time calls in turn on the same inputs, and take the peak memory of one call."""

import ctypes
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import evaluate
import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parent.parent
OURS = "quotediv"
REPEATS = 7
SLOW, SLOW_REPEATS = 10.0, 3  # a call that takes longer than so many seconds runs less often
LONGEST_STEP = 1.0  # a line of a sweep ends where one call would take longer

Call = Callable[[Any], Any]
Figures = dict[str, float]


@dataclass(frozen=True)
class Target:
    """A bound on one call of a group.

    Units: "x" is its time over that of the call `against`, "x faster" the inverse, which must be
    at least the bound; "B a query" is the memory that each further query adds.
    """

    text: str
    bound: float
    unit: Literal["x", "x faster", "µs a query", "MB", "B a query"]
    call: str = OURS
    against: str = ""


@dataclass(frozen=True)
class Group:
    """Calls that score the same inputs."""

    key: str
    queries: int
    make: Callable[[int], Any]  # the inputs of so many queries
    calls: Mapping[str, Call]
    limit: str | None = None  # the call that the others cannot beat
    targets: Sequence[Target] = ()
    memory: Sequence[int] = ()  # numbers of queries whose added memory is taken, besides `queries`
    from_file: bool = False  # the pages of a mapped file are not memory that a call takes


@dataclass(frozen=True)
class Row:
    """What one call of a group took."""

    seconds: Sequence[float]
    megabytes: Mapping[int, float]  # added, for each number of queries

    @property
    def median(self) -> float:
        """Seconds."""
        return float(np.median(self.seconds))


@dataclass(frozen=True)
class Sweep:
    """Calls over growing sizes of one kind."""

    key: str
    axis: str
    sizes: Sequence[int]
    make: Callable[[int], Any]  # the inputs of a size
    queries: Callable[[int], int]  # the number of queries of a size
    calls: Mapping[str, Call]


def load(name: str, *config: str) -> Any:
    """The metric in this repository's folder `name`."""
    return evaluate.load(str(ROOT / "metrics" / name), *config)


def say(text: str) -> None:
    """Show progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


# Time


def once(call: Call, inputs: Any) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    result = call(inputs)
    seconds = time.perf_counter() - start
    del result
    return seconds


def timed(calls: Mapping[str, Call], inputs: Any, few: Any) -> dict[str, list[float]]:
    """Seconds of every run; the calls take turns, so that noise meets all of them.

    A call on a `few` queries comes first: what is compiled and set up there does not count.
    """
    for call in calls.values():
        call(few)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        gc.collect()
        for name, call in calls.items():
            slow = min(seconds[name], default=0) > SLOW
            if len(seconds[name]) < (SLOW_REPEATS if slow else REPEATS):
                seconds[name].append(once(call, inputs))
    return seconds


def swept(sweep: Sweep) -> dict[str, dict[int, float]]:
    """Median microseconds a query of each call at each size."""
    found: dict[str, dict[int, float]] = {name: {} for name in sweep.calls}
    last: dict[str, tuple[int, float]] = {}
    few = sweep.make(sweep.sizes[0])
    for size in sweep.sizes:
        calls = {
            name: call
            for name, call in sweep.calls.items()
            if name not in last or last[name][1] * size / last[name][0] < LONGEST_STEP
        }
        say(f"  {sweep.key}: {size:,} {', '.join(calls)}")
        for name, seconds in timed(calls, sweep.make(size), few).items():
            median = float(np.median(seconds))
            last[name] = size, median
            found[name][size] = median / sweep.queries(size) * 1e6
        for name in sweep.calls.keys() - calls.keys():
            last[name] = 1, LONGEST_STEP  # an ended line stays ended
    return found


# Memory


def added_megabytes(group: Group, name: str, queries: int) -> float:
    """Peak memory that a call adds to its inputs; for a fresh process.

    A call on two queries comes first: what it imports and sets up is not counted. Arrow's own pool
    would keep what making the inputs freed, and a call that takes it again would seem to add none.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    call = group.calls[name]
    call(group.make(2))
    inputs = group.make(queries)
    if group.from_file:
        return traced_megabytes(call, inputs)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = peak_megabytes()
    call(inputs)
    return peak_megabytes() - before


def peak_megabytes() -> float:
    """The largest resident set of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def traced_megabytes(call: Call, inputs: Any) -> float:
    """Peak of what Python and numpy allocate during a call."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    call(inputs)
    return (tracemalloc.get_traced_memory()[1] - before) / 2**20


def reached(target: Target, rows: Mapping[str, Row], queries: int) -> tuple[float, bool]:
    """The value in the target's unit, and whether it is within the bound."""
    row = rows[target.call]
    if target.unit == "x faster":
        value = rows[target.against].median / row.median
        return value, value >= target.bound
    if target.unit == "x":
        value = row.median / rows[target.against].median
    elif target.unit == "µs a query":
        value = row.median / queries * 1e6
    elif target.unit == "MB":
        value = row.megabytes[queries]
    else:
        least, most = min(row.megabytes), max(row.megabytes)
        value = (row.megabytes[most] - row.megabytes[least]) * 2**20 / (most - least)
    return value, value <= target.bound


# Agreement


@dataclass(frozen=True)
class Agreement:
    """How far a tool's figure is from ours."""

    tool: str
    figure: str
    difference: float


def agreed(tool: str, theirs: Figures, ours: Figures, tolerance: float) -> list[Agreement]:
    """Compare the figures of a tool with ours; a difference ends the run."""
    found = []
    for name, value in theirs.items():
        difference = abs(value - ours[name])
        if not difference <= tolerance:
            sys.exit(f"{tool} disagrees on {name}: {value!r}, ours is {ours[name]!r}")
        found.append(Agreement(tool, name, difference))
    return found
