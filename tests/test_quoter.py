# SPDX-License-Identifier: Apache-2.0
"""The QuoteR loader: bytes in, rows out, on every route that `datasets` offers."""

import gzip
import os
import re
import runpy
import shutil
import subprocess
import sys

import datasets
import numpy as np
import pytest
from quotediv.loaders import quoter
from support import ROOT

OWN = (2, 3)  # boundaries of the files written here
LANGUAGES = ("english", "modern_chinese", "ancient_chinese")


def write(folder, *lines, name="english", end="\n", data=None):
    """A file in the authors' format; lines are written as they are."""
    path = folder / f"{name}.txt"
    path.write_bytes("".join(line + end for line in lines).encode() if data is None else data)
    return path


def rows(folder, config="english", **options):
    """All samples of a file as (left, quote, right), in file order."""
    options = {"boundaries": OWN, "lowercase": False, **options}
    parts = quoter.load(config, data_dir=folder, **options)
    return [
        (row["left_context"], row["quote"], row["right_context"])
        for name in ("train", "validation", "test")
        for row in parts[name]
    ]


LINES = ["a\tQ2\tb", "c\tQ1\td", "e\tQ2\tf", "g\tQ3\th"]

KEPT = [
    pytest.param(['x\t"unclosed\ty'], ("x", '"unclosed', "y"), id="quote mark"),
    pytest.param(['"x\t""q""\t"y'], ('"x', '""q""', '"y'), id="many quote marks"),
    pytest.param(["NA \t null \t None"], ("NA ", " null ", " None"), id="words for nothing"),
    pytest.param(["NA\tnull\tNone"], ("NA", "null", "None"), id="bare words for nothing"),
    pytest.param(["\t\t"], ("", "", ""), id="empty fields"),
    pytest.param(["nan\tN/A\t#N/A"], ("nan", "N/A", "#N/A"), id="more words for nothing"),
    pytest.param(
        ["x\u2028y\tq\u0085\tz\x0b\x0c"], ("x\u2028y", "q\u0085", "z\x0b\x0c"), id="line ends"
    ),
    pytest.param(["x\ry\tq\tz\r"], ("x\ry", "q", "z"), id="carriage returns"),
    pytest.param(["\u3000x\tq\u3000\t z "], ("\u3000x", "q\u3000", " z "), id="blanks at the ends"),
    pytest.param(["\x1c\x1d\tq\x1e\t\x1f"], ("\x1c\x1d", "q\x1e", "\x1f"), id="separators"),
    pytest.param(["x\ufeff\tq\t\ufeff"], ("x\ufeff", "q", "\ufeff"), id="BOM inside"),
    pytest.param(["\\t\t\\n\t\\"], ("\\t", "\\n", "\\"), id="backslashes"),
    pytest.param(["1,5\t007\t1e3"], ("1,5", "007", "1e3"), id="numbers"),
    pytest.param(["\U0001f600\t𠀀\té"], ("\U0001f600", "𠀀", "é"), id="beyond the BMP"),
]


@pytest.mark.parametrize(("line", "fields"), KEPT)
def test_every_character_is_kept(tmp_path, line, fields):
    write(tmp_path, *LINES, *line)
    assert rows(tmp_path)[-1] == fields


def test_crlf_ends_a_line(tmp_path):
    write(tmp_path, *LINES, end="\r\n")
    assert rows(tmp_path) == [tuple(line.split("\t")) for line in LINES]


def test_only_one_carriage_return_is_dropped(tmp_path):
    write(tmp_path, *LINES[:3], "x\tq\tz\r", end="\r\n")
    assert rows(tmp_path)[-1] == ("x", "q", "z\r")


def test_byte_order_mark_is_dropped_at_the_start_only(tmp_path):
    write(tmp_path, data=("\ufeff" + "\n".join(LINES)).encode())
    assert rows(tmp_path)[0] == ("a", "Q2", "b")


@pytest.mark.parametrize("end", ["", "\n"])
def test_final_newline_is_optional(tmp_path, end):
    write(tmp_path, data=("\n".join(LINES) + end).encode())
    assert len(rows(tmp_path)) == 4


