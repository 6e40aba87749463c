"""The workspace toolset: governed work in sessions that have a role. `Workspace` is what a server offers."""

from __future__ import annotations

from failsoft.tools.workspace.path_errors import InvalidPath, OutsideWorkspace, PathNotFound, PathTraversalBlocked
from failsoft.tools.workspace.session_errors import (
    InsufficientPermissions,
    RoleMismatch,
    SessionInitializationFailed,
    SessionNotInitialized,
)
from failsoft.tools.workspace.toolset import Workspace

__all__ = [
    "InsufficientPermissions",
    "InvalidPath",
    "OutsideWorkspace",
    "PathNotFound",
    "PathTraversalBlocked",
    "RoleMismatch",
    "SessionInitializationFailed",
    "SessionNotInitialized",
    "Workspace",
]
