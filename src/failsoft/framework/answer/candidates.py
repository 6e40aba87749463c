"""The names that a failure offers in place of one that was not found: the closest, or those that its author gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from failsoft.framework.errors import ToolError
from failsoft.framework.errors.corrections import how_far, near_names
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import is_named, quoted

_CANDIDATE_SHOWN = 80
_CANDIDATE_AT_MOST = 120
_CANDIDATES_AT_MOST = 3


@dataclass(frozen=True, slots=True)
class FailedReference:
    """An argument whose look-up found nothing: the error, the location, the kind of name, and the value."""

    error: ToolError
    path: str
    kind: str
    value: Any


def without_guesses(
    violations: Sequence[Violation], name_kinds: Mapping[str, str]
) -> tuple[tuple[Violation, ...], list[str]]:
    """Move suggested ids and handles from the violations to the candidates: a similar id means something else."""
    for item in violations:  # a comprehension costs as much as ten rounds of this
        if item.reason == "reference":
            break
    else:
        return tuple(violations), []
    kept, guesses = [], []
    for item in violations:
        if item.reason == "reference" and item.suggestion is not None and not _is_spelled(item, name_kinds):
            guesses.append(str(item.suggestion))
            item = replace(item, suggestion=None)  # noqa: PLW2901 - the same fault, without the guess
        kept.append(item)
    return tuple(kept), guesses


def _is_spelled(item: Violation, name_kinds: Mapping[str, str]) -> bool:
    return name_kinds.get(item.path.partition(".")[0]) == "spelled"


def is_unrelated(text: str, error: ToolError, failed: FailedReference | None) -> bool:
    """Return whether a suggestion is an id or handle that has nothing in common with the one that was looked up."""
    if failed is None or failed.error is not error or any(map(str.isspace, text)):
        return False
    kind: Any = failed.kind
    return kind != "spelled" and how_far(failed.value, text, what="reference", changes=False, kind=kind) == "drop"


def closest_or_listed(error: ToolError, guesses: Sequence[str], failed: FailedReference | None, headline: str) -> str:
    """Return in words the suggestions that are names and not sentences, the near ones only where there are any."""
    if error.category not in {"not_found", "invalid_argument"} or not (error.suggestions or guesses):
        return ""
    is_spelled = failed is not None and failed.error is error and failed.kind == "spelled"
    texts = [str(item) for item in error.suggestions]
    named = [text for text in texts if is_spelled or not any(map(str.isspace, text))]
    named = [text for text in named if not is_unrelated(text, error, failed)]
    near: list[str] = []
    if failed is not None and failed.error is error and isinstance(failed.value, str):
        near = near_names(failed.value, named)
    texts = [*(near or named), *guesses]
    names = [text for text in texts if 0 < len(text) <= _CANDIDATE_AT_MOST and text[-1] not in ".?!:"]
    return _near_or_listed(names, headline, are_near=bool(near or guesses))


def _near_or_listed(candidates: Sequence[str], headline: str, *, are_near: bool) -> str:
    """Return the candidates that the headline does not name yet: `Closest: "guide/intro.mdx".`."""
    if not candidates:
        return ""
    unnamed = [item for item in candidates[:_CANDIDATES_AT_MOST] if not is_named(item, headline)]
    title = "Closest" if are_near else "Candidates"
    return f"{title}: {', '.join(quoted(item, _CANDIDATE_SHOWN) for item in unnamed)}." if unnamed else ""
