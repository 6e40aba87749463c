"""`Runtime`: settings, middleware, recovery, metrics and audit of tools; the default needs no set-up."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from failsoft.framework.files import protected_files

if TYPE_CHECKING:
    from pathlib import Path

    from failsoft.framework.audit.trail import AuditLog
    from failsoft.framework.call.bound import BoundOperation
    from failsoft.framework.call.chain import Chain, Middleware, RecoveryConfigurationPort, RecoveryEngine
    from failsoft.framework.call.effects import DetachedCalls
    from failsoft.framework.captures.keeper import Captures
    from failsoft.framework.events import Events
    from failsoft.framework.logs.alerts import AlertDispatcher
    from failsoft.framework.recent import Recent
    from failsoft.framework.recorders import Gauges, Recorder
    from failsoft.framework.settings import Settings
    from failsoft.framework.state.store import StateStore
    from failsoft.framework.threads import ThreadPool


Variables: TypeAlias = tuple[tuple[str, str], ...]


_READ_BY_SETTINGS = ("FAILSOFT_", "DEBUG_STACK")


_ENVIRONMENTS_AT_MOST = 8
"""Number of default runtimes kept, one per set of variables: a server has one, tests and notebooks a few."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Factories of the default parts of a `Runtime`; those of metrics and recovery are called once per process."""

    metrics: Callable[[Settings], Recorder]
    recovery: Callable[[Settings], RecoveryEngine | None]
    alerts: Callable[[Settings], AlertDispatcher | None]
    state: Callable[[Settings, Events], StateStore]
    configuration: Callable[[Settings], RecoveryConfigurationPort | None] = lambda _: None


_parts = Parts(
    metrics=lambda _: _no_metrics(),
    recovery=lambda _: None,
    alerts=lambda _: None,
    state=lambda _, __: _local_state(),
)


inherited: dict[tuple[Path | None, str], RecoveryConfigurationPort] = {}
"""By `Runtime.recovery_source`, what runtimes begin with instead of reading it: a worker has it from others."""


def use_parts(parts: Parts) -> None:
    """Set the factories of default parts; the composition root calls this on import."""
    global _parts  # noqa: PLW0603 - the one seam through which a higher layer reaches down
    _parts = parts
    _runtime_in.cache_clear()


def _no_metrics() -> Recorder:
    from failsoft.framework.recorders import NullMetrics  # noqa: PLC0415 - pydantic comes with it, 60 ms

    return NullMetrics()


def _local_state() -> StateStore:
    from failsoft.framework.state.store import LocalState  # noqa: PLC0415 - with the first tool

    return LocalState()


def _new_events() -> Events:
    from failsoft.framework.events import Events  # noqa: PLC0415 - with the first tool: loguru comes with it
    from failsoft.framework.logs.logs import log_events  # noqa: PLC0415 - with the first tool

    events = Events()
    log_events(events)
    return events


def _gauges() -> Gauges:
    from failsoft.framework.recorders import Gauges  # noqa: PLC0415 - pydantic comes with it, 60 ms

    return Gauges()


def _variables() -> Variables:
    """Return the environment variables of the settings; the default runtime changes only with them."""
    return tuple(
        sorted((name, value) for name, value in os.environ.items() if name.upper().startswith(_READ_BY_SETTINGS))
    )


@lru_cache(maxsize=_ENVIRONMENTS_AT_MOST)
def _settings_from(_environment: Variables) -> Settings:
    from failsoft.framework.settings import Settings  # noqa: PLC0415 - 150 ms that `import failsoft` does not pay

    return Settings.load()


def _default_settings() -> Settings:
    return _settings_from(_variables())


@cache
def _default_metrics(parts: Parts, label_limit: int) -> Recorder:
    """Return the recorder that runtimes with the same limit share; a server merges those of its tools."""
    return parts.metrics(_default_settings().model_copy(update={"metrics_label_limit": label_limit}))


@cache
def _default_recovery(parts: Parts) -> RecoveryEngine | None:
    return parts.recovery(_default_settings())


@lru_cache(maxsize=_ENVIRONMENTS_AT_MOST)
def _default_alerts(parts: Parts, environment: Variables) -> AlertDispatcher | None:
    return parts.alerts(_settings_from(environment))


