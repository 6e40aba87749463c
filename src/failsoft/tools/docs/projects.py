"""The activated projects, and the selection of the one for a call."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from failsoft.framework.call import NO_SCOPE
from failsoft.framework.call.call import Call
from failsoft.framework.errors import (
    ConfigurationError,
    DocumentLoadError,
    InvalidParameter,
    NextStep,
    PermissionDenied,
    ToolError,
)
from failsoft.framework.errors.corrections import slip_of
from failsoft.framework.errors.violations import Violation
from failsoft.framework.safe.principals import LOCAL_PRINCIPAL
from failsoft.framework.state.records import Records
from failsoft.framework.text import quoted
from failsoft.tools.docs.config import ProjectConfig, misconfigured, parse_config
from failsoft.tools.docs.doc_types import DocTypes
from failsoft.tools.docs.documents.root import ENTRIES_AT_MOST, DocumentRoot
from failsoft.tools.docs.errors import ProjectNotActivated
from failsoft.tools.docs.project import ExternalFolder, Project, index_options
from failsoft.tools.docs.search.database import PostgresDatabase
from failsoft.tools.docs.search.index import DocumentIndex, IndexOptions
from failsoft.tools.files import FileFault, Roots
from failsoft.tools.files.reading import read

DEFAULT_HANDLE = "default"
"""The handle of the implicit project of a server's root."""
_CONFIG_BYTES_AT_MOST = 1_000_000
_KEEP_S = 30 * 24 * 3600.0
_FOLDERS_LOOKED_INTO = 500
_DEPTH_LOOKED_INTO = 4
_CANDIDATES_AT_MOST = 3
_CANDIDATE_BYTES_AT_MOST = 64_000
_CANDIDATES_BYTES_AT_MOST = 1_000_000
_NO_FILE = "it is no regular file of at most 1 MB"


