"""Picklable factory of the ASGI app, for this process or for workers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.auth.provider import TokenVerifier
from mcp.server.auth.settings import AuthSettings
from starlette.applications import Starlette

from failsoft.server.assembly import Assembly, assemble
from failsoft.server.draining import drain_on_signals
from failsoft.server.garbage import freeze_loaded
from failsoft.server.http.app import build_app
from failsoft.server.http.process.parent_watch import end_without_supervisor
from failsoft.server.sources import Tools


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
    version: str | None = None
    assemble: Callable[..., Assembly] = assemble
    """Assembles the server; a module-level function, so that it can be pickled."""

    def __call__(self) -> Starlette:
        """Return the app; SIGINT, SIGTERM and the end of its supervisor drain it before it stops.

        Raises:
            CONFIG_ERROR: Two tools have one name, or something given is no toolset.
        """
        assembly = self.assemble(self.tools, name=self.name, version=self.version, instructions=self.instructions)
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
            grace_s = assembly.settings.shutdown_grace_s
            with drain_on_signals(assembly.lifecycle, grace_s=grace_s):  # toolsets that block at start or stop included
                async with inner(app) as state:
                    freeze_loaded()
                    with end_without_supervisor():
                        yield state

        app.router.lifespan_context = lifespan
        return app
