"""What identifies a piece of work: the caller's key, and the names and hashes that are kept instead of it."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from failsoft.framework.context import CallContext
from failsoft.framework.errors import IdempotencyKeyInvalid
from failsoft.framework.json_safe import json_safe

__all__ = ["META_KEY", "arguments_hash", "checked_key", "state_key"]

META_KEY = "dev.failsoft/idempotency-key"
"""Where in a request's `_meta` a caller puts the key."""
_KEY = re.compile(r"[!-~]{1,255}")


def checked_key(key: Any) -> str:
    """Return the key.

    Raises:
        IDEMPOTENCY_KEY_INVALID: It is no text of 1 to 255 visible ASCII characters.
    """
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise IdempotencyKeyInvalid
    return key


def state_key(call: CallContext, key: str) -> str:
    """Return the name under which a key of this caller for this operation is kept: nobody meets another's.

    Where the call has a session, the key is the session's: another one, or none, has no part in what it did.
    """
    session = [] if call.governance is None else [call.governance.session_id]
    told = json.dumps([call.tool, call.operation, call.principal, key, *session])
    return f"idempotency:{call.tool}.{call.operation}:{hashlib.sha256(told.encode()).hexdigest()}"


def arguments_hash(call: CallContext) -> str:
    """Return the hash of the arguments after validation, so that a default left out is a default."""
    declared = call.bound.input_schema.get("properties", {})
    defaults = {name: schema["default"] for name, schema in declared.items() if "default" in schema}
    told = json.dumps({**defaults, **json_safe(call.arguments)}, sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()
