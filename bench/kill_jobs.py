"""Jobs through kills: servers and their processes are killed under load, and every job ends once.

`python bench/kill_jobs.py [--jobs 1000] [--store sqlite|redis] [--temporal PROGRAM]` starts a server over HTTP, sends
each job twice with its key from several clients, kills the server and the processes of jobs again and again, and starts
the server anew. With a Temporal server, two workers run the jobs, and both are killed, too. At the end it prints how
often the work of each job was done, and fails if an acknowledged job did not end exactly once, an effect was done
twice, or a job was lost. `tests/slow/jobs` runs it with fewer jobs.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

KEY = "dev.failsoft/idempotency-key"
_OF_FORK_SERVERS = 0.1
"""How often the process is killed that those of jobs are forked from; it takes as long to start as a server."""
_APP = '''
import asyncio, os
from failsoft import NOT_DONE, BaseTool, CallContext, operation

FILE = os.environ["KILL_JOBS_EFFECTS"]

def done(name):
    with open(FILE, encoding="utf-8") as lines:
        return name + "\\\\n" in lines.readlines()

class Works(BaseTool):
    """Work that is counted."""

    @operation(destructive=False, job="required", effects=True)
    async def pay(self, name: str, call: CallContext) -> str:
        """Pay once."""
        await asyncio.sleep(0.002)
        async def run():
            with open(FILE, "a", encoding="utf-8") as lines:
                lines.write(name + "\\\\n")
            return name
        await call.effect("pay", run=run, probe=lambda: name if done(name) else NOT_DONE)
        await asyncio.sleep(0.002)
        return name
'''.replace("\\\\n", "\\n")


class Site:
    """A server that is killed and started anew, with what its jobs have done.

    Args:
        folder: Where its files are.
        python: The program that runs Python.
        store: `sqlite` or `redis`, whose append-only file is on.
        processes: Of jobs.
        temporal: The program of the Temporal server, which brings the jobs to two workers; None: the server runs them.
    """

    def __init__(
        self, folder: Path, python: str, store: str, processes: int = 2, *, temporal: str | None = None
    ) -> None:
        self.folder = folder
        self.effects = folder / "effects"
        self.effects.touch()
        (folder / "kill_jobs_app.py").write_text(_APP, encoding="utf-8")
        self.port, engine_port = _free_port(), _free_port()
        self.redis: subprocess.Popen[bytes] | None = None
        if store == "redis":
            self._start_redis()
        url = f"unix://{folder}/redis.sock" if store == "redis" else f"sqlite:{folder}/state.sqlite"
        own = {"FAILSOFT_STATE_URL": url, "KILL_JOBS_EFFECTS": str(self.effects)}
        self._environment = {**os.environ, **own, "FAILSOFT_JOB_PROCESSES": str(processes)}
        command = "-m failsoft serve --app kill_jobs_app:Works --transport http --port"
        self._command = [python, *command.split(), str(self.port)]
        self._log = (folder / "log").open("ab")
        self._engine: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []
        self._engine_command: list[str] = []
        self._worker_command = [python, *["-m", "failsoft", "worker", "--app", "kill_jobs_app:Works"]]
        if temporal is not None:
            self._environment["FAILSOFT_FLEET_URL"] = f"temporal://127.0.0.1:{engine_port}/default"
            options = f"server start-dev --headless --log-level error --port {engine_port} --db-filename"
            self._engine_command = [temporal, *options.split(), str(folder / "temporal.sqlite")]
            self._start_engine()
            self._workers = [self._started(self._worker_command) for _ in range(2)]
        self.process: subprocess.Popen[bytes] | None = None
        self.kills: Counter[str] = Counter()
        self._killing = threading.Lock()

    def start(self) -> None:
        """Start the server; it answers later."""
        self.process = self._started(self._command)

    def _started(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - this interpreter
            command, cwd=self.folder, env=self._environment, stdout=self._log, stderr=self._log
        )

    def kill_server(self) -> None:
        """Kill the server, and start it anew."""
        with self._killing:
            self._process().kill()
            self._process().wait()
            self.kills["server"] += 1
            self.start()

    def kill_process(self, chance: random.Random) -> None:
        """Kill one of the processes that run jobs, or the one that they are forked from."""
        parent = (chance.choice(self._workers) if self._workers else self._process()).pid
        forked = [pid for child in _children_of(parent) for pid in _children_of(child)]
        pids = _children_of(parent) if chance.random() < _OF_FORK_SERVERS else forked
        if pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(pids), signal.SIGKILL)
                self.kills["process"] += 1

    def kill_worker(self, chance: random.Random) -> None:
        """Kill a worker with all its processes, as a machine that is gone, and start another one."""
        if self._workers:
            place = chance.randrange(len(self._workers))
            self._end(self._workers[place])
            self.kills["worker"] += 1
            self._workers[place] = self._started(self._worker_command)

    def kill_engine(self) -> None:
        """Kill the Temporal server, if there is one, and start it anew with its database."""
        if self._engine is not None:
            self._engine.kill()
            self._engine.wait()
            self.kills["temporal"] += 1
            self._start_engine()

    def _start_engine(self) -> None:
        self._engine = subprocess.Popen(  # noqa: S603 - a fixed program
            self._engine_command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def kill_store(self) -> None:
        """Kill the Redis server, if there is one, and start it anew with what it has in its file."""
        if self.redis is not None:
            self.redis.kill()
            self.redis.wait()
            self.kills["redis"] += 1
            self._start_redis()

    def _start_redis(self) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise RuntimeError
        places = ["--port", "0", "--unixsocket", str(self.folder / "redis.sock"), "--dir", str(self.folder)]
        options = [*places, "--save", "", "--appendonly", "yes"]
        self.redis = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)  # noqa: S603 - a fixed program

    def close(self) -> None:
        """End the server and everything that it has started."""
        if self.redis is not None:
            self.redis.kill()
            self.redis.wait()
        for process in (self.process, *self._workers, self._engine):
            if process is not None:
                self._end(process)
        self._log.close()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        pids = self._below(process.pid)
        process.kill()
        process.wait()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _process(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            raise RuntimeError
        return self.process

    def done(self) -> Counter[str]:
        """Return how often the work of each job was done."""
        return Counter(self.effects.read_text(encoding="utf-8").split())

    @staticmethod
    def _below(pid: int) -> list[int]:
        """Return the processes that a process has started, and those that these have."""
        found: list[int] = []
        for child in _children_of(pid):
            found += [child, *Site._below(child)]
        return found


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _children_of(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():  # a process belongs to the thread that has started it
            found += [int(child) for child in (task / "children").read_text(encoding="ascii").split()]
    return found


async def call(client: httpx2.AsyncClient, site: Site, tool: str, arguments: dict[str, Any], key: str = "") -> Any:
    """Return the data of a call, sent again until the server answers it."""
    meta = {"_meta": {KEY: key}} if key else {}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    message["params"] |= meta  # type: ignore[operator]  # a dictionary
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    while True:
        with contextlib.suppress(httpx2.HTTPError, ValueError, KeyError, TypeError):
            answer = await client.post(f"http://127.0.0.1:{site.port}/mcp", json=message, headers=headers)
            text = answer.text.partition("data:")[2] or answer.text
            result = json.loads(text)["result"]["structuredContent"]
            if result["success"] or result["error"]["code"] not in {"STATE_UNAVAILABLE", "UNAVAILABLE"}:
                return result
        await asyncio.sleep(0.05)


async def send(site: Site, names: list[str], ids: dict[str, set[str]], on_half: Callable[[], object]) -> None:
    """Send each job twice with its key, and note the ids that were acknowledged."""
    async with httpx2.AsyncClient(timeout=30.0) as client:
        for number, name in enumerate(names):
            if number == len(names) // 2:
                on_half()
            for _ in range(2):
                answer = await call(client, site, "pay", {"name": name}, f"key-{name}")
                if not answer["success"]:
                    raise RuntimeError(str(answer))
                ids.setdefault(name, set()).add(answer["data"]["job_id"])


async def outcomes(site: Site, ids: dict[str, set[str]]) -> dict[str, Any]:
    """Return each job once it has ended."""
    found: dict[str, Any] = {}
    async with httpx2.AsyncClient(timeout=90.0) as client:
        for name, known in ids.items():
            for job_id in known:
                while True:
                    answer = await call(client, site, "get_job", {"job_id": job_id, "wait_s": 20})
                    if not answer["success"] or answer["data"]["state"] != "working":
                        break
                found[name] = answer
    return found


async def run(site: Site, jobs: int, *, clients: int = 4, every_s: float = 1.0, seed: int = 0) -> dict[str, Any]:
    """Send the jobs while servers and processes are killed, and return what came of them.

    Returns:
        `jobs`, `acknowledged`, `completed`, `other` (what else a job ended as), `ids_twice` (keys with several ids),
        `effects_twice`, `lost` (jobs without effect), `kills`, `seconds`.
    """
    chance = random.Random(seed)  # noqa: S311 - which process is killed
    names = [f"j{number}" for number in range(jobs)]
    ids: dict[str, set[str]] = {}
    began = time.monotonic()
    site.start()
    half = asyncio.Event()
    sending = asyncio.gather(*(send(site, names[start::clients], ids, half.set) for start in range(clients)))

    async def kill_at_half() -> None:
        await half.wait()  # however short the run is
        site.kill_process(chance)
        await asyncio.to_thread(site.kill_server)

    async def kill() -> None:
        while True:
            await asyncio.sleep(every_s * chance.uniform(0.5, 1.5))
            drawn = chance.random()
            if drawn < 0.08:
                await asyncio.to_thread(site.kill_store)
            if 0.08 < drawn < 0.2:
                await asyncio.to_thread(site.kill_engine)
            if drawn < 0.15:
                await asyncio.to_thread(site.kill_server)
                await asyncio.sleep(2 * every_s)
            elif drawn < 0.3:
                await asyncio.to_thread(site.kill_worker, chance)
            else:
                site.kill_process(chance)

    killing = asyncio.create_task(kill())
    halving = asyncio.create_task(kill_at_half())
    await sending
    await halving
    looking = asyncio.create_task(outcomes(site, ids))
    await asyncio.sleep(3 * every_s)
    killing.cancel()
    found = await looking
    done = site.done()
    states = Counter(answer["data"]["state"] if answer["success"] else "unknown" for answer in found.values())
    return {
        "jobs": jobs,
        "acknowledged": len(ids),
        "completed": states.pop("completed", 0),
        "other": dict(states),
        "ids_twice": sum(len(known) > 1 for known in ids.values()),
        "effects_twice": sum(count > 1 for count in done.values()),
        "lost": sum(name not in done for name in names),
        "kills": dict(site.kills),
        "seconds": round(time.monotonic() - began, 1),
    }


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000)
    parser.add_argument("--store", default="sqlite", choices=["sqlite", "redis"])
    parser.add_argument("--temporal", metavar="PROGRAM", help="the Temporal server: jobs run in two workers")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between kills")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="failsoft-jobs-") as name:
        site = Site(Path(name), sys.executable, options.store, temporal=options.temporal)
        try:
            result = asyncio.run(run(site, options.jobs, every_s=options.every, seed=options.seed))
        finally:
            site.close()
            tail = (Path(name) / "log").read_text(encoding="utf-8")[-3000:]
    print(json.dumps(result))
    if result["completed"] != options.jobs or result["effects_twice"] or result["lost"] or result["ids_twice"]:
        print(tail, file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
