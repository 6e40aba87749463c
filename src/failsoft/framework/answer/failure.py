"""`Failure`: the facts of one failed call, the governance facts among them: role, session, workspace, plan.

A toolset with sessions sets `call.governance = Governance(...)`, an error may have its own, and a caller gives the
phase and the plan in `_meta["dev.failsoft/context"]`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from failsoft.framework.errors.durable import AuditLockFailed, AuditLogFailed
from failsoft.framework.errors.tool_error import ToolError
from failsoft.framework.errors.violations import Violation
from failsoft.framework.errors.vocabulary import Effect, NextStep, RetryWhen, StopReason
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.redaction import redact
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import bounded

CONTEXT_KEY = "dev.failsoft/context"
_FROM_CALLERS = ("phase_id", "plan_hash")


@dataclass(frozen=True, slots=True, kw_only=True)
class Governance:
    """The facts that a governed toolset sends with every failure; None if unknown.

    Args:
        role: The role of the session.
        session_id: The session.
        workspace_root: The absolute path of its workspace.
        invariant_id: The invariant that was violated.
        phase_id: The phase of execution, as the caller named it.
        plan_hash: The SHA-256 of the approved plan.

    Examples:
        >>> error = SystemErrorFactory.invariant_violation("one-writer", tool_name="write_file", role="READER")
        >>> error.code
        'INVARIANT_VIOLATION'
    """

    role: str | None = None
    session_id: str | None = None
    workspace_root: str | None = None
    invariant_id: str | None = None
    phase_id: str | None = None
    plan_hash: str | None = None

    @classmethod
    def from_mapping(cls, facts: Mapping[str, Any]) -> Self:
        """Read the facts from a mapping, bounded and redacted; values that are not text and other keys are ignored."""
        return cls(**{name: _text(facts.get(name)) for name in NAMES})

    def over(self, other: Governance) -> Governance:
        """Return these facts, with missing ones taken from the other."""
        mine = {name: getattr(self, name) for name in NAMES}
        return Governance(**{name: getattr(other, name) if value is None else value for name, value in mine.items()})

    def to_dict(self) -> dict[str, str | None]:
        """Return all six facts by name."""
        return {name: getattr(self, name) for name in NAMES}


NAMES = tuple(item.name for item in fields(Governance))
UNGOVERNED = Governance()
"""The call belongs to no session."""


def governance_of(error: object, said: object, session_id: str | None, meta: Mapping[str, Any]) -> Governance:
    """Return the facts for one failure: those of the error take precedence over the call's, then the caller's.

    Args:
        error: The error, which may have `governance` or an `invariant_id`.
        said: The toolset's `Governance` of the call; any other value is ignored.
        session_id: The session as the transport knows it.
        meta: The request's `_meta`.
    """
    own = getattr(error, "governance", None)
    invariant = getattr(error, "invariant_id", None)
    sent = meta.get(CONTEXT_KEY) if meta else None
    if own is None and said is None and invariant is None and session_id is None and sent is None:
        return UNGOVERNED
    caller = {name: sent.get(name) for name in _FROM_CALLERS} if isinstance(sent, Mapping) else {}
    found = Governance.from_mapping({**caller, "invariant_id": invariant, "session_id": session_id})
    for better in (said, own):
        if isinstance(better, Governance):
            found = better.over(found)
    return found


def _text(value: Any) -> str | None:
    return redact_text(bounded(value)) if isinstance(value, str) and value else None


EFFECTS: dict[Effect, str] = {
    "none": "Nothing was changed",
    "applied": "Something was changed",
    "unknown": "It is unknown whether anything was changed",
}
"""What a caller is told about the effect, as the beginning of a sentence."""
SAID_AGAIN = "This call has now failed {} times in the same way."
_TIMES = ("three", "four", "five", "six", "seven", "eight", "nine", "ten")
_PRINTED_AT_MOST = 200
_TEXT = frozenset({str})


@dataclass(frozen=True, slots=True)
class RetryAdvice:
    """Whether and when the caller may repeat the call; `after_seconds` only with `after_delay`."""

    when: RetryWhen
    after_seconds: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form, `{"when": ..., "after_seconds"?: ...}`."""
        if self.after_seconds is None:
            return {"when": self.when}
        return {"when": self.when, "after_seconds": self.after_seconds}

    @property
    def wait(self) -> str:
        """The wait in seconds in plain digits, rounded up: `1e+06` is read as one."""
        seconds = self.after_seconds or 0.0
        return str(math.ceil(seconds)) if seconds >= 1 or seconds == 0 else f"{seconds:.3f}".rstrip("0")

    @property
    def wait_in_words(self) -> str:
        """The wait as in a sentence: `1 second`, `0.5 seconds`."""
        return f"{self.wait} second{'' if self.wait == '1' else 's'}"


def said_again(times: int) -> str:
    """Return the sentence about a call that failed the same way at least three times."""
    return SAID_AGAIN.format(_TIMES[times - 3] if times < 3 + len(_TIMES) else times)


