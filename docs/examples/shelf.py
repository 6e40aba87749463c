from failsoft import BaseTool, operation

AUTHORS = {"Dune": "Frank Herbert", "Emma": "Jane Austen", "Kim": "Rudyard Kipling"}


class Shelf(BaseTool):
    """Books on a shelf."""

    @operation(read_only=True, timeout=5.0)
    async def get_author(self, title: str) -> str:
        """Return who wrote a book."""
        return AUTHORS[title]
