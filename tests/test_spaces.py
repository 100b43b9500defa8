# SPDX-License-Identifier: Apache-2.0
"""The assembled Spaces in a browser, each served from a clean environment of its own.

With QUOTEDIV_SCREENSHOTS=cards the pictures of the README are made anew.
"""

import csv
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from support import METRICS, ROOT, TOY, TOY_RANKING, load

sync_api = pytest.importorskip("playwright.sync_api", reason="no browser: needs playwright")
expect = sync_api.expect
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser: needs Chromium")

QUIET = ("--no-sandbox", "--disable-gpu", "--disable-component-update", "--no-first-run")
PATIENCE = 30_000  # milliseconds
BOXES = {
    "quoter_rank": "Predictions and references, JSON",
    "search_diversity": "Rankings and judgements, JSON",
}
INPUTS = {
    "quoter_rank": {"predictions": [[0.5, 0.25, 0.5], [1.0, 3.0]], "references": [0, 0]},
    "search_diversity": {"predictions": [TOY_RANKING, ["c", "a"]], "references": [TOY, TOY]},
}
OTHER_INPUTS = {
    "quoter_rank": {"predictions": [["q1", "q2"]] * 3, "references": ["q1", "q2", "q1"]},
    "search_diversity": {"predictions": [["x"], ["b"], []], "references": [TOY, TOY, TOY]},
}
ASKED = {
    "quoter_rank": ("Recall@2", "MRR@10"),
    "search_diversity": ("ERR-IA@3", "alpha-NDCG@2"),
}
BAD_INPUTS = {
    "quoter_rank": {"predictions": [[0.5, 0.25]], "references": [2]},
    "search_diversity": {"predictions": [["a", "a"]], "references": [TOY]},
}
# Logs what a server asks of other addresses, and refuses it.
WATCH = """
import os, socket
connect, resolve = socket.socket.connect, socket.getaddrinfo
def log(host):
    if host not in ("127.0.0.1", "localhost", "::1", "0.0.0.0", None):
        with open(os.environ["ELSEWHERE"], "a") as file:
            file.write(f"{host}\\n")
        raise OSError(f"{host}: no request may leave")
def watched_connect(self, address):
    if isinstance(address, tuple):
        log(address[0])
    return connect(self, address)
def watched_resolve(host, *args, **kwargs):
    log(host)
    return resolve(host, *args, **kwargs)
socket.socket.connect = socket.socket.connect_ex = watched_connect
socket.getaddrinfo = watched_resolve
"""
# Inputs, buttons and links that have no name for a screen reader.
NAMELESS = """() => [...document.querySelectorAll('input, textarea, select, button, a')]
  .filter(e => e.offsetParent !== null && e.type !== 'file')
  .filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')
    || [...(e.labels || [])].some(l => l.innerText.trim()) || e.innerText.trim() || e.title))
  .map(e => e.outerHTML.slice(0, 200))"""


class Server:
    """A Space that runs: its address, and the hosts that it asked for."""

    def __init__(self, process, port, elsewhere):
        self.process, self.url, self.elsewhere = process, f"http://127.0.0.1:{port}", elsewhere

    def wait(self):
        for _ in range(240):
            try:
                with urllib.request.urlopen(self.url, timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                assert self.process.poll() is None
                time.sleep(0.5)
        raise AssertionError("the page is not served")

    def asked(self):
        return self.elsewhere.read_text(encoding="utf-8") if self.elsewhere.exists() else ""


def start(name, folder):
    """Serve an assembled Space from an environment of its own requirements."""
    python = folder / f"{name}-venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
    requirements = folder / name / "requirements.txt"
    subprocess.run([python, "-m", "pip", "install", "-q", "-r", requirements], check=True)
    watch, elsewhere = folder / "watch", folder / f"{name}-elsewhere.txt"
    watch.mkdir(exist_ok=True)
    (watch / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "PYTHON"))}
    variables |= {
        "ELSEWHERE": str(elsewhere),
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_TEMP_DIR": str(folder / f"{name}-uploads"),
        "HF_HOME": str(folder / f"{name}-hf"),
        "PYTHONPATH": str(watch),
    }
    with (folder / f"{name}.log").open("w") as log:
        command = [python, "space/app.py"]
        process = subprocess.Popen(
            command, cwd=folder / name, env=variables, stdout=log, stderr=log
        )
    return Server(process, port, elsewhere)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spaces")
    subprocess.run(["make", "spaces", f"SPACES={folder}"], cwd=ROOT, check=True)
    started = {}
    try:
        for name in METRICS:
            started[name] = start(name, folder)
        for server in started.values():
            server.wait()
        yield started
    finally:
        for server in started.values():
            server.process.terminate()
            server.process.wait()
    for name, server in started.items():
        assert server.asked() == "", name


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, servers):
    """visit(name, width=1280): a page of a new visitor; nothing it asks for may be elsewhere."""
    contexts, asked, errors = [], [], []

    def visited(name, width=1280):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(servers[name].url)
        expect(box(page, name)).to_be_visible(timeout=PATIENCE)
        return page

    yield visited
    for context in contexts:
        context.close()
    local = tuple(server.url for server in servers.values())
    assert [url for url in asked if not url.startswith((*local, "data:", "blob:"))] == []
    assert errors == []


