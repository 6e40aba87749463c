"""What a server of the adversarial cases is: a class that declares tools, and the three servers made of it.

The methods of a trade have real signatures and need no body: the world notes each call with all its arguments,
defaults included, so that two calls are the same if and only if they were understood in the same way.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from mcp.server import MCPServer
from pydantic import BaseModel, ConfigDict
from pydantic_core import to_jsonable_python

from failsoft import BaseTool, NotFound, Reference, Runtime, operation
from failsoft.framework.settings import Settings
from failsoft.server import mcp_server

__all__ = ["FASTMCP", "OURS", "SERVERS", "Known", "Record", "Tool", "World", "reads", "tools", "writes"]

Handler = TypeVar("Handler", bound=Callable[..., Any])
FASTMCP = "FastMCP 4 + errors"
OURS = "failsoft"


class Record(BaseModel):
    """An object among the arguments; unknown names are refused by all servers."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Known:
    """Marks a parameter whose value has to exist: `Annotated[str, Known("account")]`.

    Args:
        what: A key of the world's `ids`, and the word for one of them in messages.
        kind: As `failsoft.Reference` has it. `identifier`: a number or code that means one thing. `spelled`: a path, a
            title, a name. `handle`: an opaque id that the server has issued.
    """

    what: str
    kind: Literal["identifier", "spelled", "handle"] = "identifier"


@dataclass(frozen=True, slots=True)
class Tool:
    """What a method declares.

    Args:
        name: Its name.
        about: Its docstring.
        parameters: Its parameters by name, with types and not with their names.
        read_only: Whether it changes nothing.
        destructive: Whether it may delete or overwrite.
        idempotent: Whether twice is the same as once.
    """

    name: str
    about: str
    parameters: Mapping[str, inspect.Parameter]
    read_only: bool
    destructive: bool
    idempotent: bool

    def known(self, name: str) -> Known | None:
        """Return the mark of a parameter, however its type is wrapped (`... | None`)."""
        return _known(self.parameters[name].annotation)


def reads(method: Handler) -> Handler:
    """Mark a tool that changes nothing."""
    method.mark = (True, False, True)  # type: ignore[attr-defined] - data beside the function
    return method


def writes(*, destructive: bool = False, idempotent: bool = False) -> Callable[[Handler], Handler]:
    """Mark a tool that changes something."""

    def mark(method: Handler) -> Handler:
        method.mark = (False, destructive, idempotent)  # type: ignore[attr-defined] - the same
        return method

    return mark


class World:
    """What the calls of one case did; the base of a trade."""

    ids: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """What exists, by the word that `Known` names."""

    def __init__(self) -> None:
        self.effects: list[tuple[str, Any]] = []
        self.answers: list[Any] = []

    def act(self, name: str, given: Mapping[str, Any]) -> Any:
        """Do one call: look its ids up, let the method refuse it, and note it."""
        tool = tools(type(self))[name]
        bound = inspect.Signature([*tool.parameters.values()]).bind(**given)
        bound.apply_defaults()
        for parameter, value in bound.arguments.items():
            known = tool.known(parameter)
            if known is not None and value is not None and value not in self.ids[known.what]:
                msg = f"There is no {known.what} {value!r}."
                raise LookupError(msg)
        found = getattr(self, name)(**bound.arguments)
        arguments = to_jsonable_python(bound.arguments)
        answer = {"tool": name, "arguments": arguments} if found is None else found
        if tool.read_only:
            self.answers.append(answer)
        else:
            self.effects.append((name, arguments))
        return answer


@cache
def tools(trade: type[World]) -> dict[str, Tool]:
    """Return the tools of a trade, in the order of their definition."""
    found = {}
    for name, method in vars(trade).items():
        if hasattr(method, "mark"):
            types = typing.get_type_hints(method, include_extras=True)
            own = [*inspect.signature(method).parameters.values()][1:]
            parameters = {one.name: one.replace(annotation=types[one.name]) for one in own}
            found[name] = Tool(name, inspect.getdoc(method) or "", parameters, *method.mark)
    return found


