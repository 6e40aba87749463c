"""`AskPerson`: asks the person who uses the client for an argument that is missing, or which candidate is meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from failsoft.framework.answer.candidates import candidates, without_guesses
from failsoft.framework.answer.response import RecoveryReceipt
from failsoft.framework.asking import ASK_PERSON
from failsoft.framework.asking.consent import consent_to, gives_consent
from failsoft.framework.asking.forms import CONFIRM, arguments_question, field_for, is_secret
from failsoft.framework.asking.waiting import ask, asks
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Link, Proceed, RecoveryResult, Step
from failsoft.framework.call.rerun import why_not_rerun
from failsoft.framework.errors import ConfigurationError, InvalidArgument, ToolError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.errors.violations import Violation
from failsoft.framework.safe.secret_names import is_secret_name
from failsoft.framework.text import is_named, named
from failsoft.recovery.strategy import note_recovery, strategy


@strategy
class AskPerson:
    """Asks the person who uses the client for an argument, in a short form; the answer is validated like any argument.

    The person is asked for a required argument that is missing or is none of the listed values, and which of the
    candidates is meant where an argument names nothing that exists. A call asks one question at most, and only where
    its client can ask a person; if the operation needs consent (`confirm`), the form asks for that as well. The handler
    runs again only where the work cannot be done twice. Declined, cancelled and unanswered questions leave the failure
    as it was, and so do answers that are not valid.

    Args:
        ask: The parameters that may be asked for: texts, numbers, booleans and listed values. Never secrets.

    Raises:
        TypeError: `ask` is not a list of names, or names a secret: by its name, or at import by its type.
        CONFIG_ERROR: At import: the operation that lists the strategy has no such parameter, or one that a form cannot
            ask for.

    Examples:
        >>> @operation(recovery=[AskPerson(ask=["address"])])
        ... async def send(self, address: str, text: str) -> str: "Send a letter."
    """

    name: ClassVar[str] = ASK_PERSON
    one_for: ClassVar[Literal["operation", "dependency"]] = "operation"
    ask: Sequence[str]

    def __post_init__(self) -> None:
        given: Any = self.ask
        if isinstance(given, str) or not given or not all(isinstance(name, str) for name in given):
            msg = f"AskPerson takes the names of parameters, ask=['title'], not {given!r}"
            raise TypeError(msg)
        for name in filter(is_secret_name, given):
            msg = f"AskPerson never asks for secrets, and '{name}' is the name of one"
            raise TypeError(msg)
        object.__setattr__(self, "ask", tuple(given))

    def links(self, bound: BoundOperation) -> Sequence[Link]:
        """Return the link that completes arguments before they are validated."""
        known = bound.input_schema.get("properties", {})
        for name in self.ask:
            if name not in known:
                _check_is_shared(self, name, bound)
            elif is_secret(name, bound.arguments.accepted):
                msg = f"AskPerson never asks for secrets, and '{name}' of '{bound.name}' is one"
                raise TypeError(msg)
            elif field_for(name, bound.input_schema) is None:
                raise ConfigurationError(issue=f"a form cannot ask for '{name}' of '{bound.name}'")
            elif name == CONFIRM and bound.needs_consent:
                raise ConfigurationError(issue=f"a form asks for consent under the name of '{name}' of '{bound.name}'")
        return [Link(self.name, _completing(self, bound), "repair")] if not known.keys().isdisjoint(self.ask) else []

    async def attempt(self, error: ToolError, call: Call) -> RecoveryResult | None:
        """Return the value of the run with the argument that the person gave; None if no person can be asked.

        Raises:
            ToolError: The error itself, if the person did not give a usable answer; or that of the run.
        """
        fields = _fields(self, error, call)
        if not fields or asks(call) is None or why_not_rerun(call.facts(error)) is not None:
            return None
        given = await _given(fields, call)
        if given is None:
            try:
                raise error
            finally:
                del error  # its traceback holds this frame: a reference cycle
        return RecoveryResult(await call.retry(**given), _said(given), given, rule="arguments")


def _check_is_shared(asking: AskPerson, name: str, bound: BoundOperation) -> None:
    """Reject a parameter that the operation does not have, unless the strategy is for other operations as well."""
    if asking in (bound.declaration.recovery or ()):
        closest = closest_name(name, list(bound.input_schema.get("properties", {})))
        meant = f"; did you mean '{closest}'?" if closest else ""
        raise ConfigurationError(issue=f"AskPerson asks for '{name}', which '{bound.name}' does not have{meant}")


def _completing(asking: AskPerson, bound: BoundOperation) -> Step:
    async def step(call: Call, proceed: Proceed) -> Any:
        try:
            return await proceed(call)
        except InvalidArgument as refused:
            fields = _lacking(asking, refused.violations, bound) if call.attempt == 0 else {}
            if not fields or asks(call) is None:
                raise
            given = await _given(fields, call)
            note_recovery(call, asking.name, "failed" if given is None else "recovered", refused)
            if given is None:
                raise
        return await _with(given, call, proceed)

    return step


async def _with(given: dict[str, Any], call: Call, proceed: Proceed) -> Any:
    call.params = call.bound.with_changes(call.params, given)
    receipt = RecoveryReceipt(ASK_PERSON, _said(given), 0, given, rule="arguments")
    call.recovered(receipt)
    try:
        value = await proceed(call)
    except BaseException:
        call.warn(receipt.message)  # a failure has no receipt
        raise
    if call.told.receipt is receipt:
        call.tell(receipt=replace(receipt, attempts=call.attempt))
    return value


def _said(given: Mapping[str, Any]) -> str:
    return f"A person gave {' and '.join(map(named, given))}"


def _fields(asking: AskPerson, error: ToolError, call: Call) -> dict[str, Any]:
    """Return the fields of a form whose answer could correct the call that failed; empty if none could."""
    if error.violations and (lacking := _lacking(asking, error.violations, call.bound)):
        return lacking
    _, guesses = without_guesses(error.violations, call.bound.name_kinds)
    failed = call.told.failed_reference
    names = candidates(error, guesses, failed, call.params).names
    if not names:
        return {}
    if failed is not None and failed.error is error:
        sought = [failed.path]
    else:
        facts = list(error.public().values())
        texts = {name: call.params[name] for name in asking.ask if isinstance(call.params.get(name), str)}
        sought = [name for name, text in texts.items() if text in facts or is_named(text, error.message)]
    if len(sought) != 1 or sought[0] not in asking.ask:
        return {}
    field = field_for(sought[0], call.bound.input_schema, names)
    return {} if field is None else {sought[0]: field}


def _lacking(asking: AskPerson, violations: Sequence[Violation], bound: BoundOperation) -> dict[str, Any]:
    """Return the fields for arguments that are missing or no listed value, if nothing else is wrong with the call."""
    fields: dict[str, Any] = {}
    for fault in violations:
        field = field_for(fault.path, bound.input_schema) if fault.path in asking.ask else None
        if field is None or not (fault.reason == "missing" or (fault.reason == "enum" and "enum" in field)):
            return {}
        fields[fault.path] = field
    return fields


async def _given(fields: Mapping[str, Any], call: Call) -> dict[str, Any] | None:
    """Ask for arguments, and return those that the person gave; None if they are not there or not valid."""
    bound, consents = call.bound, call.bound.needs_consent
    question = arguments_question(
        bound.name, bound.description, fields, call.params, bound.arguments.accepted, needs_consent=consents
    )
    answer = await ask(call, replace(question, subject=consent_to(call.params)))
    if answer is None or answer.action != "accept" or (consents and not gives_consent(answer)):
        return None
    given = {name: answer.content[name] for name in fields if name in answer.content}
    if any(name not in given or given[name] not in field.get("enum", [given[name]]) for name, field in fields.items()):
        return None
    try:
        arguments = bound.arguments.validate(bound.with_changes(call.params, given))
    except ToolError:
        return None
    if consents:
        call.tell(consent=consent_to(arguments))
    return given
