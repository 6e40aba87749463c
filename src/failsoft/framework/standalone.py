"""Errors outside a call: `ErrorHandler` answers as the chain does, the factories make responses and errors."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from failsoft.framework.answer.failure import Governance, governance_of
from failsoft.framework.answer.formats import ErrorResponseFormat, field_errors
from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.call import CallScope
from failsoft.framework.call.bound import BoundOperation, Toolbox
from failsoft.framework.call.operation import operation
from failsoft.framework.call.run import answer_failure
from failsoft.framework.call.runtime import Runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.clock import utc_timestamp
from failsoft.framework.errors import (
    CatalogueError,
    InvalidParameter,
    InvariantViolation,
    ToolError,
    UnknownError,
    ValidationFailed,
)
from failsoft.framework.errors.catalogue import lookup
from failsoft.framework.errors.violations import Violation
from failsoft.framework.normalize import normalize
from failsoft.framework.normalize.outcomes import type_name
from failsoft.framework.normalize.reasons import NonExceptionCause, normalized_cause
from failsoft.framework.recorders import bound_late
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.redaction import redact
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import bounded

_NAME_AT_MOST = 128
_MESSAGE_AT_MOST = 1_000
_UNEXPECTED = "An unexpected error occurred. Check server logs for details."
_CANCELLED = "Operation was cancelled"
_FORMAT = "system_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorContext:
    """Where an error occurred: the toolset, the operation, and its arguments.

    Args:
        tool: The name of the toolset.
        operation: The MCP name of the tool.
        params: The arguments as received; redacted in logs and responses.
        request_id: The id of the request, for answer and log.
        session_id: The session named by the caller.
        principal: The caller as authenticated.
    """

    tool: str
    operation: str
    params: Mapping[str, Any] = field(default_factory=dict)
    request_id: str | None = None
    session_id: str | None = None
    principal: str | None = None


class ErrorHandler:
    """Handles a single error as the chain does for a call: normalize, explain, count, log, alert, respond.

    It is for code around tools, such as schedulers and other servers.

    Args:
        tools: The toolsets that a next step may name. Their operations are treated as declared (`read_only`,
            `idempotent`), other operations as if they had no declaration.
        runtime: Settings, metrics and alerts; the process-wide default if left out.

    Examples:
        >>> where = ErrorContext(tool="nightly", operation="import_orders")
        >>> asyncio.run(ErrorHandler().handle_error(TimeoutError(), where)).error.code
        'TIMEOUT'
    """

    def __init__(self, *, tools: Iterable[BaseTool] = (), runtime: Runtime | None = None) -> None:
        self._toolbox = Toolbox(tools)
        (self._anywhere,) = _Anywhere(runtime=runtime).operations.values()

    async def handle_error(self, error: BaseException, context: ErrorContext | Mapping[str, Any]) -> ToolResponse[Any]:
        """Return the answer for an error, as if its operation had been called and failed with it.

        Recovery is not tried: the operation itself is not run.

        Args:
            error: Any exception.
            context: An `ErrorContext`, or a mapping with its names; others (`timestamp`) are ignored.
        """
        known = context if isinstance(context, ErrorContext) else _read(context)
        scope = CallScope(
            request_id=known.request_id,
            session_id=known.session_id,
            principal=known.principal,
            toolbox=self._toolbox,
        )
        bound = self._bound(known)
        response = await answer_failure(bound, normalize(error), known.params, scope, begun=True)
        response.wire = type(bound.wire)("full", bound.wire.docs_url)  # there is no `_meta` for the rest
        return response

    def _bound(self, context: ErrorContext) -> BoundOperation:
        found = self._toolbox.find(context.operation)
        if found is not None and found.tool_name == context.tool:
            return found
        metrics = bound_late(self._anywhere.tool.runtime.metrics, context.tool, context.operation)
        return self._anywhere.under_name(metrics=metrics, tool_name=context.tool, name=context.operation)


class _Anywhere(BaseTool):
    """The toolset of operations that the handler does not know."""

    @operation(input_schema={"type": "object", "additionalProperties": True})
    async def any_operation(self, /, **arguments: Any) -> None:
        """Do nothing; it is never run."""


def _read(context: Mapping[str, Any]) -> ErrorContext:
    params = context.get("params")
    return ErrorContext(
        tool=bounded(str(context.get("tool", "unknown")), _NAME_AT_MOST),
        operation=bounded(str(context.get("operation", "unknown")), _NAME_AT_MOST),
        params=params if isinstance(params, Mapping) else {},
        **{name: context.get(name) for name in ("request_id", "session_id", "principal")},
    )


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """One failure in the format `error_response`: a code for programs, a sentence, and further facts if there are any.

    Args:
        code: The code, such as `DOC_NOT_FOUND`.
        message: One or two sentences for the caller.
        details: Facts that every caller may see; left out of the wire form if there are none.
    """

    code: str
    message: str
    details: Mapping[str, Any] | None = None

    @property
    def error(self) -> bool:
        """Always true; distinguishes a failure from a success in this format."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form, `{"error": true, "code", "message", "details"?}`."""
        wire: dict[str, Any] = {"error": True, "code": self.code, "message": self.message}
        if self.details:
            wire["details"] = dict(self.details)
        return wire


