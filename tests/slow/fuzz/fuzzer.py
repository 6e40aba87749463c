"""Fuzz server, proxy, client, adapter and documents: `python -m tests.slow.fuzz.fuzzer --seconds 3600 --seed 1`.

A round of each part takes some seconds and is repeated with the next seed until the time is up. A problem is printed
with the part and the seed that show it again: `--part PART --seed SEED --seconds 0`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from fastmcp import FastMCP
from fastmcp.tools.function_tool import FunctionTool
from hypothesis import given, seed as seeded
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from failsoft import ToolError
from failsoft.adapters.fastmcp import FailSoftMiddleware
from failsoft.adapters.mcpserver import FailSoft
from failsoft.client import Client as TypedClient
from failsoft.tools.docs import Docs
from tests.e2e.hostile import volleys
from tests.e2e.under_attack import bounded
from tests.server.http.lane_requests import Request, requests
from tests.server.http.test_lane import answers, both
from tests.slow.fuzz.grammar import Grammar

UPSTREAM = Path(__file__).with_name("upstream.py")
WATCH = Path(__file__).parents[3] / "bench" / "hostile_upstreams.py"
CALL_S = 60
"""How long an answer may take before it counts as none; beside other processes a machine may be slow."""
MB = 1_000_000
BLOCKED_AT_MOST_MS = 100
PARSING_AT_MOST_MS = 50
"""What large messages take that were parsed beside the loop: the SDK validates them."""
GROWTH_AT_MOST_MB = 100
PEAK_AT_MOST_MB = 200
"""While messages of two hostile upstreams are read, each of which may take 100 MB."""
ROUND_S = 6
"""How long hostile upstreams are called in a round; some calls take until their time-out."""
MESSAGE_AT_MOST = 2_500
TOOLS = 12
CLIENT_CALL_S = 2
OWN_FAULTS = {"INTERNAL_ERROR", "UNKNOWN_ERROR"}


@dataclass
class Found:
    """What a round has seen: counts, the worst figures, and problems."""

    counts: Counter[str] = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def keep(self, name: str, value: float) -> None:
        """Keep the largest value of a figure."""
        self.worst[name] = max(value, self.worst.get(name, value))


def _draw(strategy: Any, drawn: list[Any], cases: int, seed: int) -> None:
    @seeded(seed)
    @bounded(cases)
    @given(strategy)
    def draw(case: Any) -> None:
        drawn.append(case)

    draw()


async def lanes(seed: int, found: Found, *, cases: int = 200) -> None:
    """Compare the lane's answers with the SDK's."""
    drawn: list[Request] = []
    _draw(requests(), drawn, cases, seed)
    async with both(max_request_bytes=4_000) as apps:
        for request in drawn:
            fast, slow = await answers(request, *apps)
            found.counts[f"lanes: {fast.status}"] += 1
            if fast != slow:
                found.problems.append(f"lanes differ: {request}: {fast} and {slow}")


async def http(seed: int, found: Found, *, cases: int = 60) -> None:
    """Send what is hardly HTTP, in both eras, to a server with tools of documents."""
    drawn: list[Any] = []
    _draw(volleys(), drawn, cases, seed)
    with tempfile.TemporaryDirectory() as folder, _process(folder, seed) as (process, address):
        idle = _resident(process.pid)
        host, port = address.split(":")
        for shot in [shot for volley in drawn for shot in volley]:
            answer = await _sent(host, int(port), shot)
            status = answer.split(b" ", 2)[1:2]
            found.counts[f"http: {status[0].decode(errors='replace') if status else 'closed'}"] += 1
            if b"Traceback" in answer or status == [b"500"]:
                found.problems.append(f"http: {shot.verb} {shot.path} {shot.body[:300]!r}: {answer[:300]!r}")
        found.keep("http: growth MB", (_resident(process.pid) - idle) / MB)
        if process.poll() is not None:
            found.problems.append("http: the server has ended")
        _look_at_log(Path(folder) / "log", "http", found)


async def _sent(host: str, port: int, shot: Any) -> bytes:
    head = {"host": f"{host}:{port}", "content-type": "application/json", "content-length": str(len(shot.body))}
    head |= {"accept": "application/json, text/event-stream", "connection": "close", **shot.headers}
    text = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    reader, writer = await asyncio.open_connection(host, port)
    with contextlib.suppress(OSError, TimeoutError):
        writer.write(f"{shot.verb} {shot.path} HTTP/1.1\r\n{text}\r\n".encode("latin-1", "replace") + shot.body)
        answer = await asyncio.wait_for(reader.read(), CALL_S)
        writer.close()
        return answer
    writer.close()
    return b""


@contextlib.contextmanager
def _process(folder: str, seed: int) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    root = Path(folder) / "root"
    root.mkdir()
    (root / "page.md").write_text(Grammar(seed).document(), encoding="utf-8", errors="replace")
    log = Path(folder) / "log"
    command = [sys.executable, "-m", "failsoft", "serve", "docs", "--root", str(root), "--transport", "http"]
    with log.open("wb") as errors:
        process = subprocess.Popen([*command, "--port", "0"], stderr=errors)
    try:
        until = time.monotonic() + CALL_S
        while "failsoft serves http://" not in log.read_text() and time.monotonic() < until:
            time.sleep(0.05)
        yield process, log.read_text().split("failsoft serves http://")[1].split("/")[0]
    finally:
        process.terminate()
        process.wait(30)


async def proxy(seed: int, found: Found, *, cases: int = 60) -> None:
    """Call the tools of a hostile upstream through the proxy, and those of a calm one beside it."""
    with tempfile.TemporaryDirectory() as folder, _site(seed) as url:
        servers: dict[str, Any] = {
            name: {"command": sys.executable, "args": [str(UPSTREAM), name, str(seed)]} for name in ("calm", "wild")
        }
        servers["site"] = {"url": url}
        config, report, log = (Path(folder) / name for name in ("servers.json", "report.json", "log"))
        config.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        words = [str(WATCH), "watched", str(report), "proxy", "--config", str(config)]
        environment = {**os.environ, "FAILSOFT_DEFAULT_TIMEOUT_S": "3", "PYTHONHASHSEED": str(seed % 1_000)}
        environment |= {"FAILSOFT_STATE_DIR": folder, "FAILSOFT_LOG_LEVEL": "WARNING"}
        with log.open("w") as errors:
            started = StdioServerParameters(command=sys.executable, args=words, env=environment)
            async with Client(stdio_client(started, errlog=errors), cache=None, mode="legacy") as client:
                await _attack(client, Grammar(seed), found, cases, report)
        _look_at_log(log, "proxy", found)
        figures = _figures(report)
        found.keep("proxy: longest callback ms", figures["blocked_s"] * 1_000)
        if figures["blocked_s"] * 1_000 > BLOCKED_AT_MOST_MS + PARSING_AT_MOST_MS:
            found.problems.append(
                f"proxy: the loop was blocked for {figures['blocked_s']:.3f} s: {figures['blocked_by']}"
            )


async def _attack(client: Client, drawn: Grammar, found: Found, cases: int, report: Path) -> None:
    idle = [await _timed(client) for _ in range(20)]
    before = _figures(report)
    beside: list[float] = []

    async def side() -> None:
        while True:
            beside.append(await _timed(client))
            await anyio.sleep(0.02)

    async with anyio.create_task_group() as group:
        group.start_soon(side)
        names: list[str] = []
        until = time.monotonic() + ROUND_S
        for number in range(cases):
            if time.monotonic() > until:
                break
            if number % 20 == 0:
                names = await _listed(client, found) or names
            guessed = f"{drawn.choice(('wild', 'site'))}__wild_{drawn.randrange(12)}"
            await _called(client, drawn.choice([guessed, *names]), drawn, found)
        group.cancel_scope.cancel()
    idle.sort()
    beside.sort()
    if beside:
        found.keep("proxy: side calls, p99 over idle", beside[len(beside) * 99 // 100] / idle[-1])
        found.keep("proxy: side calls, median over idle", beside[len(beside) // 2] / idle[len(idle) // 2])
    _give_back(report)
    await anyio.sleep(0.5)
    after = _figures(report)
    for name, most in (("resident", GROWTH_AT_MOST_MB), ("peak", PEAK_AT_MOST_MB)):
        growth = (after[name] - before[name]) / MB
        found.keep(f"proxy: growth MB, {name}", growth)
        if growth > most:
            found.problems.append(f"proxy: {growth:.0f} MB more than when idle ({name})")


async def _listed(client: Client, found: Found) -> list[str]:
    try:
        with anyio.fail_after(CALL_S):
            names = [tool.name for tool in (await client.list_tools()).tools]
    except (MCPError, TimeoutError) as error:
        found.problems.append(f"proxy: the tools are not listed: {error!r}")
        return []
    found.counts["proxy: tools listed"] += len(names)
    return [name for name in names if not name.startswith("calm")]


async def _called(client: Client, name: str, drawn: Grammar, found: Found) -> None:
    arguments = {drawn.choice(("a", "a", "b", "path")): drawn.value() for _ in range(drawn.choice((0, 0, 1, 2)))}
    try:
        arguments = json.loads(json.dumps(arguments).replace("\\ud800", "?"))
        with anyio.fail_after(CALL_S):
            result = await client.call_tool(name, arguments)
        failed = (result.meta or {}).get("dev.failsoft/error") or {}
        said = code = str(failed.get("code", "an error as it came" if result.is_error else "ok"))
    except MCPError as error:
        code = str(error.error.code)
        said = f"{code} {error.error.message}"
    except TimeoutError:
        said = code = "no answer"
    except RuntimeError:  # the SDK's word for a result that its client does not take for one of the output schema
        said = code = "refused by the client"
    found.counts[f"proxy: {code}"] += 1
    is_typed = "not running at the moment" in said  # of a tool that may exist
    if code in {*OWN_FAULTS, "no answer", "0"} or (code == "-32603" and not is_typed):
        found.problems.append(f"proxy: {name} {json.dumps(arguments)[:300]}: {said}")


async def _timed(client: Client) -> float:
    began = time.monotonic()
    await client.call_tool("calm__work", {})
    return time.monotonic() - began


@contextlib.contextmanager
def _site(seed: int) -> Iterator[str]:
    process = subprocess.Popen([sys.executable, str(UPSTREAM), "http", str(seed)], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().decode().strip()}/mcp"
    finally:
        process.kill()
        process.communicate()


async def client(seed: int, found: Found, *, cases: int = 25) -> None:
    """Call the tools of a hostile server through the typed client, over stdio and HTTP."""
    drawn = Grammar(seed)
    with _site(seed) as url:
        for target in ([sys.executable, str(UPSTREAM), "wild", str(seed)], url):
            tasks, until = 0, time.monotonic() + ROUND_S / 2
            try:
                async with (
                    asyncio.timeout(2 * CALL_S),
                    TypedClient(target, mode="legacy", attempts=2) as typed,
                ):
                    for _ in range(cases):
                        if time.monotonic() > until:
                            break
                        await _called_by_client(typed, f"wild_{drawn.randrange(TOOLS)}", found)
                        tasks = max(tasks, len(asyncio.all_tasks()))
            except ToolError as error:  # the connection was lost before the first call
                found.counts[f"client: not connected, {error.code}"] += 1
            found.keep("client: tasks", tasks)


async def _called_by_client(typed: TypedClient, name: str, found: Found) -> None:
    try:
        await typed.call(name, {"a": "x"}, timeout_s=CLIENT_CALL_S)
        code = "ok"
    except ToolError as error:
        code = error.code
        json.dumps(error.to_dict())
        if len(error.message) > MESSAGE_AT_MOST:
            found.problems.append(f"client: {name}: a message of {len(error.message)} characters")
    found.counts[f"client: {code}"] += 1
    if code in OWN_FAULTS:
        found.problems.append(f"client: {name}: {code}")


async def adapter(seed: int, found: Found, *, cases: int = 40) -> None:
    """List and call tools with hostile schemas and results in a server that has the adapter on."""
    drawn = Grammar(seed)
    server: MCPServer[Any] = MCPServer("wild")
    other: FastMCP[Any] = FastMCP("wild", middleware=[FailSoftMiddleware()])

    async def work() -> str:
        return json.dumps(drawn.result())

    for number in range(TOOLS):
        server.add_tool(work, name=f"wild_{number}", structured_output=False)
    for tool in server._tool_manager.list_tools():
        schema = drawn.input_schema()
        tool.parameters = schema if isinstance(schema, dict) else {"type": "object"}
        made = FunctionTool.from_function(work, name=tool.name, output_schema=None)
        other.add_tool(made.model_copy(update={"parameters": {**tool.parameters, "type": "object"}}))
    adapted = FailSoft(server)
    began = time.thread_time()
    found.counts["adapter: tools listed"] += len(await server.list_tools())
    found.keep("adapter: list ms", (time.thread_time() - began) * 1_000)
    async with Client(other._mcp_server, cache=None) as beside:
        found.counts["adapter: tools listed"] += len((await beside.list_tools()).tools)
        for call in (server.call_tool, beside.call_tool):
            await _adapted(call, drawn, found, cases // 2)
    adapted.detach()


async def _adapted(call: Callable[..., Any], drawn: Grammar, found: Found, cases: int) -> None:
    for _ in range(cases):
        given_ = drawn.value()
        arguments = json.loads(json.dumps(given_ if isinstance(given_, dict) else {"a": given_}))
        result = await call(f"wild_{drawn.randrange(TOOLS)}", arguments)
        failed = (result.meta or {}).get("dev.failsoft/error") or {}
        code = failed.get("code", "ok")
        found.counts[f"adapter: {code}"] += 1
        if code == "INTERNAL_ERROR":
            found.problems.append(f"adapter: {json.dumps(arguments)[:300]}: {code}")


async def documents(seed: int, found: Found, *, cases: int = 40) -> None:
    """Read, search, list and check pages from a grammar."""
    drawn = Grammar(seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(cases):
            page = Path(folder) / f"page{number}.md"
            page.write_bytes(drawn.document().encode(errors=drawn.choice(("replace", "surrogatepass"))))
        tool, idle = Docs(Path(folder)), _resident(os.getpid())
        for number in range(cases):
            path = f"page{number}.md{drawn.choice(('', '', '#a', '#' + drawn.text()[:99]))}"
            for operation, given_ in (
                ("get_documentation", {"path": path}),
                ("validate_document", {"path": path}),
                ("search_documents", {"query": drawn.text()}),
                ("list_documents", {"prefix": drawn.text()[:50]}),
            ):
                began = time.thread_time()
                response = await tool.execute_with_error_handling(operation, given_)
                held = time.thread_time() - began
                found.keep("documents: loop ms", held * 1_000)
                code = "ok" if response.error is None else response.error.code
                found.counts[f"documents: {code}"] += 1
                if code in OWN_FAULTS or held * 1_000 > BLOCKED_AT_MOST_MS:
                    found.problems.append(f"documents: {operation} {given_}: {code} after {held:.3f} s on the loop")
        growth = (_resident(os.getpid()) - idle) / MB
        found.keep("documents: growth MB", growth)
        if growth > GROWTH_AT_MOST_MB:
            found.problems.append(f"documents: {growth:.0f} MB more than when idle")
        await tool.shutdown()


def _give_back(report: Path) -> None:
    """Let the watched process give back what it has freed, so that its resident memory is what it holds."""
    Path(f"{report}.trim").touch()


def _figures(report: Path) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return figures


def _resident(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()[1]) * 4_096


def _look_at_log(log: Path, part: str, found: Found) -> None:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    bad = [line for line in lines if '"level":"ERROR"' in line or "Traceback" in line]
    found.problems += [f"{part}, log: {line[:600]}" for line in bad[:3]]


PARTS: dict[str, Callable[..., Any]] = {
    "lanes": lanes,
    "http": http,
    "proxy": proxy,
    "client": client,
    "adapter": adapter,
    "documents": documents,
}


def fuzz(parts: list[str], *, seconds: float, seed: int, show: Callable[[str], object]) -> Found:
    """Run rounds until the time is up, each part once at least, and return what they have found."""
    found = Found()
    until = time.monotonic() + seconds
    rounds = ((number, part) for number in itertools.count(seed) for part in parts)
    with contextlib.suppress(KeyboardInterrupt):
        for number, part in rounds:
            if number > seed and time.monotonic() > until:
                break
            known = len(found.problems)
            try:
                asyncio.run(PARTS[part](number, found))
            except Exception as error:  # noqa: BLE001 - of a fuzzer, the next round goes on
                found.problems.append(f"{part}: {error!r}")
            found.counts[f"{part}: rounds"] += 1
            for problem in found.problems[known:]:
                show(f"seed {number}: {problem}")
    return found


def _show(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Fuzz as the command line says, and print a summary; 1 if there are problems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--seconds", type=float, default=3_600)
    parser.add_argument("--seed", type=int, default=1)
    given_ = parser.parse_args()
    found = fuzz(given_.part or [*PARTS], seconds=given_.seconds, seed=given_.seed, show=_show)
    for name, count in sorted(found.counts.items()):
        _show(f"{name}: {count}")
    for name, value in found.worst.items():
        _show(f"worst of {name}: {value:.1f}")
    _show(f"{len(found.problems)} problems")
    return int(bool(found.problems))


if __name__ == "__main__":
    sys.exit(main())
