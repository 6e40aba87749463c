"""The example of the README, run as it stands there."""

# --8<-- [start:tool]
from failsoft import BaseTool, NotFound, operation

BOOKS = {"Dune": "A planet of sand.", "Emma": "A matchmaker errs."}


class Library(BaseTool):
    """Books on a shelf."""

    @operation(read_only=True, timeout=5.0)
    async def get_book(self, title: str) -> str:
        """Return what a book is about."""
        if title not in BOOKS:
            raise NotFound(message=f"No book '{title}'.", suggestions=list(BOOKS))
        return BOOKS[title]


# --8<-- [end:tool]
