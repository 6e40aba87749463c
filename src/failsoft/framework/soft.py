"""Plain functions as operations: their declarations, and the toolset of the functions of a module."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType, ModuleType, new_class
from typing import Any, TypeVar

from typing_extensions import Unpack

from failsoft.framework.call.operation import Operation, Options, check_handler, located
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.text import snake_case

_MARK = "__failsoft__"

F = TypeVar("F", bound=Callable[..., Any])


class SoftOperation(Operation):
    """The declaration of a plain function.

    Args:
        function: The function.
        identity: What identifies a server of another library that the function is a tool of.
        names: Local names for annotations that are written as strings.
        input_schema: A JSON Schema for a function that takes `**arguments`.
        options: The others of `@operation`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        identity: str,
        names: Mapping[str, Any],
        input_schema: Mapping[str, Any] | None = None,
        **options: Unpack[Options],
    ) -> None:
        _check_function(function)
        super().__init__(_as_method(function), input_schema=input_schema, names=names, **options)
        self.identity = identity
        self.declared = frozenset(options)
        """The options that the author gave."""


def declare(function: F, **facts: Any) -> F:
    """Declare a function as an operation, and return the function itself; the arguments are those of the class.

    Raises:
        TypeError: It is not a plain function, or an option is not usable.
    """
    with located(function):
        setattr(function, _MARK, SoftOperation(function, **facts))
    return function


def declaration_of(function: Any) -> SoftOperation | None:
    """Return the declaration of a function, or None."""
    found = getattr(function, "__dict__", {}).get(_MARK)
    return found if isinstance(found, SoftOperation) else None


def toolset_of(module: ModuleType) -> type[BaseTool] | None:
    """Return the toolset of the functions that a module declares, named after it; None if there are none."""
    declared: dict[str, Any] = {}
    for function in vars(module).values():
        declaration = declaration_of(function)
        if declaration is not None and function.__module__ == module.__name__:
            taken = hasattr(BaseTool, function.__name__)
            declared[f"{function.__name__}_" if taken else function.__name__] = declaration
    if not declared:
        return None
    last = Path(module.__file__ or "").stem if module.__name__ == "__main__" else module.__name__.rpartition(".")[2]
    name = snake_case(last) or "tools"
    declared |= {"__doc__": module.__doc__, "__module__": module.__name__, "name": name}
    return new_class(name, (BaseTool,), exec_body=lambda body: body.update(declared))


def _check_function(function: Any) -> None:
    """Reject what is no plain function, and a function that was given to a server first.

    Raises:
        TypeError: It is a method, a class or an object, or yields; or the decorator is above that of a server.
    """
    if not isinstance(function, FunctionType):
        msg = f"@soft decorates a {type(function).__name__}: it needs a function, and goes below the server's decorator"
        raise TypeError(msg)
    if next(iter(inspect.signature(function).parameters), "") in {"self", "cls"}:
        msg = f"@soft decorates the method {function.__qualname__}: make it an @operation of a BaseTool"
        raise TypeError(msg)
    check_handler(function)
    if "tool" in _decorators_below(function):
        msg = f"@soft is above the server's decorator of {function.__qualname__}, which does not see it: put it below"
        raise TypeError(msg)


def _decorators_below(function: FunctionType) -> list[str]:
    """Return the last names of the decorators between `@soft` and a function; none without its source."""
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, SyntaxError, ValueError):
        return []
    names = [_last_name(item) for item in getattr(tree, "decorator_list", ())]
    return names[names.index("soft") + 1 :] if "soft" in names else []


def _last_name(decorator: ast.expr) -> str:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def _as_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of a toolset that calls a function."""

    async def run_async(_toolset: BaseTool, /, **arguments: Any) -> Any:
        return await function(**arguments)

    def run(_toolset: BaseTool, /, **arguments: Any) -> Any:
        return function(**arguments)

    method: Any = functools.update_wrapper(run_async if inspect.iscoroutinefunction(function) else run, function)
    own = inspect.signature(function)
    toolset = inspect.Parameter("toolset", inspect.Parameter.POSITIONAL_ONLY)
    method.__signature__ = own.replace(parameters=[toolset, *own.parameters.values()])
    return method  # type: ignore[no-any-return]  # a function with a signature of its own
