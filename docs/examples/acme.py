"""A package of its own that adds one of each part."""

from __future__ import annotations

from typing import Any

from failsoft import (
    BaseTool,
    NotFound,
    Public,
    RecoveryResult,
    ToolError,
    ToolsetSettings,
    Unavailable,
    operation,
)


# --8<-- [start:error]
class ShelfNotFound(NotFound):
    """There is no shelf of that number.

    Raised when: the number is above that of the last shelf.
    Caller: choose a number that exists.
    """

    shelf: Public[int]
    code = "ACME_SHELF_NOT_FOUND"
    message = "There is no shelf {shelf}."
    since = "1.0.0"


# --8<-- [end:error]


# --8<-- [start:strategy]
class Nearest:
    """A strategy: answers with the last shelf in place of one that does not exist."""

    name = "nearest"

    async def attempt(self, error: ToolError, call: Any) -> RecoveryResult | None:
        last = call.toolset.settings.shelves
        return RecoveryResult(
            await call.retry(shelf=last),
            "Took the last shelf.",
            changed={"shelf": last},
        )


# --8<-- [end:strategy]


# --8<-- [start:normaliser]
class FlakyDriverError(Exception):
    """What the driver of this package raises."""


def from_exception(exc: BaseException) -> ToolError | None:
    """Normalise the driver's error."""
    return (
        Unavailable(message="The shelf robot is off.")
        if isinstance(exc, FlakyDriverError)
        else None
    )


# --8<-- [end:normaliser]


# --8<-- [start:setting]
class AcmeSettings(ToolsetSettings):
    """Settings: FAILSOFT_ACME_..."""

    shelves: int = 3


# --8<-- [end:setting]


# --8<-- [start:toolset]
class Acme(BaseTool):
    """Shelves in a store."""

    Settings = AcmeSettings

    @operation(read_only=True)
    async def look(self, shelf: int) -> str:
        """Return what is on a shelf."""
        if shelf > self.settings.shelves:
            raise ShelfNotFound(shelf=shelf)
        if shelf == 0:
            raise FlakyDriverError
        return f"shelf {shelf}"

    @operation(read_only=True, recovery=[Nearest()])
    async def look_near(self, shelf: int) -> str:
        """Return what is on a shelf, or on the last one."""
        if shelf > self.settings.shelves:
            raise ShelfNotFound(shelf=shelf)
        return f"shelf {shelf}"


# --8<-- [end:toolset]
