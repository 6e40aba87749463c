"""What a caller can ask for instead of a result that is too large: a limit at which it fits, and filters by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from failsoft import BaseTool, operation
from tests.doors import CallScope
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio
SCOPE = CallScope(max_response_bytes=20_000)
ROWS = [{"number": number, "text": "ü" * (number % 50)} for number in range(2_000)]


class Found(BaseModel):
    """Rows in a model."""

    rows: list[dict[str, Any]]
    note: str = "n" * 2_000


@dataclass
class Page:
    """Rows in a data class."""

    rows: list[dict[str, Any]]


class Entries(BaseTool):
    """Returns the first rows of two thousand."""

    @operation(read_only=True)
    async def as_list(self, account: str, limit: int = 100, from_day: str | None = None, *, all: bool = False) -> Any:  # noqa: A002 - as authors name it
        """Return rows."""
        return ROWS[:limit]

    @operation(read_only=True)
    async def as_object(self, limit: int = 100) -> Any:
        """Return rows beside other facts."""
        return {"shown": 1, "others": [1, 2], "rows": ROWS[:limit], "note": "n" * 2_000}

    @operation(read_only=True)
    async def as_model(self, limit: int = 100) -> Any:
        """Return rows in a model."""
        return Found(rows=ROWS[:limit])

    @operation(read_only=True)
    async def as_page(self, limit: int = 100) -> Any:
        """Return rows in a data class."""
        return Page(ROWS[:limit])

    @operation(read_only=True)
    async def without_limit(self, max_results: int | None = None) -> Any:
        """Return all rows where no limit is sent."""
        return ROWS[:max_results]

    @operation(read_only=True)
    async def of_shelves(self, limit: int = 100) -> Any:
        """Return the rows of some shelves: the limit counts something else."""
        return ROWS if limit else []

    @operation(read_only=True)
    async def large_rows(self, limit: int = 100) -> Any:
        """Return rows none of which fits."""
        return ["x" * 30_000] * limit

    @operation(read_only=True)
    async def page_of(self, page: int, page_size: int = 100) -> Any:
        """Return a page."""
        return ROWS[(page - 1) * page_size : page * page_size]

    @operation(read_only=True)
    async def numbered(self, page_number: int = 1, per_page: int = 100) -> Any:
        """Return a page, by another name."""
        return ROWS[(page_number - 1) * per_page : page_number * per_page]

    @operation(read_only=True)
    async def from_zero(self, page: int = 0, per_page: int = 100) -> Any:
        """Return a page, the first of which is 0."""
        return ROWS[page * per_page : (page + 1) * per_page]


async def asked(name: str, **arguments: Any) -> Any:
    return await Entries(runtime=quiet_runtime()).operations[name].call(arguments, SCOPE)


@pytest.mark.parametrize(
    "name", ["as_list", "as_object", "as_model", "as_page", "without_limit", "page_of", "numbered"]
)
@pytest.mark.parametrize("limit", [1_000, 50_000])
async def test_the_step_asks_for_as_many_items_as_fit(name: str, limit: int) -> None:
    more = {"as_list": {"account": "1"}, "page_of": {"page": 1}}.get(name, {})
    names = {"page_of": "page_size", "numbered": "per_page"}
    size = {} if name == "without_limit" else {names.get(name, "limit"): limit}
    failed = await asked(name, **more, **size)
    assert failed.error.code == "RESULT_TOO_LARGE"
    assert f"{len(ROWS[:limit]) if size else len(ROWS)} items" in failed.error.message
    narrowed = await asked(name, **failed.error.next_step.arguments)
    assert narrowed.success
    assert narrowed.encode().size_bytes > SCOPE.max_response_bytes / 2


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("of_shelves", {}),
        ("large_rows", {}),
        ("page_of", {"page": 2, "page_size": 1_000}),
        ("numbered", {"page_number": 2, "per_page": 1_000}),
        ("from_zero", {"page": 1, "per_page": 1_000}),
    ],
)
async def test_without_certainty_there_is_no_step(name: str, arguments: dict[str, Any]) -> None:
    failed = await asked(name, **arguments)
    assert (failed.error.code, failed.error.next_step) == ("RESULT_TOO_LARGE", None)
    assert "ower `" in failed.error.message


async def test_the_message_names_what_filters() -> None:
    message = (await asked("as_list", account="1", limit=1_000)).error.message
    assert "Narrow `from_day`, or lower `limit`." in message
    assert not any(f"`{name}`" in message for name in ("account", "all"))
