"""Two servers over HTTP, also with several workers, and a Redis between them: sessions, plans and locks are shared."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import redis
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.programs.redis import RedisServer
from tests.server.processes import Served

PLANNER, WORKER = "ANTIGRAVITY", "WINDSURF"
TOKENS = {name: f"the secret of {name}" for name in ("alice", "bob", "carol", "dora")}
PATIENT = {"FAILSOFT_STATE_TIMEOUT_S": "10"}
"""A busy machine is no store that is out of reach."""


class ByCommand(Served):
    """`failsoft serve workspace`, as an operator starts it."""

    program = ("-m", "failsoft", "serve", "workspace")


@dataclass(frozen=True)
class Caller:
    """Who calls which server, as a client that connects anew each time: any worker may answer."""

    url: str
    folder: Path
    token: str | None = None
    session: str | None = None

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        headers = {} if self.token is None else {"authorization": f"Bearer {self.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(self.url, http_client=http)) as client,
        ):
            yield client

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a tool."""
        if self.session is not None:
            arguments = {"session_id": self.session, **arguments}

        async def run() -> Any:
            async with self._client() as client:
                return (await client.call_tool(name, arguments)).structured_content

        answer: dict[str, Any] = asyncio.run(run())
        return answer

    def begin(self, role: str) -> Caller:
        """Return the same caller in a new session."""
        return replace(
            self, session=self.data("begin_session", workspace_root=str(self.folder), role=role)["session_id"]
        )

    def data(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return what a call that works returns."""
        answer = self.call(name, **arguments)
        assert answer.get("success"), answer
        data: dict[str, Any] = answer["data"]
        return data

    def code(self, name: str, **arguments: Any) -> str:
        """Return the code of a call that fails without any effect."""
        answer = self.call(name, **arguments)
        assert answer["effect"] == "none", answer
        code: str = answer["error_code"]
        return code

    def at(self, url: str) -> Caller:
        """Return the same caller at another server."""
        return replace(self, url=url)


@dataclass(frozen=True)
class Replicas:
    """The addresses of two servers for the same folder, and their Redis."""

    root: Path
    one: str
    other: str
    store: RedisServer
    numbers: Iterator[int]

    def caller(self, name: str | None = None) -> Caller:
        """Return a caller of the first server with a workspace of the test's own."""
        token = None if name is None else TOKENS[name]
        folder = self.root / f"project-{next(self.numbers)}"
        folder.mkdir()
        (folder / "a.md").write_text("one\n")
        return Caller(self.one, folder, token)


@contextmanager
def served(root: Path, *, workers: int, **environment: str) -> Iterator[Replicas]:
    """Start both servers on one Redis."""
    with ExitStack() as stack:
        store = RedisServer()
        stack.callback(store.close)
        http = ("--root", str(root), "--transport", "http", "--port", "0")
        environment |= {"FAILSOFT_STATE_URL": store.url, **PATIENT}
        servers = [ByCommand(*http, **environment), ByCommand(*http, "--workers", str(workers), **environment)]
        for server in servers:
            stack.callback(server.close)
        one, other = (server.wait_for("failsoft serves ").partition(" ")[0] for server in servers)
        yield Replicas(root, one, other, store, itertools.count())


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """Serve without tokens."""
    with served(tmp_path_factory.mktemp("served"), workers=2) as replicas:
        yield replicas


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """Serve to callers with tokens of their own."""
    tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
    with served(tmp_path_factory.mktemp("served"), workers=2, FAILSOFT_AUTH_TOKENS=tokens) as replicas:
        yield replicas


def test_a_session_that_began_on_one_server_works_and_ends_on_the_other(replicas: Replicas) -> None:
    here = replicas.caller().begin(PLANNER)
    there = here.at(replicas.other)
    for _ in range(4):  # whichever worker answers
        assert there.data("read_file", path="a.md")["content"] == "one\n"
        assert [entry["name"] for entry in there.data("list_files")["entries"]] == ["a.md"]
    assert there.data("end_session")["session_id"] == here.session
    assert {caller.code("read_file", path="a.md") for caller in (here, there)} == {"SESSION_NOT_INITIALIZED"}


def test_a_plan_is_submitted_here_approved_there_and_used_on_both(guarded: Replicas) -> None:
    author = guarded.caller("alice").begin(PLANNER)
    approver = replace(author, url=guarded.other, token=TOKENS["carol"], session=None).begin(PLANNER)
    worker = replace(author, token=TOKENS["bob"], session=None).begin(WORKER)
    plan = author.data("submit_plan", title="Write", files=["docs/**"])["plan_hash"]
    assert worker.at(guarded.other).code("write_file", path="docs/a.md", content="x") == "PLAN_NOT_APPROVED"
    assert author.at(guarded.other).code("approve_plan", plan_hash=plan) == "UNAUTHORIZED_ACTION"
    approver.data("approve_plan", plan_hash=plan)
    assert [one["approved"] for one in author.data("list_plans")["plans"]] == [True]
    for number, url in enumerate([guarded.one, *[guarded.other] * 4]):
        assert worker.at(url).data("write_file", path=f"docs/{number}.md", content="x\n")["created"]
        assert worker.at(url).code("write_file", path=f"src/{number}.md", content="x\n") == "PLAN_SCOPE_VIOLATION"


def test_without_tokens_no_session_on_any_server_approves_a_plan(replicas: Replicas) -> None:
    author = replicas.caller().begin(PLANNER)
    worker = replace(author, session=None).begin(WORKER)
    plan = author.data("submit_plan", title="Write", files=["docs/**"])["plan_hash"]
    for url in (replicas.one, replicas.other):
        for approver in (author.at(url), replace(author, url=url, session=None).begin(PLANNER)):
            assert approver.code("approve_plan", plan_hash=plan) == "UNAUTHORIZED_ACTION"
        assert [one["approved"] for one in author.at(url).data("list_plans")["plans"]] == [False]
        refused = {"path": "docs/a.md", "content": "x", "plan_hash": plan}
        assert worker.at(url).code("write_file", **refused) == "PLAN_NOT_APPROVED"


def test_a_session_that_is_locked_here_is_locked_there_until_either_has_reported(replicas: Replicas) -> None:
    here = replicas.caller().begin(WORKER)
    there = here.at(replicas.other)
    here.folder.rename(aside := here.folder.with_name(f"{here.folder.name}-aside"))
    here.folder.mkdir()
    assert there.code("list_files") == "INVARIANT_VIOLATION"
    here.folder.rmdir()
    aside.rename(here.folder)
    for caller in (here, *[there] * 3):
        assert caller.code("list_files") == "SESSION_LOCKED"
        assert caller.code("end_session") == "SESSION_LOCKED"
    step = here.call("list_files")["next_step"]
    assert there.data(step["tool"], **step["arguments"])["locked"] is False
    for caller in (here, *[there] * 3):
        assert {entry["name"] for entry in caller.data("list_files")["entries"]} == {"a.md", "docs"}


def test_workers_without_a_named_store_share_the_file_in_the_state_folder(tmp_path: Path) -> None:
    (folder := tmp_path / "project").mkdir()
    (folder / "a.md").write_text("one\n")
    http = ("--root", str(folder), "--transport", "http", "--port", "0", "--workers", "2")
    server = ByCommand(*http, XDG_STATE_HOME=str(tmp_path / "state"), FAILSOFT_STATE_URL="", **PATIENT)
    try:
        url = server.wait_for("failsoft serves ").partition(" ")[0]
        caller = Caller(url, folder).begin(PLANNER)
        for _ in range(8):  # whichever worker answers
            assert caller.data("read_file", path="a.md")["content"] == "one\n"
    finally:
        server.close()
    assert (tmp_path / "state/failsoft/state.sqlite").is_file()
    assert not [line for line in server.errors if "FAILSOFT_STATE_URL" in line]


def test_workers_without_a_store_are_warned_of(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone/log.jsonl")  # it does not even start, so the test need not wait for workers
    http = ("--root", str(tmp_path), "--transport", "http", "--port", "0")
    memory = {"FAILSOFT_STATE_URL": "memory:", "FAILSOFT_AUDIT_PATH": gone}
    for workers, without_store, is_logged, is_refused in (
        ("2", "warn", True, False),
        ("2", "refuse", False, True),
        ("1", "warn", False, False),
        ("1", "refuse", False, False),
    ):
        server = ByCommand(*http, "--workers", workers, **memory, FAILSOFT_STATE_WITHOUT_STORE=without_store)
        try:
            assert server.wait() != 0
        finally:
            server.close()
        named = [line for line in server.errors if "FAILSOFT_STATE_URL" in line]
        assert any('"level":"ERROR"' in line for line in named) is is_logged, server.errors
        assert any("CONFIG_ERROR" in line for line in server.errors) is is_refused, server.errors
        assert bool(named) is (is_logged or is_refused)


def test_who_calls_is_who_holds_the_token_on_every_server(guarded: Replicas) -> None:
    alice = guarded.caller("alice").begin(PLANNER)
    bob = replace(alice, url=guarded.other, token=TOKENS["bob"], session=None)
    assert bob.at(guarded.one).code("begin_session", workspace_root="/", role=WORKER) == "OUTSIDE_WORKSPACE"
    worker = bob.begin(WORKER)
    for url in (guarded.one, guarded.other):
        assert (
            replace(worker, url=url, session=alice.session).code("read_file", path="a.md") == "INSUFFICIENT_PERMISSIONS"
        )
        assert replace(worker, url=url, session=None).code("read_file", path="a.md") == "SESSION_NOT_INITIALIZED"
        again = {"workspace_root": str(alice.folder), "role": PLANNER}
        assert replace(worker, url=url, session=None).code("begin_session", **again) == "ROLE_MISMATCH"
    for headers in ({}, {"authorization": "Bearer guessed"}):
        assert {httpx2.post(url, json={}, headers=headers).status_code for url in (guarded.one, guarded.other)} == {401}


def test_no_author_approves_their_own_plan_from_any_session_on_any_server(guarded: Replicas) -> None:
    alice = guarded.caller("alice").begin(PLANNER)
    plan = alice.data("submit_plan", title="Write", files=["b.md"])["plan_hash"]
    again = replace(alice, url=guarded.other, session=None).begin(PLANNER)
    bob = replace(again, token=TOKENS["bob"], session=None).begin(WORKER)
    carol = replace(again, token=TOKENS["carol"], session=None).begin(PLANNER)
    for caller in (alice, again, bob):
        assert caller.code("approve_plan", plan_hash=plan) == "UNAUTHORIZED_ACTION"
    assert bob.code("write_file", path="b.md", content="x\n", plan_hash=plan) == "PLAN_NOT_APPROVED"
    assert carol.data("approve_plan", plan_hash=plan)["approved"]
    assert bob.at(guarded.one).data("write_file", path="b.md", content="x\n", plan_hash=plan)["created"]


def test_the_store_holds_nothing_that_a_call_could_use(guarded: Replicas) -> None:
    callers = [guarded.caller("dora").begin(PLANNER) for _ in range(20)]
    callers[0].data("submit_plan", title="Write", files=["b.md"])
    sessions = {str(caller.session) for caller in callers}
    assert len(sessions) == 20
    assert {(uuid.UUID(one).version, uuid.UUID(one).variant) for one in sessions} == {(4, uuid.RFC_4122)}
    text = everything(guarded.store)
    assert_hidden(sessions, text)
    assert TOKENS["dora"] not in text
    for kept in kept_sessions(text):  # what names a session in the store names none in a call
        assert replace(callers[0], session=kept).code("read_file", path="a.md") == "SESSION_NOT_INITIALIZED"


def test_without_tokens_the_store_reveals_no_session_either(replicas: Replicas) -> None:
    callers = [replicas.caller().begin(PLANNER) for _ in range(3)]
    callers[0].data("submit_plan", title="Write", files=["b.md"])  # its author is the session
    text = everything(replicas.store)
    assert_hidden({str(caller.session) for caller in callers}, text)
    for kept in kept_sessions(text):
        assert replace(callers[0], session=kept).code("read_file", path="a.md") == "SESSION_NOT_INITIALIZED"


def assert_hidden(sessions: set[str], text: str) -> None:
    """Assert that a store keeps each of these sessions, under the hash of its id and nowhere by the id itself."""
    assert {hashlib.sha256(one.encode()).hexdigest() for one in sessions} <= kept_sessions(text)
    assert not [one for one in sessions if one in text or one.replace("-", "") in text]


def kept_sessions(text: str) -> set[str]:
    """Return what names the sessions that a store keeps."""
    return set(re.findall(r"/workspace/[0-9a-f]{16}/session:([0-9a-f]+)", text))


def everything(store: RedisServer) -> str:
    """Return all keys of a Redis with their values, not in its own format: that compresses long ones."""
    read: dict[bytes, Callable[[Any, bytes], Any]] = {
        b"string": redis.Redis.get,
        b"hash": redis.Redis.hgetall,
        b"zset": lambda client, key: client.zrange(key, 0, -1, withscores=True),
    }
    with redis.Redis.from_url(store.url) as client:
        return "\n".join(repr((key, read[client.type(key)](client, key))) for key in client.scan_iter())
