"""What an operation does not declare it is not run again for: a started handler may have begun its effect."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from failsoft import BaseTool, CallContext, RecoveryManager, RecoveryResult, ToolError, Unavailable, operation
from failsoft.client import Client
from failsoft.recovery import AlternatePaths, Retry
from failsoft.testing import watch_reports
from tests.catalogue import ERRORS
from tests.doors import lint_toolbox, normalize
from tests.each import each
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Again:
    """A strategy of an author's own that runs the handler again, whatever happened."""

    async def attempt(self, error: ToolError, call: Any) -> RecoveryResult | None:
        """Run it twice more."""
        for _ in range(2):
            try:
                return RecoveryResult(await call.retry(), "It worked")
            except ToolError:
                continue
        return None


def stubborn() -> RecoveryManager:
    """Return a manager that tries everything that it may."""
    manager = RecoveryManager()
    manager.register(ToolError, Retry(attempts=3, base_s=0), AlternatePaths(parameter="path"), Again())
    return manager


class Below(BaseTool):
    """What a handler calls, and what fails there with nothing changed."""

    @operation
    async def save(self) -> str:
        """Refuse to save."""
        raise Unavailable(effect="none", retry_after_seconds=0.001)

    @operation(read_only=True)
    async def look(self) -> str:
        """Look."""
        return "seen"


class Shader:
    """Something else that has a method called `effect`."""

    def effect(self, name: str) -> str:
        """Return a name."""
        return name


class Writes(BaseTool):
    """Operations that change something, by what they declare."""

    recovery = stubborn()

    def __init__(self, raised: BaseException | None = None) -> None:
        super().__init__(runtime=quiet_runtime())
        self.raised = raised
        self.runs = 0
        self.below = Below(runtime=quiet_runtime())

    def _run(self) -> str:
        self.runs += 1
        if self.raised is not None:
            raise self.raised
        return "done"

    @operation
    async def write(self, path: str = "a.md") -> str:
        """Declare nothing."""
        return self._run() + path

    @operation(destructive=True)
    def write_in_a_thread(self, path: str = "a.md") -> str:
        """Declare nothing, in a thread."""
        return self._run() + path

    @operation
    async def draw(self, call: CallContext, path: str = "a.md") -> str:
        """Look like a handler that marks its effects."""
        call.logger.debug(Shader().effect("blur"))
        return self._run() + path

    @operation
    async def forward(self) -> str:
        """Change something, then call a tool here that changes nothing."""
        self.runs += 1
        return (await self.below.save()).unwrap()

    @operation
    async def send(self) -> str:
        """Change something, then call a tool of another server that changes nothing."""
        self.runs += 1
        async with Client(self.below, attempts=1) as client:
            return str(await client.call("save"))

    @operation
    async def rethrow(self) -> str:
        """Change something, and raise what the framework makes of a library's exception."""
        self.runs += 1
        try:
            raise ConnectionRefusedError(111, "refused")
        except OSError as error:
            raise normalize(error) from error

    @operation
    async def send_late(self) -> str:
        """Change something, then call another server when there is no time left for it."""
        self.runs += 1
        async with Client(self.below) as client:
            return str(await client.call("look", timeout_s=0))

    @operation
    async def forward_then_look(self) -> str:
        """Change something, call a tool that changes nothing, and look before its failure is passed on."""
        self.runs += 1
        response = await self.below.save()
        await self.below.look()
        return response.unwrap()

    @operation(effects=True)
    async def mark(self, call: CallContext, *, late: bool = False) -> str:
        """Mark an effect, before or after the failure."""
        self.runs += 1
        if late:
            raise Unavailable
        return str(await call.effect("save", run=self._fail))

    @operation
    async def mark_undeclared(self, call: CallContext) -> str:
        """Mark an effect, and do not declare it."""
        return str(await call.effect("save", run=self._fail))

    async def _fail(self) -> str:
        self.runs += 100
        raise Unavailable

    @operation(atomic=True)
    async def book(self) -> str:
        """Fail in one transaction."""
        return self._run()


FOREIGN: list[BaseException] = [
    ConnectionRefusedError(111, "refused"),
    ConnectionResetError(104, "reset"),
    TimeoutError(),
    OSError(28, "full"),
    ValueError("no"),
    httpx.ConnectError("refused"),
    httpx.ConnectTimeout("late"),
    httpx.PoolTimeout("none free"),
    *[kind(message="It failed.") for kind in ERRORS],
]


@each("raised", FOREIGN)
async def test_without_a_declaration_a_started_handler_is_run_once(raised: BaseException) -> None:
    for name in ("write", "write_in_a_thread", "draw"):
        tool = Writes(raised)
        response = await tool.execute_with_error_handling(name, {})
        assert not response.success
        assert response.error is not None
        assert (tool.runs, response.error.effect) == (1, "unknown"), name


@pytest.mark.parametrize("name", ["forward", "forward_then_look", "rethrow", "send", "send_late"])
async def test_a_failure_below_without_an_effect_says_nothing_of_the_handler_above(name: str) -> None:
    tool = Writes()
    response = await tool.execute_with_error_handling(name, {})
    assert response.error is not None
    assert (tool.runs, response.error.effect, response.error.retry.when) == (1, "unknown", "never")


async def test_a_handler_that_only_looks_as_if_it_marked_effects_has_an_unknown_effect() -> None:
    response = await Writes(Unavailable()).draw()
    assert response.error is not None
    assert response.error.effect == "unknown"
    assert response.error.retry.when == "never"


async def test_a_declared_mark_decides_whether_a_handler_is_run_again() -> None:
    before, after = Writes(), Writes()
    late, begun = await before.mark(late=True), await after.mark()
    assert late.error is not None
    assert begun.error is not None
    assert (before.runs, late.error.effect) == (3 + 2, "none")
    assert (after.runs, begun.error.effect) == (101, "unknown")


async def test_an_author_s_own_error_and_a_transaction_may_say_that_nothing_was_changed() -> None:
    own, booked = Writes(Unavailable(effect="none")), Writes(Unavailable())
    assert not (await own.write()).success
    assert not (await booked.book()).success
    assert own.runs > 1
    assert booked.runs > 1


async def test_an_undeclared_mark_is_refused_before_it_does_anything_and_reported() -> None:
    tool, reports = Writes(), []
    with watch_reports(reports.append):
        response = await tool.mark_undeclared()
    assert response.error is not None
    assert response.error.code == "CONFIG_ERROR"
    assert tool.runs == 0
    assert [report.operation for report in reports if "effects=True" in report.message] == ["mark_undeclared"]


def test_lint_names_a_handler_that_marks_effects_and_does_not_declare_it() -> None:
    found = [finding.operation for finding in lint_toolbox(Writes().toolbox) if finding.name == "effects"]
    assert found == ["mark_undeclared"]


def test_an_operation_that_changes_nothing_declares_no_effects() -> None:
    with pytest.raises(TypeError, match="effects=True"):

        class Odd(BaseTool):
            @operation(read_only=True, effects=True)
            async def look(self) -> str:
                """Look."""
                return ""
