"""Look-up of tools: toolsets by name through entry points, anything else as `module:attribute`; their variables."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.errors import BootstrapFailure, ConfigurationError, ToolError
from failsoft.framework.errors.corrections import closest_name
from failsoft.framework.plugins import installed_points
from failsoft.framework.safe.tracebacks import author_line, declaring_line
from failsoft.framework.setting_types import PREFIX, EnvironmentSettings
from failsoft.framework.settings import Settings
from failsoft.framework.soft import declaration_of, toolset_of
from failsoft.framework.standalone import SystemErrorFactory
from failsoft.framework.text import bounded

ENTRY_POINT_GROUP = "failsoft.toolsets"
_OF_CLIENTS = frozenset({"FAILSOFT_TOKEN"})
"""Variables of commands that are clients, not settings of a server."""
_MISSPELT = re.compile(r"cannot import name '(\w+)'")
_SEPARATORS = frozenset({"/", "\\"})
"""The characters that tell a path from the name of a module."""

Tools: TypeAlias = (
    BaseTool | type[BaseTool] | ModuleType | Iterable[BaseTool | type[BaseTool] | ModuleType] | Callable[[], Any]
)
"""What can be served: a toolset, its class, the module of the only one, several of these, or a function that returns
any of them."""


@dataclass(frozen=True, slots=True)
class ToolSource:
    """Makes tools from names; picklable, so that worker processes can make the same tools.

    Args:
        toolsets: Names under the entry-point group `failsoft.toolsets`.
        app: `module:attribute`, or `module` alone, or empty.
        root: The folder or folders that toolsets work in; by default each toolset's own.
        folder: Where the application's module is found; by default the current folder.
    """

    toolsets: tuple[str, ...] = ()
    app: str = ""
    root: Path | tuple[Path, ...] | None = None
    folder: Path | None = None

    def __call__(self) -> list[BaseTool]:
        """Return the tools, named toolsets first.

        Raises:
            CONFIG_ERROR: A name does not exist, or none is given.
        """
        tools = [load_toolset(name, root=self.root) for name in self.toolsets]
        if self.app:
            tools += load_app(self.app, folder=self.folder)
        if not tools:
            raise ConfigurationError(
                issue=f"there is nothing to serve; the toolsets are {_listed(find_toolsets())}",
                resolution="name a toolset, or an application as module:attribute",
            )
        return tools

    @property
    def is_governed(self) -> bool:
        """Whether one of the named toolsets is governed; none is instantiated for this."""
        known = find_toolsets()
        with suppress(Exception):  # instantiating them reports the error better
            return any(getattr(known[name].load(), "governed", False) for name in self.toolsets)
        return False


def find_toolsets() -> dict[str, EntryPoint]:
    """Return the installed toolsets by name, sorted; if two packages use a name, the first one found keeps it."""
    found: dict[str, EntryPoint] = {}
    for entry_point in installed_points(ENTRY_POINT_GROUP):
        found.setdefault(entry_point.name, entry_point)
    return dict(sorted(found.items()))


def unknown_variables(
    models: Iterable[type[EnvironmentSettings]], environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the `FAILSOFT_` variables that none of the models reads, each with the closest one that is read, or ""."""
    known = {name for model in models for names in model.variables().values() for name in names}
    known_too = known | _OF_CLIENTS
    strange = sorted(name for name in environ if name.upper().startswith(PREFIX) and name.upper() not in known_too)
    tails = {variable.removeprefix(PREFIX): variable for variable in sorted(known)}
    tails |= {name.removeprefix("DEFAULT_").removesuffix("_S"): tails[name] for name in tails if "DEFAULT_" in name}
    closest = {name: closest_name(name.upper().removeprefix(PREFIX), tails) for name in strange}
    return {name: tails[match] if match else "" for name, match in closest.items()}


def misspelt_variables(tools: Sequence[BaseTool]) -> Iterator[str]:
    """Yield a sentence for each `FAILSOFT_` variable that is not a setting of these tools, with the closest setting.

    Variables with the prefix of an installed toolset that is not served are ignored: they may be for another server.
    """
    models: list[type[EnvironmentSettings]] = [Settings]
    models += [type(tool.settings) for tool in tools if isinstance(tool.settings, EnvironmentSettings)]
    served = {tool.name for tool in tools}
    unknown = unknown_variables(models)
    elsewhere = tuple(f"{PREFIX}{name}_".upper() for name in find_toolsets() if name not in served) if unknown else ()
    for name, closest in unknown.items():
        if not name.upper().startswith(elsewhere):
            meant = f"; did you mean {closest}?" if closest else ""
            yield f"No setting is named {bounded(name)}{meant}"