def _relied_on(settings: Settings) -> list[str]:
    """Return the files in the settings, except for those of the audit log, which protects them itself."""
    files = [] if settings.recovery_file is None else [str(settings.recovery_file)]
    url = "" if settings.state_url is None else settings.state_url.get_secret_value()
    if url.startswith("unix://"):
        files.append(urlsplit(url).path)
    return files


def _thread_pool(settings: Settings) -> ThreadPool:
    from failsoft.framework.threads import ThreadPool  # noqa: PLC0415 - every error class comes with it

    return ThreadPool(limit=settings.max_threads, abandoned_limit=settings.max_abandoned_threads)


def _detached_calls() -> DetachedCalls:
    from failsoft.framework.call.effects import DetachedCalls  # noqa: PLC0415 - every error class comes with it

    return DetachedCalls()


def _recent(settings: Settings, events: Events) -> Recent:
    from failsoft.framework.events import NextStepEvent  # noqa: PLC0415 - with the first tool
    from failsoft.framework.recent import Recent  # noqa: PLC0415 - with the first tool

    return Recent(lambda code, result: events.publish(NextStepEvent(code, result)), is_off=settings.repeats == "off")


def _captures(settings: Settings) -> Captures | None:
    if not settings.captures_failures:
        return None
    from failsoft.framework.captures.keeper import Captures  # noqa: PLC0415 - only where calls are captured

    return Captures.from_settings(settings)


def _audit_log(settings: Settings) -> AuditLog | None:
    if settings.audit_path is None:
        return None
    from failsoft.framework.audit.trail import AuditLog  # noqa: PLC0415 - only for those who keep one

    return AuditLog.from_settings(settings)


