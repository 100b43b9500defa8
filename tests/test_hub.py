# SPDX-License-Identifier: Apache-2.0
"""Both metrics as Spaces of the Hugging Face Hub, which a server on the loopback stands for."""

import hashlib
import http.server
import json
import threading
from collections import Counter
from http import HTTPStatus
from importlib.metadata import version

import pytest
from support import METRICS, ROOT, TOY, TOY_RANKING, load, modules, run_python

ROWS = {
    "quoter_rank": {"predictions": [[0.5, 0.25, 0.5], [1.0, 3.0]], "references": [0, 1]},
    "search_diversity": {"predictions": [TOY_RANKING, ["c", "a"]], "references": [TOY, TOY]},
}
TAG = f"v{version('evaluate')}"  # the revision that evaluate asks for before main


class Answer(http.server.BaseHTTPRequestHandler):
    """Files of a `Hub` with an ETag of their content; 404 elsewhere."""

    def do_HEAD(self):
        self.server.asked.append((self.command, self.path))
        content = self.server.files.get(self.path)
        self.send_response(HTTPStatus.NOT_FOUND if content is None else HTTPStatus.OK)
        if content is not None:
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        return content

    def do_GET(self):
        self.wfile.write(self.do_HEAD() or b"")

    def log_message(self, *args):
        """Nothing on standard error."""


class Hub(http.server.ThreadingHTTPServer):
    """Files of the Spaces of one user, by path; `asked` holds every request."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.files, self.asked = {}, []
        for name in METRICS:
            for path in (ROOT / "metrics" / name).iterdir():
                if path.is_file():
                    self.put(name, path.name, path.read_bytes())

    def put(self, name, file, content, revision="main"):
        self.files[space(name, file, revision)] = content

    def append(self, name, file, text):
        self.files[space(name, file)] += text.encode()


def space(name, file, revision="main"):
    return f"/spaces/user/{name}/resolve/{revision}/{file}"


@pytest.fixture
def hub():
    server = Hub()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
    others = {path for _, path in server.asked if not path.startswith("/spaces/user/")}
    assert others <= {"/api/agent-harnesses"}  # of huggingface_hub, with any request


def spaces(hub):
    """The requests for files of Spaces, with their number."""
    return Counter(request for request in hub.asked if request[1].startswith("/spaces/"))


SCORE = """
import json, socket, sys
port, rows, revision = int(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
connect, elsewhere = socket.socket.connect, []
def connect_here(self, address):
    if address[:2] != ("127.0.0.1", port):
        elsewhere.append(str(address))
        raise OSError("connection to another address")
    return connect(self, address)
socket.socket.connect = socket.socket.connect_ex = connect_here
sys.modules["quotediv"] = sys.modules["transformers"] = None  # the one must not, the other need not
import datasets
import evaluate
options = {"revision": revision}
if evaluate.__version__ == "0.4.3":  # it takes the token from a class that huggingface_hub dropped
    options["download_config"] = datasets.DownloadConfig(token=False)
results = {}
for name in rows:
    metric = evaluate.load(f"user/{name}", **options)
    results[name] = [metric.compute(**rows[name]), metric.signature]
assert not elsewhere, elsewhere
print(json.dumps(results))
"""


def score(port, home, *, revision=None, offline=False):
    """{metric: [result, signature]} of a new process that loads `user/<metric>`."""
    home.mkdir(exist_ok=True)
    variables = {
        "HF_ENDPOINT": f"http://127.0.0.1:{port}",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        **dict.fromkeys(("HF_EVALUATE_OFFLINE", "HF_DATASETS_OFFLINE"), str(int(offline))),
        "HF_HUB_OFFLINE": str(int(offline)),
    }
    out = run_python(SCORE, home, port, json.dumps(ROWS), json.dumps(revision), **variables)
    return json.loads(out.splitlines()[-1])


def local():
    """What `score` gives for the folders of this repository."""
    results = {}
    for name in METRICS:
        metric = load(name)
        results[name] = [metric.compute(**ROWS[name]), metric.signature]
    return results


def test_the_script_and_each_module_that_it_imports(hub, tmp_path):
    port = hub.server_address[1]
    assert score(port, tmp_path) == local()
    expected = Counter(("HEAD", space(name, f"{name}.py", TAG)) for name in METRICS)
    for name in METRICS:
        for file in modules(name):
            expected.update((method, space(name, file)) for method in ("HEAD", "GET"))
    assert spaces(hub) == expected
    hub.asked.clear()
    assert score(port, tmp_path) == local()
    assert {method for method, _ in spaces(hub)} == {"HEAD"}  # nothing is downloaded twice


def test_from_the_cache_without_the_hub(hub, tmp_path):
    port = hub.server_address[1]
    score(port, tmp_path)
    hub.asked.clear()
    assert score(port, tmp_path, offline=True) == local()
    assert not hub.asked
    hub.shutdown()
    hub.server_close()  # what follows is refused a connection
    assert score(port, tmp_path) == local()


def test_an_update_of_the_script_or_of_a_module(hub, tmp_path):
    port, expected = hub.server_address[1], local()
    assert score(port, tmp_path) == expected
    for name in METRICS:
        hub.append(name, f"{name}.py", '\n__version__ = "9.0.0"\n')
    for name, (_, signature) in expected.items():
        expected[name][1] = signature.rpartition(":")[0] + ":9.0.0"
    updated = score(port, tmp_path)
    assert updated == expected
    for name in METRICS:
        hub.append(name, "scoring.py", "\n\ndef mean(*values):\n    return 42.0\n")
    keys = {"quoter_rank": "MRR", "search_diversity": "alpha-NDCG@10"}
    updated = score(port, tmp_path)
    assert {name: result[keys[name]] for name, (result, _) in updated.items()} == dict.fromkeys(
        METRICS, 42.0
    )
    assert score(port, tmp_path, offline=True) == updated


def test_a_revision(hub, tmp_path):
    port = hub.server_address[1]
    for name in METRICS:
        for file in modules(name):
            hub.put(name, file, hub.files[space(name, file)], revision="v0.1.0")
        hub.append(name, f"{name}.py", '\n__version__ = "9.0.0"\n')
    assert score(port, tmp_path, revision="0.1.0") == local()
    assert {path.split("/resolve/")[1].split("/")[0] for _, path in spaces(hub)} == {"v0.1.0"}
