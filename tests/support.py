# SPDX-License-Identifier: Apache-2.0
"""What several test files use: loading a metric, subprocesses, padding, recorded warnings."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BOTH = (TypeError, ValueError)
METRICS = ("quoter_rank", "search_diversity")
TOY = {"a": ["1", "2"], "b": ["1"], "c": ["3"], "x": []}
TOY_RANKING = ["b", "a", "x", "c"]


def offline_environment(home):
    """Variables that send each cache of the Hugging Face libraries to `home`, offline."""
    home = Path(home)
    return {
        "HF_HOME": str(home),
        "HF_HUB_CACHE": str(home / "hub"),
        "HF_EVALUATE_CACHE": str(home / "evaluate"),
        "HF_METRICS_CACHE": str(home / "metrics"),
        "HF_MODULES_CACHE": str(home / "modules"),
        "HF_DATASETS_CACHE": str(home / "datasets"),
        "HF_EVALUATE_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_HUB_OFFLINE": "1",
        "HF_UPDATE_DOWNLOAD_COUNTS": "0",
    }


def load(name, *args, keep_in_memory=True, **kwargs):
    """The metric in this repository's folder `name`, by `evaluate.load`."""
    import evaluate

    path = str(ROOT / "metrics" / name)
    return evaluate.load(path, *args, keep_in_memory=keep_in_memory, **kwargs)


def modules(name):
    """Files that the metric consists of, the script first; those of the page are not among them."""
    script = (ROOT / "metrics" / name / f"{name}.py").read_text(encoding="utf-8")
    siblings = re.findall(r"^from \.(\w+) import", script, re.MULTILINE)
    return [f"{name}.py", *sorted(f"{sibling}.py" for sibling in siblings)]


def start_python(code, home, *args, isolated=False, **environment):
    """A new interpreter that runs `code` offline with its caches under `home`."""
    flags = ["-I"] if isolated else []
    variables = {**os.environ, **offline_environment(home), **environment}
    return subprocess.Popen(
        [sys.executable, *flags, "-c", code, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=variables,
        cwd=home,
    )


def finish(process, timeout=240):
    """Standard output of a process of `start_python`; its error output if it failed."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    assert process.returncode == 0, err[-3000:]
    return out


def run_python(code, home, *args, isolated=False, **environment):
    return finish(start_python(code, home, *args, isolated=isolated, **environment))


def recorded(call):
    """Result of `call()` and the texts of the user warnings that it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(w.message) for w in caught if issubclass(w.category, UserWarning)]


def reference_columns(mapping):
    """The loaders' columns of a mapping document -> subtopics."""
    return {"doc_ids": list(mapping), "subtopics": [list(labels) for labels in mapping.values()]}


def reference_matrix(mapping, n_rows=None, n_columns=None):
    """0/1 matrix of a mapping, rows by ascending id and columns by ascending integer label.

    `n_rows` and `n_columns` pad it with -100.
    """
    ids = sorted(mapping, key=lambda doc: doc.encode())
    labels = sorted({label for found in mapping.values() for label in found}, key=int)
    rows = [[int(label in mapping[doc]) for label in labels] for doc in ids]
    n_columns = len(labels) if n_columns is None else n_columns
    n_rows = len(rows) if n_rows is None else n_rows
    padded = [row + [-100] * (n_columns - len(row)) for row in rows]
    return padded + [[-100] * n_columns for _ in range(n_rows - len(rows))]


def check(caught, message):
    """`message` in full, or each of its fragments."""
    text = str(caught.value)
    if isinstance(message, str):
        assert text == message
        return
    for fragment in message:
        assert fragment in text, text


def refused(metric, predictions, references, exception, message):
    """By add_batch, then by compute; both leave the queries that were there."""
    before = len(metric)
    with pytest.raises(exception) as caught:
        metric.add_batch(predictions=predictions, references=references)
    check(caught, message)
    with pytest.raises(exception) as caught:
        metric.compute(predictions=predictions, references=references)
    check(caught, message)
    assert len(metric) == before


def name_of(case):
    """The id of a row (options, exception, message) of a table."""
    return ", ".join(f"{name}={value!r}" for name, value in case[0].items())
