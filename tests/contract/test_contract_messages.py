"""Contract, section 3: what a failure says, which call it names, what it promises, and what it keeps to itself."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, Literal

import pytest

from failsoft import (
    ApprovalRequired,
    BaseTool,
    ConfigurationError,
    DeadlineExceeded,
    InternalError,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    PreconditionFailed,
    QuotaExhausted,
    RateLimited,
    Timeout,
    ToolError,
    ToolResponse,
    Unavailable,
    UpstreamError,
    operation,
)
from tests.contract.surroundings import runtime

pytestmark = pytest.mark.anyio


class Bank(BaseTool):
    """A bank whose operations fail as configured."""

    def __init__(self, error: ToolError | BaseException, **settings: Any) -> None:
        super().__init__(runtime=runtime(**settings))
        self.error = error

    @operation(read_only=True, recovery=[])
    async def balance(self, account: str = "main") -> int:
        """Look."""
        raise self.error

    @operation(idempotent=True, recovery=[])
    async def close(self, account: str) -> int:
        """Close: twice is the same as once."""
        raise self.error

    @operation(recovery=[], verify_with="balance")
    async def transfer(self, account: str) -> int:
        """Move money: twice is not the same as once."""
        raise self.error

    @operation(read_only=True)
    async def login(self, user: str, kind: Literal["person", "machine"] = "person") -> bool:
        """Log in."""
        return bool(user) and kind == "person"


async def failed(name: str, error: BaseException, **settings: Any) -> Any:
    arguments = {} if name == "balance" else {"account": "main"}
    response: ToolResponse[Any] = await Bank(error, **settings).execute_with_error_handling(name, arguments)
    assert response.error is not None
    return response.error


# Where waiting is the cure.


@pytest.mark.parametrize("name", ["balance", "close"])
@pytest.mark.parametrize("entry", [RateLimited, Timeout, Unavailable, UpstreamError], ids=lambda entry: entry.code)
async def test_where_waiting_helps_it_says_call_it_again_with_the_wait(name: str, entry: type[ToolError]) -> None:
    failure = await failed(name, entry(retry_after_seconds=7))
    assert failure.retry.to_dict() == {"when": "after_delay", "after_seconds": 7}
    assert re.search(rf"call `{name}` again in 7 seconds", failure.message)
    assert failure.next_step.to_dict()["tool"] == name


async def test_there_is_always_a_wait() -> None:
    failure = await failed("balance", RateLimited())
    assert failure.retry.after_seconds > 0
    assert re.search(r"call `balance` again in \d+ seconds?", failure.message)


async def test_a_call_that_ran_out_of_time_says_so_too() -> None:
    class Slow(BaseTool):
        """Slow."""

        @operation(read_only=True, timeout=0.02)
        async def crawl(self) -> int:
            """Crawl."""
            await asyncio.sleep(60)
            return 1

        @operation(timeout=0.02)
        async def dig(self) -> int:
            """Dig."""
            await asyncio.sleep(60)
            return 1

    response = await Slow().crawl()
    assert response.error is not None
    assert isinstance(response.error.exception, DeadlineExceeded)
    assert re.search(r"call `crawl` again in \d+ seconds?", response.error.message)
    response = await Slow().dig()
    assert response.error is not None
    assert (response.error.effect, response.error.retry.when) == ("unknown", "never")


@pytest.mark.parametrize("entry", [RateLimited, Timeout], ids=lambda entry: entry.code)
async def test_what_may_have_been_done_is_looked_at_and_not_repeated(entry: type[ToolError]) -> None:
    failure = await failed("transfer", entry(effect="unknown", retry_after_seconds=7))
    assert (failure.effect, failure.retry.when) == ("unknown", "never")
    assert "again in" not in failure.message
    assert failure.next_step.tool == "balance"
    assert dict(failure.next_step.arguments) == {"account": "main"}


async def test_what_changed_nothing_for_certain_may_be_repeated() -> None:
    failure = await failed("transfer", RateLimited(effect="none", retry_after_seconds=7))
    assert failure.retry.when == "after_delay"
    assert re.search(r"call `transfer` again in 7 seconds", failure.message)


# The effect.


@pytest.mark.parametrize("name", ["close", "transfer"])
async def test_the_effect_is_sent_for_every_operation_that_changes_something(name: str) -> None:
    assert (await failed(name, RuntimeError())).effect == "unknown"
    assert (await failed(name, NotFound(message="It is gone.", effect="applied"))).effect == "applied"


async def test_a_read_only_operation_and_a_refused_call_have_no_effect() -> None:
    assert (await failed("balance", RuntimeError())).effect == "none"
    refused = await Bank(RuntimeError()).execute_with_error_handling("transfer", {})
    assert refused.error is not None
    assert refused.error.effect == "none"


# Where nothing on this server helps.


@pytest.mark.parametrize(
    "error",
    [
        PermissionDenied(),
        ApprovalRequired(),
        QuotaExhausted(),
        ConfigurationError(issue="no till"),
        InternalError(),
        RuntimeError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_where_nothing_helps_it_says_who_has_to_act_and_gives_the_error_id(error: BaseException) -> None:
    failure = await failed("balance", error)
    assert failure.retry.when == "never"
    assert failure.error_id in failure.message
    assert re.search(r"operator|author|person", failure.message, re.IGNORECASE)


# The next step.


async def test_a_next_step_that_exists_and_validates_is_sent_and_the_message_does_not_repeat_it() -> None:
    step = {"tool": "login", "arguments": {"user": "me"}}
    failure = await failed("balance", PreconditionFailed(message="Nobody is logged in.", next_step=step))
    assert failure.next_step.to_dict() == step
    assert "`login`" not in failure.message


@pytest.mark.parametrize(
    "step",
    [
        {"tool": "logon", "arguments": {"user": "me"}},
        {"tool": "login", "arguments": {}},
        {"tool": "login", "arguments": {"user": 5}},
        {"tool": "login", "arguments": {"user": "me", "kind": "robot"}},
    ],
    ids=str,
)
async def test_a_next_step_that_cannot_be_executed_is_never_sent(step: dict[str, Any]) -> None:
    failure = await failed("balance", PreconditionFailed(message="Nobody is logged in.", next_step=step))
    assert failure.next_step is None or failure.next_step.to_dict() != step


async def test_refused_arguments_are_offered_corrected_where_the_correction_is_certain() -> None:
    response = await Bank(RuntimeError()).execute_with_error_handling("login", {"usr": "me"})
    assert response.error is not None
    if response.error.next_step is not None:
        assert response.error.next_step.to_dict() == {"tool": "login", "arguments": {"user": "me"}}


async def test_the_message_names_every_field_and_stays_readable() -> None:
    surplus = {f"surplus_{number}": number for number in range(9)}
    response = await Bank(RuntimeError()).execute_with_error_handling("login", {"kind": 5, **surplus})
    assert response.error is not None
    for name in ("user", "kind", "surplus_0"):
        assert f"`{name}`" in response.error.message
    assert "and 8 more" in response.error.message
    assert {item.path for item in response.error.violations} == {"user", "kind", *surplus}
    response = await Bank(RuntimeError()).execute_with_error_handling("login", {f"x{n}": n for n in range(500)})
    assert response.error is not None
    assert len(response.error.message) <= 1_200


# What stays behind.


async def test_the_operators_hint_is_never_sent() -> None:
    failure = await failed("balance", NotFound(message="It is gone.", operator_hint="run fsck on /dev/sda"))
    response = await Bank(failure.exception, environment="development", detail="full").balance()
    assert "fsck" not in json.dumps(response.to_dict())


async def test_text_from_upstream_is_quoted_bounded_and_stripped() -> None:
    class Proxy(BaseTool):
        """Passes on."""

        @operation(read_only=True)
        async def answer(self) -> dict[str, Any]:
            """Answer."""
            return {"success": False, "error": "\x1b[31mevil\u202e\n" + "x" * 5_000}

    response = await Proxy().answer()
    assert response.error is not None
    quoted = re.search(r'"(.*)"', response.error.message)
    assert quoted is not None
    assert len(quoted[1]) <= 300
    assert quoted[1].isprintable()


async def test_secrets_are_redacted_wherever_they_stand() -> None:
    secret = "sk-" + "a1b2c3d4e5f6" * 4
    error = InvalidArgument(message=f"The key {secret} is not known.", details={"api_key": "hunter2-hunter2"})
    response = await Bank(error, environment="development", detail="full").balance()
    reported = json.dumps(response.to_dict())
    assert secret not in reported
    assert "hunter2-hunter2" not in reported


async def test_production_names_no_path_outside_the_workspace() -> None:
    error = NotFound(message="There is nothing at /home/somebody/private/key.pem")
    response = await Bank(error).balance()
    assert "/home/somebody" not in json.dumps(response.to_dict())


async def test_every_failure_has_an_id_of_its_own_and_a_time() -> None:
    one, two = [await failed("balance", NotFound(message="It is gone.")) for _ in range(2)]
    assert one.error_id != two.error_id
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one.timestamp)
