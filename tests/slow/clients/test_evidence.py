"""The table of evidence: code, next step, effect and retry advice reach every client, from every kind of server.

Clients that hand on only the text get them as its lines, where they say something; the others in the object.

Each client calls each server over HTTP and gives back what it hands to its user, or to its model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from tests.slow.clients.framework_runs import served, shown_to_models
from tests.zygote import PYTHON

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "how-to" / "adopt-an-existing-server.md"
SHOP = [PYTHON, str(HERE / "shop.py")]
PROXY = [
    PYTHON,
    "-m",
    "failsoft",
    "proxy",
    "--transport",
    "http",
    "--port",
    "PORT",
    "--",
    *SHOP,
    "foreign",
    "0",
]
SERVERS = {
    "failsoft server": [*SHOP, "failsoft", "PORT"],
    "adapter, `MCPServer`": [*SHOP, "mcpserver", "PORT"],
    "adapter, FastMCP": [*SHOP, "fastmcp", "PORT"],
    "proxy in front of another server": [*PROXY, *SHOP, "foreign", "0"],
}
CALLS: list[dict[str, Any]] = [
    {"name": "price", "arguments": {"item": "tea", "curency": "USD"}},
    {"name": "price", "arguments": {"item": "tea"}},
    {"name": "order", "arguments": {"item": "tea"}},
]
WANTED: list[dict[str, Any]] = [
    {
        "code": "INVALID_PARAM",
        "effect": "none",
        "retry": {"when": "after_fix"},
        "next_step": {"tool": "price", "arguments": {"item": "tea", "currency": "USD"}},
    },
    {
        "code": "RATE_LIMITED",
        "effect": "none",
        "retry": {"when": "after_delay", "after_seconds": 600},
        "next_step": {"tool": "price", "arguments": {"item": "tea"}},
    },
    {"code": "UNAVAILABLE", "effect": "unknown", "retry": {"when": "never"}, "next_step": None},
]
UNKNOWN = (
    "It is unknown whether anything was changed. Do not send the whole call again, even corrected;"
    " send only what was surely not done. The operator of this server has to look into this."
)
LINES: list[tuple[str, set[str]]] = [
    ("price was refused (INVALID_PARAM): ", {'Next: price {"item":"tea","currency":"USD"}'}),
    ("price failed (RATE_LIMITED): ", {'Next: price {"item":"tea"}', "Wait: 600 s"}),
    ("order failed (UNAVAILABLE): ", {UNKNOWN}),
]
"""How the first line of each failure's text begins, and which lines it has for the next step, effect and advice."""
Urls = dict[str, str]
Read = Callable[[Urls, Any, Path], dict[str, list[Any]]]


def texts(texts: list[str]) -> list[Any]:
    """Return what each failure's text says, as the object would."""
    for text, (begins, wanted) in zip(texts, LINES, strict=False):
        first, *others = text.split("\n")
        assert first.startswith(begins)
        facts = {line for line in others if not line.startswith("Error id: ")}
        assert facts == wanted
    return [{"error": error} for error in WANTED[: len(texts)]]


def results(results: list[dict[str, Any]]) -> list[Any]:
    """Return the structured content of whole results, whose text and metadata say the same."""
    trees = []
    texts([result["content"][0]["text"] for result in results])
    for result in results:
        assert result["isError"] is True
        tree = result["structuredContent"]
        meta = result["_meta"]["dev.failsoft/error"]
        assert {"code", "effect", "retry", "error_id"} <= meta.keys() & tree["error"].keys()
        assert {"tool", "operation", "timestamp"} <= meta.keys() - tree["error"].keys()
        assert all(meta[name] == said for name, said in tree["error"].items() if name in meta)
        trees.append(tree)
    return trees


def objects(texts: list[str]) -> list[Any]:
    """Return the objects that a client turned into text, each in an object of the client's."""
    return [json.loads(json.loads(text)["error"]) for text in texts]


