"""Random and hostile calls against the served docs: each gets a well-formed answer, and the server is still up."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
TOOLS = ("get_documentation", "list_documents", "search_documents")
PARAMETERS = ("path", "query", "limit", "prefix", "doc_type", "doc_types", "mode", "project")
ODD_TEXT = (
    "",
    " ",
    "../" * 50,
    "/etc/passwd",
    "guide/intro.mdx",
    "guide/\x00intro.mdx",
    "C:\\con",
    "a" * 5_000,
    "%2e%2e/secret",
    '"open',
    "NEAR(",
    "title:*",
    "' OR 1=1 --",
    "\ud800",
    "\u202efdp.exe",
    "{{7*7}}",
    "\x1b[31m",
    "-" * 300,
    "*" * 300,
)
FORBIDDEN = ("Traceback", "/site-packages/", 'File "')

SERVE = """
import sys
from pathlib import Path
from failsoft.server import ToolSource, serve

source = ToolSource(toolsets=("docs",), root=Path(sys.argv[1]))
serve(source, transport="http", port=0, on_ready=lambda url: print(url, flush=True))
"""

text = st.one_of(st.sampled_from(ODD_TEXT), st.text(st.characters(), max_size=60))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=10**20, max_value=10**40),
    st.floats(),
    text,
    st.sampled_from(["mdx", "lexical", "semantic", "guide"]),
)
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(text, inner, max_size=4)),
    max_leaves=30,
)
arguments = st.dictionaries(st.one_of(st.sampled_from(PARAMETERS), text), st.one_of(scalars, trees), max_size=5)
names = st.one_of(st.sampled_from(TOOLS), st.sampled_from(TOOLS), st.sampled_from(TOOLS), text)
metas = st.dictionaries(
    st.sampled_from(["progressToken", "traceparent", "dev.failsoft/idempotency-key", "dev.failsoft/context"]),
    scalars,
    max_size=2,
)
limits = st.one_of(st.integers(-2, 200), st.integers(), scalars)
kinds = st.one_of(st.sampled_from(["md", "mdx", "guide"]), text)
fitting = {
    "get_documentation": st.fixed_dictionaries({"path": text}),
    "list_documents": st.fixed_dictionaries({}, optional={"doc_type": kinds, "prefix": text, "limit": limits}),
    "search_documents": st.fixed_dictionaries(
        {"query": text}, optional={"doc_types": st.lists(kinds, max_size=3), "limit": limits}
    ),
}
named = st.one_of(
    st.tuples(names, arguments), *(st.tuples(st.just(name), given_to_it) for name, given_to_it in fitting.items())
)
calls = st.builds(
    lambda pair, meta, modern: {"name": pair[0], "arguments": pair[1], "meta": meta, "modern": modern},
    named,
    metas,
    st.booleans(),
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve two documents; what the server logs goes to a file, since a pipe that nobody reads would stop it."""
    root = tmp_path_factory.mktemp("documents")
    (root / "guide").mkdir()
    (root / "guide" / "intro.mdx").write_text("---\ntitle: Introduction\n---\nWelcome.\n", encoding="utf-8")
    (root / "guide" / "setup.md").write_text("# Setup\nHow to set it up.\n", encoding="utf-8")
    log = tmp_path_factory.mktemp("log") / "server.log"
    with (
        log.open("wb") as stderr,
        subprocess.Popen([sys.executable, "-c", SERVE, str(root)], stdout=subprocess.PIPE, stderr=stderr) as server,
    ):
        try:
            assert server.stdout is not None
            address = server.stdout.readline().decode().strip()
            assert address, log.read_text()
            yield f"{address}/mcp"
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def post(url: str) -> Iterator[Callable[[dict[str, Any]], httpx2.Response]]:
    """Post calls as raw JSON, with whatever they hold."""
    with httpx2.Client(timeout=60) as client:

        def send(call: dict[str, Any]) -> httpx2.Response:
            modern = call["modern"] and call["name"].isascii() and call["name"].isprintable() and call["name"].strip()
            meta = {**call["meta"], **(MODERN if modern else {})}
            params = {"name": call["name"], "arguments": call["arguments"], "_meta": meta}
            body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
            headers = {"mcp-protocol-version": "2025-11-25"}
            if modern:
                headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": call["name"]}
            return client.post(url, content=body, headers={**ACCEPT, **headers})

        yield send


def check(response: httpx2.Response, call: dict[str, Any]) -> None:
    """Fail unless the answer is one that a strict client can use."""
    body = response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        body = [line for line in body.splitlines() if line.startswith("data:")][-1].removeprefix("data:")
    message = json.loads(body, parse_constant=pytest.fail)
    if "error" in message:
        # Not JSON, or not a request: the SDK refuses it before any tool is asked. Or there is no such tool.
        assert message["error"]["code"] in {-32700, -32602, -32600, -32020}
        return
    assert response.status_code == 200
    result = message["result"]
    answer = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == answer
    assert result["isError"] is not answer["success"]
    assert call["name"] in TOOLS
    if result["isError"]:
        error = answer["error"]
        assert result["_meta"]["dev.failsoft/error"]["code"] == error["code"]
        assert error["category"] != "internal", error
        assert error["message"]
    assert not any(word in body for word in FORBIDDEN)


def run(post: Callable[[dict[str, Any]], httpx2.Response], url: str, examples: int) -> None:
    """Make that many calls, then ask the server how it is."""

    @settings(
        max_examples=examples,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(calls)
    def every_call_is_answered(call: dict[str, Any]) -> None:
        check(post(call), call)

    every_call_is_answered()
    assert httpx2.get(f"{url.removesuffix('/mcp')}/readyz").status_code == 200
    good = {"name": "get_documentation", "arguments": {"path": "guide/intro.mdx"}, "meta": {}, "modern": True}
    assert '"success":true' in post(good).text.replace("\\", "").replace(" ", "")


def test_hundreds_of_hostile_calls_are_answered(post: Callable[[dict[str, Any]], httpx2.Response], url: str) -> None:
    run(post, url, 300)


@pytest.mark.soak
def test_ten_thousand_hostile_calls_are_answered(post: Callable[[dict[str, Any]], httpx2.Response], url: str) -> None:
    run(post, url, 10_000)
