"""Files, plans and reports as resources, under the rules of sessions, roles and paths; over a real client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from failsoft import mcp_server
from failsoft.tools.workspace import Workspace
from tests.tools.workspace.site import Site

pytestmark = pytest.mark.anyio

PLANNER, WRITER = "ANTIGRAVITY", "WINDSURF"


class Reader:
    """A client, as an agent or a person uses it."""

    def __init__(self, client: Client, site: Site) -> None:
        self.client = client
        self.site = site

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the data of a call that works."""
        answer = (await self.client.call_tool(name, arguments)).structured_content or {}
        assert answer.get("success"), answer
        data: dict[str, Any] = answer["data"]
        return data

    async def begin(self, role: str = PLANNER, root: Path | None = None) -> str:
        """Return the id of a new session."""
        begun = await self.call("begin_session", workspace_root=str(root or self.site.project), role=role)
        return str(begun["session_id"])

    async def read(self, uri: str) -> str:
        """Return the text of a resource."""
        (content,) = (await self.client.read_resource(uri)).contents
        return str(content.text)

    async def refused(self, uri: str) -> dict[str, Any]:
        """Return the typed error of a resource that cannot be read."""
        with pytest.raises(MCPError) as caught:
            await self.client.read_resource(uri)
        error: dict[str, Any] = caught.value.error.data
        return error

    async def listed(self) -> dict[str, str | None]:
        """Return the type of every listed resource, over all pages."""
        found: dict[str, str | None] = {}
        cursor = None
        while True:
            page = await self.client.list_resources(cursor=cursor)
            found |= {str(item.uri): item.mime_type for item in page.resources}
            cursor = page.next_cursor
            if cursor is None:
                return found


@pytest.fixture
async def reader(site: Site, tool: Workspace) -> AsyncIterator[Reader]:
    (site.project / "src").mkdir()
    (site.project / "src/app.py").write_text("print('ä')\n")
    (site.project / "read me.md").write_text("# Read me\n")
    async with Client(mcp_server(tool)) as client:
        yield Reader(client, site)


async def test_templates_are_listed_and_without_a_session_nothing_else(reader: Reader) -> None:
    templates = (await reader.client.list_resource_templates()).resource_templates
    assert {item.uri_template for item in templates} == {
        "workspace://{session_id}/files/{+path}",
        "workspace://{session_id}/plans/{plan_hash}",
        "workspace://{session_id}/reports/{+path}",
    }
    assert await reader.listed() == {}
    refused = await reader.refused("workspace://current/files/src/app.py")
    assert (refused["error_code"], refused["next_step"]["tool"]) == ("SESSION_NOT_INITIALIZED", "begin_session")


async def test_what_is_listed_can_be_read_and_equals_what_the_tools_return(reader: Reader) -> None:
    session = await reader.begin()
    submitted = await reader.call("submit_plan", title="Write", files=["src/**"])
    report = await reader.call("write_failure_report", title="Lost", body="A patch was lost.")
    name = report["path"].removeprefix("docs/reports/")
    listed = await reader.listed()
    assert listed == {
        f"workspace://current/files/{report['path']}": "text/markdown",
        "workspace://current/files/read%20me.md": "text/markdown",
        "workspace://current/files/src/app.py": "text/x-python",
        f"workspace://current/plans/{submitted['plan_hash']}": "application/json",
        f"workspace://current/reports/{name}": "text/markdown",
    }
    for uri in listed:
        assert await reader.read(uri) == await reader.read(uri.replace("current", session))
    assert await reader.read("workspace://current/files/src/app.py") == "print('ä')\n"
    assert json.loads(await reader.read(f"workspace://{session}/plans/{submitted['plan_hash']}")) == submitted
    assert "A patch was lost." in await reader.read(f"workspace://{session}/reports/{name}")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("files/..%2Fsecret.txt", "PATH_TRAVERSAL_BLOCKED"),
        ("files//etc/passwd", "OUTSIDE_WORKSPACE"),
        ("files/.failsoft/plans/x.json", "OUTSIDE_WORKSPACE"),
        ("files/link", "OUTSIDE_WORKSPACE"),
        ("files/gone.py", "FILE_NOT_FOUND"),
        ("files/src", "INVALID_PATH"),
        ("files/binary", "INVALID_ENCODING"),
        ("reports/..%2F..%2Fread me.md", "PATH_TRAVERSAL_BLOCKED"),
        ("plans/deadbeef", "PLAN_NOT_FOUND"),
    ],
)
async def test_a_resource_is_held_to_the_rules_of_paths(reader: Reader, path: str, code: str) -> None:
    (reader.site.root / "secret.txt").write_text("secret")
    (reader.site.project / "link").symlink_to(reader.site.root / "secret.txt")
    (reader.site.project / "binary").write_bytes(b"\xff\xfe")
    await reader.begin()
    await reader.call("submit_plan", title="Write", files=["src/**"])  # makes the closed folder
    refused = await reader.refused(f"workspace://current/{path}")
    assert refused["error_code"] == code, refused
    assert refused["workspace_root"] == str(reader.site.project)


