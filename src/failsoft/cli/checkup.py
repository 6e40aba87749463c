"""What `failsoft doctor` finds out: facts by section, and remarks; a missing extra is one of them."""

from __future__ import annotations

import os
import platform
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_cache_path
from pydantic import SecretStr

from failsoft._version import __version__
from failsoft.cli.errors import faults_in
from failsoft.cli.store import missing_store, with_store
from failsoft.cli.target import Target
from failsoft.framework.audit.trail import AuditLog
from failsoft.framework.call.runtime import default_runtime
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import ConfigurationError, ToolError, catalogue
from failsoft.framework.setting_types import PREFIX, EnvironmentSettings
from failsoft.framework.settings import Settings
from failsoft.framework.state.backend import NOTHING, Backend, Write, new_version
from failsoft.recovery import RecoveryManager
from failsoft.server.lifecycle import faults_of
from failsoft.server.sources import find_toolsets, unknown_variables

_STORE, _PROBED_S = "FAILSOFT_STATE_URL", 5.0
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
        """Remark on a fault."""
        self.remarks.append(Remark("error", about, message))

    def warn(self, about: str, message: str) -> None:
        """Remark on what works."""
        self.remarks.append(Remark("warning", about, message))

    def report(self, about: str, error: ToolError, *, is_left_out: bool = False) -> None:
        """Remark on an error; a missing extra is one row, whatever needs it, and the gravest remark on it stays.

        Args:
            about: What the error is about.
            error: The error.
            is_left_out: Whether it is that of a toolset which was not asked for.
        """
        note = self.warn if is_left_out else self.broken
        cause = error.__cause__ if isinstance(error.__cause__, ConfigurationError) else error
        extra = (cause.details or {}).get("extra")
        if extra is None or not isinstance(cause, ConfigurationError):
            note(about, error.message)
            return
        row = f"extra {extra}"
        if is_left_out and any(remark.about == row for remark in self.remarks):
            return
        self.remarks = [remark for remark in self.remarks if remark.about != row]
        note(row, f"{cause.issue}: {cause.resolution}")


def check_up(target: Target) -> Checkup:
    """Return the facts about this installation; faults are collected and do not raise."""
    found = Checkup()
    found.sections["versions"] = _versions(found)
    settings, faults = _load(found)
    if settings is not None:
        _look_for_open_doors(found, settings)
    found.sections["settings"] = _rows(Settings, settings, faults)
    for fault in catalogue.faults():
        found.broken("catalogue", fault)
    found.sections["toolsets"] = [] if settings is None else _toolsets(found, target)
    found.sections["recovery"] = [] if settings is None else _recovery(found)
    found.sections["state"] = _state(found, settings)
    found.sections["audit"] = _audit(found, settings)
    found.sections["metrics"] = {"mode": "off" if settings is None or not settings.metrics_enabled else "on"}
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
            if ";" in requirement:  # for another system or interpreter
                continue
            versions[name] = None
            found.broken(name, "this dependency is not installed")
    return versions


def _load(found: Checkup) -> tuple[Settings | None, str]:
    """Return the settings; or None and the faults."""
    try:
        return Settings.load(), ""
    except ToolError as error:
        for fault in faults_in(error) or [error.message]:
            found.broken("settings", fault)
        return None, error.message


def _rows(
    model: type[EnvironmentSettings], values: EnvironmentSettings | None, faults: str = ""
) -> list[dict[str, Any]]:
    """Return each setting with its variable, value and source."""
    rows = []
    for name, variables in model.variables().items():
        about = model.model_fields[name]
        source = next((variable for variable in variables if variable in os.environ), "default")
        value = getattr(values, name) if values is not None else _as_written(source, about.default, faults)
        shown = {"name": name, "variable": variables[0], "value": _shown(value), "source": source}
        rows.append({**shown, "description": about.description or ""})
    return rows


def _as_written(source: str, default: Any, faults: str) -> Any:
    """Return what to show for a setting that cannot be loaded: never its value, which may be a secret."""
    return default if source == "default" else "not usable" if f"{source} " in faults else "(set)"


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
    unmade = tuple(f"{PREFIX}{name}_".upper() for name in find_toolsets().keys() - {tool.name for tool in tools})
    for name, closest in unknown_variables(models).items():
        if name.upper().startswith(unmade):  # its toolset could not be made
            continue
        found.warn(name, "no setting has this name" + (f"; did you mean {closest}?" if closest else ""))


