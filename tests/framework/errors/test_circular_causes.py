"""Causes that lead back to an error: it is answered, logged, copied and pickled as any other."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from failsoft import BaseTool, NotFound, ToolError, operation
from tests.doors import stack_of

pytestmark = pytest.mark.anyio

RAISED: dict[str, Any] = {
    "typed": lambda: NotFound("no"),
    "system": lambda: FileNotFoundError(2, "no"),
    "unknown": lambda: ValueError("no"),
}


class Circular(BaseTool):
    """Fails with causes in a circle."""

    @operation()
    async def own(self, kind: str) -> int:
        """Raise an error from itself."""
        error = RAISED[kind]()
        raise error from error

    @operation()
    async def other(self, kind: str) -> int:
        """Raise an error whose cause it causes."""
        error, cause = RAISED[kind](), KeyError("other")
        error.__cause__, cause.__cause__ = cause, error
        raise error

    @operation()
    async def typed(self, kind: str) -> int:
        """Raise an error whose cause is a typed error that it causes."""
        error, cause = RAISED[kind](), NotFound("other")
        error.__cause__, cause.__cause__ = cause, error
        raise error


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("tool", ["own", "other", "typed"])
async def test_an_error_whose_causes_lead_back_to_it_is_answered_logged_and_pickled(tool: str, kind: str) -> None:
    response = await Circular().execute_with_error_handling(tool, {"kind": kind})
    assert response.error is not None
    error = response.error.exception
    copies = copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert {(type(one), one.message) for one in copies} == {(type(error), error.message)}
    assert len(stack_of(error)) < 20_000
    with pytest.raises(type(error)):
        response.unwrap()


async def test_the_stack_of_an_error_that_was_never_raised_and_causes_itself_is_written() -> None:
    error = NotFound("no")
    error.__cause__ = error
    assert "no" in stack_of(error)


async def test_a_long_chain_of_causes_is_pickled_whole_and_once() -> None:
    first = error = NotFound("0")
    for number in range(1, 200):
        error.__cause__ = NotFound(str(number))
        error = error.__cause__
    error.__cause__ = OSError(2, "end")
    link: BaseException | None = pickle.loads(pickle.dumps(first))  # noqa: S301 - our own bytes
    for number in range(200):
        assert isinstance(link, ToolError)
        assert link.message == str(number)
        link = link.__cause__
    assert isinstance(link, OSError)
