"""A script that runs one command with limits, ends whatever it leaves behind, and writes how it ended to a descriptor.

    python -I -S supervisor.py LIMITS PROGRAM [ARGUMENT ...]

On Linux it is the subreaper of the command: a process that leaves its session becomes a child of this script when its
parent ends, and so is found. SIGTERM, or the end of its input, ends all of them. It runs without the package, whose
import takes half a second.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LOOK_S = 0.25
"""How often the processes are counted."""
_ENDED_WITHIN_S = 4.0
_ENDING_S = 0.01
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_WAITED = frozenset({signal.SIGCHLD, signal.SIGTERM})


def _control(option: int, value: int) -> None:
    """Call prctl(2); Linux only."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - for Linux only

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _is_orphan() -> bool:
    """Return whether the server has gone: it holds the other end of standard input, and writes nothing."""
    return bool(select.select([0], [], [], 0)[0])


def _limit_tasks(processes: int) -> None:
    """Let the user of this process have no more tasks than now, and so many; the kernel does not limit root."""
    now, user = 0, os.getuid()
    for name in filter(str.isdecimal, os.listdir("/proc") if os.path.isdir("/proc/self") else ()):  # noqa: PTH112, PTH208 - pathlib takes long to load
        with suppress(OSError):
            if os.stat(f"/proc/{name}").st_uid == user:  # noqa: PTH116 - the same
                now += len(os.listdir(f"/proc/{name}/task"))  # noqa: PTH208 - the same
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    if now and (hard == resource.RLIM_INFINITY or now + processes < hard):
        resource.setrlimit(resource.RLIMIT_NPROC, (now + processes, now + processes))


def _start(arguments: list[str], processes: int) -> int:
    """Start the command in a session of its own, and return its process id.

    Raises:
        OSError: It cannot be started.
    """
    failed, report = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setsid()
            _control(_PR_SET_PDEATHSIG, signal.SIGKILL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            _limit_tasks(processes)
            with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - pathlib takes long to load
                file.write("1000")  # where memory runs out, the kernel ends the command before the server
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAITED)
            os.execvp(arguments[0], arguments)  # noqa: S606 - without a shell on purpose
        except OSError as error:
            os.write(report, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(report)
    number = os.read(failed, 16)
    os.close(failed)
    if number:
        raise OSError(int(number), os.strerror(int(number)))
    return pid


def _descendants() -> list[int]:
    """Return all descendants of this process that still run."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib takes long to load
        if name.isdecimal():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - the same
                state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state not in {b"Z", b"X"}:
                    children[int(parent)].append(int(name))
    found = list(children[os.getpid()])
    for pid in found:
        found += children[pid]
    return found


def _resident_bytes(pids: list[int]) -> int:
    pages = 0
    for pid in pids:
        with suppress(OSError, IndexError), open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123 - as above
            pages += int(file.read().split()[1])
    return pages * _PAGE_BYTES


def _excess(limits: dict[str, int | None]) -> str | None:
    """Return which limit is exceeded; None if none is, or if the system does not tell."""
    if not os.path.isdir("/proc/self"):  # noqa: PTH112 - as above
        return None
    pids = _descendants()
    if len(pids) > (limits["processes"] or 0):
        return "processes"
    return "memory" if limits["memory"] is not None and _resident_bytes(pids) > limits["memory"] else None


def _reap(leader: int) -> int | None:
    """Reap all children that have ended; return the wait status of the leader if it is among them.

    Its group is killed before it is reaped: after that, the number may be that of another group.
    """
    found = None
    with suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if ended.si_pid == leader:
                _kill_group(leader)
            status = os.waitpid(ended.si_pid, 0)[1]
            found = status if ended.si_pid == leader else found
    return found


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _end_all(leader: int) -> None:
    """End every descendant; they are stopped first, as a stopped process starts no others."""
    if not os.path.isdir("/proc/self"):  # noqa: PTH112 - as above
        return
    until = time.monotonic() + _ENDED_WITHIN_S
    stopped: set[int] = set()
    while (new := set(_descendants()) - stopped) and time.monotonic() < until:
        _signal(new, signal.SIGSTOP)
        stopped |= new
    while (pids := _descendants()) and time.monotonic() < until:  # one of another user cannot be ended
        _signal(pids, signal.SIGKILL)
        signal.sigtimedwait([signal.SIGCHLD], _ENDING_S)
        _reap(leader)


def _run(arguments: list[str], limits: dict[str, int | None]) -> tuple[str, int]:
    """Run the command to its end, and return how it ended, with its status or the number of its signal."""
    try:
        leader = _start(arguments, limits["processes"] or 0)
    except (OSError, ValueError) as error:
        return "not_started", getattr(error, "errno", None) or errno.EINVAL
    ending, status, next_look = "", None, time.monotonic() + _LOOK_S
    while not ending and (status := _reap(leader)) is None:
        caught: Any = signal.sigtimedwait(_WAITED, max(0.0, next_look - time.monotonic()))
        if caught is not None and caught.si_signo == signal.SIGTERM:
            ending = "terminated"
        elif time.monotonic() >= next_look:
            ending = "terminated" if _is_orphan() else _excess(limits) or ""
            next_look = time.monotonic() + _LOOK_S
    if status is None:
        _kill_group(leader)
    _end_all(leader)
    if status is None:
        return ending, 0
    code = os.waitstatus_to_exitcode(status)
    return ("signal", -code) if code < 0 else ("exit", code)


def main() -> None:
    """Run the command of the arguments; the descriptor and the limits are in the first one, as JSON."""
    given = json.loads(sys.argv[1])
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would lose every status
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.set_inheritable(given["report"], False)  # noqa: FBT003 - the function of os takes no name
    _control(_PR_SET_CHILD_SUBREAPER, 1)
    ended = _run(sys.argv[2:], given["limits"])
    os.write(given["report"], json.dumps(ended).encode())


if __name__ == "__main__":
    main()
