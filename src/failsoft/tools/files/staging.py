"""`StagedFile`: one file of a transaction: staging, backup, rename, rollback and clean-up.

Temporary files are in the same folder, since only a rename within one file system is atomic. Each step is idempotent,
so that recovery can repeat it: it inspects the disk to see whether it was done before. Whatever the operating system
refuses is a `FileFault` of that step.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from failsoft.tools.files.exchange import replaced
from failsoft.tools.files.faults import FileFault, Step
from failsoft.tools.files.journal import JournalEntry
from failsoft.tools.files.reading import Content, Identity, holds, identity_of, sha256_of
from failsoft.tools.files.resolving import ResolvedPath

State: TypeAlias = Literal["todo", "done", "foreign", "lost"]
"""Not replaced yet; replaced; changed by another program; not replaced, and the staged content is missing or torn."""

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_EXISTING = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NO_LINKS = frozenset({errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""Errors of file systems without hard links, and of the kernel's `protected_hardlinks`."""
_NOT_COPIED = frozenset({"security.capability", "security.ima", "security.evm"})
"""They certify the content; the kernel removes them on every write, too."""
_SERIOUS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})


class StagedFile:
    """One file of a transaction.

    Args:
        resolved: Where it is.
        entry: Its entry in the journal.
        before: Its content when it was read; None for a new file. Recovery has its hash only, in the entry.
        data: The complete new content; recovery has its hash only.
    """

    def __init__(
        self, resolved: ResolvedPath, entry: JournalEntry, *, before: Content | None = None, data: bytes = b""
    ) -> None:
        self.resolved = resolved
        self.entry = entry
        self.before = before
        self.data = data
        self.backup_name: str | None = None
        self.staged: Identity | None = None
        """The identity of the staged file, which the file has after the rename."""
        self.is_in_place = False
        """Whether this process has renamed it into place."""

    @property
    def is_changed(self) -> bool:
        """Whether the new content differs from the old one."""
        return self.before is None or self.before.data != self.data

    @property
    def backup_path(self) -> str | None:
        """The path of the backup that this process made; None without one."""
        return None if self.backup_name is None else str(Path(self.resolved.real_folder) / self.backup_name)

    def stage(self) -> None:
        """Write the new content to a temporary file, durably and with the mode and owner of the file.

        Raises:
            FileFault: The disk: Step `stage`; also if this user may not write the file, although the folder allows it.
            FileFault: `changed`: The file is not what was read.
            FileFault: `outside`: It is a protected file of the server.
        """
        self.resolved.require_unprotected()
        self.require_unchanged(thoroughly=False)
        with self._doing("stage"):
            if self.before is None:
                self.staged = self._write(self.entry.staged, self.data, None)
                return
            with self._source(self.before, os.O_RDWR) as source:
                self.staged = self._write(self.entry.staged, self.data, source)

    def keep_old(self) -> None:
        """Keep the old content for a rollback, as a hard link or a copy.

        Raises:
            FileFault: `changed`: The file is not what was read.
        """
        if (before := self.before) is None or self.entry.is_alone:
            return
        with self._doing("stage"):
            try:
                self._link(self.resolved.name, self.entry.kept)
            except OSError as error:
                if error.errno == errno.ENOENT and self.resolved.facts() is not None:
                    raise FileFault(self.resolved.path, "changed") from error  # replaced while it was linked
                if error.errno not in _NO_LINKS:
                    raise
                self._copy(before, self.entry.kept)
            else:
                if identity_of(self._stat(self.entry.kept)) != before.identity:
                    raise FileFault(self.resolved.path, "changed")

    def back_up(self) -> None:
        """Keep the old content under the first free name of `<file>.bak`, `<file>.bak.1`, ..."""
        if (before := self.before) is None or not self.entry.backup:
            return
        with self._doing("backup"):
            self._copy(before, self.entry.spare)
            for name in self._backup_names():
                self.resolved.require_unprotected(name)
                try:
                    self._add(self.entry.spare, name)
                except FileExistsError:
                    continue
                self.backup_name = name
                return

    def require_unchanged(self, *, thoroughly: bool) -> None:
        """Raise unless the file is what was read.

        Args:
            thoroughly: Compare the bytes, too: a file may be written twice within the resolution of its time stamp.

        Raises:
            FileFault: `changed`: It is not.
            FileFault: The disk: Step `rename`: there is a file where none was; or the disk fails.
        """
        before, facts = self.before, self.resolved.facts()
        if before is None:
            if facts is not None:
                raise FileFault.from_os(errno.EEXIST, self.resolved.path, step="rename")
        elif facts is None or identity_of(facts) != before.identity:
            raise FileFault(self.resolved.path, "changed")
        elif thoroughly:
            with self._doing("read"), self._opened(self.resolved.name, os.O_RDONLY) as file:
                if not holds(file, before.data):
                    raise FileFault(self.resolved.path, "changed")

    def rename_into_place(self) -> bool:
        """Rename the staged content to the file; return False if another program changed it, which then stays."""
        self.resolved.require_unprotected()
        with self._doing("rename"):
            if self.entry.before is None:
                self._add(self.entry.staged, self.resolved.name)
                self.is_in_place = True
            elif self.before is None:
                self.is_in_place = self._replace(self.entry.staged, self.entry.before)
            else:
                self.is_in_place = self._replaced(self.entry.staged, self.before.identity)
        return self.is_in_place

    def state(self) -> State:
        """Return the state of this file on the disk."""
        with self._doing("read"):
            now = self._hash(self.resolved.name)
            staged = self._hash(self.entry.staged)
            if self.entry.before is None and None not in {now, staged} and not self._is_same(self.entry.staged):
                return "foreign"  # another file, even if its content is the same
        if now == self.entry.after:
            return "done"
        if now != self.entry.before:
            return "foreign"
        return "todo" if staged == self.entry.after else "lost"

    def roll_back(self) -> bool:
        """Restore the old content, if `state` was `done`; return False if that is impossible."""
        self.resolved.require_unprotected()
        with self._doing("rename"):
            if self.entry.before is None:
                self._remove(self.resolved.name)
                return True
            is_kept = self._hash(self.entry.kept) == self.entry.before
            return is_kept and self._replace(self.entry.kept, self.entry.after)

    def remove_staged(self) -> None:
        """Remove the staged content: from now on recovery can only roll back."""
        with self._doing("rename"):
            self._remove(self.entry.staged)

    def remove_backup(self) -> None:
        """Remove the backup of this transaction, and no other."""
        with self._doing("backup"):
            if self.backup_name is not None:
                self._remove(self.backup_name)
            elif self.entry.backup and (spare := self._facts(self.entry.spare)) is not None:
                for name in self._backup_names():
                    facts = self._facts(name)
                    if facts is None:
                        break
                    if os.path.samestat(facts, spare):
                        self._remove(name)

    def remove_temporaries(self) -> None:
        """Remove all temporary files."""
        with self._doing("rename"):
            for name in (self.entry.staged, self.entry.kept, self.entry.spare):
                self._remove(name)

    def _backup_names(self) -> Iterator[str]:
        yield f"{self.resolved.name}.bak"
        yield from (f"{self.resolved.name}.bak.{number}" for number in itertools.count(1))

    def _copy(self, before: Content, name: str) -> None:
        with self._source(before, os.O_RDONLY) as source:
            self._write(name, before.data, source)

    def _write(self, name: str, data: bytes, source: int | None) -> Identity:
        """Write a new file, durable, and return its identity.

        Other users cannot open it before it has its final mode.
        """
        file = os.open(name, _NEW, 0o600 if source is not None else 0o666, dir_fd=self.resolved.folder)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(file, left) :]
            if source is not None:
                copy_metadata(source, file)
            os.fsync(file)
            return identity_of(os.fstat(file))
        finally:
            os.close(file)

    def _add(self, source: str, target: str) -> None:
        """Link a file to a new name, or rename it where hard links are unsupported; never replaces a file."""
        try:
            self._link(source, target)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            os.close(os.open(target, _NEW, 0o600, dir_fd=self.resolved.folder))
            try:
                self._rename(source, target)
            except OSError:
                self._remove(target)
                raise

    def _link(self, source: str, target: str) -> None:
        folder = self.resolved.folder
        os.link(source, target, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)

    def _replace(self, source: str, present: str) -> bool:
        """Rename a file to the name of this one if that has the present hash; return whether it had."""
        identity = identity_of(self._stat(self.resolved.name))
        return self._hash(self.resolved.name) == present and self._replaced(source, identity)

    def _replaced(self, source: str, expected: Identity) -> bool:
        return replaced(self.resolved.folder, source, self.resolved.name, expected)

    def _rename(self, source: str, target: str) -> None:
        os.rename(source, target, src_dir_fd=self.resolved.folder, dst_dir_fd=self.resolved.folder)

    def _remove(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self.resolved.folder)
        except OSError:
            if self._facts(name) is not None:  # a read-only disk also refuses to remove a missing file
                raise

    def _stat(self, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self.resolved.folder, follow_symlinks=False)

    def _is_same(self, name: str) -> bool:
        return os.path.samestat(self._stat(name), self._stat(self.resolved.name))

    def _facts(self, name: str) -> os.stat_result | None:
        try:
            return self._stat(name)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENAMETOOLONG}:  # no file can have a name that is too long
                return None
            raise

    def _hash(self, name: str) -> str | None:
        """Return the hash of a file, None if it does not exist; a placeholder if it cannot be one of the two."""
        facts = self._facts(name)
        if facts is None:
            return None
        if not stat.S_ISREG(facts.st_mode) or facts.st_size not in self.entry.sizes:
            return "another file"
        with self._opened(name, os.O_RDONLY) as file:
            return sha256_of(file, facts.st_size)

    @contextmanager
    def _opened(self, name: str, flags: int) -> Iterator[int]:
        file = os.open(name, flags | _EXISTING, dir_fd=self.resolved.folder)
        try:
            yield file
        finally:
            os.close(file)

    @contextmanager
    def _source(self, before: Content, flags: int) -> Iterator[int]:
        """Open the file for its metadata; raise if it is not what was read."""
        with self._opened(self.resolved.name, flags) as source:
            if identity_of(os.fstat(source)) != before.identity:
                raise FileFault(self.resolved.path, "changed")
            yield source

    @contextmanager
    def _doing(self, step: Step) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise FileFault.from_os(error, self.resolved.path, step=step) from error


