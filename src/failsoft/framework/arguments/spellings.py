"""The accepted names of a parameter: its name in Python and its aliases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import AliasChoices, AliasPath
from pydantic.fields import FieldInfo

if TYPE_CHECKING:
    from failsoft.framework.arguments.signature import Parameter

__all__ = ["spellings", "with_changes"]


def spellings(parameters: Iterable[Parameter]) -> dict[str, frozenset[str]]:
    """Map each name of a parameter with several names to all of its names."""
    found: dict[str, frozenset[str]] = {}
    for parameter in parameters:
        names = frozenset({parameter.name, *_aliases(FieldInfo.from_annotation(parameter.annotation))})
        if len(names) > 1:
            found |= dict.fromkeys(names, names)
    return found


def with_changes(
    params: Mapping[str, Any], changed: Mapping[str, Any], known: Mapping[str, frozenset[str]]
) -> dict[str, Any]:
    """Return the arguments with changes in them: one that is changed is not also there under another name.

    Args:
        params: As received.
        changed: The new values, under any name of their parameters.
        known: See `spellings`.
    """
    if not known:
        return {**params, **changed}
    replaced = {name for given in changed for name in known.get(given, ())}
    return {**{name: value for name, value in params.items() if name not in replaced}, **changed}


def _aliases(field: FieldInfo) -> list[str]:
    alias = field.validation_alias if field.validation_alias is not None else field.alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return [str(choice.path[0]) if isinstance(choice, AliasPath) else choice for choice in choices if choice]
