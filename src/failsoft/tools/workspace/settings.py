"""Settings of the workspace toolset: `FAILSOFT_WORKSPACE_...`."""

from __future__ import annotations

from pydantic import Field

from failsoft.framework.setting_types import Commands, Names
from failsoft.framework.settings import ToolsetSettings


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
        "without, a principal keeps the first role that it takes on the server.",
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
        default="docs/reports", min_length=1, description="Folder of a workspace's failure reports, relative to it."
    )
    hard_links: bool = Field(
        default=False,
        description="Read and replace files with several hard links, too; one of them may lie outside the workspace.",
    )
    policies: Names = Field(
        default=("generic",),
        description="Policies that check what is written into a workspace, with commas between them or as a JSON list.",
    )
    preflight: Commands = Field(
        default=(), description='Commands of run_preflight, as JSON: [["cargo", "test"], ["cargo", "clippy"]].'
    )
    preflight_s: float = Field(
        default=300.0, gt=0, le=86_400, description="Seconds that each command of run_preflight may take."
    )
