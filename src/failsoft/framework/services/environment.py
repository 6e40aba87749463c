"""Reads settings from environment variables: reports all problems at once by variable, and never shows secrets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from pydantic import AliasChoices, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.text import bounded

__all__ = ["PREFIX", "EnvironmentSettings", "unknown_variables"]

PREFIX = "FAILSOFT_"
"""The prefix of all variables."""
_OF_CLIENTS = frozenset({"FAILSOFT_TOKEN"})
"""Variables of commands that are clients, not settings of a server."""


class EnvironmentSettings(BaseSettings):
    """Immutable settings; arguments take precedence over the environment, and an empty variable counts as unset.

    Raises:
        CONFIG_ERROR: A value is not usable, or there is no such setting. The message names each setting or variable
            and what it accepts, never the value.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        populate_by_name=True,
        validate_default=False,
    )

    if not TYPE_CHECKING:  # type checkers know the names by the fields

        def __init__(self, **given: Any) -> None:
            faults = _misnamed(type(self), given)
            if not faults:
                try:
                    super().__init__(**given)
                except ValidationError as error:
                    found = error.errors(include_input=False, include_url=False)
                    faults = [_explained(type(self), fault, given) for fault in found]
            if faults:
                resolution = "Correct or unset the settings that are named, then start again"
                raise ConfigurationError(issue="; ".join(faults), resolution=resolution)

    @classmethod
    def load(cls, **given: Any) -> Self:
        """Return the settings from the environment; `given` takes precedence. Calling the class does the same.

        Raises:
            CONFIG_ERROR: A value is not usable, or there is no such setting.
        """
        return cls(**given)

    @classmethod
    def variables(cls) -> dict[str, tuple[str, ...]]:
        """Return the environment variables of every setting, by its name; the preferred variable first."""
        return {name: cls._variables_of(name, field) for name, field in cls.model_fields.items()}

    @classmethod
    def _variables_of(cls, name: str, field: FieldInfo) -> tuple[str, ...]:
        if isinstance(field.validation_alias, AliasChoices):
            return tuple(str(choice) for choice in field.validation_alias.choices)
        return (f"{cls.model_config.get('env_prefix', PREFIX)}{name}".upper(),)


def unknown_variables(
    models: Iterable[type[EnvironmentSettings]], environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the `FAILSOFT_` variables that none of the models reads, each with the closest one that is read, or ""."""
    known = {name for model in models for names in model.variables().values() for name in names}
    known_too = known | _OF_CLIENTS
    strange = sorted(name for name in environ if name.upper().startswith(PREFIX) and name.upper() not in known_too)
    tails = {variable.removeprefix(PREFIX): variable for variable in sorted(known)}
    closest = {name: closest_name(name.upper().removeprefix(PREFIX), tails) for name in strange}
    return {name: tails[match] if match else "" for name, match in closest.items()}


def _misnamed(cls: type[EnvironmentSettings], given: Mapping[str, Any]) -> list[str]:
    """Return a sentence about each unknown name, which pydantic would ignore; names with `_` are pydantic's own."""
    known = {*cls.model_fields, *(variable for variables in cls.variables().values() for variable in variables)}
    strange = [name for name in given if name not in known and not name.startswith("_")]
    closest = {name: closest_name(name, cls.model_fields) for name in strange}
    return [
        f"there is no setting '{bounded(name)}'" + (f", did you mean '{match}'?" if match else "")
        for name, match in closest.items()
    ]


def _explained(cls: type[EnvironmentSettings], fault: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Return a sentence about one fault: the setting or its variable, and what it accepts. Never the value."""
    place = str(fault["loc"][0]) if fault["loc"] else ""
    for name, variables in cls.variables().items():
        if place.upper() in {name.upper(), *variables}:
            if name in given:
                return f"{name} {_accepted(fault)}"
            present = [variable for variable in variables if os.environ.get(variable)]
            return f"{(present or variables)[0]} {_accepted(fault)}"
    return f"{place} {_accepted(fault)}"


def _accepted(fault: Mapping[str, Any]) -> str:
    if fault["type"] == "too_short":
        return f"must have at least {fault['ctx']['min_length']} characters"
    message = str(fault["msg"]).removeprefix("Value error, ").replace("Input should", "must")
    return message[:1].lower() + message[1:]
