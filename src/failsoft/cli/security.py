"""The checks of `failsoft doctor --security`: tokens, network, audit key, file modes, roots."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from urllib.parse import urlsplit

import typer

from failsoft.cli.errors import ExitCode
from failsoft.cli.screen import Screen, divert_output
from failsoft.cli.target import Target
from failsoft.framework.audit.places import default_head, default_key_file
from failsoft.framework.captures.folder import captures_folder
from failsoft.framework.files import other_writers, state_folder
from failsoft.framework.settings import Settings
from failsoft.recovery.state.store import default_file
from failsoft.server.risks import open_risks

_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH | stat.S_IXGRP | stat.S_IXOTH
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class SecurityFinding:
    """A security risk of the configuration.

    Args:
        about: A setting, or a file.
        message: What it allows, and to whom.
        remedy: How to close it.
    """

    about: str
    message: str
    remedy: str


def show_open(target: Target, *, as_json: bool) -> None:
    """Show what a target leaves open, and the files that it relies on; the exit code is 1 if anything is open."""
    with divert_output():
        tools = target.tools()
    trails = [tool.audit if tool.audit is not None else tool.runtime.audit for tool in tools]
    logs = [path for trail in trails if isinstance(path := getattr(trail, "path", None), Path)]
    roots = [Path(one) for tool in tools for one in getattr(tool, "roots", ())]
    settings = Settings.load()
    found, files = findings(settings, roots, logs), kept_files(settings, logs)
    found += [SecurityFinding(*risk) for risk in open_risks(tools)]
    screen = Screen()
    if as_json:
        screen.json({"closed": not found, "findings": [*map(asdict, found)], "files": [*map(asdict, files)]})
    else:
        screen.rows(("file", "mode", "owner", "holds"), [*map(astuple, files)], title="Files")
        screen.rows(("about", "what is open", "what closes it"), [astuple(one) for one in found])
        screen.text("No security risks found." if not found else f"Open: {len(found)}.")
    if found:
        raise typer.Exit(ExitCode.FAILED)


def findings(settings: Settings, roots: Sequence[Path], logs: Sequence[Path]) -> list[SecurityFinding]:
    """Return the risks of these settings and of the files on disk.

    Args:
        settings: The settings.
        roots: The folders of the tools.
        logs: The audit logs of the toolsets.
    """
    known_logs = _known_logs(settings, logs)
    return [
        *_of_tokens(settings),
        *_of_network(settings),
        *_of_details(settings),
        *_of_audit(settings, known_logs),
        *_of_modes(settings, known_logs),
        *_of_roots(settings, roots, known_logs),
    ]


def _of_tokens(settings: Settings) -> Iterator[SecurityFinding]:
    if settings.auth_token is None and settings.auth_tokens is None:
        yield SecurityFinding(
            "FAILSOFT_AUTH_TOKENS",
            "over HTTP every user and program of this machine may call the tools, and no plan can be approved",
            "give each caller a token: alice:TOKEN,bob:TOKEN",
        )
    elif settings.auth_tokens is None:
        yield SecurityFinding(
            "FAILSOFT_AUTH_TOKEN",
            "all callers share one token and cannot be distinguished, so no plan can be approved over HTTP",
            "give each caller a token of their own with FAILSOFT_AUTH_TOKENS",
        )


def _of_network(settings: Settings) -> Iterator[SecurityFinding]:
    if "*" in settings.allowed_hosts:
        yield SecurityFinding(
            "FAILSOFT_ALLOWED_HOSTS",
            "the Host check is off: a web page that a user visits can reach the server by DNS rebinding",
            "name the hosts that clients use",
        )
    url = urlsplit(settings.state_url.get_secret_value()) if settings.state_url is not None else None
    if url is not None and url.scheme in {"redis", "valkey"} and not url.password:
        yield SecurityFinding(
            "FAILSOFT_STATE_URL",
            "the state store takes no password: those who reach it can change sessions, plans and limits",
            "set a password, or use a unix:// socket",
        )


def _of_details(settings: Settings) -> Iterator[SecurityFinding]:
    if settings.debug_stack:
        yield SecurityFinding("FAILSOFT_DEBUG_STACK", "callers are sent stack traces", "unset it")
    if settings.environment == "production" and settings.detail in {"standard", "full"}:
        yield SecurityFinding("FAILSOFT_DETAIL", "callers in production are sent details of failures", "unset it")


def _of_audit(settings: Settings, logs: Sequence[Path]) -> Iterator[SecurityFinding]:
    if not logs:
        yield SecurityFinding(
            "FAILSOFT_AUDIT_PATH", "failures leave no trace that shows later changes", "name an audit log"
        )
        return
    if settings.audit_key is not None:
        return
    file = settings.audit_key_file or default_key_file()
    if not file.exists():
        yield SecurityFinding(
            str(file),
            "there is no key for the audit chain yet",
            "start the server once, so that it is made, or set FAILSOFT_AUDIT_KEY",
        )


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file or folder that the server relies on.

    Args:
        path: Where it lies.
        mode: Its permissions, octal.
        owner: The name of its owner, or the number where it has none.
        holds: What is in it, and whether in clear.
    """

    path: str
    mode: str
    owner: str
    holds: str