class Runtime:
    """The parts that calls use. Each one defaults to the process-wide part.

    Args:
        settings: By default read from the environment (`FAILSOFT_...`).
        middleware: Custom steps, each at its place in the chain.
        recovery: The recovery engine; `RecoveryManager()` without strategies disables recovery.
        metrics: The recorder; `NullMetrics()` disables metrics.
        alerts: The dispatcher of alerts on critical failures.
        audit: Records failures before they are returned; by default the log at FAILSOFT_AUDIT_PATH.
        state: State shared by calls: breakers, budgets, keys. By default local, or the store at FAILSOFT_STATE_URL.
        events: Publishes attempts, recoveries and changes of breakers; subscribe to `runtime.events`.

    Raises:
        CONFIG_ERROR: A setting in the environment is not usable; the message names the variable.

    Examples:
        >>> log = AuditLog("/var/log/shelf/audit.jsonl", keep_days=90)
        >>> runtime = Runtime(settings=Settings(default_timeout_s=10.0), audit=log)
    """

    def __init__(
        self,
        *,
        settings: Settings | None = None,
        middleware: Sequence[Middleware] = (),
        recovery: RecoveryEngine | None = None,
        metrics: Recorder | None = None,
        alerts: AlertDispatcher | None = None,
        audit: AuditLog | None = None,
        state: StateStore | None = None,
        events: Events | None = None,
    ) -> None:
        self.settings = settings if settings is not None else _default_settings()
        self.middleware = tuple(middleware)
        self.recovery = recovery if recovery is not None else _default_recovery(_parts)
        self.metrics: Recorder = self._metrics(metrics)
        self.alerts = alerts if alerts is not None else self._alerts(settings)
        self.audit = audit if audit is not None else _audit_log(self.settings)
        self.captures = _captures(self.settings)
        """What keeps failed calls for `failsoft replay`; None if FAILSOFT_CAPTURE is off."""
        self.threads = _thread_pool(self.settings)
        self.detached = _detached_calls()
        self.events = events if events is not None else _new_events()
        self.gauges = _gauges()
        """What is read at every scrape: `runtime.gauges.add(metric, read)`."""
        self.recent = _recent(self.settings, self.events)
        self.gauges.add("mcp_next_steps_total", self.recent.sweep)
        self.state = state if state is not None else _parts.state(self.settings, self.events)
        for gauge, (read, refresh) in getattr(self.state, "gauges", {}).items():  # a store of others may have none
            self.gauges.add(gauge, read, refresh=refresh)
        kinds = getattr(type(self.metrics), "listens_to", ())
        if kinds:
            self.events.subscribe(self.metrics.on_event, *kinds)  # type: ignore[attr-defined]  # only a recorder with on_event gets here
        if hasattr(type(self.metrics), "watch"):
            self.metrics.watch(self.gauges)  # type: ignore[attr-defined]  # as above
        self.recovery_source = (self.settings.recovery_file, self.settings.recovery)
        self.configuration = inherited.get(self.recovery_source) or _parts.configuration(self.settings)
        """The configuration in FAILSOFT_RECOVERY_FILE and FAILSOFT_RECOVERY, if set."""
        protected_files.add(self, *_relied_on(self.settings))
        self.linked: weakref.WeakSet[Any] = weakref.WeakSet()
        """The operations of this runtime."""

    def read_configuration(self) -> RecoveryConfigurationPort | None:
        """Return the current recovery configuration; reads the file, so call it in a thread.

        Raises:
            CONFIG_ERROR: It cannot be read or used.
        """
        return _parts.configuration(self.settings)

    def reload_recovery(self, read: RecoveryConfigurationPort | Exception | None = None) -> bool:
        """Apply the recovery configuration to every operation; running calls finish with the old one.

        Args:
            read: What `read_configuration` returned or raised; by default it is called here.

        Returns:
            Whether that succeeded. If the new configuration is not usable, the old one stays in force, and the log
            says why and where.
        """
        from failsoft.framework.errors import ConfigurationError  # noqa: PLC0415 - every error class comes with it
        from failsoft.framework.events import ReloadEvent  # noqa: PLC0415 - with the first tool
        from failsoft.framework.safe.author_reports import logger  # noqa: PLC0415 - 20 ms that `import failsoft` does not pay

        operations, before = list(self.linked), self.configuration
        try:
            chains = self._chains_by(read, operations)
        except BaseException as error:
            self.configuration = before
            for bound in operations:
                bound.make_chain()  # restores the options that operations share by dependency
            reason = error.message if isinstance(error, ConfigurationError) else type(error).__name__
            self.events.publish(ReloadEvent(ok=False, reason=reason))
            if not isinstance(error, ConfigurationError):
                raise
            logger.bind(event="reload_failed").error("The recovery configuration was not reloaded: {}", error.message)
            return False
        for bound, chain in chains.items():
            bound.use(chain)
        self.events.publish(ReloadEvent(ok=True))
        logger.info("The recovery configuration was reloaded; operations: {}", len(operations))
        return True

    def _chains_by(
        self, read: RecoveryConfigurationPort | Exception | None, operations: Sequence[BoundOperation]
    ) -> dict[BoundOperation, Chain]:
        """Return the chains by a configuration, which is in force from now on."""
        from failsoft.framework.call.chain import check_shared  # noqa: PLC0415 - every error class comes with it

        if isinstance(read, Exception):
            raise read
        self.configuration = configuration = self.read_configuration() if read is None else read
        if configuration is not None:
            configuration.check(list(dict.fromkeys(bound.tool for bound in operations)), are_all=False)
        chains = {bound: bound.make_chain() for bound in operations}
        check_shared(chains)
        return chains

    def _metrics(self, given: Recorder | None) -> Recorder:
        if given is not None:
            return given
        if not self.settings.metrics_enabled:
            return _no_metrics()
        return _default_metrics(_parts, self.settings.metrics_label_limit)

    def _alerts(self, given: Settings | None) -> AlertDispatcher | None:
        """Return the alert sinks of the settings; a runtime with its own settings has its own alerts."""
        return _parts.alerts(given) if given is not None else _default_alerts(_parts, _variables())


@lru_cache(maxsize=_ENVIRONMENTS_AT_MOST)
def _runtime_in(_environment: Variables) -> Runtime:
    return Runtime()


def default_runtime() -> Runtime:
    """Return the default runtime of the process, created on first use and again when the environment changes."""
    return _runtime_in(_variables())
