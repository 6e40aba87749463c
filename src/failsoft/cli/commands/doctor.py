"""`failsoft doctor`: facts about this installation, and its problems."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import re
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, Any

import typer
from platformdirs import user_cache_path
from pydantic import SecretStr

from failsoft._version import __version__
from failsoft.cli.checkup import Checkup
from failsoft.cli.errors import ExitCode, faults_in
from failsoft.cli.options import App, AsJson, Root, Toolsets
from failsoft.cli.screen import Screen, divert_output
from failsoft.cli.security import show_open
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


def doctor(
    toolsets: Toolsets = None,
    *,
    app: App = None,
    root: Root = None,
    as_json: AsJson = False,
    security: Annotated[bool, typer.Option("--security", help="List security risks only.")] = False,
) -> None:
    """Show settings, versions and toolsets, and their problems.

    With a target, also show the steps of a call for each of its operations. The exit code is 1 if there are problems
    other than warnings. With --security it is 1 if there is any risk: no tokens, no key for the audit chain, files
    that other users may read, roots that contain the server's own files. It also lists the files that the server
    relies on, with their modes, their owners and what is in them in clear.

    Examples:
      failsoft doctor
      failsoft doctor --app library:Library
      failsoft doctor --security
    """
    target = Target(toolsets or (), app, root=root, command="failsoft doctor {}")
    if toolsets:
        target.sources()  # refuses a misspelt name
    if security:
        show_open(target, as_json=as_json)
        return
    with divert_output():
        found = _check_up(target)
    screen = Screen()
    if as_json:
        remarks = [dataclasses.asdict(remark) for remark in found.remarks]
        screen.json({"healthy": found.healthy, "remarks": remarks, **found.sections})
    else:
        _show(screen, found)
    if not found.healthy:
        raise typer.Exit(ExitCode.FAILED)


def _show(screen: Screen, found: Checkup) -> None:
    facts = found.sections
    for toolset in facts["toolsets"]:
        if toolset["named"]:
            steps = [(name, " > ".join(chain)) for name, chain in toolset["operations"].items()]
            screen.rows(("operation", "steps of a call, outermost first"), steps, title=f"Toolset {toolset['name']}")
    screen.rows(("setting", "value", "from"), [_setting(row) for row in facts["settings"]], title="Settings")
    for toolset in facts["toolsets"]:
        if set_here := [_setting(row) for row in toolset["settings"] if row["source"] != "default"]:
            screen.rows(("setting", "value", "from"), set_here, title=f"Settings of {toolset['name']}")
    screen.rows(("name", "version"), [(k, v or "missing") for k, v in facts["versions"].items()], title="Versions")
    others = [(item["name"], str(len(item["operations"])), item["package"]) for item in facts["toolsets"]]
    screen.rows(("toolset", "tools", "from"), others, title="Toolsets")
    cache = facts["cache"]
    rest = [
        ("recovery", ", ".join(facts["recovery"]) or "none"),
        ("state", facts["state"]["mode"] + ("" if facts["state"].get("available", True) else ", not available")),
        ("audit", facts["audit"]["mode"] + ("" if facts["audit"].get("usable", True) else ", not usable")),
        ("metrics", " in ".join(facts["metrics"].values())),
        ("cache", f"{cache['folder']} ({'writable' if cache['writable'] else 'not writable'})"),
    ]
    screen.rows(("part", "state"), rest, title="Parts")
    if found.remarks:
        rows = [(remark.severity, remark.about, remark.message) for remark in found.remarks]
        screen.rows(("remark", "about", "what"), rows, title="Remarks")
    screen.text("All is well." if not found.remarks else "It works." if found.healthy else "Something is broken.")


def _setting(row: dict[str, Any]) -> tuple[str, str, str]:
    value = row["value"]
    shown = "-" if value in (None, "", [], {}) else value if isinstance(value, str) else json.dumps(value, default=str)
    return row["variable"], shown, row["source"]


def _check_up(target: Target) -> Checkup:
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
