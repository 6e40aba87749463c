"""`failsoft install`: the entry of a server in the configuration of a client that starts its servers itself."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from failsoft.cli.errors import missing, usage
from failsoft.cli.options import App, Root, Toolsets
from failsoft.cli.target import Target
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.files import OPEN_FLAGS, read_regular, state_folder
from failsoft.framework.text import bounded
from failsoft.server.sources import ToolSource

_BYTES_AT_MOST = 16_000_000
_WAIT_S = 10.0
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class ClientFile:
    """The configuration file of a client.

    Args:
        place: The file; a relative one lies in the current folder, which is the client's project.
        key: The table of the servers.
        typed: Whether an entry says that its server is asked over stdio.
        then: What the client needs before it sees a change.
    """

    place: str
    key: str = "mcpServers"
    typed: bool = False
    then: str = "Restart the client."


def _clients() -> dict[str, ClientFile]:
    desktop = {"darwin": "~/Library/Application Support/Claude", "win32": os.environ.get("APPDATA", "~") + "/Claude"}
    folder = desktop.get(sys.platform, "~/.config/Claude")
    return {
        "claude-desktop": ClientFile(f"{folder}/claude_desktop_config.json", then="Quit Claude Desktop and start it."),
        "claude-code": ClientFile(".mcp.json", typed=True, then="Start `claude` in this folder."),
        "cursor": ClientFile("~/.cursor/mcp.json", typed=True, then="Cursor reads it at once."),
        "vscode": ClientFile(".vscode/mcp.json", "servers", typed=True, then="Start the server in the editor."),
        "codex": ClientFile(os.environ.get("CODEX_HOME", "~/.codex") + "/config.toml", "mcp_servers"),
        "gemini": ClientFile("~/.gemini/settings.json"),
    }


def install(
    toolsets: Toolsets = None,
    *,
    client: Annotated[str, typer.Option("--client", metavar="NAME", help=f"One of {', '.join(_clients())}.")],
    app: App = None,
    root: Root = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="The name of the server there; by default the tools'.")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME[=VALUE]", help="A variable of the server; without a value, that of here."),
    ] = None,
    print_only: Annotated[
        bool, typer.Option("--print", help="Print the configuration instead of writing the client's file.")
    ] = False,
) -> None:
    """Add a server of these tools to a client's configuration.

    The client starts the server itself. The entry names the interpreter, files and folders by their absolute paths,
    since clients choose the working folder and the environment of their servers. The tools are loaded first, so that
    what cannot start is not installed. Other entries stay as they are; one of the same name is replaced.

    Examples:
      failsoft install --client claude-desktop --app library.py
      failsoft install docs --root docs --client vscode --print
    """
    known = _clients()
    if client not in known:
        raise missing(kind="client", name=client, known=[*known], command="failsoft install --client {}")
    target = Target(toolsets or (), app, root=root, command="failsoft install {} --client " + client)
    if not target.is_named:
        raise usage(
            message="There is nothing to install.", hint=f"failsoft install --client {client} --app MODULE:CLASS"
        )
    source = target.source()
    title = name or "-".join(dict.fromkeys(tool.name for tool in source()))[:64]
    if not _NAME.fullmatch(title):
        raise usage(message=f"'{bounded(title)}' is not a valid name for a server: use letters, digits, '-' and '_'.")
    # -P: a module of the folder in which the client starts it, such as `mcp.py`, is not taken for a package
    entry: dict[str, Any] = {"command": sys.executable, "args": ["-P", "-m", "failsoft", "serve", *_arguments(source)]}
    if env:
        entry["env"] = _variables(env)
    file = known[client]
    if file.typed:
        entry = {"type": "stdio", **entry}
    is_toml = file.place.endswith(".toml")
    if print_only:
        text = _toml(file.key, title, entry) if is_toml else _json({file.key: {title: entry}})
        typer.echo(text, nl=False)
        return
    path = Path(file.place).expanduser().absolute()
    merge = _with_toml if is_toml else _with_json
    with _alone():
        while True:
            before = _text(path)
            after = merge(path, before, file.key, title, entry)
            if _text(path) == before:  # else another program has written it meanwhile
                break
        _replace(path, after)
    typer.echo(f"wrote '{title}' to {path}\n{file.then}")


def _arguments(source: ToolSource) -> list[str]:
    """Return the arguments of `failsoft serve` for a source, which hold wherever it is started."""
    words = [*source.toolsets]
    if source.app:
        words += ["--app", _placed(source.app, source.folder)]
    folders = (source.root,) if isinstance(source.root, Path) else source.root or ()
    if source.toolsets and not folders:
        folders = (Path.cwd(),)  # where the client starts it is another folder
    return words + [word for folder in folders for word in ("--root", str(folder.resolve()))]


def _placed(app: str, folder: Path | None) -> str:
    """Return an application by the path of its file, unless its module is installed."""
    name, colon, attribute = app.partition(":")
    if name.endswith(".py"):
        return f"{Path(folder or '', name).resolve()}{colon}{attribute}"
    found = importlib.util.find_spec(name)
    file = None if found is None or found.origin is None else Path(found.origin).resolve()
    installed = {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib", "stdlib")}
    if file is None or not installed.isdisjoint(file.parents):
        return app
    return f"{file}{colon}{attribute}"


def _variables(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals and name not in os.environ:
            raise usage(message=f"The variable '{bounded(name)}' is not set here.", hint=f"--env {name}=VALUE")
        found[name] = value if equals else os.environ[name]
    return found


def _with_json(path: Path, text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return the text of a JSON file with an entry. Raises CONFIG_ERROR if the file is no configuration."""
    try:
        tree = json.loads(text, object_pairs_hook=_unique) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise _unusable(path, str(error)) from error
    servers = tree.setdefault(key, {}) if isinstance(tree, dict) else None
    if not isinstance(servers, dict):
        raise _unusable(path, f"its `{key}` is not an object")
    servers[name] = entry
    return _json(tree)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError if a name is in it twice, of which one would get lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = "an object has a name twice"
        raise ValueError(msg)
    return found


