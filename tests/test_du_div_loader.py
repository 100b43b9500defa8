# SPDX-License-Identifier: Apache-2.0
"""The DU-DIV loader: the authors' draws, feature files, and every route that `datasets` offers."""

import gzip
import json
import os
import re
import runpy
import shutil
from collections import Counter

import datasets
import pytest
from quotediv.loaders import du_div
from support import ROOT, load

NAME = "query_doc_subtopics_doc15_2.json"
LABELS = {f"{i}": {f"{i}_{j}": [str(j), "9"][: j % 3] for j in range(4)} for i in range(10)}


def write(folder, labels=LABELS, data=None):
    path = folder / NAME
    path.write_bytes(json.dumps(labels).encode() if data is None else data)
    return path


def columns(row):
    return dict(zip(row["doc_ids"], row["subtopics"], strict=True))


def test_every_query_is_in_one_part_and_unchanged(tmp_path):
    write(tmp_path)
    for rule, sizes in (("paper", (8, 2)), ("released", (8, 2))):
        parts = du_div.load(data_dir=tmp_path, split_rule=rule)
        assert (len(parts["train"]), len(parts["test"])) == sizes
        found = {row["query_id"]: columns(row) for part in parts.values() for row in part}
        assert found == LABELS
        train = list(parts["train"]["query_id"])
        assert train == sorted(train, key=list(LABELS).index)


def test_published_splits(shared_data, logged):
    folder = shared_data / "du_div"
    expected = json.loads((folder / "expected.json").read_text())
    labels = json.loads((folder / NAME).read_text())
    paper = du_div.load(data_dir=folder)
    released = du_div.load(data_dir=folder, split_rule="released")
    assert logged == []
    assert [len(paper["train"]), len(paper["test"])] == [3578, 895]
    assert [len(released["train"]), len(released["test"])] == [3579, 894]
    assert list(released["test"]["query_id"]) == expected["test894"]
    assert list(paper["test"]["query_id"]) == [*expected["test894"], expected["test895th"]]
    for parts in (paper, released):
        rest = set(labels) - set(parts["test"]["query_id"])
        assert list(parts["train"]["query_id"]) == [query for query in labels if query in rest]
    assert all(columns(row) == labels[row["query_id"]] for row in paper["test"])


@pytest.mark.parametrize("protocol", ["standard", "released", "recipe"])
def test_scored_test_split_gives_the_expected_means(shared_data, protocol):
    folder = shared_data / "du_div"
    expected = json.loads((folder / "expected.json").read_text())["means"]["file_order"][protocol]
    test = du_div.load("test", data_dir=folder, split_rule="released")
    result = load("search_diversity").compute(
        predictions=test["doc_ids"], references=test, protocol=protocol
    )
    assert result == pytest.approx(expected, abs=1e-9)


@pytest.fixture
def logged(monkeypatch):
    messages = []
    monkeypatch.setattr(du_div.du_div.logger, "warning", messages.append)
    return messages


def test_says_each_time_that_labels_are_not_the_published_ones(tmp_path, logged):
    write(tmp_path)
    for times in (1, 2):
        du_div.load("test", data_dir=tmp_path)
        assert len(logged) == times
        assert logged[-1].startswith("not the published labels: 10 queries, 2 of them drawn")


def changed_order(labels):
    keys = list(labels)
    keys[100], keys[200] = keys[200], keys[100]
    return {key: labels[key] for key in keys}


@pytest.mark.parametrize(
    "change",
    [changed_order, lambda labels: {q: dict(list(d.items())[:3]) for q, d in labels.items()}],
    ids=["two queries swapped", "documents cut"],
)
def test_sees_any_other_draw(shared_data, tmp_path, logged, change):
    labels = json.loads((shared_data / "du_div" / NAME).read_text())
    write(tmp_path, change(labels))
    for rule in ("paper", "released"):
        du_div.load(data_dir=tmp_path, split_rule=rule)
    assert len(logged) == 2


def test_groups_of_the_card(shared_data):
    """Queries by number of subtopics, counted in the published file."""
    path = shared_data / "du_div" / "query_doc_subtopics_doc15_2.json"
    sizes = [
        len({label for labels in docs.values() for label in labels})
        for docs in json.loads(path.read_text(encoding="utf-8")).values()
    ]
    counts = Counter(max(least for least in (1, 7, 10) if least <= size) for size in sizes)
    card = (ROOT / "cards" / "du_div.md").read_text(encoding="utf-8")
    section = " ".join(card.split("## Groups\n")[1].split("\n## ")[0].split())
    assert f"The queries have {min(sizes)} to {max(sizes)} subtopics." in section
    assert f"have {counts[1]:,}, {counts[7]:,} and {counts[10]:,} of the {len(sizes):,}" in section


def test_too_few_queries_to_split(tmp_path):
    path = write(tmp_path, {"1": {"a": ["1"]}, "2": {"b": []}})
    message = f"{path}: expected at least 5 queries to split, got 2"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        du_div.load("train", data_dir=tmp_path)


BAD = [
    pytest.param(
        b'{"1": {"a": []}, "1": {}}', ": expected each key once, got '1' twice", id="query"
    ),
    pytest.param(b'{"1": {"a": [], "a": []}}', ": expected each key once, got 'a' twice", id="doc"),
    pytest.param(b'{"1": {"a": ["1"]', ":1: expected JSON, got ", id="cut"),
    pytest.param(b'{"1": {\n"a": 1.2.3}}', ":2: expected JSON, got ", id="not JSON"),
    pytest.param(b"[]", ": expected a mapping of queries, got list", id="a list"),
    pytest.param(b'{"1": []}', ": expected documents of 1, got list", id="documents"),
    pytest.param(
        b'{"1": {"a": "12"}}',
        ": expected a list of strings for document 'a' of query '1', got '12'",
        id="a string of subtopics",
    ),
    pytest.param(
        b'{"1": {"a": [1]}}',
        ": expected a list of strings for document 'a' of query '1', got [1]",
        id="int subtopics",
    ),
    pytest.param(
        b'{"1":\n{"\xff": []}}', ":2: expected the encoding UTF-8, got byte 0xff", id="UTF-8"
    ),
]


