"""Everything an operator can set, read from `FAILSOFT_...` variables and checked once at start-up."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from failsoft.framework.command_lists import Commands
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.named_tokens import NamedTokens
from failsoft.framework.text import bounded

__all__ = ["DetailLevel", "Environment", "SettingRow", "Settings", "WireFormatName"]

Environment: TypeAlias = Literal["production", "staging", "development"]
DetailLevel: TypeAlias = Literal["minimal", "standard", "full"]
WireFormatName: TypeAlias = Literal[
    "auto", "tool_response", "error_response", "problem", "edit_envelope", "system_error", "coded_error"
]
LogLevel: TypeAlias = Literal["TRACE", "DEBUG", "INFO", "SUCCESS", "WARNING", "ERROR", "CRITICAL"]

_PREFIX = "FAILSOFT_"
_MASK = "********"
_STATE_SCHEMES = ("redis", "rediss", "unix", "valkey", "valkeys")


def _split(value: Any) -> Any:
    return [item.strip() for item in value.split(",") if item.strip()] if isinstance(value, str) else value


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _web_address(value: str) -> str:
    if not value.startswith(("http://", "https://")) or len(value.split("://", 1)[1]) == 0:
        msg = "must be an address that starts with http:// or https://"
        raise ValueError(msg)
    return value


def _state_address(value: SecretStr) -> SecretStr:
    """Refuse what is obviously no address of a server; the client for it looks closer. A password may stand in it."""
    scheme, separator, rest = value.get_secret_value().partition("://")
    if scheme not in _STATE_SCHEMES or not separator or not rest:
        msg = f"must be an address that starts with {', '.join(f'{name}://' for name in _STATE_SCHEMES)}"
        raise ValueError(msg)
    return value


Names: TypeAlias = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
WebAddress: TypeAlias = Annotated[str, AfterValidator(_web_address)]
StateAddress: TypeAlias = Annotated[SecretStr, AfterValidator(_state_address)]


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting as `failsoft doctor` shows it; secrets are masked.

    Args:
        name: The name in Python.
        variable: The environment variable.
        value: What is in force.
        default: What would be in force without the variable.
        source: `environment`, `code` or `default`.
        help: What it does, with its unit.
    """

    name: str
    variable: str
    value: str
    default: str
    source: str
    help: str


