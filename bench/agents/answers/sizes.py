"""Bytes and tokens of answers: sixty failures of three servers, successes, and the list of tools.

The failures are those of `failures.py`, each in a world of its own; `--show` prints what a model reads of each, to be
read by somebody who plays the model. A whole result is all that the client receives, but for the trace. Successes and
tools are those of the open trades of `adversarial/`, on our server and on its peers, which have the same functions.
Tokens are those of o200k, with `pip install bpe-openai`.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from measure import JOBS, Figure, benchmark, figure, spread

from agents.adversarial.cases import Trade
from agents.adversarial.sets import load
from agents.adversarial.worlds import FASTMCP, OURS, SERVERS
from agents.answers.failures import FAILURES
from agents.answers.play import Answer, play

__all__ = ["measure"]

QUICK_STEP = 6
Tokens = Callable[[str], int]


def _counter() -> Tokens | None:
    """Return what counts the tokens of a text; None without the package."""
    try:
        encoding = importlib.import_module("bpe_openai").get_encoding("o200k_base")
    except ImportError:
        return None
    return lambda text: len(encoding.encode_ordinary(text))


def _answer(number: int) -> Answer:
    logging.disable(logging.CRITICAL)  # this may be a process of its own
    return asyncio.run(play(*FAILURES[number]))


def _shown(number: int, answer: Answer) -> None:
    server, failure = FAILURES[number]
    print(f"## {server}/{failure.name}: {failure.wants}")
    print(f"call: {failure.call}{f' (key {failure.key})' if failure.key else ''}")
    print(f"right: {failure.right}")
    print("---" if answer.is_error else "--- NO FAILURE")
    print(answer.text[:3000])
    print("--- text {} B, structured {} B, whole {} B\n".format(*answer.sizes))


def _failures(answers: list[Answer], tokens: Tokens | None) -> Iterator[Figure]:
    texts, objects, wholes = ([*column] for column in zip(*(one.sizes for one in answers), strict=True))
    yield figure("failure: text", texts, "bytes", goal="<= 190")
    if tokens is not None:
        yield figure("failure: text", [tokens(one.text) for one in answers], "tokens", goal="<= 48")
    yield figure("failure: object", objects, "bytes", goal="<= 320")
    yield figure("failure: whole result", wholes, "bytes", goal="<= 900")
    yield figure("failures", [sum(one.is_error for one in answers)], "of them", goal=f">= {len(answers)}")


async def _of_trade(trade: Trade, server: str) -> tuple[list[str], list[str]]:
    """Return the texts of the calls that are meant, which succeed, and the tools as the JSON that a client receives."""
    is_fastmcp = server == FASTMCP
    client: Any = importlib.import_module("fastmcp" if is_fastmcp else "mcp").Client
    async with client(SERVERS[server](trade.world())) as connected:
        call = connected.call_tool_mcp if is_fastmcp else connected.call_tool
        listed = await connected.list_tools()
        tools = [tool.model_dump_json(by_alias=True, exclude_none=True) for tool in getattr(listed, "tools", listed)]
        texts = [(await call(meant.call[0], dict(meant.call[1]))).content[0].text for meant in trade.meant]
    return texts, tools


async def _beside_peers(trades: Sequence[Trade], tokens: Tokens | None) -> AsyncIterator[Figure]:
    found = {}
    for server in SERVERS:
        try:
            of_trades = [await _of_trade(trade, server) for trade in trades]
        except ImportError as missing:
            print(f"{server}: not installed ({missing.name})")
            continue
        found[server] = [[one for texts in column for one in texts] for column in zip(*of_trades, strict=True)]
    (ours, our_tools), peer = found[OURS], found.get(FASTMCP)
    for server, (texts, tools) in found.items():
        yield figure(f"success, {server}: text", [len(text.encode()) for text in texts], "bytes")
        yield figure(f"tools/list, {server}", [len(tool.encode()) for tool in tools], "bytes a tool")
        if tokens is not None:
            yield figure(f"tools/list, {server}", [tokens(tool) for tool in tools], "tokens a tool")
    if peer is not None:
        more = [len(one.encode()) - len(other.encode()) for one, other in zip(ours, peer[0], strict=True)]
        yield figure("success: text over FastMCP's", [max(more)], "bytes at most", goal="<= 30")
    if peer is not None and tokens is not None:
        share = sum(map(tokens, our_tools)) / sum(map(tokens, peer[1]))
        yield figure("tools/list: tokens", [share], "of FastMCP's", goal="<= 1.1")


OWN = {
    "--failure": {"action": "append", "metavar": "NAME", "dest": "failures", "help": "only this one of the sixty"},
    "--show": {"action": "store_true", "help": "print what a model reads of each failure"},
    **JOBS,
}


@benchmark("Bytes and tokens of answers", own=OWN, step=(1, QUICK_STEP))
async def measure(given: Any) -> list[Figure]:
    """Return the sizes, with the goals for ours."""
    logging.disable(logging.CRITICAL)
    numbers = [
        number for number, (_, failure) in enumerate(FAILURES) if failure.name in (given.failures or [failure.name])
    ]
    numbers = numbers[:: given.step]
    answers = [*spread(_answer, numbers, given.jobs)]
    for number, answer in zip(numbers, answers, strict=True) if given.show else ():
        _shown(number, answer)
    tokens = _counter()
    if tokens is None:
        print("Tokens are not counted: bpe-openai is not installed.")
    beside = [one async for one in _beside_peers(load("open")[:: given.step], tokens)]
    return [*_failures(answers, tokens), *beside]
