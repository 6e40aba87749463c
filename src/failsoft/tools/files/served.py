"""What a toolset shows of its folders: opened, named in its input schemas, listed; and names near a missing one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import near_names
from failsoft.framework.text import quoted
from failsoft.tools.files.faults import FileFault
from failsoft.tools.files.resolving import LIST_FLAGS
from failsoft.tools.files.roots import Roots

SAMPLE_ROOT = "/srv/project"
"""The root in the examples of a schema, which become paths below the first folder that is served."""


def open_roots(root: Path | Sequence[Path] | None, toolset: str, *, relative: bool = False) -> Roots:
    """Return the roots of a toolset.

    Args:
        root: Its folder or folders; the current folder if left out.
        toolset: Its name, for the error.
        relative: Whether paths may be relative to the folder.

    Raises:
        CONFIG_ERROR: A folder does not exist, or is not one.
    """
    folders = [Path.cwd()] if root is None else [root] if isinstance(root, (str, Path)) else list(root)
    try:
        return Roots(folders, relative=relative)
    except OSError as error:
        raise ConfigurationError(
            issue=f"a root folder of the {toolset} toolset cannot be opened",
            resolution=f"name folders that exist, not {error.filename}",
        ) from error


def name_roots(operations: Iterable[BoundOperation], roots: Sequence[Path]) -> None:
    """Complete ` below {root}` in descriptions of parameters, and the root in examples; without roots drop the former.

    Args:
        operations: The operations of one toolset; their schemas are changed in place.
        roots: The folders that it serves.
    """
    below = " below " + " or ".join(quoted(root) for root in roots) if roots else ""
    for bound in operations:
        _complete(bound.input_schema, below, str(roots[0]) if roots else SAMPLE_ROOT)


def _complete(schema: Any, below: str, root: str) -> None:
    if isinstance(schema, list):
        for item in schema:
            _complete(item, below, root)
    elif isinstance(schema, dict):
        if isinstance(description := schema.get("description"), str):
            schema["description"] = description.replace(" below {root}", below)
        if isinstance(examples := schema.get("examples"), list):
            schema["examples"] = [_moved(example, root) for example in examples]
        for keyword, inner in schema.items():
            if keyword not in {"examples", "default", "enum", "const"}:
                _complete(inner, below, root)


def _moved(example: Any, root: str) -> Any:
    is_below = isinstance(example, str) and example.startswith(SAMPLE_ROOT)
    return root.rstrip("/") + example.removeprefix(SAMPLE_ROOT) if is_below else example


_COMPARED_AT_ONCE = 2_000
_SIMILARITY = 75
_FILES_AT_MOST = 20_000
_FOLDERS_AT_MOST = 2_000

EntryKind: TypeAlias = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One name in a folder.

    Args:
        name: As it is on the disk; bytes that are not UTF-8 are replaced.
        kind: `file`, `folder`, `link` or `other`.
        bytes: The size of a file; 0 for everything else.
    """

    name: str
    kind: EntryKind
    bytes: int


def listed(roots: Roots, path: str, *, at_most: int, after: str = "") -> tuple[list[FolderEntry], int]:
    """Return the first names in a folder, sorted, and the number of names; both without those that are off limits.

    Args:
        roots: The allowed folders.
        path: The folder, as the caller wrote it.
        at_most: How many names to return.
        after: Only names that sort after this one, as shown.

    Raises:
        FileFault: It cannot be resolved within the roots.
        FileFault: `not_regular`: It is not a folder; `what` of a regular file is `file`.
        FileFault: The disk: It does not exist (step `find`), or cannot be read.
    """
    with _scanned(roots, path) as (folder, found):
        names = sorted((_shown(one.name), one.name) for one in found)
        later = [name for shown, name in names if shown > after]
        return [_listed(folder, name) for name in later[:at_most]], len(names)


def files_below(roots: Roots) -> tuple[list[str], bool]:
    """Return the files below a folder, and whether these are all. Blocking; call it from a worker thread.

    Git's own folder and what is off limits are left out; links are listed, never followed.

    Args:
        roots: Confined to what is served; paths are relative to it.
    """
    found: list[str] = []
    folders = [""]
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


def similar_files(roots: Roots, path: str, *, kind: EntryKind = "file") -> list[str]:
    """Return up to three files in the folder of a missing one whose names are spelled alike, the closest first.

    They are written as the path is. Empty where the folder cannot be listed.

    Args:
        roots: The allowed folders.
        path: The missing file, as the caller wrote it.
        kind: `folder` for folders instead; links count as both.
    """
    folder, slash, name = path.rpartition("/")
    try:
        names = _names_in(roots, folder or slash or ".", {kind, "link"})
    except FileFault:
        return []
    while len(names) > _COMPARED_AT_ONCE:
        parts = (names[begin : begin + _COMPARED_AT_ONCE] for begin in range(0, len(names), _COMPARED_AT_ONCE))
        names = [near for part in parts for near in near_names(name, part, at_least=_SIMILARITY)]
    return [f"{folder}{slash}{near}" for near in near_names(name, names, at_least=_SIMILARITY)]


def _names_in(roots: Roots, path: str, kinds: set[EntryKind]) -> list[str]:
    """Return the names of some kinds in a folder, sorted; other than a listing, it asks nothing of each file."""
    with _scanned(roots, path) as (_, found):
        return sorted(_shown(one.name) for one in found if _kind_of(one) in kinds)


@contextmanager
def _scanned(roots: Roots, path: str) -> Iterator[tuple[int, Iterator[os.DirEntry[str]]]]:
    """Open a folder; yield its descriptor, and its entries without those that are off limits. Raises as `listed`."""
    with roots.resolve(path) as resolved:
        resolved.require_folder(resolved.require_found())
        try:
            folder = os.open(resolved.name, LIST_FLAGS, dir_fd=resolved.folder)
            try:
                with os.scandir(folder) as found:
                    yield folder, (one for one in found if roots.allows(f"{resolved.real_path}/{one.name}"))
            finally:
                os.close(folder)
        except OSError as error:
            raise FileFault.from_os(error, path, step="read") from error


def _kind_of(entry: os.DirEntry[str]) -> EntryKind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _shown(name: str) -> str:
    return os.fsencode(name).decode(errors="replace")


def _listed(folder: int, name: str) -> FolderEntry:
    shown = _shown(name)
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:  # removed meanwhile
        return FolderEntry(shown, "other", 0)
    if stat.S_ISREG(facts.st_mode):
        return FolderEntry(shown, "file", facts.st_size)
    kind: EntryKind = "folder" if stat.S_ISDIR(facts.st_mode) else "link" if stat.S_ISLNK(facts.st_mode) else "other"
    return FolderEntry(shown, kind, 0)