def kept_files(settings: Settings, logs: Sequence[Path]) -> list[KeptFile]:
    """Return the files that the server relies on, as far as they exist, with their modes, owners and contents.

    Args:
        settings: The settings.
        logs: The audit logs of the toolsets.
    """
    known_logs = _known_logs(settings, logs)
    store = "sessions, plans, results of calls with a key, in clear; their arguments as hashes under a key"
    holding = {
        **dict.fromkeys(known_logs, "failures, without arguments and secrets, in clear"),
        **dict.fromkeys(_heads(settings, known_logs), "the hash of a log's last entry, sealed"),
        settings.audit_key_file or default_key_file(): "the key of the audit chain, in clear",
        **dict.fromkeys(_store_files(settings), store),
        state_folder() / "state.key": "the key of the hashes of arguments, in clear",
        captures_folder(): "arguments of failed calls, without secrets, in clear",
        state_folder() / "files": "files that edits replace, until they are committed, in clear",
        **({settings.recovery_file: "the strategies of recovery, in clear"} if settings.recovery_file else {}),
    }
    return [_kept(file, holds) for file, holds in holding.items() if file.exists()]


def _kept(file: Path, holds: str) -> KeptFile:
    found = file.stat()
    try:
        owner = file.owner()
    except (KeyError, NotImplementedError):  # no such user, as in containers; or Windows
        owner = str(found.st_uid)
    return KeptFile(str(file), f"{stat.S_IMODE(found.st_mode):o}", owner, holds)


def _of_modes(settings: Settings, logs: Sequence[Path]) -> Iterator[SecurityFinding]:
    keys = [default_key_file(), state_folder() / "state.key", *filter(None, [settings.audit_key_file])]
    relied_on = [file for file in (*keys, *_heads(settings, logs), *_store_files(settings)) if file.is_file()]
    for file in [state_folder() / "audit", state_folder() / "files", captures_folder(), *logs, *relied_on]:
        mode = _mode(file)
        if mode & (_OTHERS_READ | _OTHERS_WRITE):
            yield SecurityFinding(str(file), f"other users may read it (mode {mode:o})", f"chmod go-rwx {file}")
        elif file in relied_on and (others := other_writers(file, file)):
            yield SecurityFinding(str(file), others, "as it says: the server refuses the file")
    written_by_us = [log.parent for log in logs] + ([settings.recovery_file] if settings.recovery_file else [])
    for file in dict.fromkeys(written_by_us):
        mode = _mode(file)
        if mode & _OTHERS_WRITE and not mode & stat.S_ISVTX:
            yield SecurityFinding(str(file), f"other users may change it (mode {mode:o})", f"chmod go-w {file}")


def _known_logs(settings: Settings, logs: Sequence[Path]) -> list[Path]:
    return [*dict.fromkeys(filter(None, [settings.audit_path, *logs]))]


def _heads(settings: Settings, logs: Sequence[Path]) -> list[Path]:
    return [*map(default_head, logs), *filter(None, [settings.audit_head_path])]


def _store_files(settings: Settings) -> list[Path]:
    kind, _, path = (settings.state_url.get_secret_value() if settings.state_url else "sqlite:").partition(":")
    return [Path(path) if path else default_file()] if kind == "sqlite" else []


def _of_roots(settings: Settings, roots: Sequence[Path], logs: Sequence[Path]) -> Iterator[SecurityFinding]:
    own = {
        "the state folder": [state_folder()],
        "an audit log": list(logs),
        "the recovery file": [settings.recovery_file] if settings.recovery_file else [],
        "the key of the audit chain": [settings.audit_key_file] if settings.audit_key_file else [],
    }
    for root in dict.fromkeys(one.resolve() for one in roots):
        inside = [what for what, files in own.items() if any(file.resolve().is_relative_to(root) for file in files)]
        if inside:
            yield SecurityFinding(
                str(root),
                f"this root contains {', '.join(inside)}: commands that tools run can reach them, file tools cannot",
                "keep them outside the roots",
            )
        if root == Path("/") or root == Path.home().resolve():
            yield SecurityFinding(
                str(root), "tools may change everything that this user may change", "serve a narrower --root"
            )


def _mode(file: Path) -> int:
    try:
        return stat.S_IMODE(file.stat().st_mode)
    except OSError:
        return 0
