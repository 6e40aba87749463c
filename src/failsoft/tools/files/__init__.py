"""Files on disk: safe paths, atomic writes, locks, and transactions over several files, for any toolset."""

from __future__ import annotations

from failsoft.tools.files.content import Content
from failsoft.tools.files.faults import (
    SPELLING,
    BadSpelling,
    ChangedOnDisk,
    DiskFault,
    FileFault,
    GivenUp,
    LockWaitExceeded,
    NotARegularFile,
    OutsideRoots,
    SameFileTwice,
    SeveralNames,
    SpellingReason,
    Step,
    TooLarge,
    UnfinishedTransaction,
)
from failsoft.tools.files.paths.destination import destination, name_within
from failsoft.tools.files.paths.listing import EntryKind, FolderEntry, listed, similar_files
from failsoft.tools.files.paths.roots import CLOSED_FOLDER, Roots
from failsoft.tools.files.served import name_roots, open_roots
from failsoft.tools.files.transactions.commit import Written
from failsoft.tools.files.transactions.recovering import Recovered
from failsoft.tools.files.transactions.transaction import Files, Transaction

__all__ = [
    "CLOSED_FOLDER",
    "SPELLING",
    "BadSpelling",
    "ChangedOnDisk",
    "Content",
    "DiskFault",
    "EntryKind",
    "FileFault",
    "Files",
    "FolderEntry",
    "GivenUp",
    "LockWaitExceeded",
    "NotARegularFile",
    "OutsideRoots",
    "Recovered",
    "Roots",
    "SameFileTwice",
    "SeveralNames",
    "SpellingReason",
    "Step",
    "TooLarge",
    "Transaction",
    "UnfinishedTransaction",
    "Written",
    "destination",
    "listed",
    "name_roots",
    "name_within",
    "open_roots",
    "similar_files",
]