def _look_for_open_doors(found: Checkup, settings: Settings) -> None:
    if settings.environment != "production":
        return
    if settings.debug_stack:
        found.warn("debug_stack", "callers see stack traces in production")
    if settings.detail_level != "minimal":
        found.warn("detail", f"callers see details ({settings.detail_level}) in production")


def _toolsets(found: Checkup, target: Target) -> list[dict[str, Any]]:
    """Return the facts about each toolset: those named on the command line first, then the installed ones."""
    known = find_toolsets()
    made: list[BaseTool] = []

    def rows(wanted: Target, package: str, *, named: bool) -> list[dict[str, Any]]:
        broken: list[dict[str, Any]] = []

        def note(name: str, error: ToolError) -> None:
            lacks = error.details or {}
            is_left_out = name in known and not named and (lacks.get("extra") == name or "system" in lacks)
            found.report(f"toolset {name}" if name in known else name, error, is_left_out=is_left_out)
            if name in known:
                facts: dict[str, Any] = {"package": package, "operations": {}, "settings": [], "named": named}
                broken.append({"name": name, **facts, "error": error.message})

        tools = wanted.tools(on_fault=note)
        made.extend(tools)
        return [{**_described(found, tool, package, target.root), "named": named} for tool in tools] + broken

    shown: list[dict[str, Any]] = []
    if app := target.app or (target.project.app if target.project else ""):
        shown += rows(Target((), target.app, root=target.root), app, named=True)
    others = sorted(known, key=lambda name: (name not in target.toolsets, name))
    for name in [*(name for name in target.toolsets if name not in known), *others]:
        package = dist.name if name in known and (dist := known[name].dist) else "" if name in known else name
        shown += rows(Target((name,), root=target.root), package, named=name in target.toolsets)
    _look_for_misspelt_variables(found, made)
    return shown


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
    except ToolError as error:
        found.report("runtime", error)
        return []
    except Exception as error:  # noqa: BLE001 - a part that cannot be made is what a doctor is asked about
        found.broken("runtime", f"{type(error).__name__}: {error}")
        return []
    return engine.describe() if isinstance(engine, RecoveryManager) else []


def _state(found: Checkup, settings: Settings | None) -> dict[str, Any]:
    """Write to the shared store: without it calls work, but replicas share no state."""
    if settings is None or settings.state_url is None or settings.state_url.get_secret_value() == "memory:":
        return {"mode": "this process"}
    try:
        if (file := missing_store()) is None:
            with_store(_probed)
        elif _may_be_made(file):
            found.warn(_STORE, f"{file} does not exist; a server makes it at its start")
        else:
            found.broken(_STORE, f"{file} does not exist, and its folder cannot be written")
    except ConfigurationError as error:
        if "extra" in (error.details or {}):
            found.report(_STORE, error)
            return {"mode": "shared", "available": False}
        found.broken(_STORE, f"{error.issue}; {error.resolution}")
    is_available = all(remark.about != _STORE or remark.severity != "error" for remark in found.remarks)
    return {"mode": "shared", "available": is_available}


async def _probed(store: Backend, prefix: str) -> None:
    now = store.clock()
    await store.swap(f"{prefix}probe:doctor", NOTHING, Write(new_version(now), {"at": now}, _PROBED_S))


def _may_be_made(file: Path) -> bool:
    return os.access(next(folder for folder in file.parents if folder.exists()), os.W_OK)


def _audit(found: Checkup, settings: Settings | None) -> dict[str, Any]:
    """Check the audit log: if it cannot be written, every failure becomes AUDIT_LOG_FAILED."""
    if settings is None or settings.audit_path is None:
        return {"mode": "off"}
    usable = True
    try:
        if (log := AuditLog.from_settings(settings)) is not None:
            log.check()
    except ToolError as error:
        usable = False
        found.broken("FAILSOFT_AUDIT_PATH", error.message)
    return {"mode": "on", "path": str(settings.audit_path), "usable": usable}


def _cache(found: Checkup) -> dict[str, Any]:
    folder = user_cache_path("failsoft")
    writable = True
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        writable = False
    if not writable:
        found.warn("cache", f"{folder} cannot be written; search indexes are kept in memory and built at each start")
    return {"folder": str(folder), "writable": writable}
