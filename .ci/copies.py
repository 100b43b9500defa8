# SPDX-License-Identifier: Apache-2.0
"""Copy what metrics share into the folders that use it: `make copies`.

`evaluate.load` and a Hub Space see one folder alone, so a metric cannot import from above it. What
is shared is written once, in metrics/common/, and a file that imports `common_NAME` gets a copy of
metrics/common/NAME.py beside it (in space/, of metrics/common/space/NAME.py), with all that the
copy imports.
"""

import argparse
import re
import sys
from pathlib import Path

METRICS = Path(__file__).resolve().parent.parent / "metrics"
COMMON = METRICS / "common"
PREFIX = "common_"
IMPORT = re.compile(r"^((?:from|import) \.?)(\w+)", re.MULTILINE)  # of a sibling, at column 0


def expected_copies(metrics: Path = METRICS) -> dict[Path, str]:
    """What each copy must hold, by path."""
    copies = {}
    for folder in sorted(path.parent for path in metrics.glob("*/requirements.txt")):
        for users, sources in ((folder, COMMON), (folder / "space", COMMON / "space")):
            for name in needed(users, sources):
                copies[users / f"{PREFIX}{name}.py"] = copied(sources / f"{name}.py")
    return copies


def needed(users: Path, sources: Path) -> list[str]:
    """The shared modules that the files of a folder import, and those that these import."""
    own = [path for path in users.glob("*.py") if not path.name.startswith(PREFIX)]
    found: set[str] = set()
    new = {
        name.removeprefix(PREFIX)
        for path in own
        for name in imported(path)
        if name.startswith(PREFIX)
    }
    while new:
        found |= new
        siblings = {name for known in new for name in imported(sources / f"{known}.py")}
        new = {name for name in siblings if (sources / f"{name}.py").exists()} - found
    return sorted(found)


def imported(path: Path) -> list[str]:
    """Names of the modules that a file imports at column 0."""
    return [name for _, name in IMPORT.findall(path.read_text(encoding="utf-8"))]


def copied(source: Path) -> str:
    """The text of a copy: a line that says where to edit, and the source, its siblings renamed."""

    def renamed(match: re.Match[str]) -> str:
        start, name = match.groups()
        return f"{start}{PREFIX if (source.parent / f'{name}.py').exists() else ''}{name}"

    place = source.relative_to(METRICS.parent).as_posix()
    text = IMPORT.sub(renamed, source.read_text(encoding="utf-8"))
    return f"# A copy of {place}: edit that file, then run `make copies`.\n{text}"


def main() -> None:
    """Write the copies, or with --check say which ones are not as they should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if they differ")
    check = parser.parse_args().check
    expected = expected_copies()
    there = set(METRICS.glob(f"*/{PREFIX}*.py")) | set(METRICS.glob(f"*/space/{PREFIX}*.py"))
    differing = sorted(
        path
        for path in there | expected.keys()
        if path not in there or path.read_text(encoding="utf-8") != expected.get(path)
    )
    for path in differing:
        print(path.relative_to(METRICS.parent).as_posix())
        if check:
            continue
        if path in expected:
            path.write_text(expected[path], encoding="utf-8")
        else:
            path.unlink()
    if check and differing:
        sys.exit(
            "These copies differ from their sources in metrics/common/: edit the source, not the "
            "copy, then run `make copies`."
        )


if __name__ == "__main__":
    main()
