"""The request of a call, for one file or several, and the arguments that a failure is about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from failsoft.framework.errors import NextStep, ToolError
from failsoft.framework.text import bounded, quoted
from failsoft.tools.edit.engine import TextEdit

_PLACE = re.compile(r"(?:files\.(?P<file>\d{1,9}))?\.?(?:edits\.(?P<edit>\d{1,9}))?")
_PATH_AT_MOST = 4096
_PASSED_ON = ("backup_path", "edit_status", "failures")


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


def place_of(error: ToolError, params: Any) -> dict[str, Any]:
    """Return the file and the edit that a failure is about, and the list of all failures of a batch.

    Args:
        error: What failed.
        params: The arguments as received; not validated.
    """
    facts = {**error.public(), **error.details}
    found = _PLACE.match(str(facts.get("argument") or (error.violations[0].path if error.violations else "")))
    indices = {"file_index": found and found["file"], "edit_index": found and found["edit"]}
    place = {name: int(index) for name, index in indices.items() if index is not None}
    place |= {name: facts[name] for name in indices if isinstance(facts.get(name), int)}
    file = params
    several = params.get("files") if isinstance(params, Mapping) else None
    if isinstance(several, list):
        index = place.get("file_index", -1)
        file = several[index] if 0 <= index < len(several) else None
    else:
        place.pop("file_index", None)
    path = file.get("file_path") if isinstance(file, Mapping) else None
    return {
        **({"file_path": bounded(path, _PATH_AT_MOST)} if isinstance(path, str) else {}),
        **place,
        **{name: facts[name] for name in _PASSED_ON if facts.get(name)},
    }


def look_step(operation: str, params: Mapping[str, Any]) -> NextStep:
    """Return the dry run that shows what the same edits would do now, and the current hashes."""
    look = {name: value for name, value in params.items() if name not in {"expected_hash", "backup"}}
    if "files" in look:
        look["files"] = [{k: value for k, value in file.items() if k != "expected_hash"} for file in look["files"]]
    return NextStep(operation, {**look, "dry_run": True})


def respelled_step(operation: str, params: Mapping[str, Any], path: str, meant: str) -> NextStep:
    """Return the same call with another path for a file."""
    respelled = {**params, "file_path": meant}
    if "files" in params:
        files = params["files"]
        respelled = {
            **params,
            "files": [{**one, "file_path": meant} if one["file_path"] == path else one for one in files],
        }
    return NextStep(operation, respelled)
