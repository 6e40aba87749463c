"""Files on disk: safe paths, atomic writes, locks, and transactions over several files, for any toolset."""

from __future__ import annotations

from failsoft.tools.files.commit import Written
from failsoft.tools.files.content import Content
from failsoft.tools.files.faults import (
    BadSpelling,
    ChangedOnDisk,
    DiskFault,
    FileFault,
    GivenUp,
    LockTimeout,
    NotARegularFile,
    OutsideRoots,
    SameFileTwice,
    SeveralNames,
    SpellingReason,
    Step,
    TooLarge,
    UnfinishedTransaction,
)
from failsoft.tools.files.listing import EntryKind, Listed, listed
from failsoft.tools.files.recovering import Recovered
from failsoft.tools.files.roots import Roots
from failsoft.tools.files.transaction import Files, Transaction
from failsoft.tools.files.whereabouts import destination, name_within

__all__ = [
    "BadSpelling",
    "ChangedOnDisk",
    "Content",
    "DiskFault",
    "EntryKind",
    "FileFault",
    "Files",
    "GivenUp",
    "Listed",
    "LockTimeout",
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
    "name_within",
]
