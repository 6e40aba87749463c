"""`SystemErrorFactory`: typed errors with the fields of seed 001, from any exception or value."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from failsoft.framework.answer.governance import Governance, governance_of
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.errors import CatalogueError, InvariantViolation, ToolError, UnknownError
from failsoft.framework.errors.catalogue import lookup
from failsoft.framework.errors.violations import Violation
from failsoft.framework.normalize import normalize
from failsoft.framework.normalize.outcomes import type_name
from failsoft.framework.normalize.reasons import NonExceptionCause, normalized_cause
from failsoft.framework.safe.redaction import redact_text
from failsoft.framework.text import bounded

_FORMAT = "system_error"
_MESSAGE_AT_MOST = 1_000


class SystemErrorFactory:
    """Creates the errors of governed tools, to be raised by the caller.

    Every method takes `tool_name=` and the facts of `Governance` by name (`role=`, `session_id=`, ...). Missing facts
    are taken from the call in which the error is raised; the envelope of a call names that call's own tool.

    Source: seed 001, section 4.
    """

    def __new__(cls, facts: Mapping[str, Any]) -> ToolError:  # type: ignore[misc]  # as the seed builds an error
        """Return the error for one mapping with `error_code`, `human_message`, `tool_name`, `cause` and other facts.

        Raises:
            CatalogueError: There is no such code.
        """
        given = dict(facts)
        return cls.tool_failure(given.pop("error_code", ""), **given)

    @classmethod
    def from_unknown(
        cls, thrown: object, *, error_code: str | None = None, human_message: str | None = None, **context: str | None
    ) -> ToolError:
        """Return the typed error for an exception, a text, a mapping, or any other value that describes a failure.

        Args:
            thrown: What was thrown. A typed error is kept.
            error_code: The code of the error; by default the one found by normalization.
            human_message: The sentence; by default the class's own.
            **context: Facts of `Governance`.

        Raises:
            CatalogueError: There is no such code.
        """
        if isinstance(thrown, ToolError):
            return _with(thrown, context)
        known = normalize(thrown) if isinstance(thrown, BaseException) else UnknownError(type_name=type_name(thrown))
        if error_code is None and human_message is None:
            error = _with(known, context)
        else:
            error = _made(error_code or known.code, human_message, context)
        error.__cause__ = error.__cause__ or (
            thrown if isinstance(thrown, BaseException) else NonExceptionCause(thrown)
        )
        return error

    @classmethod
    def invariant_violation(
        cls, invariant_id: str, *, human_message: str | None = None, cause: object = None, **context: str | None
    ) -> ToolError:
        """Return INVARIANT_VIOLATION for the invariant of that id.

        Args:
            invariant_id: The id, which never changes.
            human_message: The sentence; by default one that names the invariant.
            cause: What the check saw.
            **context: Facts of `Governance`.
        """
        error = InvariantViolation(invariant_id=invariant_id)
        if human_message is not None:
            error = InvariantViolation(human_message, invariant_id=invariant_id)
        error.__cause__ = _as_exception(cause)
        return _with(error, context)

    @classmethod
    def tool_failure(
        cls,
        error_code: str,
        *,
        human_message: str | None = None,
        cause: object = None,
        field: str = "arguments",
        **context: str | None,
    ) -> ToolError:
        """Return the error of a code, under its own name or the one that the format `system_error` gives it.

        Args:
            error_code: A code of the catalogue.
            human_message: The sentence; by default the class's own.
            cause: What it was raised from.
            field: For faults of input, where the fault is.
            **context: Facts of `Governance`.

        Raises:
            CatalogueError: There is no such code.
        """
        error = _made(error_code, human_message, context, field=field)
        error.__cause__ = _as_exception(cause)
        return error

    @classmethod
    def startup_failure(
        cls, error_code: str, *, human_message: str | None = None, cause: object = None, **context: str | None
    ) -> ToolError:
        """Return the error of a server that cannot start; it belongs to no session. Arguments as `tool_failure`."""
        error = _made(error_code, human_message, context)
        error.__cause__ = _as_exception(cause)
        return error

    @classmethod
    def to_envelope(cls, error: ToolError, *, tool_name: str | None = None) -> dict[str, Any]:
        """Return the eleven keys of an error outside a call, as at start-up, for operators."""
        governance = governance_of(error, None, None, {})
        return {
            "error_code": error.code_in(_FORMAT),
            "human_message": redact_text(bounded(error.message, _MESSAGE_AT_MOST)),
            **{name: getattr(governance, name) for name in ("role", "session_id", "workspace_root")},
            "tool_name": tool_name or getattr(error, "tool_name", None) or "server",
            **{name: getattr(governance, name) for name in ("invariant_id", "phase_id", "plan_hash")},
            "cause": normalized_cause(error.__cause__),
            "timestamp": utc_timestamp(),
        }


def _made(code: str, message: str | None, context: dict[str, str | None], *, field: str = "arguments") -> ToolError:
    kind = lookup(code)
    if kind is None:
        msg = f"there is no error code {bounded(code)}: declare a class for it first"
        raise CatalogueError(msg)
    by_reason = kind.aliases_by_reason.get(_FORMAT, {})
    reason: Any = next((reason for reason, alias in by_reason.items() if alias == code.strip().upper()), None)
    sentence = message or inspect.cleandoc(kind.__doc__ or "").partition("\n")[0]
    faults = [Violation(path=field, reason=reason, message=sentence)] if reason is not None else []
    if message is None and not faults:
        try:
            return _with(kind(), context)
        except TypeError:  # it has required fields that were not given
            pass
    return _with(kind(message=sentence, violations=faults), context)


def _with(error: ToolError, context: dict[str, str | None]) -> ToolError:
    unknown = context.keys() - Governance.__dataclass_fields__.keys() - {"tool_name"}
    if unknown:
        known = ", ".join(["tool_name", *Governance.__dataclass_fields__])
        msg = f"unknown facts: {', '.join(sorted(unknown))}; an error takes {known}"
        raise TypeError(msg)
    context = dict(context)
    if (tool_name := context.pop("tool_name", None)) is not None:
        vars(error)["tool_name"] = bounded(tool_name)
    if context:
        own = getattr(error, "governance", None)
        given = Governance.from_mapping(context)
        vars(error)["governance"] = given.over(own) if isinstance(own, Governance) else given
    return error


def _as_exception(cause: object) -> BaseException | None:
    if cause is None or isinstance(cause, BaseException):
        return cause
    return NonExceptionCause(cause)
