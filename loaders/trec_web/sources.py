# SPDX-License-Identifier: Apache-2.0
"""Where the topics and judgements of a year are: in a folder, or at NIST through `ir_datasets`."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import datasets
from filelock import FileLock
from quotediv.loaders.reading import digest

SITE = "https://trec.nist.gov/data/web"


class Files(NamedTuple):
    """Names or paths of a year's two files."""

    topics: Any
    qrels: Any


NIST = {
    "2009": Files("wt09.topics.full.xml", "qrels.diversity.gz"),
    "2010": Files("wt2010-topics.xml", "10.diversity-qrels.final"),
    "2011": Files("full-topics.xml", "qrels.diversity"),
    "2012": Files("full-topics.xml", "qrels.diversity"),
}
OWN = Files("{}.topics.full.xml", "{}.qrels.diversity")
IR_DATASETS = Files("trec-web-{}/queries", "trec-web-{}/qrels.all")
YEARS = tuple(NIST)


def local_files(years: Sequence[str], data_dir: str | os.PathLike[str]) -> dict[str, Files]:
    """Find the files of each year in a folder.

    First `<year>.topics.full.xml` and `<year>.qrels.diversity`, in the folder, then in its
    subfolders `<year>` and `<yy>`; then NIST's names, some of which several years share, in the
    subfolders, then in the folder. Each name may end in `.gz`.

    Raises:
        FileNotFoundError: says what is missing, where to get it and where to put it.
    """
    folder = Path(data_dir).expanduser()
    found = {year: Files(*(_find(folder, year, kind) for kind in range(2))) for year in years}
    missing = [(year, k) for year in years for k, path in enumerate(found[year]) if path is None]
    if missing:
        problem = "lacks files of the TREC Web Track" if folder.is_dir() else "is not a folder"
        raise _not_found(f"`data_dir` {folder} {problem}", missing)
    for year, kind in ((year, kind) for year in years for kind in range(2)):
        if found[year][kind].is_dir():
            raise _not_found(f"{found[year][kind]} is a folder, not a file", [(year, kind)])
    return found


def downloaded_files(years: Sequence[str], ir_datasets: Any) -> dict[str, Files]:
    """The files of each year in the folder of `ir_datasets`, which downloads missing ones.

    Raises:
        FileNotFoundError: a download failed, or is forbidden by HF_DATASETS_OFFLINE; says where to
            get the files and where to put them.
    """
    downloads = _downloads(years, ir_datasets)
    lacking = [
        (year, kind)
        for year in years
        for kind, download in enumerate(downloads[year])
        if not os.path.isfile(download.path(force=False))  # noqa: PTH113 - never raises
    ]
    if lacking and datasets.config.HF_DATASETS_OFFLINE:
        raise _not_found("HF_DATASETS_OFFLINE forbids to download the TREC Web Track", lacking)
    for year, kind in lacking:
        try:
            _download(downloads[year][kind])
        except Exception as error:
            problem = f"{_url(year, kind)} was not downloaded ({type(error).__name__}: {error})"
            raise _not_found(problem, lacking) from error
    return {year: Files(*(Path(d.path(force=False)) for d in downloads[year])) for year in years}


def downloaded_hashes(years: Sequence[str], ir_datasets: Any) -> list[str]:
    """MD5 of each file; before its download, the one that `ir_datasets` will check it against."""
    hashes = []
    for download in (d for pair in _downloads(years, ir_datasets).values() for d in pair):
        path = Path(download.path(force=False))
        there = os.path.isfile(path)  # noqa: PTH113 - never raises
        hashes.append(digest(path, "md5") if there else download.expected_md5)
    return hashes


def _find(folder: Path, year: str, kind: int) -> Path | None:
    """The first path that is a file; if there is none, a folder under one of the names."""
    found = [path for path in _places(folder, year, kind) if path.exists()]
    return next((path for path in found if path.is_file()), found[0] if found else None)


def _places(folder: Path, year: str, kind: int) -> Iterator[Path]:
    subfolders = (year, year[2:])
    own, nist = OWN[kind].format(year), NIST[year][kind]
    other = nist.removesuffix(".gz") if nist.endswith(".gz") else f"{nist}.gz"
    for subfolder in ("", *subfolders):
        yield from (folder / subfolder / name for name in (own, f"{own}.gz"))
    for subfolder in (*subfolders, ""):
        yield from (folder / subfolder / name for name in (nist, other))


def _downloads(years: Sequence[str], ir_datasets: Any) -> dict[str, Files]:
    """Downloads of what ir_datasets calls clueweb09/en/trec-web-<year>/diversity."""
    try:
        base = ir_datasets.util.home_path() / "clueweb09"
        context = ir_datasets.util.DownloadConfig.context("clueweb09", base)
        found = {year: Files(*(context[n.format(year)] for n in IR_DATASETS)) for year in years}
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        problem = f"ir_datasets cannot use its folder ({type(error).__name__}: {error})"
        raise _not_found(problem, [(year, kind) for year in years for kind in range(2)]) from error
    return found


def _download(download: Any) -> None:
    path = Path(download.path(force=False))
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):  # ir_datasets writes every unfinished download to the same name
        download.path()


def _not_found(problem: str, missing: list[tuple[str, int]]) -> FileNotFoundError:
    lines = [f"  {_url(year, kind)} as {_target(year, kind)}" for year, kind in missing]
    steps = ["put into a folder", *lines, "and pass data_dir=<that folder>"]
    return FileNotFoundError("\n".join([f"{problem};", *steps]))


def _url(year: str, kind: int) -> str:
    return f"{SITE}/{year[2:]}/{NIST[year][kind]}"


def _target(year: str, kind: int) -> str:
    own, nist = OWN[kind].format(year), NIST[year][kind]
    suffix = ".gz" if nist.endswith(".gz") else ""
    return f"{own}{suffix} or {year[2:]}/{nist}"
