# SPDX-License-Identifier: Apache-2.0
"""The base of the dataset builders: source files, cache names and progress bars.

Builders import this module by its full name: `datasets` 3 copies a builder that it runs as a script
to another folder, without the modules above it.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import datasets
from datasets.exceptions import DatasetGenerationError
from datasets.utils import are_progress_bars_disabled

from .reading import digest


class SourceBuilder(datasets.GeneratorBasedBuilder):
    """A builder whose cache is named by the content of its source files.

    Attributes:
        CODE: path of the builder's module; the cache's name covers all modules of its folder.
    """

    VERSION = datasets.Version("0.1.0")
    CODE: ClassVar[str] = __file__

    def __init__(
        self,
        *args: Any,
        content: Iterable[str],
        data_dir: str | os.PathLike[str] | None = None,
        hash: str | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs["data_dir"] = None if data_dir is None else str(data_dir)
        super().__init__(*args, hash=self._content_hash(hash, content), **kwargs)

    def _content_hash(self, script: str | None, content: Iterable[str]) -> str:
        """Name of the cache: a hash of the code, `datasets`' major version and the sources."""
        folders = [Path(file).parent for file in (__file__, self.CODE)]
        code = [path for folder in folders for path in sorted(folder.glob("*.py"))]
        parts = [str(script), datasets.__version__.split(".")[0], *map(digest, code), *content]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    def download_and_prepare(self, *args: Any, **kwargs: Any) -> None:
        """Prepare the dataset; errors in the source files are raised as they are."""
        with _progress_bars_only_where_seen():
            try:
                super().download_and_prepare(*args, **kwargs)
            except DatasetGenerationError as error:
                raise (error.__cause__ or error) from None

    def _source(self, dl_manager: Any, url: str) -> str:
        """The path of the source file: in `data_dir`, or of its download."""
        path = local_file(url, self.config.data_dir)
        if path is None:
            return _download(dl_manager, url)
        if path.is_file():
            return str(path)
        problem = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"{path} {problem}; get it from {url} and put it there")


def local_file(url: str, data_dir: str | os.PathLike[str] | None) -> Path | None:
    """Where the file of a URL should be in `data_dir`, which may be the file itself.

    Returns:
        The path ending in the URL's file name, with .gz if only that file exists; None without
        `data_dir`.
    Raises:
        ValueError: `data_dir` has "::", which fsspec takes for a chain of file systems.
    """
    if data_dir is None:
        return None
    if "::" in str(data_dir):
        raise ValueError(f"`data_dir` must be a path without '::', got {str(data_dir)!r}")
    path = Path(data_dir).expanduser()
    if path.is_file():
        return path
    path /= _name(url)
    zipped = path.with_name(f"{path.name}.gz")
    return zipped if zipped.exists() and not path.exists() else path


def digests(paths: Iterable[Path | None]) -> list[str]:
    """The hashes of those files that exist."""
    return [digest(path) for path in paths if path is not None and path.is_file()]


def is_integer(value: Any) -> bool:
    """Whether the value is an integer, numpy's included, but not a bool."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _name(url: str) -> str:
    return url.rpartition("/")[2]


def _download(dl_manager: Any, url: str) -> str:
    """Download a file, in at most three attempts, to the cache of `datasets`."""
    pauses = [1, 5]
    while True:
        try:
            return str(dl_manager.download(url))
        except Exception as error:
            gone = isinstance(error, FileNotFoundError) or "Offline" in type(error).__name__
            if gone or not pauses:
                raise FileNotFoundError(
                    f"{url} was not downloaded ({type(error).__name__}); get the file there, put "
                    f"it into a folder as {_name(url)} and pass data_dir=<that folder>"
                ) from error
            time.sleep(pauses.pop(0))


@contextmanager
def _progress_bars_only_where_seen() -> Iterator[None]:
    """Keep the progress bars of `datasets` out of log files, and leave its setting as it was."""
    chosen = datasets.config.HF_DATASETS_DISABLE_PROGRESS_BARS is not None
    if chosen or are_progress_bars_disabled() or _is_terminal() or _is_notebook():
        yield
        return
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.enable_progress_bars()


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _is_notebook() -> bool:
    """Whether the code runs in a Jupyter kernel, by the same test as tqdm's."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_shell() if get_shell else None
    return shell is not None and "IPKernelApp" in shell.config
