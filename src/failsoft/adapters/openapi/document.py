"""An OpenAPI document: fetched and parsed within bounds, and its local references followed, one at a time."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
import pydantic_core
import yaml

from failsoft.framework.arguments.schemas import resolved
from failsoft.framework.errors import ConfigurationError
from failsoft.framework.files import read_regular
from failsoft.framework.text import bounded

_BYTES_AT_MOST = 32_000_000
_YAML_BYTES_AT_MOST = 8_000_000
"""YAML takes a hundred times as long to parse as JSON."""
_LEVELS_AT_MOST = 100
_YAML_EVENTS_AT_MOST = 2_000_000
_FETCH_S = 30.0
_REDIRECTS_AT_MOST = 5
_MEMBERS_AT_MOST = 1_000
"""Members of an object that are looked at: many operations may share it."""
_NUMBER_AT_MOST = 100
"""Characters of a number in YAML, where those with colons take quadratic time."""
_LINKS_AT_MOST = 16
"""References that lead to one another."""
_VERSION = re.compile(r"3\.[0-9]+(\.[0-9A-Za-z.-]+)?")
_NOT_RESOLVED = frozenset({"tag:yaml.org,2002:merge", "tag:yaml.org,2002:value", "tag:yaml.org,2002:timestamp"})
"""Merges multiply in nested documents; dates are texts in JSON."""


@dataclass(frozen=True, slots=True)
class ApiDocument:
    """A parsed document.

    Args:
        tree: Its root.
        base: The address that it was read from, which relative server addresses are resolved against; "" for none.
    """

    tree: Mapping[str, Any]
    base: str = ""

    def follow(self, node: Any) -> Mapping[str, Any]:
        """Return an object, its local references followed; `{}` for anything else, references elsewhere included."""
        for _ in range(_LINKS_AT_MOST):
            if not isinstance(node, Mapping):
                break
            if "$ref" not in node:
                return node
            node = resolved(node["$ref"], self.tree)
        return {}

    def server(self) -> str:
        """Return the absolute address of the first server, its variables at their defaults; "" if there is none."""
        server = next(iter(listed(self.tree.get("servers"))), None)
        return self.address(server)

    def server_path(self) -> str:
        """Return the path of a first server that is relative; "" for any other."""
        url = str(self.follow(next(iter(listed(self.tree.get("servers"))), None)).get("url") or "").rstrip("/")
        return bounded(url, 100) if url.startswith("/") and not self.server() else ""

    def address(self, server: Any) -> str:
        """Return the absolute address of a server object without a trailing slash; "" if it has none."""
        server = self.follow(server)
        url = str(server.get("url") or "")
        for name, variable in mapping(server.get("variables")).items():
            url = url.replace(f"{{{name}}}", str(self.follow(variable).get("default", "")))
        url = urljoin(self.base or "https:", url) if self.base or url.startswith("//") else url
        return url.rstrip("/") if _is_address(url) and "{" not in url else ""


def mapping(node: Any, at_most: int = _MEMBERS_AT_MOST) -> Mapping[str, Any]:
    """Return the first members of an object whose names are texts; none of anything else."""
    members = islice(node.items(), at_most) if isinstance(node, Mapping) else ()
    return {name: value for name, value in members if is_text(name)}


def is_text(value: Any) -> bool:
    """Return whether a value is a text that can be encoded: one of YAML may have lone surrogates."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value))


def listed(node: Any) -> list[Any]:
    """Return a list; an empty one for anything else."""
    return node if isinstance(node, list) else []


def read_document(source: str | Path | Mapping[str, Any]) -> ApiDocument:
    """Return the document of a file, of an http or https address, or as it was parsed already.

    Raises:
        CONFIG_ERROR: It cannot be read, is too large or too deep, is neither JSON nor YAML, or no OpenAPI 3 document.
    """
    if isinstance(source, Mapping):
        return _checked(source, "", "the document")
    name = str(source)
    base = ""
    if "://" in name:
        data, base = _fetched(name)
    else:
        data = _read(Path(name))
    return _checked(_parsed(data, name), base, name)