@dataclass(kw_only=True, unsafe_hash=True, slots=True)  # never changed; `frozen` would cost a call for every field
class Failure:
    """One failed call, ready to be sent: redacted, bounded, and reduced to the configured level of detail.

    Args:
        message: The whole text for the caller.
        code: The stable code, such as `DOC_NOT_FOUND`.
        category: The category, such as `not_found`.
        tool: The toolset.
        operation: The MCP name of the tool that was called.
        retry: When the call may be repeated, and after how many seconds.
        effect: Whether anything was changed: `none`, `unknown` or `applied`.
        error_id: The id of this failure in the log and the audit log.
        timestamp: When it failed, ISO 8601 in UTC.
        exception: The typed error itself, for callers in this process.
        headline: The part of the message that says what failed.
        remedy: The part that says who has to act, or what to change; empty if the rest says it.
        repetition: The part that says whether a call that may have changed something may be sent again.
        times: How many times the same call has failed the same way, if that is said; otherwise 0.
        stop_reason: Why the framework did not run it again.
        suggestions: Candidates for this failure, most likely first.
        hints: What the caller can do, from the error class.
        next_step: The suggested call.
        violations: The faults of the arguments; equal ones are one.
        faults: The number of faults before equal ones were merged.
        details: Facts for debugging; None where the environment withholds them.
        cause: The exception that caused it; None where the environment withholds it.
        stack_trace: The traceback of a crash; None where the environment withholds it.
        request_id: The id of the request.
        session_id: The session named by the caller.
        principal: The caller as authenticated.
        governance: Session, role and plan, for governed toolsets.
        rejected: Whether the handler never ran.
        read_only: Whether the operation changes nothing.
    """

    message: str
    code: str
    category: str
    tool: str
    operation: str
    retry: RetryAdvice
    effect: Effect
    error_id: str
    timestamp: str
    exception: ToolError
    headline: str = ""
    remedy: str = ""
    repetition: str = ""
    is_for_person: bool = False
    """Whether a person has to act, who needs the error id."""
    times: int = 0
    stop_reason: StopReason = "not_transient"
    suggestions: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    next_step: NextStep | None = None
    dropped_step: str = ""
    """Why the next step of the error was dropped; empty if it was sent."""
    violations: tuple[Violation, ...] = ()
    faults: int = 0
    details: Mapping[str, Any] | None = None
    cause: str | Mapping[str, Any] | None = None
    stack_trace: str | None = None
    request_id: str | None = None
    session_id: str | None = None
    principal: str | None = None
    governance: Governance = UNGOVERNED
    rejected: bool = False
    read_only: bool = False
    sent: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The arguments as received; of a next step, text names those that stay as they are instead of repeating them."""
    toolset_facts: Mapping[str, Any] | None = None
    """Facts from the toolset about where it failed; only some wire formats have fields for them."""
    is_cut: bool = False
    """Whether something was left out because of the size limit of clients."""

    def __repr__(self) -> str:
        return f"Failure {self.line}"

    @property
    def line(self) -> str:
        """The failure as one short line: its code, the operation and the message."""
        return f"{self.code} {self.operation}: {bounded(self.message, _PRINTED_AT_MOST)}"

    @property
    def is_corrected(self) -> bool:
        """Whether the next step is the call that was made, with every fault of its arguments corrected."""
        is_own = self.next_step is not None and self.next_step.tool == self.operation
        return is_own and bool(self.violations) and self.violations[0].line is None  # a file's faults stay in the file

    @property
    def said(self) -> str:
        """What failed, and who has to act or what to change where no violation says it."""
        first = self.violations[0] if self.violations else None
        is_listed = first is not None and first.reason != "unknown_tool" and first.line is None
        return self.headline if is_listed else f"{self.headline} {self.remedy}".rstrip()

    @property
    def essence(self) -> str:
        """The message without what an object of essentials has under other keys; it keeps an effect and a wait."""
        if self.headline and self.effect == "none" and self.retry.when != "after_delay":
            return self.said
        return self.message.replace(f" (error id {self.error_id})", "")

    @property
    def public(self) -> dict[str, Any]:
        """The error's public fields, shown in every environment; only some wire formats include them."""
        given = {} if self.is_cut else self.exception.public()
        if not given:
            return {}
        content = {name: json_safe(given[name]) for name in self.exception.content_fields if name in given}
        is_text = _TEXT.issuperset(map(type, given.values()))  # as mostly: it is made safe when the response is encoded
        fields: dict[str, Any] = redact(given if is_text else json_safe(given))
        return fields | content if content else fields

    @property
    def sent_stop_reason(self) -> StopReason | None:
        """The stop reason, if another attempt was possible at all."""
        is_obvious = self.stop_reason in {"not_transient", "rejected"} and self.exception.retry != "after_delay"
        return None if is_obvious else self.stop_reason

    @property
    def recoverable(self) -> bool:
        """Whether the call can succeed later or with other arguments."""
        return self.retry.when != "never"

    @property
    def is_crash(self) -> bool:
        """Whether this is a defect of the server: the log then keeps the stack."""
        return self.category == "internal"

    def meta(self) -> dict[str, Any]:
        """Return the content of `_meta["dev.failsoft/error"]`: the facts for programs, whatever the format."""
        wire: dict[str, Any] = {
            "code": self.code,
            "category": self.category,
            "retry": self.retry.to_dict(),
            "effect": self.effect,
            "error_id": self.error_id,
            "tool": self.tool,
            "operation": self.operation,
            "timestamp": self.timestamp,
        }
        if self.sent_stop_reason is not None:
            wire["stop_reason"] = self.sent_stop_reason
        if isinstance(self.exception, (AuditLogFailed, AuditLockFailed)) and self.exception.original_code is not None:
            wire["original_code"] = self.exception.original_code
        return wire
