"""Promotion of a document on the disk: one atomic replacement of its file."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

from failsoft.framework.call import CallContext
from failsoft.framework.errors import NextStep, Overloaded, PermissionDenied, ToolError
from failsoft.framework.normalize import normalize
from failsoft.tools.docs.documents.document import decoded
from failsoft.tools.docs.documents.front_matter import read_front_matter
from failsoft.tools.docs.documents.promotion import with_level
from failsoft.tools.docs.errors import ExternalDocsNotPromotable
from failsoft.tools.docs.projects.project import Project, level_of
from failsoft.tools.docs.reading import Asked
from failsoft.tools.docs.results import PromotedDocument
from failsoft.tools.files import FaultTable, FileFault, Files
from failsoft.tools.files.faults import HashMismatch


def promote(
    call: CallContext,
    project: Project,
    item: Asked,
    level: str,
    expected_hash: str | None,
    *,
    state_folder: Path | None,
) -> PromotedDocument:
    """Write the level into the document's front matter, and return what became of it.

    Raises:
        EXTERNAL_DOCS_NOT_PROMOTABLE: It is a document of an external folder.
        HASH_MISMATCH: It is not the document of `expected_hash`, or was changed meanwhile.
        SCHEMA_VALIDATION_FAILED: Its front matter is broken.
        STORAGE_ERROR: The disk is full or read-only.
        PERMISSION_DENIED: The server may not write there.
    """
    if project.is_external(item.path):
        raise ExternalDocsNotPromotable(path=item.path)
    path = "/".join(item.names)
    item.root.read(item.names)  # refuses what is no document
    files = Files(item.root.roots(), state_folder=state_folder)
    try:
        with files.transaction([path]) as work:
            data = work.read(path, bytes_at_most=item.root.document_bytes_at_most).data
            before = hashlib.sha256(data).hexdigest()
            if expected_hash is not None and before != expected_hash:
                raise _changed(item.path)
            text = decoded(item.path, data)
            previous = level_of(read_front_matter(text).data, project.levels)
            written = with_level(item.path, text, level, project.levels).encode()
            if written != data:
                work.replace(path, written)
                call.read_only = False
                work.commit()
    except FileFault as fault:
        raise _ERRORS.to_error(fault, item.path) from fault
    return PromotedDocument(
        path=item.path,
        level=level,
        previous_level=previous,
        sha256=hashlib.sha256(written).hexdigest(),
        changed=written != data,
    )


def _changed(path: str) -> HashMismatch:
    return HashMismatch.of(path, next_step=NextStep("get_documentation", {"path": path}))


def _outside(_: FileFault, path: str) -> ToolError:
    return PermissionDenied(message=f'"{path}" leads out of the documentation root.')


_ERRORS: FaultTable[str] = FaultTable(
    {
        "changed": lambda _, path: _changed(path),
        "outside": _outside,
        "several_names": _outside,
        "locked": lambda _, path: Overloaded(message=f'"{path}" is in use by another call.', retry_after_seconds=1.0),
        "denied": lambda _, path: PermissionDenied(message=f'The server may not write "{path}".'),
    },
    otherwise=lambda fault, _: normalize(OSError(fault.errno or errno.EIO, os.strerror(fault.errno or errno.EIO))),
)
