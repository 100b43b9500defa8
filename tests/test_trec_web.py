# SPDX-License-Identifier: Apache-2.0
"""The loader of the TREC Web Track: what it reads, refuses, finds, caches and exports."""

import gzip
import hashlib
import importlib.util
import json
import os
import random
import re
import shutil
import socket
import sys
import tracemalloc
from collections import Counter, defaultdict
from pathlib import Path
from xml.etree import ElementTree

import datasets
import numpy as np
import pytest
from quotediv.loaders import trec_web
from support import ROOT, finish, recorded, run_python, start_python

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ir_datasets") is None, reason="needs ir_datasets: quotediv[trec]"
)

COLUMNS = ["query_id", "query", "description", "type", "doc_ids", "subtopics"]
REAL = {"2009": 50, "2010": 48}
FIRST_TOPIC = {"2009": 1, "2010": 51, "2011": 101, "2012": 151}
NIST = {
    "2009": ("wt09.topics.full.xml", "qrels.diversity.gz"),
    "2010": ("wt2010-topics.xml", "10.diversity-qrels.final"),
    "2011": ("full-topics.xml", "qrels.diversity"),
    "2012": ("full-topics.xml", "qrels.diversity"),
}
TOPICS = """\
<?xml version="1.0"?>
<webtrack>
<!-- Types are a general indicator. -->
<topic number="{0}" type="faceted">
  <query>quotes &amp; proverbs</query>
  <description>Find
    quotes.
  </description>
  <subtopic number="1" type="nav">Find one.</subtopic>
  <subtopic number="2" type="inf">Find two.</subtopic>
</topic>
<topic number="{1}" type="ambiguous">
  <query>être</query>
  <description>Find it.</description>
  <subtopic number="1" type="inf">It.</subtopic>
</topic>
</webtrack>
"""
QRELS = """\
{1} 10 d9 1
{1} 2 d9 2
{1} 2 d10 3
{1} 0 é 0
{1} 0 z 0
{0} 1 b 1
{0} 1 a -2
{0} 2 b 0
"""
WORDS = {"query": "quotes & proverbs", "description": "Find quotes.", "type": "faceted"}
ROWS = [
    {**WORDS, "query_id": "1", "doc_ids": ["a", "b"], "subtopics": [[], ["1"]]},
    {
        "query_id": "2",
        "query": "être",
        "description": "Find it.",
        "type": "ambiguous",
        "doc_ids": ["d10", "d9", "z", "é"],
        "subtopics": [["2"], ["2", "10"], [], []],
    },
    *(
        {
            "query_id": str(number),
            "query": f"query {number}",
            "description": f"Find {number}.",
            "type": "faceted",
            "doc_ids": [f"doc{number}"],
            "subtopics": [["1"]],
        }
        for number in range(3, 51)
    ),
]
A_RUN = "1 Q0 b 1 0 t\n2 Q0 d9 1 0 t\n" + "".join(f"{n} Q0 doc{n} 1 0 t\n" for n in range(3, 51))
OTHERS = {row["query_id"]: row["doc_ids"] for row in ROWS[2:]}
TOPIC = """\
<topic number="{0}" type="faceted">
  <query>query {0}</query>
  <description>Find {0}.</description>
  <subtopic number="1" type="inf">It.</subtopic>
</topic>
"""


def complete(text, year="2009"):
    """The two topics of a text with those that a year has beside them."""
    first = FIRST_TOPIC[year]
    others = range(first + 2, first + 50)
    text = text.format(first, first + 1)
    if "</webtrack>" in text:
        topics = "".join(map(TOPIC.format, others))
        return text.replace("</webtrack>", f"{topics}</webtrack>").encode()
    lines = [f"{n} 1 doc{n} 1\n" for n in others if n not in (95, 100)]
    return (text + "".join(lines)).encode()


def write(folder, year="2009", *, topics=TOPICS, qrels=QRELS, names=None):
    """A folder with files of a year, under names of ours or those given."""
    names = names or (f"{year}.topics.full.xml", f"{year}.qrels.diversity")
    for name, text in zip(names, (topics, qrels), strict=True):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = complete(text, year) if isinstance(text, str) else text
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


@pytest.fixture(autouse=True)
def _home_of_ir_datasets(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path_factory.mktemp("ir_datasets")))


@pytest.fixture
def no_network(monkeypatch):
    """Whoever opens a connection or asks for an address is recorded and fails."""
    tried = []

    def refuse(*args, **kwargs):
        tried.append(args)
        raise OSError("no network here")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return tried


@pytest.fixture
def files(tmp_path):
    return write(tmp_path / "files")


@pytest.fixture(scope="session")
def real(shared_data):
    return shared_data / "trec_web"


