"""Proxies of one name over one state store: each upstream has its own keys and breakers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.proxy.conftest import proxied
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio

NOTES = Path(__file__).with_name("notes.py")
KEYED = {"dev.failsoft/idempotency-key": "note-7"}


async def written(client: Client, tool: str = "write") -> Any:
    result = await client.call_tool(tool, {"text": "hello"}, meta=KEYED)
    assert not result.is_error, result.content
    return result


def said(result: Any) -> str:
    return str(result.content[0].text)


def is_replayed(result: Any) -> bool:
    recovery = ((result.meta or {}).get("dev.failsoft/metadata") or {}).get("recovery") or {}
    return recovery.get("strategy") == "idempotency"


@pytest.fixture(params=["a file that is named", "the file in the state folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    if request.param == "the file in the state folder":
        return {"XDG_STATE_HOME": str(tmp_path / "state")}
    return {"FAILSOFT_STATE_URL": f"sqlite:{tmp_path / 'state.sqlite'}"}


async def test_a_key_that_one_upstream_has_done_is_new_to_another_of_its_name(tmp_path, store):
    for name in ("a", "b"):
        upstream = [PYTHON, str(NOTES), str(tmp_path / name)]
        async with proxied("--name", "filesystem", upstream=upstream, env=store) as client:
            assert said(await written(client)) == f"written to {name}"
    assert [(tmp_path / name).read_text() for name in ("a", "b")] == ["hello\n", "hello\n"]


async def test_a_key_is_known_to_the_same_upstream_behind_the_next_proxy(tmp_path, store):
    upstream = [PYTHON, str(NOTES), str(tmp_path / "a")]
    answers = []
    for _ in range(2):
        async with proxied("--name", "filesystem", upstream=upstream, env=store) as client:
            answers.append(await written(client))
    assert [said(answer) for answer in answers] == ["written to a"] * 2
    assert [is_replayed(answer) for answer in answers] == [False, True]
    assert (tmp_path / "a").read_text() == "hello\n"


async def test_one_command_in_two_folders_is_two_servers(tmp_path, store):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        async with configured(tmp_path / name, {"fs": entry("notes", cwd=str(tmp_path / name))}, store) as client:
            assert not is_replayed(await written(client))
    assert [(tmp_path / name / "notes").read_text() for name in ("one", "two")] == ["hello\n", "hello\n"]


async def test_one_command_with_other_variables_in_its_entry_is_another_server(tmp_path, store):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        servers = {"fs": entry(env={"NOTES": str(tmp_path / name / "notes"), "NOTES_TOKEN": name})}
        async with configured(tmp_path / name, servers, store) as client:
            assert not is_replayed(await written(client))
    assert [(tmp_path / name / "notes").read_text() for name in ("one", "two")] == ["hello\n", "hello\n"]


async def test_an_upstream_with_a_new_token_still_has_its_keys(tmp_path, store):
    replayed = []
    for token in ("first", "second"):
        servers = {"fs": entry(env={"NOTES": str(tmp_path / "notes"), "NOTES_TOKEN": token})}
        async with configured(tmp_path, servers, store) as client:
            replayed.append(is_replayed(await written(client)))
    assert replayed == [False, True]


async def test_upstreams_of_one_file_have_their_own_keys(tmp_path, store):
    servers = {name: entry(str(tmp_path / name)) for name in ("a", "b")}
    for attempt in ("first", "second"):
        async with configured(tmp_path, servers, store) as client:
            for name in servers:
                answer = await written(client, f"{name}__write")
                assert (said(answer), is_replayed(answer)) == (f"written to {name}", attempt == "second")
    assert [(tmp_path / name).read_text() for name in ("a", "b")] == ["hello\n", "hello\n"]


async def test_an_operator_opens_the_breaker_of_one_upstream_and_not_that_of_another_of_its_name(tmp_path):
    store = {"FAILSOFT_STATE_URL": f"sqlite:{tmp_path / 'state.sqlite'}"}
    first, second = ([PYTHON, str(NOTES), str(tmp_path / name)] for name in ("a", "b"))
    async with proxied("--name", "filesystem", upstream=first, env=store) as client:
        await written(client)
        opening = [PYTHON, "-m", "failsoft", "state", "open", "filesystem"]
        done = await anyio.run_process(opening, env={**os.environ, **store}, check=False)
        assert done.returncode == 0, done.stderr
        refused = await client.call_tool("write", {"text": "again"})
        assert refused.meta["dev.failsoft/error"]["code"] == "CIRCUIT_OPEN"
    async with proxied("--name", "filesystem", upstream=second, env=store) as client:
        assert said(await written(client)) == "written to b"


def entry(*words: str, **more: Any) -> dict[str, Any]:
    return {"command": PYTHON, "args": [str(NOTES), *words], **more}


def configured(folder: Path, servers: dict[str, Any], store: dict[str, str]) -> Any:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    words = ["-m", "failsoft", "proxy", "--config", str(file)]
    return Client(stdio_client(StdioServerParameters(command=PYTHON, args=words, env=store)), cache=None)
