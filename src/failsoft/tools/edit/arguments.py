"""Arguments of the edit operations: their schemas, and the error of each fault."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import AfterValidator, Field, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError
from typing_extensions import TypedDict

from failsoft.framework.arguments.marks import Fault
from failsoft.tools.edit.argument_errors import (
    DuplicateOldString,
    EmptyEdits,
    EmptyOldString,
    PathTraversal,
    RelativePath,
)
from failsoft.tools.edit.engine import TextEdit

FILES_AT_MOST = 200
"""Files in one call: each is held open until all of them are written."""
EDITS_AT_MOST = 10_000
"""Edits of one file in the schema; `FAILSOFT_EDIT_MAX_EDITS` is the lower limit that an operator sets."""
TEXT_AT_MOST = 10_000_000
"""Characters of one string."""
_PATH_AT_MOST = 4096
_RAISED_AGAIN_AT_MOST = 2_000
"""Faults that are still reported one by one together with repeated strings."""
_DUPLICATES_AT_MOST = 100
"""Repeated strings that are listed."""


def _without_parents(path: str) -> str:
    """Refuse `..`: with links in the path, its target cannot be known from the text."""
    if ".." in path.split("/"):
        msg = "'..' is not accepted in a path"
        raise ValueError(msg)
    return path


def _without_duplicates(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Refuse an `old_string` that occurs twice, in addition to the other faults of the edits.

    A list that is too long is refused before its items are validated.
    """
    if isinstance(value, list) and len(value) > EDITS_AT_MOST:
        kind = PydanticCustomError("too_many_edits", "at most {limit} edits", {"limit": EDITS_AT_MOST})
        raise ValidationError.from_exception_data("edits", [InitErrorDetails(type=kind, input=None)])  # noqa: EM101 - a title
    faults: list[InitErrorDetails] = []
    valid = value
    try:
        valid = validate(value)
    except ValidationError as error:
        if error.error_count() > _RAISED_AGAIN_AT_MOST:
            raise
        faults = [_raisable(fault) for fault in error.errors(include_url=False)]
    faults += _duplicates(value)
    if faults:
        raise ValidationError.from_exception_data("edits", faults)  # noqa: EM101 - a title
    return valid


def _raisable(fault: Any) -> InitErrorDetails:
    """Return a fault that pydantic reported in the form in which it can be raised again."""
    kind: Any = fault["type"]
    if "ctx" in fault and "error" in fault["ctx"]:
        kind = PydanticCustomError("value_error", "{said}", {"said": fault["msg"].replace("Value error, ", "")})
    return InitErrorDetails(type=kind, loc=fault["loc"], input=fault["input"], ctx=fault.get("ctx", {}))


def _duplicates(value: Any) -> list[InitErrorDetails]:
    first: dict[str, int] = {}
    duplicates: list[InitErrorDetails] = []
    for index, edit in enumerate(value if isinstance(value, list) else ()):
        old = edit.get("old_string") if isinstance(edit, dict) else None
        if not isinstance(old, str) or not old:
            continue
        if old in first:
            kind = PydanticCustomError("duplicate", "is the same as in edit {other}", {"other": first[old]})
            duplicates.append(InitErrorDetails(type=kind, loc=(index, "old_string"), input=old))
            if len(duplicates) == _DUPLICATES_AT_MOST:
                break
        first.setdefault(old, index)
    return duplicates


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
        json_schema_extra={"maxItems": EDITS_AT_MOST},
    ),
    WrapValidator(_without_duplicates),
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
    Fault(DuplicateOldString, "value", at="*.old_string"),
]
Files = Annotated[
    list[FileArgument],
    Field(min_length=1, max_length=FILES_AT_MOST, description="The files with their edits; each file once"),
    Fault(RelativePath, "pattern", at="*.file_path"),
    Fault(PathTraversal, "value", at="*.file_path"),
    Fault(EmptyEdits, "length", at="*.edits"),
    Fault(EmptyOldString, "length", at="*.edits.*.old_string"),
    Fault(DuplicateOldString, "value", at="*.edits.*.old_string"),
]


def text_edits(edits: list[EditArgument]) -> list[TextEdit]:
    """Return the edits as the engine takes them."""
    return [TextEdit(edit["old_string"], edit["new_string"], edit.get("replace_all", False)) for edit in edits]