def with_sdk(mode: str) -> Read:
    async def call(url: str) -> list[Any]:
        async with Client(url, mode=mode, cache=None) as client:
            await client.list_tools()
            answers = [await client.call_tool(call["name"], call["arguments"]) for call in CALLS]
        return results([answer.model_dump(mode="json", by_alias=True) for answer in answers])

    return lambda urls, _node, _folder: {name: anyio.run(call, url) for name, url in urls.items()}


def with_fastmcp(urls: Urls, _node: Any, _folder: Path) -> dict[str, list[Any]]:
    from fastmcp import Client as FastMCPClient  # noqa: PLC0415 - an extra
    from fastmcp.exceptions import ToolError  # noqa: PLC0415 - the same

    async def call(url: str) -> list[Any]:
        said = []
        async with FastMCPClient(url) as client:
            await client.list_tools()
            for one in CALLS:
                with pytest.raises(ToolError) as raised:
                    await client.call_tool(one["name"], one["arguments"])
                said.append(str(raised.value))
        return texts(said)

    return {name: anyio.run(call, url) for name, url in urls.items()}


def with_typescript(script: str) -> Read:
    def read(urls: Urls, node: Any, _folder: Path) -> dict[str, list[Any]]:
        def call(url: str) -> list[Any]:
            seen = node.script(script, url, json.dumps(CALLS))
            return results([one["result"] for one in seen["results"]])

        return {name: call(url) for name, url in urls.items()}

    return read


def with_inspector(urls: Urls, node: Any, folder: Path) -> dict[str, list[Any]]:
    """Make the first of the calls: its command line makes one a process."""
    call = ["--method", "tools/call", "--tool-name", "price"]
    call += [f"--tool-arg={name}={value}" for name, value in CALLS[0]["arguments"].items()]

    def inspect(url: str) -> list[Any]:
        done = node.run("mcp-inspector", "--cli", url, "--transport", "http", *call, cwd=folder)
        return results([json.loads(done.stdout)])

    with ThreadPoolExecutor() as pool:
        return dict(zip(urls, pool.map(inspect, urls.values()), strict=True))


def with_framework(framework: str, read_shown: Callable[[list[str]], list[Any]]) -> Read:
    def read(urls: Urls, _node: Any, folder: Path) -> dict[str, list[Any]]:
        shown = shown_to_models(framework, urls, [[call] for call in CALLS], folder)
        return {name: read_shown([one["content"] for one in given]) for name, given in shown.items()}

    return read


CLIENTS: dict[str, tuple[Read, str]] = {
    "Python SDK, 2026-07-28": (with_sdk("auto"), "whole result"),
    "Python SDK, 2025-11-25": (with_sdk("legacy"), "whole result"),
    "TypeScript SDK 1": (with_typescript("client_v1.mjs"), "whole result"),
    "TypeScript SDK 2": (with_typescript("client_v2.mjs"), "whole result"),
    "Inspector": (with_inspector, "whole result"),
    "FastMCP": (with_fastmcp, "text, in an exception"),
    "PydanticAI": (with_framework("pydantic_ai", objects), "structured content, as a retry prompt"),
    "LangChain": (with_framework("langchain", texts), "text, in a message of status `error`"),
    "OpenAI Agents": (with_framework("openai_agents", texts), "text"),
}


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Urls]:
    """Yield the addresses of the servers, all of them listening."""
    with served(SERVERS, tmp_path_factory.mktemp("servers")) as addresses:
        yield addresses


@pytest.mark.parametrize("client", CLIENTS)
def test_the_client_gets_code_next_step_effect_and_advice_from_every_server(
    client: str, urls: Urls, node: Any, tmp_path: Path
):
    read, _ = CLIENTS[client]
    for server, trees in read(urls, node, tmp_path).items():
        found = [{name: tree["error"].get(name) for name in WANTED[0]} for tree in trees]
        assert found == WANTED[: len(found)], server


def test_the_table_on_the_page_is_what_is_tested():
    rows = re.findall(r"^\| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    first = rows.index(" | ".join(["client", "its user or model gets", *SERVERS]))
    shown = [row.split(" | ") for row in rows[first + 1 : first + 1 + len(CLIENTS)]]
    assert shown == [[client, gets, *["all four"] * len(SERVERS)] for client, (_, gets) in CLIENTS.items()]
