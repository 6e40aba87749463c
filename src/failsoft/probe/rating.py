"""The rules of `failsoft probe`, applied to one answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import TypeAlias

import mcp_types as types

from failsoft.framework.answer.result import object_in, reported_failure
from failsoft.framework.safe.redaction import redact_paths
from failsoft.framework.safe.secrets import redact_text
from failsoft.probe.connection import ServerAnswer
from failsoft.probe.faults import FaultyCall, strings
from failsoft.probe.reader import READ_AT_MOST, mentions, names, without_echo
from failsoft.probe.schemas import ToolInfo

Broken: TypeAlias = tuple[str, str]
"""The name of a rule, and why an answer breaks it."""

FAILURE_BYTES_AT_MOST = 10_000
RESULT_BYTES_AT_MOST = 100_000
"""About 25,000 tokens, where common clients refuse a result."""
_ARGUMENT = frozenset({"missing", "misspelt", "unexpected", "type", "enum", "range", "format", "length"})
_KNOWN_AT_MOST = 200_000
_LOOKED_AT = 100
"""Paths and addresses of an answer that are compared with what the caller knows."""
_REMARK_AT_MOST = 300
"""Characters of a result that may be a remark on what went wrong; longer ones are data."""
_TELLING = 4
"""Characters of a text that tell it from others: shorter ones are everywhere."""
_STACK = re.compile(
    r"Traceback \(most recent call last\)|^[ \t]{0,40}File \"[^\"\n]{1,300}\", line \d+"
    r"|^[ \t]{1,40}at .{1,300}[(\s](?:file://|node:|/|[A-Z]:\\|[\w./-]{1,300}\.(?:js|ts|mjs|cjs|java|kt|cs|rb))"
    r".{0,300}:\d"
    r"|^goroutine \d+ \[|^panic: |thread '[^'\n]{0,200}' panicked at"
    r"|^[ \t]{1,40}at [\w.$]{1,300}\(\w{1,200}\.java:\d+\)"
    r"|^[ \t]{0,40}from [\w./-]{1,300}\.rb:\d+:in|#\d{1,4} /[^\n]{1,300}\.php\(\d+\)",
    re.MULTILINE,
)
_ADDRESS = re.compile(
    r"(?:https?|wss?|postgres(?:ql)?|mysql|redis|amqp|mongodb|grpc)://[^\s'\"`<>)\]}]+"
    r"|(?<![\w.])(?:127\.\d+|10\.\d+|192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254)\.\d+(?:\.\d+)?(?::\d+)?(?![\w.])"
    r"|(?<![\w.-])(?:localhost|[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}"
    r"\.(?:internal|local|lan|corp|svc|cluster\.local|intranet)):?\d*(?!\w)"
    r"|(?<![\w:.])\[?::1\]?:\d+",
    re.IGNORECASE,
)
_PRIVATE = re.compile(
    r"//(?:[^@/\s]*@)?(?:localhost|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|\[?::1|[\w-]+(?=[:/]|$)"
    r"|[\w.-]+\.(?:internal|local|lan|corp|svc|intranet)\b)",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\A\W{0,3}(?:an? )?(?:(?:unexpected |internal |validation |fatal )?(?:error|exception|failure)\b"
    r"(?:\s*[:!(\[-]| (?:executing|running|calling|occurred|while|in|reading|fetching|processing)\b)"
    r"|failed to |failure:|traceback|could not |unable to |[A-Z]\w*(?:Error|Exception): )",
    re.IGNORECASE,
)
_FAILED_WITHIN = re.compile(r": Error(?: - |: )|\b(?:ENOENT|EISDIR|ENOTDIR|EACCES|EPERM|ECONNREFUSED)\b")
_EFFECT = re.compile(
    r"nothing (?:was|has been|is) |nothing else|no changes?|unchanged|rolled back|was refused|before (?:it|anything) "
    r"|not (?:been )?(?:changed|applied|saved|written|created|sent|deleted|modified|executed|run|made|touched)"
    r"|unknown whether|may have been|has been (?:changed|applied|saved|written|created|sent|partly)|partially"
    r"|changed nothing|without (?:changing|any change)",
    re.IGNORECASE,
)
SAYS_FORMAT = re.compile(
    r"expected|must|should|valid|format|pattern|e\.g|example|YYYY|ISO|matching|such as|like ", re.IGNORECASE
)
_OF_HOST = re.compile(
    r"/(?:home|root|usr|var|tmp|etc|opt|srv|Users|private|app|mnt|data|workspaces?|proc|lib|Library|code|build|repo)(?:/|$)"
    r"|/[\w.@+/-]*\.\w{1,6}$|(?:[A-Za-z]:[\\/]|\\\\)\w"
)
_SAYS_EXAMPLE = re.compile(r"e\.g\.|for example|such as|like ['\"`]", re.IGNORECASE)
_OUTSIDE = frozenset({types.INVALID_REQUEST, types.PARSE_ERROR, types.INVALID_PARAMS})
_SAID_CODE = re.compile(
    r"\b(?:[Ee]rror |[Ff]ault )?[Cc]ode[:=]? ?[`\"']?([\w-]{2,40})"
    r"|\b(?:[Ee]rror|ERROR) ([0-9a-fA-F]{3,12}|[A-Z]+-[\w-]+):"
)
_CODE = re.compile(r"(?<![\w-])(?:[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+|E[A-Z]{3,}|[A-Z]{1,4}-?\d{3,5})(?![\w-])")
_ADDRESS_AT_MOST = 500
_OWN_ADDRESS = re.compile(r"//errors\.pydantic\.dev/|//json-schema\.org/|//example\.(?:com|org)", re.IGNORECASE)


@dataclass(slots=True)
class Known:
    """What the caller knows of the server, so that an answer that holds it leaks nothing.

    Args:
        texts: Texts that were sent, or returned by calls that worked, or the descriptions of tools.
    """

    texts: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Take note of a text."""
        if text and text not in self.texts:
            self.texts.append(text[:_KNOWN_AT_MOST])

    def has(self, part: str) -> bool:
        """Return whether the caller knows a part of an answer."""
        return any(part in text for text in self.texts)


