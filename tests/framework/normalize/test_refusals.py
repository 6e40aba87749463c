"""Which exceptions are the answer of a service that it did not do what was asked."""

from __future__ import annotations

import google.api_core.exceptions as google
import httpx
import httpx2
import openai
import pytest
from aiohttp import web
from starlette.exceptions import HTTPException
from werkzeug import exceptions as werkzeug

from failsoft import NotFound
from tests.doors import REFUSALS, is_refused
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
    "urllib": zoo.urllib_status,
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
}


@pytest.mark.parametrize("library", ANSWERS)
def test_the_answer_of_a_service_is_a_refusal_by_its_status(library: str) -> None:
    assert {status for status in STATUSES if is_refused(ANSWERS[library](status))} == REFUSALS


@pytest.mark.parametrize("other", OTHERS)
def test_nothing_else_is_a_refusal(other: str) -> None:
    assert not is_refused(OTHERS[other])
