"""The forms that a person is asked to fill in: consent to a call, or its arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from failsoft.framework.arguments.accepted import Accepted
from failsoft.framework.arguments.schemas import resolved
from failsoft.framework.asking import Question
from failsoft.framework.safe.json_safe import json_safe
from failsoft.framework.safe.redaction import redact
from failsoft.framework.safe.secret_names import is_secret_name
from failsoft.framework.safe.tokens import REDACTED
from failsoft.framework.text import bounded, named, quoted

CONFIRM = "confirm"
"""The field of a form that gives consent."""
_LINES_AT_MOST = 20
_VALUE_AT_MOST = 300
_TITLE_AT_MOST = 80
_OPTIONS_AT_MOST = 20
PLAIN = frozenset({"string", "number", "integer", "boolean"})
"""The types of the fields of a form."""
BOUNDS = ("minLength", "maxLength", "minimum", "maximum")
FORMATS = ("email", "uri", "date", "date-time")


def consent_question(tool: str, description: str, arguments: Mapping[str, Any], accepted: Accepted) -> Question:
    """Return the question whether a tool may run with these arguments, for a person who sees nothing else.

    Args:
        tool: The name of the tool.
        description: Its description, of which the first line is shown.
        arguments: The validated arguments.
        accepted: What the schema says of them, so what is secret.
    """
    asked = f"May {named(tool)} run with these arguments?" if arguments else f"May {named(tool)} run?"
    lines = [asked, *_purpose(description), *_shown(arguments, accepted)]
    return Question("\n".join(lines), _form({CONFIRM: _consent(tool)}), "confirm")


def arguments_question(
    tool: str,
    description: str,
    missing: Mapping[str, Mapping[str, Any]],
    arguments: Mapping[str, Any],
    accepted: Accepted,
    *,
    needs_consent: bool,
) -> Question:
    """Return the question for arguments of a call, and for consent to it where the tool needs that, too.

    Args:
        tool: The name of the tool.
        description: Its description, of which the first line is shown.
        missing: The fields of the form, by the names of the parameters.
        arguments: All arguments as received.
        accepted: What the schema says of them, so what is secret.
        needs_consent: Whether the tool may run only with consent.
    """
    lines = [f"{named(tool)} needs {' and '.join(map(named, missing))}.", *_purpose(description)]
    lines += [f"Not usable: {named(name)}: {_value(arguments[name])}" for name in missing if name in arguments]
    others = {name: value for name, value in arguments.items() if name not in missing}
    lines += ["The other arguments of this call:", *_shown(others, accepted)] if others else ()
    fields = {**missing, CONFIRM: _consent(tool)} if needs_consent else missing
    return Question("\n".join(lines), _form(fields), "arguments")


def field_for(name: str, schema: Mapping[str, Any], options: Sequence[str] = ()) -> dict[str, Any] | None:
    """Return the field of a form for a parameter; None if a form cannot have it: an object, a list, a union.

    Args:
        name: The name of the parameter.
        schema: The input schema.
        options: The values to choose from, without those that cannot be shown as they are; by default those of its
            schema, if it lists some.
    """
    own = _own(name, schema)
    field: dict[str, Any] = {"type": own.get("type"), "title": bounded(str(own.get("title") or name), _TITLE_AT_MOST)}
    if description := own.get("description"):
        field["description"] = bounded(str(description))
    shown = [item for item in options if item.isprintable() and len(item) <= _VALUE_AT_MOST]
    if options and not shown:
        return None
    listed = shown or own.get("enum", ())
    if listed:
        if own.get("type", "string") != "string" or not all(isinstance(item, str) for item in listed):
            return None
        return {**field, "type": "string", "enum": [*listed][:_OPTIONS_AT_MOST]}
    if own.get("type") not in PLAIN:
        return None
    field.update({key: own[key] for key in BOUNDS if key in own})
    return {**field, "format": own["format"]} if own.get("format") in FORMATS else field


def is_secret(name: str, accepted: Accepted) -> bool:
    """Return whether a parameter is a secret, by its name or its schema: such are neither asked for nor shown."""
    return is_secret_name(name) or accepted.below(name).is_secret


def _own(name: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a parameter without null, with what it refers to."""
    own: Any = schema.get("properties", {}).get(name, {})
    branches = [item for item in own.get("anyOf", ()) if item.get("type") != "null"]
    if len(branches) == 1:
        own = {**branches[0], **{key: own[key] for key in ("title", "description") if key in own}}
    if isinstance(referred := resolved(own.get("$ref"), schema), dict):
        own = {**referred, **own}
    return own  # type: ignore[no-any-return]  # schemas are checked at registration


def _purpose(description: str) -> list[str]:
    """Return what a tool does, in the first line of its description."""
    summary = description.partition("\n")[0]
    return [f"It does this: {quoted(summary)}"] if summary else []


def _form(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields), "required": [*fields]}


def _consent(tool: str) -> dict[str, Any]:
    return {"type": "boolean", "title": "Confirm", "description": f"Let {named(tool)} run."}


def _shown(arguments: Mapping[str, Any], accepted: Accepted) -> list[str]:
    """Return the arguments, one a line, bounded, without secrets."""
    shown = accepted.without_secrets(json_safe(dict([*arguments.items()][:_LINES_AT_MOST])))
    lines = [
        f"- {named(name)}: {REDACTED if value == REDACTED or is_secret_name(name) else _value(value, name)}"
        for name, value in shown.items()
    ]
    left_out = len(arguments) - _LINES_AT_MOST
    return [*lines, f"- and {left_out} more"] if left_out > 0 else lines


def _value(value: Any, name: str = "") -> str:
    """Return a value on one line; of a long one the beginning, with its length."""
    tree = redact({name: json_safe(value)})[name]
    text = tree if isinstance(tree, str) else json.dumps(tree, ensure_ascii=False)
    shown = quoted(text, _VALUE_AT_MOST) if isinstance(tree, str) else bounded(text, _VALUE_AT_MOST).replace("`", "'")
    return f"{shown} ({len(text):,} characters in all)" if len(text) > _VALUE_AT_MOST else shown