def load_toolset(name: str, *, root: Path | tuple[Path, ...] | None = None) -> BaseTool:
    """Return the toolset that is installed under this name.

    Args:
        name: Its name under the entry-point group `failsoft.toolsets`.
        root: Passed to classes whose `__init__` has a `root` parameter; ignored by others. Several folders are passed
            to classes with `takes_several_roots = True`.

    Raises:
        CONFIG_ERROR: It does not exist or cannot be loaded; the message lists the installed ones. Or it works in one
            folder, and several are given.
    """
    known = find_toolsets()
    if name not in known:
        raise ConfigurationError(issue=f"there is no toolset '{bounded(name)}'; the toolsets are {_listed(known)}")
    try:
        loaded: Any = known[name].load()
    except ToolError:
        raise
    except Exception as error:
        raise _broken(error, what=f"The toolset '{name}' cannot be loaded") from error
    folders = (root,) if isinstance(root, Path) else root or ()
    if folders and isinstance(loaded, type) and "root" in inspect.signature(loaded.__init__).parameters:  # type: ignore[misc]  # __init__ of the class itself
        takes_several = getattr(loaded, "takes_several_roots", False)
        if len(folders) > 1 and not takes_several:
            raise ConfigurationError(issue=f"the toolset '{name}' works in one folder, and {len(folders)} are given")
        loaded = functools.partial(loaded, root=folders if len(folders) > 1 else folders[0])
    return as_tools(loaded, origin=f"the toolset '{name}'")[0]


def load_app(spec: str, *, folder: Path | None = None) -> list[BaseTool]:
    """Return the tools that `module:attribute` names, or the only toolset of a `module`.

    Args:
        spec: `module:attribute`, or `module` alone; in place of the module also the path of its file.
        folder: Searched for the module besides the installed packages; by default the current folder.

    Raises:
        CONFIG_ERROR: The module or the attribute does not exist or cannot be served; the message names the file and
            line of a failed import.
    """
    module_name, colon, attribute = spec.rpartition(":")
    if not colon or set(attribute) & _SEPARATORS:  # such as in `C:\\shelf.py`
        module_name, colon, attribute = spec, "", ""
    if not module_name or (colon and not attribute):
        raise ConfigurationError(issue=f"'{bounded(spec)}' is not of the form module:attribute")
    found: Any = import_module(module_name, folder)
    if not colon:
        return [_only_toolset(found, found.__name__)]
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            close = closest_name(part, vars(found)) if hasattr(found, "__dict__") else None
            raise ConfigurationError(
                issue=f"'{bounded(module_name)}' has no attribute '{bounded(attribute)}'",
                resolution=f"did you mean '{close}'?" if close else "",
            ) from error
    return as_tools(found, origin=f"'{bounded(spec)}'")


def import_module(name: str, folder: Path | None = None) -> ModuleType:
    """Return the module of this name, or that of the file at this path. Raises the errors of `load_app`."""
    file = None
    if name.endswith(".py") or set(name) & _SEPARATORS:
        file = Path(os.path.realpath(Path(folder or "", name)))  # `resolve` raises for links in a circle
        name, folder = _module_of(file)
    here = str(folder or Path.cwd())
    if here not in sys.path and (folder is not None or "" not in sys.path):
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(name)
    except ModuleNotFoundError as error:
        outer, _, inner = name.rpartition(".")
        is_attribute = error.name == name and hasattr(sys.modules.get(outer), inner)
        raise ConfigurationError(
            issue=f"the module '{bounded(str(error.name))}' was not found",
            resolution=f"did you mean '{bounded(outer)}:{bounded(inner)}'?"
            if is_attribute
            else "go to the folder that holds it, install it, or name its file",
        ) from error
    except Exception as error:
        raise _broken(error, what=f"Importing '{bounded(name)}' failed") from error
    if file is not None and Path(found.__file__ or "").resolve() != file:
        raise ConfigurationError(
            issue=f"{bounded(str(file))} cannot be imported: another module is named '{bounded(name)}'",
            resolution="rename the file",
        )
    return found


def _only_toolset(module: ModuleType, name: str) -> BaseTool:
    """Return the only toolset of a module: an instance, else a class that the module defines, or its functions."""
    values = {attribute: value for attribute, value in vars(module).items() if not attribute.startswith("_")}
    found: dict[str, Any] = {attribute: value for attribute, value in values.items() if isinstance(value, BaseTool)}
    made = {type(value) for value in found.values()}
    for attribute, value in values.items():
        is_own = isinstance(value, type) and issubclass(value, BaseTool) and value.__module__ == module.__name__
        if is_own and value not in made and value._declared:  # noqa: SLF001 - a base without operations is no toolset
            found[attribute] = value
    named = ", ".join(f"{name}:{attribute}" for attribute in found)
    if functions := toolset_of(module):
        found[functions.name] = functions
    if len(found) == 1:
        return _as_tool(next(iter(found.values())), f"'{name}'")
    raise ConfigurationError(
        issue=f"'{bounded(name)}' has {'several toolsets' if found else 'no toolset'}",
        resolution=f"name one: {bounded(named)}" if found else "name what makes the tools, as module:attribute",
    )


