# SPDX-License-Identifier: Apache-2.0
"""What all loaders share: progress bars only where someone sees them, caches named by content."""

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import datasets
import pytest
from datasets.utils import are_progress_bars_disabled
from quotediv.loaders import builder, du_div, quoter
from support import ROOT

LOAD = """
import sys
import warnings
warnings.simplefilter("error", UserWarning)
import datasets
from datasets.utils import are_progress_bars_disabled
from quotediv.loaders import quoter
if sys.argv[2:]:
    getattr(datasets, sys.argv[2])()
before = are_progress_bars_disabled()
quoter.load("english", data_dir=sys.argv[1], boundaries=(2, 3))
assert are_progress_bars_disabled() == before
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "english.txt").write_text("a\tb\tc\n" * 4, encoding="utf-8")
    return tmp_path


def start(folder, *call, stderr, **variables):
    environment = {name: value for name, value in os.environ.items() if "PROGRESS" not in name}
    return subprocess.Popen(
        [sys.executable, "-c", LOAD, folder, *call],
        stderr=stderr,
        env={**environment, "HF_HOME": str(folder / "hf"), **variables},
    )


def written_to_pipe(folder, *call, **variables):
    process = start(folder, *call, stderr=subprocess.PIPE, **variables)
    _, written = process.communicate(timeout=120)
    assert process.returncode == 0, written.decode()
    return written.decode()


def written_to_terminal(folder, *call, **variables):
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))  # rows, columns
    process = start(folder, *call, stderr=inner, **variables)
    os.close(inner)
    written = b""
    try:
        while piece := os.read(outer, 1 << 16):
            written += piece
    except OSError:  # how Linux says that nobody writes any more
        pass
    os.close(outer)
    assert process.wait(timeout=120) == 0, written.decode()
    return written.decode()


@pytest.mark.parametrize("call", [(), ("enable_progress_bars",), ("disable_progress_bars",)])
def test_a_pipe_gets_no_progress_bars(folder, call):
    assert written_to_pipe(folder, *call) == ""


def test_a_terminal_gets_progress_bars(folder):
    assert "Generating train split" in written_to_terminal(folder)


def test_a_terminal_gets_none_where_the_user_disabled_them(folder):
    assert written_to_terminal(folder, "disable_progress_bars") == ""


def test_the_environment_variable_has_priority(folder):
    variables = {"HF_DATASETS_DISABLE_PROGRESS_BARS": "0"}
    assert "Generating train split" in written_to_pipe(folder, **variables)
    variables = {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    assert written_to_terminal(folder, **variables) == ""


@pytest.mark.parametrize("disabled", [False, True])
def test_the_setting_is_restored_after_an_error(folder, disabled):
    try:
        if disabled:
            datasets.disable_progress_bars()
        with pytest.raises(ValueError, match="expected at least 11 lines, got 4"):
            quoter.load("english", data_dir=folder, boundaries=(9, 10))
        assert are_progress_bars_disabled() == disabled
    finally:
        datasets.enable_progress_bars()


class Shell:
    """What IPython's `get_ipython` returns: of a notebook, or of a console in a terminal."""

    def __init__(self, *applications):
        self.config = dict.fromkeys(applications)

    def get_ipython(self):
        return self


@pytest.mark.parametrize(("shell", "seen"), [(Shell("IPKernelApp"), True), (Shell(), False)])
def test_a_notebook_shows_progress_bars(monkeypatch, shell, seen):
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr(sys, "stderr", None)
    with builder._progress_bars_only_where_seen():
        assert are_progress_bars_disabled() != seen
    assert not are_progress_bars_disabled()


@pytest.mark.parametrize("loader", [quoter.Quoter, du_div.DuDiv])
@pytest.mark.parametrize("edited", ["builder.py", "reading.py", "{0}/{0}.py", "{0}/parsing.py"])
def test_an_edited_module_gives_another_cache(tmp_path, monkeypatch, loader, edited):
    copy = shutil.copytree(ROOT / "loaders", tmp_path / "loaders")
    name = Path(loader.CODE).stem
    monkeypatch.setattr(builder, "__file__", str(copy / "builder.py"))
    monkeypatch.setattr(loader, "CODE", str(copy / name / f"{name}.py"))
    config = loader.BUILDER_CONFIGS[0].name
    before = loader(config_name=config).hash
    assert loader(config_name=config).hash == before
    with (copy / edited.format(name)).open("a", encoding="utf-8") as stream:
        stream.write("\n")
    assert loader(config_name=config).hash != before
