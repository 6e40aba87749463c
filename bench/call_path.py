"""What a call costs: `execute_with_error_handling` over the bare handler behind the same pydantic validation.

Counted in yardsticks, one `asyncio.timeout` block with one validation inside, so that machines can be compared: any
server with a time-out and checked arguments pays at least that. What is subtracted is always the bare call that
succeeds, also from the calls that fail. The runtime is the default one: metrics on, one time-out, logging asked but
silent, as a library's is. Times are CPU times.

The peer is FastMCP's `call_tool` with its error handling, retry, timing and logging middlewares and its loggers
switched off. Both produce what goes on the wire, so `encode()` is part of our call.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from measure import Contender, Figure, benchmark, figure, interleave, ratios, us
from sample_tool import ARGUMENTS, Documents

BAD_ARGUMENTS = "<= 10"
GOALS = {"success": "<= 2.0", "typed error": "<= 8", "recovered": "<= 10", "typed error, recovery tried": ""}
PEERED = ("success", "typed error", "wrong type", "misspelt name")


def own_contenders(tool: Documents) -> dict[str, Contender]:
    """Return the yardstick, the bare handler, and our calls, plain and encoded."""
    bound = tool.operations["get_document"]
    validate = bound.arguments.validator.validate_python  # type: ignore[attr-defined]
    handler, given = bound.function, ARGUMENTS["success"]

    async def yardstick(times: int) -> None:
        for _ in range(times):
            async with asyncio.timeout(30):
                validate(given)

    async def bare(times: int) -> None:
        for _ in range(times):
            await handler(tool, **validate(given))

    return {"yardstick": yardstick, "bare": bare} | {name: _call(tool, given) for name, given in ARGUMENTS.items()}


def _call(tool: Documents, given: dict[str, Any]) -> Contender:
    """Return the call; each one is the first of its kind, since identical failures of a caller are told of."""
    recent = tool.operations["get_document"].recent

    async def call(times: int) -> None:
        for _ in range(times):
            if recent.failures:  # a call that succeeds leaves nothing to forget
                recent.failures.clear()
                recent.steps.clear()
            await tool.execute_with_error_handling("get_document", given)

    return call


def peers(tool: Documents) -> dict[str, Contender]:
    """Return whole calls, ours and FastMCP's, up to what goes on the wire; nothing where FastMCP is not installed."""
    try:
        server = _fastmcp()
    except ImportError:
        print("FastMCP is not installed, so nothing is compared with it: pip install -r bench/requirements.txt")
        return {}
    contenders: dict[str, Contender] = {}
    for name in PEERED:
        contenders[f"ours: {name}"] = _whole_call(tool, ARGUMENTS[name])
        contenders[f"FastMCP: {name}"] = _peer_call(server, ARGUMENTS[name])
    return contenders


def _whole_call(tool: Documents, given: dict[str, Any]) -> Contender:
    async def call(times: int) -> None:
        for _ in range(times):
            (await tool.execute_with_error_handling("get_document", given)).encode()

    return call


def _peer_call(server: Any, given: dict[str, Any]) -> Contender:
    async def call(times: int) -> None:
        for _ in range(times):
            try:  # noqa: SIM105 - a context manager would be measured too
                await server.call_tool("get_document", given)
            except Exception:  # noqa: BLE001, S110 - this is how it reports a failure
                pass

    return call


def _fastmcp() -> Any:
    from fastmcp_peer import server  # noqa: PLC0415 - it may be missing

    for name in ("fastmcp", "mcp"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return server()


@benchmark("The call path", rounds=(60, 3), times=(200, 20))
async def measure(given: Any) -> list[Figure]:
    """Return all figures, measured in one run."""
    tool = Documents()
    compared = peers(tool)
    contenders = own_contenders(tool) | compared
    seconds = await interleave(contenders, rounds=given.rounds, times=given.times, clock=time.process_time)
    yardsticks, bare = seconds["yardstick"], seconds["bare"]
    found = [
        figure("yardstick", us(yardsticks), "us"),
        figure("bare handler, validated", us(bare), "us"),
    ]
    for name in ARGUMENTS:
        over = [(own - base) / unit for own, base, unit in zip(seconds[name], bare, yardsticks, strict=True)]
        found.append(figure(f"over the bare: {name}", over, "yardsticks", goal=GOALS.get(name, BAD_ARGUMENTS)))
    for name in PEERED if compared else ():
        ratio = ratios(seconds[f"ours: {name}"], seconds[f"FastMCP: {name}"])
        found.append(figure(f"whole call: {name}", ratio, "of FastMCP", goal="<= 0.333"))
    return found
