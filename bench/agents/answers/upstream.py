"""An HTTP service on the loopback that keeps records, refuses some of them, and fails to order."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Answer = tuple[int, Any]


@dataclass
class Fault:
    """What goes wrong with the requests of one kind.

    Attributes:
        status: The status to answer with; 0 closes the connection without an answer.
        body: The body of that answer, as JSON.
        headers: Its headers.
        hang_s: How long nothing is answered.
        is_late: Whether the work is done before.
        passes: How many requests are served before the first one that fails.
        fails: How many requests fail.
    """

    status: int = 0
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hang_s: float = 0.0
    is_late: bool = False
    passes: int = 0
    fails: int = 1000

    def meets(self) -> bool:
        """Return whether this request fails, and count it."""
        if self.passes:
            self.passes -= 1
            return False
        self.fails -= 1
        return self.fails >= 0


@dataclass
class Upstream:
    """The records of the service, by collection, and what it does with requests.

    Attributes:
        records: The records of each collection.
        rules: Of a collection, what refuses a new record.
        faults: Of a kind of request (`POST /shipments`), what goes wrong.
        url: Where it listens.
        closing: Set once it ends, so that nothing hangs longer.
    """

    records: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    rules: dict[str, Callable[[dict[str, Any]], Answer | None]] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    url: str = ""
    closing: threading.Event = field(default_factory=threading.Event)

    def work(self, method: str, path: str, body: Any, key: str | None) -> Answer:
        """Serve one request."""
        parts = urlsplit(path)
        collection, _, name = parts.path.strip("/").partition("/")
        records = self.records.setdefault(collection, [])
        if method == "POST":
            return self.create(collection, body, key)
        if not name:
            query = dict(parse_qsl(parts.query))
            return 200, [record for record in records if all(str(record.get(k)) == v for k, v in query.items())]
        found = [record for record in records if record["id"] == name]
        if not found:
            return 404, {"error": "not_found", "detail": f"no {collection.rstrip('s')} {name}"}
        if method == "DELETE":
            records.remove(found[0])
        return 200, found[0]

    def create(self, collection: str, body: dict[str, Any], key: str | None) -> Answer:
        """Keep a new record, once for each idempotency key."""
        if key in self.keys:
            return 200, self.keys[key]
        refusal = self.rules[collection](body) if collection in self.rules else None
        if refusal is not None:
            return refusal
        records = self.records[collection]
        record = {"id": f"{collection[:2].upper()}{7001 + len(records)}", **body}
        records.append(record)
        if key is not None:
            self.keys[key] = record
        return 201, record


class Handler(BaseHTTPRequestHandler):
    """Serves the requests of one connection."""

    upstream: Upstream

    def serve(self) -> None:
        """Answer, late or not at all if that is ordered."""
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        kind = f"{self.command} /{urlsplit(self.path).path.strip('/').partition('/')[0]}"
        fault = self.upstream.faults.get(kind)
        if fault is not None and not fault.meets():
            fault = None
        status, answer, headers = 0, None, {}
        if fault is None or fault.is_late:
            status, answer = self.upstream.work(self.command, self.path, body, self.headers.get("Idempotency-Key"))
        if fault is not None:
            self.upstream.closing.wait(fault.hang_s)
            status, answer, headers = fault.status, fault.body, fault.headers
        if not status:
            self.close_connection = True
            return
        text = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(text)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = serve  # noqa: N815 - the names that http.server looks for

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


@contextmanager
def listening() -> Iterator[Upstream]:
    """Serve on a free port of the loopback, until the end."""
    upstream = Upstream()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"upstream": upstream}))
    server.daemon_threads = True
    upstream.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield upstream
    finally:
        upstream.closing.set()
        server.shutdown()
        server.server_close()
