"""What a library reported is quoted behind the message of the error that an author raised for it."""

from __future__ import annotations

import sqlite3
import subprocess
from typing import Any

import httpx
import pytest

from failsoft import BaseTool, Conflict, UpstreamError, operation
from tests.each import each
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class RemindersStopped(UpstreamError):
    """Some were not reminded."""

    code = "CAUSES_REMINDERS_STOPPED"
    message = "P-1002 was not reminded."


def http(status: int, **body: Any) -> BaseException:
    request = httpx.Request("POST", "http://messages.test/")
    return httpx.HTTPStatusError("x", request=request, response=httpx.Response(status, request=request, **body))


def of_sqlite(cents: int | None = 0) -> BaseException:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE entry (cents INTEGER NOT NULL, CONSTRAINT positive CHECK (cents > 0))")
    try:
        connection.execute("INSERT INTO entry VALUES (?)", (cents,))
    except sqlite3.Error as error:
        return error
    finally:
        connection.close()
    raise AssertionError


class Reminders(BaseTool):
    """Raises errors of its author's for those of libraries."""

    cause: BaseException
    said = RemindersStopped

    @operation(read_only=True)
    async def from_it(self) -> None:
        """Raise from the cause."""
        try:
            raise self.cause
        except type(self.cause) as exc:
            raise self.said from exc

    @operation(read_only=True)
    async def meanwhile(self) -> None:
        """Raise while the cause is handled."""
        try:
            raise self.cause
        except type(self.cause):
            raise self.said  # noqa: B904 - as authors forget it

    @operation(read_only=True)
    async def hidden(self) -> None:
        """Raise without the cause."""
        try:
            raise self.cause
        except type(self.cause):
            raise self.said from None

    @operation(read_only=True)
    async def as_it_is(self) -> None:
        """Raise the cause itself."""
        raise self.cause


async def message_of(cause: BaseException, name: str = "from_it", **settings: Any) -> str:
    tool = Reminders(runtime=quiet_runtime(**settings))
    tool.cause = cause
    answer = await tool.execute_with_error_handling(name, {})
    assert answer.error is not None
    return answer.error.headline


@each("environment", ["production", "development"])
@each(
    ("cause", "quoted"),
    [
        (http(422, json={"detail": "P-1002 has blocked messages"}), '"P-1002 has blocked messages".'),
        (http(409, text="closed` now", headers={"content-type": "text/plain"}), '"closed\' now".'),
        (of_sqlite(), 'constraint "positive".'),
        (subprocess.CalledProcessError(3, "send", stderr="a\nno such branch\n"), '"a / no such branch".'),
    ],
)
@each("name", ["from_it", "meanwhile"])
async def test_the_reason_of_the_cause_is_quoted(
    name: str, cause: BaseException, quoted: str, environment: str
) -> None:
    message = await message_of(cause, name, environment=environment)
    assert message == f"P-1002 was not reminded. Cause: {quoted}"


@each(
    ("cause", "name"),
    [
        (http(500, json={"detail": "stack of the service"}), "from_it"),
        (http(404, json={"detail": "Not Found"}), "from_it"),
        (http(409, json={"detail": "p-1002 was not reminded"}), "from_it"),  # as the message says
        (subprocess.CalledProcessError(3, "send", stderr="P-1002\nwas not reminded\n"), "from_it"),
        (of_sqlite(None), "from_it"),  # the name of a column
        (http(422, json={"detail": "P-1002 has blocked messages"}), "hidden"),
        (httpx.ConnectError("to 10.0.0.1"), "from_it"),
        (RuntimeError("secret of the pool"), "from_it"),
        (KeyError("P-1002"), "meanwhile"),
        (Conflict("An error of the author's own."), "from_it"),
    ],
)
async def test_no_other_cause_is_quoted(cause: BaseException, name: str) -> None:
    assert await message_of(cause, name) == "P-1002 was not reminded."


async def test_a_reason_is_bounded_and_redacted() -> None:
    key = "sk-abcdefghijklmnopqrstuvwxyz123456"
    message = await message_of(http(422, json={"detail": f"{key} {'x' * 5_000}"}))
    assert "Cause: " in message
    assert key not in message
    assert len(message) < 400


async def test_the_reason_of_a_librarys_own_error_is_quoted_once() -> None:
    message = await message_of(http(422, json={"detail": "blocked"}), "as_it_is")
    assert message.count("blocked") == 1
    assert "Cause" not in message