class Projects:
    """The projects of one toolset. Handles outlive the process where the state store does.

    Args:
        base: The folder below which every path of a configuration lies.
        cache_dir: Where indexes are kept.
        document_bytes_at_most: The size above which a document is not read.
        is_implicit: Whether the base itself is a project, for calls that name none.
        hard_links: Whether documents may have several names.
        entries_at_most: How many documents, folders and links each folder of documents may have.
        database: Keeps the indexes in place of files.
    """

    def __init__(
        self,
        base: Path,
        *,
        cache_dir: Path | None,
        document_bytes_at_most: int,
        is_implicit: bool,
        hard_links: bool = True,
        entries_at_most: int = ENTRIES_AT_MOST,
        database: PostgresDatabase | None = None,
    ) -> None:
        self.base = base
        self._bounds: dict[str, Any] = {
            "document_bytes_at_most": document_bytes_at_most,
            "hard_links": hard_links,
            "entries_at_most": entries_at_most,
        }
        self._roots = Roots([base], relative=True)
        self._cache_dir = cache_dir
        self._database = database
        self._turn = threading.Lock()
        self._active: dict[str, Project] = {}
        self._config_paths: dict[str, str] = {}
        self._last: str | None = None
        self.implicit = self._implicit() if is_implicit else None
        """The project of the base, or None."""

    async def activate(self, call: Call, config_path: str) -> Project:
        """Return the project of a config.json, read anew, and make it this process's current one.

        Raises:
            INVALID_PARAM: There is no such file; with the closest one.
            PERMISSION_DENIED: The file, or a folder that it names, lies outside the base.
            CONFIG_ERROR: The configuration is faulty.
            STORAGE_ERROR and others of the state store: Its handle cannot be kept, so it would be one process's own.
            DOC_LOAD_ERROR: The file cannot be read.
        """
        where, config = await call.bound.threads.run(lambda: self._load(config_path))
        handle = await self._handle(_records(call), where, config)
        project = await call.bound.threads.run(lambda: self._open(handle, where, config))
        if call.principal == LOCAL_PRINCIPAL or call.scope is NO_SCOPE:
            self._last = handle
        return project

    async def of(self, call: Call, handle: str | None) -> Project:
        """Return the project of a call.

        Args:
            call: The call.
            handle: As the caller named it. Left out, the only client of a server means the project activated last,
                any other the project of the root.

        Raises:
            PROJECT_NOT_ACTIVATED: There is none.
        """
        found = self.current(call, handle)
        if found is None and handle is not None:
            found = await self._activated_elsewhere(call, handle)
        if found is None:
            raise await call.bound.threads.run(lambda: self.not_activated(handle))
        return found

    def current(self, call: Call, handle: str | None) -> Project | None:
        """Return the project of a call, if this process knows it already; see `of`."""
        if handle is None:
            is_alone = call.principal == LOCAL_PRINCIPAL or call.scope is NO_SCOPE
            last = self._active.get(self._last or "") if is_alone else None
            return last or self.implicit
        return self.implicit if handle == DEFAULT_HANDLE and self.implicit else self._active.get(handle)

    def all(self) -> list[Project]:
        """Return the projects that this process knows, the implicit one first."""
        return [item for item in (self.implicit, *self._active.values()) if item is not None]

    def close(self) -> None:
        """Close every index."""
        for project in self.all():
            project.close()

    def not_activated(self, handle: str | None) -> ProjectNotActivated:
        """Return the error, with the activation that helps where there is one configuration to choose."""
        found = list(self._configurations())
        error = ProjectNotActivated() if handle is None else ProjectNotActivated(message=_unknown(handle, self._active))
        if len(found) == 1:
            error.next_step = NextStep("activate_project", {"config_path": found[0]})
        else:
            error.suggestions = tuple(found[:_CANDIDATES_AT_MOST])
        return error

    def _implicit(self) -> Project:
        config = ProjectConfig.model_construct(name=self.base.name or DEFAULT_HANDLE, docs_root=".")
        root = DocumentRoot(self.base, **self._bounds)
        index = self._index(root, index_options(config, DocTypes()))
        return Project(DEFAULT_HANDLE, config, root, index)

    def _index(self, root: DocumentRoot, options: IndexOptions | None = None) -> DocumentIndex:
        return DocumentIndex(root, cache_dir=self._cache_dir, options=options, database=self._database)

    async def _handle(self, store: Records, where: str, config: ProjectConfig) -> str:
        """Return the project's handle: its name, or with a suffix where another configuration has that name."""
        slug = re.sub(r"[^a-z0-9]+", "-", config.name.casefold()).strip("-")[:48] or "project"
        if slug != DEFAULT_HANDLE:
            kept = {"config_path": where}
            if await store.put(self._key(slug), kept, _KEEP_S, only_if_absent=True):
                return slug
            if await store.get(self._key(slug)) == kept:
                return slug
        handle = f"{slug}-{hashlib.sha256(where.encode()).hexdigest()[:6]}"
        await store.put(self._key(handle), {"config_path": where}, _KEEP_S)
        return handle

    def _key(self, handle: str) -> str:
        base = hashlib.sha256(os.fsencode(os.path.realpath(self.base))).hexdigest()[:16]
        return f"docs-project:{base}/{handle}"

    async def _activated_elsewhere(self, call: Call, handle: str) -> Project | None:
        """Return a project that another worker, or this server before its restart, activated."""
        if len(handle) > 64:  # noqa: PLR2004 - no handle is longer
            return None
        try:
            kept = await _records(call).get(self._key(handle))
            if not isinstance(kept, dict):
                return None
            where = str(kept["config_path"])
            _, config = await call.bound.threads.run(lambda: self._load(where))
            return await call.bound.threads.run(lambda: self._open(handle, where, config))
        except ToolError:
            return None

    def _load(self, config_path: str) -> tuple[str, ProjectConfig]:
        """Return where a configuration lies, relative to the base, and what it says."""
        real, data = self._read(config_path, "config_path")
        where = os.path.relpath(real, os.path.realpath(self.base))
        return where, parse_config(where, data)

    def _open(self, handle: str, where: str, config: ProjectConfig) -> Project:
        """Return the project, with the indexes of the one before it where they are configured alike."""
        folder = os.path.dirname(where)  # noqa: PTH120 - paths of a configuration are text until they are resolved
        schemas = {
            item.name: self._schema(os.path.join(folder, given)) if isinstance(given, str) else given  # noqa: PTH118 - the same
            for item in config.doc_types
            for given in (item.front_matter,)
        }
        types = DocTypes.from_config(config.doc_types, schemas)
        root = self._folder(folder, config.docs_root, "docs_root")
        external = tuple(
            ExternalFolder(item.name, place, self._index(place))
            for item in config.external
            for place in (self._folder(folder, item.path, "external_docs"),)
        )
        project = Project(handle, config, root, self._index(root, index_options(config, types)), types, external)
        with self._turn:
            before, self._active[handle] = self._active.get(handle), project
        if before is not None:
            before.close()
        return project

    def _schema(self, path: str) -> Any:
        try:
            _, data = self._read(path, "")
        except ToolError as error:
            raise ConfigurationError(issue=f"the schema file {quoted(path)} cannot be read") from error
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(issue=f"the schema file {quoted(path)} is not JSON") from error

    def _folder(self, folder: str, path: str, key: str) -> DocumentRoot:
        if "\0" in path:
            issue = f"`{key}` names {quoted(path)}, which is no path"
            raise misconfigured(issue)
        real = os.path.realpath(os.path.join(self.base, folder, path))  # noqa: PTH118 - an absolute path replaces the base, and is judged below
        base = os.path.realpath(self.base)
        if real != base and not real.startswith(base.rstrip("/") + "/"):
            raise PermissionDenied(message=f"{quoted(path)} (`{key}`) lies outside the folder that this server serves.")
        if not Path(real).is_dir():
            issue = f"`{key}` names {quoted(path)}, which is no folder"
            raise misconfigured(issue)
        return DocumentRoot(Path(real), below=self.base, **self._bounds)

    def _read(self, path: str, parameter: str) -> tuple[str, bytes]:
        """Return the real path and the bytes of a file below the base."""
        spelled = os.path.normpath(os.path.join(self.base, path))  # noqa: PTH118 - judged by its spelling before anything is opened
        try:
            with self._roots.resolve(spelled) as place:
                return place.real_path, read(place, bytes_at_most=_CONFIG_BYTES_AT_MOST).data
        except FileFault as fault:
            if fault.is_outside:
                raise PermissionDenied(
                    message=f"{quoted(path)} lies outside the folder that this server serves."
                ) from fault
            if parameter and (fault.step == "find" or fault.facts.get("what") == "folder" or "\0" in path):
                raise self._no_config(path, parameter) from fault
            raise DocumentLoadError(path=path, reason=fault.os_reason or _NO_FILE) from fault
        except ValueError as fault:
            raise DocumentLoadError(path=path, reason=_NO_FILE) from fault

    def _no_config(self, path: str, parameter: str) -> InvalidParameter:
        found = tuple(self._configurations())
        within = os.path.normpath(os.path.join(path, "config.json"))  # noqa: PTH118 - text
        meant = within if within in found else slip_of(path, found)
        fault = Violation(
            path=parameter,
            reason="reference",
            message=f"no file {quoted(path, 80)}",
            expected="path of a config.json",
            allowed=found,
            suggestion=meant,
        )
        error = InvalidParameter.from_violations([fault])
        if meant is not None and parameter == "config_path":  # to activate a project changes no file
            error.next_step = NextStep("activate_project", {"config_path": meant})
        return error

    def _configurations(self) -> Iterator[str]:
        """Yield the configurations of projects below the base, the first few folders of it."""
        looked_into = read_bytes = 0
        for folder, folders, files in os.walk(self.base):
            depth = os.path.relpath(folder, self.base).count(os.sep)
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
            if depth >= _DEPTH_LOOKED_INTO - 1:
                folders[:] = []
            looked_into += 1
            if looked_into > _FOLDERS_LOOKED_INTO:
                return
            if "config.json" in files:
                path = os.path.relpath(os.path.join(folder, "config.json"), self.base)  # noqa: PTH118 - as os.walk gives it
                try:
                    size = Path(folder, "config.json").stat().st_size
                    if size > _CANDIDATE_BYTES_AT_MOST or (read_bytes := read_bytes + size) > _CANDIDATES_BYTES_AT_MOST:
                        continue
                    self._load(path)
                except (ToolError, OSError):
                    continue
                yield path


def _unknown(handle: str, active: dict[str, Project]) -> str:
    known = ", ".join(quoted(name, 64) for name in list(active)[:_CANDIDATES_AT_MOST])
    said = f"; active: {known}" if known else ""
    return f"No project {quoted(handle, 64)} is active{said}. Call `activate_project` with the path of its config.json."


def _records(call: Call) -> Records:
    """Return the durable records of a call's toolset."""
    return call.bound.tool.runtime.state.records(call.bound.tool)
