# SPDX-License-Identifier: Apache-2.0
"""The Spaces' modules without gradio: reading of uploads, hostile ones too, and the picture."""

import importlib
import io
import json
import os
import random
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from quotediv.loaders import trec_web
from reference import dcg, gains_of, ideal_order, order_by_scores, quoter_figures
from support import METRICS, ROOT, check, load, recorded, reference_columns


def space(metric, *names):
    """A fixture: modules of a Space, which import each other from Python's path."""

    @pytest.fixture
    def modules(monkeypatch):
        folder = ROOT / "metrics" / metric / "space"
        monkeypatch.syspath_prepend(str(folder))
        taken = {path.stem for path in folder.glob("*.py")}
        list(map(sys.modules.pop, taken & sys.modules.keys()))
        yield SimpleNamespace(patch=monkeypatch, **{n: importlib.import_module(n) for n in names})
        list(map(sys.modules.pop, taken & sys.modules.keys()))

    return modules


quoter = space("quoter_rank", "common_texts", "uploads")
diversity = space("search_diversity", "common_texts", "uploads", "picture")


def write(folder, files):
    for name, data in files.items():
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return [str(folder / name) for name in files]


def refuses(modules, message, *args):
    """`message`: in full, or parts of it, or a bound, its value and a part."""
    if message[0].startswith("MAX_"):
        for module in (modules.common_texts, modules.uploads):
            modules.patch.setattr(module, *message[:2], raising=False)
        message = (f"There may be at most {message[1]} {message[2]}",)
    with pytest.raises(modules.common_texts.UploadError) as caught:
        modules.uploads.read(*args)
    check(caught, message)


def saved(data, dtype=None, save=np.save, **options):
    stream = io.BytesIO()
    if isinstance(data, dict):
        pq.write_table(pa.table(data), stream, **options)
    else:
        save(stream, np.asarray(data, dtype))
    return stream.getvalue()


def test_the_spaces_share_two_files():
    for name in ("common_texts.py", "common_tables.py"):
        paths = [ROOT / "metrics" / metric / "space" / name for metric in METRICS]
        assert len({path.read_bytes() for path in paths}) == 1


def test_figures_are_read_by_name(quoter):
    read, refused = quoter.common_texts.read_figures, quoter.common_texts.UploadError
    assert read("Figures", " ,\n", 9) is None
    line = "ERR-IA@9,NRBP  P-IA@x, @, MRR@\u0661\u0660, <b>@" + 5000 * "1"
    assert read("Figures", line, 9) == line.replace(",", " ").split()  # the metric refuses the rest
    assert read("Figures", "a," * 20, 9) == ["a"] * 20
    with pytest.raises(refused, match=r"^There may be at most 20 names in Figures, here are 21\.$"):
        read("Figures", "a " * 21, 9)
    with pytest.raises(
        refused, match=r"^There may be at most 9 ranks in Figures, here are 1,000\.$"
    ):
        read("Figures", "MRR NDCG@1000", 9)


