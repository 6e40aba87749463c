"""Settings, arguments and results of the workspace operations. Times are in seconds, sizes in bytes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from failsoft.framework.setting_types import Commands, Names
from failsoft.framework.settings import ToolsetSettings
from failsoft.tools.files import EntryKind

_TEXT_AT_MOST = 10_000_000
"""Characters of one text."""
_LINES_AT_MOST = 1_000_000_000
_PATTERN_AT_MOST = 1_000


class WorkspaceSettings(ToolsetSettings):
    """What an operator can set for the workspace toolset."""

    roles: Names = Field(
        default=("ANTIGRAVITY:read+plan+approve", "WINDSURF:read+write"),
        description="Roles of the workspace toolset and what they may do, as ROLE:read+plan+approve+write, separated "
        "by commas.",
    )
    role: str | None = Field(
        default=None, description="The only role that this process offers; `failsoft serve --role` sets it."
    )
    principals: Names = Field(
        default=(),
        description="Who may take which role over HTTP, as principal:ROLE+ROLE, separated by commas; "
        "unset: a principal keeps the first role that it takes on the server.",
    )
    session_s: float = Field(
        default=28_800.0, gt=0, allow_inf_nan=False, description="Seconds until a workspace session expires."
    )
    plan_s: float = Field(
        default=604_800.0, gt=0, allow_inf_nan=False, description="Seconds until a plan of a workspace expires."
    )
    max_file_bytes: int = Field(
        default=10_000_000, ge=1, description="Largest file in bytes that the workspace toolset reads or writes."
    )
    reports: str = Field(
        default="docs/reports", min_length=1, description="Folder for failure reports, relative to the workspace."
    )
    hard_links: bool = Field(
        default=False,
        description="Read and replace files with several hard links, too; one may lie outside the workspace.",
    )
    policies: Names = Field(
        default=("generic",),
        description="Policies that check what is written, separated by commas or as a JSON list.",
    )
    preflight: Commands = Field(
        default=(), description='Commands of run_preflight, as JSON: [["cargo", "test"], ["cargo", "clippy"]].'
    )
    preflight_s: float = Field(
        default=300.0, gt=0, le=86_400, description="Seconds that each command of run_preflight may take."
    )
    preflight_processes: int = Field(
        default=1_000, ge=1, description="Processes that each command of run_preflight may have at once."
    )
    preflight_memory_mb: int | None = Field(
        default=None,
        ge=1,
        description="Memory in MiB that all processes of a command of run_preflight may use together; unset: no limit.",
    )


WorkspaceRoot = Annotated[
    str,
    Field(
        max_length=4096,
        description="Absolute path of the folder to work in: the root, or a folder below {root}",
        examples=["/srv/project"],
    ),
]
RoleName = Annotated[str, Field(min_length=1, max_length=100, description="The role to work in", examples=["WINDSURF"])]
AuditLimit = Annotated[int, Field(ge=1, le=200, description="Entries to return at most, the last ones")]
ReportTitle = Annotated[
    str, Field(min_length=1, max_length=200, description="What went wrong, in one line", examples=["A patch was lost"])
]
ReportBody = Annotated[
    str,
    Field(min_length=1, max_length=100_000, description="Markdown: what was done, what happened, what should be done"),
]
SessionId = Annotated[
    str | None,
    Field(
        max_length=100,
        description="The session_id of begin_session; over stdio by default the session begun last",
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
FolderCursor = Annotated[
    str | None, Field(max_length=1_000, description="The next_cursor of the page before, for the names that follow")
]
FirstLine = Annotated[int, Field(ge=1, le=_LINES_AT_MOST, description="The first line to return, from 1")]
LineLimit = Annotated[
    int | None,
    Field(ge=1, le=_LINES_AT_MOST, description="Lines to return at most, for a file that is too large for one answer"),
]
Content = Annotated[str, Field(max_length=_TEXT_AT_MOST, description="The whole new content of the file")]
ExpectedHash = Annotated[
    str | None,
    Field(
        pattern="^[0-9a-f]{64}$",
        description="To replace a file: its sha256 as read_file returned it. Left out, the file must not exist",
    ),
]
PatchHash = Annotated[
    str | None,
    Field(pattern="^[0-9a-f]{64}$", description="The sha256 of the file that the patch was made from, if known"),
]
PatchText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=_TEXT_AT_MOST,
        description="A unified diff for this one file: exact line numbers and counts, context and removed lines as "
        "they are in the file. From /dev/null it makes the file",
        examples=["@@ -1,2 +1,2 @@\n # Title\n-old line\n+new line\n"],
    ),
]
PlanTitle = Annotated[
    str, Field(min_length=1, max_length=200, description="What the plan is about", examples=["Write the guide"])
]
_Pattern = Annotated[str, Field(max_length=_PATTERN_AT_MOST)]
PlanFiles = Annotated[
    list[_Pattern],
    Field(
        max_length=10_000,
        description="The files that the plan may write: at most 200 paths or globs, relative to the workspace. "
        "** matches any number of folders; names that begin with a dot have to be spelled out",
        examples=[["src/app.py", "docs/**"]],
    ),
]
LintedFiles = Annotated[
    list[_Pattern],
    Field(
        min_length=1,
        max_length=200,
        description="The paths and globs to check, as for submit_plan",
        examples=[["src/app.py", "docs/**"]],
    ),
]
WaivedRules = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=60)]],
    Field(
        max_length=50,
        description="Policy rules that do not apply to the writes of this plan, as findings name them",
        examples=[["todo"]],
    ),
]
PlanBody = Annotated[str, Field(max_length=50_000, description="The plan itself, in Markdown, for its approver")]
PlanHash = Annotated[str, Field(max_length=100, description="The plan, by the hash that submit_plan returned")]
WritePlanHash = Annotated[
    str | None,
    Field(
        max_length=100,
        description="The approved plan that this belongs to; left out, any approved plan of the workspace that covers "
        "the path",
    ),
]
PlanLimit = Annotated[int, Field(ge=1, le=200, description="Plans to return at most, the newest first")]
PlanCursor = Annotated[
    str | None,
    Field(pattern=r"^[0-9]{1,12}(?:\.[0-9]{1,20})?-[0-9a-f]{64}$", description="The next_cursor of the page before"),
]


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
    """Entries of a folder, sorted by name, and how many it has; `next_cursor` leads to the names that follow."""

    path: str
    entries: list[FileEntry]
    total: int
    next_cursor: NotRequired[str]


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
    """Entries of a workspace, oldest first, and whether there may be earlier ones."""

    entries: list[AuditEntry]
    has_more: bool


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
