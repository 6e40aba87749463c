"""URI templates of resources: `{name}` is one segment, `{+name}` may hold slashes (RFC 6570, levels 1 and 2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

__all__ = ["UriTemplate"]

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
