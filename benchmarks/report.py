# SPDX-License-Identifier: Apache-2.0
"""RESULTS.md and scaling.png out of what was measured."""

import os
import platform
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import plot

HERE = Path(__file__).resolve().parent
OURS = "quotediv"
LIMIT = "np.sum of the matrix"
PACKAGES = (
    *("numpy", "pyarrow", "evaluate", "datasets", "ranx", "pytrec_eval-terrier", "pyndeval"),
    *("ir_measures", "torchmetrics", "torch", "scikit-learn", "scipy", "numba"),
)
TITLES = {
    "quoter_bench": "quoter_rank",
    "diversity_bench": "search_diversity",
    "significance_bench": "intervals and paired_significance",
}
LOAD_MS = 50

# Why a target is not met: {"<inputs>: <target>": reason}, as the table of targets names them.
REASONS: dict[str, str] = {
    "dicts of ids, 100,000 queries x 15: 3.5x faster than pyndeval": (
        "Of the call (cProfile, 40,000 queries of DU-DIV), 51% reads dicts and lists into arrays, "
        "15% orders the ids and 24% computes the figures. The reading is list joins and Arrow "
        "conversions, all in C; below it lies only compiled code of our own."
    ),
    "Arrow columns, 100,000 queries x 15: 10x faster than pyndeval": (
        "Of the call (cProfile, 40,000 queries of DU-DIV), 42% computes the figures, 29% orders "
        "the ids, 12% sorts and matches rankings and 11% reads the columns. The ideal ranking, "
        "greedy at every rank, is over half of the figures."
    ),
}

Part = Mapping[str, Any]
Cells = Sequence[str]


# Cells