# What it reads


def test_rows(files):
    topics = trec_web.load(2009, data_dir=files)
    assert topics.column_names == COLUMNS
    assert list(topics) == ROWS


@pytest.mark.parametrize("year", [2011, "2012", np.int64(2011)])
def test_a_year_is_an_int_or_a_str(tmp_path, year):
    topics = trec_web.load(year, data_dir=write(tmp_path, str(year)))
    first = FIRST_TOPIC[str(year)]
    assert topics["query_id"][:] == [str(number) for number in range(first, first + 50)]


def test_no_year_is_all_years_in_the_order_of_the_topics(tmp_path):
    for year in reversed(NIST):
        write(tmp_path, year)
    topics = trec_web.load(data_dir=tmp_path)
    judged = [number for number in range(1, 201) if number not in (95, 100)]
    assert topics["query_id"][:] == list(map(str, judged))


SPELLINGS = {
    "gzip": gzip.compress,
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "BOM": lambda data: b"\xef\xbb\xbf" + data,
    "no newline at the end": bytes.strip,
    "blank lines at the end": lambda data: data + b"\n \n",
    "gzip in two members": lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_of_the_same_files(tmp_path, spelling):
    topics, qrels = (SPELLINGS[spelling](complete(text)) for text in (TOPICS, QRELS))
    assert list(trec_web.load(2009, data_dir=write(tmp_path, topics=topics, qrels=qrels))) == ROWS


def test_tabs_and_an_identical_line_twice(tmp_path):
    text = (QRELS + QRELS.splitlines(keepends=True)[0]).replace(" ", "\t")
    assert list(trec_web.load(2009, data_dir=write(tmp_path, qrels=text))) == ROWS


@pytest.mark.parametrize("year", REAL)
def test_real_files_as_a_plain_reading_has_them(real, year):
    root = ElementTree.parse(real / f"{year}.topics.full.xml").getroot()
    words = {
        topic.get("number"): [
            *(" ".join(topic.findtext(tag).split()) for tag in COLUMNS[1:3]),
            topic.get("type"),
        ]
        for topic in root
    }
    judged, labels = defaultdict(set), defaultdict(set)
    for line in (real / f"{year}.qrels.diversity").read_text(encoding="ascii").splitlines():
        topic, subtopic, doc, judgement = line.split()
        judged[topic].add(doc)
        if int(judgement) > 0:
            labels[topic, doc].add(int(subtopic))
    topics = trec_web.load(year, data_dir=real)
    assert topics["query_id"][:] == sorted(judged, key=int)
    assert len(topics) == REAL[year]
    for row in topics:
        topic = row["query_id"]
        assert [row["query"], row["description"], row["type"]] == words[topic]
        assert row["doc_ids"] == sorted(judged[topic], key=str.encode)
        found = [list(map(int, subtopics)) for subtopics in row["subtopics"]]
        assert found == [sorted(labels[topic, doc]) for doc in row["doc_ids"]]


@pytest.mark.parametrize("year", REAL)
def test_real_runs_score_as_ndeval_says(real, search_diversity, year):
    expected = json.loads((real / "expected_ndeval.json").read_text(encoding="utf-8"))[year]
    topics = trec_web.load(year, data_dir=real)
    run = trec_web.read_run(real / f"indri.{year}.run")
    predictions, _ = recorded(lambda: trec_web.align(run, topics))
    result, _ = recorded(
        lambda: search_diversity.compute(predictions=predictions, references=topics, per_query=True)
    )
    per_query = result.pop("per_query")
    assert {key: f"{value:.6f}" for key, value in result.items()} == {
        key: f"{value:.6f}" for key, value in expected["mean"].items()
    }
    for i, topic in enumerate(topics["query_id"]):
        for key, value in expected["topics"][topic].items():
            assert f"{per_query[key][i]:.6f}" == f"{value:.6f}", (topic, key)


def test_topics_95_and_100_are_known_to_have_no_judgements(real, caplog):
    assert not {"95", "100"} & set(trec_web.load(2010, data_dir=real)["query_id"])
    assert not caplog.text


def test_only_ascii_blanks_part_columns(tmp_path):
    docs = ["a\u00a0b", "a\u0085b", "a\u2028b", "a\x0bb", "a\x1cb"]
    lines = "".join(f"{{0}} 1 {doc} 1\n" for doc in docs)
    topics = trec_web.load(2009, data_dir=write(tmp_path, qrels=QRELS + lines))
    assert topics[0]["doc_ids"] == sorted(["a", "b", *docs])


def test_only_ascii_blanks_of_a_query_become_spaces(tmp_path):
    text = TOPICS.replace("être", "\u00a0être\t \n là\u0085")
    topics = trec_web.load(2009, data_dir=write(tmp_path, topics=text))
    assert topics[1]["query"] == "\u00a0être là\u0085"


@pytest.mark.parametrize(
    ("attribute", "doctype", "expected"),
    [
        ("", "", "ambiguous"),
        (' type="other"', "", "other"),
        ("", '<!DOCTYPE w [<!ATTLIST topic type (ambiguous|faceted|other) "faceted">]>', "faceted"),
    ],
    ids=["none", "other", "the default of the file"],
)
def test_the_type_of_a_topic(tmp_path, attribute, doctype, expected):
    text = TOPICS.replace(' type="faceted"', attribute).replace(
        "\n<webtrack", f"{doctype}<webtrack"
    )
    topics = trec_web.load(2009, data_dir=write(tmp_path, topics=text))
    assert topics["type"][:3] == [expected, "ambiguous", "faceted"]


# What it refuses

XML = "<t><topic number='1'><query>q</query></topic>{}</t>"
LONG = b"9" * 5000
NOT_NATURAL = ":2: expected a natural number without leading zeros, of at most 18 digits as "
BROKEN_QRELS = [
    (
        "contradiction",
        b"1 1 a 1\n1 2 a 0\n1 1 a 0\n",
        ":3: judgement 0 of topic 1, subtopic 1, document a contradicts 1 in line 1",
    ),
    (
        "three columns",
        b"1 1 a 1\n1 a 1\n",
        ":2: expected 4 columns (topic, subtopic, document, judgement), got 3",
    ),
    ("a blank line", b"1 1 a 1\n\n1 1 b 1\n", ":2: expected 4 columns"),
    ("an empty file", b"", ":1: expected 4 columns"),
    ("cut in a line", b"1 1 a 1\n1 1 b", ":2: expected 4 columns"),
    ("cut in a judgement", b"1 1 a 1\n1 1 b -", ":2: expected an integer as judgement, got '-'"),
    ("lone CR", b"1 1 a 1\r1 1 b 1\r", ":1: expected 4 columns"),
    ("judgement 1.5", b"1 1 a 1.5\n", ":1: expected an integer as judgement, got '1.5'"),
    ("judgement 1_0", b"1 1 a 1_0\n", ":1: expected an integer as judgement, got '1_0'"),
    *(
        (f"subtopic {number}", f"1 1 a 1\n1 {number} a 1\n".encode(), NOT_NATURAL + got)
        for number, got in {"01": "subtopic, got '01'", "00": "subtopic, got '00'"}.items()
    ),
    ("topic 01", b"1 1 a 1\n01 2 a 1\n", NOT_NATURAL + "topic, got '01'"),
    ("long topic", b"1 1 a 1\n%s 1 a 1\n" % LONG, NOT_NATURAL + f"topic, got '{'9' * 60}...'"),
    ("long subtopic", b"1 1 a 1\n1 %s a 1\n" % LONG, NOT_NATURAL + "subtopic, got '999"),
    (
        "long judgement",
        b"1 1 a 1\n1 1 b %s\n" % LONG,
        ":2: expected an integer of at most 18 digits as judgement, got '999",
    ),
    ("Arabic digits", "1 1 a ١\n".encode(), ":1: expected an integer as judgement, got '١'"),
    ("subtopic x", b"1 x a 1\n", ":1: expected a natural number as subtopic, got 'x'"),
    ("topic x", b"x 1 a 1\n", ":1: expected a natural number as topic, got 'x'"),
    (
        "another year",
        b"1 1 a 1\n151 1 a 1\n",
        ":2: expected topics 1 to 50 of 2009, got topic 151 of 2012",
    ),
    (
        "Latin-1",
        b"1 1 a 1\n1 1 \xe9 1\n",
        ":2: expected text in the encoding UTF-8, got byte 0xe9",
    ),
    (
        "gzip cut",
        gzip.compress(b"1 1 a 1\n" * 9, mtime=0)[:-9],
        ":10: expected a whole gzip file, got ",
    ),
]
BROKEN_TOPICS = [
    ("UTF-16", TOPICS.encode("utf-16"), ":1: expected text in the encoding UTF-8"),
    ("no gzip", b"\x1f\x8bno gzip", ":1: expected a whole gzip file, got "),
    ("cut", complete(TOPICS)[:300], ":10: expected topics in XML, got "),
    ("no XML", b"1:quotes\n", ":1: expected topics in XML, got "),
    ("empty", b"", ":1: expected topics in XML, got no element found"),
    ("no topics", b"<t/>", ":1: expected topics, got none"),
    (
        "another year",
        TOPICS.format(101, 102).encode(),
        ":4: expected topics 1 to 50 of 2009, got topic 101 of 2011",
    ),
    (
        "no number",
        b"<t>\n<topic type='x'/></t>",
        ':2: expected <topic number="...">, got <topic type="x">',
    ),
    ("another element", XML.format("<top/>").encode(), ":1: expected <topic"),
    (
        "topic twice",
        XML.format("\n<topic number='1'/>").encode(),
        ":2: topic 1 is in line 1 already",
    ),
    (
        "no query",
        b"<t>\n<topic number='1'><query> </query></topic></t>",
        ":2: expected a topic with a query, got none",
    ),
    (
        "another type",
        b"<t>\n<topic number='1' type='Faceted'><query>q</query></topic></t>",
        ":2: expected a topic of type ambiguous, faceted, other, got 'Faceted'",
    ),
    (
        "a subtopic without type",
        b"<t><topic number='1'>\n<subtopic number='1'/></topic></t>",
        ":2: expected a subtopic with number and type",
    ),
    *(
        (name, b"<t>\n<topic number='%s'><query>q</query></topic></t>" % number, message)
        for name, number, message in [
            ("topic 01", b"01", NOT_NATURAL + "topic, got '01'"),
            ("a long number", LONG, NOT_NATURAL + f"topic, got '{'9' * 60}...'"),
            ("topic x", b"x", ":2: expected a natural number as topic, got 'x'"),
        ]
    ),
    *(
        (
            f"two of {tag}",
            f"<t><topic number='1'><query>q</query><{tag}/>\n<{tag}>r</{tag}></topic></t>".encode(),
            message,
        )
        for tag, message in {
            "query": ":1: expected one <query> a topic, got a second one",
            "description": ":2: expected one <description> a topic, got a second one",
        }.items()
    ),
    (
        "a judged topic lacks",
        XML.format("").encode(),
        ": expected all 50 judged topics, got none with number 2",
    ),
]


def refused(folder, name, message):
    with pytest.raises(ValueError, match=re.escape(f"{folder / name}{message}")):
        trec_web.load(2009, data_dir=folder)


@pytest.mark.parametrize(("case", "data", "message"), BROKEN_QRELS)
def test_broken_judgements_are_refused_by_file_and_line(tmp_path, case, data, message):
    refused(write(tmp_path, qrels=data), "2009.qrels.diversity", message)


@pytest.mark.parametrize(("case", "data", "message"), BROKEN_TOPICS)
def test_broken_topics_are_refused_by_file_and_line(tmp_path, case, data, message):
    refused(write(tmp_path, topics=data), "2009.topics.full.xml", message)


@pytest.mark.parametrize(("year", "n_judged"), {"2009": 50, "2010": 48, "2012": 50}.items())
def test_judgements_that_are_cut_between_topics_are_named_at_each_load(
    tmp_path, monkeypatch, year, n_judged
):
    logged = []
    monkeypatch.setattr(trec_web.trec_web.logger, "warning", logged.append)
    first = FIRST_TOPIC[year]
    write(tmp_path, year)
    trec_web.load(year, data_dir=tmp_path)
    assert logged == []
    path = tmp_path / f"{year}.qrels.diversity"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if int(line.split()[0]) < first + 24))
    for times in (1, 2):
        assert len(trec_web.load(year, data_dir=tmp_path)) == 24
        assert len(logged) == times
    assert logged[0] == (
        f"not the published topics: {n_judged - 24} of the {n_judged} judged topics of {year} are "
        "missing, 0 are others"
    )


