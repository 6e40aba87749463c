"""A client of a server with jobs."""

from __future__ import annotations

from typing import Any

from mcp import Client

KEY = "dev.failsoft/idempotency-key"


class Caller:
    """A client of a server with jobs.

    Args:
        client: A connected client.
        desk: The toolset, where it is in this process.
    """

    def __init__(self, client: Client, desk: Any = None) -> None:
        self.client, self.desk = client, desk

    async def answer(self, tool: str, arguments: dict[str, Any] | None = None, *, key: str = "", **more: Any) -> Any:
        """Return the structured content of a call."""
        meta: Any = {KEY: key} if key else None
        return (await self.client.call_tool(tool, arguments or {}, meta=meta, **more)).structured_content

    async def data(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> Any:
        """Return the data of a call that succeeds."""
        return (await self.answer(tool, arguments, **more))["data"]

    async def code(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> str:
        """Return the code of a call that fails."""
        return str((await self.answer(tool, arguments, **more))["error"]["code"])

    async def ended(self, job_id: str) -> Any:
        """Return a job once it has ended."""
        return await self.data("get_job", {"job_id": job_id, "wait_s": 20})
