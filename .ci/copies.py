# SPDX-License-Identifier: Apache-2.0
"""Copy what metrics share into the folders that use it: `make copies`.

`evaluate.load` and a Hub Space see one folder alone, so a metric cannot import from above it. What
is shared is written once, in metrics/common/. A file that imports `common_NAME` gets a copy of
metrics/common/NAME.py beside it, and in space/ one of metrics/common/space/NAME.py; the shared
files that this one imports (`from OTHER import x`) are copied with it.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
METRICS = ROOT / "metrics"
COMMON = METRICS / "common"
PREFIX = "common_"
COPY_IMPORT = re.compile(rf"^(?:from \.?|import ){PREFIX}(\w+)", re.MULTILINE)
SIBLING_IMPORT = re.compile(r"^(from \.?)(\w+)(?= import )", re.MULTILINE)


def expected_copies() -> dict[Path, bytes]:
    """What each copy must hold, by path."""
    copies = {}
    folders = [path for path in sorted(METRICS.iterdir()) if (path / f"{path.name}.py").exists()]
    for folder in folders:
        for users, sources in ((folder, COMMON), (folder / "space", COMMON / "space")):
            for name in needed(users, sources):
                copies[users / f"{PREFIX}{name}.py"] = copied(sources / f"{name}.py")
    return copies


def needed(users: Path, sources: Path) -> set[str]:
    """The shared modules that the files of a folder import, and those that these import."""
    waiting = []
    for path in sorted(users.glob("*.py")):
        if not path.name.startswith(PREFIX):
            for name in COPY_IMPORT.findall(path.read_text(encoding="utf-8")):
                if not (sources / f"{name}.py").exists():
                    missing = f"{shown(sources)}/{name}.py, which does not exist"
                    sys.exit(f"{shown(path)} imports {PREFIX}{name}, a copy of {missing}.")
                waiting.append(name)
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += siblings(sources / f"{name}.py")
    return found


def siblings(source: Path) -> list[str]:
    """The shared modules that a shared file imports."""
    names = [name for _, name in SIBLING_IMPORT.findall(source.read_text(encoding="utf-8"))]
    return [name for name in names if (source.parent / f"{name}.py").exists()]


def copied(source: Path) -> bytes:
    """The text of a copy: a line that says where to edit, and the source, its siblings renamed."""
    known = siblings(source)

    def renamed(match: re.Match[str]) -> str:
        start, name = match.groups()
        return f"{start}{PREFIX if name in known else ''}{name}"

    text = SIBLING_IMPORT.sub(renamed, source.read_text(encoding="utf-8"))
    head = f"# A copy of {shown(source)}: edit that file, then run `make copies`.\n"
    return (head + text).encode()


def shown(path: Path) -> str:
    """A path as seen from the top of the repository."""
    return path.relative_to(ROOT).as_posix()


def main() -> None:
    """Write the copies, or with --check say which ones are not as they should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if they differ")
    check = parser.parse_args().check
    expected = expected_copies()
    there = {*METRICS.glob(f"*/{PREFIX}*.py"), *METRICS.glob(f"*/space/{PREFIX}*.py")}
    differing = [
        path
        for path in sorted(there | expected.keys())
        if path not in there or path.read_bytes() != expected.get(path)
    ]
    for path in differing:
        print(shown(path))
        if check:
            continue
        if path in expected:
            path.write_bytes(expected[path])
        else:
            path.unlink()
    if check and differing:
        sys.exit(
            "These copies differ from their sources in metrics/common/, or nothing imports them: "
            "edit the source, not the copy, then run `make copies`."
        )


if __name__ == "__main__":
    main()
