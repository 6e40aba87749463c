"""System calls that go wrong at a chosen moment: the process dies before the n-th of them, or gets an error for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.doors import file_exchange_module

CALLS = ("open", "write", "fsync", "fdatasync", "link", "rename", "unlink", "mkdir", "fchmod", "fchown", "setxattr")


@contextmanager
def watched(interfere: Callable[[int, str, Callable[..., Any], tuple[Any, ...]], None]) -> Iterator[list[str]]:
    """Call `interfere(number, name, call, arguments)` before each system call that can change a disk.

    What is given is the list of their names, which grows.
    """
    names: list[str] = []
    originals = {name: getattr(os, name) for name in CALLS}

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any, **options: Any) -> Any:
            names.append(name)
            interfere(len(names), name, call, arguments)
            return call(*arguments, **options)

        return wrapper

    def exchanged(folder: int, one: str, other: str) -> bool:
        names.append("rename")
        interfere(len(names), "rename", os.rename, (one, other))
        done: bool = original(folder, one, other)
        return done

    original = file_exchange_module.exchanged
    file_exchange_module.exchanged = exchanged
    for name, call in originals.items():
        setattr(os, name, wrapped(name, call))
    try:
        yield names
    finally:
        file_exchange_module.exchanged = original
        for name, call in originals.items():
            setattr(os, name, call)


def dying_at(number: int) -> Callable[[int, str, Callable[..., Any], tuple[Any, ...]], None]:
    """Return what kills this process before its n-th call; a write is half done by then."""

    def interfere(count: int, name: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        if count == number:
            if name == "write":
                descriptor, data = arguments
                call(descriptor, bytes(data[: len(data) // 2]))
            os.kill(os.getpid(), signal.SIGKILL)

    return interfere


def failing(error: int, numbers: range) -> Callable[[int, str, Callable[..., Any], tuple[Any, ...]], None]:
    """Return what answers these calls with an error of the operating system."""

    def interfere(count: int, name: str, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        if count in numbers:
            raise OSError(error, os.strerror(error))

    return interfere


def survives(work: Callable[[], object]) -> bool:
    """Run the work in a child, and return whether it came to its end instead of being killed. It must not fail."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.waitstatus_to_exitcode(status) == 0
    return True
