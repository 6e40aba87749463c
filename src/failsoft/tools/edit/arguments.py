"""The arguments of the operations: what they accept, and which error each fault is."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import AfterValidator, Field, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError
from typing_extensions import TypedDict

from failsoft.framework.arguments import Fault
from failsoft.tools.edit.argument_errors import (
    DuplicateOldString,
    EmptyEdits,
    EmptyOldString,
    PathTraversal,
    RelativePath,
)
from failsoft.tools.edit.engine import TextEdit

__all__ = [
    "Backup",
    "DryRun",
    "EditArgument",
    "Edits",
    "ExpectedHash",
    "FileArgument",
    "FilePath",
    "Files",
    "text_edits",
]

FILES_AT_MOST = 200
"""Files in one call: each is held open until all of them are written."""
_PATH_AT_MOST = 4096


def _without_parents(path: str) -> str:
    """Refuse `..`: with links on the way nobody can tell by reading where it leads."""
    if ".." in path.split("/"):
        msg = "'..' is not accepted in a path"
        raise ValueError(msg)
    return path


def _without_twins(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Refuse an `old_string` that occurs twice, beside whatever else is wrong with the edits."""
    faults: list[InitErrorDetails] = []
    valid = value
    try:
        valid = validate(value)
    except ValidationError as error:
        faults = [_again(fault) for fault in error.errors(include_url=False)]
    faults += _twins(value)
    if faults:
        raise ValidationError.from_exception_data("edits", faults)  # noqa: EM101 - a title
    return valid


def _again(fault: Any) -> InitErrorDetails:
    """Return a fault that pydantic found, to be raised once more."""
    kind: Any = fault["type"]
    if "ctx" in fault and "error" in fault["ctx"]:
        kind = PydanticCustomError("value_error", "{said}", {"said": fault["msg"].replace("Value error, ", "")})
    return InitErrorDetails(type=kind, loc=fault["loc"], input=fault["input"], ctx=fault.get("ctx", {}))


def _twins(value: Any) -> list[InitErrorDetails]:
    first: dict[str, int] = {}
    twins: list[InitErrorDetails] = []
    for index, edit in enumerate(value if isinstance(value, list) else ()):
        old = edit.get("old_string") if isinstance(edit, dict) else None
        if not isinstance(old, str) or not old:
            continue
        if old in first:
            kind = PydanticCustomError("twin", "is the same as in edit {other}", {"other": first[old]})
            twins.append(InitErrorDetails(type=kind, loc=(index, "old_string"), input=old))
        first.setdefault(old, index)
    return twins


OldString = Annotated[
    str,
    Field(min_length=1, description="The text to replace, exactly as it stands in the file; unique unless replace_all"),
]
NewString = Annotated[str, Field(description="The text to put in its place; may be empty")]
ReplaceAll = Annotated[bool, Field(description="Replace every place where old_string stands; by default false")]
Path = Annotated[
    str,
    Field(
        pattern="^/",
        max_length=_PATH_AT_MOST,
        description="Absolute path of an existing UTF-8 text file",
        examples=["/srv/project/app.py"],
    ),
    AfterValidator(_without_parents),
]
ExpectedHash = Annotated[
    str | None,
    Field(
        pattern="^[0-9a-fA-F]{64}$",
        description="SHA-256 of the file as it was read, in hex; if the file is another one by now, nothing is changed",
    ),
]
DryRun = Annotated[bool, Field(description="Return the diff that the edits would make, and write nothing")]
Backup = Annotated[bool, Field(description="Keep the old content beside each changed file, under a name not yet taken")]


class EditArgument(TypedDict):
    """One replacement."""

    old_string: OldString
    new_string: NewString
    replace_all: NotRequired[ReplaceAll]


EditList = Annotated[
    list[EditArgument],
    Field(min_length=1, description="The edits, applied in order: each one sees what those before it made"),
    WrapValidator(_without_twins),
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
