"""The upstream servers of a proxy: a command, a URL, or a file in the `mcpServers` form of the usual clients."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.client.stdio import get_default_environment

from failsoft.adapters.identity import identity_of_command, identity_of_url
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.files import read_regular
from failsoft.framework.text import bounded

_FILE_AT_MOST = 1_000_000
_NAME_AT_MOST = 40
_NAME = re.compile(rf"[A-Za-z0-9_.-]{{1,{_NAME_AT_MOST}}}")
_LAUNCHERS = frozenset({"npx", "uvx", "node", "python", "python3", "uv", "run", "env", "-y", "-m"})
_IN_EVERY_PACKAGE = frozenset({"__main__", "bin", "build", "cli", "dist", "index", "lib", "main", "src"})
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_ASKED = re.compile(r"\$\{input:[^}]*\}")
"""A value that VS Code asks its user for."""
_SERVERS_KEYS = ("mcpServers", "servers")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamTarget:
    """One upstream server: either a command to start, or a URL.

    Args:
        name: The label in metrics, logs and failures, and the prefix of its tools where there are several.
        command: The program and its arguments.
        environment: Variables added to the ones that the SDK deems safe to inherit.
        folder: The working directory of the command.
        url: The streamable HTTP endpoint.
        headers: Headers for every request to the URL.
    """

    name: str
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """What identifies this server beside its name, see `failsoft.adapters.identity`."""
        if self.url:
            return identity_of_url(self.url)
        return identity_of_command(self.command, folder=self.folder, variables=self.environment)


def from_command(words: Sequence[str], *, name: str = "") -> UpstreamTarget:
    """Return the target for a command; of the variables of this process it gets what is safe to inherit.

    Raises:
        CONFIG_ERROR: There is no command, or the name is not usable.
    """
    if not words:
        raise ConfigurationError(issue="there is no server to start", resolution="give a command after --")
    label = _name(name or _named_after(words))
    return UpstreamTarget(name=label, command=tuple(words))


def from_url(url: str, *, name: str = "", headers: Mapping[str, str] | None = None) -> UpstreamTarget:
    """Return the target for a URL.

    Raises:
        CONFIG_ERROR: It is no HTTP URL, or the name is not usable.
    """
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(issue=f"'{bounded(url)}' is not an HTTP URL")
    return UpstreamTarget(name=_name(name or "upstream"), url=url, headers=dict(headers or {}))


def from_file(path: Path) -> list[UpstreamTarget]:
    """Return the targets that a file in the `mcpServers` form names, in its order; disabled ones are left out.

    `${VARIABLE}` and `${VARIABLE:-default}` in its strings are replaced by the environment's values. Characters of a
    name that no tool name may have become `-`.

    Raises:
        CONFIG_ERROR: It is no regular file, cannot be read, has more than 1 MB, is no JSON, or names no server that
            can be used.
    """
    try:
        content = read_regular(path, _FILE_AT_MOST + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigurationError(issue=f"{bounded(str(path))} cannot be read ({reason})") from error
    if len(content) > _FILE_AT_MOST:
        raise ConfigurationError(issue=f"{path.name} has more than {_FILE_AT_MOST} bytes")
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(issue=f"{path.name} is not JSON ({bounded(str(error))})") from error
    servers = next((tree[key] for key in _SERVERS_KEYS if isinstance(tree, dict) and key in tree), None)
    if not isinstance(servers, dict) or not servers:
        raise ConfigurationError(issue=f"{path.name} has no mcpServers with at least one server")
    targets = [_entry(_label(name), entry) for name, entry in servers.items() if not _is_disabled(entry)]
    if not targets:
        raise ConfigurationError(issue=f"every server of {path.name} is disabled")
    return targets


def check_programs(targets: Sequence[UpstreamTarget]) -> None:
    """Refuse to start if none of these upstreams can: each is a command whose program is missing.

    Where at least one can be started, the others are logged and tried again, as an upstream is that dies later.

    Raises:
        CONFIG_ERROR: No program of these commands can be found; names each.
    """
    missing = [_missing(target) for target in targets]
    if all(missing):
        raise ConfigurationError(
            issue="; ".join(missing), resolution="install it, or give its full path; PATH is that of this process"
        )


def _missing(target: UpstreamTarget) -> str:
    """Return which part of a command does not exist; empty if it can be started, or is a URL."""
    if target.url:
        return ""
    if target.folder is not None and not Path(target.folder).is_dir():
        return f"the folder '{bounded(target.folder)}' of the server '{target.name}' does not exist"
    program = target.command[0]
    where = str(Path(target.folder or ".", program).absolute()) if Path(program).parent != Path() else program
    environment = get_default_environment() | dict(target.environment)
    if shutil.which(where, path=environment.get("PATH", os.defpath)):
        return ""
    return f"the program '{bounded(program)}' of the server '{target.name}' cannot be found or executed"


def _is_disabled(entry: Any) -> bool:
    return isinstance(entry, dict) and (entry.get("disabled") is True or entry.get("enabled") is False)


def _entry(name: str, entry: Any) -> UpstreamTarget:
    if not isinstance(entry, dict):
        raise ConfigurationError(issue=f"the server '{bounded(name)}' is not an object")
    url = entry.get("url") or entry.get("serverUrl")
    if url is not None:
        return from_url(expanded(url, _server(name)), name=name, headers=_strings(entry, "headers", name))
    command = entry.get("command")
    arguments = entry.get("args", [])
    if not isinstance(command, str) or not command or not isinstance(arguments, list):
        raise ConfigurationError(issue=f"the server '{bounded(name)}' has neither a command with args nor a url")
    words = [expanded(word, _server(name)) for word in (command, *arguments)]
    folder = entry.get("cwd")
    return UpstreamTarget(
        name=_name(name),
        command=tuple(words),
        environment=_strings(entry, "env", name),
        folder=None if folder is None else expanded(folder, _server(name)),
    )


def _strings(entry: Mapping[str, Any], key: str, server: str) -> dict[str, str]:
    given = entry.get(key) or {}
    if not isinstance(given, dict):
        raise ConfigurationError(issue=f"{key} of the server '{bounded(server)}' is not an object")
    return {name: expanded(value, _server(server)) for name, value in given.items()}


def _server(name: str) -> str:
    return f"the server '{bounded(name)}'"


def expanded(value: Any, owner: str) -> str:
    """Return a string with the values of its `${VARIABLE}`s; `owner` names in failures what it belongs to.

    Raises:
        CONFIG_ERROR: It is no string, or a variable without a default is not set.
    """
    if not isinstance(value, str):
        raise ConfigurationError(issue=f"{owner} has a value that is not a string")

    if asked := _ASKED.search(value):
        raise ConfigurationError(
            issue=f"{owner} uses {asked[0]}, which only VS Code can ask for",
            resolution="use ${VARIABLE}, and set it in the environment of the proxy",
        )

    def replaced(match: re.Match[str]) -> str:
        found = os.environ.get(match[1], match[2])
        if found is None:
            raise ConfigurationError(issue=f"{owner} uses ${{{match[1]}}}, which is not set")
        return found

    return _VARIABLE.sub(replaced, value)


def _name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ConfigurationError(
            issue=f"'{bounded(name)}' cannot name a server: 1 to 40 letters, digits, underscores, hyphens or dots",
        )
    return name


def _label(name: str) -> str:
    """Return a name of a file with `-` for the characters that a tool's prefix may not have."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-")[:_NAME_AT_MOST] or name


def _named_after(words: Sequence[str]) -> str:
    """Return a name for a command: the last part of its first word that is neither a launcher nor an option.

    A version (`name@1.2`) and parts that every package has (`dist/index.js`) are left out.
    """
    word = next((word for word in words if Path(word).name not in _LAUNCHERS and not word.startswith("-")), words[0])
    unversioned, at, version = word.rpartition("@")
    if at and unversioned and "/" not in version:
        word = unversioned
    path = Path(word)
    names = [path.stem, *reversed(path.parent.parts)]
    name = next((name for name in names if name not in _IN_EVERY_PACKAGE), names[0])
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:_NAME_AT_MOST] or "upstream"
