"""A fault names the tool that a value comes from, where the description of the parameter says so."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from failsoft import BaseTool, Reference, operation
from tests.doors import source_of
from tests.each import each
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


def in_stock(lot: str) -> bool:
    return lot == "L-1"


async def awaited(lot: str) -> bool:
    return lot == "L-1"


class Lots(BaseTool):
    """Lots by their ids."""

    @operation(destructive=False)
    async def change_lot(
        self,
        lot: Annotated[
            str, Reference(in_stock), Field(description="Id of a lot, as `find_lots` or `list_lots` lists it.")
        ],
        version: Annotated[int, Field(description="The version that get_lot returned")],
        digest: Annotated[str | None, Field(pattern="^[0-9a-f]{8}$", description="As get_lot returned it")] = None,
        count: Annotated[int, Field(description="How many there are")] = 1,
    ) -> None:
        """Change a lot."""

    @operation(read_only=True)
    async def get_lot(self, lot: Annotated[str, Reference(awaited)], token: str = "") -> None:
        """Return a lot."""


@each(
    ("tool", "arguments", "message"),
    [
        (
            "change_lot",
            {},
            (
                "2 invalid parameters: `lot` is missing (string, as find_lots or list_lots lists it); "
                "`version` is missing (integer, as get_lot returned it)."
            ),
        ),
        (
            "change_lot",
            {"lot": "L-1", "version": 1, "digest": "no"},
            '`digest`: expected text that matches the pattern "^[0-9a-f]{8}$", as get_lot returned it, got "no".',
        ),
        (
            "change_lot",
            {"lot": "L-2", "version": 1},
            '`lot`: "L-2" does not exist; expected one as find_lots or list_lots lists it.',
        ),
        ("change_lot", {"lot": "L-1", "version": "x"}, '`version`: expected integer, got "x".'),
        ("get_lot", {"lot": "L-2"}, '`lot`: "L-2" does not exist.'),
        ("get_lot", {"lot": "sk-proj-4kq8Zt2vB7nW1xYcD5eF9gH3jL6mP0rS"}, "`lot`: it does not exist."),
    ],
)
async def test_a_fault_says_where_the_value_comes_from(tool: str, arguments: dict[str, Any], message: str) -> None:
    error = (await Lots(runtime=quiet_runtime()).execute_with_error_handling(tool, arguments)).error
    assert error is not None
    assert error.headline == message


@each(
    ("description", "source"),
    [
        ("The plan, by the hash that submit_plan returned", "as submit_plan returned it"),
        ("Ids of media, as build_media returned them, or predefined ones", "as build_media returned them"),
        (
            "Id of a model, as load_model, build_model or list_models returned it",
            "as load_model, build_model or list_models returned it",
        ),
        ("Counted as first_line and last_line", ""),
        ("The text that returned", ""),
        ("Whether search returned it", ""),
        ("as " + "x_" * 60 + "y returned it", ""),
        ("as x_\nreturned it", ""),
    ],
)
def test_only_a_clause_with_a_tool_that_returns_something_is_a_source(description: str, source: str) -> None:
    assert source_of(description) == source
