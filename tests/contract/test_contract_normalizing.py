"""Contract, section 3: any exception becomes a typed error, by its type and numbers, never by its text."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from loguru import logger
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from failsoft import BaseTool, DocumentNotFound, NotFound, ToolResponse, configure_logging, operation
from tests.contract.surroundings import runtime
from tests.each import each
from tests.zygote import PYTHON

REQUEST = httpx.Request("GET", "http://example.org")


def _answered(status: int, **headers: str) -> httpx.HTTPStatusError:
    response = httpx.Response(status, request=REQUEST, headers=headers)
    return httpx.HTTPStatusError("a secret of the server", request=REQUEST, response=response)


class Thrower(BaseTool):
    """Raises what it holds."""

    def __init__(self, error: BaseException, **settings: Any) -> None:
        super().__init__(runtime=runtime(**settings))
        self.error = error

    @operation(read_only=True, recovery=[])
    async def throw(self) -> int:
        """Throw."""
        raise self.error


def answer(error: BaseException, **settings: Any) -> ToolResponse[int]:
    return asyncio.run(Thrower(error, **settings).throw())


def of_libraries() -> list[tuple[BaseException, str]]:
    """Return exceptions and their categories; importing all these libraries takes a while."""
    import botocore.exceptions  # type: ignore[import-untyped]  # noqa: PLC0415 - it has no types
    import sqlalchemy.exc  # noqa: PLC0415 - see above
    import werkzeug.exceptions  # noqa: PLC0415 - see above
    from google.api_core import exceptions as google  # noqa: PLC0415 - see above
    from redis import exceptions as redis  # noqa: PLC0415 - see above

    return [
        (DocumentNotFound(path="a.md"), "not_found"),
        (OSError(errno.ENOENT, "x"), "not_found"),
        (OSError(errno.EACCES, "x"), "permission_denied"),
        (OSError(errno.EEXIST, "x"), "already_exists"),
        (OSError(errno.ENOSPC, "x"), "storage_error"),
        (OSError(errno.EROFS, "x"), "storage_error"),
        (OSError(errno.ETIMEDOUT, "x"), "timeout"),
        (OSError(errno.ECONNREFUSED, "x"), "unavailable"),
        (TimeoutError(), "timeout"),
        (httpx.ConnectError("x"), "unavailable"),
        (httpx.ReadTimeout("x"), "timeout"),
        (httpx2.ConnectError("x"), "unavailable"),
        (_answered(404), "not_found"),
        (_answered(429), "rate_limited"),
        (_answered(503), "unavailable"),
        (_answered(401), "unauthenticated"),
        (sqlite3.OperationalError("x"), "database_error"),
        (sqlalchemy.exc.InterfaceError("x", {}, Exception()), "database_error"),
        (redis.BusyLoadingError("x"), "unavailable"),
        (botocore.exceptions.ReadTimeoutError(endpoint_url="x"), "timeout"),
        (google.NotFound("x"), "not_found"),  # type: ignore[no-untyped-call]
        (werkzeug.exceptions.NotFound(), "not_found"),
        (HTTPException(429), "rate_limited"),
        (MCPError(code=-32000, message="x"), "upstream_error"),
        (ExceptionGroup("one", [TimeoutError()]), "timeout"),
        (ExceptionGroup("same", [DocumentNotFound(path="a"), NotFound(message="It is gone.")]), "not_found"),
        (ExceptionGroup("mixed", [TimeoutError(), DocumentNotFound(path="a")]), "internal"),
        (ValueError("x"), "internal"),
    ]


@each("error, category", of_libraries)
def test_an_exception_falls_into_its_category(error: BaseException, category: str) -> None:
    response = answer(error)
    assert response.error is not None
    assert response.error.category == category


def test_faults_of_pydantic_are_one_error_with_every_violation() -> None:
    class Order(BaseModel):
        beans: int
        roast: str

    with pytest.raises(ValidationError) as caught:
        Order.model_validate({"beans": "many"})
    failure = answer(caught.value).error
    assert failure is not None
    assert failure.category == "invalid_argument"
    assert {item.path for item in failure.violations} == {"beans", "roast"}


def test_several_errors_are_listed_in_the_details() -> None:
    group = ExceptionGroup("mixed", [TimeoutError(), DocumentNotFound(path="a.md")])
    failure = answer(group, environment="development").error
    assert failure is not None
    assert failure.code == "MULTIPLE_ERRORS"
    assert failure.details is not None
    assert [item["code"] for item in failure.details["errors"]] == ["TIMEOUT", "DOC_NOT_FOUND"]


@pytest.mark.parametrize("header", ["7", "7.0"])
def test_a_wait_that_a_service_asks_for_is_passed_on(header: str) -> None:
    failure = answer(_answered(429, **{"retry-after": header})).error
    assert failure is not None
    assert (failure.retry.when, failure.retry.after_seconds) == ("after_delay", 7.0)


# Unknown exceptions.


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Return what is logged, as JSON lines."""
    stream = io.StringIO()
    sink = configure_logging("DEBUG", json_lines=True, stream=stream)
    yield stream
    logger.remove(sink)
    logger.disable("failsoft")


