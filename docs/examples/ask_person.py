# --8<-- [start:tool]
from failsoft import AskPerson, BaseTool, NotFound, operation

BOOKS = {"Emma": 1815, "Dune": 1965, "Dune Messiah": 1969}


class Shelf(BaseTool):
    """Books."""

    @operation(confirm="when destructive", timeout=10)
    async def remove(self, title: str) -> str:
        """Remove a book permanently."""
        del BOOKS[title]
        return title

    @operation(read_only=True, timeout=10, recovery=[AskPerson(ask=["title"])])
    async def year_of(self, title: str) -> int:
        """Return the year of a book."""
        if title not in BOOKS:
            raise NotFound(
                message=f"No book is called {title!r}.", suggestions=list(BOOKS)
            )
        return BOOKS[title]


# --8<-- [end:tool]

# --8<-- [start:client]
import asyncio
from typing import Any

from mcp_types import ElicitRequestFormParams, ElicitResult

from failsoft.testing import connected


async def ask(_context: Any, question: ElicitRequestFormParams) -> ElicitResult:
    """Say what is asked, and answer: no book is removed, and a title is chosen."""
    print("?", question.message.splitlines()[0])
    if "confirm" in question.requested_schema["properties"]:
        return ElicitResult(action="decline")
    return ElicitResult(action="accept", content={"title": "Emma"})


async def main() -> None:
    for era in ("legacy", "auto"):
        async with connected(Shelf, mode=era, elicitation_callback=ask) as client:
            for tool, arguments in (("remove", {"title": "Dune"}), ("year_of", {})):
                result = await client.call_tool(tool, arguments)
                answer = result.structured_content
                assert answer is not None
                print(answer["error"]["code"] if result.is_error else answer["data"])


if __name__ == "__main__":
    asyncio.run(main())
# --8<-- [end:client]
