"""Results of the workspace operations. Times are in seconds, sizes in bytes."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from failsoft.tools.files import EntryKind


class BegunSession(TypedDict):
    """A session that has begun: pass `session_id` with every further call."""

    session_id: str
    role: str
    may: list[str]
    workspace_root: str
    expires_in_s: float


class EndedSession(TypedDict):
    """A session that has ended."""

    session_id: str
    role: str
    workspace_root: str


class FileContent(TypedDict):
    """A text file, or lines of one; pass `sha256`, which is the whole file's, as `expected_hash` to replace it.

    If lines were requested, `next_line` is the first one after them; omitted at the end of the file.
    """

    path: str
    content: str
    bytes: int
    sha256: str
    first_line: NotRequired[int]
    next_line: NotRequired[int]
    total_lines: NotRequired[int]


class FileEntry(TypedDict):
    """One name in a folder."""

    name: str
    kind: EntryKind
    bytes: int


class FileList(TypedDict):
    """A folder: its entries, sorted by name, and how many there are; `entries` may have only the first of them."""

    path: str
    entries: list[FileEntry]
    total: int


class AuditEntry(TypedDict):
    """The record of one call. `session_id` is the caller's own or null; `message` is that of a failure."""

    seq: int
    timestamp: str
    event: str
    tool_name: str
    error_id: str | None
    error_code: str | None
    effect: str | None
    role: str | None
    session_id: str | None
    own: bool
    principal: str | None
    invariant_id: str | None
    phase_id: str | None
    plan_hash: str | None
    message: str | None
    facts: dict[str, Any] | None


class AuditEntries(TypedDict):
    """Entries of a workspace, oldest first; whether there may be earlier ones; whether the log verifies.

    A log of more than 4 MB is `not_checked`.
    """

    entries: list[AuditEntry]
    has_more: bool
    chain: Literal["whole", "broken", "not_checked"]


class WrittenReport(TypedDict):
    """A new report; the `error_id` of the failure that locked the session, and whether it is still locked."""

    path: str
    bytes: int
    sha256: str
    error_id: str | None
    locked: bool


class WrittenFile(TypedDict):
    """A file that was written."""

    path: str
    created: bool
    bytes: int
    sha256: str


class PlanFacts(TypedDict):
    """A plan; `own` says whether the caller submitted it, and so cannot approve it. Times are UTC."""

    plan_hash: str
    title: str
    files: list[str]
    body: str
    waive: list[str]
    approved: bool
    own: bool
    role: str
    submitted_at: str


class PlanList(TypedDict):
    """Plans of a workspace, the newest first, and how many are kept; `next_cursor` leads to older ones."""

    plans: list[PlanFacts]
    total: int
    next_cursor: NotRequired[str]


class WithdrawnPlan(TypedDict):
    """A plan that was withdrawn."""

    plan_hash: str
    title: str
    withdrawn: Literal[True]
