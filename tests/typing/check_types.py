"""What type checkers must know about an operation. Checked by mypy and pyright, never run."""

from __future__ import annotations

from typing import Any, assert_type

from pydantic import BaseModel

from failsoft import (
    AttemptEvent,
    BaseTool,
    CallContext,
    Failed,
    Failure,
    Fallback,
    NextStep,
    NotFound,
    Public,
    RecoveryManager,
    Success,
    ToolError,
    ToolResponse,
    Unavailable,
    operation,
    soft,
)


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

    @operation(read_only=True)
    async def look_up(self, title: str) -> dict[str, Any]:
        """An async operation whose result holds anything."""
        return {"title": title}

    @operation
    def list_all(self, filters: dict[str, Any]) -> list[Any]:
        """A sync operation that takes and returns anything within a shape."""
        return [filters]

    @operation(read_only=True)
    async def show(self, book: object, limit: int = 1) -> int:
        """An operation whose first parameter takes anything, the context included."""
        return limit

    @operation(read_only=True)
    async def lend_last(self, title: str, call: CallContext | None = None) -> int:
        """An operation whose context comes last."""
        return len(title) if call is None else call.attempt

    @operation(read_only=True)
    async def describe_book(self, call: CallContext, title: str) -> dict[str, Any]:
        """An async operation that takes the context and returns anything: only pyright can tell."""
        return {title: call.attempt}

    @operation(input_schema={"type": "object"})
    async def search(self, **arguments: Any) -> list[Book]:
        """An operation whose arguments a schema describes."""
        return [Book(title=str(arguments))]


async def check() -> None:
    """The answers, and their data, have the type that the handler declares."""
    library = Library()
    found = await library.get_book(title="Dune")
    assert_type(found, Success[Book] | Failed)
    response: ToolResponse[Book] = found
    assert_type(response.unwrap(), Book)
    if found.success is True:
        assert_type(found.data, Book)
    else:
        assert_type(found.error, Failure)
    if isinstance(found, Failed):
        assert_type(found.error, Failure)
    assert_type(found.data, Book | None)
    assert_type((await library.get_book("Dune")).data, Book | None)
    assert_type((await library.shelve(title="Dune", shelf=2)).data, list[str] | None)
    assert_type((await library.lend(title="Dune")).data, dict[str, int] | None)
    assert_type((await library.count()).data, int | None)
    assert_type((await library.borrow(title="Dune")).data, Book | None)
    assert_type((await library.look_up(title="Dune")).data, dict[str, Any] | None)
    assert_type((await library.list_all(filters={"title": "Dune"})).data, list[Any] | None)
    assert_type((await library.show(book="Dune", limit=2)).data, int | None)
    assert_type((await library.lend_last(title="Dune")).data, int | None)
    described: dict[str, Any] | None = (await library.describe_book(title="Dune")).data
    assert_type(described, dict[str, Any] | None)
    assert_type(await library.search(title="Dune"), Success[Any] | Failed)
    assert_type(await library.execute_with_error_handling("get_book", {"title": "Dune"}), ToolResponse[Any])
    if found.error is not None:
        assert_type(found.error.code, str)


def listen(event: AttemptEvent) -> None:
    """A listener says which events it takes, and is subscribed to those."""
    assert_type(event.attempt, int)


def subscribe(library: Library) -> None:
    """A listener to one kind of events."""
    library.runtime.events.subscribe(listen, AttemptEvent)()


async def refuse() -> None:
    """Calls that cannot work do not type-check; an ignore that is not needed is an error itself."""
    library = Library()
    await library.get_book()  # type: ignore[call-overload]
    await library.get_book(title=1)  # type: ignore[call-overload]
    await library.shelve()  # type: ignore[call-arg]
    await library.look_up()  # type: ignore[call-overload]
    await library.look_up(title=1)  # type: ignore[call-overload]
    await library.lend(name="Dune")  # type: ignore[call-overload]
    await library.count(1)  # type: ignore[call-arg]


class ShelfNotFound(NotFound):
    """An error with a field that is required and one that is not."""

    number: Public[int]
    room: Public[str] = "the hall"


def make_errors() -> None:
    """Fields and keywords of errors are known; what is missing, misspelt or of another type does not type-check."""
    NotFound("There is no shelf 3.")
    NotFound(message="There is no shelf 3.", suggestions=["2"], next_step={"tool": "list_shelves"})
    found = ShelfNotFound(number=3, suggestions=["2"], effect="none", details={"shelf": 3})
    assert_type(found.number, int)
    assert_type(found.suggestions, tuple[str, ...])
    assert_type(found.next_step, NextStep | None)
    ShelfNotFound("There is no shelf 3.", number=3)
    ShelfNotFound()  # type: ignore[call-arg]
    ShelfNotFound(numbr=3)  # type: ignore[call-arg]
    ShelfNotFound(number="three")  # type: ignore[arg-type]
    ShelfNotFound(number=3, effect="nothing")  # type: ignore[arg-type]


async def cached(title: str, error: ToolError) -> Book:
    """A substitute that takes an argument and the error."""
    return Book(title=f"{title} {error.code}")


FALLBACKS = [
    Fallback(cached),
    Fallback(lambda: "none", on=Unavailable),
    Fallback(lambda error: error.code, reserve_s=0.5),
    Fallback(lambda title, error: f"{title} {error.code}", on=(Unavailable,)),
    Fallback(Library.shelve.function),
]


@soft
def lend_one(title: str) -> Book:
    """A plain function, bare."""
    return Book(title=title)


@soft(read_only=True, recovery=[], timeout=1.0)
async def look_at(title: str, shelf: int = 1) -> int:
    """A plain async function, with options."""
    return shelf


async def soft_functions() -> None:
    """A soft function is called as it was declared."""
    assert_type(lend_one("Dune"), Book)
    assert_type(await look_at(title="Dune"), int)
    await look_at(titel="Dune")  # type: ignore[call-arg]