def _module_of(file: Path) -> tuple[str, Path]:
    """Return the name of the module of a file, and the folder to import it from: that above its packages.

    Raises:
        CONFIG_ERROR: There is no such Python file, or no module can have its name.
    """
    if file.suffix != ".py" or not file.is_file():
        raise ConfigurationError(issue=f"there is no Python file {bounded(str(file))}")
    parts, folder = [file.stem], file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    if parts[-1] == "__init__" and len(parts) > 1:
        del parts[-1]
    if any("." in part for part in parts):
        raise ConfigurationError(issue=f"{bounded(str(file))} cannot be imported: a dot separates packages")
    return ".".join(parts), folder


def server_name(tools: Sequence[BaseTool], name: str | None = None) -> str:
    """Return what a server of these tools calls itself, unless it is given a name: records are kept under it."""
    return name or (tools[0].name if len(tools) == 1 else "failsoft")


def as_tools(value: Tools | Any, *, origin: str = "what was given") -> list[BaseTool]:
    """Return the toolsets of a value; classes are instantiated.

    Args:
        value: See `Tools`.
        origin: What error messages call the value.

    Raises:
        CONFIG_ERROR: It has no toolset, or is something else; the message says what was found.
    """
    found: Any = value
    if not isinstance(found, (BaseTool, type)) and callable(found) and declaration_of(found) is None:
        found = _made(found, origin)
    items = [found] if isinstance(found, (BaseTool, type)) or not isinstance(found, Iterable) else list(found)
    if not items:
        raise ConfigurationError(issue=f"{origin} is an empty list of tools")
    return [_as_tool(item, origin) for item in items]


def _as_tool(item: Any, origin: str) -> BaseTool:
    if isinstance(item, ModuleType):
        return _only_toolset(item, item.__name__)
    if declaration_of(item) is not None:
        raise ConfigurationError(
            issue=f"{origin} is one function with @soft: name its module, {item.__module__}, whose toolset it is in"
        )
    if isinstance(item, type) and issubclass(item, BaseTool):
        item = _made(item, origin)
    if not isinstance(item, BaseTool):
        kind = (
            f"the class '{item.__name__}'" if isinstance(item, type) else f"an object of type '{type(item).__name__}'"
        )
        raise ConfigurationError(
            issue=f"{origin} is {kind}, not a BaseTool, a list of them, or a function that returns either",
            resolution=_instead_of(item),
        )
    return item


def _instead_of(item: Any) -> str:
    """Return what to do with something that is no toolset, where that is clear."""
    if isinstance(item, type):
        return f"class {item.__name__}(BaseTool), {declaring_line(item)}"
    if hasattr(item, "list_tools") and hasattr(item, "call_tool"):
        return (
            "it is a server of its own: start it as before, with the adapter in it, or with `failsoft proxy -- COMMAND`"
        )
    return ""


def _made(maker: Callable[[], Any], origin: str) -> Any:
    try:
        made = maker()
    except ToolError as error:
        if not getattr(getattr(maker, "func", maker), "governed", False):
            raise
        raise not_set_up(error) from error
    except Exception as error:
        raise _broken(error, what=f"{origin[0].upper()}{origin[1:]} cannot be made", maker=maker) from error
    if inspect.iscoroutine(made):
        made.close()
        raise ConfigurationError(issue=f"{origin} is an async function; tools are made by a plain one")
    return made


def not_set_up(error: ToolError) -> ToolError:
    """Return the failure of a governed toolset that cannot be instantiated, with a hint for the operator."""
    reason = f"{error.issue}." if isinstance(error, ConfigurationError) and error.issue else error.message
    sentence = f"The server could not be set up: {reason}"
    failure = SystemErrorFactory.startup_failure(BootstrapFailure.code, human_message=sentence, cause=error)
    failure.operator_hint = error.operator_hint or getattr(error, "resolution", None) or ""
    return failure


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _broken(error: Exception, *, what: str, maker: Any = None) -> ConfigurationError:
    """Return the error with the author's own one, where it was raised or declared, and what may have been meant."""
    notes: list[str] = list(getattr(error, "__notes__", ()))
    misspelt = _MISSPELT.match(str(error)) if isinstance(error, ImportError) else None
    if misspelt is not None:
        close = closest_name(misspelt[1], dir(sys.modules.get(error.name or "")))  # type: ignore[attr-defined]  # of an ImportError
        notes += [f"did you mean '{close}'?"] if close else []
    if not any(note.startswith("declared by") for note in notes):
        notes += filter(None, [author_line(error) or declaring_line(maker)])
    takes_more = isinstance(maker, type) and isinstance(error, TypeError) and "required" in str(error)
    return ConfigurationError(
        message=f"{what} ({type(error).__name__}: {'; '.join([str(error), *notes])}).",
        resolution="name a function that makes it, as module:function" if takes_more else "",
    )
