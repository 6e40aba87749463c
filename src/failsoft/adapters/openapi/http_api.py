"""`HttpApi`: the requests of a toolset to one HTTP API, with its credentials, and failures by what they changed."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote, urlencode

import httpx2
import pydantic_core
from pydantic import SecretStr

from failsoft.adapters.openapi.http_answers import data_of, failure_of, may_follow, read, redirected, spellings
from failsoft.adapters.openapi.records import READS
from failsoft.framework.call import CallContext
from failsoft.framework.errors import (
    ConfigurationError,
    InvalidArgument,
)
from failsoft.framework.text import quoted

_REDIRECTS_AT_MOST = 5
_TIMEOUT_S = 30.0
_LEVELS_AT_MOST = 20
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True)
class Credential:
    """How a credential is sent.

    Args:
        kind: As a bearer token, as `user:password` of basic authentication, or in a header, a query parameter or a
            cookie.
        name: The name of that header, parameter or cookie.
    """

    kind: Literal["bearer", "basic", "header", "query", "cookie"]
    name: str = ""


class HttpApi:
    """A client of one API: every request goes to its address, and no credential to another host or to a caller.

    Args:
        base_url: The address that the paths are put behind.
        credentials: How each credential is sent, by its name in `secrets`.
        secrets: The values; None for one that is not set.
        auth: Alternatives of credentials, each their names; the first one whose values are all set is sent.

    Raises:
        CONFIG_ERROR: `base_url` is not an http or https address, or a credential cannot be sent in a header.

    Examples:
        >>> from pydantic import SecretStr
        >>> sent = {"key": Credential("header", "X-Api-Key")}
        >>> api = HttpApi("https://api.example.org/v1", credentials=sent, secrets={"key": SecretStr("s3cret")})
    """

    def __init__(
        self,
        base_url: str,
        *,
        credentials: Mapping[str, Credential] | None = None,
        secrets: Mapping[str, SecretStr | None] | None = None,
        auth: Sequence[Sequence[str]] = (),
    ) -> None:
        self._base_url = _checked(base_url)
        self._credentials = dict(credentials or {})
        self._secrets = {name: value.get_secret_value() for name, value in (secrets or {}).items() if value}
        for name, value in self._secrets.items():
            if not value.isprintable():
                raise ConfigurationError(issue=f"the credential '{name}' has characters that no request can carry")
        self._hidden = spellings(self._secrets.values())
        self._auth = auth
        self._client: httpx2.AsyncClient | None = None

    async def start(self) -> None:
        """Open the connection pool, in `startup` of the toolset."""
        self._client = httpx2.AsyncClient(follow_redirects=False, timeout=_TIMEOUT_S)

    async def stop(self) -> None:
        """Close it, in `shutdown`."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def request(  # noqa: PLR0913 - the parts of a request
        self,
        call: CallContext,
        method: str,
        path: str,
        *,
        path_values: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, Any] | None = None,
        cookies: Mapping[str, Any] | None = None,
        json_body: Any = None,
        fields: Mapping[str, Any] | None = None,
        form: Mapping[str, Any] | None = None,
        key_header: str = "",
        needs_key: bool = False,
        auth: Sequence[Sequence[str]] | None = None,
    ) -> Any:
        """Send a request and return the data of its answer: JSON, text, or None for an empty one.

        Values that are None are left out. In queries and forms a list repeats its name, and an object becomes
        `name[key]`; in a path, a header or a cookie the items of a list are separated by commas.

        Args:
            call: The call, for its time limit, its ids and its idempotency key.
            method: The method in capitals.
            path: The path below the base address, with `{names}` in it.
            path_values: What stands in their place, as one segment each.
            query: Parameters of the query.
            headers: Headers.
            cookies: Cookies.
            json_body: The body, sent as JSON.
            fields: The fields of a body that is sent as a JSON object.
            form: The fields of a body that is sent as a form.
            key_header: The header that the API takes an idempotency key in; then a call with a key may be repeated.
            needs_key: Whether the API wants a key with every request: the id of the call where it has no key.
            auth: As that of the client, which it replaces; empty for none.

        Raises:
            INVALID_ARGUMENT: A value cannot be sent.
            ToolError: The API's failure. With 4xx nothing was changed, except 408, 424 and 499; any other failure of
                a request that may change something leaves that unknown.
            RESULT_TOO_LARGE: The answer is too large.
            BAD_OUTPUT: It is not JSON, although it claims to be.
        """
        if self._client is None:
            await self.start()
        pairs = list(_pairs(query or {}))
        sent = {**call.http_headers(), **_texts(headers or {}), "Accept": "application/json, */*;q=0.5"}
        key = sent.pop("Idempotency-Key", "")
        if key_header and (key or needs_key):
            sent[key_header] = key or call.request_id
            call.idempotent = call.idempotent or bool(key)
        jar = _texts(cookies or {})
        self._authorize(self._auth if auth is None else auth, sent, pairs, jar)
        if jar:
            sent["Cookie"] = "; ".join(f"{name}={quote(value, safe='')}" for name, value in jar.items())
        if fields is not None:
            json_body = {name: value for name, value in fields.items() if value is not None}
        content, kind = _body(json_body, form)
        if kind:
            sent["Content-Type"] = kind
        url = self._base_url + _path(path, path_values or {})
        if pairs:
            url = f"{url}?{urlencode(pairs, quote_via=quote, safe='')}"
        try:
            response = await self._answer(call, httpx2.Request(method, url, headers=sent, content=content))
            if not response.has_redirect_location:
                response.raise_for_status()
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as raised:
            raise failure_of(raised, is_read=method in READS) from raised
        if response.has_redirect_location:
            raise redirected()
        return data_of(response, is_read=method in READS)

    def _authorize(
        self, auth: Sequence[Sequence[str]], headers: dict[str, str], query: list[tuple[str, str]], jar: dict[str, str]
    ) -> None:
        """Add the credentials of the first alternative that is set."""
        chosen = next((names for names in auth if all(name in self._secrets for name in names)), ())
        for name in chosen:
            credential, value = self._credentials[name], self._secrets[name]
            if credential.kind == "bearer":
                headers["Authorization"] = f"Bearer {value}"
            elif credential.kind == "basic":
                headers["Authorization"] = f"Basic {base64.b64encode(value.encode()).decode()}"
            elif credential.kind == "header":
                for other in [other for other in headers if other.lower() == credential.name.lower()]:
                    del headers[other]
                headers[credential.name] = value
            elif credential.kind == "query":
                query[:] = [*(pair for pair in query if pair[0] != credential.name), (credential.name, value)]
            else:
                jar[credential.name] = value

    async def _answer(self, call: CallContext, request: httpx2.Request) -> httpx2.Response:
        """Return the answer with its body read; a read is redirected within its origin, anything else is not."""
        client: Any = self._client
        timeout = call.http_timeout()
        for _ in range(_REDIRECTS_AT_MOST):
            request.extensions["timeout"] = httpx2.Timeout(timeout or _TIMEOUT_S).as_dict()
            response = await client.send(request, stream=True)
            try:
                if not may_follow(request, response):
                    return await read(response, request, self._hidden)
            finally:
                await response.aclose()
            request = httpx2.Request(
                request.method, request.url.join(response.headers["location"]), headers=request.headers
            )
        msg = "too many redirects"
        raise httpx2.TooManyRedirects(msg, request=request)