class Settings(BaseSettings):
    """What an operator can set. Immutable; an empty variable counts as unset.

    What is given goes before the environment: `Settings(max_threads=8)`.

    Raises:
        CONFIG_ERROR: A value is not usable, or there is no such setting. The message names each setting or variable
            and what it accepts, never the value.
    """

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,
        populate_by_name=True,
        validate_default=False,
    )

    environment: Environment = Field(
        default="production", description="Where this runs; decides how much a caller is told."
    )
    detail: DetailLevel | None = Field(default=None, description="How much a caller is told, whatever the environment.")
    wire_format: WireFormatName = Field(default="auto", description="The shape of answers; auto is the toolset's own.")
    debug_stack: bool = Field(
        default=False,
        validation_alias=AliasChoices("FAILSOFT_DEBUG_STACK", "DEBUG_STACK"),
        description="Send stack traces to callers, in any environment.",
    )
    max_response_bytes: int = Field(
        default=1_000_000, ge=1_000, description="Largest answer in bytes, text and structured content together."
    )
    max_request_bytes: int = Field(default=4 * 1024 * 1024, ge=1_000, description="Largest HTTP request in bytes.")
    default_timeout_s: float = Field(
        default=30.0,
        ge=0,
        allow_inf_nan=False,
        description="Limit of a call in seconds where its operation names none; 0: no limit.",
    )
    slow_call_s: float = Field(default=5.0, gt=0, description="Calls that take longer, in seconds, are logged as slow.")
    max_threads: int = Field(default=32, ge=1, le=10_000, description="Worker threads for handlers that are not async.")
    max_abandoned_threads: int = Field(
        default=16, ge=1, le=10_000, description="Worker threads that may still run for calls that gave up."
    )
    metrics_enabled: bool = Field(default=True, description="Record Prometheus metrics.")
    metrics_label_limit: int = Field(
        default=1_000, ge=1, le=100_000, description="Distinct operations in the metrics; the rest share __other__."
    )
    service_name: str = Field(
        default="failsoft", min_length=1, max_length=100, description="Names this service in logs and alerts."
    )
    log_level: Annotated[LogLevel, BeforeValidator(_upper)] = Field(
        default="INFO", description="Least level that is logged."
    )
    log_json: bool = Field(default=True, description="Write logs as JSON lines.")
    auth_token: SecretStr | None = Field(
        default=None, min_length=8, description="Bearer token that callers over HTTP have to send."
    )
    auth_tokens: NamedTokens | None = Field(
        default=None,
        description="Bearer tokens of several callers, as alice:token,bob:token: each is a principal of that name.",
    )
    allowed_hosts: Names = Field(
        default=(), description="Host names that HTTP requests may be addressed to, separated by commas."
    )
    shutdown_grace_s: float = Field(
        default=10.0, ge=0, allow_inf_nan=False, description="Seconds that calls in flight are given at shutdown."
    )
    alert_webhook_url: (
        Annotated[SecretStr, AfterValidator(lambda url: SecretStr(_web_address(url.get_secret_value())))] | None
    ) = Field(default=None, description="Where alerts on critical failures are posted.")
    alert_dedup_s: float = Field(
        default=300.0, ge=0, allow_inf_nan=False, description="Equal alerts within so many seconds are sent once."
    )
    audit_path: Path | None = Field(default=None, description="The audit log; without one, failures are not audited.")
    audit_key: SecretStr | None = Field(
        default=None, min_length=16, description="Key that the entries of the audit log are sealed with (HMAC-SHA256)."
    )
    audit_head_path: Path | None = Field(
        default=None, description="Where the end of the audit log is kept; by default beside it, as <name>.head."
    )
    audit_max_bytes: int = Field(
        default=16 * 1024 * 1024, ge=1_000, description="A file of the audit log of so many bytes is put aside."
    )
    audit_wait_s: float = Field(
        default=5.0,
        gt=0,
        le=600,
        allow_inf_nan=False,
        description="Seconds that a call waits for its audit entry: for other processes, and for the disk.",
    )
    edit_max_edits: int = Field(
        default=1_000, ge=1, le=100_000, description="Edits in one call of the edit toolset, in all files together."
    )
    edit_max_file_bytes: int = Field(
        default=10_000_000, ge=1, description="Largest file in bytes, before or after, that the edit toolset changes."
    )
    edit_max_diff_bytes: int = Field(
        default=100_000, ge=1_000, description="Bytes of diff that a dry run of the edit toolset returns at most."
    )
    edit_lock_timeout_s: float = Field(
        default=10.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds that a call of the edit toolset waits for files that another one is editing.",
    )
    workspace_roles: Names = Field(
        default=("ANTIGRAVITY:read+plan+approve", "WINDSURF:read+write"),
        description="Roles of the workspace toolset and what they may do, as ROLE:read+plan+approve+write, separated "
        "by commas.",
    )
    workspace_principals: Names = Field(
        default=(),
        description="Who may take which role over HTTP, as principal:ROLE+ROLE, separated by commas; "
        "without, a principal keeps the first role that it takes in a workspace.",
    )
    workspace_session_s: float = Field(
        default=28_800.0, gt=0, allow_inf_nan=False, description="Seconds until a workspace session expires."
    )
    workspace_plan_s: float = Field(
        default=604_800.0, gt=0, allow_inf_nan=False, description="Seconds until a plan of a workspace expires."
    )
    workspace_max_file_bytes: int = Field(
        default=10_000_000, ge=1, description="Largest file in bytes that the workspace toolset reads or writes."
    )
    workspace_reports: str = Field(
        default="docs/reports", min_length=1, description="Folder of a workspace's failure reports, relative to it."
    )
    workspace_hard_links: bool = Field(
        default=False,
        description="Read and replace files that have several names, too: one of them may lie outside the workspace.",
    )
    flux_tables: Path | None = Field(
        default=None,
        description="Folder, wheel or sdist with the tables of ModelSEED; by default what is installed.",
    )
    flux_keep_s: float = Field(
        default=86_400.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds that a model or a medium of the flux toolset is kept.",
    )
    flux_keep_count: int = Field(
        default=100, ge=1, le=1_000, description="Models, and media, of the flux toolset that are kept for a caller."
    )
    flux_workers: int = Field(
        default=2, ge=1, le=256, description="Processes that compute for the flux toolset, each with models in memory."
    )
    flux_queue: int = Field(
        default=256, ge=0, le=100_000, description="Calls of the flux toolset that may wait for such a process."
    )
    flux_preload: Names = Field(
        default=("textbook",), description="Models that those processes start with, separated by commas."
    )
    flux_models_in_memory: int = Field(
        default=8, ge=1, le=1_000, description="Models that each of those processes keeps in memory."
    )
    flux_worker_tasks: int = Field(
        default=10_000, ge=1, description="Calls after which such a process is replaced by a fresh one."
    )
    flux_worker_bytes: int = Field(
        default=2_000_000_000, ge=100_000_000, description="Bytes of memory above which it is replaced."
    )
    workspace_policies: Names = Field(
        default=("generic", "rust"),
        description="Policies that judge what is written into a workspace, separated by commas.",
    )
    workspace_preflight: Commands = Field(
        default=(), description='Commands of run_preflight, as JSON: [["cargo", "test"], ["cargo", "clippy"]].'
    )
    workspace_preflight_s: float = Field(
        default=300.0, gt=0, le=86_400, description="Seconds that each command of run_preflight may take."
    )
    flux_templates: Names = Field(
        default=(),
        description="Folders, wheels or sdists with the data of carveme and PyFBA, from which the flux toolset builds "
        "models, separated by commas; by default what is installed.",
    )
    flux_builder: Literal["auto", "homology", "template", "modelseedpy"] = Field(
        default="auto",
        description="How the flux toolset builds models; auto takes the template where functions are known, else "
        "homology.",
    )
    flux_diamond: str = Field(default="diamond", description="The program diamond, by name or path.")
    flux_rast_url: WebAddress | None = Field(
        default=None, description="Endpoint of a RAST service that tells functions of proteins; it is sent sequences."
    )
    flux_modelseedpy_python: Path | None = Field(
        default=None, description="The Python that has ModelSEEDpy; by default the one of this server."
    )
    flux_modelseedpy_templates: Path | None = Field(
        default=None, description="Folder of the templates of ModelSEEDpy, as NAME.json; it ships none."
    )
    recovery_file: Path | None = Field(
        default=None,
        description="TOML file on the recovery of tools, operations and dependencies; read anew when it changes.",
    )
    recovery: str = Field(default="", description="The same as TOML text; what it says comes before the file.")
    state_url: StateAddress | None = Field(
        default=None,
        description="Redis or Valkey where replicas share breakers, budgets, limits and keys: redis://, rediss://, unix://.",
    )
    state_prefix: str = Field(
        default="failsoft", pattern=r"^[A-Za-z0-9_.:-]{1,64}$", description="What every key on that server begins with."
    )
    state_timeout_s: float = Field(
        default=0.25,
        gt=0,
        le=10,
        description="Seconds that connecting to that server may take, and an answer, before calls go on without it.",
    )
    error_docs_url: WebAddress | None = Field(
        default=None, description="Address of the published catalogue pages, for the problem format's type."
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

    @property
    def detail_level(self) -> DetailLevel:
        """How much a caller is told: what `detail` says, else `minimal` in production and `standard` elsewhere."""
        return self.detail or ("minimal" if self.environment == "production" else "standard")

    @classmethod
    def load(cls, **given: Any) -> Self:
        """Return the settings from the environment; `given` goes first. It is what calling the class does.

        Raises:
            CONFIG_ERROR: A value is not usable, or there is no such setting.
        """
        return cls(**given)

    def describe(self, environ: Mapping[str, str] = os.environ) -> list[SettingRow]:
        """Return every setting with its variable, value, default and source, in the order of declaration."""
        return [self._row(name, field, environ) for name, field in type(self).model_fields.items()]

    def _row(self, name: str, field: FieldInfo, environ: Mapping[str, str]) -> SettingRow:
        if name not in self.model_fields_set:
            source = "default"
        else:
            present = {variable.upper() for variable, value in environ.items() if value}
            source = "code" if present.isdisjoint(_variables(name, field)) else "environment"
        value = getattr(self, name)
        return SettingRow(
            name, _variables(name, field)[0], _shown(value), _shown(field.default), source, field.description or ""
        )

    @classmethod
    def unknown_variables(cls, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return the `FAILSOFT_` variables that name no setting, each with the closest one that does (or nothing)."""
        known = [variable for name, field in cls.model_fields.items() for variable in _variables(name, field)]
        strange = sorted(name for name in environ if name.upper().startswith(_PREFIX) and name.upper() not in known)
        tails = {variable.removeprefix(_PREFIX): variable for variable in known}
        closest = {name: difflib.get_close_matches(name.upper().removeprefix(_PREFIX), tails, 1) for name in strange}
        return {name: tails[match[0]] if match else "" for name, match in closest.items()}


def _variables(name: str, field: FieldInfo) -> tuple[str, ...]:
    """Return the environment variables of a field, the proper one first."""
    if isinstance(field.validation_alias, AliasChoices):
        return tuple(str(choice) for choice in field.validation_alias.choices)
    return (_PREFIX + name.upper(),)


def _shown(value: Any) -> str:
    if isinstance(value, SecretStr):
        return _MASK
    if isinstance(value, tuple):
        return ",".join(value) if all(isinstance(item, str) for item in value) else json.dumps(value)
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _misnamed(cls: type[Settings], given: Mapping[str, Any]) -> list[str]:
    """Return a sentence on each name that is no setting; pydantic would ignore it. Those with `_` are its own."""
    known = {*cls.model_fields, *(item for name, field in cls.model_fields.items() for item in _variables(name, field))}
    strange = [name for name in given if name not in known and not name.startswith("_")]
    closest = {name: difflib.get_close_matches(name, cls.model_fields, 1) for name in strange}
    return [
        f"there is no setting '{bounded(name)}'" + (f", did you mean '{match[0]}'?" if match else "")
        for name, match in closest.items()
    ]


def _explained(cls: type[Settings], fault: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Return the sentence on one fault: the setting or its variable, and what it accepts. Never the value."""
    place = str(fault["loc"][0]) if fault["loc"] else ""
    for name, field in cls.model_fields.items():
        variables = _variables(name, field)
        if place == name or place in variables:
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