def test_a_topic_that_nobody_judged_is_named(tmp_path, monkeypatch):
    logged = []
    monkeypatch.setattr(trec_web.trec_web.logger, "warning", logged.append)
    write(tmp_path, "2010", qrels=QRELS + "95 1 a 1\n")
    assert len(trec_web.load(2010, data_dir=tmp_path)) == 49
    assert "0 of the 48 judged topics of 2010 are missing, 1 are others" in logged[0]


def test_a_folder_given_for_a_file(files):
    (files / "2009.qrels.diversity").unlink()
    (files / "2009.qrels.diversity").mkdir()
    with pytest.raises(
        FileNotFoundError, match=r"2009\.qrels\.diversity is a folder, not a file"
    ) as e:
        trec_web.load(2009, data_dir=files)
    assert "https://trec.nist.gov/data/web/09/qrels.diversity.gz as 2009." in str(e.value)
    assert "wt09" not in str(e.value)
    (files / "09").mkdir()
    (files / "09" / "qrels.diversity").write_bytes(complete(QRELS))
    assert list(trec_web.load(2009, data_dir=files)) == ROWS


@pytest.mark.parametrize("year", [2008, 2013, "09", "all", 2009.0, True, ""])
def test_wrong_years(year):
    rule = "`year` must be one of 2009, 2010, 2011, 2012, or None for all, got "
    with pytest.raises(ValueError, match=re.escape(rule + repr(year))):
        trec_web.load(year)


