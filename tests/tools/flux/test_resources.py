"""Models and media as resources, and the modelling walkthrough as a prompt, over a real client."""

from __future__ import annotations

import asyncio
import json

from mcp import Client

from failsoft import mcp_server
from tests.doors import FluxSettings, Workers
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab

pytestmark = IN_FLUX


def test_models_and_media_are_resources_and_the_walkthrough_is_a_prompt(lab: Lab) -> None:
    tool = lab.tool(workers=Workers(FluxSettings(workers=1)))  # they end with the server

    async def visit() -> None:
        async with Client(mcp_server([tool])) as client:
            made = (await client.call_tool("load_model", {"name": "textbook"})).structured_content or {}
            uris, cursor = [], None
            while True:
                page = await client.list_resources(cursor=cursor)
                uris += [str(item.uri) for item in page.resources]
                cursor = page.next_cursor
                if cursor is None:
                    break
            assert f"flux://models/{made['model_id']}" in uris
            assert "flux://media/minimal_aerobic" in uris
            (model,) = (await client.read_resource(f"flux://models/{made['model_id']}")).contents
            assert json.loads(model.text)["num_reactions"] == 95
            (medium,) = (await client.read_resource("flux://media/minimal_aerobic")).contents
            assert json.loads(medium.text)["num_compounds"] == 20
            (message,) = (await client.get_prompt("model_an_organism", {"organism": "E. coli"})).messages
            assert "gapfill_model" in message.content.text
            assert message.content.text.endswith("E. coli.")

    asyncio.run(visit())
