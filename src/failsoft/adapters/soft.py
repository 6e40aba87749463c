"""`@failsoft.soft`: a plain function as a tool of its module's toolset, and of a server of another library."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar, overload

from typing_extensions import Unpack

from failsoft.adapters.identity import identity_of_this_process
from failsoft.framework.call.operation import Options
from failsoft.framework.errors.corrections import check_options
from failsoft.framework.soft import declaration_of, declare

_LIBRARIES = {
    "mcp.server.mcpserver.tools.base": ("Tool", "failsoft.adapters.mcpserver"),
    "fastmcp.tools.function_tool": ("FunctionTool", "failsoft.adapters.fastmcp"),
}
"""Where the libraries of servers make tools of functions: by module, the class, and our module for soft functions."""
_joined: set[str] = set()

F = TypeVar("F", bound=Callable[..., Any])


@overload
def soft(function: F, /) -> F: ...


@overload
def soft(*, input_schema: Mapping[str, Any] | None = None, **options: Unpack[Options]) -> Callable[[F], F]: ...


def soft(
    function: Callable[..., Any] | None = None,
    /,
    *,
    input_schema: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Any:
    """Declare a plain function as a tool that fails soft; the function itself stays as it is.

    The functions of a module are a toolset with its name: `failsoft serve --app module`, `mcp_server(module)`. Below
    the decorator of a server of the `mcp` SDK (`MCPServer`) or of FastMCP 4, that one tool of the server gets checked
    arguments, typed failures, its time limit, recovery, metrics and log; no other part of the server changes.

    Args:
        function: The function, if used without arguments.
        input_schema: A JSON Schema for a function that takes `**arguments`; only in a toolset.
        **options: The others of `@operation`. A server's own decorator sets `name` and `title`; `effects` needs a
            `CallContext` and `job` a server of failsoft, which only a toolset has.

    Raises:
        TypeError: It is not a function, is above the decorator of a server, or an option is not usable.

    Examples:
        >>> from failsoft import soft
        >>> @soft(read_only=True, timeout=5.0)
        ... def add(a: int, b: int = 1) -> int:
        ...     "Add two numbers."
        ...     return a + b
        >>> add(2)
        3
    """
    check_options("@soft", options, [*Options.__optional_keys__, "input_schema"])
    frame = sys._getframe(1)  # noqa: SLF001 - local names, for annotations written as strings
    names = {**(frame.f_back.f_locals if frame.f_back is not None else {}), **frame.f_locals}
    identity = identity_of_this_process()
    _join_libraries()

    def mark(function: F) -> F:
        return declare(function, identity=identity, names=names, input_schema=input_schema, **options)

    return mark if function is None else mark(function)


def _join_libraries() -> None:
    """Let each library make soft tools of soft functions, now or when it is imported."""
    for name in _LIBRARIES.keys() - _joined:
        if name in sys.modules:
            _join(sys.modules[name])
        elif not any(isinstance(finder, _Arrivals) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Arrivals())


def _join(library: ModuleType) -> None:
    """Replace the class method that makes every tool of a function; other tools are made as before."""
    _joined.add(library.__name__)
    class_name, adapter = _LIBRARIES[library.__name__]
    kind: Any = getattr(library, class_name)
    make = kind.from_function.__func__

    @functools.wraps(make)
    def from_function(cls: type, /, fn: Callable[..., Any], *args: Any, **options: Any) -> Any:
        declaration = declaration_of(fn)
        if declaration is None or cls is not kind:
            return make(cls, fn, *args, **options)
        return importlib.import_module(adapter).soft_tool(declaration, fn, *args, **options)

    kind.from_function = classmethod(from_function)


class _Arrivals(MetaPathFinder):
    """Joins a library that is imported after the first soft function was declared."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module that another finder has found, and join it once it has run."""
        if fullname not in _LIBRARIES or fullname in _joined:
            return None
        others = [finder for finder in sys.meta_path if not isinstance(finder, _Arrivals)]
        found = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if found is not None and found.loader is not None:
            run = found.loader.exec_module

            def run_and_join(module: ModuleType) -> None:
                run(module)
                _join(module)

            found.loader.exec_module = run_and_join  # type: ignore[method-assign]  # of this module's own loader
        return found