def _read(path: Path) -> bytes:
    try:
        data = read_regular(path, _BYTES_AT_MOST + 1)
    except OSError as error:
        raise _refused(str(path), f"cannot be read ({error.strerror})") from error
    if len(data) > _BYTES_AT_MOST:
        raise _refused(str(path), f"has more than {_BYTES_AT_MOST // 1_000_000} MB")
    return data


def _fetched(url: str) -> tuple[bytes, str]:
    """Return the body behind an address, and the address that it came from."""
    if not _is_address(url):
        raise _refused(url, "is no http:// or https:// address")
    until = time.monotonic() + _FETCH_S
    body = bytearray()
    try:
        with (
            httpx2.Client(follow_redirects=True, max_redirects=_REDIRECTS_AT_MOST, timeout=_FETCH_S) as client,
            client.stream("GET", url) as response,
        ):
            response.raise_for_status()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _BYTES_AT_MOST or time.monotonic() > until:
                    bounds = f"{_BYTES_AT_MOST // 1_000_000} MB or {_FETCH_S:.0f} s"
                    raise _refused(url, f"takes more than {bounds} to be read")
            return bytes(body), str(response.url)
    except httpx2.HTTPStatusError as error:
        raise _refused(url, f"answers with the status {error.response.status_code}") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        raise _refused(url, f"cannot be fetched ({type(error).__name__})") from error


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and url.isprintable() and " " not in url
    except ValueError:
        return False


def _parsed(data: bytes, name: str) -> Any:
    if data.lstrip()[:1] == b"{":
        try:
            return pydantic_core.from_json(data, allow_inf_nan=False)
        except ValueError as error:
            raise _refused(name, f"is no JSON: {bounded(str(error))}") from error
    if len(data) > _YAML_BYTES_AT_MOST:
        raise _refused(name, f"is YAML of more than {_YAML_BYTES_AT_MOST // 1_000_000} MB; convert it to JSON")
    try:
        _check_events(data, name)
        return yaml.load(data, _Loader)  # noqa: S506 - a safe loader, with fewer types
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise _refused(name, f"is no YAML that can be read ({type(error).__name__})") from error


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the one in C where it is built
    """Reads what JSON has, and no merges."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the class above declares it
        first: [(tag, pattern) for tag, pattern in rules if tag not in _NOT_RESOLVED]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _number(loader: Any, node: Any) -> Any:
    if len(loader.construct_scalar(node)) > _NUMBER_AT_MOST:
        raise yaml.constructor.ConstructorError(None, None, "a number is too long", node.start_mark)
    return yaml.SafeLoader.yaml_constructors[node.tag](loader, node)


for _kind in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _number)


def _check_events(data: bytes, name: str) -> None:
    """Refuse nesting before the tree is composed, since the composer is in C and has no limit; and what aliases mean.

    An alias counts as all that it stands for: whoever walks through the tree walks through that.
    """
    begun: list[tuple[str | None, int]] = []
    sizes: dict[str | None, int] = {}
    count = 0
    for event in yaml.parse(data, _Loader):
        count += 1
        if isinstance(event, yaml.AliasEvent):
            count += sizes.get(event.anchor, 0)
        elif isinstance(event, yaml.CollectionStartEvent):
            begun.append((event.anchor, count))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = begun.pop()
            sizes[anchor] = count - before
        if len(begun) > _LEVELS_AT_MOST or count > _YAML_EVENTS_AT_MOST:
            raise _refused(name, f"is too large, or nested in more than {_LEVELS_AT_MOST} levels")


def _checked(tree: Any, base: str, name: str) -> ApiDocument:
    tree = tree if isinstance(tree, Mapping) else {}
    version = tree.get("openapi")
    if "swagger" in tree and version is None:
        issue = f"is a Swagger {bounded(str(tree['swagger']), 20)} document"
        raise _refused(name, issue, "convert it to OpenAPI 3, for example with `npx swagger2openapi`")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise _refused(name, "is no OpenAPI 3 document: its root has no `openapi: 3.x`")
    return ApiDocument(tree, base)


def _refused(name: str, issue: str, resolution: str = "") -> ConfigurationError:
    resolution = resolution or "name an OpenAPI 3.0 or 3.1 document: a file, or an http(s) address"
    return ConfigurationError(issue=f"{bounded(name)} {issue}", resolution=resolution)
