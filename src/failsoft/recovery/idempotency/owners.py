"""Owner tokens of keyed calls, and detection of owners whose process has died."""

from __future__ import annotations

import functools
import os
from pathlib import Path


def new_owner() -> str:
    """Return a random token for a new call, with its process."""
    return f"{os.urandom(8).hex()}@{_process(os.getpid())}"


def is_dead(owner: str) -> bool:
    """Return whether the process of an owner ran on this machine and has ended; False if that is unknown.

    Repetitions on the same machine then need not wait until the lease of a killed process expires.
    """
    place, _, process = owner.partition("@")[2].rpartition("/")
    pid, _, started = process.partition("-")
    if not place or place != _machine() or not pid.isdecimal():
        return False
    return _started(int(pid)) != started


@functools.lru_cache(maxsize=4)
def _process(pid: int) -> str:
    machine = _machine()
    return f"{machine}/{pid}-{_started(pid)}" if machine else ""


@functools.cache
def _machine() -> str:
    """Return an id of the current boot and process namespace; empty where unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # not Linux: only the lease counts
        return ""
    return f"{boot}:{namespace}".replace("/", "").replace("@", "")


def _started(pid: int) -> str:
    """Return the start time of a process, since process ids are reused."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:  # no such process
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in {"Z", "X"} else fields[19]