SCORES = ([[0.5, 0.25, 0.125], [0.25, 0.5, 1.0]], [0, 1], None, None)
NAMED = (*SCORES[:3], "scores")
FIRST = [(1, 1), (2, 1)]  # rank and tied: 0.5 is the highest; 1.0 is above 0.5
LISTS = ([["b", "a"], ["c"]], ["a", "c"], ["x", "y"], None)
SECOND = [(2, 1), (1, 1)]
QUOTED = ([['a "b"\nc', "to be, or"]], ["to be, or"], None, None)
NAMES = ("predictions", "references", "query_ids")
GIVEN = json.dumps(dict(zip(NAMES[:2], SCORES, strict=False)))
LINES = """{"prediction": ["b", "a"], "reference": "a", "query_id": "x"}\n
{"query_id": "y", "prediction": ["c"], "reference": "c"}\n"""
TABLE = "gold,c0,c1,c2\n0,0.5,0.25,0.125\n1,0.25,0.5,1\n"
READ = [  # files or pasted text, what is read, (rank, tied) of the golds
    (GIVEN[:-1] + ', "query_ids": [7, 8]}', (*SCORES[:2], [7, 8], None), FIRST),
    ({"a.json": GIVEN}, SCORES, FIRST),
    ({"a.JSONL": LINES.replace("\n", "\r\n")}, LISTS, SECOND),
    ({"a.csv": "query_id,rank\nx,2\ny,0"}, ([2, 0], [1, 0], ["x", "y"], "ranks"), [(2, 1), (0, 0)]),
    ({"a.csv": "tied , rank\n2, 1\n0,0"}, ([1, 0], [2, 0], None, "ranks"), [(1, 2), (0, 0)]),
    ({"a.csv": "\ufeff" + TABLE.replace("\n", "\r\n")}, SCORES, FIRST),
    ({"a.csv": TABLE.replace(",", ";")}, SCORES, FIRST),
    ({"a.csv": TABLE.replace(",", ";").replace(".", ",")}, SCORES, FIRST),
    ({"a.csv": "gold,1,2\n07,007,07\n"}, ([["007", "07"]], ["07"], None, None), SECOND[:1]),
    ({"a.csv": "gold,1,2,query_id\na,b,a,x\nc,c,,y\n"}, LISTS, SECOND),
    ({"a.csv": "query_id,gold,1,2,3\nx,a,b,a,\ny,c,c\n"}, LISTS, SECOND),
    ({"a.csv": 'gold,1,2\n"to be, or","a ""b""\nc","to be, or"\n'}, QUOTED, SECOND[:1]),
    ({"a.csv": "gold,1,2\n7,3,7\n9,9\n"}, ([[3, 7], [9]], [7, 9], None, None), SECOND),
    ({"a.parquet": saved({"more": [1, 2], **json.loads(GIVEN)})}, SCORES, FIRST),
    ({"a.parquet": saved(dict(zip(NAMES, LISTS, strict=False)))}, LISTS, SECOND),
    ({"a.npy": saved(SCORES[0], np.float32), "b.npy": saved(SCORES[1])}, NAMED, FIRST),
    ({"a.npy": saved(SCORES[1], "u1"), "b.npy": saved(SCORES[0])}, NAMED, FIRST),
]


@pytest.mark.parametrize(("given", "expected", "pairs"), READ, ids=range(len(READ)))
def test_quoter_reads(quoter, tmp_path, given, expected, pairs):
    upload = quoter.uploads.read(given, isinstance(given, dict) and write(tmp_path, given))
    read = tuple(v.tolist() if isinstance(v, np.ndarray) else v for v in upload)
    assert repr(read) == repr(expected)  # 1 is another kind than 1.0
    metric = load("quoter_rank", *filter(None, [upload.kind]))
    found = metric.compute(**dict(zip(NAMES, upload, strict=False)), missing="zero")
    assert found == {**quoter_figures(pairs), "missing": pairs.count((0, 0))}
    rows = dict(zip(NAMES, quoter.uploads.read(GIVEN.replace("0.125", "NaN"), None), strict=False))
    with pytest.raises(ValueError, match="^`predictions` must hold no NaN.* query 0$"):
        load("quoter_rank").compute(**rows)


def header(text, shape="(1, 5)", kind="'<f8'"):
    text = text or f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(40)


