"""The arguments of the operations: what they accept."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

__all__ = ["Content", "ExpectedHash", "FilePath", "FolderPath", "RoleName", "SessionId", "WorkspaceRoot"]

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
FilePath = Annotated[
    str,
    Field(
        max_length=4096,
        description="Path of a file, relative to the workspace or absolute within it",
        examples=["src/app.py"],
    ),
]
FolderPath = Annotated[
    str, Field(max_length=4096, description="Path of a folder, relative to the workspace; by default all of it")
]
Content = Annotated[str, Field(description="The whole new content of the file")]
ExpectedHash = Annotated[
    str | None,
    Field(
        pattern="^[0-9a-f]{64}$",
        description="To replace a file: its sha256 as read_file returned it. Left out, the file must not exist",
    ),
]