def box(page, name):
    return page.get_by_label(BOXES[name])


def says(page, text):
    """Wait for a text in the status."""
    expect(page.locator("#status")).to_contain_text(text, timeout=PATIENCE)


def give(page, name, inputs):
    box(page, name).fill(inputs if isinstance(inputs, str) else json.dumps(inputs))
    page.get_by_role("button", name="Score", exact=True).click()


def shown(page, name, protocol="standard"):
    """{key: value} of the table of figures, to the last digit."""
    rows = page.locator("#figures tbody tr").all()
    keys = [row.locator("th").text_content() for row in rows]
    if name == "quoter_rank":
        cells = [row.locator("td").nth(1).text_content() for row in rows]
    else:  # below the rounded figure
        heads = page.locator("#figures thead th").all_text_contents()
        place = heads.index(protocol) - 1
        cells = [row.locator("td").nth(place).locator("small").text_content() for row in rows]
    return dict(zip(keys, map(float, cells), strict=True))


def saved(page, tmp_path):
    """Rows of the CSV file that the page saves."""
    with page.expect_download() as download:
        page.get_by_role("link", name="Save all queries as CSV").click()
    assert download.value.suggested_filename == "queries.csv"
    text = Path(download.value.path()).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def computed(name, inputs, *args, **options):
    return load(name, *args).compute(**inputs, **options)


both = pytest.mark.parametrize("name", METRICS)


@both
def test_pasted_rows(visit, name):
    page = visit(name)
    give(page, name, INPUTS[name])
    says(page, "n:2")
    assert shown(page, name) == computed(name, INPUTS[name])


def ask(page, names):
    figures = page.get_by_role("textbox", name="Figures")
    figures.fill(names)
    figures.press("Enter")


@both
def test_figures_by_name(visit, name, tmp_path):
    page, first, last = visit(name), *ASKED[name]
    give(page, name, INPUTS[name])
    says(page, "n:2")
    ask(page, f"{first} {last},{first}, ")
    expect(page.locator("#figures")).to_contain_text(last, timeout=PATIENCE)
    expected = computed(name, INPUTS[name], figures=(first, last), per_query=True)
    heads = [*saved(page, tmp_path)[0]]
    assert heads == ["query", *expected.pop("per_query")]
    assert list(shown(page, name).items()) == list(expected.items())
    expect(page.locator(".vega-embed svg").first).to_be_visible(timeout=PATIENCE)
    wrong = f"x{last}"
    with pytest.raises(ValueError, match="`figures` must be among") as refused:
        computed(name, INPUTS[name], figures=wrong)
    ask(page, wrong)
    says(page, f"Not scored: {refused.value}")
    expect(page.locator("#figures table")).to_have_count(0, timeout=PATIENCE)
    ask(page, f"{first.partition('@')[0]}@1000001")
    says(page, "Not scored: There may be at most 1,000")
    ask(page, "")
    says(page, "n:2")
    assert shown(page, name) == computed(name, INPUTS[name])


def test_a_figure_that_one_protocol_defines(visit, tmp_path):
    name, asked = "search_diversity", ("NRBP", "S-recall@3")
    page = visit(name)
    give(page, name, INPUTS[name])
    says(page, "n:2")
    ask(page, ", ".join(asked))
    says(page, "beta:0.5")
    beta = page.get_by_label("number input for beta")
    beta.fill("0.8")
    beta.press("Enter")
    says(page, "beta:0.8")
    assert shown(page, name) == computed(name, INPUTS[name], figures=asked, beta=0.8)
    row = page.locator("#figures tbody tr").filter(has_text="NRBP").locator("td")
    assert row.all_inner_texts()[1:] == ["-", "-"]
    expect(row.get_by_role("img", name="not defined")).to_have_count(2)
    page.get_by_label("released", exact=True).check()
    heading = "Queries under released, worst first: all 2"
    expect(page.get_by_role("region", name=heading)).to_be_visible(timeout=PATIENCE)
    assert [*saved(page, tmp_path)[0]] == ["query", "S-recall@3", "Judged@3"]
    ask(page, "NRBP, P-IA")
    says(page, "Not scored: Figures: released, the protocol of what follows, defines none of these")
    page.get_by_role("button", name=EXAMPLES[name][0]).click()  # resets every control
    says(page, "1 query of the text")
    inputs = json.loads(box(page, name).input_value())
    with pytest.warns(UserWarning, match="are judged"):
        assert shown(page, name) == computed(name, inputs)


