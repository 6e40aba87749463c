"""What the tests of the toolset share: a folder to edit in, calls as a server makes them, and well-formed answers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from failsoft import Runtime
from failsoft.tools.edit import Edit
from tests.doors import CallScope
from tests.framework.wellformed import check_wellformed
from tests.tools.chosen import chosen

__all__ = ["Desk", "change"]


def change(old: str, new: str, **more: Any) -> dict[str, Any]:
    """Return one edit as a client sends it."""
    return {"old_string": old, "new_string": new, **more}


@dataclass(frozen=True)
class Desk:
    """A folder, and the state folder of the servers that edit in it."""

    root: Path
    state: Path

    def tool(self, **settings: Any) -> Edit:
        """Return a toolset with these settings."""
        general, own = chosen(Edit, settings)
        return Edit(self.root, runtime=Runtime(settings=general), settings=own, state_folder=self.state)

    def file(self, name: str = "a.txt", content: str | bytes = "one\ntwo\nthree\n") -> Path:
        """Write a file and return it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def call(self, operation: str, params: Any, *, tool: Edit | None = None, **scope: Any) -> dict[str, Any]:
        """Return the answer to one call, after every check that a client could make."""
        tool = tool or self.tool()

        async def run() -> dict[str, Any]:
            bound = tool.operations[operation]
            response = await bound.call(params, CallScope(max_response_bytes=1_000_000, toolbox=tool.toolbox, **scope))
            return check_wellformed(response, bound)

        return asyncio.run(run())

    def edit(self, path: Path | str, *edits: dict[str, Any], tool: Edit | None = None, **more: Any) -> dict[str, Any]:
        """Return the answer to `multi_edit`."""
        return self.call("multi_edit", {"file_path": str(path), "edits": list(edits), **more}, tool=tool)

    def edit_files(self, *files: tuple[Path | str, list[Any]], tool: Edit | None = None, **more: Any) -> dict[str, Any]:
        """Return the answer to `multi_edit_files`."""
        listed = [{"file_path": str(path), "edits": edits} for path, edits in files]
        return self.call("multi_edit_files", {"files": listed, **more}, tool=tool)