def copy_metadata(source: int, target: int) -> None:
    """Copy the metadata of the open file `source` to the open file `target`, as far as permitted.

    The mode is set last, since a change of owner clears its set-id bits; without the same owner they are not set.

    Raises:
        OSError: Not even the mode can be set, or the disk fails.
    """
    facts = os.fstat(source)
    is_same_owner = _copy_owner(facts, target)
    _copy_attributes(source, target)
    mode = stat.S_IMODE(facts.st_mode)
    os.fchmod(target, mode if is_same_owner else mode & ~(stat.S_ISUID | stat.S_ISGID))


def _copy_owner(facts: os.stat_result, target: int) -> bool:
    wanted = (facts.st_uid, facts.st_gid)
    for owner in (facts.st_uid, -1):
        now = os.fstat(target)
        if (now.st_uid, now.st_gid) == wanted:
            break
        with contextlib.suppress(PermissionError):
            os.fchown(target, owner, facts.st_gid)
    now = os.fstat(target)
    return (now.st_uid, now.st_gid) == wanted


def _copy_attributes(source: int, target: int) -> None:
    """Copy the permitted attributes, and remove those that `target` inherited from its folder (access lists)."""
    if not hasattr(os, "listxattr"):
        return
    wanted = _attributes(source)
    for name in _attributes(target) - wanted:
        with _where_permitted():
            os.removexattr(target, name)
    for name in sorted(wanted - _NOT_COPIED):
        with _where_permitted():
            os.setxattr(target, name, os.getxattr(source, name))


def _attributes(file: int) -> set[str]:
    found: set[str] = set()
    with _where_permitted():
        found.update(os.listxattr(file))
    return found


@contextmanager
def _where_permitted() -> Iterator[None]:
    """Ignore missing permission and unsupported attributes, but not a full or failing disk."""
    try:
        yield
    except OSError as error:
        if error.errno in _SERIOUS:
            raise
