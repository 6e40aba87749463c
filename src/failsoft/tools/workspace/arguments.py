"""The arguments of the operations: what they accept."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

__all__ = ["RoleName", "SessionId", "WorkspaceRoot"]

WorkspaceRoot = Annotated[
    str,
    Field(
        max_length=4096,
        description="Absolute path of the folder to work in, within the folders of this server",
        examples=["/srv/project"],
    ),
]
RoleName = Annotated[str, Field(min_length=1, max_length=100, description="The role to work in", examples=["WINDSURF"])]
SessionId = Annotated[
    str | None,
    Field(
        max_length=100,
        description="The session, as begin_session returned it; over stdio it may be left out: the one begun last",
    ),
]
