"""The edit toolset: exact replacements in one or several text files, all or none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from failsoft.framework.arguments.corrected import value_at, with_value
from failsoft.framework.call import CallContext
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Middleware, Proceed
from failsoft.framework.call.operation import operation
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import InvalidParameter, NextStep, ToolError
from failsoft.framework.errors.violations import Violation
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import bounded
from failsoft.tools.edit.errors import DuplicateOldString, EmptyOldString, RelativePath
from failsoft.tools.edit.failures import LISTED_AT_MOST, status_of_faulty
from failsoft.tools.edit.signatures import (
    Backup,
    DryRun,
    EditArgument,
    EditRequest,
    Edits,
    EditSettings,
    ExpectedHash,
    FilePath,
    FileRequest,
    Files,
    FilesResult,
    IncludeContent,
    SingleResult,
    message_of_all,
    text_edits,
)
from failsoft.tools.edit.work import Work
from failsoft.tools.files import CLOSED_FOLDER, FileFault, Files as FilesOnDisk, Roots, name_roots, open_roots
from failsoft.tools.files.faults import FileNotFound, HashMismatch

_PLACE = re.compile(r"(?:files\.(?P<file>\d{1,9}))?\.?(?:edits\.(?P<edit>\d{1,9}))?")
_PATH_AT_MOST = 4096
_PASSED_ON = ("backup_path", "edit_status", "failures")
_FAULTY_EDIT = re.compile(r"((?:files\.\d{1,9}\.)?edits)\.(\d{1,9})")
_REPETITIONS_AT_MOST = 100
_KERNEL = (Path("/proc"), Path("/sys"))
"""They expose the secrets of the process, and writing there reconfigures the machine."""


class Edit(BaseTool):
    """Exact replacements in one or many text files: all edits of a call are made, or none.

    Usual order: read the file; multi_edit with text copied from it (dry_run shows the diff), multi_edit_files where
    several files have to change together; pass the sha256 of each answer as expected_hash of the next edit.

    Args:
        root: The folder or folders whose files may be edited; by default every path is allowed.
        runtime: The runtime of its calls.
        settings: Its limits (`FAILSOFT_EDIT_...`).
        state_folder: Where locks and journals are kept; all servers that edit the same files need the same one.

    Raises:
        CONFIG_ERROR: A folder does not exist.

    Examples:
        >>> edit = Edit(root=".")
    """

    name = "edit"
    wire_format = "edit_envelope"
    Settings = EditSettings
    settings: EditSettings
    takes_several_roots = True

    def __init__(
        self,
        root: Path | Sequence[Path] | None = None,
        *,
        runtime: Runtime | None = None,
        settings: EditSettings | None = None,
        state_folder: Path | None = None,
    ) -> None:
        super().__init__(runtime=runtime, settings=settings)
        served = Roots(["/"], off_limits=_KERNEL) if root is None else open_roots(root, self.name)
        roots = served.closing(CLOSED_FOLDER)
        self.files = FilesOnDisk(
            roots, state_folder=state_folder, several_names=self.settings.hard_links or roots.folders == ("/",)
        )
        self.roots = tuple(map(Path, self.files.roots.folders))
        self.middleware = (Middleware(name="absolute_paths", run=self._lead_to_absolute_path),)

    def bind_operations(self) -> None:
        """Bind every operation; schemas name the folders that are served, and the limit of edits."""
        super().bind_operations()
        for bound in self.operations.values():
            holder = bound.input_schema.get("$defs", {}).get("FileArgument", bound.input_schema)
            holder["properties"]["edits"]["description"] += f"; at most {self.settings.max_edits} in one call"
        name_roots(self.operations.values(), self.roots)

    @operation(destructive=True, open_world=False, title="Edit a file")
    def multi_edit(
        self,
        call: CallContext,
        file_path: FilePath,
        edits: Edits,
        dry_run: DryRun = False,  # noqa: FBT002 - arguments of a tool have names
        backup: Backup = False,  # noqa: FBT002 - the same
        expected_hash: ExpectedHash = None,
        include_content: IncludeContent = False,  # noqa: FBT002 - the same
    ) -> SingleResult:
        """Replace exact text in one UTF-8 file: all edits are applied in order, or nothing is changed.

        Each old_string must match exactly one place unless replace_all is set. Pass the sha256 of the answer as
        expected_hash of the next call, so that a file that changed in between is not edited.
        """
        file = FileRequest(file_path, text_edits(edits), expected_hash)
        (result,) = self._work(
            call,
            EditRequest((file,), is_several=False, dry_run=dry_run, backup=backup, include_content=include_content),
        )
        return result

    @operation(destructive=True, open_world=False, title="Edit several files")
    def multi_edit_files(
        self,
        call: CallContext,
        files: Files,
        dry_run: DryRun = False,  # noqa: FBT002 - arguments of a tool have names
        backup: Backup = False,  # noqa: FBT002 - the same
        include_content: IncludeContent = False,  # noqa: FBT002 - the same
    ) -> FilesResult:
        """Replace exact text in several UTF-8 files in one transaction: all files are changed, or none.

        Use it where files have to change together; each file has its own edits and expected_hash, as in multi_edit.
        """
        wanted = tuple(
            FileRequest(file["file_path"], text_edits(file["edits"]), file.get("expected_hash")) for file in files
        )
        results = self._work(
            call, EditRequest(wanted, is_several=True, dry_run=dry_run, backup=backup, include_content=include_content)
        )
        edits = sum(result["edits_applied"] for result in results)
        replacements = sum(result["replacements"] for result in results)
        return {
            "dry_run": dry_run,
            "files": [{"success": True, **result} for result in results],
            "edits_applied": edits,
            "replacements": replacements,
            "message": message_of_all(len(results), edits, replacements, dry_run=dry_run),
        }

    @multi_edit.check
    async def _check_edits(self, edits: Edits) -> None:
        self._require_valid({"edits": edits})

    @multi_edit_files.check
    async def _check_files(self, files: Files) -> None:
        self._require_valid({f"files.{index}.edits": file["edits"] for index, file in enumerate(files)})

    def _require_valid(self, lists: Mapping[str, Sequence[EditArgument]]) -> None:
        """Refuse too many edits, and an `old_string` that occurs twice among the edits of one file.

        Raises:
            INVALID_PARAM: The files have more edits together than one call may have.
            DUPLICATE_OLD_STRING: With each repetition as a violation.
        """
        count, limit = 0, self.settings.max_edits
        for place, edits in lists.items():
            count += len(edits)
            if count > limit:
                total = sum(map(len, lists.values()))
                message = f"the call has {total} edits and may have {limit}; split them over several calls"
                expected = f"at most {limit} edits in one call"
                fault = Violation(path=place, reason="length", message=message, expected=expected)
                raise InvalidParameter.from_violations([fault])
        repeated = [fault for place, edits in lists.items() for fault in _repetitions(place, edits)]
        if repeated:
            message = InvalidParameter.from_violations(repeated).message
            raise DuplicateOldString(message=message, violations=repeated[:_REPETITIONS_AT_MOST])

    async def _lead_to_absolute_path(self, call: Call, proceed: Proceed) -> Any:
        """Run the call; a relative path leads to the file that has it below the only root."""
        try:
            return await proceed(call)
        except RelativePath as error:
            if len(self.roots) == 1 and self.roots != (Path("/"),):
                error.next_step = await self.runtime.threads.run(partial(self._absolute_step, error, call))
            raise

    def _absolute_step(self, error: RelativePath, call: Call) -> NextStep | None:
        """Return the call with the absolute paths of existing files; None if one is missing, or has another fault."""
        arguments: dict[str, Any] | None = dict(call.params)
        for fault in error.violations:
            given = value_at(call.params, fault.path)
            if fault.reason != "pattern" or not isinstance(given, str) or not given or ".." in given.split("/"):
                return None
            path = str(self.roots[0] / given)
            try:
                with self.files.roots.resolve(path) as place:
                    place.require_regular(place.require_found())
            except FileFault:
                return None
            arguments = with_value(arguments, fault.path, path)
        return None if arguments is None else NextStep(call.operation, arguments)

    def failure_facts(self, error: ToolError, call: CallContext) -> Mapping[str, Any]:
        """Return the file and the edit that a failure is about."""
        return place_of(error, call.params)

    async def startup(self) -> None:
        """Recover transactions that a crash interrupted; log a warning if no root confines the edits."""
        if self.files.roots.folders == ("/",):
            logger.warning(
                "The edit toolset has no root: every file that this user may write can be edited (--root DIR)"
            )
        await self.runtime.threads.run(self.files.recover)

    def _work(self, call: CallContext, request: EditRequest) -> list[SingleResult]:
        call.read_only = request.dry_run
        call.idempotent = request.is_repeatable

        try:
            return Work(
                self.files,
                request,
                self.settings,
                content_bytes=call.data_limit_bytes,
                warn=call.warn,
            ).run()
        except HashMismatch as error:
            error.next_step = look_step(call.operation, call.params)
            raise
        except FileNotFound as error:
            is_alone = "failures" not in error.details and request.dry_run  # never into another file
            if is_alone and error.file_path is not None and len(error.suggestions) == 1:
                (meant,) = error.suggestions
                error.next_step = respelled_step(call.operation, call.params, error.file_path, meant)
            raise


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
        **_refused_status(error, params),
        **{name: facts[name] for name in _PASSED_ON if facts.get(name)},
    }


def _refused_status(error: ToolError, params: Any) -> dict[str, Any]:
    """Return which edits a refused `old_string` stopped: the faulty ones, and those after them in the same file."""
    if not isinstance(error, (DuplicateOldString, EmptyOldString)):
        return {}
    faulty: dict[str, dict[int, str]] = {}
    reason = "length" if isinstance(error, EmptyOldString) else "value"
    for fault in error.violations:
        if found := _FAULTY_EDIT.match(fault.path):
            is_own = fault.reason == reason and fault.path.endswith(".old_string")
            faulty.setdefault(found[1], {}).setdefault(int(found[2]), error.code if is_own else InvalidParameter.code)
    status: list[dict[str, Any]] = []
    for place, codes in faulty.items():
        file = {}
        if place != "edits":
            path = value_at(params, place.replace("edits", "file_path"))
            file = {"file_index": int(place.split(".")[1]), **({"file_path": path} if isinstance(path, str) else {})}
        status += [{**file, **entry} for entry in status_of_faulty(value_at(params, place), codes)]
    return {"edit_status": status[:LISTED_AT_MOST]} if status else {}


def _repetitions(place: str, edits: Sequence[EditArgument]) -> Iterator[Violation]:
    first: dict[str, int] = {}
    for index, edit in enumerate(edits):
        other = first.setdefault(edit["old_string"], index)
        if other != index:
            message = f"is the same as in edit {other}"
            yield Violation(path=f"{place}.{index}.old_string", reason="value", message=message)


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
