"""The edit toolset: several replacements in a text file, or in many, all of them or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loguru import logger

from failsoft.framework.context import CallContext
from failsoft.framework.errors import ConfigurationError, ToolError
from failsoft.framework.operation import operation
from failsoft.framework.runtime import Runtime
from failsoft.framework.tool import BaseTool
from failsoft.tools.edit.arguments import Backup, DryRun, Edits, ExpectedHash, FilePath, Files, text_edits
from failsoft.tools.edit.errors import HashMismatch
from failsoft.tools.edit.request import FileRequest, Request, look_step, place_of
from failsoft.tools.edit.results import FilesResult, SingleResult
from failsoft.tools.edit.wording import message_of_all
from failsoft.tools.edit.work import Work
from failsoft.tools.files import FileFault, Files as FilesOnDisk, Roots

__all__ = ["Edit"]

_KERNEL = (Path("/proc"), Path("/sys"))
"""No files: what is shown there may be the server's own secrets, and what is written there reconfigures the machine."""


class Edit(BaseTool):
    """Exact replacements in text files, one or many at once: all edits of a call are made, or none.

    Args:
        root: The folder, or the folders, outside of which nothing is touched; left out, every absolute path goes.
        runtime: The surroundings of its calls; its settings hold the limits (`FAILSOFT_EDIT_...`).
        state_folder: Where locks and journals are kept; all servers that edit the same files need the same one.

    Raises:
        CONFIG_ERROR: A folder does not exist.
    """

    name = "edit"
    wire_format = "edit_envelope"
    takes_several_roots = True

    def __init__(
        self,
        root: Path | Sequence[Path] | None = None,
        *,
        runtime: Runtime | None = None,
        state_folder: Path | None = None,
    ) -> None:
        super().__init__(runtime=runtime)
        self.files = FilesOnDisk(_roots(root), state_folder=state_folder)
        self.roots = tuple(map(Path, self.files.roots.folders))

    @operation(destructive=True, open_world=False, title="Edit a file")
    def multi_edit(
        self,
        call: CallContext,
        file_path: FilePath,
        edits: Edits,
        dry_run: DryRun = False,  # noqa: FBT002 - arguments of a tool have names
        backup: Backup = False,  # noqa: FBT002 - the same
        expected_hash: ExpectedHash = None,
    ) -> SingleResult:
        """Replace exact pieces of text in one UTF-8 file: all edits are applied in order, or nothing is changed.

        Each old_string must match exactly one place unless replace_all is set. The answer has the new sha256: pass it
        as expected_hash of the next call, so that nothing is edited that changed in between or was edited already.
        """
        file = FileRequest(file_path, text_edits(edits), expected_hash)
        (result,) = self._work(call, Request((file,), is_several=False, dry_run=dry_run, backup=backup))
        return result

    @operation(destructive=True, open_world=False, title="Edit several files")
    def multi_edit_files(
        self,
        call: CallContext,
        files: Files,
        dry_run: DryRun = False,  # noqa: FBT002 - arguments of a tool have names
        backup: Backup = False,  # noqa: FBT002 - the same
    ) -> FilesResult:
        """Replace exact pieces of text in several UTF-8 files in one transaction: all files are changed, or none.

        Works as multi_edit does for each file, with expected_hash for each.
        """
        wanted = tuple(
            FileRequest(file["file_path"], text_edits(file["edits"]), file.get("expected_hash")) for file in files
        )
        results = self._work(call, Request(wanted, is_several=True, dry_run=dry_run, backup=backup))
        edits = sum(result["edits_applied"] for result in results)
        replacements = sum(result["replacements"] for result in results)
        return {
            "files": [{"success": True, **result} for result in results],
            "edits_applied": edits,
            "replacements": replacements,
            "message": message_of_all(len(results), edits, replacements, dry_run=dry_run),
        }

    def failure_facts(self, error: ToolError, call: CallContext) -> Mapping[str, Any]:
        """Return the file and the edit that a failure is about."""
        return place_of(error, call.params)

    async def startup(self) -> None:
        """Finish or undo what a crash left half done; say so in the log if nothing confines the edits."""
        if self.files.roots.folders == ("/",):
            logger.warning(
                "The edit toolset has no root: every file that this user may write can be edited (--root DIR)"
            )
        await self.runtime.threads.run(self._recover)

    def _work(self, call: CallContext, request: Request) -> list[SingleResult]:
        call.read_only = request.dry_run
        call.idempotent = request.is_repeatable

        def report(done: int, total: int) -> None:
            if request.is_several:
                call.report_progress(done, total)

        try:
            return Work(self.files, request, self.runtime.settings, warn=call.warn, report=report).run()
        except HashMismatch as error:
            error.next_step = look_step(call.operation, call.params)
            raise

    def _recover(self) -> None:
        try:
            self.files.recover()
        except FileFault as fault:
            logger.opt(exception=fault).warning("What a crash may have left could not be looked at")


def _roots(root: Path | Sequence[Path] | None) -> Roots:
    if root is None:
        return Roots.anywhere(off_limits=_KERNEL)
    folders = [root] if isinstance(root, (str, Path)) else list(root)
    try:
        return Roots(folders)
    except OSError as error:
        raise ConfigurationError(
            issue="a folder that should be edited in cannot be opened",
            resolution=f"name folders that exist, not {error.filename}",
        ) from error
