"""A proxy over stdio that is watched over HTTP: its metrics and probes, and the lines of its log."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import stdio_client

from tests.proxy.conftest import HOSTILE, proxy_parameters
from tests.proxy.test_operating import run_proxy
from tests.zygote import PYTHON

pytestmark = pytest.mark.anyio
BOUND_S = 60


class Watched:
    """A proxy, its client, and what it logs."""

    def __init__(self, client: Client, log: Path) -> None:
        self.client, self.log = client, log

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    @property
    def url(self) -> str:
        (line,) = [line for line in self.lines() if "url" in line]
        return str(line["url"])


@asynccontextmanager
async def watched(folder: Path, *options: str, **variables: str) -> AsyncIterator[Watched]:
    log = folder / "log"
    parameters = proxy_parameters(
        *options, upstream=[PYTHON, str(HOSTILE)], env={"FAILSOFT_LOG_JSON": "1", **variables}
    )
    with log.open("w") as errors, anyio.fail_after(BOUND_S):
        async with Client(stdio_client(parameters, errlog=errors), cache=None) as client:
            yield Watched(client, log)


def fetched(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=BOUND_S) as answer:  # noqa: S310 - loopback
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


async def test_metrics_and_probes_are_served_while_the_client_is_there(tmp_path):
    async with watched(tmp_path, "--metrics-port", "0") as proxy:
        url = proxy.url
        await proxy.client.call_tool("echo", {"text": "on"})
        status, text = await anyio.to_thread.run_sync(fetched, url)
        assert status == 200
        assert [line for line in text.splitlines() if 'operation="echo"' in line and not line.startswith("#")]
        health = await anyio.to_thread.run_sync(fetched, url.replace("/metrics", "/healthz"))
        assert health == (200, '{"status":"alive"}')
        assert (await anyio.to_thread.run_sync(fetched, url.replace("/metrics", "/mcp")))[0] == 404
    with pytest.raises(urllib.error.URLError):
        await anyio.to_thread.run_sync(fetched, url)


async def test_metrics_beside_stdio_take_the_token_that_those_over_http_take(tmp_path):
    async with watched(tmp_path, "--metrics-port", "0", FAILSOFT_AUTH_TOKEN="t" * 32) as proxy:
        assert (await anyio.to_thread.run_sync(fetched, proxy.url))[0] == 401
        bearer = {"Authorization": "Bearer " + "t" * 32}
        assert (await anyio.to_thread.run_sync(lambda: fetched(proxy.url, **bearer)))[0] == 200


def test_a_port_that_is_in_use_ends_the_proxy_before_its_server_is_started(tmp_path):
    marker = tmp_path / "started"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run_proxy("--metrics-port", port, "--", PYTHON, "-c", f"open({str(marker)!r}, 'w')")
    assert done.returncode == 4
    assert all(part in done.stderr for part in (port, "--metrics-port 0"))
    assert not marker.exists()


def test_over_http_metrics_have_no_port_of_their_own():
    done = run_proxy("--transport", "http", "--metrics-port", "0", "--", PYTHON)
    assert (done.returncode, "--metrics-port" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("error", {}), ("is_error", {}), ("malformed", {}), ("echo", {"times": 0}), ("bad_structured", {}), ("die", {})],
)
@pytest.mark.parametrize("read_only", ["true", "false"])
async def test_a_failed_call_is_one_line_of_the_log(tmp_path, tool, arguments, read_only):
    overrides = tmp_path / "tools.toml"
    overrides.write_text(f"[tools.{tool}]\nread_only = {read_only}\n")
    async with watched(tmp_path, "--overrides", str(overrides)) as proxy:
        before = len(proxy.lines())
        assert (await proxy.client.call_tool(tool, arguments)).is_error
        said = [line for line in proxy.lines()[before:] if line["level"] != "INFO"]  # runs of a recovery are INFO
    about = [line for line in said if line.get("operation") == tool]
    assert len(about) == 1
    others = {line["message"] for line in said} - {about[0]["message"]}
    assert tool == "die" or not others
