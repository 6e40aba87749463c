"""`CallContext`: what a handler, a check and a middleware learn of their call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from failsoft import BaseTool, CallContext, NotFound, RateLimited, operation
from failsoft.recovery import Call
from tests.doors import CallScope, Toolbox, why_not_rerun
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Looking(BaseTool):
    """Looks at its calls."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seen: list[CallContext] = []

    @operation(read_only=True, timeout=9, name="looking.look")
    async def look(self, call: CallContext, word: str = "a") -> str:
        """Look at the call."""
        self.seen.append(call)
        return word

    @operation(read_only=True)
    async def warn(self, call: CallContext, texts: list[str]) -> int:
        """Warn about everything."""
        for text in texts:
            call.warn(text)
        return len(texts)

    @operation(read_only=True)
    async def last(self, word: str, ctx: CallContext) -> str:
        """Have the context at the end, under another name."""
        return f"{ctx.operation} {word}"


@pytest.fixture
def looking() -> Looking:
    return Looking(runtime=quiet_runtime())


async def test_a_call_knows_what_the_transport_knows(looking: Looking) -> None:
    box = Toolbox([looking])
    meta = {"dev.failsoft/idempotency-key": "k"}
    scope = CallScope(request_id="r1", session_id="s1", principal="p1", meta=meta, toolbox=box)
    await looking.operations["looking.look"].call({"word": "b"}, scope)
    (call,) = looking.seen
    assert (call.tool, call.operation, call.toolset) == ("looking", "looking.look", looking)
    assert (call.request_id, call.session_id, call.principal) == ("r1", "s1", "p1")
    assert (call.params, call.arguments, call.attempt) == ({"word": "b"}, {"word": "b"}, 1)
    assert call.toolbox is box
    assert call.scope.meta == meta
    assert call.deadline is not None


async def test_a_direct_call_has_what_it_needs(looking: Looking) -> None:
    await looking.look()
    await looking.look()
    first, second = looking.seen
    assert first.request_id
    assert first.request_id == first.request_id != second.request_id
    assert (first.session_id, first.principal, first.scope.meta) == (None, None, {})
    assert first.toolbox is looking.toolbox
    first.logger.debug("nothing listens")


async def test_the_context_may_have_any_name_and_place(looking: Looking) -> None:
    assert (await looking.last(word="b")).data == "last b"
    assert (await looking.last("b")).data == "last b"


async def test_warnings_are_reported_once_each_and_bounded(looking: Looking) -> None:
    response = await looking.warn(texts=["a", "a", "b\n\u202e", "x" * 5_000, *(f"w{n}" for n in range(100))])
    warnings = response.metadata.warnings
    assert warnings[:2] == ["a", "b "]
    assert len(warnings[2]) == 1_000
    assert len(warnings) == 50


async def test_warnings_are_reported_without_secrets(looking: Looking) -> None:
    response = await looking.warn(texts=["password=hunter2hunter2 is old", "x" * 990 + " token=hunter2hunter2"])
    assert "hunter2" not in str(response.to_dict())
    assert response.metadata.warnings[0] == "password=<redacted> is old"


async def test_a_failure_keeps_its_warnings(looking: Looking) -> None:
    async def fail() -> None:
        raise NotFound(message="There is no such thing.")

    bound = looking.operations["looking.look"]
    call = Call(bound, {}, CallScope(), fail)
    call.warn("before")
    response = await bound.chain.proceed(call)
    assert response.to_dict()["metadata"]["warnings"] == ["before"]


async def test_the_guard_lets_run_again_what_is_safe(looking: Looking) -> None:
    class Writing(BaseTool):
        @operation()
        async def write(self) -> None: ...

        @operation(idempotent=True)
        async def put(self) -> None: ...

        @operation(read_only=True)
        async def read(self) -> None: ...

    tool = Writing(runtime=quiet_runtime())
    unknown, none = RateLimited(), RateLimited(effect="none")
    for name, error, attempt, may in [
        ("write", unknown, 0, True),
        ("write", unknown, 1, False),
        ("write", none, 1, True),
        ("put", unknown, 1, True),
        ("read", unknown, 1, True),
    ]:
        call = Call(tool.operations[name], {}, CallScope())
        call.attempt = attempt
        if attempt:
            call.run_failed(error)
        assert (why_not_rerun(call.facts(error)) is None) is may
        call.handler_done = attempt > 0
        assert (why_not_rerun(call.facts(error)) is None) is (may and not (name == "write" and attempt > 0))


async def test_without_a_deadline_there_is_no_end(looking: Looking) -> None:
    call = Call(looking.operations["last"], {}, CallScope())
    assert call.remaining_s() is None
    call.loop = asyncio.get_running_loop()
    call.deadline = call.loop.time() - 5
    assert call.remaining_s() == 0.0


def test_a_handler_sees_what_the_protocol_lists(looking: Looking) -> None:
    members = {name for name in (*vars(CallContext), *CallContext.__annotations__) if not name.startswith("_")}
    assert members == {
        *("tool", "operation", "params", "request_id", "session_id", "principal", "deadline", "attempt", "logger"),
        *("idempotency_key", "http_headers"),
        *("read_only", "idempotent", "data_limit_bytes", "remaining_s", "http_timeout", "report_progress"),
        *("warn", "audit", "effect"),
    }
    call = Call(looking.operations["last"], {}, CallScope())
    assert {name for name in members if not hasattr(call, name)} == set()
    assert not hasattr(call, "__dict__")
