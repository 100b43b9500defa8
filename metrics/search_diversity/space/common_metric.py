# A copy of metrics/common/space/metric.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""The metric that a page shows, loaded from the folder above the page's own, and its card."""

import importlib
import os
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("HF_UPDATE_DOWNLOAD_COUNTS", "0")  # read when evaluate is imported

import evaluate

FOLDER = Path(__file__).resolve().parent.parent


@cache
def metric_class(name: str) -> type[Any]:
    """The class of the metric, as `evaluate.load` finds it in its script."""
    return type(evaluate.load(str(FOLDER / f"{name}.py"), keep_in_memory=True))


def metric_module(name: str, module: str) -> ModuleType:
    """A module of the metric, such as `scoring`: the one that the loaded metric itself uses."""
    package = metric_class(name).__module__.rpartition(".")[0]
    return importlib.import_module(f".{module}", package)


def card(name: str) -> str:
    """The text of the metric's card: the README of a Space, or a file of the repository."""
    readme = FOLDER / "README.md"
    path = readme if readme.exists() else FOLDER.parent.parent / "cards" / f"{name}.md"
    return path.read_text(encoding="utf-8")
