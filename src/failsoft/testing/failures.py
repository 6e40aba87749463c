"""`fails_with` asserts how a call failed; `http_error` makes the exception of an HTTP error status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from failsoft.framework.answer.failure import Failure
from failsoft.framework.answer.response import ToolResponse
from failsoft.framework.errors import ToolError

if TYPE_CHECKING:
    import httpx2

__all__ = ["fails_with", "http_error"]


def fails_with(
    response: ToolResponse[Any], kind: type[ToolError], *, next_step: str | None = None, **facts: Any
) -> Failure:
    """Assert that a response is a failure of this kind, and return it.

    Args:
        response: The answer to a call.
        kind: The class of the error, or one above it.
        next_step: The tool of the failure's next step; not checked if left out.
        facts: Attributes of the failure, such as `effect="none"`.

    Raises:
        AssertionError: It is not; the message shows the actual response.
        TypeError: It is no `ToolResponse`, but what a client returned, or a coroutine.
    """
    given: Any = response
    failure: Failure | None = getattr(given, "error", given)
    if failure is given:
        msg = (
            f"fails_with takes the ToolResponse of a direct call, not {type(response).__name__}: of a client's result"
            " assert `structured_content['error']`"
        )
        raise TypeError(msg)
    if failure is None:
        msg = f"the call did not fail: {response.data!r}"
        raise AssertionError(msg)
    found: dict[str, Any] = {name: getattr(failure, name) for name in facts}
    if next_step is not None:
        facts["next_step"] = next_step
        found["next_step"] = failure.next_step.tool if failure.next_step is not None else None
    if not isinstance(failure.exception, kind) or found != facts:
        msg = f"expected {kind.__name__} with {facts}, not {failure.code} with {found}: {failure.message}"
        raise AssertionError(msg)
    return failure


def http_error(
    status: int, *, retry_after: float | None = None, url: str = "http://service.test/"
) -> httpx2.HTTPStatusError:
    """Return the exception that httpx2 raises for an HTTP error status.

    Args:
        status: The status, such as 429.
        retry_after: The seconds of the `Retry-After` header; by default there is no header.
        url: The URL of the request.

    Examples:
        >>> http_error(429, retry_after=2).response.headers["retry-after"]
        '2'
    """
    import httpx2  # noqa: PLC0415 - 100 ms, only for this function

    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    request = httpx2.Request("GET", url)
    response = httpx2.Response(status, headers=headers, request=request)
    return httpx2.HTTPStatusError(f"status {status}", request=request, response=response)
