"""What a bare server logs of a failed call, it also logs with the adapter on: once, with the id that the caller got."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from loguru import logger
from mcp_types import ToolAnnotations

from failsoft import configure_logging
from failsoft.testing import fresh_runtime
from tests.adapters.test_adapters import FastMCPServer, SdkServer

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("transports")]

LOGGERS = {SdkServer: "mcp.server.mcpserver.server", FastMCPServer: "fastmcp.server.server"}


@pytest.fixture(params=["mcpserver", "fastmcp"])
def library(request: pytest.FixtureRequest) -> Any:
    return FastMCPServer() if request.param == "fastmcp" else SdkServer("auto")


@pytest.fixture
def logged(library: Any) -> Iterator[list[logging.LogRecord]]:
    """The records of the server's own logger."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    target = logging.getLogger(LOGGERS[type(library)])
    level = target.level
    target.addHandler(handler)
    target.setLevel(logging.INFO)
    yield records
    target.removeHandler(handler)
    target.setLevel(level)


def server_of(library: Any) -> Any:
    server = library.make({"runtime": fresh_runtime()})

    @server.tool()
    def crashes() -> str:
        """Crash."""
        try:
            {}["warehouse 9"]
        except KeyError:
            raise RuntimeError("no shelf 4")  # noqa: B904 - the context is to be logged, too

    @server.tool()
    def refuses(size: int = 1) -> str:
        """Refuse."""
        raise library.tool_error("too large for shelf 3")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def never_there() -> str:
        """Fail in each of several runs."""
        raise ConnectionResetError(104, "reset")

    return server


@pytest.mark.parametrize("name", ["crashes", "refuses", "never_there", "wrong arguments"])
async def test_a_failed_call_is_one_line_of_the_servers_log_with_the_error_id(library, logged, name):
    async with library.connected(server_of(library)) as (call, _):
        answer = await call("refuses", {"size": "x"}) if name == "wrong arguments" else await call(name, {})
    (record,) = logged
    assert answer.meta["dev.failsoft/error"]["error_id"] in record.getMessage()
    assert bool(record.exc_info) is (name in {"crashes", "never_there"})


async def test_the_traceback_of_a_crash_has_its_context(library, logged):
    async with library.connected(server_of(library)) as (call, _):
        await call("crashes", {})
    (record,) = logged
    text = logging.Formatter().format(record)
    assert "no shelf 4" in text
    assert "warehouse 9" in text


async def test_where_the_log_of_failsoft_is_on_it_has_the_failed_call_and_the_servers_log_has_not(library, logged):
    stream = io.StringIO()
    sink = configure_logging("INFO", stream=stream)
    try:
        async with library.connected(server_of(library)) as (call, _):
            error_id = (await call("crashes", {})).meta["dev.failsoft/error"]["error_id"]
    finally:
        logger.remove(sink)
        logger.disable("failsoft")
    assert logged == []
    assert stream.getvalue().count(error_id) == 1
    assert "no shelf 4" in stream.getvalue()