def number(value: float) -> str:
    """Three digits, no exponent."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


def time_of(seconds: float) -> str:
    """Milliseconds or seconds."""
    return f"{number(seconds)} s" if seconds >= 1 else f"{number(seconds * 1e3)} ms"


def table(head: Cells, rows: Iterable[Cells], left: int = 1) -> str:
    """A Markdown table; the first `left` columns are text."""
    rule = ["---" if i < left else "---:" for i in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows)) + "\n"


# Sections


def machine() -> str:
    """What ran it."""
    cpu = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 2**20
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"Machine: {cpu}, {os.cpu_count()} cores, {memory:.0f} GiB; every call on one thread. "
        f"Python {platform.python_version()}, {versions}.\n"
    )


def target_rows(
    parts: Mapping[str, Part], loading: Mapping[str, Any]
) -> Iterator[tuple[str, str, str, bool]]:
    """(inputs, target, value, whether it is met) of every target."""
    for part in parts.values():
        for group in part["groups"]:
            for target in group["targets"]:
                value, met = target["reached"]
                unit = target["unit"]
                shown = f"{number(value)}{'' if unit.startswith('x') else ' '}{unit}"
                yield group["key"], target["text"], shown, met
    for name, runs in loading.items():
        value = statistics.median(runs["evaluate.load"]) * 1e3
        text = f"adds less than {LOAD_MS} ms to `import evaluate`"
        yield f"evaluate.load of {name}", text, f"{number(value)} ms", value < LOAD_MS


def targets(parts: Mapping[str, Part], loading: Mapping[str, Any]) -> str:
    """All targets, then the reasons for those that are not met."""
    rows = list(target_rows(parts, loading))
    unknown = REASONS.keys() - {f"{inputs}: {text}" for inputs, text, _, _ in rows}
    if unknown:
        raise ValueError(f"REASONS names no target: {sorted(unknown)}")
    head = ("inputs", "target", "measured", "")
    shown = [
        (inputs, text, value, "met" if met else "**not met**") for inputs, text, value, met in rows
    ]
    missed = [f"{inputs}: {text}" for inputs, text, _, met in rows if not met]
    reasons = [f"- {key}: {REASONS[key]}\n" for key in missed if key in REASONS]
    return table(head, shown, left=2) + "\n" + "".join(reasons)


def agreement(checked: Mapping[str, Part]) -> str:
    """How far each tool is from ours, and what is not compared."""
    text = ""
    for module, part in checked.items():
        tools: dict[str, dict[str, float]] = {}
        for row in part["agreement"]:
            tools.setdefault(row["tool"], {})[row["figure"]] = row["difference"]
        rows = [
            (tool, ", ".join(found), f"{max(found.values()):.0e}") for tool, found in tools.items()
        ]
        text += f"### {TITLES[module]}\n\n"
        text += table(("tool", "figures", "largest difference from ours"), rows, left=2)
        text += "\nNot compared:\n\n" + "".join(f"- {line}\n" for line in part["skipped"]) + "\n"
    return text


def group_rows(group: Part) -> Iterator[Cells]:
    """A line a call."""
    medians = {name: statistics.median(row["seconds"]) for name, row in group["rows"].items()}
    limit = medians.get(group["limit"])
    for name, row in group["rows"].items():
        seconds, median = row["seconds"], medians[name]
        megabytes = row["megabytes"].get(str(group["queries"]))
        yield (
            group["key"],
            f"**{name}**" if name == OURS else name,
            time_of(median),
            f"{time_of(min(seconds))} to {time_of(max(seconds))}",
            str(len(seconds)),
            number(median / group["queries"] * 1e6),
            number(median / limit) if limit else "",
            number(median / medians[OURS]),
            "" if megabytes is None else f"{max(0.0, megabytes):,.1f}",
        )


def measured(part: Part) -> str:
    """All groups of a metric."""
    head = (
        *("inputs", "call", "median", "min to max", "runs", "µs a query"),
        *("x limit", "x quotediv", "added MB"),
    )
    return table(head, [row for group in part["groups"] for row in group_rows(group)], left=2)


def growing_memory(part: Part) -> str:
    """Added memory at several numbers of queries, where it was taken."""
    text = ""
    for group in part["groups"]:
        found = group["rows"][OURS]["megabytes"]
        if len(found) > 1:
            head = (group["key"].split(",")[0], *(f"{int(size):,} queries" for size in found))
            text += table(head, [("added MB", *(f"{mb:,.1f}" for mb in found.values()))]) + "\n"
    return text


def sweep_table(sweep: Part) -> str:
    """Microseconds a query; empty where a line ended."""
    head = (sweep["axis"], *(f"{size:,}" for size in sweep["sizes"]))
    rows = [
        (name, *(number(line[str(size)]) if str(size) in line else "" for size in sweep["sizes"]))
        for name, line in sweep["points"].items()
    ]
    return f"{sweep['key']}, µs a query:\n\n" + table(head, rows) + "\n"


def loads(loading: Mapping[str, Any]) -> str:
    """Times of fresh processes."""
    rows = [
        (
            f"{call}, {name}",
            time_of(statistics.median(s)),
            f"{time_of(min(s))} to {time_of(max(s))}",
        )
        for name, runs in loading.items()
        for call, s in runs.items()
    ]
    return table(("call", "median", "min to max"), rows)


def write(
    checked: Mapping[str, Part],
    parts: Mapping[str, Part],
    loading: Mapping[str, Any],
    prepared: str,
) -> None:
    """Both files."""
    sweeps = [sweep for part in parts.values() for sweep in part["sweeps"]]
    plot.draw(sweeps, LIMIT, HERE / "scaling.png")
    sections = {
        "Targets": targets(parts, loading),
        "Agreement": AGREEMENT + agreement(checked),
        **{TITLES[module]: MEASURED[module] + measured(part) for module, part in parts.items()},
        "Added memory over the number of queries": "".join(map(growing_memory, parts.values())),
        "Growing sizes": GROWING + "".join(map(sweep_table, sweeps)),
        "evaluate.load": LOADING + loads(loading),
        "Preparing QuoteR files": f"```\n{prepared.rstrip()}\n```\n",
    }
    text = "<!-- SPDX-License-Identifier: Apache-2.0 -->\n# Results\n\n" + INTRODUCTION + machine()
    for title, body in sections.items():
        text += f"\n## {title}\n\n{body.rstrip()}\n"
    (HERE / "RESULTS.md").write_text(text, encoding="utf-8")


INTRODUCTION = """\
Written by `make bench`; do not edit. All of it is from one run: the calls of one group take turns
on the same inputs, each a whole call from the inputs that a user has to the figures, what a peer
needs for its own form of input included. Medians; of a call above 10 s three runs are made.

"""
AGREEMENT = "Before anything is timed, every figure that a peer has is compared with ours.\n\n"
MEASURED = {
    "quoter_bench": """\
`x limit` is the median over that of the limit: `np.sum` of the same matrix, which reads every byte
once (16-bit scores are read as float32), or for lists a bare loop of `len(set(p)) != len(p)` and
`p.index(g)`. Added MB: peak resident memory of one call in a fresh process, over that with the
inputs in memory; for the mapped file what Python and numpy allocate, its pages being the system's.

""",
    "diversity_bench": """\
Labels like DU-DIV's: 0 to 6 subtopics a document, 3 to 25 a query. pyndeval and ir_measures get
tuples made in the call; on Arrow columns pyndeval gets them from flat columns. Added MB as above.

""",
    "significance_bench": """\
Bootstrap intervals of all figures of one metric, from one set of resamples; permutation tests of
all pairs of systems, from one set of sign vectors, corrected by Holm's method. The limit is drawing
as many random indices. Added MB as above.

""",
}
GROWING = """\
A line ends where one call would take more than a second.

![Time a query over growing sizes](scaling.png)

"""
LOADING = """\
Fresh processes; the metric's module is in evaluate's cache. `import evaluate` is given for scale.

"""
