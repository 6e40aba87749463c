"""Runs a command under the system call filter of a systemd unit: `confined.py UNIT COMMAND...`.

What systemd itself does for `SystemCallFilter`, `RestrictAddressFamilies` and `MemoryDenyWriteExecute`, by the same
library. The caller has dropped the privileges.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ALLOW, ERRNO, EQUAL, MASKED = 0x7FFF0000, 0x00050000, 4, 7
WRITE, EXECUTE = 2, 4
NO_NEW_PRIVILEGES = 38


class Comparison(ctypes.Structure):
    """What an argument of a system call has to be."""

    _fields_ = (("at", ctypes.c_uint), ("how", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


def calls_of(name: str) -> Iterator[str]:
    """Yield the system calls of a set, or the one of this name."""
    if not name.startswith("@"):
        yield name
        return
    command = ["systemd-analyze", "--no-pager", "syscall-filter", name]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines()[1:]:
        if (entry := line.strip()) and not entry.startswith("#"):
            yield from calls_of(entry)


def allowed_calls(unit: str) -> set[str]:
    """Return the system calls that a unit allows."""
    allowed: set[str] = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", unit, re.MULTILINE):
        named = {call for name in line.removeprefix("~").split() for call in calls_of(name)}
        allowed = allowed - named if line.startswith("~") else allowed | named
    return allowed


def conditions_of(call: str, unit: str) -> list[Comparison]:
    """Return what the first or third argument of a system call has to be: one of these, or, if there are none, any."""
    if call == "socket":
        families = re.findall(r"AF_\w+", "".join(re.findall(r"^RestrictAddressFamilies=.*$", unit, re.MULTILINE)))
        return [Comparison(0, EQUAL, getattr(socket, family), 0) for family in families]
    if "MemoryDenyWriteExecute=yes\n" in unit and call == "mmap":
        return [Comparison(2, MASKED, WRITE | EXECUTE, value) for value in (0, WRITE, EXECUTE)]
    if "MemoryDenyWriteExecute=yes\n" in unit and call in {"mprotect", "pkey_mprotect"}:
        return [Comparison(2, MASKED, EXECUTE, 0)]
    return []


def confine(unit: str) -> None:
    """Load the filter; raise if the system refuses."""
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    fault = getattr(errno, re.findall(r"^SystemCallErrorNumber=(\w+)$", unit, re.MULTILINE)[0])
    context = ctypes.c_void_p(library.seccomp_init(ERRNO | fault))
    for call in sorted(allowed_calls(unit)):
        number = library.seccomp_syscall_resolve_name(call.encode())
        if number < 0:  # of another architecture
            continue
        conditions = conditions_of(call, unit)
        for one in conditions:
            assert library.seccomp_rule_add_array(context, ALLOW, number, 1, ctypes.byref(one)) == 0, call
        if not conditions:
            assert library.seccomp_rule_add_array(context, ALLOW, number, 0, None) == 0, call
    assert ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    assert library.seccomp_load(context) == 0


if __name__ == "__main__":
    confine(Path(sys.argv[1]).read_text())
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - the command that was given
