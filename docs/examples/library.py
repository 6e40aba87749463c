# --8<-- [start:imports]
import difflib
from typing import Annotated

from pydantic import BaseModel, Field

from failsoft import BaseTool, NotFound, Public, operation
# --8<-- [end:imports]


# --8<-- [start:model]
class Book(BaseModel):
    title: str
    author: str
    copies: int


SHELF = {
    "Dune": Book(title="Dune", author="Frank Herbert", copies=2),
    "Emma": Book(title="Emma", author="Jane Austen", copies=1),
    "Kim": Book(title="Kim", author="Rudyard Kipling", copies=0),
}
# --8<-- [end:model]


# --8<-- [start:error]
class BookNotFound(NotFound):
    """The shelf has no book of that title.

    Raised when: no title on the shelf is the same, capital letters included.
    Caller: use one of the suggested titles, or list the books.
    """

    title: Public[str]
    code = "BOOK_NOT_FOUND"
    message = "The shelf has no book '{title}'."
    since = "1.0"


# --8<-- [end:error]


# --8<-- [start:tool]
class Library(BaseTool):
    """Books on a shelf."""

    @operation(read_only=True, timeout=5.0)
    async def get_book(self, title: str) -> Book:
        """Return a book: its author, and how many copies are on the shelf."""
        if title not in SHELF:
            raise BookNotFound(
                title=title,
                suggestions=difflib.get_close_matches(title, SHELF),
                next_step={"tool": "list_books", "arguments": {}},
            )
        return SHELF[title]

    @operation(read_only=True)
    async def list_books(
        self, limit: Annotated[int, Field(ge=1, le=50)] = 20
    ) -> list[str]:
        """List the titles on the shelf, in order."""
        return sorted(SHELF)[:limit]


# --8<-- [end:tool]