def test_gzip_by_name_and_by_content(tmp_path):
    plain = write(tmp_path, *LINES)
    expected = rows(tmp_path)
    plain.write_bytes(gzip.compress(plain.read_bytes()))
    assert rows(tmp_path) == expected
    plain.rename(tmp_path / "english.txt.gz")
    assert rows(tmp_path) == expected


BAD = [
    pytest.param(b"a\tb\tc\nx\ty\tz\tw\n", ":2: expected 3 tab-separated fields, got 4", id="four"),
    pytest.param(b"a\tb\tc\nx\ty\n", ":2: expected 3 tab-separated fields, got 2", id="two"),
    pytest.param(b"a\tb\tc\n\nx\ty\tz\n", ":2: expected 3 tab-separated fields, got 1", id="blank"),
    pytest.param(
        b"a\tb\tc\nx\ty\tz\n\n", ":3: expected 3 tab-separated fields, got 1", id="two ends"
    ),
    pytest.param(b"a\tb\tc\nx\tcut", ":2: expected 3 tab-separated fields, got 2", id="cut"),
    pytest.param(
        b"a\tb\tc\nx\t\xe4\xb8",
        ":2: expected text in the encoding UTF-8, got byte 0xe4 at byte 2 of the line",
        id="cut in a character",
    ),
    pytest.param(
        "一\t二\t三\n".encode("gb18030"),
        ":1: expected text in the encoding UTF-8, got byte 0xb6 at byte 3 of the line",
        id="another encoding",
    ),
    pytest.param(
        "a\tb\tc\n".encode("utf-16"),
        ":1: expected text in the encoding UTF-8, got byte 0xff at byte 0 of the line",
        id="UTF-16",
    ),
    pytest.param(b"", ": expected at least 4 lines, got 0", id="empty"),
    pytest.param(b"a\tb\tc\n" * 3, ": expected at least 4 lines, got 3", id="no test part"),
]


@pytest.mark.parametrize(("data", "message"), BAD)
@pytest.mark.parametrize("config", ["english", "english_quotes"])
def test_wrong_bytes(tmp_path, config, data, message):
    path = write(tmp_path, data=data)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path) + message)}$"):
        quoter.load(config, data_dir=tmp_path, boundaries=OWN)


def test_cut_gzip(tmp_path):
    path = write(tmp_path, data=gzip.compress("\n".join(LINES).encode())[:-12])
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: expected a whole gzip file"):
        quoter.load("english", data_dir=tmp_path, boundaries=OWN)


@pytest.mark.parametrize("language", LANGUAGES)
def test_file_shorter_than_published(tmp_path, language):
    path = write(tmp_path, *LINES, name=language)
    lines = {"english": 113943, "modern_chinese": 36658, "ancient_chinese": 104785}[language]
    message = f"{path}: expected at least {lines} lines, got 4; pass boundaries="
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        quoter.load(language, data_dir=tmp_path)


@pytest.mark.parametrize(
    ("boundaries", "exception"),
    [
        ((3, 2), ValueError),
        ((2, 2), ValueError),
        ((0, 2), ValueError),
        ((-1, 2), ValueError),
        ((1,), TypeError),
        ((1.0, 2), TypeError),
        ((True, 2), TypeError),
        ("ab", TypeError),
        (5, TypeError),
        ({1: 2, 3: 4}, TypeError),
        ((1, 2, 3), TypeError),
    ],
)
def test_wrong_boundaries(tmp_path, boundaries, exception):
    write(tmp_path, *LINES)
    rule = "be ints (train_end, validation_end), 0 < train_end < validation_end, got "
    with pytest.raises(exception, match=f"^{re.escape('`boundaries` must ' + rule)}"):
        quoter.load("english", data_dir=tmp_path, boundaries=boundaries)


def test_boundaries_of_numpy(tmp_path):
    write(tmp_path, *LINES)
    own = (np.int64(2), np.int64(3))
    assert len(quoter.load("english", "test", data_dir=tmp_path, boundaries=own)) == 1