KEYS = '{"predictions": [...], "references": [...]}'
HEAD = ("a.csv: the columns must be rank and tied, or gold and, after it, one for each ",)
ONE, NO_NPY = ("Upload one file, or two .npy files",), ("a.npy is not a .npy file of numbers: ",)
ARRAY = saved(np.zeros((3, 4)))
Pickled = type("Pickled", (str,), {"__reduce__": lambda self: (os.mkdir, (str(self),))})
GROUPS = saved({"predictions": [[0.5, 0.25]] * 3, "references": [0] * 3}, row_group_size=1)
WIDE = "gold," + ",".join(map(str, range(100))) + 2 * "\n0,1"  # short rows are filled up
REFUSED = [  # pasted text, or names of files and what is in them; a full message or parts of it
    (None, None, f"Paste JSON, {KEYS}, or upload a file."), (None, " \n", ("Paste JSON, ",)),
    (None, "a", "The text is not JSON: Expecting value at line 1, column 1."),
    (None, "[1]", f'The text must be {KEYS}; "query_ids": [...] may be added.'),
    ("a.txt", "1", "a.txt: the formats are .json, .jsonl, .csv, .parquet, .npy."),
    ("a.csv b.csv c.csv", TABLE, ONE), ("a.csv b.npy", ARRAY, ONE), ("a.csv", "", HEAD),
    ("a.csv", "qid,gold,1\n1,0,2\n", ("a.csv: scores or candidates must stand after the",)),
    ("a.csv", 'gold,1\nq1,q1\nq2,"q2\nq3,q3\n', ("a.csv, line 4: unexpected end of data",)),
    ("a.csv", "gold,1,2\n0,0.5,n/a\n", "a.csv, row 1: among numbers, 'n/a' is none."),
    (None, '{"predictions": [["\\ud800"]]}', ("The text: the JSON holds half a character",)),
    ("a.csv", "gold,query_id\n1,x\n", HEAD), ("a.json", GIVEN[:-1] + ', "k": 1}', ("a.json must",)),
    ("a.json", '[{"a": 1, "a": 3}]', ("The name 'a' is",)), ("a.json", b"\xff", ("UTF-8 at byte",)),
    ("a.json", f"[{'1' * 5000}]", ("a.json",)), ("a.json", "[" * 100_000, ("nested too deeply.",)),
    ("a.jsonl", LINES + '{"a":' * 100_000, "a.jsonl, line 4: the JSON is nested too deeply."),
    ("a.jsonl", LINES + '{"prediction": [1]}', ("a.jsonl, line 4 must be {",)),
    ("a.jsonl", LINES + "\nx", ("a.jsonl, line 5 is not JSON: Expecting value",)),
    ("a.csv", ",gold,c0,c1\n0,1,0.5,0.25\n1,0,0.5,0.25\n", ("a.csv", "name")),
    ("a.csv", "gold,c, c\n1,2,3\n", "a.csv: two columns have one name."),
    ("a.csv", "gold,c\n1,2\n1,2,3\n", "a.csv, row 2: 3 cells for 2 columns."),
    ("a.csv", "gold,1,2\na,a,b\na,,b\n", "a.csv, row 2: an empty cell between others."),
    ("a.csv", f"gold,c\na,{'x' * 200_000}\n", ("a.csv, line 2: field larger than",)),
    ("a.parquet", "gold", ("is not a Parquet file: ",)), ("a.csv", "rank\nx", ("A number ", "x")),
    ("a.parquet", saved({"predictions": [1]}), ("must be predictions and references.",)),
    ("a.npy b.npy c.npy", ARRAY, ("Upload two .npy files", "these are (3, 4), (3, 4), (3, 4).")),
    ("a.npy", ARRAY, ("are (3, 4).",)), ("a.npy", saved(["a"]), ("numbers, got <U1.",)),
    *(("a.npy", data, NO_NPY) for data in (
        b"", saved(1.0, save=np.savez), ARRAY[:-1], ARRAY[:50], header("", "(1000000, 1000000)"),
        header("", f"({10**30}, 5)"), header("", "(-1, 5)"), header("", "(True, 5)"),
        header("", kind="()"), header("", kind="'<,8'"), header("{'a': 1"), header("x\n  y\n z"),
        header("-" * 9000 + "1"), header("{[]: 1}"), header(" " * 60_000))),
    (None, GIVEN, ("MAX_BYTES", 50, f"characters of text, here are {len(GIVEN)}.")),
    ("a.json a.npy", ARRAY, ("MAX_BYTES", 50, f"bytes in a.json, here are {len(ARRAY)}.")),
    ("a.npy", ARRAY, ("MAX_BYTES", 50, "bytes in ")), ("a.jsonl", LINES, ("MAX_ROWS", 1, "rows, ")),
    ("a.parquet", GROUPS, ("MAX_ROWS", 2, "rows, ")), (None, GIVEN, ("MAX_VALUES", 5, "values, ")),
    ("a.parquet", GROUPS, ("MAX_VALUES", 5, "val")), ("a.csv", WIDE, ("MAX_VALUES", 50, "")),
]  # fmt: skip


@pytest.mark.parametrize(("names", "given", "message"), REFUSED, ids=range(len(REFUSED)))
def test_quoter_refuses(quoter, tmp_path, names, given, message):
    paths = names and write(tmp_path, dict.fromkeys(names.split(), given))
    refuses(quoter, message, None if names else given, paths)


def test_nothing_is_unpickled(quoter, tmp_path):
    made = tmp_path / "made"
    paths = write(tmp_path, {"a.npy": saved([Pickled(made)], object)})
    refuses(quoter, NO_NPY, None, paths)
    assert not made.exists()
    np.load(paths[0], allow_pickle=True)
    assert made.is_dir()  # what would have been executed


QRELS = "7 2 a 1\n7 1 a 1\n7\t1  b 0\n8 1 c 2\n\n7 0 b -2\n8 1 d -2\n"
JUDGED = {"7": {"a": ["2", "1"], "b": []}, "8": {"c": ["1"], "d": []}}
RUN = "8 Q0 d 1 2.5 t\n7 Q0 b 2 0.5 t\n7 Q0 z 1 1e3 t\n9 Q0 a 1 1 t\n"
PERMUTED = '{"8": {"permutation": ["d"], "alphaNDCG": 0.5}, "7": ["z", "b"], "9": []}'
LEFT_OUT = "Queries without judgements, left out: 1."
LACKING = "Judged queries without a ranking, which score 0: 1."
FORMS = ["ids mapping", "positions mapping", "scores mapping", "positions matrix", "scores matrix"]
RUNS = ["a 1 1,b 2 2 ab ba", "a 1 1,é 2 1,z 3 1 aéz éza", "a 0 1,b 0 1 ba ba"]
ORDERS = ("ranks, checked by scores", "ranks", "scores")


