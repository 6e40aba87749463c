"""URI templates of resources: `{name}` is one segment, `{+name}` may hold slashes (RFC 6570, levels 1 and 2)."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, NotRequired
from urllib.parse import quote, unquote

from typing_extensions import TypedDict, Unpack

from failsoft.framework.call.operation import Offer, OfferOptions
from failsoft.framework.errors.corrections import check_options

_VARIABLE = re.compile(r"\{(\+?)([A-Za-z_][A-Za-z0-9_]*)\}")


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class UriTemplate:
    """A template, to be matched and filled.

    >>> UriTemplate("docs://{project}/{+path}").match("docs://handbook/guide/a%20b.md")
    {'project': 'handbook', 'path': 'guide/a b.md'}
    >>> UriTemplate("docs://{project}/{+path}").fill({"project": "handbook", "path": "a b.md"})
    'docs://handbook/a%20b.md'

    Raises:
        TypeError: It has no scheme, unbalanced braces, or a repeated name.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        found = list(_VARIABLE.finditer(text))
        self.names = tuple(match[2] for match in found)
        if not _SCHEME.match(text) or set(_VARIABLE.sub("", text)) & set("{}") or len({*self.names}) < len(found):
            msg = f"{text!r} is no URI template: it needs a scheme, and variables as {{name}} or {{+name}}, each once"
            raise TypeError(msg)
        pattern, at = "", 0
        for match in found:
            inner = ".+" if match[1] else "[^/?#]+"
            pattern += re.escape(text[at : match.start()]) + f"(?P<{match[2]}>{inner})"
            at = match.end()
        self._pattern = re.compile(pattern + re.escape(text[at:]), re.DOTALL)

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the values of the variables, decoded; None if the URI does not fit."""
        found = self._pattern.fullmatch(uri)
        return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the URI with these values, encoded."""
        return _VARIABLE.sub(lambda match: quote(values[match[2]], safe="/" if match[1] else ""), self.text)


class ResourceContent(TypedDict):
    """The content of a resource: `text`, or bytes as Base64 in `blob`."""

    text: NotRequired[str]
    blob: NotRequired[str]
    uri: NotRequired[str]
    mime_type: NotRequired[str]


class ListedResource(TypedDict):
    """A resource in a list."""

    uri: str
    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    mime_type: NotRequired[str]
    size: NotRequired[int]


class ResourcePage(TypedDict):
    """A page of a list of resources; with `next_cursor` there are more."""

    resources: list[ListedResource]
    next_cursor: NotRequired[str]


class ResourceList(Offer):
    """The list of a resource template's resources, declared by `Resource.list`."""


class Resource(Offer):
    """A resource or a template of resources, declared by `@resource`."""

    def __init__(
        self,
        function: Callable[..., Any],
        names: Mapping[str, Any],
        template: UriTemplate,
        mime_type: str | None,
        **options: Unpack[OfferOptions],
    ) -> None:
        super().__init__(function, names, **options)
        self.template = template
        self.mime_type = mime_type
        self.lister: ResourceList | None = None

    def list(self, method: Callable[..., Any]) -> ResourceList:
        """Register the list of the template's resources: a method that takes `cursor: str | None` or nothing.

        It returns a `ResourcePage`, or a list of `ListedResource`.
        """
        self.lister = ResourceList(method, _names())
        return self.lister


class Prompt(Offer):
    """A prompt, declared by `@prompt`."""


class Completion(Offer):
    """The completion of an argument, declared by `@completion`."""

    def __init__(
        self, function: Callable[..., Any], names: Mapping[str, Any], of: str, argument: str, timeout: float | None
    ) -> None:
        super().__init__(function, names, timeout=timeout)
        self.of = of
        self.argument = argument


def resource(
    uri: str, *, mime_type: str | None = None, **options: Unpack[OfferOptions]
) -> Callable[[Callable[..., Any]], Resource]:
    """Declare a method as an MCP resource; with variables in the URI, as a template of resources.

    The method takes the variables as arguments (text) and returns text, a `ResourceContent`, a list of those, or a
    value to be serialized as JSON.

    Args:
        uri: `config://app`, or `docs://{project}/{+path}`: `{name}` is one segment, `{+name}` may hold slashes.
        mime_type: The MIME type; by default `text/plain`, or `application/json` for serialized values.
        **options: `name`, by default the method's; `title`, a name for people; `timeout`, the time limit for reading in
            seconds, above 0.

    Raises:
        TypeError: The URI is not a valid template, or there is no such option.

    Examples:
        >>> @resource("shelf://books/{title}", mime_type="text/markdown")
        ... async def book(self, title: str) -> str:
        ...     "The text of a book."
        ...     return f"# {title}"
    """
    check_options("@resource", options, [*OfferOptions.__optional_keys__, "mime_type"])
    template, names = UriTemplate(uri), _names()
    return lambda function: Resource(function, names, template, mime_type, **options)


def prompt(function: Callable[..., Any] | None = None, /, **options: Unpack[OfferOptions]) -> Any:
    """Declare a method as an MCP prompt. Its parameters are the prompt's arguments.

    It returns text, which becomes a message of the user, or a list of `{"role": ..., "content": text}` whose roles are
    `user` and `assistant`.

    Args:
        function: The method, where nothing else is given.
        **options: `name`, by default the method's; `title`, a name for people; `timeout`, the limit in seconds, above
            0.

    Raises:
        TypeError: There is no such option.

    Examples:
        >>> @prompt(title="Review a book")
        ... async def review(self, title: str) -> str:
        ...     "Ask for a review."
        ...     return f"Review the book {title}."
    """
    check_options("@prompt", options, list(OfferOptions.__optional_keys__))
    names = _names()

    def declare(function: Callable[..., Any]) -> Prompt:
        return Prompt(function, names, **options)

    return declare if function is None else declare(function)


def completion(
    of: str | Resource | Prompt, argument: str, *, timeout: float | None = None
) -> Callable[[Callable[..., Any]], Completion]:
    """Declare a method as the completion of an argument of a prompt, or of a variable of a resource template.

    The method takes `value: str`, the text typed so far, and optionally `arguments: dict[str, str]`, the arguments
    given so far. It returns a list of texts, best first; at most 100 are sent.

    Args:
        of: The declaration above it, or the prompt's name or the template's URI.
        argument: The name of the argument or variable.
        timeout: The limit in seconds, above 0.

    Examples:
        >>> class Shelf(BaseTool):
        ...     @prompt
        ...     async def review(self, title: str) -> str:
        ...         "Ask for a review."
        ...         return f"Review {title}."
        ...     @completion(review, "title")
        ...     async def titles(self, value: str) -> list[str]:
        ...         return [title for title in ("Dune", "Emma") if title.startswith(value)]
        ...     @operation(read_only=True)
        ...     async def count(self) -> int: "Count the books."
    """
    reference = of if isinstance(of, str) else of.template.text if isinstance(of, Resource) else of.name
    names = _names()
    return lambda function: Completion(function, names, reference, argument, timeout)


def _names() -> Mapping[str, Any]:
    """Return the names of the class body that declares, for annotations that are written as text."""
    frame = sys._getframe(2)  # noqa: SLF001 - as `operation` does
    return {**(frame.f_back.f_locals if frame.f_back is not None else {}), **frame.f_locals}