def _known(annotation: Any) -> Known | None:
    for part in (*getattr(annotation, "__metadata__", ()), *typing.get_args(annotation)):
        found = part if isinstance(part, Known) else _known(part) if typing.get_origin(part) is Annotated else None
        if found is not None:
            return found
    return None


def _signed(function: Any, tool: Tool, parameters: list[inspect.Parameter]) -> Any:
    """Give a function that takes anything the name, docstring and signature of a tool."""
    function.__name__ = function.__qualname__ = tool.name
    function.__doc__ = tool.about
    function.__signature__ = inspect.Signature(parameters, return_annotation=dict[str, Any])
    function.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": dict[str, Any]}
    return function


def _referring(trade: type[World], annotation: Any) -> Any:
    """Return a type with `Reference` in place of `Known`."""
    if typing.get_origin(annotation) is Annotated:
        first, *rest = typing.get_args(annotation)
        marks = [_reference(trade, mark) if isinstance(mark, Known) else mark for mark in rest]
        return Annotated[(_referring(trade, first), *marks)]
    arguments = typing.get_args(annotation)
    if arguments and None.__class__ in arguments and _known(annotation):
        return typing.Optional[_referring(trade, arguments[0])]  # noqa: UP045 - made of a value
    return annotation


def _reference(trade: type[World], known: Known) -> Reference:
    existing = trade.ids[known.what]

    def look_up(value: str) -> None:
        if value not in existing:
            raise NotFound(message=f"There is no such {known.what}.", suggestions=list(existing))

    return Reference(look_up, kind=known.kind)


def _operation(trade: type[World], tool: Tool) -> Any:
    async def method(self: Any, **given: Any) -> Any:
        return self.world.act(tool.name, given)

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Any)
    parameters = [one.replace(annotation=_referring(trade, one.annotation)) for one in tool.parameters.values()]
    function = _signed(method, tool, [own, *parameters])
    if tool.read_only:
        return operation(read_only=True)(function)
    return operation(destructive=tool.destructive, idempotent=tool.idempotent)(function)


@cache
def toolset(trade: type[World]) -> type[BaseTool]:
    """Return the toolset that a trade is in failsoft."""
    settings = Settings()

    def __init__(self: Any, world: World) -> None:  # noqa: N807 - a member of the class below
        BaseTool.__init__(self, runtime=Runtime(settings=settings))
        self.world = world

    operations = {name: _operation(trade, tool) for name, tool in tools(trade).items()}
    return type(f"{trade.__name__}Tools", (BaseTool,), {"__doc__": trade.__doc__, "__init__": __init__, **operations})


def _handlers(world: World) -> list[Any]:
    """Return the tools as plain functions, as the peers take them."""

    def handler(tool: Tool) -> Any:
        def act(**given: Any) -> Any:
            return world.act(tool.name, given)

        return _signed(act, tool, [*tool.parameters.values()])

    return [handler(tool) for tool in tools(type(world)).values()]


def _ours(world: World) -> Any:
    made: Callable[..., BaseTool] = toolset(type(world))
    return mcp_server(made(world))


def _fastmcp(world: World) -> Any:
    from fastmcp import FastMCP  # noqa: PLC0415 - it may be missing
    from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware  # noqa: PLC0415 - the same

    server: Any = FastMCP("peer", middleware=[ErrorHandlingMiddleware()])
    for handler in _handlers(world):
        server.tool(handler)
    return server


def _sdk(world: World) -> Any:
    server = MCPServer("peer")
    for handler in _handlers(world):
        server.add_tool(handler)
    return server


SERVERS: dict[str, Callable[[World], Any]] = {OURS: _ours, FASTMCP: _fastmcp, "MCPServer (SDK)": _sdk}
