# --8<-- [start:tool]
from typing import Annotated

from failsoft import Alias, BaseTool, operation


class Post(BaseTool):
    """Sends letters."""

    @operation
    async def send(
        self, to: Annotated[str, Alias("recipient", "addressee")], text: str
    ) -> str:
        """Send a letter."""
        return f"sent to {to}"


# --8<-- [end:tool]

# --8<-- [start:calls]
import asyncio

for arguments in (
    {"recipient": "Ann", "text": "Hello"},
    {"to": "Ann", "recipient": "Bob", "text": "Hello"},
):
    response = asyncio.run(Post().execute_with_error_handling("send", arguments))
    print(response.data or response.error.message)
# --8<-- [end:calls]
