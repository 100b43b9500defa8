# SPDX-License-Identifier: Apache-2.0
"""How the code is laid out: nothing written twice, no long files, a map of what is there."""

import re
from itertools import combinations

import pytest
from support import ROOT

HAND_WRITTEN = [
    path
    for folder in ("metrics", "loaders")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not path.name.startswith("common_") and "__pycache__" not in path.parts
]
RUN = 8


def runs(path):
    """Each run of RUN lines with code or text, without indents.

    A script's imports of copies are left out: evaluate wants each of them in each script.
    """
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line and not line.startswith(("#", "from .common_"))]
    return {tuple(lines[i : i + RUN]) for i in range(len(lines) - RUN + 1)}


def test_no_two_files_share_a_run_of_lines():
    found = {path.relative_to(ROOT).as_posix(): runs(path) for path in HAND_WRITTEN}
    assert len(found) > 40
    shared = {
        (one, other): min(found[one] & found[other])
        for one, other in combinations(found, 2)
        if found[one] & found[other]
    }
    assert shared == {}, "write it once, in metrics/common/ or loaders/"


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_file_is_long(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 350


def test_contributing_names_what_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w./<>-]+(?:/|\.(?:py|md|toml|txt)))`", text))
    assert len(named) >= 30
    for name in named - {"pyproject.toml"}:
        for metric in ("quoter_rank", "search_diversity") if "<name>" in name else ("",):
            place = name.replace("<name>", metric)
            assert (ROOT / place).exists(), name


def test_contributing_names_every_test_file():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path in sorted((ROOT / "tests").glob("*.py")):
        assert f"`tests/{path.name}`" in text, path.name
