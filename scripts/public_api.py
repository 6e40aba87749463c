"""The public API as text, one name a line, so that a reviewer sees every change to it.

Recorded are the `__all__` of the public modules: for a function its parameters, for a class its parameters and public
members, for an error its fields, code and category. Annotations are left out, since they read differently from one
Python to the next. Written and checked by scripts/reference.py.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from failsoft import ToolError

RECORD = Path(__file__).resolve().parents[1] / "docs" / "reference" / "public-api.txt"
MODULES = (
    "failsoft",
    "failsoft.errors",
    "failsoft.events",
    "failsoft.recovery",
    "failsoft.metrics",
    "failsoft.testing",
    "failsoft.client",
    "failsoft.adapters.mcpserver",
    "failsoft.adapters.fastmcp",
    "failsoft.adapters.openapi",
    "failsoft.tools.docs",
    "failsoft.tools.edit",
    "failsoft.tools.flux",
    "failsoft.tools.workspace",
)
PACKAGE = Path(__file__).resolve().parents[1] / "src" / "failsoft"
PLAIN = (int, float, str, bool, tuple, type(None))
"""Types of defaults that are written out; others are only said to be there."""


def describe() -> str:
    """Return the whole record."""
    return "\n".join(line for module in MODULES for line in _module(module)) + "\n"


def stubs() -> dict[Path, str]:
    """Return the stubs of the packages whose names load on first use, for type checkers."""
    import failsoft
    import failsoft.recovery

    homes: dict[str, set[str]] = {}
    for group in failsoft._FACE.values():  # type: ignore[attr-defined]  # noqa: SLF001 - private to all but its stub
        for module, names in group.items():
            homes.setdefault(module, set()).update(names.split())
    of_recovery = {module: set(names.split()) for module, names in failsoft.recovery._FACE.items()}  # type: ignore[attr-defined]  # noqa: SLF001 - as above
    version = "from failsoft._version import __version__ as __version__"
    return {
        PACKAGE / "__init__.pyi": _stub(homes, version),
        PACKAGE / "recovery" / "__init__.pyi": _stub(of_recovery),
    }


def _stub(homes: Mapping[str, set[str]], *first: str) -> str:
    """Return an import of each public name from its home."""
    lines = ["# Made by scripts/reference.py from `_FACE` in __init__.py.", "", *first]
    for module, imported in sorted(homes.items()):
        listed = [f"    {name} as {name}," for name in sorted(imported)]
        lines += [f"from {module} import (", *listed, ")"]
    return "\n".join(lines) + "\n"


def _module(name: str) -> Iterator[str]:
    module = importlib.import_module(name)
    yield f"[{name}]"
    for exported in sorted(module.__all__):
        value = getattr(module, exported)
        if inspect.isclass(value) and issubclass(value, ToolError) and value is not ToolError:
            yield f"{exported}({', '.join(('*', *value.fields)) if value.fields else ''}) {value.code} {value.category}"
            continue
        yield f"{exported}{_signature(value)}"
        if inspect.isclass(value):
            yield from (f"  .{member}" for member in _members(value))
    yield ""


def _members(cls: type[Any]) -> Iterator[str]:
    """Yield the public members that the class, or a base of ours, defines."""
    bases = [base for base in cls.__mro__ if base.__module__.startswith("failsoft")]
    names = {name for base in bases for name in (*vars(base), *vars(base).get("__annotations__", ()))}
    for name in sorted(name for name in names if not name.startswith("_")):
        member = inspect.getattr_static(cls, name, None)
        if isinstance(member, (staticmethod, classmethod)):
            member = member.__func__
        yield f"{name}{_signature(member) if inspect.isfunction(member) else ''}"


def _signature(value: Any) -> str:
    """Return the parameters in parentheses, for a function or an `__init__` of ours; for anything else nothing."""
    made_by_init = inspect.isclass(value)
    function = value.__init__ if made_by_init else value
    if not inspect.isfunction(function) or not function.__module__.startswith("failsoft"):
        return ""
    parameters = [each for one in inspect.signature(function).parameters.values() for each in _unpacked(one, function)]
    return f"({', '.join(_listed(parameters[1:] if made_by_init else parameters))})"


def _unpacked(parameter: inspect.Parameter, function: Any) -> Iterator[inspect.Parameter]:
    """Yield a parameter, or instead of `**options: Unpack[Options]` the options."""
    annotation = str(parameter.annotation)
    if not annotation.startswith("Unpack["):
        yield parameter
        return
    for name in function.__globals__[annotation.removeprefix("Unpack[").removesuffix("]")].__annotations__:
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=...)


def _listed(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Yield the parameters as they are written, with `/` and `*` in their positions."""
    starred = False
    for position, parameter in enumerate(parameters):
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        prefix = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
        yield f"{prefix}{parameter.name}{_default(parameter.default)}"
        last_positional = parameter.kind is parameter.POSITIONAL_ONLY and (
            position + 1 == len(parameters) or parameters[position + 1].kind is not parameter.POSITIONAL_ONLY
        )
        if last_positional:
            yield "/"


def _default(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return ""
    return f"={default!r}" if isinstance(default, PLAIN) else "=..."
