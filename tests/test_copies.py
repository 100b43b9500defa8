# SPDX-License-Identifier: Apache-2.0
"""The copies of shared files: as `make copies` writes them, and what it says where they are not."""

import shutil
import subprocess
import sys

import pytest
from support import ROOT

SOURCE = "metrics/common/space/texts.py"
COPIES = [f"metrics/{name}/space/common_texts.py" for name in ("quoter_rank", "search_diversity")]


def copies(root, *options):
    """Exit status of the script, and all that it printed."""
    command = [sys.executable, root / ".ci" / "copies.py", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


@pytest.fixture
def scratch(tmp_path):
    for name in ("metrics", ".ci"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    return tmp_path


def append(path):
    with path.open("a", encoding="utf-8") as file:
        file.write("# by hand\n")


def test_the_copies_of_this_repository_are_those_of_make_copies():
    status, said = copies(ROOT, "--check")
    assert (status, said) == (0, ""), said


def edit_a_copy(root):
    append(root / COPIES[0])
    return COPIES[:1]


def edit_a_copy_line_endings_only(root):
    path = root / COPIES[1]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return COPIES[1:]


def edit_a_source(root):
    append(root / SOURCE)
    return COPIES


def lose_a_copy(root):
    (root / COPIES[1]).unlink()
    return COPIES[1:]


def keep_a_copy_that_nothing_imports(root):
    stale = ("metrics/quoter_rank/space/common_old.py", "metrics/search_diversity/common_old.py")
    for name in stale:
        (root / name).write_text("# once a copy\n", encoding="utf-8")
    return [*stale]


CHANGES = [
    edit_a_copy,
    edit_a_copy_line_endings_only,
    edit_a_source,
    lose_a_copy,
    keep_a_copy_that_nothing_imports,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_difference_is_named_and_mended(scratch, change):
    paths = change(scratch)
    status, said = copies(scratch, "--check")
    *named, advice = said.splitlines()
    assert (status, named) == (1, paths)
    assert "edit the source, not the copy, then run `make copies`" in advice
    assert copies(scratch, "--check") == (status, said)  # a check changes nothing
    assert copies(scratch) == (0, "".join(f"{path}\n" for path in paths))
    assert copies(scratch, "--check") == (0, "")
    for path in paths:
        assert (scratch / path).exists() == (path in COPIES)


def test_an_edit_of_a_source_reaches_its_copies(scratch):
    edit_a_source(scratch)
    copies(scratch)
    for path in COPIES:
        head, *lines = (scratch / path).read_text(encoding="utf-8").splitlines()
        assert head == f"# A copy of {SOURCE}: edit that file, then run `make copies`."
        assert lines[-1] == "# by hand"


def test_what_a_shared_file_imports_is_copied_under_its_new_name(scratch):
    common = scratch / "metrics" / "common"
    (common / "outer.py").write_text("from .inner import x\nimport json\n", encoding="utf-8")
    (common / "inner.py").write_text('"""\nfrom outer space\n"""\nx = 1\n', encoding="utf-8")
    folder = scratch / "metrics" / "quoter_rank"
    (folder / "user.py").write_text("from .common_outer import x\n", encoding="utf-8")
    assert copies(scratch)[0] == 0
    outer, inner = ((folder / f"common_{n}.py").read_text() for n in ("outer", "inner"))
    assert outer.partition("\n")[2] == "from .common_inner import x\nimport json\n"
    assert inner.partition("\n")[2] == '"""\nfrom outer space\n"""\nx = 1\n'


def test_a_copy_of_what_is_not_there(scratch):
    page = scratch / "metrics" / "quoter_rank" / "space" / "page.py"
    page.write_text("import common_nothing\n", encoding="utf-8")
    assert copies(scratch, "--check") == (
        1,
        "metrics/quoter_rank/space/page.py imports common_nothing, a copy of "
        "metrics/common/space/nothing.py, which does not exist.\n",
    )
