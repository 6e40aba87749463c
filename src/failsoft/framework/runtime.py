"""`Runtime`: what tools run in. The default needs no set-up; the composition root supplies its parts."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from failsoft.framework.alerts import AlertDispatcher
    from failsoft.framework.chain import Middleware
    from failsoft.framework.events import Events
    from failsoft.framework.ports import AuditTrail, Recorder
    from failsoft.framework.recovery_port import RecoveryConfiguration, RecoveryEngine
    from failsoft.framework.settings import Settings
    from failsoft.framework.state_port import StateStore
    from failsoft.framework.threads import ThreadPool

__all__ = ["Parts", "Runtime", "default_runtime", "use_parts"]

Variables: TypeAlias = tuple[tuple[str, str], ...]
_READ_BY_SETTINGS = ("FAILSOFT_", "DEBUG_STACK")
_ENVIRONMENTS_AT_MOST = 8
"""Sets of variables whose defaults are kept: there is one in a server, and a few in tests and notebooks."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Makers of the parts that a `Runtime` was not given; those of metrics and recovery are called once per process."""

    metrics: Callable[[Settings], Recorder]
    recovery: Callable[[Settings], RecoveryEngine | None]
    alerts: Callable[[Settings], AlertDispatcher | None]
    state: Callable[[Settings, Events], StateStore]
    configuration: Callable[[Settings], RecoveryConfiguration | None] = lambda _: None


_parts = Parts(
    metrics=lambda _: _no_metrics(),
    recovery=lambda _: None,
    alerts=lambda _: None,
    state=lambda _, __: _local_state(),
)


def use_parts(parts: Parts) -> None:
    """Set the makers of default parts; the composition root calls this on import."""
    global _parts  # noqa: PLW0603 - the one seam through which a higher layer reaches down
    _parts = parts


def _no_metrics() -> Recorder:
    from failsoft.framework.ports import NullMetrics  # noqa: PLC0415 - pydantic comes with it, 60 ms

    return NullMetrics()


def _local_state() -> StateStore:
    from failsoft.framework.state_port import LocalState  # noqa: PLC0415 - with the first tool

    return LocalState()


def _new_events() -> Events:
    from failsoft.framework.event_logs import log_events  # noqa: PLC0415 - with the first tool
    from failsoft.framework.events import Events  # noqa: PLC0415 - with the first tool: loguru comes with it

    events = Events()
    log_events(events)
    return events


def _variables() -> Variables:
    """Return the variables that settings are read from: while they stay the same, so does the default runtime."""
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
    """Return the recorder that runtimes of one limit share; a server shows those of all its tools together."""
    return parts.metrics(_default_settings().model_copy(update={"metrics_label_limit": label_limit}))


@cache
def _default_recovery(parts: Parts) -> RecoveryEngine | None:
    return parts.recovery(_default_settings())


@lru_cache(maxsize=_ENVIRONMENTS_AT_MOST)
def _default_alerts(parts: Parts, environment: Variables) -> AlertDispatcher | None:
    return parts.alerts(_settings_from(environment))


def _thread_pool(settings: Settings) -> ThreadPool:
    from failsoft.framework.threads import ThreadPool  # noqa: PLC0415 - every error class comes with it

    return ThreadPool(limit=settings.max_threads, abandoned_limit=settings.max_abandoned_threads)


def _audit_log(settings: Settings) -> AuditTrail | None:
    if settings.audit_path is None:
        return None
    from failsoft.framework.audit.trail import AuditLog  # noqa: PLC0415 - only for those who keep one

    return AuditLog.from_settings(settings)


class Runtime:
    """The surroundings of a call. What is left out is the process-wide default.

    Args:
        settings: By default read from the environment (`FAILSOFT_...`).
        middleware: Steps of your own, each at its place in the chain.
        recovery: Finds what may take the place of an error; `RecoveryManager()` without strategies switches it off.
        metrics: The recorder; `NullMetrics()` switches metrics off.
        alerts: Where critical failures are announced.
        audit: Where failures are put on record before callers learn of them; by default what FAILSOFT_AUDIT_PATH says.
        state: What calls share: breakers, budgets, keys. By default in this process, or where FAILSOFT_STATE_URL says.
        events: Where attempts, recoveries and changes of breakers are announced; subscribe to `runtime.events`.

    Raises:
        CONFIG_ERROR: A setting in the environment is not usable; the message names the variable.
    """

    def __init__(
        self,
        *,
        settings: Settings | None = None,
        middleware: Sequence[Middleware] = (),
        recovery: RecoveryEngine | None = None,
        metrics: Recorder | None = None,
        alerts: AlertDispatcher | None = None,
        audit: AuditTrail | None = None,
        state: StateStore | None = None,
        events: Events | None = None,
    ) -> None:
        self.settings = settings if settings is not None else _default_settings()
        self.middleware = tuple(middleware)
        self.recovery = recovery if recovery is not None else _default_recovery(_parts)
        self.metrics: Recorder = self._metrics(metrics)
        self.alerts = alerts if alerts is not None else self._alerts(settings)
        self.audit = audit if audit is not None else _audit_log(self.settings)
        self.threads = _thread_pool(self.settings)
        self.events = events if events is not None else _new_events()
        self.state = state if state is not None else _parts.state(self.settings, self.events)
        kinds = getattr(type(self.metrics), "listens_to", ())
        if kinds:
            self.events.subscribe(self.metrics.on_event, *kinds)  # type: ignore[attr-defined]
        self.configuration = _parts.configuration(self.settings)
        """What FAILSOFT_RECOVERY_FILE and FAILSOFT_RECOVERY say, if anything."""
        self.linked: weakref.WeakSet[Any] = weakref.WeakSet()
        """The operations whose calls run in here."""

    def reload_recovery(self) -> bool:
        """Read the recovery configuration anew and link every operation by it; calls under way finish as they began.

        Returns:
            Whether that worked. If the new configuration cannot be used, everything stays as it is, and the log says
            why and where.
        """
        from failsoft.framework.reload import reload_recovery  # noqa: PLC0415 - only for those who reload

        return reload_recovery(self, _parts.configuration)

    def _metrics(self, given: Recorder | None) -> Recorder:
        if given is not None:
            return given
        if not self.settings.metrics_enabled:
            return _no_metrics()
        return _default_metrics(_parts, self.settings.metrics_label_limit)

    def _alerts(self, given: Settings | None) -> AlertDispatcher | None:
        """Return the sinks that the settings ask for: with settings of one's own go alerts of one's own."""
        return _parts.alerts(given) if given is not None else _default_alerts(_parts, _variables())


@lru_cache(maxsize=_ENVIRONMENTS_AT_MOST)
def _runtime_in(_environment: Variables) -> Runtime:
    return Runtime()


def default_runtime() -> Runtime:
    """Return the default runtime of the process, made when first asked for; another one once the settings changed."""
    return _runtime_in(_variables())
