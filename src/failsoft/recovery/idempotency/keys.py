"""Idempotency keys, given by the caller or derived from arguments, and the hashes that are stored for them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from pydantic_core import to_json

from failsoft.framework.call.call import Call
from failsoft.framework.errors import IdempotencyConflict, IdempotencyKeyInvalid, ToolSystemError
from failsoft.framework.errors.violations import Violation
from failsoft.framework.safe.json_safe import json_safe

Derive: TypeAlias = Callable[[Call], Any]
_SCALARS = frozenset({str, int, float, bool, type(None)})
_KEY = re.compile(r"[!-~]{1,255}")


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


def argument_hashes(call: Call) -> str:
    """Return a hash of each validated argument, as JSON; an omitted argument counts as its default."""
    given = {**_defaults(call), **json_safe(call.arguments)}
    return to_json({name: _hash(given[name]) for name in sorted(given)}).decode()


def changed_names(one: str, other: str) -> tuple[str, ...]:
    """Return the names of the arguments whose hashes differ."""
    before, after = json.loads(one), json.loads(other)
    return tuple(name for name in {**after, **before} if before.get(name) != after.get(name))


def conflict(names: Sequence[str], made_of: Sequence[str]) -> IdempotencyConflict:
    """Return the conflict; for a derived key, which the caller does not know, in terms of the arguments.

    Args:
        names: The arguments that differ from those of the first call.
        made_of: The arguments from which the key was derived; empty for a key of the caller.
    """
    changed = ", ".join(f"`{name}`" for name in names) or "arguments"
    if not made_of:
        return IdempotencyConflict(message=f"This idempotency key was used before, with another {changed}.")
    same = ", ".join(f"`{name}`" for name in made_of)
    return IdempotencyConflict(
        message=f"A call with the same {same} was made before, with another {changed}; nothing was done now.",
        suggestions=[f"To get the first outcome, repeat {changed} as it was; for new work, give another {same}"],
        violations=[
            Violation(path=name, reason="value", message=f"'{name}' is not as in the first call", expected="as it was")
            for name in names
        ],
    )


def _defaults(call: Call) -> dict[str, Any]:
    declared = call.bound.input_schema.get("properties", {})
    return {name: schema["default"] for name, schema in declared.items() if "default" in schema}


def _hash(value: Any) -> str:
    text = to_json(value) if type(value) in _SCALARS else json.dumps(value, sort_keys=True).encode(errors="replace")
    return hashlib.sha256(text).hexdigest()[:16]