OPTIONS = [
    ({"n_docs": 0}, ValueError, "`n_docs` must be an int >= 1, got 0"),
    ({"n_docs": 1.0}, TypeError, "`n_docs` must be an int >= 1, got 1.0"),
    ({"n_docs": True}, TypeError, "`n_docs` must be an int >= 1, got True"),
    ({"seed": "x"}, TypeError, "`seed` must be an int, got 'x'"),
    ({"fold": 3}, TypeError, "`fold` must be two ints (i, m) with 0 <= i < m and m >= 2, got 3"),
    ({"fold": (2, 2)}, ValueError, "`fold` must be two ints (i, m) with 0 <= i < m and m >= 2, "),
    ({"fold": (-1, 2)}, ValueError, "`fold` must be two ints"),
    ({"fold": (0, 1)}, ValueError, "`fold` must be two ints"),
    ({"fold": (0, 1.5)}, TypeError, "`fold` must be two ints (i, m) with 0 <= i < m and m >= 2, "),
    ({"fold": (0.0, 2)}, TypeError, "`fold` must be two ints (i, m) with 0 <= i < m and m >= 2, "),
    ({"fold": (True, 2)}, TypeError, "`fold` must be two ints (i, m)"),
    ({"fold": (0, 51)}, ValueError, "`fold` must have m <= 50, the number of topics, got (0, 51)"),
    ({"candidates": 3}, TypeError, "`candidates` must be the path of a run, or a mapping query_id"),
    ({"candidates": {"1": "a"}}, TypeError, "`candidates` must be the path of a run, or a mapping"),
    ({"candidates": {1: ["a"]}}, TypeError, "`candidates` must be the path of a run, or a mapping"),
    (
        {"candidates": {"1": ["a", "b", "a"]}},
        ValueError,
        "`candidates` must name no document twice in a query, got 'a'; see query 1",
    ),
    (
        {"candidates": {"1": ["a"], "2": []}},
        ValueError,
        "`candidates` must have documents for every topic, got none for 49 of 50, first 2",
    ),
    ({"candidates": "no.run"}, FileNotFoundError, "no.run does not exist"),
]


