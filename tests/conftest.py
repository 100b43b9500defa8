# SPDX-License-Identifier: Apache-2.0
"""Fixtures; every cache goes to a fresh folder and no test may reach the network."""

import json
import os
import shutil
import tempfile
from pathlib import Path

from support import ROOT, load, offline_environment

CACHE = tempfile.mkdtemp(prefix="quotediv-tests-")
os.environ.update(offline_environment(CACHE))
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(Path(CACHE) / "hypothesis")

import pytest  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def _fresh_cache():
    yield
    shutil.rmtree(CACHE, ignore_errors=True)


@pytest.fixture
def quoter_rank():
    return load("quoter_rank")


@pytest.fixture
def search_diversity():
    return load("search_diversity")


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real files that stands beside the repository, where there is one."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real files are not here: ../shared/data")
    return folder


@pytest.fixture(scope="session")
def du_div(shared_data):
    """DU-DIV's labels, {query: {document: [subtopic, ...]}}, in file order."""
    path = shared_data / "du_div" / "query_doc_subtopics_doc15_2.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def du_div_expected(shared_data):
    return json.loads((shared_data / "du_div" / "expected.json").read_text(encoding="utf-8"))
