"""Settings from `FAILSOFT_` variables, and those of a toolset of its own."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from pydantic import AliasChoices, Field, SecretStr

from failsoft.framework.setting_types import (
    PREFIX,
    EnvironmentSettings,
    FleetAddress,
    LogLevel,
    NamedTokens,
    Names,
    SealKeys,
    SecretAddress,
    StateAddress,
    WebAddress,
)

Environment: TypeAlias = Literal["production", "staging", "development"]
DetailLevel: TypeAlias = Literal["minimal", "standard", "full"]


_DETAIL: dict[Environment, DetailLevel] = {"production": "minimal", "staging": "standard", "development": "full"}


class Settings(EnvironmentSettings):
    """Settings for all toolsets; a toolset's own settings are in its `ToolsetSettings`.

    Immutable; an empty variable counts as unset. Arguments take precedence over the environment:
    `Settings(max_threads=8)`.

    Raises:
        CONFIG_ERROR: A value is not usable, or there is no such setting. The message names each setting or variable
            and what it accepts, never the value.

    Examples:
        >>> Settings(environment="production", max_threads=8).max_threads
        8
    """

    environment: Environment = Field(
        default="production", description="Where this runs, which decides how much detail callers see."
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
    """`FAILSOFT_ANSWER`; the variable of every field is its name, prefixed."""
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
    default_timeout_s: float = Field(
        default=30.0,
        ge=0,
        allow_inf_nan=False,
        description="Time limit of a call in seconds if its operation has none of its own; 0: no limit.",
    )
    job_inline_s: float = Field(
        default=2.0,
        ge=0,
        le=60,
        description="Seconds that a call of a job operation waits for the result before its answer is a job id.",
    )
    job_keep_s: float = Field(
        default=86_400.0, gt=0, le=31_536_000, description="Seconds that an ended job and its answer are kept."
    )
    job_timeout_s: float = Field(
        default=3_600.0,
        ge=0,
        allow_inf_nan=False,
        description="Time limit of a job in seconds if its operation has none of its own; 0: no limit.",
    )
    job_processes: int = Field(
        default=4,
        ge=0,
        le=1_000,
        description="Processes of each server for jobs; 0: jobs run in the process of the server.",
    )
    fleet_url: FleetAddress | None = Field(
        default=None,
        description="Where jobs run: unset, in processes of each server; temporal://HOST:PORT/NAMESPACE, in those that "
        "`failsoft worker` starts on any machine.",
    )
    slow_call_s: float = Field(default=5.0, gt=0, description="Calls that take longer, in seconds, are logged as slow.")
    max_threads: int = Field(
        default=32,
        ge=1,
        le=10_000,
        description="Worker threads for handlers that are not async; an authenticated caller has three quarters.",
    )
    max_abandoned_threads: int = Field(
        default=16,
        ge=1,
        le=10_000,
        description="Worker threads that may keep running for calls of one caller that were given up.",
    )
    metrics_enabled: bool = Field(default=True, description="Record Prometheus metrics.")
    metrics_label_limit: int = Field(
        default=1_000,
        ge=1,
        le=100_000,
        description="Operations with labels of their own in the metrics; the others share __other__.",
    )
    metrics_principals: Literal["off", "hash", "name"] = Field(
        default="off",
        description="How calls are counted by caller: not at all, by a hash of the name, or by the name.",
    )
    service_name: str = Field(
        default="failsoft", min_length=1, max_length=100, description="Names this service in logs and alerts."
    )
    log_level: LogLevel = Field(default="INFO", description="Lowest level that is logged.")
    log_json: bool | None = Field(
        default=None, description="Write logs as JSON lines; unset: unless they go to a terminal."
    )
    auth_token: SecretStr | None = Field(
        default=None, min_length=8, description="Bearer token that callers over HTTP have to send."
    )
    auth_tokens: NamedTokens | None = Field(
        default=None,
        description="Bearer tokens of several callers, as alice:token,bob:token: each is a principal of that name.",
    )
    admin_token: SecretStr | None = Field(
        default=None, min_length=8, description="Bearer token of the controls over HTTP; without it they are off."
    )
    allowed_hosts: Names = Field(
        default=(), description="Host names that HTTP requests may be addressed to, separated by commas."
    )
    header_timeout_s: float = Field(
        default=10.0, gt=0, le=3_600, description="Seconds in which the whole header of an HTTP request has to arrive."
    )
    body_timeout_s: float = Field(
        default=10.0,
        gt=0,
        le=3_600,
        description="Seconds without data after which an incomplete request body is given up.",
    )
    max_connections: int = Field(
        default=1_000, ge=8, le=1_000_000, description="HTTP connections of one process; the system may grant fewer."
    )
    max_calls_per_principal: int = Field(
        default=100, ge=1, le=1_000_000, description="Calls over HTTP that one authenticated caller may have in flight."
    )
    proxy_max_tools: int = Field(
        default=2_000,
        ge=1,
        le=100_000,
        description="Largest number of tools of one server that `failsoft proxy` offers.",
    )
    shutdown_grace_s: float = Field(
        default=10.0, ge=0, allow_inf_nan=False, description="Seconds that calls in flight have to end at shutdown."
    )
    worker_stall_s: float = Field(
        default=30.0,
        gt=0,
        le=86_400,
        description="Seconds after which a blocked event loop counts as stalled: it is logged, and a worker replaced.",
    )
    objective: float = Field(
        default=0.99, gt=0, lt=1, description="The share of calls that should not fail through a fault of the server."
    )
    alert_webhook_url: SecretAddress | None = Field(
        default=None, description="Where alerts on critical failures are posted."
    )
    alert_alertmanager_url: SecretAddress | None = Field(
        default=None, description="Base address of the Alertmanager to which alerts on critical failures are posted."
    )
    alert_dedup_s: float = Field(
        default=300.0, ge=0, allow_inf_nan=False, description="Seconds within which equal alerts are sent only once."
    )
    audit_path: Path | None = Field(default=None, description="The audit log; without one, failures are not audited.")
    audit_key: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="Key of the HMAC-SHA256 over the entries of the audit log; by default that of the key file.",
    )
    audit_key_file: Path | None = Field(
        default=None,
        description="File with this key; by default one in the user's state folder, created if it is missing.",
    )
    audit_head_path: Path | None = Field(
        default=None,
        description="File that records the end of the audit log; by default (state:) one in the user's state folder.",
    )
    audit_max_bytes: int = Field(
        default=16 * 1024 * 1024, ge=1_000, description="Size in bytes at which the audit log is rotated."
    )
    audit_keep_days: float | None = Field(
        default=None, gt=0, le=36_500, description="Days for which audit entries are kept at least; unset: forever."
    )
    audit_keep_bytes: int | None = Field(
        default=None, ge=1_000, description="Bytes of rotated audit files that are kept; unset: all of them."
    )
    audit_archive: Path | None = Field(
        default=None, description="Folder that expired audit files are moved to; unset: they are deleted."
    )
    audit_wait_s: float = Field(
        default=5.0,
        gt=0,
        le=600,
        allow_inf_nan=False,
        description="Seconds that a call waits for its audit entry: for other processes and for the disk.",
    )
    recovery_file: Path | None = Field(
        default=None,
        description="TOML file with the recovery of tools, operations and dependencies; reloaded when it changes.",
    )
    recovery: str = Field(default="", description="The same as TOML text; it takes precedence over the file.")
    state_url: StateAddress | None = Field(
        default=None,
        description="Where breakers, budgets, limits, keys, sessions and plans are kept: memory:, sqlite:PATH for the "
        "processes of one machine, or redis://, rediss://, unix:// for replicas.",
    )
    state_prefix: str = Field(
        default="failsoft", pattern=r"^[A-Za-z0-9_.:-]{1,64}$", description="Prefix of every key in a Redis store."
    )
    state_key: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="Key of the hashes of arguments in the store, the same for all replicas; on one machine by default "
        "that of a file in the user's state folder, created if it is missing.",
    )
    state_timeout_s: float = Field(
        default=0.25,
        gt=0,
        le=10,
        description="Seconds that connecting to the Redis server, and each of its replies, may take.",
    )
    state_without_store: Literal["warn", "refuse"] = Field(
        default="warn",
        description="With several workers and state in memory, keys and sessions do not hold: warn, or do not start.",
    )
    state_quota_bytes: int = Field(
        default=256 * 1024 * 1024,
        ge=1_000,
        description="Bytes of durable records that one caller may have; a record counts at least 256.",
    )
    ask_timeout_s: float = Field(
        default=120.0,
        gt=0,
        le=86_400,
        description="Seconds that a person has to answer a question of a call; its time limit is paused meanwhile.",
    )
    ask_key: SealKeys | None = Field(
        default=None,
        description="Keys that seal the state which clients send back with an answer, separated by commas, each of at "
        "least 32 characters: the first seals, all of them open. By default one that is created in the state store.",
    )
    repeats: Literal["on", "off"] = Field(
        default="on",
        description="Tell callers that a call failed the same way again, and count which next steps they follow.",
    )
    capture: Literal["off", "failures"] | None = Field(
        default=None,
        description="Keep failed calls for `failsoft replay`; unset: failures in development, otherwise off.",
    )
    capture_count: int = Field(
        default=200, ge=1, le=1_000_000, description="Largest number of failed calls that are kept."
    )
    capture_bytes: int = Field(
        default=20_000_000,
        ge=1_000,
        description="Largest size of all kept calls in bytes; the oldest are deleted first.",
    )
    capture_keep_s: float = Field(
        default=604_800.0, gt=0, allow_inf_nan=False, description="Seconds for which a failed call is kept."
    )
    error_docs_url: WebAddress | None = Field(
        default=None, description="Address of the published error pages, for `type` in the format `problem`."
    )

    @property
    def detail_level(self) -> DetailLevel:
        """The level of detail for callers: `detail` if set, otherwise by environment."""
        return self.detail or _DETAIL[self.environment]

    @property
    def captures_failures(self) -> bool:
        """Whether failed calls are kept for a replay: `capture` if set, otherwise in development."""
        return self.environment == "development" if self.capture is None else self.capture == "failures"


class ToolsetSettings(EnvironmentSettings):
    """Subclass it with a field for each setting and name the subclass in the toolset: `Settings = ShopSettings`.

    A field `limit` of a toolset named `shop` is read from `FAILSOFT_SHOP_LIMIT`. Give each field a `description`, and
    its bounds: `failsoft doctor` and the settings page show them. Keywords take precedence over the environment.

    Raises:
        CONFIG_ERROR: A value is not usable, or there is no such setting.

    Examples:
        >>> class ShopSettings(ToolsetSettings):
        ...     limit: int = Field(20, ge=1, description="The most orders in an answer.")
        >>> ShopSettings(limit=5).limit
        5
    """

    _bound_to: ClassVar[str]

    @classmethod
    def bind(cls, toolset: str) -> None:
        """Set the prefix of the variables; `BaseTool` does it once, for the class that declares the settings.

        Raises:
            TypeError: Another toolset declares the same settings, or a variable would be one of the framework's.
        """
        prefix = f"{PREFIX}{toolset.upper()}_"
        if cls is ToolsetSettings:
            return
        bound = vars(cls).get("_bound_to", toolset)
        if bound != toolset:
            msg = f"{cls.__name__} belongs to the toolset '{bound}': subclass it for '{toolset}'"
            raise TypeError(msg)
        framework = [variable for variables in Settings.variables().values() for variable in variables]
        taken = [variable for variable in framework if f"{variable}_".startswith(prefix)]
        if taken:
            msg = f"the settings of a toolset named '{toolset}' would collide with {', '.join(sorted(taken))}"
            raise TypeError(msg)
        cls._bound_to = toolset
        cls.model_config["env_prefix"] = prefix