@pytest.mark.parametrize(("options", "exception", "message"), OPTIONS)
def test_wrong_options(files, options, exception, message):
    with pytest.raises(exception, match=re.escape(message)):
        trec_web.load(2009, data_dir=files, **options)


# Where files are found


@pytest.mark.parametrize("zipped", ["as published", "the other way"])
@pytest.mark.parametrize("folder", ["", "{0}/", "{1}/"], ids=["here", "by year", "as at NIST"])
@pytest.mark.parametrize("own", [True, False], ids=["names of ours", "names of NIST"])
@pytest.mark.parametrize("year", NIST)
def test_names(tmp_path, year, own, folder, zipped):
    names = (f"{year}.topics.full.xml", f"{year}.qrels.diversity") if own else NIST[year]
    if zipped == "the other way":
        names = [n.removesuffix(".gz") if n.endswith(".gz") else f"{n}.gz" for n in names]
    write(tmp_path, year, names=[folder.format(year, year[2:]) + name for name in names])
    assert len(trec_web.load(year, data_dir=tmp_path)) == REAL.get(year, 50)


def test_a_file_of_another_year_under_the_same_name_is_refused(tmp_path):
    write(tmp_path, "2012", names=NIST["2012"])
    assert len(trec_web.load(2012, data_dir=tmp_path)) == 50
    with pytest.raises(ValueError, match=r"full-topics\.xml:4: expected topics 101 to 150 of 2011"):
        trec_web.load(2011, data_dir=tmp_path)


def test_names_that_tell_the_year_come_first(tmp_path):
    for year in ("2009", "2012"):
        write(tmp_path, year, names=NIST[year])  # qrels.diversity.gz and qrels.diversity
    write(tmp_path, "2011", names=[f"11/{name}" for name in NIST["2011"]])
    for year in ("2009", "2011", "2012"):
        assert trec_web.load(year, data_dir=tmp_path)["query_id"][0] == str(FIRST_TOPIC[year])


