"""The public API as text, one name a line, so that a reviewer sees every change to it.

Recorded are the `__all__` of the public modules: for a function its parameters, for a class its parameters and public
members. Annotations are left out, since they read differently from one Python to the next.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RECORD = Path(__file__).resolve().parents[1] / "docs" / "reference" / "public-api.txt"
MODULES = ("failsoft", "failsoft.recovery", "failsoft.metrics", "failsoft.tools.docs")
PLAIN = (int, float, str, bool, tuple, type(None))


def describe() -> str:
    """Return the whole record."""
    return "\n".join(line for module in MODULES for line in _module(module)) + "\n"


def _module(name: str) -> Iterator[str]:
    module = importlib.import_module(name)
    yield f"[{name}]"
    for exported in sorted(module.__all__):
        value = getattr(module, exported)
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
    if not callable(value) or (inspect.isclass(value) and issubclass(value, str)):
        return ""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    return f"({', '.join(_listed(list(parameters)))})"


def _listed(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Yield the parameters as they are written, with `/` and `*` where they stand."""
    starred = False
    for position, parameter in enumerate(parameters):
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
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
