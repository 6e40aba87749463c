"""What scripted agents make of an answer: of its JSON, of plain lines, or of any server's text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

__all__ = ["Advice", "read_any_text", "read_json_text", "read_lean_text", "read_structured"]

_NEXT = re.compile(r"^Next: (\S+) (\{.*\})$", re.MULTILINE)
_WAIT = re.compile(r"^Wait: ([\d.]+) s$|again in ([\d.]+) seconds?|[Rr]etry after ([\d.]+)", re.MULTILINE)
_FAULT = re.compile(r"^- (\S+?)(?: \([\d,-]+\))?: (.*)$", re.MULTILINE)
_NAMED = re.compile(r"`([A-Za-z_][\w.]*)`")
_INSTEAD = re.compile(r"did you mean `([A-Za-z_][\w.]*)`")
_STOP = re.compile(r"Error id: |[Dd]o not send|unexpectedly")


@dataclass(frozen=True, slots=True)
class Advice:
    """What an answer says to do.

    Args:
        step: The call to make next.
        wait: Whether the same call helps after a wait.
        faults: The parameters that are wrong.
        stop: Whether repeating is no use.
        remark: The message, or the whole text where it has no parts.
        whole: Everything that was read.
        is_uncertain: Whether something may have been changed.
    """

    step: tuple[str, dict[str, Any]] | None
    wait: bool
    faults: tuple[str, ...]
    stop: bool
    remark: str
    whole: str
    is_uncertain: bool = False


def read_structured(text: str, structured: Any) -> Advice:  # noqa: ARG001 - this one does not read the text
    """Read only `structuredContent`."""
    return _of_tree(structured if isinstance(structured, dict) else {})


def read_json_text(text: str, structured: Any) -> Advice:  # noqa: ARG001 - this one does not read the tree
    """Read only the text, which is JSON."""
    try:
        return _of_tree(json.loads(text))
    except ValueError:
        return read_any_text(text, None)


def _of_tree(tree: dict[str, Any]) -> Advice:
    error = tree["error"] if isinstance(tree.get("error"), dict) else tree
    step, message = error.get("next_step"), str(error.get("message", ""))
    when = error.get("retry", {}).get("when")
    if when is None:  # the formats of the seeds have booleans instead
        may_repeat = error.get("retryable", error.get("recoverable", "(error id " not in message))
        when = "after_delay" if _WAIT.search(message) else "after_fix" if may_repeat else "never"
    return Advice(
        (step["tool"], step["arguments"]) if step else None,
        when == "after_delay",
        tuple(fault["path"].split(".")[0] for fault in error.get("violations", ()) if fault["path"]),
        when == "never",
        message,
        json.dumps(error, ensure_ascii=False),
        error.get("effect") in {"unknown", "applied"},
    )


def read_lean_text(text: str, structured: Any) -> Advice:  # noqa: ARG001 - this one does not read the tree
    """Read only the text: plain lines, or the JSON of the seeds' formats."""
    if text.startswith("{"):
        return read_json_text(text, None)
    found = _NEXT.search(text)
    step = (found[1], json.loads(found[2])) if found else None
    in_lines = [match[1] for match in _FAULT.finditer(text)]
    in_first = _NAMED.findall(text.partition("\n")[0]) if "was refused" in text or "INVALID_PARAM" in text else []
    faults = tuple(name.split(".")[0] for name in (*(in_lines or in_first[:1]), *_INSTEAD.findall(text)))
    is_over = bool(_STOP.search(text)) or "Unknown tool" in text
    return Advice(step, bool(_WAIT.search(text)), faults, is_over, text, text, "unknown whether" in text)


def read_any_text(text: str, structured: Any) -> Advice:  # noqa: ARG001 - as above
    """Read any server's text as a model would: names of parameters in it, waits, and unknown tools."""
    lines = [line for line in text.splitlines() if line and not line.startswith(" ")]
    names = tuple(line.split(".")[0] for line in lines if re.fullmatch(r"[A-Za-z_][\w.]*", line))
    is_over = "nknown tool" in text
    return Advice(None, bool(_WAIT.search(text)), names, is_over, text, text)
