"""The pytest plugin: its fixtures, and that it changes nothing for other tests."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from failsoft import BaseTool, Runtime, Unavailable, operation
from failsoft.events import StoreEvent
from failsoft.testing import CapturedEvents, InstantClock

pytest_plugins = ["pytester"]
BOUND_S = 60


class Flaky(BaseTool):
    """Works the second time."""

    runs = 0

    @operation(read_only=True)
    async def fetch(self) -> int:
        """Fail once."""
        self.runs += 1
        if self.runs == 1:
            raise Unavailable
        return self.runs


def test_the_fixtures_work_together(
    failsoft_clock: InstantClock, failsoft_runtime: Runtime, failsoft_events: CapturedEvents
) -> None:
    assert failsoft_clock.run(Flaky(runtime=failsoft_runtime).fetch()).data == 2
    failsoft_clock.run(asyncio.sleep(60))
    assert failsoft_clock.elapsed_s >= 60
    lost = StoreEvent(available=False, fault="lost", reason="made up")
    failsoft_runtime.events.publish(lost)
    assert failsoft_events.of(StoreEvent) == [lost]


def test_the_runtime_depends_on_no_variable(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setenv("FAILSOFT_SLOW_CALL_S", "77")
    runtime = request.getfixturevalue("failsoft_runtime")
    assert runtime.settings.slow_call_s == 5
    assert Runtime().metrics is not runtime.metrics


def test_the_plugin_is_announced() -> None:
    (found,) = entry_points(group="pytest11", name="failsoft")
    assert found.value == "_failsoft_pytest"


def test_a_suite_that_does_not_use_it_does_not_even_load_failsoft(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(
        "import sys\n\n\ndef test_theirs(request):\n"
        "    assert request.config.pluginmanager.has_plugin('failsoft')\n"
        "    assert not [name for name in sys.modules if name.split('.')[0] in {'failsoft', 'mcp', 'pydantic'}]\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")  # or settings of a folder above would count
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=BOUND_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


SUITE = """
import asyncio
from failsoft import BaseTool, operation
from tests.doors import report_mistake


class Tools(BaseTool):
    '''Tools.'''

    @operation(read_only=True)
    async def crash(self) -> int:
        '''Crash.'''
        return {"a": 1}["b"]


def call():
    return asyncio.run(Tools().execute_with_error_handling("crash", {}))


def test_crash():
    assert call().success


def test_expected_crash():
    assert not call().success


def test_mistake():
    report_mistake("NotFound has no field 'titel'")


def test_handled_mistake(failsoft_reports):
    report_mistake("NotFound has no field 'titel'")
    assert [report.kind for report in failsoft_reports] == ["mistake"]
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Callable[..., str]:
    """Return what pytest says of the suite, run in this process, with these settings and none of a folder above it."""
    pytester.makepyfile(test_theirs=SUITE)
    without = [f"-pno:{name}" for name in ("cacheprovider", "randomly", "xdist", "faulthandler")]

    def run(names: str, setting: str = "") -> str:
        pytester.makeini(f"[pytest]\n{setting}")
        return pytester.runpytest_inprocess("-q", *without, "-k", names).stdout.str()

    return run


def test_a_crash_is_in_the_report_of_the_test_that_failed_by_it(suite: Callable[..., str]) -> None:
    out = suite("crash")
    assert "1 failed, 1 passed" in out
    assert out.count("failsoft: crash") == 1
    assert "KeyError: 'b'" in out


def test_a_mistake_fails_its_test_unless_the_test_or_the_settings_take_it(suite: Callable[..., str]) -> None:
    out = suite("mistake")
    assert "1 failed, 1 passed" in out
    assert "NotFound has no field 'titel'" in out
    assert "2 passed" in suite("mistake", "failsoft_mistakes = report")
