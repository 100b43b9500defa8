# SPDX-License-Identifier: Apache-2.0
"""Prepare QuoteR files of the published size: time against `load_dataset("csv")`, memory, rows.

    python benchmarks/prepare_quoter.py [--repeats 3]

The text is made up; its lengths are those of two or three sentences. Prints a line a language.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Lines: train, validation and a test part; quotes in the pool.
SIZES = {
    "english": (101_171, 12_771, 12_000, 6_108),
    "modern_chinese": (32_472, 4_185, 4_000, 3_004),
    "ancient_chinese": (93_031, 11_753, 11_000, 4_438),
}
CSV = """
import sys, datasets
datasets.load_dataset("csv", data_files=sys.argv[1], sep="\\t", quoting=3, header=None,
                      names=["left_context", "quote", "right_context"], keep_default_na=False)
"""
QUOTER = """
import sys
from quotediv.loaders import quoter
quoter.load(sys.argv[2], data_dir=sys.argv[1])
"""
IMPORT = "import datasets, fsspec, gzip"


def write(folder: Path, language: str) -> Path:
    """A file of the published size."""
    rng = random.Random(language)
    alphabet = "abcdefghijklmnopqrstuvwxyz" if language == "english" else "春夏秋冬山水花鳥風月"
    words = ["".join(rng.choices(alphabet, k=rng.randint(2, 9))) for _ in range(20_000)]
    *parts, pool = SIZES[language]
    quotes = [" ".join(rng.choices(words, k=12)) + f" {i}" for i in range(pool)]
    path = folder / f"{language}.txt"
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for i in range(sum(parts)):
            left, right = (" ".join(rng.choices(words, k=rng.randint(20, 60))) for _ in "lr")
            out.write(f"{left}\t{quotes[i % pool]}\t{right}\n")
    return path


def run(code: str, *arguments: str) -> tuple[float, float]:
    """Seconds and peak MB of a fresh process with an empty cache."""
    with tempfile.TemporaryDirectory() as home:
        start = time.perf_counter()
        report = "\nprint(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
        done = subprocess.run(
            [sys.executable, "-c", code + report, *arguments],
            env={**os.environ, "HF_HOME": home, "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        return time.perf_counter() - start, int(done.stdout.split()[-1]) / 1024


def check_rows(path: Path, language: str) -> int:
    """Compare every row of every split with its line of the file; the number of rows."""
    from quotediv.loaders import quoter

    rows = 0
    parts = quoter.load(language, data_dir=path.parent, lowercase=False)
    pool = quoter.load(f"{language}_quotes", "quotes", data_dir=path.parent, lowercase=False)
    quotes = pool["quote"][:]
    with path.open(encoding="utf-8", newline="\n") as lines:
        for name, size in zip(parts, SIZES[language], strict=False):
            if len(parts[name]) != size:
                raise ValueError(f"{language} {name}: {len(parts[name])} rows, expected {size}")
            for row, line in zip(parts[name], lines, strict=False):
                fields = [row["left_context"], row["quote"], row["right_context"]]
                if "\t".join(fields) != line.rstrip("\n") or quotes[row["quote_id"]] != fields[1]:
                    raise ValueError(f"{language} {name}: row {rows} is not its line")
                rows += 1
    return rows


def main() -> None:
    """Print a line a language."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    base = run(IMPORT)[1]
    print(f"added memory is over {base:.0f} MB of the imports; medians of {repeats} runs")
    with tempfile.TemporaryDirectory() as folder:
        for language in SIZES:
            path = write(Path(folder), language)
            ours = [run(QUOTER, str(path.parent), language) for _ in range(repeats)]
            csv = [run(CSV, str(path)) for _ in range(repeats)]
            seconds, peer = (statistics.median(t for t, _ in runs) for runs in (ours, csv))
            print(
                f"{language:16} {path.stat().st_size / 1e6:5.0f} MB  quoter {seconds:5.1f} s"
                f"  csv {peer:5.1f} s  ratio {seconds / peer:.2f}"
                f"  added memory {max(m for _, m in ours) - base:4.0f} MB"
                f"  rows equal to their lines {check_rows(path, language):,}"
            )


if __name__ == "__main__":
    main()