@pytest.mark.parametrize("judged", [QRELS, "\ufeff" + QRELS, json.dumps(JUDGED)], ids=range(3))
@pytest.mark.parametrize("ranked", [RUN, RUN.replace("\n", "\r\n"), PERMUTED], ids=range(3))
def test_diversity_files(diversity, tmp_path, judged, ranked):
    judged, ranked, short = write(tmp_path, {"j": judged, "r": ranked, "s": '{"8": ["d"]}'})
    rankings, rows, ids = [["z", "b"], ["d"]], [*JUDGED.values()], [*JUDGED]
    expected = [(rankings, rows, ids, (LEFT_OUT,)), ([[], ["d"]], rows, ids, (LACKING,))]
    assert [diversity.uploads.read("", judged, r, ORDERS[0]) for r in (ranked, short)] == expected
    text = json.dumps({"predictions": rankings, "references": rows})
    assert diversity.uploads.read(text, None, None, "") == (rankings, rows, None, ())


DIVERSITY_REFUSED = [
    ("7 1 a\n", RUN, ("j, line 1: expected 4 columns (topic, subtopic, ", "got 3.")),
    (QRELS + "7 1 a 0", RUN, "j, line 8: document a is judged twice for subtopic 1."),
    ("7 1 a 1.0", RUN, "j, line 1: the judgement is no integer: '1.0'."),
    ('{"7": ["a"]}', RUN, "j must be {query: {document: [subtopic, ...]}}."),
    (QRELS, RUN + "7 Q0 a 3 0\n", ("r, line 5: expected 6 columns (topic, Q0, ", "got 5.")),
    (QRELS, RUN + "7 Q0 b 3 0 t\n", "r, line 5: document b is in topic 7 already."),
    (QRELS, "7 Q0 b 1.5 0 t", ("r, line 1: rank ",)), (QRELS, "7 Q0 b 1 1e999 t", ("finite",)),
    (QRELS, RUN + "8 Q0 c 2 3 t\n", ("r: ranks and scores", "in 1 of 3 topics, first in 8;")),
    (QRELS, '{"7": {"ranking": []}}', ("r must be {query: [document, ...]}", "query '7' is not.")),
    (QRELS, '{"6": []}', "The two files have no query in common: their first are '7' and '6'."),
    (QRELS, None, ("upload the ranking too.",)), (None, RUN, ("upload the judgements too.",)),
    (None, None, ("Paste JSON, ", ", or upload judgements and a ranking.")),
    (QRELS, RUN, ("MAX_QUERIES", 1, "queries, here are 2.")),
    (QRELS, RUN, ("MAX_DOCUMENTS", 6, "documents, here are 7.")),  # a b c d, z b d
]  # fmt: skip


@pytest.mark.parametrize(("judged", "ranked", "message"), DIVERSITY_REFUSED)
def test_diversity_refuses(diversity, tmp_path, judged, ranked, message):
    both = {"j": judged, "r": ranked}
    paths = [data and write(tmp_path, {name: data})[0] for name, data in both.items()]
    refuses(diversity, message, " ", *paths, ORDERS[0])


@pytest.mark.parametrize("run", RUNS)
def test_orders_of_a_run(diversity, tmp_path, run):
    run, *expected = run.rsplit(" ", 2)
    lines = "".join(f"7 Q0 {line} t\n" for line in run.split(","))
    for order, ranking in zip(ORDERS[1:], expected, strict=True):  # larger ids first if equal
        upload = diversity.uploads.read(None, *write(tmp_path, {"j": QRELS, "r": lines}), order)
        assert upload.predictions == [[*ranking], []]


