"""Which exceptions are the answer of a service that it did not do what was asked."""

from __future__ import annotations

import aiohttp
import google.api_core.exceptions as google
import httpx
import httpx2
import openai
import pytest
import requests
import urllib3
from aiohttp import web
from starlette.exceptions import HTTPException
from urllib3.util.retry import RequestHistory
from werkzeug import exceptions as werkzeug
from yarl import URL

from failsoft import NotFound
from tests.doors import REFUSALS, is_refused, normalize
from tests.framework.normalize import zoo


def openai_status(status: int) -> BaseException:
    response = httpx.Response(status, request=httpx.Request("POST", "http://localhost/"))
    return openai.APIStatusError("no", response=response, body={"code": "insufficient_quota"})


STATUSES = range(400, 512)
ANSWERS = {
    "httpx": lambda status: zoo.httpx_status(httpx, status),
    "httpx2": lambda status: zoo.httpx_status(httpx2, status),
    "google-api-core": lambda status: google.from_http_status(status, "no"),
    "openai": openai_status,
    "requests": zoo.requests_status,
    "aiohttp": zoo.aiohttp_status,
    "botocore": lambda status: zoo.aws("ConditionalCheckFailedException", status),
    "botocore, by status": lambda status: zoo.aws("SomethingNew", status),
}
OTHERS = {
    "raised by a web framework": HTTPException(404),
    "raised by another": werkzeug.NotFound(),
    "raised by a third": web.HTTPNotFound(),
    "an error of the author": NotFound("There is no order."),
    "several requests": ExceptionGroup("", [zoo.httpx_status(httpx, 404)]),
    "never sent": httpx.ConnectError("refused"),
    "of another call": normalize(zoo.httpx_status(httpx, 404)),
    "perhaps after a redirect, which urllib does not tell": zoo.urllib_status(404),
}


def answered(method: str = "POST", *, retries: int = 0, redirects: int = 0) -> dict[str, BaseException]:
    """Return a 409 to a request of each library that says which one it was."""
    url, sent = URL("http://localhost/"), httpx.Request(method, "http://localhost/")
    earlier = [httpx.Response(303, request=sent)] * redirects
    again = httpx.Request(method, sent.url, headers={"x-stainless-retry-count": str(retries)})
    of_requests = requests.Response()
    of_requests.status_code, of_requests.history = 409, [requests.Response()] * redirects
    of_requests.request = requests.Request(method, str(url)).prepare()
    of_requests.raw = urllib3.HTTPResponse(
        retries=urllib3.Retry(history=(RequestHistory(None, None, None, 503, None),) * retries)
    )
    info = aiohttp.RequestInfo(url, method, {}, url)  # type: ignore[arg-type]
    aws = zoo.aws("SomethingNew", 409)
    vars(aws)["response"]["ResponseMetadata"]["RetryAttempts"] = retries
    return {
        "httpx": httpx.HTTPStatusError("", request=sent, response=httpx.Response(409, history=earlier, request=sent)),
        "openai": openai.APIStatusError("no", response=httpx.Response(409, request=again), body=None),
        "requests": requests.HTTPError(response=of_requests),
        "google-api-core": google.from_http_status(409, "no", response=of_requests),
        "aiohttp": aiohttp.ClientResponseError(info, (object(),) * redirects, status=409),  # type: ignore[arg-type]
        "botocore": aws,
    }


@pytest.mark.parametrize("library", ANSWERS)
def test_the_answer_of_a_service_is_a_refusal_by_its_status(library: str) -> None:
    assert {status for status in STATUSES if is_refused(ANSWERS[library](status))} == REFUSALS


@pytest.mark.parametrize("other", OTHERS)
def test_nothing_else_is_a_refusal(other: str) -> None:
    assert not is_refused(OTHERS[other])


@pytest.mark.parametrize(
    ("answers", "blind"),
    [
        (answered("GET"), {"botocore"}),
        (answered(redirects=1), {"openai", "botocore"}),
        (answered(retries=1), {"httpx", "aiohttp"}),
    ],
    ids=["of a read", "after a redirect", "after a retry"],
)
def test_the_answer_to_another_request_than_the_first_write_is_no_refusal(
    answers: dict[str, BaseException], blind: set[str]
) -> None:
    assert {name for name, raised in answers.items() if is_refused(raised)} == blind
    assert all(map(is_refused, answered().values()))


def test_an_answer_after_a_request_that_was_lost_is_no_refusal() -> None:
    raised = answered()["httpx"]
    raised.__context__ = httpx.ReadTimeout("")
    assert not is_refused(raised)
    assert is_refused(raised, since=raised.__context__)
