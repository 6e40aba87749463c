"""`Toolbox`: the tools of one server under their names."""

from __future__ import annotations

import pytest

from failsoft import BaseTool, ConfigurationError, RateLimited, Timeout, operation
from tests.doors import CallScope, Toolbox
from tests.framework.recording import quiet_runtime

pytestmark = pytest.mark.anyio


class Docs(BaseTool):
    """Documents."""

    @operation(read_only=True)
    async def get_documentation(self, path: str) -> str:
        """Return a document."""
        return path

    @operation()
    async def promote(self, path: str) -> None:
        """Promote a document."""
        raise Timeout


class Edit(BaseTool):
    """Edits."""

    @operation(name="edit.file")
    async def edit(self, path: str) -> None:
        """Edit a file."""
        raise RateLimited(next_step={"tool": "get_documentation", "arguments": {"path": path}}, effect="none")


@pytest.fixture
def box() -> Toolbox:
    return Toolbox([Docs(runtime=quiet_runtime()), Edit(runtime=quiet_runtime())])


def test_tools_stand_in_the_order_of_registration(box: Toolbox) -> None:
    assert box.names == ("get_documentation", "promote", "edit.file") == tuple(bound.name for bound in box)
    assert dict(box.operations) == {bound.name: bound for bound in box}
    assert [tool.name for tool in box.tools] == ["docs", "edit"]


def test_tools_are_found_by_their_name(box: Toolbox) -> None:
    found = box.find("edit.file")
    assert found is not None
    assert found.tool_name == "edit"
    assert box.find("edit") is None
    assert box.find("") is None


@pytest.mark.parametrize(
    ("name", "closest"),
    [
        ("get_documentaton", "get_documentation"),
        ("promot", "promote"),
        ("edit_file", "edit.file"),
        ("zzz", None),
        ("", None),
    ],
)
def test_the_closest_name_is_found_if_there_is_one(box: Toolbox, name: str, closest: str | None) -> None:
    assert box.unknown(name, {}).violations[0].suggestion == closest


def test_a_hostile_name_is_compared_in_bounds(box: Toolbox) -> None:
    assert box.unknown("get_documentation" * 100_000, {}).violations[0].suggestion is None
    assert box.unknown("\ud800", {}).violations[0].suggestion is None


def test_two_tools_of_one_name_are_refused_with_a_way_out() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Toolbox([Docs(runtime=quiet_runtime()), Docs(runtime=quiet_runtime())])
    assert "get_documentation" in caught.value.issue  # type: ignore[attr-defined]
    assert "docs_get_documentation" in str(caught.value.resolution)  # type: ignore[attr-defined]


async def test_a_next_step_may_lead_to_a_neighbor_of_the_same_server_only(box: Toolbox) -> None:
    bound = box.find("edit.file")
    assert bound is not None
    served = await bound.call({"path": "a"}, CallScope(toolbox=box))
    assert served.error is not None
    assert served.error.next_step is not None
    assert served.error.next_step.tool == "get_documentation"
    alone = await bound.call({"path": "a"})
    assert alone.error is not None
    assert alone.error.next_step is not None
    assert alone.error.next_step.tool == "edit.file"


def test_an_empty_box_is_no_special_case() -> None:
    empty = Toolbox([])
    assert (empty.names, empty.find("a"), list(empty)) == ((), None, [])
    assert empty.unknown("a", {}).violations[0].suggestion is None
