"""Idempotency keys, given by the caller or derived from arguments, and the hashes that are stored for them."""

from __future__ import annotations

import errno
import functools
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, TypeAlias

from pydantic_core import to_json

from failsoft.framework.audit.places import made_key, read_key
from failsoft.framework.call.call import Call
from failsoft.framework.errors import (
    IdempotencyConflict,
    IdempotencyKeyInvalid,
    IdempotencyOutcomeUnknown,
    StateUnavailable,
    StateUnusable,
    ToolSystemError,
)
from failsoft.framework.errors.violations import Violation
from failsoft.framework.files import protected_files, state_folder
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.settings import Settings
from failsoft.framework.state.records import Records

Derive: TypeAlias = Callable[[Call], Any]
_SCALARS = frozenset({str, int, float, bool, type(None)})
_KEY_FILE = "state.key"
_KEY = re.compile(r"[!-~]{1,255}")
_PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO})


def checked_key(key: Any) -> str:
    """Return the key of a caller.

    Raises:
        IDEMPOTENCY_KEY_INVALID: It is not a string of 1 to 255 visible ASCII characters.
    """
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise IdempotencyKeyInvalid
    return key


def derived_key(derive: Derive, call: Call) -> tuple[str | None, tuple[str, ...]]:
    """Return the key that is derived from a call, or None, and the names of the arguments that were used.

    Any JSON value can be a key, since it is hashed.

    Raises:
        SYSTEM_ERROR: The author's function failed, or did not return a JSON value.
    """
    given = call.arguments
    watched = call.arguments = _Watched({**_defaults(call), **given})
    try:
        value = derive(call)
        key = None if value is None else "=" + json.dumps(value, sort_keys=True)
    except Exception as error:
        raise ToolSystemError(component=f"the function that derives keys for '{call.operation}'") from error
    finally:
        call.arguments = given
    return key, tuple(watched.read)


