"""Runs an agent of a framework and prints what its model is given: `agent_client.py FRAMEWORK SERVERS TURNS`.

The model is a script: for each turn it asks for the turn's calls, all at once. `SERVERS` is a JSON object of URLs by
name, `TURNS` a list of lists of calls. The answer has, by the server's name, for each call the `content` that is sent
to the model and whether the message is `marked` as a failure beside it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

Call = dict[str, Any]
Shown = list[dict[str, Any]]


class Script:
    """The model's part, and what it was given.

    Attributes:
        shown: For each call so far its content and mark, in the order of the calls.
    """

    def __init__(self, turns: list[list[Call]]) -> None:
        self.turns = turns
        self.shown: Shown = []

    def next(self, shown: Shown) -> list[tuple[str, Call]]:
        """Return the calls of the next turn, each with an id; none when the script has ended."""
        self.shown = shown
        before = 0
        for turn in self.turns:
            if before == len(shown):
                return [(f"call_{before + number}", call) for number, call in enumerate(turn)]
            before += len(turn)
        return []


async def pydantic_ai(url: str, script: Script) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        shown = [{"content": part.model_response_str(), "marked": part.outcome != "success"} for part in parts]
        calls = [ToolCallPart(call["name"], call["arguments"]) for _, call in script.next(shown)]
        return ModelResponse(parts=calls or [TextPart("done")])

    async with Agent(FunctionModel(model), toolsets=[MCPToolset(url)], retries=9) as agent:
        await agent.run("go")


async def openai_agents(url: str, script: Script) -> None:
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
    from agents.mcp import MCPServerStreamableHttp
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    class Scripted(Model):
        async def get_response(self, *_: Any, **request: Any) -> ModelResponse:
            items = request["input"] if isinstance(request["input"], list) else []
            outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
            texts = [item if isinstance(item, str) else item[0]["text"] for item in outputs]
            said: list[Any] = [
                ResponseFunctionToolCall(
                    type="function_call", call_id=key, name=call["name"], arguments=json.dumps(call["arguments"])
                )
                for key, call in script.next([{"content": text, "marked": False} for text in texts])
            ]
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            end = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
            return ModelResponse(output=said or [end], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    async with MCPServerStreamableHttp(params={"url": url}, client_session_timeout_seconds=60) as server:
        agent = Agent(name="agent", model=Scripted(), mcp_servers=[server])
        await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))


async def langchain(url: str, script: Script) -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_mcp_adapters.client import MultiServerMCPClient

    class Scripted(BaseChatModel):
        _llm_type = "scripted"

        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
            results = [message for message in messages if message.type == "tool"]
            shown = [{"content": str(result.text), "marked": result.status == "error"} for result in results]
            calls = [{"id": key, "name": call["name"], "args": call["arguments"]} for key, call in script.next(shown)]
            return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=calls))])

    connection: Any = {"transport": "streamable_http", "url": url}
    agent = create_agent(Scripted(), await MultiServerMCPClient({"shop": connection}).get_tools())
    await agent.ainvoke({"messages": [("user", "go")]})


async def llama_index(url: str, script: Script, text_only: bool = False) -> None:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
    from llama_index.core.llms.mock import MockFunctionCallingLLM
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    def model(messages: list[ChatMessage], **_: Any) -> ChatMessage:
        results = [message.content for message in messages if message.role.value == "tool"]
        calls = script.next([{"content": text, "marked": False} for text in results])
        blocks = [
            ToolCallBlock(tool_call_id=key, tool_name=call["name"], tool_kwargs=call["arguments"])
            for key, call in calls
        ]
        return ChatMessage(role="assistant", blocks=blocks or [TextBlock(text="done")])

    class TextClient(BasicMCPClient):
        async def call_tool(self, *args: Any, **options: Any) -> Any:
            return (await super().call_tool(*args, **options)).content[0].text

    client = TextClient(url) if text_only else BasicMCPClient(url)
    tools = await McpToolSpec(client).to_tool_list_async()
    llm = MockFunctionCallingLLM(response_generator=model)
    await FunctionAgent(tools=tools, llm=llm, streaming=False).run("go")


async def google_adk(url: str, script: Script, text_only: bool = False) -> None:
    from google.adk.agents import LlmAgent
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
    from google.genai.types import Content, Part

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            parts = [part for content in llm_request.contents for part in content.parts if part.function_response]
            responses = [part.function_response.response for part in parts]
            contents = [one["result"] if "result" in one else json.dumps(one) for one in responses]
            shown = [{"content": content, "marked": False} for content in contents]
            calls = [Part.from_function_call(name=c["name"], args=c["arguments"]) for _, c in script.next(shown)]
            yield LlmResponse(content=Content(role="model", parts=calls or [Part(text="done")]))

    def text_of(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> Any:
        return {"result": tool_response["content"][0]["text"]}

    tools = McpToolset(connection_params=StreamableHTTPConnectionParams(url=url))
    callback = text_of if text_only else None
    agent = LlmAgent(name="agent", model=Scripted(model="scripted"), tools=[tools], after_tool_callback=callback)
    runner = InMemoryRunner(agent=agent, app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="user")
    said = Content(role="user", parts=[Part(text="go")])
    async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=said):
        pass
    await tools.close()


async def strands(url: str, script: Script) -> None:
    from mcp.client.streamable_http import streamable_http_client
    from strands import Agent
    from strands.models import Model
    from strands.tools.mcp import MCPClient

    class Scripted(Model):
        def update_config(self, **_: Any) -> None: ...
        def get_config(self) -> Any:
            return {"model_id": "scripted"}

        def structured_output(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

        async def stream(self, messages: Any, *_: Any, **__: Any) -> Any:
            blocks = [block["toolResult"] for said in messages for block in said["content"] if "toolResult" in block]
            # The providers send a result's content and, some of them, its status; the rest stays in the history.
            shown = [{"content": one["content"][0]["text"], "marked": one["status"] == "error"} for one in blocks]
            calls = script.next(shown)
            yield {"messageStart": {"role": "assistant"}}
            for key, call in calls:
                yield {"contentBlockStart": {"start": {"toolUse": {"name": call["name"], "toolUseId": key}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call["arguments"])}}}}
                yield {"contentBlockStop": {}}
            if not calls:
                yield {"contentBlockDelta": {"delta": {"text": "done"}}}
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}

    def run() -> None:
        with MCPClient(lambda: streamable_http_client(url)) as client:
            Agent(model=Scripted(), tools=client.list_tools_sync(), callback_handler=None)("go")

    await asyncio.to_thread(run)


async def crewai(url: str, script: Script) -> None:
    from crewai import Agent, BaseLLM
    from crewai_tools import MCPServerAdapter

    class Scripted(BaseLLM):
        def supports_function_calling(self) -> bool:
            return True

        def call(self, messages: Any, *_: Any, **__: Any) -> Any:
            results = [message["content"] for message in messages if message["role"] == "tool"]
            calls = script.next([{"content": text, "marked": False} for text in results])
            functions = [{"name": call["name"], "arguments": json.dumps(call["arguments"])} for _, call in calls]
            wanted = [{"id": key, "function": one} for (key, _), one in zip(calls, functions, strict=True)]
            return wanted or "Final Answer: done"

    def run() -> None:
        with MCPServerAdapter({"url": url, "transport": "streamable-http"}) as tools:
            Agent(role="r", goal="g", backstory="b", llm=Scripted(model="scripted"), tools=list(tools)).kickoff("go")

    await asyncio.to_thread(run)


async def claude_agent(url: str, script: Script) -> None:
    """Run Claude Code as the package brings it, with the script behind the address of its API: no account is asked."""
    from http.server import ThreadingHTTPServer

    from claude_agent_sdk import ClaudeAgentOptions, query

    server = ThreadingHTTPServer(("127.0.0.1", 0), messages_api(script))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = ClaudeAgentOptions(
        mcp_servers={"shop": {"type": "http", "url": url}},
        allowed_tools=["mcp__shop"],
        tools=[],
        setting_sources=[],
        env={
            "ANTHROPIC_API_KEY": "scripted",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",
        },
    )
    async for _ in query(prompt="go", options=options):
        pass
    server.shutdown()


def messages_api(script: Script) -> Any:
    """Return a handler that answers as the Messages API does, in a stream of events, what the script says."""
    from http.server import BaseHTTPRequestHandler

    def given(block: dict[str, Any]) -> dict[str, Any]:
        # The client adds reminders of its own to the last result.
        text = block["content"].split("\n\n<system-reminder>")[0]
        return {"content": text, "marked": block.get("is_error", False)}

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None: ...

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            said = [block for one in asked["messages"] if isinstance(one["content"], list) for block in one["content"]]
            results = {one["tool_use_id"]: given(one) for one in said if one["type"] == "tool_result"}
            calls = script.next([results[key] for key in sorted(results)])
            message = {"id": "m", "type": "message", "role": "assistant", "model": asked["model"], "content": []}
            usage = {"input_tokens": 1, "output_tokens": 1}
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.event("message_start", message={**message, "usage": usage})
            for index, (key, call) in enumerate(calls):
                block = {"type": "tool_use", "id": key, "name": f"mcp__shop__{call['name']}", "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(call["arguments"])}
                self.block(index, block, delta)
            if not calls:
                self.block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"})
            self.event("message_delta", delta={"stop_reason": "tool_use" if calls else "end_turn"}, usage=usage)
            self.event("message_stop")

        def block(self, index: int, block: Any, delta: Any) -> None:
            self.event("content_block_start", index=index, content_block=block)
            self.event("content_block_delta", index=index, delta=delta)
            self.event("content_block_stop", index=index)

        def event(self, kind: str, **fields: Any) -> None:
            self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())

    return Handler


FRAMEWORKS: dict[str, Callable[[str, Script], Any]] = {
    "pydantic_ai": pydantic_ai,
    "openai_agents": openai_agents,
    "langchain": langchain,
    "llama_index": llama_index,
    "llama_index_text": partial(llama_index, text_only=True),
    "google_adk": google_adk,
    "google_adk_text": partial(google_adk, text_only=True),
    "strands": strands,
    "crewai": crewai,
    "claude_agent": claude_agent,
}


async def main(framework: str, servers: dict[str, str], turns: list[list[Call]]) -> None:
    scripts = {name: Script(turns) for name in servers}
    output, sys.stdout = sys.stdout, sys.stderr  # CrewAI reports on its runs there
    await asyncio.gather(*(FRAMEWORKS[framework](url, scripts[name]) for name, url in servers.items()))
    print(json.dumps({name: script.shown for name, script in scripts.items()}), file=output, flush=True)
    os._exit(0)  # without waiting for threads of the framework


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])))