@pytest.mark.parametrize("environment", ["production", "staging", "development"])
def test_an_unknown_exception_reveals_only_the_name_of_its_type(environment: str, log: io.StringIO) -> None:
    response = answer(RuntimeError("/home/me/secret.txt and a text"), environment=environment)
    assert response.error is not None
    assert response.error.code == "UNKNOWN_ERROR"
    assert "RuntimeError" in response.error.message
    reported = json.dumps(response.to_dict())
    assert "secret.txt" not in reported
    assert "a text" not in reported
    assert "Traceback" not in reported
    (line,) = [line for line in map(json.loads, log.getvalue().splitlines()) if "code" in line]
    assert line["error_id"] == response.error.error_id
    assert "and a text" in json.dumps(line)


def test_the_cause_is_kept() -> None:
    error = ValueError("x")
    failure = answer(error).error
    assert failure is not None
    assert failure.exception.__cause__ is error


def test_no_library_is_imported_to_judge_an_exception() -> None:
    libraries = ["httpx", "httpx2", "sqlalchemy", "redis", "botocore", "google.api_core", "aiohttp", "werkzeug", "mcp"]
    script = (
        "import asyncio, sys, failsoft\n"
        "class T(failsoft.BaseTool):\n"
        "    '''T.'''\n"
        "    @failsoft.operation(read_only=True)\n"
        "    async def f(self) -> int:\n"
        "        '''F.'''\n"
        "        raise KeyError\n"
        "asyncio.run(T().f())\n"
        f"print([name for name in {libraries} if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


# The rules of third parties.


def test_a_package_adds_its_rule_through_the_entry_point_group(tmp_path: Path) -> None:
    (tmp_path / "acme.py").write_text(
        "import failsoft\n"
        "class AcmeDown(Exception): pass\n"
        "def from_exception(exc):\n"
        "    if isinstance(exc, ZeroDivisionError): raise RuntimeError('this rule is broken')\n"
        "    return failsoft.Unavailable(message='Acme is down.') if isinstance(exc, AcmeDown) else None\n"
    )
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[failsoft.normalizers]\nacme = acme:from_exception\n")
    script = (
        "import asyncio, acme, failsoft\n"
        "class T(failsoft.BaseTool):\n"
        "    '''T.'''\n"
        "    @failsoft.operation(read_only=True, recovery=[])\n"
        "    async def f(self, kind: str) -> int:\n"
        "        '''F.'''\n"
        "        raise acme.AcmeDown if kind == 'acme' else ZeroDivisionError\n"
        "for kind in ('acme', 'other'):\n"
        "    print(asyncio.run(T().f(kind=kind)).error.code)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout.split() == ["UNAVAILABLE", "UNKNOWN_ERROR"]
