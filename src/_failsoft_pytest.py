"""The pytest plugin: fixtures for tests of tools, and crashes of their handlers in the report of a failed test.

pytest loads the plugins of every installed package. Importing anything under `failsoft` would cost every test run of
the environment some 50 ms, so this module is outside of that package and imports it only where a test uses it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from failsoft import Runtime
    from failsoft.testing import CapturedEvents, InstantClock, Report

__all__: list[str] = []

_REPORTS = pytest.StashKey["list[Report]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare our setting."""
    parser.addini(
        "failsoft_mistakes",
        "fail (default): a test fails if a tool raised an error with a mistake in it; report: the test only shows it",
        default="fail",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Collect the crashes and mistakes of one test."""
    if "failsoft" not in sys.modules:
        return (yield)
    from failsoft.testing import watch_reports  # noqa: PLC0415 - see above

    found: list[Report] = []
    item.stash[_REPORTS] = found
    with watch_reports(found.append):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show crashes in the report of the phase that failed, and let mistakes fail a phase that passed.

    Those of a set-up that passed are shown in the report of the call.
    """
    report = yield
    found = item.stash.get(_REPORTS, [])
    if not found or (report.when == "setup" and report.passed):
        return report
    mistakes = [str(item) for item in found if item.kind == "mistake"]
    is_strict = item.config.getini("failsoft_mistakes") != "report"
    if mistakes and is_strict and report.passed and "failsoft_reports" not in getattr(item, "fixturenames", ()):
        report.outcome = "failed"
        report.longrepr = "\n".join(["failsoft: a tool raised an error with a mistake in it", *mistakes])
    elif report.failed:
        report.sections += [(f"failsoft: {one.kind}", str(one)) for one in found]
    found.clear()
    return report


@pytest.fixture
def failsoft_reports() -> Iterator[list[Report]]:
    """What was reported in the running test so far; a test that asks for this does not fail by a mistake."""
    from failsoft.testing import watch_reports  # noqa: PLC0415 - see above

    found: list[Report] = []
    with watch_reports(found.append):
        yield found


@pytest.fixture
def failsoft_clock() -> Iterator[InstantClock]:
    """An `InstantClock`, whose runs share one loop: `failsoft_clock.run(tool.get_book(title="Dune"))`."""
    from failsoft.testing import InstantClock  # noqa: PLC0415 - see above

    with InstantClock() as clock:
        yield clock


@pytest.fixture
def failsoft_runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """A `Runtime` that depends on no variable of the environment and shares nothing with other tests."""
    import os  # noqa: PLC0415 - the plugin's import costs nothing but pytest

    for name in [name for name in os.environ if name.upper().startswith(("FAILSOFT_", "DEBUG_STACK", "PROMETHEUS_"))]:
        monkeypatch.delenv(name)
    from failsoft.testing import fresh_runtime  # noqa: PLC0415 - see above

    return fresh_runtime()


@pytest.fixture
def failsoft_events(failsoft_runtime: Runtime) -> Iterator[CapturedEvents]:
    """The events of `failsoft_runtime`, kept."""
    from failsoft.testing import CapturedEvents  # noqa: PLC0415 - see above

    with CapturedEvents(failsoft_runtime) as captured:
        yield captured
