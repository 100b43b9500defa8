# SPDX-License-Identifier: Apache-2.0
"""The wheel as a user installs it, and the top level of the repository."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from support import ROOT, offline_environment

FOLDERS = ("metrics", "loaders")
TOP_LEVEL = {
    *("pyproject.toml", "README.md", "metrics", "loaders", "tests", "cards"),
    *(
        "Makefile",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "examples",
        "benchmarks",
        ".ci",
        ".gitignore",
        "LICENSE",
    ),
}
USE_INSTALLED = """
import importlib.metadata, json
from pathlib import Path

import evaluate
import quotediv.metrics
from quotediv.metrics.quoter_rank import QuoterRank
from quotediv.metrics.search_diversity import SearchDiversity

installed = Path(quotediv.metrics.__file__).parent
arguments = {
    QuoterRank: {"predictions": [[0.1, 0.9, 0.3]], "references": [2]},
    SearchDiversity: {
        "predictions": [["d2", "d1", "d4"]],
        "references": [{"d1": ["1", "2"], "d2": ["1"], "d3": ["3"], "d4": []}],
    },
}
results = {}
for metric_class, given in arguments.items():
    name = metric_class.__module__.rpartition(".")[2]
    loaded = evaluate.load(str(installed / name), keep_in_memory=True)
    results[name] = loaded.compute(**given)
    assert metric_class(keep_in_memory=True).compute(**given) == results[name]
    assert loaded.signature.endswith("version:" + importlib.metadata.version("quotediv"))
print(json.dumps({"installed": str(installed), **results}))
"""


def run(*command, cwd):
    environment = {**os.environ, **offline_environment(cwd), "PIP_NO_INDEX": "1"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


def source_files(folder):
    """Files under `folder`, caches left out, as paths relative to its parent."""
    return {
        path.relative_to(folder.parent).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from a copy, so that nothing is left in the repository or taken from it."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("wheel")
    pip_wheel = ("pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", out)
    run(sys.executable, "-m", *pip_wheel, source, cwd=source)
    (built,) = out.glob("quotediv-*.whl")
    return built


@pytest.fixture(scope="module")
def installed_python(wheel, tmp_path_factory):
    """An interpreter that has the wheel, and what it depends on from this environment."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    pip_install = ("pip", "--python", python, "install", "--no-deps", wheel)
    run(sys.executable, "-m", *pip_install, cwd=folder)
    # A folder that a .pth file names has its own .pth files unread: an editable install of this
    # repository stays out.
    dependencies = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site_packages = Path(run(python, "-c", ask, cwd=folder).strip())
    (site_packages / "dependencies.pth").write_text("\n".join(dependencies), encoding="utf-8")
    return python


def test_every_source_file_is_in_the_wheel_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {f"quotediv/{path}" for name in FOLDERS for path in source_files(ROOT / name)}
    assert packed == expected


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_types_are_marked_as_shipped(folder, wheel):
    with zipfile.ZipFile(wheel) as archive:
        assert f"quotediv/{folder}/py.typed" in archive.namelist()


def test_an_installed_wheel_imports_and_loads_both_metrics(installed_python, tmp_path):
    found = json.loads(run(installed_python, "-I", "-c", USE_INSTALLED, cwd=tmp_path))
    assert Path(found["installed"]).is_relative_to(installed_python.parent.parent)
    assert found["quoter_rank"]["MRR"] == 1 / 2
    assert found["search_diversity"]["S-recall@5"] == 2 / 3


def test_the_top_level_of_the_repository_holds_only_what_belongs_there():
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    assert {path.split("/")[0] for path in listed.splitlines()} <= TOP_LEVEL