def joined(value: Any, separator: str = ",") -> str | None:
    """Return the items of a list, or the names and values of an object, in one text; None for None.

    Args:
        value: The list, the object, or a single value.
        separator: What is put between the items.

    Examples:
        >>> joined(["a", 1, True]), joined({"R": 100}), joined(None)
        ('a,1,true', 'R,100', None)
    """
    if value is None:
        return None
    items = [part for item in value.items() for part in item] if isinstance(value, Mapping) else value
    return separator.join(map(_text, items)) if isinstance(items, (list, tuple)) else _text(items)


def indexed(value: Sequence[Any] | None) -> dict[str, Any] | None:
    """Return a list as an object, so that the items of `value` are sent as `name[0]`, `name[1]`; None for None.

    Examples:
        >>> indexed(["a", "b"])
        {'0': 'a', '1': 'b'}
    """
    return None if value is None else {str(index): item for index, item in enumerate(value)}


def json_text(value: Any) -> str | None:
    """Return a value as JSON, for a parameter that is sent so; None for None.

    Examples:
        >>> json_text({"R": 100})
        '{"R":100}'
    """
    return None if value is None else json.dumps(value, separators=(",", ":"))


def _checked(base_url: str) -> str:
    try:
        url = httpx2.URL(base_url)
    except (httpx2.InvalidURL, TypeError):
        url = httpx2.URL("")
    if url.scheme not in {"http", "https"} or not url.host or url.query or url.fragment:
        raise ConfigurationError(
            issue=f"base_url is {quoted(base_url)}" if base_url else "base_url is not set",
            resolution="set it to the address of the API: http:// or https://, without a query",
        )
    return base_url.rstrip("/")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return str(int(value))
    return json.dumps(value, separators=(",", ":"))


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of headers or cookies as texts.

    Raises:
        INVALID_ARGUMENT: One, or its name, has characters that a header cannot carry.
    """
    found = {name: joined(value) or "" for name, value in values.items() if value is not None}
    for name, value in found.items():
        if not _NAME.fullmatch(name):
            raise InvalidArgument(message=f"{quoted(name, 80)} is no name of a header or cookie.", effect="none")
        if not value.isascii() or not value.isprintable():
            raise InvalidArgument(
                message=f"{quoted(name, 80)} is sent in a header, which carries printable ASCII only.", effect="none"
            )
    return found


def _pairs(values: Mapping[str, Any], within: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the parts of a query or a form."""
    if depth > _LEVELS_AT_MOST:
        raise InvalidArgument(message="A value is nested too deeply to be sent.", effect="none")
    for key, value in values.items():
        name = f"{within}[{key}]" if within else key
        if isinstance(value, Mapping):
            yield from _pairs(value, name, depth + 1)
        elif isinstance(value, (list, tuple)) and (within or any(isinstance(item, (dict, list)) for item in value)):
            yield from _pairs({str(index): item for index, item in enumerate(value)}, name, depth + 1)
        elif isinstance(value, (list, tuple)):
            yield from ((name, _text(item)) for item in value)
        elif value is not None:
            yield name, _text(value)


def _path(template: str, values: Mapping[str, Any]) -> str:
    """Return the path with its values, each within its segment.

    Raises:
        INVALID_ARGUMENT: A segment would be empty, or lead to another path.
    """
    segments = []
    for segment in template.split("/"):
        made = re.sub(r"\{([^{}]*)\}", lambda found: quote(joined(values.get(found[1])) or "", safe=""), segment)
        if made != segment and made in {"", ".", ".."}:
            raise InvalidArgument(
                message=f"{quoted(segment, 80)} in the path cannot be empty, '.' or '..'.", effect="none"
            )
        segments.append(quote(made, safe="%~!$&'()*+,;=:@"))
    return "/".join(segments)


def _body(json_body: Any, form: Mapping[str, Any] | None) -> tuple[bytes | None, str]:
    """Return the body and its type; "" where there is none."""
    if form is not None:
        return urlencode(list(_pairs(form)), quote_via=quote).encode(), "application/x-www-form-urlencoded"
    if json_body is None:
        return None, ""
    try:
        return pydantic_core.to_json(json_body), "application/json"
    except ValueError as error:
        raise InvalidArgument(message="The arguments cannot be written as JSON.", effect="none") from error
