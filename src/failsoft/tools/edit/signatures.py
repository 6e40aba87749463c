"""Settings, arguments and results of the edit operations. Sizes are in bytes; keys without a value are omitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, NotRequired

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from failsoft.framework.arguments.marks import Fault
from failsoft.framework.settings import ToolsetSettings
from failsoft.framework.text import quoted
from failsoft.tools.edit.engine import TextEdit
from failsoft.tools.edit.errors import (
    EmptyEdits,
    EmptyOldString,
    PathTraversal,
    RelativePath,
)

FILES_AT_MOST = 200
"""Files in one call: each is held open until all of them are written."""
TEXT_AT_MOST = 10_000_000
"""Characters of one string."""
_PATH_AT_MOST = 4096


def _without_parents(path: str) -> str:
    """Refuse `..`: with links in the path, its target cannot be known from the text."""
    if ".." in path.split("/"):
        msg = "'..' is not accepted in a path"
        raise ValueError(msg)
    return path


OldString = Annotated[
    str,
    Field(
        min_length=1,
        max_length=TEXT_AT_MOST,
        description="The text to replace, exactly as it is in the file; unique unless replace_all",
    ),
]
NewString = Annotated[str, Field(max_length=TEXT_AT_MOST, description="The replacement; may be empty")]
ReplaceAll = Annotated[bool, Field(description="Replace every match of old_string; by default false")]
Path = Annotated[
    str,
    Field(
        pattern="^/",
        max_length=_PATH_AT_MOST,
        description="Absolute path of an existing UTF-8 text file below {root}",
        examples=["/srv/project/app.py"],
    ),
    AfterValidator(_without_parents),
]
ExpectedHash = Annotated[
    str | None,
    Field(
        pattern="^[0-9a-fA-F]{64}$",
        description="SHA-256 of the file as it was read, in hex; if the file has changed since, nothing is edited",
    ),
]
DryRun = Annotated[bool, Field(description="Return the unified diff of the edits, and write nothing")]
Backup = Annotated[bool, Field(description="Keep the old content of each changed file as FILE.bak, .bak.1 and so on")]
IncludeContent = Annotated[bool, Field(description="Return the new content of each file")]


class EditArgument(TypedDict):
    """One replacement."""

    old_string: OldString
    new_string: NewString
    replace_all: NotRequired[ReplaceAll]


EditList = Annotated[
    list[EditArgument],
    Field(
        min_length=1,
        description="The edits, applied in order: each one sees the result of those before it",
    ),
]


class FileArgument(TypedDict):
    """One file and its edits."""

    file_path: Path
    edits: EditList
    expected_hash: NotRequired[ExpectedHash]


FilePath = Annotated[Path, Fault(RelativePath, "pattern"), Fault(PathTraversal, "value")]
Edits = Annotated[
    EditList,
    Fault(EmptyEdits, "length", at=""),
    Fault(EmptyOldString, "length", at="*.old_string"),
]
Files = Annotated[
    list[FileArgument],
    Field(min_length=1, max_length=FILES_AT_MOST, description="The files with their edits; each file once"),
    Fault(RelativePath, "pattern", at="*.file_path"),
    Fault(PathTraversal, "value", at="*.file_path"),
    Fault(EmptyEdits, "length", at="*.edits"),
    Fault(EmptyOldString, "length", at="*.edits.*.old_string"),
]


def text_edits(edits: list[EditArgument]) -> list[TextEdit]:
    """Return the edits as the engine takes them."""
    return [TextEdit(edit["old_string"], edit["new_string"], edit.get("replace_all", False)) for edit in edits]


class FileRequest(NamedTuple):
    """One file and its edits."""

    path: str
    edits: list[TextEdit]
    expected_hash: str | None


@dataclass(frozen=True, slots=True)
class EditRequest:
    """A whole call.

    Args:
        files: In the order of the call.
        is_several: Whether the operation takes several files, though the call may name only one.
        dry_run: Nothing is written.
        backup: The old contents are kept.
        include_content: The new contents are returned.
    """

    files: tuple[FileRequest, ...]
    is_several: bool
    dry_run: bool
    backup: bool
    include_content: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the files."""
        return tuple(file.path for file in self.files)

    @property
    def is_repeatable(self) -> bool:
        """Whether the call may be repeated: a changed file no longer has its expected hash."""
        return self.dry_run or all(file.expected_hash is not None for file in self.files)

    def name_of(self, file: FileRequest) -> str:
        """Return a file as messages name it: quoted, without its folder where the call names one file only."""
        return quoted(file.path if len(self.files) > 1 else file.path.rpartition("/")[2] or file.path)

    def argument(self, index: int, name: str) -> str:
        """Return the path of an argument of one file, as violations write it."""
        return f"files.{index}.{name}" if self.is_several else name


class EditResult(TypedDict):
    """One edit of a file: how many matches it replaced; 0 if old_string and new_string are equal."""

    edit_index: int
    occurrences_replaced: int


class SingleResult(TypedDict):
    """An edited file. `sha256` and `bytes_after` are of the new content, `sha256_before` of the old one."""

    file_path: str
    dry_run: bool
    edits_applied: int
    edits: list[EditResult]
    replacements: int
    bytes_before: int
    bytes_after: int
    sha256: str
    sha256_before: str
    diff: NotRequired[str]
    content: NotRequired[str]
    backup_path: NotRequired[str]
    message: str


class _Succeeded(TypedDict):
    success: Literal[True]


class FileResult(_Succeeded, SingleResult):
    """One of several edited files."""


class FilesResult(TypedDict):
    """Several edited files, in the order of the call, and their totals."""

    dry_run: bool
    files: list[FileResult]
    edits_applied: int
    replacements: int
    message: str


def message_of(edits: int, replacements: int, *, dry_run: bool, is_same: bool) -> str:
    """Return the sentence on one file."""
    what = f"{_count(edits, 'edit')} with {_count(replacements, 'replacement')}"
    if is_same:
        return f"Applied {what}; the content is the same as before, so nothing was written."
    return f"Would apply {what}; nothing was written." if dry_run else f"Applied {what}."


def message_of_all(files: int, edits: int, replacements: int, *, dry_run: bool) -> str:
    """Return the sentence on several files."""
    what = f"{_count(edits, 'edit')} with {_count(replacements, 'replacement')} in {_count(files, 'file')}"
    return f"Would apply {what}; nothing was written." if dry_run else f"Applied {what}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


class EditSettings(ToolsetSettings):
    """What an operator can set for the edit toolset."""

    max_edits: int = Field(
        default=1_000,
        ge=1,
        le=100_000,
        description="Most edits in one call of the edit toolset, over all files.",
    )
    max_file_bytes: int = Field(
        default=10_000_000,
        ge=1,
        description="Largest file in bytes, before and after the change, that the edit toolset edits.",
    )
    max_diff_bytes: int = Field(
        default=100_000, ge=1_000, description="Largest diff in bytes that a dry run of the edit toolset returns."
    )
    hard_links: bool = Field(
        default=False,
        description="Edit files with several hard links, too; one may lie outside the root.",
    )
    lock_timeout_s: float = Field(
        default=10.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds that a call of the edit toolset waits for files that another call is editing.",
    )
