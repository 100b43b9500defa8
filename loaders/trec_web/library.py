# SPDX-License-Identifier: Apache-2.0
"""The import of `ir_datasets`, which fails where it cannot create its folder."""

import contextlib
import importlib
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

NAME = "ir_datasets"


def import_ir_datasets() -> Any:
    """The module `ir_datasets`, whether or not its folder can be written to.

    Raises:
        ImportError: it is not installed; says how to install it.
    """
    try:
        return importlib.import_module(NAME)
    except ModuleNotFoundError as error:
        hint = "the TREC loader needs ir_datasets: pip install quotediv[trec]"
        raise ImportError(f"{hint} ({error})") from error
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return _import_with_another_home()


def _import_with_another_home() -> Any:
    """Import `ir_datasets` again, with a temporary folder as its home."""
    for name in [name for name in sys.modules if name.split(".")[0] == NAME]:
        del sys.modules[name]
    with tempfile.TemporaryDirectory() as folder:
        homes = {"IR_DATASETS_HOME": folder, "IR_DATASETS_TMP": folder}
        with _environment({"HOME": os.environ.get("HOME", folder), **homes}):
            return importlib.import_module(NAME)


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
