"""`Call.typed`: an exception becomes a typed error once, however many links look at it."""

from __future__ import annotations

from typing import Any

import pytest

from failsoft import BaseTool, Retry, operation
from failsoft.recovery import Call, CircuitBreaker, Idempotency
from tests.doors import CallScope, normalize_module as rules
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Foreign(Exception):
    """An exception of another library."""


class Failing(BaseTool):
    """Fails with a foreign exception."""

    @operation(idempotent=True, recovery=[Idempotency(), CircuitBreaker("d"), Retry()])
    async def work(self, item: str = "a") -> str:
        """Raise."""
        raise Foreign(item)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    seen: list[BaseException] = []
    unwatched = rules._normalized

    def watched(exc: BaseException, *rest: Any) -> Any:
        seen.append(exc)
        return unwatched(exc, *rest)

    monkeypatch.setattr(rules, "_normalized", watched)
    return seen


async def test_an_exception_is_normalized_once(judged: list[BaseException]) -> None:
    response = await Failing(runtime=quiet_runtime()).work()
    assert response.error is not None
    assert response.error.code == "UNKNOWN_ERROR"
    assert [type(exc) for exc in judged] == [Foreign]


async def test_every_exception_of_a_call_has_its_own_error() -> None:
    call = Call(Failing(runtime=quiet_runtime()).operations["work"], {}, CallScope())
    first, second = Foreign("1"), Foreign("2")
    error = call.typed(first)
    assert call.typed(first) is error
    assert call.typed(error) is error
    assert call.typed(second) is not error
    assert call.typed(second).__cause__ is second
    call.forget_errors()
    assert call.typed(first).code == error.code
