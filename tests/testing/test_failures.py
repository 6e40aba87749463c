"""Assertions about failures, and the exceptions of services."""

from __future__ import annotations

import asyncio

import pytest

from failsoft import BaseTool, InvalidArgument, NotFound, RateLimited, operation
from failsoft.testing import connected, fails_with, http_error
from tests.doors import normalize


class Shelf(BaseTool):
    """A shelf."""

    @operation(read_only=True)
    async def get(self, title: str) -> str:
        """Get."""
        if title != "Dune":
            raise NotFound("There is no such book.", next_step={"tool": "list_all", "arguments": {}})
        return "sand"

    @operation(read_only=True)
    async def list_all(self) -> list[str]:
        """List."""
        return ["Dune"]


def test_a_failure_is_returned_if_it_is_the_expected_one() -> None:
    response = asyncio.run(Shelf().get(title="Duna"))
    assert fails_with(response, NotFound, next_step="list_all", effect="none").code == "NOT_FOUND"
    for kind, wanted in ((InvalidArgument, {}), (NotFound, {"next_step": "get"}), (NotFound, {"effect": "applied"})):
        with pytest.raises(AssertionError, match="NOT_FOUND"):
            fails_with(response, kind, **wanted)
    with pytest.raises(AssertionError, match="did not fail"):
        fails_with(asyncio.run(Shelf().get(title="Dune")), NotFound)


def test_a_result_of_a_client_is_refused() -> None:
    async def main() -> object:
        async with connected(Shelf()) as client:
            return await client.call_tool("get", {"title": "Duna"})

    with pytest.raises(TypeError, match="not CallToolResult"):
        fails_with(asyncio.run(main()), NotFound)  # type: ignore[arg-type]  # the mistake


def test_the_exception_of_a_service_that_limits_says_when() -> None:
    error = normalize(http_error(429, retry_after=2))
    assert isinstance(error, RateLimited)
    assert error.retry_after_seconds == 2
