"""Locations of audit keys and chain heads: the user's state folder, outside workspaces.

The head of a log is named after the log's path. So every server of this user knows all logs of this user, and tools of
one server cannot write the log of another, see `is_known_log`.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from failsoft.framework.audit.sealing import KeyUnusable
from failsoft.framework.services.regular_files import opened_regular, others_may_write
from failsoft.framework.services.state_folder import state_folder

STATE = "state:"
"""Value of FAILSOFT_AUDIT_HEAD_PATH that selects the default."""
WRITABLE_BY_OTHERS = "its group or other users may write it, so that it proves nothing: `chmod go-w` it"
_KEY_BYTES = 32
_KEY_FILE_BYTES_AT_MOST = 4_096
_SHORTEST_KEY = 16
_SEGMENT = re.compile(r"\.\d{12,}$")


def default_key_file() -> Path:
    """Return the file of the generated key, which is used if no setting names one."""
    return state_folder() / "audit" / "key"


def default_head(path: Path) -> Path:
    """Return the default head file of a log."""
    real = os.path.join(os.path.realpath(path.parent), path.name)  # noqa: PTH118 - a string is wanted
    return Path(_head_of(real))


def is_known_log(real_path: str) -> bool:
    """Return whether a file is an audit log of this user, or a segment of one.

    Args:
        real_path: Absolute and without links.
    """
    return os.path.exists(_head_of(_SEGMENT.sub("", real_path)))  # noqa: PTH110 - False where access is refused, too


def _head_of(real_path: str) -> str:
    name = hashlib.sha256(real_path.encode(errors="surrogateescape")).hexdigest()
    return f"{state_folder()}/audit/heads/{name}"  # text: on the way of every file operation


def read_key(file: Path) -> bytes | None:
    """Return the key in a file, stripped of white space; None if there is no file.

    Raises:
        OSError: It cannot be read, or is not a regular file.
        ValueError: It is shorter than 16 bytes, or others than its owner may write it.
    """
    try:
        descriptor = opened_regular(file)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        if others_may_write(descriptor):
            raise ValueError(WRITABLE_BY_OTHERS)
        key = stream.read(_KEY_FILE_BYTES_AT_MOST).strip()
    if len(key) < _SHORTEST_KEY:
        msg = f"a key has at least {_SHORTEST_KEY} bytes"
        raise ValueError(msg)
    return key


def made_key() -> bytes:
    """Return the default key; generated once per user, readable only by that user.

    Raises:
        OSError: It can be neither read nor created.
        ValueError: The file has no usable key.
    """
    file = default_key_file()
    key = read_key(file)
    if key is not None:
        return key
    make_private(file.parent)
    fresh = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            os.write(descriptor, secrets.token_hex(_KEY_BYTES).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        with suppress(FileExistsError):  # another process created one meanwhile; that one is used
            os.link(fresh, file)
    finally:
        fresh.unlink()
    made = read_key(file)
    if made is None:
        raise FileNotFoundError(file)
    return made


def key_from(file: Path | None, *, make: bool = True) -> bytes:
    """Return the key in a file.

    Args:
        file: The file; None for the default one.
        make: Whether the default key may be generated.

    Raises:
        KeyUnusable: There is no key, and none can be generated.
    """
    try:
        key = made_key() if file is None and make else read_key(file or default_key_file())
    except OSError as error:
        msg = f"its key cannot be read or made ({error.strerror or error})"
        raise KeyUnusable(msg) from error
    except ValueError as error:
        msg = f"its key is not usable: {error}"
        raise KeyUnusable(msg) from error
    if key is None:
        msg = "the file of its key does not exist"
        raise KeyUnusable(msg)
    return key


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents with mode 0700."""
    missing = [folder, *folder.parents]
    for one in reversed(missing[: next(number for number, one in enumerate(missing) if one.exists())]):
        one.mkdir(mode=0o700, exist_ok=True)
