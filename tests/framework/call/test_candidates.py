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


def listed(value: str) -> None:
    """Look an order up, with a list of all."""
    raise NotFound(f'No order "{value}".', suggestions=["B-77", "A-123"], next_step={"tool": "list_orders"})


def gate_known(value: str) -> None:
    """Look a gate up."""
    if value != "north":
        raise NotFound(f'No gate "{value}".', suggestions=["north", "harbour"])


def state_known(value: str) -> None:
    """Look a state up."""
    raise NotFound(f'No state "{value}".', suggestions=["max_price" if "price" in value else "paid"])


class Harbour(BaseTool):
    """Gates and orders."""

    @operation(read_only=True)
    async def open_gate(self, gate: str) -> str:
        """Look a gate up."""
        raise NotFound(f'No gate "{gate}".', suggestions=["north", "south", "harbour"])

    @operation(read_only=True)
    async def find_gate(self, gate: Annotated[str, Reference(gate_known, kind="spelled")]) -> str:
        """Look a gate up."""
        return gate

    @operation(destructive=True)
    async def delete_state(self, state: Annotated[str, Reference(state_known, kind="spelled")]) -> str:
        """Delete a state."""
        return state

    @operation(read_only=True)
    async def list_orders(self) -> str:
        """List the orders."""
        return ""

    @operation(read_only=True)
    async def find_order(self, order_id: Annotated[str, Reference(listed)]) -> str:
        """Return an order."""
        return order_id

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


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        (
            "noth",
            'No gate "noth". Candidates: "north", "south", "harbour".',
        ),  # the list of the author, the nearest first
        ("k", 'No gate "k". Candidates: "north", "south", "harbour".'),
        ("habour", 'No gate "habour". Candidates: "harbour", "north", "south".'),
    ],
)
async def test_candidates_are_listed_the_closest_first(gate: str, said: str) -> None:
    failure = await failed("open_gate", gate=gate)
    assert failure.message == said


async def test_near_candidates_are_shown_beside_a_next_step_that_the_author_gave() -> None:
    failure = await failed("find_order", order_id="A-124")
    assert failure.next_step is not None
    assert failure.message == 'No order "A-124". Closest: "A-123".'
    assert failure.suggestions == ("A-123",)


async def test_a_candidate_that_the_next_step_uses_is_not_said_twice() -> None:
    failure = await failed("find_gate", gate="norht")
    assert failure.next_step is not None
    assert failure.next_step.arguments == {"gate": "north"}
    assert "north" not in failure.message


async def test_an_unrelated_identifier_is_not_even_a_candidate() -> None:
    failure = await failed("get_order", order_id="zzzzzz")
    offered = [*failure.suggestions, *(item.suggestion for item in failure.violations if item.suggestion)]
    assert offered == []
    assert "A-123" not in failure.message


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("unpaid", 'Candidates: "paid".'),
        ("min_price", 'Candidates: "max_price".'),
        ("pajd", 'Closest: "paid".'),
    ],
)
async def test_an_opposite_is_not_said_to_be_the_closest(state: str, said: str) -> None:
    response = await Harbour(runtime=quiet_runtime()).execute_with_error_handling("delete_state", {"state": state})
    assert response.error is not None
    assert response.error.message.startswith(f'No state "{state}". {said}')
