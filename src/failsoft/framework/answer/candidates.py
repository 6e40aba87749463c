"""The names that a failure offers in place of one that was not found: the closest, or those that its author gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from failsoft.framework.errors import NextStep, ToolError
from failsoft.framework.errors.corrections import how_far, near_names
from failsoft.framework.errors.meanings import is_opposed
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import is_named, quoted

_CANDIDATE_SHOWN = 80
_CANDIDATE_AT_MOST = 120
CANDIDATES_AT_MOST = 3
_ALIKE = 85
"""Similarity from which it decides the order, from 0 to 100; below, the author of a list knows better."""
OF_LOOKUPS = frozenset({"not_found", "invalid_argument"})
"""Categories of what was looked up in vain."""


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


class Candidates(NamedTuple):
    """What a failure offers in place of what was not found, the closest first.

    Args:
        suggestions: In the words of the error, the sentences of its author among them.
        names: Those that are names, of a look-up.
        near: The names that are similar to the one that was looked up.
    """

    suggestions: Sequence[str] = ()
    names: Sequence[str] = ()
    near: Sequence[str] = ()

    def unsaid(self, headline: str, error: ToolError, step: NextStep | None) -> str:
        """Return the candidates that neither the headline nor the next step names: `Closest: "guide/intro.mdx".`."""
        few = self.names[:CANDIDATES_AT_MOST]
        unnamed = [item for item in few if not is_named(item, headline)]
        if not unnamed or are_in_step(unnamed, error, step):
            return ""
        title = "Closest" if set(few) <= set(self.near) else "Candidates"
        return f"{title}: {', '.join(quoted(item, _CANDIDATE_SHOWN) for item in unnamed)}."


def candidates(error: ToolError, guesses: Sequence[str], failed: FailedReference | None, params: Any) -> Candidates:
    """Return the suggestions of an error, but for ids and handles that are unlike the one that was looked up.

    Args:
        error: The error, with suggestions.
        guesses: More candidates, similar to what was looked up.
        failed: The argument whose look-up found nothing.
        params: The arguments as received.
    """
    failed = failed if failed is not None and failed.error is error else None
    worded = dict(zip(map(str, error.suggestions), error.own_suggestions(), strict=False))
    if failed is not None:
        worded = {text: shown for text, shown in worded.items() if not _is_unrelated(text, failed)}
    worded.update(zip(guesses, guesses, strict=True))
    ranked, near = _ranked([*worded], _sought(error, failed, params))
    near += guesses
    is_spelled = failed is not None and failed.kind == "spelled"
    names = [text for text in ranked if _is_short(text) and (is_spelled or text in near or text.split() == [text])]
    return Candidates([worded[text] for text in ranked], names if error.category in OF_LOOKUPS else (), near)


def _ranked(texts: Sequence[str], sought: str) -> tuple[list[str], list[str]]:
    """Return texts with those first that are similar to what was looked up, and these; else in their author's order."""
    short = [text for text in texts if sought and _is_short(text)]
    near = [text for text in near_names(sought, short, at_most=None) if not is_opposed(sought, text)] if short else []
    nearest = near_names(sought, near, at_least=_ALIKE, at_most=None) if near else []
    likely = [*nearest, *(text for text in texts if text in near and text not in nearest)]
    return [*likely, *(text for text in texts if text not in near)], near


def are_in_step(names: Sequence[str], error: ToolError, step: NextStep | None) -> bool:
    """Return whether the next step says all candidates, or corrects the call to the closest of them."""
    if step is None:
        return False
    arguments = repr(step.arguments)
    return all(repr(name) in arguments for name in (names if error.next_step is not None else names[:1]))


def _sought(error: ToolError, failed: FailedReference | None, params: Any) -> str:
    """Return the text that was looked up in vain: the only argument that the error has or names, if not known."""
    if failed is not None:
        return failed.value if isinstance(failed.value, str) else ""
    if error.category not in OF_LOOKUPS or not isinstance(params, Mapping):
        return ""
    facts = list(error.public().values())
    texts = [text for text in params.values() if isinstance(text, str) and text]
    found = {text for text in texts if text in facts or is_named(text, error.message)}
    return found.pop() if len(found) == 1 else ""


def _is_short(text: str) -> bool:
    """Return whether a text may be a name, and no sentence."""
    return 0 < len(text) <= _CANDIDATE_AT_MOST and text[-1] not in ".?!:"


def _is_unrelated(text: str, failed: FailedReference) -> bool:
    """Return whether a suggestion is an id or handle that has nothing in common with the one that was looked up."""
    if failed.kind == "spelled" or any(map(str.isspace, text)):
        return False
    kind: Any = failed.kind
    return how_far(failed.value, text, what="reference", changes=False, kind=kind) == "drop"
