"""What identifies a foreign server beside its name: its command, its URL, or the code that makes it.

Records and counted state of foreign servers are scoped by it, so that two servers of one name do not share them, and
one that is started again still has its own. Identities are hashes: no secret and no path is stored.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from types import FrameType
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID

from failsoft.framework.safe.secret_names import is_secret_name, is_secret_parameter

_DIFFERS_AMONG_REPLICAS = frozenset({"--bind", "--fd", "--host", "--log-level", "--port", "--uds", "--workers"})
"""Options of servers that say where a process listens or how it logs, not which server it is."""
_REPEATED = (str, PurePath, int, float, UUID, Enum)
"""Types of parameters whose text is the same after a restart."""
_OWN_PACKAGE = "failsoft"


def identity_of_command(
    words: Sequence[str], *, folder: str | None = None, variables: Mapping[str, str] | None = None
) -> str:
    """Return the identity of a server that is started by a command.

    Args:
        words: The program and its arguments, as they are written.
        folder: Its working folder; None for that of this process.
        variables: The environment variables that are declared for it. Secrets in them do not count, so that a server
            with a new token still has its records.
    """
    declared = [(name, value) for name, value in sorted((variables or {}).items())]
    told = [(name, _without_secrets(value)) for name, value in declared if "://" in value or not is_secret_name(name)]
    return _hash("command", *words, _canonical(folder or "."), told)


def identity_of_url(url: str) -> str:
    """Return the identity of a server at a URL; credentials and secret parameters of the query do not count."""
    return _hash("url", _without_secrets(url))


def identity_of_this_process() -> str:
    """Return the identity of a server that the calling code makes in this process.

    It consists of what a restart repeats: the program with its arguments (but those of `_DIFFERS_AMONG_REPLICAS`), its
    working folder, and the function outside failsoft that makes the server, with its parameters that are texts, paths,
    numbers, UUIDs or members of enums, for one function that makes a server for each of several folders or tenants.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - `inspect.stack` reads the source files
    while frame is not None and _module_of(frame).partition(".")[0] == _OWN_PACKAGE:
        frame = frame.f_back
    made = () if frame is None else (_module_of(frame), frame.f_code.co_qualname, _parameters_of(frame))
    return _hash("process", *_program(), _canonical("."), *made)


def _program() -> list[str]:
    """Return the command line of this process without options in which replicas of one server differ."""
    words, options = sys.argv[:1], iter(sys.argv[1:])
    if words == ["-c"]:
        words = sys.orig_argv[:3]
    elif words:
        words = [_canonical(words[0])]
    for word in options:
        name, equals, _ = word.partition("=")
        if name not in _DIFFERS_AMONG_REPLICAS:
            words.append(word)
        elif not equals:
            next(options, None)
    return words


def _canonical(path: str) -> str:
    try:
        return os.path.realpath(path)
    except OSError:  # the working folder was removed
        return path


def _module_of(frame: FrameType) -> str:
    name = str(frame.f_globals.get("__name__", ""))
    return "__main__" if name == "__mp_main__" else name  # that of a worker process


def _parameters_of(frame: FrameType) -> list[tuple[str, str]]:
    code, given = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    values = [(name, given.get(name)) for name in names if not is_secret_name(name)]
    told = [(name, value) for name, value in values if isinstance(value, _REPEATED) and not _is_a_place(name, value)]
    return [(name, _without_secrets(str(value))) for name, value in told]


def _is_a_place(name: str, value: Any) -> bool:
    """Return whether a parameter says at which port a process listens, or how many there are."""
    return isinstance(value, int) and f"--{name}" in _DIFFERS_AMONG_REPLICAS


def _without_secrets(text: str) -> str:
    """Return a URL without credentials, secret parameters and fragment; any other text unchanged."""
    if "://" not in text:
        return text
    try:
        parts = urlsplit(text)
        place = parts.netloc.rpartition("@")[2].lower()
        known = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not is_secret_parameter(pair[0])]
    except ValueError:
        return text
    return parts._replace(netloc=place, query=urlencode(known), fragment="").geturl()


def _hash(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