def test_the_message_of_a_missing_file_is_enough_to_get_going(files, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        trec_web.load(data_dir=files)
    for year, names in NIST.items():
        for name in names:
            url = f"https://trec.nist.gov/data/web/{year[2:]}/{name}"
            assert (f"{url} as {year}." in str(caught.value)) == (year != "2009"), url
    with pytest.raises(FileNotFoundError, match=r"is not a folder;"):
        trec_web.load(2009, data_dir=tmp_path / "none")
    # Following the message is enough.
    (source, name) = re.findall(r"\S+/12/(\S+) as (\S+)", str(caught.value))[0]
    assert (source, name) == ("full-topics.xml", "2012.topics.full.xml")


def test_offline_without_files_tries_nothing(no_network):
    with pytest.raises(FileNotFoundError) as caught:
        trec_web.load(2009)
    for fragment in (
        "HF_DATASETS_OFFLINE",
        "https://trec.nist.gov/data/web/09/wt09.topics.full.xml as 2009.topics.full.xml",
        "https://trec.nist.gov/data/web/09/qrels.diversity.gz as 2009.qrels.diversity.gz",
        "data_dir",
    ):
        assert fragment in str(caught.value)
    assert not no_network


def test_a_failed_download_says_where_to_get_the_files(no_network, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", False)
    monkeypatch.setenv("IR_DATASETS_DL_TRIES", "1")
    with pytest.raises(FileNotFoundError, match=r"wt2010-topics\.xml was not downloaded") as caught:
        trec_web.load(2010)
    assert "10.diversity-qrels.final as 2010.qrels.diversity" in str(caught.value)
    assert no_network


def test_what_ir_datasets_has_is_used_offline(no_network):
    folder = f"{os.environ['IR_DATASETS_HOME']}/clueweb09/trec-web-2009"
    write(Path(folder), names=("queries.xml", "qrels.all.gz"))
    assert list(trec_web.load(2009)) == ROWS
    assert not no_network


def test_the_real_files_are_those_that_ir_datasets_downloads(real):
    import ir_datasets

    config = ir_datasets.util.DownloadConfig.context("clueweb09", "unused")
    for name, key in {
        "2009.topics.full.xml": "trec-web-2009/queries",
        "2010.topics.full.xml": "trec-web-2010/queries",
        "2010.qrels.diversity": "trec-web-2010/qrels.all",
    }.items():
        found = hashlib.md5((real / name).read_bytes()).hexdigest()
        assert found == config[key].expected_md5, name


def test_without_ir_datasets_it_says_what_to_install(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    for data_dir in (files, None):
        with pytest.raises(ImportError, match=re.escape("pip install quotediv[trec]")):
            trec_web.load(2009, data_dir=data_dir, n_docs=1)


NO_HOME = """
import os
import sys
from pathlib import Path
from quotediv.loaders import trec_web
homes = sys.argv[2:]
for name in ("HOME", "IR_DATASETS_HOME", "IR_DATASETS_TMP"):
    os.environ.pop(name, None)
    os.environ |= {name: homes.pop(0)} if homes else {}
before = dict(os.environ)
print(len(trec_web.load(2009, data_dir=sys.argv[1])))
import ir_datasets
print(ir_datasets.__name__, dict(os.environ) == before)
"""
NO_HOME_NO_FILES = """
import sys
from quotediv.loaders import trec_web
for _ in range(2):
    try:
        trec_web.load(2009)
    except FileNotFoundError as error:
        print(error)
"""


@pytest.mark.parametrize("n_set", [1, 2, 3])
def test_files_on_disk_need_no_home_of_ir_datasets(files, tmp_path, n_set):
    (tmp_path / "file").touch()
    out = run_python(NO_HOME, tmp_path, files, *[tmp_path / "file" / "home"] * n_set)
    assert out.split() == ["50", "ir_datasets", "True"]


@pytest.mark.parametrize("offline", ["0", "1"])
def test_a_home_that_cannot_be_says_where_to_get_the_files(tmp_path, offline):
    (tmp_path / "file").touch()
    homes = {"IR_DATASETS_HOME": str(tmp_path / "file" / "home"), "HF_DATASETS_OFFLINE": offline}
    lines = run_python(NO_HOME_NO_FILES, tmp_path, **homes).splitlines()
    assert lines[:5] == lines[5:]
    assert lines[0].startswith("ir_datasets cannot use its folder (NotADirectoryError: ")
    assert lines[1] == "put into a folder"
    assert "https://trec.nist.gov/data/web/09/wt09.topics.full.xml as 2009.topics" in lines[2]
    assert "https://trec.nist.gov/data/web/09/qrels.diversity.gz as 2009.qrels" in lines[3]
    assert lines[4] == "and pass data_dir=<that folder>"


def test_a_home_that_is_a_file_says_where_to_get_the_files(tmp_path, monkeypatch, no_network):
    (tmp_path / "file").touch()
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "file"))
    for offline in (True, False):
        monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", offline)
        with pytest.raises(FileNotFoundError, match="and pass data_dir=<that folder>"):
            trec_web.load(2009)
    assert not no_network


# Candidates, samples, folds


def test_candidates_order_and_restrict_the_documents(files, tmp_path):
    run = {"2": ["z", "unjudged", "d9"], "1": ["b"], "51": ["x"], **OTHERS}
    topics = trec_web.load(2009, data_dir=files, candidates=run)
    assert topics["doc_ids"][:2] == [["b"], ["z", "unjudged", "d9"]]
    assert topics["subtopics"][:2] == [[["1"]], [[], [], ["2", "10"]]]
    topics = trec_web.load(2009, data_dir=files, candidates=run, n_docs=2)
    assert topics["doc_ids"][:2] == [["b"], ["z", "unjudged"]]
    lines = [f"{q} Q0 {d} {i} {-i} tag\n" for q in run for i, d in enumerate(run[q], 1)]
    (tmp_path / "a.run").write_text("".join(lines), encoding="utf-8")
    topics = trec_web.load(2009, data_dir=files, candidates=tmp_path / "a.run")
    assert topics["doc_ids"][:2] == [["b"], ["z", "unjudged", "d9"]]


def test_candidates_on_real_files(real):
    path = real / "indri.2010.run"
    run = trec_web.read_run(path)
    topics = trec_web.load(2010, data_dir=real, candidates=path, n_docs=30)
    assert topics["doc_ids"][:] == [run[topic][:30] for topic in topics["query_id"]]
    full = trec_web.load(2010, data_dir=real)
    for row, all_docs in zip(topics, full, strict=True):
        labels = dict(zip(all_docs["doc_ids"], all_docs["subtopics"], strict=True))
        assert row["subtopics"] == [labels.get(doc, []) for doc in row["doc_ids"]]


def test_a_sample_of_the_judged_documents(real):
    full, sample = (trec_web.load(2009, data_dir=real, n_docs=n) for n in (None, 30))
    for row, drawn in zip(full, sample, strict=True):
        docs = row["doc_ids"]
        assert drawn["doc_ids"] == sorted(random.Random(0).sample(docs, 30))
        labels = dict(zip(docs, row["subtopics"], strict=True))
        assert drawn["subtopics"] == [labels[doc] for doc in drawn["doc_ids"]]
    other = trec_web.load(2009, data_dir=real, n_docs=30, seed=1)
    assert other["doc_ids"][:] != sample["doc_ids"][:]


def test_a_sample_larger_than_a_topic_is_all_of_it(files):
    assert list(trec_web.load(2009, data_dir=files, n_docs=99)) == ROWS


@pytest.mark.parametrize("m", [2, 5, 50])
def test_each_topic_is_tested_in_one_fold(real, m):
    topics = trec_web.load(2009, data_dir=real)["query_id"][:]
    tested = Counter()
    for i in range(m):
        parts = trec_web.load(2009, data_dir=real, fold=(i, m), seed=7)
        train, test = (parts[name]["query_id"][:] for name in ("train", "test"))
        order = sorted(topics, key=int)
        random.Random(7).shuffle(order)
        assert test == sorted(order[i::m], key=int)
        assert train == [topic for topic in topics if topic not in test]
        tested.update(test)
    assert tested == Counter(topics)


# Builder: caches, streaming, export


@pytest.mark.parametrize("change", ["topics", "qrels", "run"])
def test_an_edited_file_of_the_same_size_and_time_gives_new_rows(files, tmp_path, change):
    run = tmp_path / "a.run"
    run.write_text(A_RUN, encoding="ascii")
    path, old, new = {
        "topics": (files / "2009.topics.full.xml", b"proverbs", b"sayings!"),
        "qrels": (files / "2009.qrels.diversity", b"1 1 b 1", b"1 2 b 1"),
        "run": (run, b"2 Q0 d9", b"2 Q0 zz"),
    }[change]
    if change == "qrels":
        path.write_bytes(path.read_bytes().replace(b"1 2 b 0", b"1 3 b 0"))
    before = list(trec_web.load(2009, data_dir=files, candidates=run))
    assert list(trec_web.load(2009, data_dir=files, candidates=run)) == before
    stat = path.stat()
    path.write_bytes(path.read_bytes().replace(old, new))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_size == stat.st_size
    after = list(trec_web.load(2009, data_dir=files, candidates=run))
    assert after != before


def test_a_prepared_dataset_needs_no_parsing(files, monkeypatch):
    trec_web.load(2009, data_dir=files)
    monkeypatch.setattr(trec_web.TrecWeb, "_generate_examples", None)
    assert list(trec_web.load(2009, data_dir=files)) == ROWS


def test_files_are_hashed_piece_by_piece(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(bytes(1 << 24))
    module = importlib.import_module("quotediv.loaders.reading")
    tracemalloc.start()
    found = module.digest(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == hashlib.sha256(bytes(1 << 24)).hexdigest()
    assert peak < 1 << 20


def test_streaming(files):
    stream = trec_web.TrecWeb(config_name="2009", data_dir=files).as_streaming_dataset("test")
    assert isinstance(stream, datasets.IterableDataset)
    assert list(stream) == ROWS


def test_errors_while_streaming(tmp_path):
    builder = trec_web.TrecWeb(config_name="2009", data_dir=write(tmp_path, qrels=b"1 1 a\n"))
    with pytest.raises(ValueError, match=r"2009\.qrels\.diversity:1: expected 4 columns"):
        list(builder.as_streaming_dataset("test"))


@pytest.fixture(scope="module")
def exported(real, tmp_path_factory):
    """The folder for the Hub: what is on disk, and the card."""
    out = tmp_path_factory.mktemp("export") / "trec_web"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IR_DATASETS_HOME", str(tmp_path_factory.mktemp("ir_datasets")))
        for year in REAL:
            builder = trec_web.TrecWeb(config_name=year, data_dir=real)
            builder.download_and_prepare(out / year, file_format="parquet")
    for lock in out.rglob("*.lock"):
        lock.unlink()
    shutil.copy(ROOT / "cards" / "trec_web.md", out / "README.md")
    return out


@pytest.mark.parametrize("year", REAL)
def test_export_and_card_make_a_folder_that_load_dataset_reads(real, exported, year):
    loaded = datasets.load_dataset(str(exported), year)
    assert list(loaded) == ["test"]
    plain = trec_web.load(year, data_dir=real)
    assert loaded["test"].features == plain.features
    assert list(loaded["test"]) == list(plain)


def test_years_in_a_folder(tmp_path):
    assert trec_web.years_in(tmp_path) == []
    write(tmp_path, "2010")
    write(tmp_path, "2012", names=NIST["2012"])
    write(tmp_path, "2009", names=("2009.topics.full.xml", "not-its-judgements"))
    assert trec_web.years_in(tmp_path) == ["2010", "2012"]
    for year in ("2009", "2011"):
        write(tmp_path, year)
    assert trec_web.years_in(str(tmp_path)) == [*NIST, "all"]
    write(tmp_path, "2009", qrels=b"1 1 a\n")
    with pytest.raises(ValueError, match=r"2009\.qrels\.diversity:1: expected 4 columns"):
        trec_web.years_in(tmp_path)


def test_all_years_export(tmp_path):
    for year in NIST:
        write(tmp_path, year)
    builder = trec_web.TrecWeb(data_dir=tmp_path)
    builder.download_and_prepare(tmp_path / "out", file_format="parquet")
    (path,) = (tmp_path / "out").glob("*.parquet")
    assert path.name == "trec_web-test.parquet"


def test_an_unknown_config_is_refused(files):
    with pytest.raises(ValueError, match="2013"):
        trec_web.TrecWeb(config_name="2013", data_dir=files)


LOAD = """
import sys
from quotediv.loaders import trec_web
print(len(trec_web.load(2010, data_dir=sys.argv[1])))
"""


PRINT_A_QUERY = """
import sys
from quotediv.loaders import trec_web
print(ascii(trec_web.load(2009, data_dir=sys.argv[1])["query"][1]))
"""


def test_two_processes_prepare_at_once(real, tmp_path):
    processes = [start_python(LOAD, tmp_path, real) for _ in range(2)]
    assert [finish(process).split() for process in processes] == [["48"], ["48"]]


def test_under_an_ascii_locale(files, tmp_path):
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    out = run_python(PRINT_A_QUERY, tmp_path, files, **locale)
    assert out.strip() == ascii("être")


SCRIPT = """
import sys
from datasets import load_dataset
script, data_dir, run = sys.argv[1:]
options = {"data_dir": data_dir, "trust_remote_code": True}
print(load_dataset(script, "2009", **options)["test"].to_list())
print(load_dataset(script, "2009", candidates=run, n_docs=1, **options)["test"]["doc_ids"][:2])
"""


def test_as_a_loading_script(files, tmp_path):
    if int(datasets.__version__.split(".")[0]) > 3:
        pytest.skip("loading scripts need datasets 3")
    folder = shutil.copytree(ROOT / "loaders" / "trec_web", tmp_path / "trec_web")
    run = tmp_path / "a.run"
    run.write_text(A_RUN, encoding="ascii")
    home = tmp_path / "home"
    home.mkdir()
    rows, docs = run_python(SCRIPT, home, folder, files, run).splitlines()
    assert rows == str([{name: row[name] for name in COLUMNS} for row in ROWS])
    assert docs == "[['b'], ['d9']]"
