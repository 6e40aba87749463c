"""The gold table: every public exception class of the libraries that tools use, and its category.

`python -m tests.framework.normalize.gold` writes `gold.json` anew, for a person to review.
"""

from __future__ import annotations

import importlib
import inspect
import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.doors import normalize

MODULES = {
    "anthropic": ["anthropic"],
    "asyncpg": ["asyncpg.exceptions"],
    "bson": ["bson.errors"],
    "grpc": ["grpc", "grpc.aio"],
    "json": ["json"],
    "openai": ["openai"],
    "psycopg": ["psycopg.errors"],
    "pymongo": ["pymongo.errors"],
    "pymysql": ["pymysql.err"],
    "subprocess": ["subprocess"],
    "tomllib": ["tomllib"],
    "xml": ["xml.etree.ElementTree", "xml.parsers.expat", "xml.sax"],
    "yaml": ["yaml"],
    "zipfile": ["zipfile"],
}
TABLE = Path(__file__).with_name("gold.json")


def exceptions(library: str) -> dict[str, type[BaseException]]:
    """Return the public exception classes that are the library's own, by name."""
    found = {}
    for module in map(importlib.import_module, MODULES[library]):
        for name, value in list(vars(module).items()):
            if not inspect.isclass(value) or not issubclass(value, BaseException) or issubclass(value, Warning):
                continue
            if not name.startswith("_") and value.__module__.partition(".")[0] == library:
                found[value.__name__] = value
    return found


def bare(cls: type[BaseException]) -> BaseException:
    """Return an exception of the class without running its `__init__`, as every driver's own has other arguments."""
    error = cls.__new__(cls)
    status: Any = getattr(cls, "status_code", None) or _status_of(cls)
    if status is not None:
        vars(error)["status_code"] = vars(error)["status"] = status
    return error


def _status_of(cls: type[BaseException]) -> int | None:
    """Return the status that a provider's class stands for, by the nearest class whose name says so."""
    by_name = {
        "BadRequest": 400,
        "Authentication": 401,
        "Unauthorized": 401,
        "PaymentRequired": 402,
        "PermissionDenied": 403,
        "Forbidden": 403,
        "NotFound": 404,
        "RequestTimeout": 408,
        "Conflict": 409,
        "PreconditionFailed": 412,
        "ContentTooLarge": 413,
        "RequestTooLarge": 413,
        "UnprocessableEntity": 422,
        "RateLimit": 429,
        "HeaderFieldsTooLarge": 431,
        "ClientClosedRequest": 499,
        "HTTPNotImplemented": 501,
        "ServiceUnavailable": 503,
        "GatewayTimeout": 504,
        "DeadlineExceeded": 504,
        "Overloaded": 529,
        "InternalServer": 500,
        "Service": 500,
    }
    for base in cls.__mro__:
        for part, status in by_name.items():
            if base.__name__.startswith(part) and any("api" in one.__name__.lower() for one in base.__mro__):
                return status
    return None


@cache
def judged() -> dict[str, dict[str, list[str]]]:
    """Return library -> category -> names of classes, sorted."""
    table: dict[str, dict[str, list[str]]] = {}
    for library in MODULES:
        by_category: dict[str, list[str]] = {}
        for name, cls in sorted(exceptions(library).items()):
            by_category.setdefault(normalize(bare(cls)).category, []).append(name)
        table[library] = dict(sorted(by_category.items()))
    return table


if __name__ == "__main__":
    TABLE.write_text(json.dumps(judged(), indent=1) + "\n")
