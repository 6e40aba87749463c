"""The candidates that a failure names beside its message."""

from __future__ import annotations

from typing import Annotated

import pytest

from failsoft import BaseTool, Failure, NotFound, Reference, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


def known(value: str) -> None:
    """Look an order up."""
    raise NotFound(f'No order "{value}".', suggestions=["A-123", "B-77", "C-901"])


class Harbour(BaseTool):
    """Gates and orders."""

    @operation(read_only=True)
    async def open_gate(self, gate: str) -> str:
        """Look a gate up."""
        raise NotFound(f'No gate "{gate}".', suggestions=["north", "south", "harbour"])

    @operation(read_only=True)
    async def get_order(self, order_id: Annotated[str, Reference(known)]) -> str:
        """Return an order."""
        return order_id


async def failed(name: str, **arguments: str) -> Failure:
    response = await Harbour(runtime=quiet_runtime()).execute_with_error_handling(name, arguments)
    if response.error is None:
        pytest.fail("the call has worked")
    return response.error


async def test_closest_is_not_said_of_a_list_that_the_author_gave() -> None:
    failure = await failed("open_gate", gate="k")
    assert "closest" not in failure.message.casefold()


async def test_an_unrelated_identifier_is_not_even_a_candidate() -> None:
    failure = await failed("get_order", order_id="zzzzzz")
    offered = [*failure.suggestions, *(item.suggestion for item in failure.violations if item.suggestion)]
    assert offered == []
    assert "A-123" not in failure.message
