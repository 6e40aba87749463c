"""Reports reach what watches, and never break the call that they are about."""

from __future__ import annotations

import asyncio
from typing import Any

from failsoft import BaseTool, NotFound, operation
from failsoft.testing import Report, watch_reports
from tests.doors import report_mistake


class Shelf(BaseTool):
    """A shelf."""

    @operation(read_only=True)
    async def crash(self) -> int:
        """Crash."""
        return {"a": 1}["b"]

    @operation(read_only=True)
    async def fail(self) -> int:
        """Fail as foreseen."""
        raise NotFound(message="There is no book.")

    @operation(read_only=True)
    async def count(self) -> dict[str, int]:
        """Forget an `await`."""
        return self.late

    late: Any = None

    @operation(read_only=True)
    async def rate(self) -> dict[str, list[int]]:
        """Return text among numbers."""
        return {"dune": [5, "five"]}  # type: ignore[list-item]  # the mistake


def watched(name: str) -> list[Report]:
    found: list[Report] = []
    with watch_reports(found.append):
        asyncio.run(Shelf().execute_with_error_handling(name, {}))
    asyncio.run(Shelf().execute_with_error_handling(name, {}))
    return found


def test_a_crash_is_reported_once_with_its_place_and_error_id() -> None:
    (report,) = watched("crash")
    assert (report.kind, report.operation, len(report.error_id)) == ("crash", "crash", 16)
    assert report.place.startswith(f"{__file__}:")
    assert report.traceback.endswith("KeyError: 'b'\n")
    assert report.error_id in str(report)


def test_a_result_that_does_not_fit_is_reported_with_its_handler() -> None:
    shelf = Shelf()
    shelf.late = Shelf().fail()  # closed below: a coroutine that is never awaited would give a later test a warning
    found: list[Report] = []
    with watch_reports(found.append):
        asyncio.run(shelf.execute_with_error_handling("count", {}))
    shelf.late.close()
    (report,) = found
    assert (report.kind, report.operation, len(report.error_id)) == ("crash", "count", 16)
    assert report.place.startswith(f"{__file__}:")
    assert report.message.endswith("it is of type coroutine (is an `await` missing?)")
    (report,) = watched("rate")
    assert "`dune.1`: Input should be a valid integer" in str(report)


def test_an_expected_failure_is_no_report() -> None:
    assert watched("fail") == []


def test_a_mistake_names_the_line_that_made_it(failsoft_reports: list[Report]) -> None:
    report_mistake("NotFound has no field 'titel'; did you mean 'title'?")
    (report,) = failsoft_reports
    assert report.kind == "mistake"
    assert report.place.startswith(f"{__file__}:")
    assert str(report) == f"{report.place}: {report.message}"


def test_a_watcher_that_breaks_costs_no_answer() -> None:
    def broken(_report: Report) -> None:
        raise RuntimeError("broken watcher")

    with watch_reports(broken):
        answer = asyncio.run(Shelf().execute_with_error_handling("crash", {}))
    assert answer.error is not None
    assert answer.error.code == "UNKNOWN_ERROR"