def test_wrong_config_and_lowercase(tmp_path):
    for config in (None, "french", "english_pool"):
        with pytest.raises(ValueError, match="^`config` must be one of english, modern_chinese, "):
            quoter.load(config, data_dir=tmp_path)
    write(tmp_path, *LINES)
    with pytest.raises(TypeError, match="^`lowercase` must be a bool or None, got 'no'$"):
        quoter.load("english", data_dir=tmp_path, boundaries=OWN, lowercase="no")


def test_names_of_folders(tmp_path):
    """datasets and fsspec read "::" as a chain of file systems."""
    folder = tmp_path / "x*?[]#% é"
    folder.mkdir()
    write(folder, *LINES)
    assert rows(folder)[0] == ("a", "Q2", "b")
    message = f"`data_dir` must be a path without '::', got '{tmp_path}/a::b'"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        quoter.load("english", data_dir=tmp_path / "a::b")


@pytest.mark.parametrize(
    ("error", "tries"),
    [(ConnectionError("reset"), 3), (FileNotFoundError("404"), 1)],
    ids=["connection", "not there"],
)
def test_download_is_tried_again(monkeypatch, error, tries):
    pauses = []
    monkeypatch.setattr("time.sleep", pauses.append)

    class Manager:
        calls = 0

        def download(self, url):
            self.calls += 1
            raise error

    manager = Manager()
    builder = quoter.Quoter(config_name="english")
    with pytest.raises(FileNotFoundError, match=r"QuoteR/main/data/english.txt was not downloaded"):
        builder._split_generators(manager)
    assert (manager.calls, len(pauses)) == (tries, tries - 1)


def test_another_length_than_published_is_logged(tmp_path, monkeypatch):
    logged = []
    monkeypatch.setattr(quoter.quoter.logger, "warning", logged.append)
    monkeypatch.setitem(quoter.quoter.BOUNDARIES, "english", OWN)
    path = write(tmp_path, *LINES)
    quoter.load("english", data_dir=tmp_path)
    expected = "has 4 lines, the published file has 126713: rows may be shifted"
    assert logged == [f"{path} {expected}"]


def test_missing_file_and_folder(tmp_path):
    url = "https://raw.githubusercontent.com/thunlp/QuoteR/main/data/english.txt"
    path = tmp_path / "english.txt"
    missing = f"{path} does not exist; get it from {url} and put it there"
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(missing)}$"):
        quoter.load("english", data_dir=tmp_path)
    path.mkdir()
    with pytest.raises(FileNotFoundError, match=re.escape(f"{path} is a folder, not a file; get")):
        quoter.load("english", data_dir=tmp_path)


