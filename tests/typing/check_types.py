"""What type checkers must know about an operation. Checked by mypy and pyright, never run."""

from __future__ import annotations

from typing import Any, assert_type

from pydantic import BaseModel

from failsoft import BaseTool, CallContext, RecoveryManager, ToolResponse, operation


class Book(BaseModel):
    """A model as result."""

    title: str


class Library(BaseTool):
    """One operation of each kind."""

    name = "library"
    recovery = RecoveryManager()

    @operation(read_only=True, timeout=5.0)
    async def get_book(self, title: str) -> Book:
        """An async operation."""
        return Book(title=title)

    @operation(idempotent=True)
    def shelve(self, title: str, shelf: int = 1) -> list[str]:
        """A sync operation."""
        return [title] * shelf

    @operation()
    async def lend(self, call: CallContext, title: str) -> dict[str, int]:
        """An async operation that takes the context."""
        return {title: call.attempt}

    @operation()
    def count(self, call: CallContext) -> int:
        """A sync operation that takes the context."""
        return call.attempt

    @operation
    async def borrow(self, title: str) -> Book:
        """An operation of which nothing is said."""
        return Book(title=title)

    @operation(input_schema={"type": "object"})
    async def search(self, **arguments: Any) -> list[Book]:
        """An operation whose arguments a schema describes."""
        return [Book(title=str(arguments))]


async def check() -> None:
    """The answers, and their data, have the type that the handler declares."""
    library = Library()
    found = await library.get_book(title="Dune")
    assert_type(found, ToolResponse[Book])
    assert_type(found.data, Book | None)
    assert_type((await library.get_book("Dune")).data, Book | None)
    assert_type((await library.shelve(title="Dune", shelf=2)).data, list[str] | None)
    assert_type((await library.lend(title="Dune")).data, dict[str, int] | None)
    assert_type((await library.count()).data, int | None)
    assert_type((await library.borrow(title="Dune")).data, Book | None)
    assert_type(await library.search(title="Dune"), ToolResponse[Any])
    assert_type(await library.execute_with_error_handling("get_book", {"title": "Dune"}), ToolResponse[Any])
    if found.error is not None:
        assert_type(found.error.code, str)


async def refuse() -> None:
    """Calls that cannot work do not type-check; an ignore that is not needed is an error itself."""
    library = Library()
    await library.get_book()  # type: ignore[call-arg]
    await library.get_book(title=1)  # type: ignore[arg-type]
    await library.lend(name="Dune")  # type: ignore[call-arg]
