"""What `failsoft doctor` looks at: facts about this installation, and what is wrong with them."""

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

from pydantic import AliasChoices, SecretStr

from failsoft._version import __version__
from failsoft.cli.toolsets import tool_source
from failsoft.framework import catalogue
from failsoft.framework.errors import ToolError
from failsoft.framework.runtime import default_runtime
from failsoft.framework.settings import Settings
from failsoft.framework.state_port import StateStore
from failsoft.framework.tool import BaseTool
from failsoft.server.registry import find_toolsets
from failsoft.server.self_audit import faults_of

__all__ = ["Checkup", "Remark", "check_up"]

_PREFIX = "FAILSOFT_"
_MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that is broken (`error`), or that somebody should know (`warning`)."""

    severity: Literal["error", "warning"]
    about: str
    message: str


@dataclass(slots=True)
class Checkup:
    """Everything found, as JSON values by section, with the remarks on it."""

    sections: dict[str, Any] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)

    @property
    def healthy(self) -> bool:
        """Whether nothing is broken; warnings do not count."""
        return all(remark.severity != "error" for remark in self.remarks)

    def broken(self, about: str, message: str) -> None:
        """Note something that does not work."""
        self.remarks.append(Remark("error", about, message))

    def warn(self, about: str, message: str) -> None:
        """Note something that works, and perhaps should not."""
        self.remarks.append(Remark("warning", about, message))


def check_up(app: str | None, root: Sequence[Path] | None) -> Checkup:
    """Return the facts about this installation. Nothing that is wrong ends it."""
    found = Checkup()
    found.sections["versions"] = _versions(found)
    settings, faults = _load(found)
    found.sections["settings"] = _settings(found, settings, faults)
    for fault in catalogue.faults():
        found.broken("catalogue", fault)
    found.sections["toolsets"] = [] if settings is None else _toolsets(found, app, root)
    found.sections["recovery"] = [] if settings is None else _recovery(found)
    found.sections["state"] = _state(found, settings)
    found.sections["audit"] = _audit(found, settings)
    found.sections["metrics"] = _metrics(found, settings)
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
    """Return the settings; or None, and what is said of those that cannot be used."""
    try:
        return Settings.load(), ""
    except ToolError as error:
        found.broken("settings", error.message)
        return None, error.message


def _settings(found: Checkup, settings: Settings | None, faults: str) -> list[dict[str, Any]]:
    rows = []
    for name, about in Settings.model_fields.items():
        names = _variables(name, about.validation_alias)
        source = next((variable for variable in names if variable in os.environ), "default")
        value = getattr(settings, name) if settings is not None else _as_written(source, about.default, faults)
        rows.append(
            {
                "name": name,
                "variable": names[0],
                "value": _shown(value),
                "source": source,
                "description": about.description or "",
            }
        )
    _look_for_typing_errors(found)
    if settings is not None:
        _look_for_open_doors(found, settings)
    return rows


def _as_written(source: str, default: Any, faults: str) -> Any:
    """Return what a setting would be, were the others usable: nothing was read, so secrets cannot be told apart."""
    if source == "default":
        return default
    return "not usable" if f"{source} " in faults else "(set)"


def _variables(name: str, alias: Any) -> list[str]:
    if isinstance(alias, AliasChoices):
        return [str(choice) for choice in alias.choices]
    return [alias if isinstance(alias, str) else f"{_PREFIX}{name.upper()}"]


def _shown(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return "(hidden)"
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def _look_for_typing_errors(found: Checkup) -> None:
    for name, closest in Settings.unknown_variables().items():
        found.warn(name, "no setting has this name" + (f"; did you mean {closest}?" if closest else ""))


def _look_for_open_doors(found: Checkup, settings: Settings) -> None:
    if settings.environment != "production":
        return
    if settings.debug_stack:
        found.warn("debug_stack", "callers see stack traces in production")
    if settings.detail_level != "minimal":
        found.warn("detail", f"callers see details ({settings.detail_level}) in production")


def _toolsets(found: Checkup, app: str | None, root: Sequence[Path] | None) -> list[dict[str, Any]]:
    rows = []
    for name, entry_point in find_toolsets().items():
        package = entry_point.dist.name if entry_point.dist else ""
        try:
            rows += [_described(found, tool, package, root) for tool in tool_source([name], None, root)()]
        except ToolError as error:
            is_left_out = "extra" in (error.details or {})  # nobody who does not want a toolset has to install it
            (found.warn if is_left_out else found.broken)(f"toolset {name}", error.message)
            rows.append({"name": name, "package": package, "operations": {}, "error": error.message})
    if app is not None:
        try:
            rows += [_described(found, tool, app, root) for tool in tool_source([], app, root)()]
        except ToolError as error:
            found.broken(app, error.message)
    return rows


def _described(found: Checkup, tool: BaseTool, package: str, root: Sequence[Path] | None) -> dict[str, Any]:
    """Describe a toolset, and look over a governed one as a server would before its first call.

    Without a root it was made for whatever folder the doctor was called in, where perhaps nobody wants to serve it.
    """
    note = found.warn if root is None else found.broken
    faults = faults_of(tool)
    for fault in faults:
        note(f"toolset {tool.name}", fault)
    return {"name": tool.name, "package": package, "operations": tool.describe(), "self_audit": faults}


def _recovery(found: Checkup) -> list[str]:
    try:
        engine = default_runtime().recovery
    except Exception as error:  # noqa: BLE001 - a part that cannot be made is what a doctor is asked about
        found.broken("runtime", f"{type(error).__name__}: {error}")
        return []
    return [] if engine is None else engine.describe()


def _state(found: Checkup, settings: Settings | None) -> dict[str, Any]:
    """Ask the shared store for something: calls would go on without it, and replicas would no longer share."""
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
    await store.get("doctor")
    is_available = bool(getattr(store, "is_available", True))
    await store.close()
    return is_available


def _audit(found: Checkup, settings: Settings | None) -> dict[str, Any]:
    """Look through the audit log: with one that cannot be written, every failure is answered as AUDIT_LOG_FAILED."""
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


def _metrics(found: Checkup, settings: Settings | None) -> dict[str, Any]:
    if settings is None or not settings.metrics_enabled:
        return {"mode": "off"}
    folder = os.environ.get(_MULTIPROCESS)
    if not folder:
        return {"mode": "one process"}
    if not _can_write(Path(folder)):
        found.broken(_MULTIPROCESS, "metrics of several processes are added up there, and it cannot be written")
    return {"mode": "several processes", "folder": folder}


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
