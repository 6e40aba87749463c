"""The files of a workspace, listed folder by folder within fixed limits."""

from __future__ import annotations

from failsoft.tools.files import FileFault, Roots, listed

_FILES_AT_MOST = 20_000
_FOLDERS_AT_MOST = 2_000


def files_below(roots: Roots, folder: str = "") -> tuple[list[str], bool]:
    """Return the files below a folder, and whether these are all. Blocking; call it from a worker thread.

    Git's own folder and what is off limits are left out; links are listed, never followed.

    Args:
        roots: Confined to the workspace.
        folder: The folder relative to the workspace, empty for all of it; paths are relative to the workspace too.
    """
    found: list[str] = []
    folders = [folder]
    for count, current in enumerate(folders):
        if count == _FOLDERS_AT_MOST or len(found) >= _FILES_AT_MOST:
            return found[:_FILES_AT_MOST], False
        try:
            entries, _ = listed(roots, current or ".", at_most=_FILES_AT_MOST)
        except FileFault:  # it may not be read, or was removed meanwhile
            continue
        prefix = f"{current}/" if current else ""
        found += [f"{prefix}{entry.name}" for entry in entries if entry.kind in {"file", "link"}]
        folders += [f"{prefix}{entry.name}" for entry in entries if entry.kind == "folder" and entry.name != ".git"]
    return found, True
