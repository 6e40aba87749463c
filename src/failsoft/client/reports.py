"""What another server says of a failure: quoted whole in our message, with the category that a well-known text has."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from failsoft.client.known_texts import class_of, says_arguments_were_refused, wait_in
from failsoft.framework.errors import ReportedFailure, ToolError
from failsoft.framework.errors.vocabulary import OF_A_CATEGORY
from failsoft.framework.safe.json_safe import dumps, json_safe
from failsoft.framework.safe.redaction import redact, redact_paths
from failsoft.framework.safe.secret_names import is_secret_name
from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.safe.tokens import REDACTED
from failsoft.framework.text import bounded, quoted as as_quotation

_QUOTED_AT_MOST = 2_000
_READ_AT_MOST = 16_000
"""Characters of a text that are looked at: redaction may shorten it."""
_JSON_AT_MOST = 100_000
_STACK = re.compile(r'[Fa](?:(?<=F)ile "[^"\n]{1,300}", line \d|(?<=\ba)t [^\n]{1,300}:\d{1,7}:\d)')
"""A line of a stack; its first letter as a set, so that the search passes over all other letters at once."""
_ESCAPES = re.compile(r'\\+(?=")')
_RANDOM = re.compile(r"[A-Za-z]\S*\d|\d\S*[A-Za-z]")
_MESSAGES = frozenset({"message", "error"})
_FLAGS = frozenset({"success", "isError", "is_error", "error", "ok", "status"})
_SAYS_NOTHING: tuple[Any, ...] = (None, False, True, "", "error", "failed")
"""Values of the flags of an envelope that only say that it is one of a failure."""


def reported(
    text: str, also: Any = None, *, cls: type[ToolError] | None = None, has_host_paths: bool = False
) -> ReportedFailure:
    """Return REPORTED_FAILURE for what a server says, with the category of a text that everybody knows.

    Args:
        text: What it says.
        also: JSON that it sends beside the text.
        cls: The class whose category the failure has, if that is known otherwise.
        has_host_paths: As for `quoted`.
    """
    shown = _shown(text, also, has_host_paths=has_host_paths)
    said = f": {_quotation(shown)}" if shown else " without a reason"
    failure = ReportedFailure(message=f"The tool reported a failure{said}.", report=bounded(shown, _QUOTED_AT_MOST))
    cls = cls or class_of(text)
    if cls is not None:
        categorize(failure, cls)
        failure.retry_after_seconds = wait_in(text)
        failure.effect = "none" if says_arguments_were_refused(text) else None
    return failure


def categorize(error: ToolError, cls: type[ToolError]) -> None:
    """Give an error the category of another class, and with it the advice: when to repeat the call, and who acts."""
    vars(error).update({name: getattr(cls, name) for name in OF_A_CATEGORY})


def quoted(text: str, also: Any = None, *, has_host_paths: bool = False) -> str:
    """Return what another server said in quotation marks: on one line, 2,000 characters at most, without secrets.

    JSON keeps all its fields. Paths of a stack trace are left out.

    Args:
        text: What it said.
        also: JSON that it sent beside the text.
        has_host_paths: Whether all absolute paths are left out: they are the host's where an exception has the text.
    """
    return _quotation(_shown(text, also, has_host_paths=has_host_paths))


def _quotation(shown: str) -> str:
    return as_quotation(shown, _QUOTED_AT_MOST)


def _shown(text: str, also: Any, *, has_host_paths: bool) -> str:
    shown = redacted = _readable(text.strip())
    if also:
        shown = f"{shown} {_written(also, is_whole=False)}"
    if has_host_paths or _STACK.search(shown) is not None:
        shown = redact_paths(shown)
    shown = bounded(shown, _READ_AT_MOST)
    return (shown if shown is redacted else redact_text(shown)).strip()


def _readable(text: str) -> str:
    """Return a text without secrets, with the JSON that it is, or that ends it or one of its lines, as it is quoted."""
    for at in (0, text.find("{")):
        if at >= 0 and (tree := json_in(text[at:])) is not None:
            before = redact_text(text[:at][:_READ_AT_MOST])
            return f"{before}{_written(tree, is_whole=not before)}"
    if "{" in text and "\n" in text:
        return redact_text("\n".join(map(_readable, text[:_READ_AT_MOST].split("\n"))))
    # Without the marks of JSON in a text, the names in it tell what is secret.
    return redact_text(_ESCAPES.sub("", text[:_READ_AT_MOST]))


def json_in(text: str) -> Any:
    """Return the JSON object or array that a text is, or None."""
    if not text.startswith(("{", "[")) or len(text) > _JSON_AT_MOST:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _written(tree: Any, *, is_whole: bool) -> str:
    """Return JSON as it is quoted, without secrets: the message alone if it is all that a whole text says."""
    tree = _opened(json_safe(tree))
    said = _only_message(tree) if is_whole else tree
    if isinstance(said, str):
        return redact_text(said)
    text = dumps(redact(said))
    return text if "'" in text else text.replace('"', "'")


def _opened(tree: Any) -> Any:
    """Return a JSON tree with trees in the place of texts that are JSON, whose names tell what is secret."""
    if isinstance(tree, str):
        inner = json_in(tree)
        return _opened(json_safe(inner)) if inner is not None else _readable(tree) if "{" in tree else tree
    if isinstance(tree, dict):
        named = tree.get("name", tree.get("key"))
        return {name: _opened(_hidden(named if name == "value" else name, item)) for name, item in tree.items()}
    if isinstance(tree, list):
        name = tree[0] if len(tree) == 2 else None  # noqa: PLR2004 - a header as a pair
        return [_opened(_hidden(name, item) if number else item) for number, item in enumerate(tree)]
    return tree


def _hidden(name: Any, item: Any) -> Any:
    """Return the value of a name, or a placeholder: `redact` knows the names of objects, but not those of pairs."""
    if isinstance(item, list) and isinstance(name, str) and name.lower().endswith("tokens"):
        return [_hidden("token", one) if _RANDOM.search(str(one)) else one for one in item]
    return REDACTED if isinstance(item, str) and isinstance(name, str) and is_secret_name(name) else item


def _only_message(tree: Any) -> Any:
    """Return the message of an envelope that says nothing else, or the tree."""
    while isinstance(tree, Mapping):
        facts = [name for name, item in tree.items() if name not in _FLAGS or item not in _SAYS_NOTHING]
        if len(facts) != 1 or facts[0] not in _MESSAGES:
            break
        tree = tree[facts[0]]
    return tree