class _Watched(dict[str, Any]):
    """Arguments that record which of them are read."""

    def __init__(self, given: dict[str, Any]) -> None:
        super().__init__(given)
        self.read: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        self.read[name] = None
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return an argument, or the default."""
        self.read[name] = None
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self.read.update(dict.fromkeys(self.keys()))
        return super().__iter__()


def record_key(call: Call, key: str) -> str:
    """Return the record key for an idempotency key, scoped to the caller, the operation and the session, if any."""
    session = [] if call.told.governance is None else [call.told.governance.session_id]
    try:
        whole = to_json([call.principal, key, *session])
    except ValueError:  # a principal with a lone surrogate
        whole = json.dumps([call.principal, key, *session]).encode()
    return f"key:{call.operation}:{hashlib.sha256(whole).hexdigest()}"


def key_id(key: str, secret: bytes) -> str:
    """Return the hash by which the records of a key are found, whoever sent it; a plain one without a secret."""
    data = key.encode(errors="replace")
    return (hmac.digest(secret, b"key\0" + data, "sha256").hex() if secret else hashlib.sha256(data).hexdigest())[:16]


def ids_of_key(key: str, settings: Settings) -> frozenset[str]:
    """Return the hashes by which records of a key are found: with the key of this store's hashes, and without one.

    Raises:
        STATE_UNUSABLE: The file of the key is not usable.
    """
    file = state_folder() / _KEY_FILE
    try:
        secret = settings.state_key.get_secret_value().encode() if settings.state_key is not None else read_key(file)
    except (OSError, ValueError) as error:
        raise StateUnusable(effect="none", operator_hint=f"{file} is not usable: {error}") from error
    return frozenset({key_id(key, b""), key_id(key, secret or b"")})


def is_record_of(value: Any, ids: Container[str]) -> bool:
    """Return whether the value of a record is that of a call with the key of these ids, whoever sent it."""
    return isinstance(value, dict) and str(value.get("key")) in ids


def state_key(settings: Settings, records: Records) -> bytes:
    """Return the key of the hashes that a store gets; empty if they have none (ADR 0008).

    Raises:
        STATE_UNAVAILABLE: The file of the key cannot be read or made for now.
        STATE_UNUSABLE: The file of the key is not usable.
    """
    if records.is_local:
        return b""
    if settings.state_key is not None:
        return settings.state_key.get_secret_value().encode()
    if not records.backend.is_of_machine:
        _warn("FAILSOFT_STATE_KEY is not set, so that who reads the state store can find arguments by trying values")
        return b""
    file = state_folder() / _KEY_FILE
    protected_files.add(records.backend, file)
    try:
        return made_key(file)
    except OSError as error:
        if error.errno in _PASSING:
            hint = f"{file} cannot be read or made for now: {error.strerror}"
            raise StateUnavailable(effect="none", retry_after_seconds=1.0, operator_hint=hint) from error
        _warn(f"FAILSOFT_STATE_KEY is not set and {file} cannot be made ({error.strerror}): hashes have no key")
        return b""
    except ValueError as error:
        raise StateUnusable(effect="none", operator_hint=f"{file} is not usable: {error}") from error


@functools.cache
def _warn(text: str) -> None:
    """Log a warning once."""
    logger.warning("{}", text)


class KeyedHashes:
    """A hash of each validated argument of a call; an omitted argument counts as its default.

    The text is the id of the hashes' key and an object of hashes, or, without a key and in earlier versions, the object
    alone.

    Args:
        call: The call.
        record: The key of its record, which is hashed too, so that equal arguments of two calls have other hashes.
        key: The key of the hashes.
    """

    def __init__(self, call: Call, record: str, key: bytes) -> None:
        given = {**_defaults(call), **json_safe(call.arguments)}
        self._values = {name: _json(given[name]) for name in sorted(given)}
        self._record = record.encode(errors="replace")
        self._key = key
        self._id = hmac.digest(key, b"id", "sha256").hex()[:12] if key else ""
        self.text = f"{self._id} {self._hashes(key)}" if key else self._hashes(b"")

    def is_same(self, stored: str) -> bool | None:
        """Return whether stored hashes are of the same arguments; None if they have another key."""
        if stored == self.text:
            return True
        own = self._as(stored)
        return None if own is None else own == stored[stored.index("{") :]

    def changed(self, stored: str) -> tuple[str, ...]:
        """Return the names of the arguments that differ from those of stored hashes."""
        after = json.loads(self._as(stored) or "{}")
        before = json.loads(stored[stored.index("{") :])
        return tuple(name for name in {**before, **after} if before.get(name) != after.get(name))

    def _as(self, stored: str) -> str | None:
        """Return the hashes as those that are stored were made; None if that takes another key."""
        if stored.startswith("{"):
            return self._hashes(b"")
        return self._hashes(self._key) if self._key and stored.partition(" ")[0] == self._id else None

    def _hashes(self, key: bytes) -> str:
        return to_json({name: self._hash(key, name, value)[:16] for name, value in self._values.items()}).decode()

    def _hash(self, key: bytes, name: str, value: bytes) -> str:
        if not key:
            return hashlib.sha256(value).hexdigest()
        return hmac.digest(key, b"\0".join((self._record, name.encode(errors="replace"), value)), "sha256").hex()


def conflict(names: Sequence[str], made_of: Sequence[str]) -> IdempotencyConflict:
    """Return the conflict; for a derived key, which the caller does not know, in terms of the arguments.

    Args:
        names: The arguments that differ from those of the first call.
        made_of: The arguments from which the key was derived; empty for a key of the caller.
    """
    changed = ", ".join(f"`{name}`" for name in names) or "arguments"
    if not made_of:
        message = (
            f"This idempotency key was used before, with another {changed}. Nothing was done: the first arguments get "
            "the outcome of that call, and a new key makes another call."
        )
        return IdempotencyConflict(message=message)
    same = ", ".join(f"`{name}`" for name in made_of)
    return IdempotencyConflict(
        message=f"A call with the same {same} was made before, with another {changed}; nothing was done now.",
        suggestions=[f"To get the first outcome, repeat {changed} as it was; for new work, give another {same}"],
        violations=[
            Violation(path=name, reason="value", message=f"'{name}' is not as in the first call", expected="as it was")
            for name in names
        ],
    )


def unknown_outcome(call: Call) -> IdempotencyOutcomeUnknown:
    """Return the error of a call whose work was begun earlier; of a job without a key, it does not speak of one."""
    if call.scope.sends_key:
        return IdempotencyOutcomeUnknown(effect="unknown")
    return IdempotencyOutcomeUnknown(
        message="The process that did this work ended before it reported an outcome.",
        suggestions=["Check whether the work was done"],
        effect="unknown",
    )


def _defaults(call: Call) -> dict[str, Any]:
    declared = call.bound.input_schema.get("properties", {})
    return {name: schema["default"] for name, schema in declared.items() if "default" in schema}


def _json(value: Any) -> bytes:
    return to_json(value) if type(value) in _SCALARS else json.dumps(value, sort_keys=True).encode(errors="replace")
