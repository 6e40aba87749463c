"""The framework's settings, read from `FAILSOFT_...` variables and checked once at start-up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr

from failsoft.framework.services.environment import EnvironmentSettings
from failsoft.framework.services.setting_types import NamedTokens, Names, Networks, WebAddress, web_address

__all__ = [
    "DetailLevel",
    "Environment",
    "Settings",
]

Environment: TypeAlias = Literal["production", "staging", "development"]
DetailLevel: TypeAlias = Literal["minimal", "standard", "full"]
LogLevel: TypeAlias = Literal["TRACE", "DEBUG", "INFO", "SUCCESS", "WARNING", "ERROR", "CRITICAL"]

_STATE_FILES = ("sqlite:", "memory+sqlite:")
_STATE_SCHEMES = ("redis", "rediss", "unix", "valkey", "valkeys")


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _secret_address(value: SecretStr) -> SecretStr:
    web_address(value.get_secret_value())
    return value


def _state_address(value: SecretStr) -> SecretStr:
    """Reject addresses that are obviously invalid; the store's client checks more. They may contain a password."""
    url = value.get_secret_value()
    scheme, separator, rest = url.partition("://")
    is_own = url == "memory:" or url.startswith(_STATE_FILES)
    if not is_own and (scheme not in _STATE_SCHEMES or not separator or not rest):
        servers = ", ".join(f"{name}://" for name in _STATE_SCHEMES)
        msg = f"must be memory:, sqlite:PATH, or an address that starts with {servers}"
        raise ValueError(msg)
    return value


SecretAddress: TypeAlias = Annotated[SecretStr, AfterValidator(_secret_address)]
StateAddress: TypeAlias = Annotated[SecretStr, AfterValidator(_state_address)]


_DETAIL: dict[Environment, DetailLevel] = {"production": "minimal", "staging": "standard", "development": "full"}


class Settings(EnvironmentSettings):
    """Settings for all toolsets; a toolset's own settings are in its `ToolsetSettings`.

    Immutable; an empty variable counts as unset. Arguments take precedence over the environment:
    `Settings(max_threads=8)`.

    Raises:
        CONFIG_ERROR: A value is not usable, or there is no such setting. The message names each setting or variable
            and what it accepts, never the value.
    """

    environment: Environment = Field(
        default="production", description="Where this runs; decides how much detail callers see."
    )
    detail: DetailLevel | None = Field(
        default=None, description="How much detail callers see, whatever the environment."
    )
    wire_format: str = Field(
        default="auto",
        pattern=r"^[a-z][a-z0-9_]*$",
        description="The shape of answers: auto (the toolset's own) or the name of a wire format.",
    )
    answer: Literal["lean", "json", "full"] = Field(
        default="lean",
        description="A failure as plain lines for a model, as compact JSON, or as JSON with everything.",
    )
    output_schema: Literal["short", "full", "off"] = Field(
        default="short",
        description="Output schemas in `tools/list`: whether the call worked, that of the whole answer, or none.",
    )
    debug_stack: bool = Field(
        default=False,
        validation_alias=AliasChoices("FAILSOFT_DEBUG_STACK", "DEBUG_STACK"),
        description="Send stack traces to callers, in any environment.",
    )
    max_response_bytes: int = Field(
        default=1_000_000, ge=1_000, description="Largest answer in bytes, text and structured content together."
    )
    max_request_bytes: int = Field(default=4 * 1024 * 1024, ge=1_000, description="Largest HTTP request in bytes.")
    fast_lane: Literal["on", "off"] = Field(
        default="on",
        description="Whether plain calls over HTTP bypass the SDK's request handling; nothing else differs.",
    )
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
    log_json: bool | None = Field(default=None, description="Write logs as JSON lines; unset: not on a terminal.")
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
    header_timeout_s: float = Field(
        default=10.0, gt=0, le=3_600, description="Seconds in which the whole header of an HTTP request has to come."
    )
    body_timeout_s: float = Field(
        default=10.0, gt=0, le=3_600, description="Seconds of silence after which an unfinished body is given up."
    )
    max_connections: int = Field(
        default=1_000, ge=1, le=1_000_000, description="HTTP connections of one process; the system may grant fewer."
    )
    max_connections_per_address: int = Field(
        default=256, ge=1, le=1_000_000, description="HTTP connections of one address, or of one IPv6 /64 network."
    )
    trusted_proxies: Networks = Field(
        default=(),
        description="Addresses and networks of proxies, separated by commas: the bound per address is not theirs.",
    )
    shutdown_grace_s: float = Field(
        default=10.0, ge=0, allow_inf_nan=False, description="Seconds that calls in flight are given at shutdown."
    )
    alert_webhook_url: SecretAddress | None = Field(
        default=None, description="Where alerts on critical failures are posted."
    )
    alert_alertmanager_url: SecretAddress | None = Field(
        default=None, description="Base address of an Alertmanager that alerts on critical failures are posted to."
    )
    alert_dedup_s: float = Field(
        default=300.0, ge=0, allow_inf_nan=False, description="Equal alerts within so many seconds are sent once."
    )
    audit_path: Path | None = Field(default=None, description="The audit log; without one, failures are not audited.")
    audit_key: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="Key that the entries of the audit log are sealed with (HMAC-SHA256); by default that of the file.",
    )
    audit_key_file: Path | None = Field(
        default=None,
        description="File that holds this key; by default one in the user's state folder, which is made if need be.",
    )
    audit_head_path: Path | None = Field(
        default=None,
        description="Where the end of the audit log is kept; by default (state:) in the user's state folder.",
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
    recovery_file: Path | None = Field(
        default=None,
        description="TOML file with the recovery of tools, operations and dependencies; reread when it changes.",
    )
    recovery: str = Field(default="", description="The same as TOML text; what it says comes before the file.")
    state_url: StateAddress | None = Field(
        default=None,
        description="Where breakers, budgets, limits, keys, sessions and plans are kept: memory:, sqlite:PATH for the "
        "processes of one machine, or redis://, rediss://, unix:// for replicas.",
    )
    state_prefix: str = Field(
        default="failsoft", pattern=r"^[A-Za-z0-9_.:-]{1,64}$", description="What every key on that server begins with."
    )
    state_timeout_s: float = Field(
        default=0.25,
        gt=0,
        le=10,
        description="Time limit in seconds for connecting to that server, and for each answer.",
    )
    state_without_store: Literal["warn", "refuse"] = Field(
        default="warn",
        description="With several workers and state in memory, where no key and no session holds: log it, or refuse.",
    )
    state_quota_records: int = Field(
        default=100_000, ge=1, description="Durable records (keys, sessions, plans, handles) that one caller may keep."
    )
    state_quota_bytes: int = Field(
        default=256 * 1024 * 1024, ge=1_000, description="Bytes of durable records that one caller may keep."
    )
    error_docs_url: WebAddress | None = Field(
        default=None, description="Address of the published catalogue pages, for the problem format's type."
    )

    @property
    def detail_level(self) -> DetailLevel:
        """The level of detail for callers: `detail` if set, otherwise by environment."""
        return self.detail or _DETAIL[self.environment]
