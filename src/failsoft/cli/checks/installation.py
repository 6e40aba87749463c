"""The checks of `failsoft doctor`: facts about this installation, and faults."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, Literal

from pydantic import SecretStr

from failsoft._version import __version__
from failsoft.cli.targets.toolsets import CommandTarget
from failsoft.framework.call.runtime import default_runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import ToolError, catalogue
from failsoft.framework.settings import EnvironmentSettings, Settings, unknown_variables
from failsoft.framework.state.steps import looked_at
from failsoft.framework.state.store import StateStore
from failsoft.recovery import RecoveryManager
from failsoft.server.lifecycle import faults_of
from failsoft.server.sources import find_toolsets

_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Remark:
    """A fault (`error`), or a setting that works but is probably not intended (`warning`)."""

    severity: Literal["error", "warning"]
    about: str
    message: str


@dataclass(slots=True)
class Checkup:
    """All facts as JSON values by section, with remarks."""

    sections: dict[str, Any] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)

    @property
    def healthy(self) -> bool:
        """Whether there are no errors; warnings do not count."""
        return all(remark.severity != "error" for remark in self.remarks)

    def broken(self, about: str, message: str) -> None:
        """Add an error."""
        self.remarks.append(Remark("error", about, message))

    def warn(self, about: str, message: str) -> None:
        """Add a warning."""
        self.remarks.append(Remark("warning", about, message))


def check_up(target: CommandTarget) -> Checkup:
    """Return the facts about this installation; faults are collected and do not raise."""
    found = Checkup()
    found.sections["versions"] = _versions(found)
    settings, faults = _load(found)
    found.sections["settings"] = _settings(found, settings, faults)
    for fault in catalogue.faults():
        found.broken("catalogue", fault)
    found.sections["toolsets"] = [] if settings is None else _toolsets(found, target)
    found.sections["recovery"] = [] if settings is None else _recovery(found)
    found.sections["state"] = _state(found, settings)
    found.sections["audit"] = _audit(found, settings)
    found.sections["metrics"] = _metrics(settings)
    found.sections["cache"] = _cache(found)
    return found


def _versions(found: Checkup) -> dict[str, str | None]:
    versions: dict[str, str | None] = {"failsoft": __version__, "python": platform.python_version()}
    for requirement in requires("failsoft") or ():
        if "extra ==" in requirement:
            continue
        matched = _REQUIREMENT.match(requirement)
        name = matched[0] if matched else requirement
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
            found.broken(name, "this dependency is not installed")
    return versions


def _load(found: Checkup) -> tuple[Settings | None, str]:
    """Return the settings; or None and the faults."""
    try:
        return Settings.load(), ""
    except ToolError as error:
        found.broken("settings", error.message)
        return None, error.message


def _settings(found: Checkup, settings: Settings | None, faults: str) -> list[dict[str, Any]]:
    if settings is not None:
        _look_for_open_doors(found, settings)
    return _rows(Settings, settings, faults)


def _rows(
    model: type[EnvironmentSettings], values: EnvironmentSettings | None, faults: str = ""
) -> list[dict[str, Any]]:
    """Return each setting with its variable, value and source."""
    rows = []
    for name, variables in model.variables().items():
        about = model.model_fields[name]
        source = next((variable for variable in variables if variable in os.environ), "default")
        value = getattr(values, name) if values is not None else _as_written(source, about.default, faults)
        rows.append(
            {
                "name": name,
                "variable": variables[0],
                "value": _shown(value),
                "source": source,
                "description": about.description or "",
            }
        )
    return rows


def _as_written(source: str, default: Any, faults: str) -> Any:
    """Return what to show for a setting when settings cannot be loaded: never its value, which may be a secret."""
    if source == "default":
        return default
    return "not usable" if f"{source} " in faults else "(set)"


def _shown(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return "(hidden)"
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def _look_for_misspelt_variables(found: Checkup, tools: Sequence[BaseTool]) -> None:
    models: list[type[EnvironmentSettings]] = [
        Settings,
        *(type(tool.settings) for tool in tools if tool.settings is not None),
    ]
    for name, closest in unknown_variables(models).items():
        found.warn(name, "no setting has this name" + (f"; did you mean {closest}?" if closest else ""))


def _look_for_open_doors(found: Checkup, settings: Settings) -> None:
    if settings.environment != "production":
        return
    if settings.debug_stack:
        found.warn("debug_stack", "callers see stack traces in production")
    if settings.detail_level != "minimal":
        found.warn("detail", f"callers see details ({settings.detail_level}) in production")


def _toolsets(found: Checkup, target: CommandTarget) -> list[dict[str, Any]]:
    """Return the facts about each toolset: those named on the command line first, then the installed ones."""
    rows: list[dict[str, Any]] = []
    made: list[BaseTool] = []

    def describe(wanted: CommandTarget, package: str, *, named: bool) -> None:
        tools = wanted.tools()
        made.extend(tools)
        rows.extend({**_described(found, tool, package, target.root), "named": named} for tool in tools)

    known = find_toolsets()
    try:
        if target.app or target.project:
            app = CommandTarget((), target.app, target.root)
            describe(app, target.app or (target.project.app if target.project else ""), named=True)
        for name in target.toolsets:
            if name not in known:
                describe(CommandTarget((name,), root=target.root), name, named=True)
    except ToolError as error:
        found.broken(target.app or "application", error.message)
    for name, entry_point in sorted(known.items(), key=lambda item: (item[0] not in target.toolsets, item[0])):
        package, named = entry_point.dist.name if entry_point.dist else "", name in target.toolsets
        try:
            describe(CommandTarget((name,), root=target.root), package, named=named)
        except ToolError as error:
            is_left_out = "extra" in (error.details or {})  # an installed toolset without its extra is not an error
            (found.warn if is_left_out else found.broken)(f"toolset {name}", error.message)
            facts: dict[str, Any] = {"package": package, "operations": {}, "settings": [], "named": named}
            rows.append({"name": name, **facts, "error": error.message})
    _look_for_misspelt_variables(found, made)
    return rows


def _described(found: Checkup, tool: BaseTool, package: str, root: Sequence[Path] | None) -> dict[str, Any]:
    """Describe a toolset, and run the self-audit of a governed one as a server does before its first call.

    Without a root it uses the current folder, where it may never be served, so faults are warnings then.
    """
    note = found.warn if root is None else found.broken
    faults = faults_of(tool)
    for fault in faults:
        note(f"toolset {tool.name}", fault)
    settings = [] if tool.settings is None else _rows(type(tool.settings), tool.settings)
    return {
        "name": tool.name,
        "package": package,
        "operations": tool.describe(),
        "settings": settings,
        "self_audit": faults,
    }


def _recovery(found: Checkup) -> list[str]:
    try:
        engine = default_runtime().recovery
    except Exception as error:  # noqa: BLE001 - a part that cannot be made is what a doctor is asked about
        found.broken("runtime", f"{type(error).__name__}: {error}")
        return []
    return engine.describe() if isinstance(engine, RecoveryManager) else []


def _state(found: Checkup, settings: Settings | None) -> dict[str, Any]:
    """Contact the shared store: without it calls work, but replicas do not share state."""
    if settings is None or settings.state_url is None:
        return {"mode": "this process"}
    try:
        is_available = asyncio.run(_answers(default_runtime().state))
    except Exception as error:  # noqa: BLE001 - as above
        found.broken("FAILSOFT_STATE_URL", str(error))
        return {"mode": "shared", "available": False}
    if not is_available:
        found.broken("FAILSOFT_STATE_URL", "the store does not answer, so each process keeps a state of its own")
    return {"mode": "shared", "available": is_available}


async def _answers(store: StateStore) -> bool:
    await store.change(looked_at, "doctor:check")
    is_available = bool(getattr(store, "is_available", True))
    await store.close()
    return is_available


def _audit(found: Checkup, settings: Settings | None) -> dict[str, Any]:
    """Check the audit log: if it cannot be written, every failure becomes AUDIT_LOG_FAILED."""
    if settings is None or settings.audit_path is None:
        return {"mode": "off"}
    from failsoft.framework.audit.trail import AuditLog  # noqa: PLC0415 - only for those who keep one

    usable = True
    try:
        if (log := AuditLog.from_settings(settings)) is not None:
            log.check()
    except ToolError as error:
        usable = False
        found.broken("FAILSOFT_AUDIT_PATH", error.message)
    return {"mode": "on", "path": str(settings.audit_path), "usable": usable}


def _metrics(settings: Settings | None) -> dict[str, Any]:
    return {"mode": "off" if settings is None or not settings.metrics_enabled else "on"}


def _cache(found: Checkup) -> dict[str, Any]:
    from platformdirs import user_cache_path  # noqa: PLC0415 - the last thing that is looked at

    folder = user_cache_path("failsoft")
    writable = _can_write(folder, make=True)
    if not writable:
        found.warn("cache", f"{folder} cannot be written; search indexes are kept in memory and built at each start")
    return {"folder": str(folder), "writable": writable}


def _can_write(folder: Path, *, make: bool = False) -> bool:
    try:
        if make:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