def looks_failed(answer: ServerAnswer, tool: ToolInfo | None) -> bool:
    """Return whether a result that is marked as a success says that the call failed."""
    if answer.failed:
        return False
    declared = None if tool is None else tool.output_schema
    if isinstance(answer.structured, Mapping) and reported_failure(answer.structured, declared) is not None:
        return True
    inner = object_in(answer.text)
    if inner:
        return reported_failure(inner, declared) is not None
    is_short = len(answer.text) <= _REMARK_AT_MOST and answer.text.strip().count("\n") <= 1
    return is_short and (_FAILED.match(answer.text) or _FAILED_WITHIN.search(answer.text)) is not None


def rate(fault: FaultyCall, answer: ServerAnswer, tool: ToolInfo, known: Known) -> Iterator[Broken]:
    """Yield the rules that the answer to a faulty call breaks by itself.

    Args:
        fault: The call.
        answer: Its answer.
        tool: The tool that the fault is about.
        known: What the caller knows.
    """
    if answer.kind == "crash":
        yield "crash", "The server ended, or closed the connection, instead of answering this call."
        return
    if answer.kind == "hang":
        yield "hang", "The call was not answered within its time."
        return
    yield from _protocol(fault, answer)
    says_failed = looks_failed(answer, tool) and not _asks_for_error(fault)
    if says_failed:
        yield "failure-as-success", "The text says that the call failed, and the result is marked as a success."
    if answer.failed or says_failed:
        yield from _leaks(fault, answer, known)
        yield from _explained(fault, answer, tool)
    elif fault.is_declared and fault.kind in _ARGUMENT and not mentions(answer.whole, fault.field):
        yield _accepted(fault)
    limit = FAILURE_BYTES_AT_MOST if answer.failed and answer.kind != "malformed" else RESULT_BYTES_AT_MOST
    if answer.size > limit:
        own = fault.field and str(fault.arguments.get(fault.field)) in answer.text and answer.failed
        what = ": it repeats the caller's own argument" if own else ""
        yield "too-large", f"The answer has {answer.size:,} bytes, more than {limit:,}{what}."