async def test_a_session_that_ended_or_never_was_reads_and_lists_nothing(reader: Reader) -> None:
    session = await reader.begin()
    await reader.call("end_session", session_id=session)
    for named in (session, "current", "00000000-0000-4000-8000-000000000000"):
        refused = await reader.refused(f"workspace://{named}/files/src/app.py")
        assert (refused["error_code"], "has ended" in refused["human_message"]) == (
            "SESSION_NOT_INITIALIZED",
            named in (session, "current"),
        )
    assert await reader.listed() == {}


async def test_a_role_that_may_not_read_reads_no_resource(site: Site) -> None:
    tool = site.tool(workspace_roles=("BLIND:plan", "READER:read"))
    (site.project / "a.md").write_text("x")
    async with Client(mcp_server(tool)) as client:
        reader = Reader(client, site)
        await reader.begin("READER")
        assert await reader.read("workspace://current/files/a.md") == "x"
        await reader.begin("BLIND")
        refused = await reader.refused("workspace://current/files/a.md")
        assert (refused["error_code"], "READER" in refused["human_message"]) == ("UNAUTHORIZED_ACTION", True)
        with pytest.raises(MCPError):
            await client.list_resources()


async def test_a_locked_session_reads_no_resource_and_a_replaced_folder_locks_it(reader: Reader) -> None:
    await reader.begin()
    project = reader.site.project
    project.rename(project.with_name("aside"))
    project.mkdir()
    (project / "read me.md").write_text("another")
    uri = "workspace://current/files/read%20me.md"
    codes = [(await reader.refused(uri))["error_code"] for _ in range(2)]
    assert codes == ["INVARIANT_VIOLATION", "SESSION_LOCKED"]


async def test_a_file_too_large_for_one_answer_names_the_call_that_reads_it_in_parts(site: Site) -> None:
    (site.project / "long.txt").write_text("line\n" * 20_000)
    async with Client(mcp_server(site.tool(max_response_bytes=20_000))) as client:
        reader = Reader(client, site)
        session = await reader.begin()
        for named, arguments in (("current", {}), (session, {"session_id": session})):
            refused = await reader.refused(f"workspace://{named}/files/long.txt")
            assert refused["error_code"] == "RESULT_TOO_LARGE"
            step = refused["next_step"]
            assert step["arguments"].items() >= {"path": "long.txt", **arguments}.items()
            assert (await reader.call(step["tool"], **step["arguments"]))["content"].startswith("line\n")


async def test_a_long_list_comes_in_pages(reader: Reader) -> None:
    for number in range(450):
        (reader.site.project / f"{number:03}.txt").touch()
    await reader.begin()
    assert len((await reader.client.list_resources()).resources) == 200
    assert len(await reader.listed()) == 452


async def test_paths_are_completed_and_the_prompt_is_offered(reader: Reader) -> None:
    await reader.begin()
    template = ResourceTemplateReference(uri="workspace://{session_id}/files/{+path}")
    found = await reader.client.complete(template, {"name": "path", "value": "app"})
    assert found.completion.values == ["src/app.py"]
    (prompt,) = (await reader.client.list_prompts()).prompts
    assert prompt.name == "governed_session"
    assert (await reader.client.complete(PromptReference(name=prompt.name), {"name": "task", "value": "x"})).completion
    (message,) = (await reader.client.get_prompt(prompt.name, {"task": "Write the guide."})).messages
    assert "Task: Write the guide." in message.content.text