EXAMPLES = {
    "quoter_rank": ("Scores of a pool", "Candidates, best first", "Scores with ties"),
    "search_diversity": ("Documents nobody judged", "Equal scores", "Three subtopics"),
}


@both
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.filterwarnings("ignore::UserWarning")  # of the metric, on what the examples show
def test_examples(visit, name, width):
    page = visit(name, width)
    for example in EXAMPLES[name]:
        page.get_by_role("button", name=example).click()
        expect(page.locator("#figures table")).to_be_visible(timeout=PATIENCE)
        expect(page.locator(".progress-text, .eta-bar")).to_have_count(0, timeout=PATIENCE)
        expected = computed(name, json.loads(box(page, name).input_value()))
        first, value = next(iter(expected.items()))
        expect(page.locator("#figures")).to_contain_text(repr(value), timeout=PATIENCE)
        assert shown(page, name) == expected, first
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.locator(".vega-embed svg").first).to_be_visible(timeout=PATIENCE)
    if width == 1280 and "QUOTEDIV_SCREENSHOTS" in os.environ:
        path = ROOT / os.environ["QUOTEDIV_SCREENSHOTS"] / f"{name}.png"
        page.screenshot(path=path, full_page=True)


@both
def test_a_protocol_change(visit, name):
    page = visit(name)
    give(page, name, INPUTS[name])
    says(page, "protocol:standard")
    for protocol in ("released", "recipe"):
        page.get_by_label(protocol, exact=True).check()
        if name == "quoter_rank":
            says(page, f"protocol:{protocol}")
        else:
            heading = f"Queries under {protocol}, worst first: all 2"
            expect(page.get_by_role("region", name=heading)).to_be_visible(timeout=PATIENCE)
        expected = computed(name, INPUTS[name], protocol=protocol)
        assert shown(page, name, protocol) == expected


@both
def test_bad_input_shows_the_message_of_the_metric_and_the_page_goes_on(visit, name):
    page = visit(name)
    give(page, name, INPUTS[name])
    says(page, "n:2")
    with pytest.raises(ValueError, match="at query 0") as refused:
        computed(name, BAD_INPUTS[name])
    give(page, name, BAD_INPUTS[name])
    says(page, str(refused.value))
    for place in ("#figures table", "#queries table", ".vega-embed svg"):
        expect(page.locator(place)).to_have_count(0, timeout=PATIENCE)
    give(page, name, '{"predictions": [')
    says(page, "The text is not JSON")
    references = ["q1"] if name == "quoter_rank" else [TOY]
    script = "<img src=x onerror=alert(1)>"
    give(page, name, {"predictions": [[script, script]], "references": references})
    says(page, "<img src=x")
    give(page, name, INPUTS[name])
    says(page, "n:2")
    assert shown(page, name) == computed(name, INPUTS[name])


@both
def test_saved_queries(visit, name, tmp_path):
    page = visit(name)
    give(page, name, INPUTS[name])
    says(page, "n:2")
    rows = saved(page, tmp_path)
    per_query = computed(name, INPUTS[name], per_query=True)["per_query"]
    order = [int(row["query"]) for row in rows]
    assert sorted(order) == [0, 1]
    for key, values in per_query.items():
        assert [float(row[key]) for row in rows] == [values[query] for query in order], key
    primary = "rank" if name == "quoter_rank" else "alpha-NDCG@10"
    worst = max if name == "quoter_rank" else min
    assert per_query[primary][order[0]] == worst(per_query[primary])


@both
def test_two_visitors_at_once(visit, name, tmp_path):
    one, other = visit(name), visit(name)
    for page, inputs in ((one, INPUTS), (other, OTHER_INPUTS)):
        box(page, name).fill(json.dumps(inputs[name]))
    for page in (one, other):
        page.get_by_role("button", name="Score", exact=True).click(no_wait_after=True)
    for page, inputs, n in ((one, INPUTS, 2), (other, OTHER_INPUTS, 3)):
        says(page, f"n:{n}")
        assert shown(page, name) == computed(name, inputs[name])
        assert len(saved(page, tmp_path)) == n


@both
def test_by_keyboard_and_for_screen_readers(visit, name):
    page = visit(name)
    assert page.evaluate(NAMELESS) == []
    status = page.locator("#status")
    assert status.get_attribute("role") == "status"
    assert status.get_attribute("aria-live") == "polite"
    tab_to(page, box(page, name))
    page.keyboard.insert_text(json.dumps(INPUTS[name]))
    tab_to(page, page.get_by_role("button", name="Score", exact=True))
    page.keyboard.press("Enter")
    says(page, "n:2")
    assert page.evaluate(NAMELESS) == []
    for region in page.locator(".scroll").all():
        tab_to(page, region)
        assert region.get_attribute("aria-label")


