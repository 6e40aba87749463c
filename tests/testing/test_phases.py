"""What the pytest plugin shows of crashes in every phase of a test, and exceptions that the kit makes."""

from __future__ import annotations

import pytest

from failsoft.testing import http_error

pytest_plugins = ["pytester"]
TOOLS = """
import asyncio

import pytest

from failsoft import BaseTool, operation


class Crashing(BaseTool):
    '''Crashes.'''

    @operation(read_only=True)
    async def divide(self) -> float:
        '''Divide by nothing.'''
        return 1 / len("")


@pytest.fixture
def before():
    assert asyncio.run(Crashing().divide()).success


@pytest.fixture
def after():
    yield
    assert asyncio.run(Crashing().divide()).success
"""
TESTS = {
    "call": "def test_it():\n    assert asyncio.run(Crashing().divide()).success\n",
    "setup": "def test_it(before):\n    pass\n",
    "teardown": "def test_it(after):\n    pass\n",
}


def test_a_crash_in_a_test_is_shown_in_its_report(pytester: pytest.Pytester) -> None:
    assert_that_a_crash_is_shown(pytester, "call")


@pytest.mark.parametrize("phase", ["setup", "teardown"])
def test_a_crash_in_a_fixture_is_shown_in_the_report(pytester: pytest.Pytester, phase: str) -> None:
    assert_that_a_crash_is_shown(pytester, phase)


def assert_that_a_crash_is_shown(pytester: pytest.Pytester, phase: str) -> None:
    path = pytester.makepyfile(TOOLS + "\n\n" + TESTS[phase])
    result = pytester.runpytest_inprocess("-p", "no:randomly")

    assert sum(result.parseoutcomes().get(outcome, 0) for outcome in ("failed", "errors")) == 1
    shown = result.stdout.str()
    assert "ZeroDivisionError: division by zero" in shown
    assert f"{path}:14 in divide: ZeroDivisionError in divide, error id " in shown
    assert shown.count("failsoft: crash") == 1


def test_the_wait_of_an_http_error_is_a_number_of_seconds() -> None:
    headers = [http_error(429, retry_after=wait).response.headers["Retry-After"] for wait in (2, 1_000_000)]

    assert headers == ["2", "1000000"]
