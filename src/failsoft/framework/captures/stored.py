"""A capture as its file has it, read and checked."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from failsoft.framework.captures.folder import captures_folder, is_error_id, read_file
from failsoft.framework.captures.script import Script
from failsoft.framework.errors import Effect, InvalidParameter
from failsoft.framework.safe.secret_names import is_secret_name
from failsoft.framework.text import bounded

VERSION: Literal[1] = 1
_BYTES_AT_MOST = 100_000_000
_VARIABLE = re.compile(r"FAILSOFT_[A-Z0-9_]{1,100}")
_NOT_KEPT = ("ADMIN", "ALERT", "ASK", "AUDIT", "AUTH", "CAPTURE", "LOG", "STATE", "FLEET", "TOKEN")
"""The beginnings, after the prefix, of variables about where a server keeps its state and whom it tells."""


def is_kept_variable(name: str) -> bool:
    """Return whether a variable may be in a capture and be set for a replay."""
    is_ours = _VARIABLE.fullmatch(name) is not None
    return is_ours and not name.removeprefix("FAILSOFT_").startswith(_NOT_KEPT) and not is_secret_name(name)


class _CapturedEffect(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    operation: str
    name: str
    value: Any = None
    error: dict[str, Any] | None = None
    unfinished: bool = False

    def answer(self) -> dict[str, Any]:
        """Return it as `Script` takes it."""
        return self.model_dump(exclude_unset=True)


class _CapturedFault(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    operation: str
    delay_s: float = Field(ge=0, le=86_400)
    kind: Literal["", "fault", "cancelled", "wrong", "lost"]


class Capture(BaseModel):
    """A failed call: what it was given, and how it ended.

    Args:
        error_id: The id of the failure, and the name of the file.
        timestamp: When it failed.
        tool: The toolset.
        operation: The MCP tool name.
        toolset_class: `module:Class` of the toolset.
        roots: The folders that it worked in.
        read_only: Whether the operation is declared read-only.
        arguments: As received, without secrets.
        redacted: The paths of the arguments that redaction changed.
        not_replayable: Why it cannot be run again; empty if it can.
        code: The code of the failure.
        category: Its category.
        effect: What it said that was changed.
        type: The class of the exception that was raised.
        origin: `file:line in function` of the author's innermost frame.
        function: The qualified name of that function.
        attempts: How often the handler ran.
        principal: The caller.
        session_id: The session that it named.
        key: `run` if the call had an idempotency key, `answered` if the key's record decided its outcome.
        effects: The marked effects that were carried out or tried, in order.
        faults: What `Chaos` injected into each run, in order.
        settings: The `FAILSOFT_` variables that were set.
        withheld: The names of those that are not kept.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1]
    error_id: str = Field(pattern=r"^[0-9a-f]{16}$")
    timestamp: str
    tool: str
    operation: str
    toolset_class: str
    roots: list[str] = []
    read_only: bool
    arguments: Any
    redacted: list[str] = []
    not_replayable: str = ""
    code: str
    category: str
    effect: Effect
    type: str
    origin: str = ""
    function: str = ""
    attempts: int = 0
    principal: str | None = None
    session_id: str | None = None
    key: Literal["", "run", "answered"] = ""
    effects: list[_CapturedEffect] = []
    faults: list[_CapturedFault] = []
    settings: dict[str, str] = {}
    withheld: list[str] = []

    @property
    def before(self) -> dict[str, str]:
        """How the call ended: code, category, effect, origin."""
        return {"code": self.code, "category": self.category, "effect": self.effect, "origin": self.origin}

    @property
    def variables(self) -> dict[str, str]:
        """The settings that a replay may set: not those about state, tokens and logs, whatever the file says."""
        return {name: value for name, value in self.settings.items() if is_kept_variable(name)}

    def script(self) -> Script:
        """Return what answers a replay."""
        return Script(
            [effect.answer() for effect in self.effects],
            [fault.model_dump() for fault in self.faults],
        )


def read_capture(error_id: str) -> Capture:
    """Return the capture of a failed call from the folder of this user.

    Args:
        error_id: The id of its failure.

    Raises:
        INVALID_PARAM: There is no capture that can be used; the message says why.
    """
    folder = captures_folder()
    if not is_error_id(error_id):
        raise InvalidParameter(message=f"'{bounded(error_id)}' is not an error id, which has 16 hexadecimal digits.")
    try:
        content = read_file(folder, error_id, _BYTES_AT_MOST)
    except FileNotFoundError:
        raise InvalidParameter(
            message=f"There is no capture of {error_id} in {folder}: calls are captured in development, or with "
            "FAILSOFT_CAPTURE=failures, but not those of sensitive operations, and the oldest captures are removed.",
            operator_hint="FAILSOFT_CAPTURE=failures for the server, and make the call again",
        ) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidParameter(message=f"The capture of {error_id} in {folder} cannot be read: {reason}.") from error
    try:
        capture = Capture.model_validate(json.loads(content))  # pydantic's own parser rejects lone surrogates
    except (ValueError, RecursionError) as error:
        raise InvalidParameter(
            message=f"The capture of {error_id} in {folder} is damaged, or of another version of failsoft."
        ) from error
    if capture.error_id != error_id:
        raise InvalidParameter(message=f"The capture of {error_id} in {folder} is that of another call.")
    return capture