def _asks_for_error(fault: FaultyCall) -> bool:
    """Return whether a call that fits the schema asks for a text about an error."""
    return fault.kind == "none" and any("error" in text.lower() for text in strings(fault.arguments))


def _protocol(fault: FaultyCall, answer: ServerAnswer) -> Iterator[Broken]:
    if answer.kind == "malformed" and not answer.size and fault.kind != "control":
        yield "protocol-error", "The answer breaks the protocol, so that a client cannot read it."
    if answer.kind == "error":
        is_unknown = fault.kind == "unknown_tool" and answer.code == types.INVALID_PARAMS
        is_malformed = fault.kind == "control" and answer.code in _OUTSIDE
        if not is_unknown and not is_malformed:
            yield (
                "protocol-error",
                f"The failure is a JSON-RPC error ({answer.code}): most clients do not show its text to the model.",
            )


def _accepted(fault: FaultyCall) -> Broken:
    if fault.kind == "missing":
        return "schema-lies", f"The schema requires `{fault.field}`, and the call succeeds without it."
    what = {
        "unexpected": f"`{fault.field}`, which the tool does not have, was ignored",
        "misspelt": f"`{fault.field}`, a misspelt name, was ignored",
        "type": f"a value of the wrong type for `{fault.field}` was accepted",
        "enum": f"a value of `{fault.field}` that is not one of the listed ones was accepted",
        "range": f"a value of `{fault.field}` beyond its declared range was accepted",
        "format": f"a value of `{fault.field}` that does not have its declared format was accepted",
        "length": f"a value of `{fault.field}` longer than declared was accepted",
    }[fault.kind]
    return "accepted-in-silence", f"The call succeeds: {what}, and the answer does not say so."


def _explained(fault: FaultyCall, answer: ServerAnswer, tool: ToolInfo) -> Iterator[Broken]:
    """Yield what a failure does not say."""
    text = without_echo(answer.text, fault.arguments)
    if fault.kind in _ARGUMENT and fault.is_declared:
        right = fault.accepted if fault.kind == "misspelt" else ()
        if not any(_is_named(text, name) for name in (fault.field, *right)):
            yield "field-not-named", f"The text does not name `{fault.field}`, which is what is wrong."
        if not _says_accepted(fault, text):
            yield "accepted-not-said", _not_said(fault)
    elif fault.kind == "unknown_tool" and not mentions(text, fault.tool):
        yield (
            "accepted-not-said",
            f"The text names neither `{fault.tool}`, the closest tool, nor the tools that there are.",
        )
    is_refusal = fault.kind in _ARGUMENT and _is_named(text, fault.field)
    runs = fault.kind != "unknown_tool" and not is_refusal and answer.code not in _OUTSIDE
    if not tool.is_read_only and runs and not _says_effect(answer, text):
        yield "effect-not-said", "The tool may change something, and the text does not say whether it did."


def _is_named(text: str, name: str) -> bool:
    flat = re.sub(r"[\s_-]", "", name).lower()
    if len(flat) >= _TELLING and flat in re.sub(r"[\s_-]", "", text).lower():
        return True
    return names(text, name) or mentions(text, name) or mentions(text.lower(), name.lower())


def _says_accepted(fault: FaultyCall, text: str) -> bool:
    if fault.kind in {"format", "length"} and SAYS_FORMAT.search(text) is not None:
        return True
    lowered = text.lower()
    return not fault.accepted or any(mentions(lowered, word.lower()) for word in fault.accepted)


def _not_said(fault: FaultyCall) -> str:
    if fault.kind == "misspelt":
        return f"The text does not say that the parameter is called `{fault.accepted[0]}`."
    what = {"type": "of which type it has to be", "enum": "which values there are", "range": "what the bound is"}
    other = "how long or of which form it may be"
    return f"The text does not say what `{fault.field}` accepts: {what.get(fault.kind, other)}."


def _says_effect(answer: ServerAnswer, text: str) -> bool:
    tree = answer.structured if isinstance(answer.structured, Mapping) else {}
    inner = tree.get("error") if isinstance(tree.get("error"), Mapping) else tree
    return _EFFECT.search(text) is not None or '"effect"' in text or (isinstance(inner, Mapping) and "effect" in inner)