@pytest.mark.parametrize("year", ["2009", "2010"])
def test_trec_files(diversity, search_diversity, shared_data, year):
    folder = shared_data / "trec_web"
    run = folder / f"indri.{year}.run"
    for order, name in zip(ORDERS, (None, "rank", "score"), strict=True):
        upload = diversity.uploads.read(None, folder / f"{year}.qrels.diversity", run, order)
        assert upload.predictions == [*map(trec_web.read_run(run, name).get, upload.query_ids)]
    expected = json.loads((folder / "expected_ndeval.json").read_text(encoding="utf-8"))[year]
    data = dict(zip(NAMES, upload, strict=False))
    found = recorded(lambda: search_diversity.compute(**data, per_query=True))[0]["per_query"]
    for i, topic in enumerate(found["query_ids"]):
        row = expected["topics"][topic]
        assert {key: f"{found[key][i]:.6f}" for key in row} == {k: f"{row[k]:.6f}" for k in row}


def test_du_div_files(diversity, search_diversity, shared_data, du_div):
    files = [*sorted((shared_data / "du_div").glob("query_*_doc15_2.json"))]
    predictions, *rest = diversity.uploads.read(None, *files, ORDERS[0])
    assert rest == [[*du_div.values()], [*du_div], (LEFT_OUT.replace("1", "1,448"),)]
    assert predictions == [ideal_order(query, "released", 0.5, 15) for query in du_div.values()]
    rows = {"predictions": predictions, "references": rest[0], "protocol": "released"}
    assert search_diversity.compute(**rows)["alpha-NDCG@10"] == 1.0


def drawn(rng, kind, form, protocol):
    """Prediction and reference of a query, its documents and its ranking by their names."""
    labels = rng.choice(["1 2 10 03", "a b 3 é", ""]).split()
    names = [f"d{i}" for i in rng.sample(range(12), rng.randrange(10))]
    docs = {doc: rng.choices(labels, k=rng.randrange(4)) if labels else [] for doc in names}
    reference, places, size = rng.choice([docs, reference_columns(docs)]), range(99), len(docs)
    if form == "matrix":  # other rows are padding, and so is column 0
        places, share, size = sorted(rng.sample(range(9), len(docs))), rng.choice([0.0, 0.4]), 9
        rows = {p: [-100, *(int(rng.random() < share) for _ in range(4))] for p in places}
        reference = [rows.get(p, [-100] * 5) for p in range(9)]
        docs = {f"row {p}": [str(c) for c in range(5) if reference[p][c] == 1] for p in places}
    place = dict(zip(docs, places, strict=False))
    if kind == "scores":
        scores = {place[doc]: rng.randrange(3) / 2 for doc in docs}
        ranking = order_by_scores(scores.values(), docs, protocol)
        return [scores.get(p, -100.0) for p in range(size)], reference, docs, ranking
    known = [*docs, "u", "v"] if kind == "ids" else [*docs]
    ranking = rng.sample(known, rng.randint(0, len(known)))
    return [doc if kind == "ids" else place[doc] for doc in ranking], reference, docs, ranking


@pytest.mark.parametrize("protocol", ["standard", "released", "recipe"])
@pytest.mark.parametrize("form", FORMS)
def test_the_picture(diversity, search_diversity, protocol, form):
    rng, kind = random.Random(f"{protocol} {form}"), form.split()[0]
    rows = [drawn(rng, *form.split(), protocol) for _ in range(200)]
    predictions, references, judged, rankings = map(list, zip(*rows, strict=True))
    assert {} in judged and [] in rankings and any(d and not any(d.values()) for d in judged)
    for alpha in [None] if protocol == "recipe" else [0.0, 0.3, 0.5, 1.0]:
        search_diversity.add_batch(predictions=predictions, references=references)
        options = {"protocol": protocol, "alpha": alpha, "k": (1, 3, 20), "per_query": True}
        found = recorded(lambda o=options: search_diversity.compute(**o))[0]["per_query"]
        for i, (prediction, reference, docs, ranking) in enumerate(rows):
            query = diversity.picture.read(prediction, reference, kind=kind, protocol=protocol)
            both = diversity.picture.steps(query, protocol=protocol, alpha=alpha or 0.0, depth=20)
            orders = ranking, ideal_order(docs, protocol, alpha, 20)
            for steps, order in zip(both, orders, strict=True):
                assert [(s.doc, s.judged) for s in steps] == [(doc, doc in docs) for doc in order]
                assert [step.gain for step in steps] == gains_of(order, docs, protocol, alpha)
                above = set()
                for step in steps:
                    labels = set(docs.get(step.doc, ()))
                    assert step.covers == {label: label not in above for label in labels}
                    above |= labels
            for k in (1, 3, 20):
                ours, best = (dcg([step.gain for step in steps], k) for steps in both)
                assert abs((ours / best if best else 0.0) - found[f"alpha-NDCG@{k}"][i]) <= 1e-12