def test_offline_says_where_to_get_the_file(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    with pytest.raises(FileNotFoundError) as caught:
        quoter.load("modern_chinese")
    for words in ("QuoteR/main/data/modern_chinese.txt", "modern_chinese.txt and pass data_dir="):
        assert words in str(caught.value)


def test_pool_is_sorted_by_code_point_over_all_parts(tmp_path):
    write(tmp_path, "a\tZ\tb", "a\t\U00010000\tb", "a\t\uffff\tb", "a\té\tb", "a\tZ\tb")
    pool = quoter.load(
        "english_quotes", "quotes", data_dir=tmp_path, boundaries=OWN, lowercase=False
    )
    assert list(pool["quote"]) == ["Z", "é", "\uffff", "\U00010000"]
    assert list(pool["quote_id"]) == [0, 1, 2, 3]
    parts = quoter.load("english", data_dir=tmp_path, boundaries=OWN, lowercase=False)
    assert [list(part["quote_id"]) for part in parts.values()] == [[0, 3], [2], [1, 0]]


@pytest.mark.parametrize(
    ("language", "lowercase", "text"),
    [
        ("english", None, "abc i̇"),
        ("english", False, "ABC İ"),
        ("modern_chinese", None, "ABC İ"),
        ("ancient_chinese", True, "abc i̇"),
    ],
)
def test_lowercase(tmp_path, language, lowercase, text):
    write(tmp_path, *["ABC İ\tABC İ\tABC İ"] * 4, name=language)
    options = {"data_dir": tmp_path, "boundaries": OWN, "lowercase": lowercase}
    row = quoter.load(language, "test", **options)[0]
    assert row == {"left_context": text, "quote": text, "right_context": text, "quote_id": 0}
    assert list(quoter.load(f"{language}_quotes", "quotes", **options)["quote"]) == [text]


def test_edited_file_of_the_same_size_and_time_gives_new_rows(tmp_path):
    path = write(tmp_path, *LINES)
    stamp = path.stat()
    assert rows(tmp_path)[0] == ("a", "Q2", "b")
    write(tmp_path, "z\tQ2\tb", *LINES[1:])
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert path.stat().st_size == stamp.st_size
    assert rows(tmp_path)[0] == ("z", "Q2", "b")


def test_streaming(tmp_path):
    write(tmp_path, *LINES)
    builder = quoter.Quoter(
        config_name="english", data_dir=str(tmp_path), boundaries=OWN, lowercase=False
    )
    streamed = list(builder.as_streaming_dataset("test"))
    assert streamed == [{"left_context": "g", "quote": "Q3", "right_context": "h", "quote_id": 2}]


@pytest.mark.skipif(datasets.__version__ >= "4", reason="datasets 4 and newer run no scripts")
def test_as_a_loading_script(tmp_path):
    write(tmp_path, *LINES)
    script = shutil.copytree(ROOT / "loaders" / "quoter", tmp_path / "quoter")
    parts = datasets.load_dataset(
        str(script),
        "english",
        data_dir=str(tmp_path),
        boundaries=OWN,
        trust_remote_code=True,
    )
    assert {name: len(part) for name, part in parts.items()} == {
        "train": 2,
        "validation": 1,
        "test": 1,
    }


def test_parquet_export_loads_anywhere(tmp_path, monkeypatch):
    """Only a Chinese file is there: the card that is written names no other config."""
    monkeypatch.setitem(quoter.quoter.BOUNDARIES, "modern_chinese", OWN)
    write(tmp_path, *LINES, name="modern_chinese")
    runpy.run_path(str(ROOT / "examples" / "export_datasets.py"))["main"](
        [str(tmp_path / "out"), "--quoter", str(tmp_path)]
    )
    out = tmp_path / "out" / "quoter"
    assert not list(out.rglob("*.lock"))
    for config in ("modern_chinese", "modern_chinese_quotes"):
        plain = datasets.load_dataset(str(out), config)
        direct = quoter.load(config, data_dir=tmp_path)
        assert {name: part[:] for name, part in plain.items()} == {
            name: part[:] for name, part in direct.items()
        }
        assert {part.features == direct[name].features for name, part in plain.items()} == {True}
    assert datasets.load_dataset(str(out)).keys() == {"train", "validation", "test"}


SCRIPT = """
import sys
from quotediv.loaders import quoter
parts = quoter.load("english", data_dir=sys.argv[1], boundaries=(2, 3))
print([row["quote_id"] for part in parts.values() for row in part])
"""


def start(tmp_path, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def test_two_processes_prepare_at_once(tmp_path):
    write(tmp_path, *LINES * 2000)
    expected = [1, 0, 1, 2] * 2000
    for process in [start(tmp_path, HF_HOME=str(tmp_path / "hf")) for _ in range(2)]:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert out.strip() == str(expected)


def test_plain_ascii_locale(tmp_path):
    write(tmp_path, "一\t二\t三", *LINES)
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    process = start(tmp_path, **environment)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out.strip() == "[3, 1, 0, 1, 2]"


@pytest.mark.parametrize("option", ["--quoter", "--trec-web"])
def test_export_of_an_empty_folder(tmp_path, option):
    pytest.importorskip("ir_datasets")
    main = runpy.run_path(str(ROOT / "examples" / "export_datasets.py"))["main"]
    with pytest.raises(FileNotFoundError, match="holds none of the source files$"):
        main([str(tmp_path / "out"), option, str(tmp_path)])
