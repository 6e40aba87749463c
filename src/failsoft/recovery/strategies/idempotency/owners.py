"""Owner tokens of keyed calls, and detection of owners whose process has died."""

from __future__ import annotations

import functools
import os
from pathlib import Path

__all__ = ["is_dead", "new_owner"]


def new_owner() -> str:
    """Return a token of a new call: random, with the process that it runs in."""
    return f"{os.urandom(8).hex()}@{_process(os.getpid())}"


def is_dead(owner: str) -> bool:
    """Return whether the process of an owner ran on this machine and has ended; False if nothing is known of it.

    On a machine that crashed or killed a process, its calls need not wait for the end of its lease.
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
    """Return what a boot of this machine and this namespace of processes have for a name; empty where unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:  # another system than Linux: the lease alone tells
        return ""
    return f"{boot}:{namespace}".replace("/", "").replace("@", "")


def _started(pid: int) -> str:
    """Return when a process was started, so that another one of the same number is not taken for it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:  # there is no such process
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in {"Z", "X"} else fields[19]
