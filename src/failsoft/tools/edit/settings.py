"""Settings of the edit toolset: `FAILSOFT_EDIT_...`."""

from __future__ import annotations

from pydantic import Field

from failsoft.framework.settings import ToolsetSettings


class EditSettings(ToolsetSettings):
    """What an operator can set for the edit toolset."""

    max_edits: int = Field(
        default=1_000, ge=1, le=100_000, description="Edits in one call of the edit toolset, in all files together."
    )
    max_file_bytes: int = Field(
        default=10_000_000, ge=1, description="Largest file in bytes, before or after, that the edit toolset changes."
    )
    max_diff_bytes: int = Field(
        default=100_000, ge=1_000, description="Bytes of diff that a dry run of the edit toolset returns at most."
    )
    hard_links: bool = Field(
        default=False,
        description="Edit files with several hard links, too; one of the links may lie outside the root.",
    )
    lock_timeout_s: float = Field(
        default=10.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds that a call of the edit toolset waits for files that another one is editing.",
    )