@pytest.mark.parametrize(("data", "message"), BAD)
def test_wrong_bytes(tmp_path, data, message):
    path = write(tmp_path, data=data)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path) + message)}"):
        du_div.load(data_dir=tmp_path)


def test_gzip_and_byte_order_mark(tmp_path):
    path = write(tmp_path, data=gzip.compress(b"\xef\xbb\xbf" + json.dumps(LABELS).encode()))
    path.rename(tmp_path / f"{NAME}.gz")
    assert len(du_div.load("train", data_dir=tmp_path)) == 8
    (tmp_path / f"{NAME}.gz").rename(path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: expected a whole gzip file"):
        du_div.load("train", data_dir=tmp_path)


def test_missing_file_folder_and_rule(tmp_path):
    path = tmp_path / NAME
    missing = f"{path} does not exist; get it from https://raw.githubusercontent.com/chenyiqun/"
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(missing)}"):
        du_div.load(data_dir=tmp_path)
    path.mkdir()
    with pytest.raises(FileNotFoundError, match=re.escape(f"{path} is a folder, not a file; get")):
        du_div.load(data_dir=tmp_path)
    with pytest.raises(
        ValueError, match="^`split_rule` must be 'paper' or 'released', got 'code'$"
    ):
        du_div.load(data_dir=tmp_path, split_rule="code")


def test_offline_says_where_to_get_the_file(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    with pytest.raises(FileNotFoundError, match=f"as {NAME} and pass data_dir="):
        du_div.load()


def test_edited_file_of_the_same_size_and_time_gives_new_rows(tmp_path):
    path = write(tmp_path)
    stamp, data = path.stat(), path.read_bytes()
    assert "0_0" in du_div.load("train", data_dir=tmp_path)[0]["doc_ids"]
    path.write_bytes(data.replace(b'"0_0"', b'"0_7"'))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert path.stat().st_size == stamp.st_size
    assert "0_7" in du_div.load("train", data_dir=tmp_path)[0]["doc_ids"]


def features(folder, queries=LABELS, width=1024):
    docs = [doc for documents in LABELS.values() for doc in documents]
    for name, keys in zip(du_div.du_div.FEATURES, (queries, docs), strict=True):
        vectors = {key: [i + j / 4 for j in range(width)] for i, key in enumerate(keys)}
        (folder / name).write_text(json.dumps(vectors))


def test_features_are_joined(tmp_path):
    write(tmp_path)
    features(tmp_path)
    pair = tuple(tmp_path / name for name in du_div.du_div.FEATURES)
    for given in (tmp_path, str(tmp_path), pair):
        test = du_div.load("test", data_dir=tmp_path, features=given)
        for row in test:
            query = int(row["query_id"])
            assert row["query_features"] == [query + j / 4 for j in range(1024)]
            assert [vector[0] for vector in row["doc_features"]] == [
                4 * query + j for j in range(4)
            ]


def test_wrong_features(tmp_path):
    write(tmp_path)
    query_file = tmp_path / du_div.du_div.FEATURES[0]
    with pytest.raises(FileNotFoundError, match=re.escape(f"{query_file} does not exist; the")):
        du_div.load(data_dir=tmp_path, features=tmp_path)
    features(tmp_path, width=1023)
    message = f"{query_file}: expected 1024 numbers for '0', got 1023 values"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        du_div.load(data_dir=tmp_path, features=tmp_path)
    features(tmp_path, queries=["0"])
    with pytest.raises(ValueError, match=re.escape(f"{query_file}: expected 1024 numbers for '")):
        du_div.load(data_dir=tmp_path, features=tmp_path)


def test_streaming(tmp_path):
    write(tmp_path)
    builder = du_div.DuDiv(config_name="paper", data_dir=str(tmp_path))
    prepared = du_div.load("test", data_dir=tmp_path)
    assert list(builder.as_streaming_dataset("test")) == list(prepared)


@pytest.mark.skipif(datasets.__version__ >= "4", reason="datasets 4 and newer run no scripts")
def test_as_a_loading_script(tmp_path):
    write(tmp_path)
    script = str(shutil.copytree(ROOT / "loaders" / "du_div", tmp_path / "du_div"))
    parts = datasets.load_dataset(script, data_dir=str(tmp_path), trust_remote_code=True)
    assert parts["test"][:] == du_div.load("test", data_dir=tmp_path)[:]


@pytest.mark.parametrize("real", [False, True])
def test_parquet_export_loads_anywhere(tmp_path, request, real):
    if real:
        folder = request.getfixturevalue("shared_data") / "du_div"
    else:
        folder = tmp_path
        write(folder)
    runpy.run_path(str(ROOT / "examples" / "export_datasets.py"))["main"](
        [str(tmp_path / "out"), "--du-div", str(folder)]
    )
    for rule in ("paper", "released"):
        plain = datasets.load_dataset(str(tmp_path / "out" / "du_div"), rule)
        direct = du_div.load(data_dir=folder, split_rule=rule)
        assert {name: part[:] for name, part in plain.items()} == {
            name: part[:] for name, part in direct.items()
        }
        assert plain["test"].features == direct["test"].features
