"""How each process of a server makes its app: from data alone, so that it can be sent to another process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from starlette.applications import Starlette

from failsoft.server.assembly import assemble
from failsoft.server.draining import drain_on_signals
from failsoft.server.http import build_app
from failsoft.server.orphans import end_without_supervisor
from failsoft.server.registry import Tools

__all__ = ["AppFactory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppFactory:
    """Makes the ASGI app of a server that owns its process. The fields are the arguments of `serve`."""

    tools: Tools
    name: str | None
    instructions: str | None
    host: str
    allowed_hosts: Sequence[str] | None
    token_verifier: TokenVerifier | None
    auth: AuthSettings | None

    def __call__(self) -> Starlette:
        """Return the app; while it runs, SIGINT and SIGTERM drain it first, and so does the end of its supervisor.

        Raises:
            CONFIG_ERROR: Two tools have one name, or something given is no toolset.
        """
        assembly = assemble(self.tools, name=self.name, instructions=self.instructions)
        app = build_app(
            assembly,
            host=self.host,
            allowed_hosts=self.allowed_hosts,
            token_verifier=self.token_verifier,
            auth=self.auth,
        )
        inner = app.router.lifespan_context

        @asynccontextmanager
        async def lifespan(app: Any) -> AsyncIterator[Any]:
            async with inner(app) as state:
                grace_s = assembly.settings.shutdown_grace_s
                with drain_on_signals(assembly.lifecycle, grace_s=grace_s), end_without_supervisor():
                    yield state

        app.router.lifespan_context = lifespan
        return app
