"""A parameter that callers know under another name is changed by a recovery under either."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, AliasPath, Field

from failsoft import BaseTool, CallContext, NotFound, RecoveryManager, RecoveryResult, ToolError, operation
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Renamed:
    """Tries another value, under the name that it is told."""

    name = "renamed"

    def __init__(self, name: str) -> None:
        self.parameter = name

    async def attempt(self, error: ToolError, call: CallContext) -> RecoveryResult:
        return RecoveryResult(await call.retry(**{self.parameter: "Emma"}), "Found", {"title": "Emma"})


class Shelf(BaseTool):
    """Books under names of several spellings."""

    @operation(read_only=True)
    async def by_alias(self, title: Annotated[str, Field(alias="bookTitle")], limit: int = 1) -> str:
        """Find by one name."""
        return found(title)

    @operation(read_only=True)
    async def by_default(self, title: str = Field(validation_alias="bookTitle"), limit: int = 1) -> str:
        """Find by one name, which stands in the default."""
        return found(title)

    @operation(read_only=True)
    async def by_choices(
        self,
        title: Annotated[str, Field(validation_alias=AliasChoices("bookTitle", AliasPath("other")))],
        limit: int = 1,
    ) -> str:
        """Find by one of two names."""
        return found(title)


def found(title: str) -> str:
    if title != "Emma":
        raise NotFound(message="There is no such book.")
    return title


@pytest.mark.parametrize("changed", ["title", "bookTitle"])
@pytest.mark.parametrize("given", ["title", "bookTitle"])
@pytest.mark.parametrize("name", ["by_alias", "by_default", "by_choices"])
async def test_a_retry_may_name_the_parameter_either_way(name: str, given: str, changed: str) -> None:
    manager = RecoveryManager()
    manager.register(NotFound, Renamed(changed))
    tool = Shelf(runtime=quiet_runtime(recovery=manager))
    response = await tool.execute_with_error_handling(name, {given: "Dune", "limit": 2})
    assert (response.data, response.metadata.recovery and response.metadata.recovery.attempts) == ("Emma", 2)


async def test_a_parameter_that_is_given_twice_by_its_caller_is_still_refused() -> None:
    params: dict[str, Any] = {"title": "Emma", "bookTitle": "Emma"}
    response = await Shelf(runtime=quiet_runtime()).execute_with_error_handling("by_alias", params)
    assert response.error is not None
    assert [(item.path, item.reason) for item in response.error.violations] == [("title", "unexpected")]
