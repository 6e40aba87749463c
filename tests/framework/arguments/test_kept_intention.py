"""A correction offered for a read keeps what its caller meant: no opposite, no other unit, no other kind of thing."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from failsoft import BaseTool, Failure, NotFound, Reference, ToolResponse, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


def published(value: str) -> None:
    """Look a title up."""
    if value != "Unfinished Tales":
        raise NotFound(f'No title "{value}".', suggestions=["Unfinished Tales"])


class Shelf(BaseTool):
    """Read-only operations whose names have opposites, units and other kinds of things near them."""

    @operation(read_only=True)
    async def filter_prices(self, currency: str = "EUR", max_price: float | None = None) -> str:
        """Filter prices."""
        return f"{currency}{max_price}"

    @operation(read_only=True)
    async def list_flights(self, from_city: str, note: str = "") -> str:
        """List flights."""
        return from_city + note

    @operation(read_only=True)
    async def read_log(self, head_lines: int = 5) -> int:
        """Read the beginning of a log."""
        return head_lines

    @operation(read_only=True)
    async def list_bills(
        self,
        status: Literal["unpaid", "open"] = "open",
        filter: Literal["enabled", "all"] = "all",  # noqa: A002 - the name of the parameter
        state: Literal["active", "any"] = "any",
        stage: Literal["preview", "final"] = "final",
    ) -> str:
        """List bills."""
        return f"{status}{filter}{state}{stage}"

    @operation(read_only=True)
    async def wait_for(self, timeout: float) -> float:  # noqa: ASYNC109 - the name of the parameter
        """Wait at most this many seconds."""
        return timeout

    @operation(read_only=True)
    async def heat(self, temperature: float = 20.0, size: int = 1) -> float:
        """Convert a temperature."""
        return temperature + size

    @operation(read_only=True)
    async def convert(self, amount: float) -> float:
        """Convert an amount."""
        return amount

    @operation(read_only=True)
    async def measure(self, count: int) -> int:
        """Measure something so often."""
        return count

    @operation(read_only=True)
    async def get_order(self, order_id: str) -> str:
        """Return an order."""
        return order_id

    @operation(read_only=True)
    async def get_book(self, title: str) -> str:
        """Return a book."""
        return title

    @operation(read_only=True)
    async def find_book(self, title: str, shelf: str = "") -> str:
        """Return a book of a shelf."""
        return title + shelf

    @operation(read_only=True)
    async def get_story(self, title: Annotated[str, Reference(published, kind="spelled")]) -> str:
        """Return a story."""
        return title

    @operation(read_only=True)
    async def get_events(self, start_date: str, end_date: str = "") -> str:
        """Return events."""
        return start_date + end_date

    @operation(read_only=True)
    async def get_size(self, size: Literal[1, 2, 3]) -> int:
        """Return a size."""
        return size

    @operation(read_only=True)
    async def get_max_price(self) -> float:
        """Return the highest price."""
        return 9.0

    @operation(read_only=True)
    async def list_unpaid_orders(self) -> list[str]:
        """List the orders that are not paid."""
        return []

    @operation(read_only=True)
    async def import_data(self) -> list[str]:
        """Show what would be imported."""
        return []

    @operation(read_only=True)
    async def take(self, limit: int = 10) -> int:
        """Return a number."""
        return limit


async def answered(name: str, arguments: dict[str, Any]) -> ToolResponse[Any]:
    return await Shelf(runtime=quiet_runtime()).execute_with_error_handling(name, arguments)


async def refused(name: str, arguments: dict[str, Any]) -> Failure:
    failure = (await answered(name, arguments)).error
    if failure is None:
        pytest.fail("the call has worked")
    return failure


async def offered(name: str, arguments: dict[str, Any]) -> list[Any]:
    """Return what a refused call is corrected to: the next step, and each suggestion of a fault."""
    failure = await refused(name, arguments)
    step = [] if failure.next_step is None else [failure.next_step.to_dict()]
    return [*step, *(item.suggestion for item in failure.violations if item.suggestion is not None)]


async def all_offered(calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Return the calls that a correction was offered for, each with it."""
    return [(name, given, found) for name, given in calls if (found := await offered(name, given))]


async def test_the_name_of_a_parameter_is_never_corrected_to_its_opposite() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("filter_prices", {"min_price": 3}),
        ("list_flights", {"to_city": "Oslo"}),
        ("read_log", {"tail_lines": 3}),
    ]
    assert await all_offered(calls) == []


async def test_a_value_is_never_corrected_across_a_negating_prefix() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_bills", {"status": "paid"}),
        ("list_bills", {"state": "inactive"}),
    ]
    assert await all_offered(calls) == []


async def test_a_value_is_never_corrected_across_opposing_prefixes() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_bills", {"filter": "disabled"}),
        ("list_bills", {"stage": "review"}),
    ]
    assert await all_offered(calls) == []


async def test_a_unit_that_nothing_names_is_not_stripped() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("wait_for", {"timeout": "500 ms"}),
        ("heat", {"temperature": "70 F"}),
        ("heat", {"size": "5 kB"}),
    ]
    assert await all_offered(calls) == []


async def test_the_name_of_a_parameter_is_never_corrected_to_one_of_another_unit() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [("convert", {"amount_cents": 500}), ("heat", {"temperature_f": 70})]
    assert await all_offered(calls) == []


async def test_the_name_of_a_parameter_is_never_corrected_to_another_quantity() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [("convert", {"percent": 5}), ("measure", {"delta": 5})]
    assert await all_offered(calls) == []


async def test_an_id_is_never_corrected_to_an_id_of_another_kind() -> None:
    assert await offered("get_order", {"user_id": "U-1"}) == []


async def test_a_name_is_not_corrected_because_another_is_the_only_one_left() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [("get_book", {"author": "Le Guin"}), ("find_book", {"publisher": "Ace"})]
    assert await all_offered(calls) == []


async def test_a_name_is_not_corrected_over_more_than_one_edit_per_five_letters() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("get_events", {"start_date": "2026-01-01", "and_data_2": "2026-02-01"}),
        ("get_events", {"start": "2026-01-01"}),
        ("get_events", {"satr_dte": "2026-01-01"}),
    ]
    steps = [(await refused(*call)).next_step for call in calls]
    assert steps == [None, None, None]


async def test_a_value_is_not_corrected_over_more_than_one_edit_per_five_letters() -> None:
    assert (await refused("get_story", {"title": "Finished Tales"})).next_step is None


async def test_the_name_of_a_tool_is_never_corrected_to_its_opposite() -> None:
    assert await all_offered([("get_min_price", {}), ("list_paid_orders", {}), ("export_data", {})]) == []


async def test_a_number_as_text_is_corrected_where_a_few_integers_are_accepted() -> None:
    step = (await refused("get_size", {"size": "2"})).next_step
    assert step is not None
    assert step.to_dict() == {"tool": "get_size", "arguments": {"size": 2}}


async def test_a_whole_number_with_a_fraction_of_zero_is_an_integer() -> None:
    response = await answered("take", {"limit": 20.0})
    assert (response.success, response.data) == (True, 20)
