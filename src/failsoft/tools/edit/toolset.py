"""The edit toolset: exact replacements in one or several text files, all or none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from failsoft.framework.call import CallContext
from failsoft.framework.call.operation import operation
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import NextStep, ToolError
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.text import bounded
from failsoft.tools.edit.signatures import (
    Backup,
    DryRun,
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
from failsoft.tools.files import CLOSED_FOLDER, Files as FilesOnDisk, Roots, name_roots, open_roots
from failsoft.tools.files.faults import FileNotFound, HashMismatch

_PLACE = re.compile(r"(?:files\.(?P<file>\d{1,9}))?\.?(?:edits\.(?P<edit>\d{1,9}))?")
_PATH_AT_MOST = 4096
_PASSED_ON = ("backup_path", "edit_status", "failures")
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
        served = Roots.anywhere(off_limits=_KERNEL) if root is None else open_roots(root, self.name)
        roots = served.closing(CLOSED_FOLDER)
        self.files = FilesOnDisk(
            roots, state_folder=state_folder, several_names=self.settings.hard_links or roots.folders == ("/",)
        )
        self.roots = tuple(map(Path, self.files.roots.folders))

    def bind_operations(self) -> None:
        """Bind every operation; schemas name the folders that are served."""
        super().bind_operations()
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

        def report(done: int, total: int) -> None:
            if request.is_several:
                call.report_progress(done, total)

        try:
            return Work(
                self.files,
                request,
                self.settings,
                content_bytes=call.data_limit_bytes,
                warn=call.warn,
                report=report,
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
