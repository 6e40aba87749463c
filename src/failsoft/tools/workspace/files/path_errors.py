"""Errors of paths (seed 001, section 2)."""

from __future__ import annotations

from failsoft.framework.errors import InvalidArgument, NotFound, PermissionDenied, Public, Words


class InvalidPath(InvalidArgument):
    """The path cannot name what is wanted.

    Raised when: it is empty, too long, holds a NUL character, cannot be written as a file name, or leads to something
    of another kind: a file where a folder is wanted.
    Caller: correct the path as the reason says.
    """

    reason: Public[Words]
    code = "INVALID_PATH"
    message = "The path cannot be used: {reason}."


class PathNotFound(NotFound):
    """There is nothing at this path.

    Raised when: a folder that was named, or one on the way to it, does not exist.
    Caller: correct the path.
    """

    path: Public[str]
    code = "PATH_NOT_FOUND"
    message = "There is nothing at {path}."


class PathTraversalBlocked(InvalidArgument):
    """A path contains `..`.

    Raised when: one of the names in the path is `..`, wherever it would lead.
    Caller: give the path without `..`.
    """

    code = "PATH_TRAVERSAL_BLOCKED"
    message = "The path contains '..'."
    hints = ("Give the path without '..'",)


class OutsideWorkspace(PermissionDenied):
    """The path leads out of the folders of this server, or of the session's workspace.

    Raised when: the path, or a link on the way, leads outside, or to what is closed within: `.failsoft/`, the audit log
    and the server's own settings; or the file has more than one name (hard links), and one of them may lie outside.
    Caller: use a path within the workspace.
    Operator: name the folder with `--root` if it should be served; set `FAILSOFT_WORKSPACE_HARD_LINKS` where files of
    the workspace have several names, all of them in the workspace.
    """

    code = "OUTSIDE_WORKSPACE"
    message = "The path lies outside the workspace."
    actor = "caller"
    hints = ("Use a path within the workspace of the session",)
