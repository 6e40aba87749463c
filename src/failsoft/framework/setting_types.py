"""What settings are made of: the model that reads variables and names those at fault, and types parsed from text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, AliasChoices, BeforeValidator, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.text import bounded

SHARED_HOLDER = "bearer"
"""The principal of all callers that use FAILSOFT_AUTH_TOKEN, which has no name of its own."""
_TOKEN_AT_LEAST = 8
_KEY_AT_LEAST = 32
"""What the SDK's codec asks of a key, in bytes."""
_STATE_SCHEMES = ("redis", "rediss", "unix", "valkey", "valkeys")
_FLEET = re.compile(r"temporal://(?P<server>[^/?#@\s]+:\d{1,5})/(?P<namespace>[^/?#\s]+)")
_LISTS = frozenset({"list_type", "tuple_type", "set_type", "frozen_set_type", "undecoded"})
_PLAIN = {
    **dict.fromkeys(("int_parsing", "int_from_float", "int_type"), "must be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
}
"""What pydantic says of these in the words of a parser."""
_JSON = 'must be JSON, such as ["one", "two"] for a list'


def accepted(fault: Mapping[str, Any]) -> str:
    """Return what the setting of a fault accepts, as the end of a sentence. Never the value."""
    if fault["type"] == "too_short":
        return f"must have at least {fault['ctx']['min_length']} characters"
    message = _PLAIN.get(fault["type"]) or str(fault["msg"])
    message = message.removeprefix("Value error, ").replace("Input should", "must")
    if len(fault["loc"]) > 1:
        return f"item {fault['loc'][1]} {message}"
    return _JSON if fault["type"] in _LISTS else message[:1].lower() + message[1:]


def undecoded(error: SettingsError) -> dict[str, Any]:
    """Return the fault of a variable that is not JSON, though its setting is a list or an object."""
    named = re.search(r'field "(\w+)"', str(error))  # the error has the name nowhere else
    return {"loc": named.groups() if named else (), "type": "undecoded", "msg": str(error)}


def holders_by_token(tokens: SecretStr) -> dict[str, str]:
    """Parse `alice:token,bob:token` into token -> holder. A holder may have several, as during a rotation.

    Raises:
        ValueError: An entry is not of that form, as one of a JSON object is not, its holder is `bearer`, its token is
            shorter than 8 characters, or two have one token.
    """
    found: dict[str, str] = {}
    for entry in filter(None, map(str.strip, tokens.get_secret_value().split(","))):
        holder, _, token = entry.partition(":")
        if not holder or holder[0] in '{["' or len(token) < _TOKEN_AT_LEAST:
            msg = f"must be of the form name:token,name:token, with tokens of at least {_TOKEN_AT_LEAST} characters"
            raise ValueError(msg)
        if holder == SHARED_HOLDER:
            msg = f"must not name a holder {SHARED_HOLDER}: that is the holder of FAILSOFT_AUTH_TOKEN"
            raise ValueError(msg)
        if token in found:
            msg = "must not give the same token twice"
            raise ValueError(msg)
        found[token] = holder
    return found


def web_address(value: str) -> str:
    """Return a web address unchanged.

    Raises:
        ValueError: It does not begin with http:// or https://, or names no host.
    """
    if not value.startswith(("http://", "https://")) or len(value.split("://", 1)[1]) == 0:
        msg = "must be an address that starts with http:// or https://"
        raise ValueError(msg)
    return value


def _state_address(value: SecretStr) -> SecretStr:
    """Reject addresses that are obviously invalid; the store's client checks more. They may contain a password."""
    url = value.get_secret_value()
    scheme, separator, rest = url.partition("://")
    is_own = url == "memory:" or url.startswith("sqlite:")
    if not is_own and (scheme not in _STATE_SCHEMES or not separator or not rest):
        servers = ", ".join(f"{name}://" for name in _STATE_SCHEMES)
        msg = f"must be memory:, sqlite:PATH, or an address that starts with {servers}"
        raise ValueError(msg)
    return value


def _fleet_address(value: str) -> str:
    fleet_of(value)
    return value


def fleet_of(value: str) -> tuple[str, str]:
    """Return `HOST:PORT` and the namespace of the address of a Temporal server.

    Raises:
        ValueError: It is not of the form temporal://HOST:PORT/NAMESPACE.
    """
    found = _FLEET.fullmatch(value)
    if found is None:
        msg = "must be temporal://HOST:PORT/NAMESPACE"
        raise ValueError(msg)
    return found["server"], found["namespace"]


def seal_keys(keys: SecretStr) -> list[str]:
    """Return the keys of a list with commas; the first one seals.

    Raises:
        ValueError: One is shorter than 32 characters, is there twice, or there is none.
    """
    found = [key for key in map(str.strip, keys.get_secret_value().split(",")) if key]
    if not found or min(map(len, found)) < _KEY_AT_LEAST or len({*found}) < len(found):
        msg = f"must be keys of at least {_KEY_AT_LEAST} characters each, no two the same, with commas between them"
        raise ValueError(msg)
    return found


def _split(value: Any) -> Any:
    """Return the names of a list, which is given with commas or as JSON."""
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        return [item.strip() for item in value.split(",") if item.strip()]
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        msg = 'must be names with commas between them, or a JSON list of texts, as ["one", "two"]'
        raise ValueError(msg)
    return found


def _read_commands(value: Any) -> Any:
    """Return commands as tuples. They are given as JSON, since arguments may contain blanks and commas."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, (list, tuple)) or not all(map(_is_command, found)):
        msg = 'must be a JSON list of commands, each a list of texts, as [["cargo", "test"]]'
        raise ValueError(msg)
    return tuple(tuple(command) for command in found)


def _is_command(value: Any) -> bool:
    if not isinstance(value, (list, tuple)) or not value or not value[0]:
        return False
    return all(isinstance(part, str) and "\0" not in part for part in value)


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _checked_by(read: Callable[[SecretStr], Any]) -> AfterValidator:
    """Return what validates a secret by reading it, and leaves it as it is."""
    return AfterValidator(lambda value: (read(value), value)[1])


Names: TypeAlias = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Commands: TypeAlias = Annotated[tuple[tuple[str, ...], ...], NoDecode, BeforeValidator(_read_commands)]
WebAddress: TypeAlias = Annotated[str, AfterValidator(web_address)]
SecretAddress: TypeAlias = Annotated[SecretStr, _checked_by(lambda value: web_address(value.get_secret_value()))]
StateAddress: TypeAlias = Annotated[SecretStr, AfterValidator(_state_address)]
FleetAddress: TypeAlias = Annotated[str, AfterValidator(_fleet_address)]
NamedTokens: TypeAlias = Annotated[SecretStr, _checked_by(holders_by_token)]
SealKeys: TypeAlias = Annotated[SecretStr, _checked_by(seal_keys)]

LogLevel: TypeAlias = Annotated[
    Literal["TRACE", "DEBUG", "INFO", "SUCCESS", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(_upper)
]


def misnamed(cls: Any, given: Mapping[str, Any]) -> list[str]:
    """Return a sentence about each unknown name, which pydantic would ignore; names with `_` are pydantic's own."""
    known = {*cls.model_fields, *(variable for variables in cls.variables().values() for variable in variables)}
    strange = [name for name in given if name not in known and not name.startswith("_")]
    closest = {name: closest_name(name, cls.model_fields) for name in strange}
    return [
        f"there is no setting '{bounded(name)}'" + (f", did you mean '{match}'?" if match else "")
        for name, match in closest.items()
    ]


PREFIX = "FAILSOFT_"
"""The prefix of all variables."""


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
            faults = misnamed(type(self), given)
            if not faults:
                try:
                    super().__init__(**given)
                except ValidationError as error:
                    found = error.errors(include_input=False, include_url=False)
                    faults = [_explained(type(self), fault, given) for fault in found]
                except SettingsError as error:
                    faults = [_explained(type(self), undecoded(error), given)]
            if faults:
                resolution = "Correct or unset the settings that are named, then start again"
                raise ConfigurationError(issue="; ".join(faults), resolution=resolution, details={"faults": faults})

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


def _explained(cls: type[EnvironmentSettings], fault: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Return a sentence about one fault: the setting or its variable, and what it accepts. Never the value."""
    place = str(fault["loc"][0]) if fault["loc"] else ""
    for name, variables in cls.variables().items():
        if place.upper() in {name.upper(), *variables}:
            if name in given:
                return f"{name} {accepted(fault)}"
            present = [variable for variable in variables if os.environ.get(variable)]
            return f"{(present or variables)[0]} {accepted(fault)}"
    return f"{place} {accepted(fault)}"
