"""What a governed server does not start without: the faults of its toolsets, and a whole catalogue."""

from __future__ import annotations

import pytest

from failsoft import BaseTool, BootstrapFailure, NotFound, SelfAuditFailure, ToolError, operation
from tests.doors import Lifecycle


class Governed(BaseTool):
    """A toolset under rules."""

    governed = True
    faults: tuple[str, ...] = ()

    @operation()
    async def work(self) -> None:
        """Do nothing."""

    def self_audit(self) -> tuple[str, ...]:
        if "broken" in self.faults:
            raise RuntimeError
        return self.faults


class Dry(Governed):
    """A toolset that does not come up."""

    async def startup(self) -> None:
        msg = "no fuel"
        raise RuntimeError(msg)


async def refused(*tools: BaseTool) -> ToolError:
    """Return what a server with these tools fails with, before it is ready."""
    lifecycle = Lifecycle(tools, shutdown_limit_s=30)
    with pytest.raises(ToolError) as caught:
        async with lifecycle.running():
            pass
    assert lifecycle.failure is caught.value
    assert not lifecycle.is_ready
    return caught.value


@pytest.mark.anyio
async def test_a_catalogue_that_is_not_whole_is_a_fault() -> None:
    class Renamed(NotFound):
        """This class was changed after its declaration."""

        code = "RENAMED_LATER"

    tool = Governed()
    async with Lifecycle([tool], shutdown_limit_s=30).running():
        pass
    Renamed.code = "NOT_FOUND"
    Renamed.__doc__ = ""
    error = await refused(tool)
    assert isinstance(error, SelfAuditFailure)
    assert error.message.count("RENAMED_LATER") == 2


@pytest.mark.anyio
@pytest.mark.parametrize("fault", ["the moon is down", "broken"])
async def test_a_toolset_may_have_faults_of_its_own(fault: str) -> None:
    tool = Governed()
    tool.faults = (fault,)
    assert isinstance(await refused(tool), SelfAuditFailure)
    tool.governed = False
    async with Lifecycle([tool], shutdown_limit_s=30).running() as lifecycle:
        assert lifecycle.is_ready


@pytest.mark.anyio
async def test_a_governed_toolset_that_does_not_come_up_is_a_bootstrap_failure() -> None:
    error = await refused(Dry())
    assert isinstance(error, BootstrapFailure)
    assert isinstance(error.__cause__, RuntimeError)
