"""The accepted names of a parameter: its name in Python, that of the schema, and its aliases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import AliasChoices, AliasPath
from pydantic.fields import FieldInfo

from failsoft.framework.errors.corrections import is_same_spelling

if TYPE_CHECKING:
    from failsoft.framework.arguments.marks import Parameter


def aliases_of(owner: str, parameters: Mapping[str, Parameter]) -> dict[str, str]:
    """Map each declared alias to the name in the schema that it stands for.

    Raises:
        TypeError: Two parameters have one name, in whatever case and with whatever separators.
    """
    owned = [(own, own) for own in parameters]
    owned += [(parameter.name, own) for own, parameter in parameters.items() if parameter.name != own]
    found: dict[str, str] = {}
    for own, parameter in parameters.items():
        for alias in parameter.aliases:
            other = next((other for name, other in owned if is_same_spelling(alias, name)), own)
            if other != own or alias == own or alias in found:
                msg = f"{owner}: the alias '{alias}' of parameter '{own}' is already a name of '{other}'"
                raise TypeError(msg)
            owned.append((alias, own))
            found[alias] = own
    return found


def under_own_names(params: Any, aliases: Mapping[str, str]) -> Any:
    """Return arguments under the names of the schema; one that is also there under that name stays as it was sent."""
    if not isinstance(params, Mapping) or params.keys().isdisjoint(aliases):
        return params
    named: dict[str, Any] = {}
    for name, value in params.items():
        own = aliases.get(name, name)
        named[name if own in named or (own != name and own in params) else own] = value
    return named


def spellings(parameters: Iterable[Parameter]) -> dict[str, frozenset[str]]:
    """Map each name of a parameter with several names to all of its names."""
    found: dict[str, frozenset[str]] = {}
    for parameter in parameters:
        of_the_field = _aliases(FieldInfo.from_annotation(parameter.annotation))
        names = frozenset({parameter.name, *parameter.aliases, *of_the_field})
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