def tab_to(page, place):
    for _ in range(60):
        if place.evaluate("e => e === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError("not reached by the tab key")


def upload(page, index, *files):
    page.locator("input[type=file]").nth(index).set_input_files([str(file) for file in files])


def test_quoter_rank_files(visit, tmp_path):
    page = visit("quoter_rank")
    scores, golds = np.random.default_rng(0).random((50, 30)), np.arange(50) % 30
    np.save(tmp_path / "scores.npy", scores)
    np.save(tmp_path / "golds.npy", golds)
    upload(page, 0, tmp_path / "scores.npy", tmp_path / "golds.npy")
    says(page, "n:50")
    expected = computed("quoter_rank", {"predictions": scores, "references": golds})
    assert shown(page, "quoter_rank") == expected


def test_quoter_rank_options(visit, tmp_path):
    page = visit("quoter_rank")
    path = tmp_path / "rows.csv"
    path.write_text("rank,tied\n1,2\n3,1\n0,0\n", encoding="utf-8")
    upload(page, 0, path)
    says(page, "`references` must be among the predictions of their query")
    page.get_by_label("zero", exact=True).check()
    says(page, "n:3")
    page.get_by_label("pessimistic", exact=True).check()
    says(page, "ties:pessimistic")
    recall = page.get_by_role("textbox", name="Recall at")
    recall.fill("2, 3")
    recall.press("Enter")
    expect(page.locator("#figures")).to_contain_text("Recall@3", timeout=PATIENCE)
    inputs = {"predictions": [1, 3, 0], "references": [2, 1, 0]}
    options = {"ties": "pessimistic", "missing": "zero", "recall_k": (2, 3)}
    expected = computed("quoter_rank", inputs, "ranks", **options)
    found = page.locator("#figures tbody tr").all()
    rows = [row.locator("th, td").all_inner_texts() for row in found]
    assert {row[0]: row[2] for row in rows} == {k: repr(v) for k, v in expected.items()}
    lower = {"MeanRank", "MedianRank", "RankVariance", "missing"}
    assert {row[0] for row in rows if row[3] == "lower"} == lower


def test_search_diversity_trec_files(visit, shared_data):
    page = visit("search_diversity")
    folder = shared_data / "trec_web"
    upload(page, 0, folder / "2009.qrels.diversity")
    says(page, "upload the ranking too")
    upload(page, 0, folder / "indri.2009.run")  # the place of the other is taken
    says(page, "n:50")
    ndeval = json.loads((folder / "expected_ndeval.json").read_text(encoding="utf-8"))
    figures = shown(page, "search_diversity")
    means = ndeval["2009"]["mean"]
    assert {key: f"{value:.6f}" for key, value in figures.items()} == {
        key: f"{means[key]:.6f}" for key in figures
    }


def test_search_diversity_picture(visit):
    page = visit("search_diversity")
    give(page, "search_diversity", INPUTS["search_diversity"])
    says(page, "n:2")
    chosen = page.get_by_label(re.compile("Query of the picture"))
    chosen.fill("7")
    chosen.press("Enter")
    says(page, "There is no query 7 to picture")
    chosen.click()
    page.get_by_role("option", name="0", exact=True).click()
    ours = page.get_by_role("region", name="This ranking, ranks against subtopics")
    expect(ours.locator("tbody tr").first).to_contain_text("b", timeout=PATIENCE)
    signs = [row.locator("td").all_inner_texts() for row in ours.locator("tbody tr").all()]
    assert signs == [
        ["b", "1", "●", "", ""],
        ["a", "1.5", "○", "●", ""],
        ["x", "0", "", "", ""],
        ["c", "1", "", "", "●"],
    ]
    assert ours.get_by_role("img", name="again").count() == 1
    slider = page.get_by_label("number input for alpha")
    slider.fill("1")
    slider.press("Enter")
    says(page, "alpha:1")


def test_a_file_over_the_bound(visit, tmp_path):
    page = visit("quoter_rank")
    path = tmp_path / "large.json"
    path.write_bytes(b" " * (20 * 2**20 + 1))
    upload(page, 0, path)
    says(page, "There may be at most 20,971,520 bytes in large.json")
    path.write_bytes(b" " * (60 * 2**20 + 1))  # refused while it is sent
    sent = {"files": {"name": path.name, "mimeType": "text/plain", "buffer": path.read_bytes()}}
    assert page.request.post(f"{page.url}gradio_api/upload", multipart=sent).status == 413
    page.get_by_role("button", name="Scores of a pool").click()  # in place of the file
    says(page, "3 queries of the text")
