"""Runs an agent of a framework and prints what its model is shown: `agent_client.py FRAMEWORK SERVERS CALLS`.

The model is a script that makes one call after the other. `SERVERS` is a JSON object of URLs by name, `CALLS` a
list of names and arguments; the answer has, by the server's name, what the model was given for each call.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any


async def pydantic_ai(url: str, calls: list[dict[str, Any]]) -> list[Any]:
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    shown: list[Any] = []

    def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        shown.extend(part.content for part in messages[-1].parts if hasattr(part, "tool_name"))
        if len(shown) == len(calls):
            return ModelResponse(parts=[TextPart("done")])
        call = calls[len(shown)]
        return ModelResponse(parts=[ToolCallPart(call["name"], call["arguments"])])

    agent = Agent(FunctionModel(model), toolsets=[MCPToolset(url)], retries=len(calls))
    async with agent:
        await agent.run("go")
    return shown


async def openai_agents(url: str, calls: list[dict[str, Any]]) -> list[Any]:
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
    from agents.mcp import MCPServerStreamableHttp
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    shown: list[Any] = []

    class Scripted(Model):
        async def get_response(self, *_: Any, **request: Any) -> ModelResponse:
            items = request["input"] if isinstance(request["input"], list) else []
            outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
            shown[:] = [item if isinstance(item, str) else item[0]["text"] for item in outputs]
            if len(shown) == len(calls):
                text = ResponseOutputText(type="output_text", text="done", annotations=[])
                said = ResponseOutputMessage(
                    id="m", type="message", role="assistant", status="completed", content=[text]
                )
                return ModelResponse(output=[said], usage=Usage(), response_id=None)
            call = calls[len(shown)]
            wanted = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"c{len(shown)}",
                name=call["name"],
                arguments=json.dumps(call["arguments"]),
            )
            return ModelResponse(output=[wanted], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    async with MCPServerStreamableHttp(params={"url": url}, client_session_timeout_seconds=60) as server:
        agent = Agent(name="agent", model=Scripted(), mcp_servers=[server])
        await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
    return shown


async def langchain(url: str, calls: list[dict[str, Any]]) -> list[Any]:
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools

    connection: Any = {"transport": "streamable_http", "url": url}
    shown: list[Any] = []
    async with MultiServerMCPClient({"shop": connection}).session("shop") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        for number, call in enumerate(calls):
            # What a tool node of LangChain's agents does with a model's tool call.
            wanted = {"type": "tool_call", "id": str(number), "name": call["name"], "args": call["arguments"]}
            message = await tools[call["name"]].ainvoke(wanted)
            assert message.status == "error"
            shown.append(message.text if isinstance(message.text, str) else message.text())
    return shown


async def main(framework: str, servers: dict[str, str], calls: list[dict[str, Any]]) -> None:
    run = {"pydantic_ai": pydantic_ai, "openai_agents": openai_agents, "langchain": langchain}[framework]
    shown = await asyncio.gather(*(run(url, calls) for url in servers.values()))
    print(json.dumps(dict(zip(servers, shown, strict=True))))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])))