def _leaks(fault: FaultyCall, answer: ServerAnswer, known: Known) -> Iterator[Broken]:
    inner = object_in(answer.text)
    parts = [*(strings(inner) if inner else [answer.text]), *strings(answer.structured)]
    whole = "\n".join(parts)[:READ_AT_MOST]  # decoded: an escape of JSON is no path
    if _STACK.search(whole) is not None:
        yield "leaks-stack", "The answer shows a stack trace of the server."
    sent = strings(fault.arguments)
    if (path := _foreign_path(whole, sent, known)) is not None:
        yield "leaks-path", f"The answer shows a path of the host that the caller did not send: {path}"
    if _secret(whole, sent):
        yield "leaks-secret", "The answer shows what looks like a credential; it is redacted here."
    if (address := _foreign_address(whole, sent, known)) is not None:
        yield "leaks-address", f"The answer shows an internal address: {redact_text(address)}"


def _foreign_path(text: str, sent: Iterable[str], known: Known) -> str | None:
    """Return the first path of a text that is neither sent nor known, nor within what is."""
    without = redact_paths(text)
    if without == text:
        return None
    parts = without.split("<path>")
    place = 0
    for before, after in islice(pairwise(parts), _LOOKED_AT):
        place = text.find(before, place) + len(before)
        end = text.find(after[:20], place) if after[:20] else len(text)
        path = text[place : end if end > place else len(text)][:300].strip("'\"`")
        is_sent = any(len(given) > 1 and (given in path or path.rstrip("/.") in given) for given in sent)
        is_cut = "..." in path or "…" in path  # by the library that quotes the caller's own argument
        if _OF_HOST.match(path) is None or is_cut:
            continue
        is_example = _SAYS_EXAMPLE.search(text[max(0, place - 80) : place]) is not None
        if (
            path
            and not is_sent
            and not is_example
            and not known.has(path.rstrip("/.:,"))
            and not _is_below_known(path, known)
        ):
            return path
        place = max(end, place)
    return None


def _is_below_known(path: str, known: Known) -> bool:
    """Return whether the folder of a path is one that the caller knows."""
    folder = path.rstrip("/").rpartition("/")[0]
    return folder.count("/") > 1 and known.has(folder)


def _foreign_address(text: str, sent: Iterable[str], known: Known) -> str | None:
    for found in islice(_ADDRESS.finditer(text), _LOOKED_AT):
        address = found[0][:_ADDRESS_AT_MOST]
        is_url = "://" in address
        if _OWN_ADDRESS.search(address) or (is_url and _PRIVATE.search(address) is None):
            continue
        is_sent = any(address in given or (len(given) >= _TELLING and given in address) for given in sent)
        if not is_sent and not known.has(address):
            return address
    return None


def _secret(text: str, sent: Iterable[str]) -> bool:
    without = text
    for given in sent:
        if len(given) >= _TELLING:
            without = without.replace(given, "sent")
    return redact_text(without) != without


def code_of(answer: ServerAnswer) -> str:
    """Return the code by which a program can tell this failure from others; empty if it has none."""
    tree = answer.structured if isinstance(answer.structured, Mapping) else object_in(answer.text)
    inner = tree.get("error") if isinstance(tree.get("error"), Mapping) else tree
    for key in ("code", "error_code", "errorCode", "type"):
        if isinstance(inner, Mapping) and isinstance(inner.get(key), (str, int)):
            return str(inner[key])
    beginning = answer.text[:500]
    if said := _SAID_CODE.search(beginning):
        return said[1] or said[2]
    found = _CODE.search(beginning)
    return found[0] if found else "" if answer.code is None else str(answer.code)


def unstable(first: ServerAnswer, second: ServerAnswer) -> Broken | None:
    """Return the broken rule if the same faulty call was answered differently the second time."""
    if first.kind != second.kind or first.failed != second.failed:
        return "unstable-code", "The same call, made twice, was answered in two ways."
    one, other = code_of(first), code_of(second)
    if one != other:
        return "unstable-code", "The same call, made twice, had two codes."
    return None