def _with_toml(path: Path, text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return the text of a TOML file with an entry, its comments kept. Raises CONFIG_ERROR as `_with_json` does."""
    try:
        before = tomllib.loads(text)
        kept = _without_table(text, f"{key}.{name}")
        after = (kept.rstrip("\n") + "\n\n" if kept.strip() else "") + _toml(key, name, entry)
        expected = {**before, key: {**before.get(key, {}), name: dict(entry)}}
        if tomllib.loads(after) != expected:
            raise _unusable(path, f"[{key}.{name}] is written in a form that cannot be replaced")
    except (ValueError, TypeError, RecursionError) as error:
        raise _unusable(path, str(error)) from error
    return after


def _without_table(text: str, name: str) -> str:
    """Return a TOML text without a table and the tables in it."""
    kept, is_kept = [], True
    for line in text.splitlines(keepends=True):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        if header is not None:
            is_kept = header[1] != name and not header[1].startswith(f"{name}.")
        if is_kept:
            kept.append(line)
    return "".join(kept)


def _toml(key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return an entry as a TOML table; the strings of JSON are strings of TOML."""
    lines = [f"[{key}.{name}]"]
    for word, value in entry.items():
        if isinstance(value, Mapping):
            inner = ", ".join(f"{_string(part)} = {_string(text)}" for part, text in value.items())
            lines.append(f"{word} = {{ {inner} }}")
        else:
            lines.append(f"{word} = {_string(value)}")
    return "\n".join(lines) + "\n"


def _string(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json(tree: Any) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def _text(path: Path) -> str:
    try:
        return read_regular(path, _BYTES_AT_MOST).decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise _unusable(path, str(error)) from error


def _unusable(path: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(
        issue=f"{path} was left as it is ({bounded(reason)})", resolution="fix it, or add what --print prints by hand"
    )


@contextmanager
def _alone() -> Iterator[None]:
    """Let no other `failsoft install` of this user write while the block lasts, where there is a state folder."""
    from filelock import FileLock, Timeout  # noqa: PLC0415 - 20 ms that other commands save

    lock = FileLock(state_folder() / "install.lock", timeout=_WAIT_S, mode=0o600)
    with suppress(OSError, Timeout):
        Path(lock.lock_file).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _replace(path: Path, text: str) -> None:
    """Write a file whole; a link stays, and so do mode and owner. What a killed command has left is replaced.

    Raises:
        CONFIG_ERROR: It cannot be written.
    """
    try:
        path = path.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat() if path.exists() else None
        if before is not None and not os.access(path, os.W_OK):
            raise _unusable(path, "it is read-only")
        made = path.with_name(f".{path.name}.failsoft")
        made.unlink(missing_ok=True)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS
            with os.fdopen(os.open(made, flags, 0o600), "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            if before is not None:
                _keep_owner(made, before)
            made.replace(path)
        except BaseException:
            made.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        raise _unusable(path, str(error)) from error


def _keep_owner(made: Path, before: os.stat_result) -> None:
    """Give a new file the owner, where this user may, and the mode of the one that it replaces."""
    if (made.stat().st_uid, made.stat().st_gid) != (before.st_uid, before.st_gid):
        with suppress(PermissionError):
            shutil.chown(made, before.st_uid, before.st_gid)
    made.chmod(before.st_mode & 0o777)
