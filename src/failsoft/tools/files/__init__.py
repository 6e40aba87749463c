"""Files on disk: safe paths, atomic writes, locks, and transactions over several files, for any toolset."""

from __future__ import annotations

from failsoft.tools.files.commit import Recovered, Written
from failsoft.tools.files.faults import (
    SPELLING,
    FaultKind,
    FaultTable,
    FileFault,
    Step,
    kind_of,
)
from failsoft.tools.files.reading import Content
from failsoft.tools.files.roots import CLOSED_FOLDER, Roots, name_within
from failsoft.tools.files.served import (
    EntryKind,
    FolderEntry,
    files_below,
    listed,
    name_roots,
    open_roots,
    similar_files,
)
from failsoft.tools.files.transactions import Files, Transaction

__all__ = [
    "CLOSED_FOLDER",
    "SPELLING",
    "Content",
    "EntryKind",
    "FaultKind",
    "FaultTable",
    "FileFault",
    "Files",
    "FolderEntry",
    "Recovered",
    "Roots",
    "Step",
    "Transaction",
    "Written",
    "files_below",
    "kind_of",
    "listed",
    "name_roots",
    "name_within",
    "open_roots",
    "similar_files",
]
