"""What a proxy passes through as it is: progress, cancellation, logs, resources, prompts, completion, questions."""

from __future__ import annotations

import anyio
import mcp_types as types
import pytest

from tests.proxy.conftest import proxied

pytestmark = pytest.mark.anyio


def everything(foreign):
    script = foreign / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    return ["node", str(script)]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_resources_prompts_completion_and_progress_of_another_server(mode, foreign):
    async with proxied("--name", "every", upstream=everything(foreign), mode=mode) as client:
        resources = (await client.list_resources()).resources
        read = await client.read_resource(resources[0].uri)
        assert read.contents[0].uri == resources[0].uri
        assert (await client.list_resource_templates()).resource_templates
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert {"simple-prompt", "completable-prompt"} <= prompts
        assert (await client.get_prompt("simple-prompt")).messages
        reference = types.PromptReference(type="ref/prompt", name="completable-prompt")
        completed = await client.complete(reference, {"name": "department", "value": "E"})
        assert "Engineering" in completed.completion.values
        seen: list[float] = []

        async def progress(done, total, message):
            seen.append(done)

        arguments = {"duration": 0.3, "steps": 3}
        result = await client.call_tool("trigger-long-running-operation", arguments, progress_callback=progress)
        assert not result.is_error
        assert seen == [1, 2, 3]


async def test_a_cancelled_call_is_cancelled_upstream_and_the_next_one_works(foreign):
    async with proxied("--name", "every", upstream=everything(foreign)) as client:
        with anyio.move_on_after(0.5) as scope:
            await client.call_tool("trigger-long-running-operation", {"duration": 4, "steps": 4})
        assert scope.cancelled_caught
        assert (await client.call_tool("echo", {"message": "on"})).content[0].text == "Echo: on"


async def test_questions_reach_the_clients_of_both_eras(foreign):
    asked: list[str] = []

    async def elicit(_ctx, params):
        asked.append(params.message)
        return types.ElicitResult(action="decline")

    name = "trigger-elicitation-request"
    for mode in ("legacy", "auto"):
        async with proxied(upstream=everything(foreign), mode=mode, elicitation_callback=elicit) as client:
            assert not (await client.call_tool(name, {})).is_error
    assert len(asked) == 2