class ErrorResponseFactory:
    """Creates JSON-safe, redacted error responses from codes, exceptions and messages by field.

    Examples:
        >>> response: ErrorResponse = ErrorResponseFactory().create("DOC_NOT_FOUND", "No page a.md.")
        >>> response.to_dict()
        {'error': True, 'code': 'DOC_NOT_FOUND', 'message': 'No page a.md.'}
    """

    def create(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> ErrorResponse:
        """Return the response for a code, a sentence, and facts that every caller may see."""
        safe = redact(json_safe(dict(details))) if details else None
        return ErrorResponse(code, redact_text(bounded(message, _MESSAGE_AT_MOST)), safe)

    def from_exception(self, exception: BaseException) -> ErrorResponse:
        """Return the response for any exception: its code in this format, and its public facts.

        An unknown exception becomes INTERNAL_ERROR with a fixed message; the exception itself is logged.
        """
        if isinstance(exception, (asyncio.CancelledError, concurrent.futures.CancelledError)):
            return self.create(_code(UnknownError), _CANCELLED)
        error = normalize(exception)
        if isinstance(error, UnknownError):
            logger.opt(exception=exception).error("Unhandled exception")
            return self.create(_code(error), _UNEXPECTED)
        if error.violations and isinstance(error, (InvalidParameter, ValidationFailed)):
            return self._aggregated(error, [(item.path or "arguments", item.message) for item in error.violations])
        return self.create(_code(error), error.message, error.public())

    def from_validation_errors(self, field_errors: Mapping[str, Iterable[str]]) -> ErrorResponse:
        """Return the one response for all faults, by field, in the order given."""
        faults = [(name, text) for name, texts in field_errors.items() for text in texts]
        return self._aggregated(ValidationFailed, faults)

    def _aggregated(self, error: ToolError | type[ToolError], faults: list[tuple[str, str]]) -> ErrorResponse:
        message = f"Validation failed: {len(faults)} error{'' if len(faults) == 1 else 's'}"
        return self.create(_code(error), message, field_errors(faults))


def _code(error: ToolError | type[ToolError]) -> str:
    return error.aliases.get(ErrorResponseFormat.name, error.code)


class SystemErrorFactory:
    """Creates the errors of governed tools, to be raised by the caller.

    Every method takes `tool_name=` and the facts of `Governance` by name (`role=`, `session_id=`, ...). Missing facts
    are taken from the call in which the error is raised; the envelope of a call names that call's own tool.
    """

    def __new__(cls, facts: Mapping[str, Any]) -> ToolError:  # type: ignore[misc]  # an error, made from facts
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
        if error.__cause__ is None:
            error.__cause__ = thrown if isinstance(thrown, BaseException) else NonExceptionCause(thrown)
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
    if (tool_name := context.pop("tool_name", None)) is not None:
        vars(error)["tool_name"] = bounded(tool_name)
    if context:
        own = getattr(error, "governance", None)
        given = Governance.from_mapping(context)
        vars(error)["governance"] = given.over(own) if isinstance(own, Governance) else given
    return error


def _as_exception(cause: object) -> BaseException | None:
    return cause if cause is None or isinstance(cause, BaseException) else NonExceptionCause(cause)
