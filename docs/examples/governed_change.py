# --8<-- [start:server]
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

folder = Path("till").absolute()
folder.mkdir()
(folder / "till.py").write_text('''\
def price(cups):
    """
    >>> price(3)
    7.5
    """
    return 2.5 * cups
''')
check = [sys.executable, "-m", "doctest", "till.py"]
server = StdioServerParameters(
    command=sys.executable,
    args=["-m", "failsoft", "serve", "workspace", "--root", str(folder)],
    env={**os.environ, "FAILSOFT_WORKSPACE_PREFLIGHT": json.dumps([check])},
)
# --8<-- [end:server]


# --8<-- [start:agent]
class Agent:
    """One of those who work on the project, in a session of its own."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.session: dict[str, Any] = {}

    async def begin(self, role: str) -> None:
        data = await self.call("begin_session", workspace_root=str(folder), role=role)
        self.session = {"session_id": data["session_id"]}
        print(f"begin_session: {role} may {', '.join(data['may'])}")

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the data, or for a failure the whole envelope, and print its code."""
        result = await self.client.call_tool(tool, {**self.session, **arguments})
        answer: dict[str, Any] = result.structured_content
        if result.is_error:
            step = answer.get("next_step", {}).get("tool")
            code, effect = answer["error_code"], answer["effect"]
            print(f"{tool}: {code}, effect {effect}, next {step}")
            return answer
        return answer["data"]


# --8<-- [end:agent]


# --8<-- [start:person]
async def in_a_terminal(*command: str) -> None:
    """Run a command of failsoft as the person would, and print its first line."""
    person = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "failsoft", *command, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await person.communicate()
    print("failsoft", *command[:2], "->", said.decode().splitlines()[0])


# --8<-- [end:person]


# --8<-- [start:patches]
def patch(line: int, before: str, after: str) -> dict[str, str]:
    return {
        "path": "till.py",
        "patch": f"@@ -{line} +{line} @@\n-    {before}\n+    {after}\n",
    }


# --8<-- [end:patches]


# --8<-- [start:main]
async def main() -> None:
    async with Client(server) as client:
        planner, worker = Agent(client), Agent(client)
        # --8<-- [end:main]

        # --8<-- [start:plan]
        await planner.begin("ANTIGRAVITY")
        plan = await planner.call(
            "submit_plan",
            title="A cup costs 2.75",
            files=["till.py"],
            body="From Monday on.",
        )
        # Nobody approves their own plan.
        await planner.call("approve_plan", plan_hash=plan["plan_hash"])
        # --8<-- [end:plan]

        # --8<-- [start:approve]
        await worker.begin("WINDSURF")
        await worker.call(
            "apply_patch", **patch(6, "return 2.5 * cups", "return 2.75 * cups")
        )
        await in_a_terminal(
            "plans", "approve", plan["plan_hash"], "--root", str(folder)
        )
        # --8<-- [end:approve]

        # --8<-- [start:refused]
        # The plan does not cover it.
        await worker.call("write_file", path="menu.txt", content="tea 2.75\n")
        judged = await worker.call(
            "apply_patch",
            **patch(6, "return 2.5 * cups", "return 2.75 * cups  # TODO: tax"),
        )
        print(judged["details"]["findings"][0])
        # --8<-- [end:refused]

        # --8<-- [start:patch]
        await worker.call(
            "apply_patch", **patch(6, "return 2.5 * cups", "return 2.75 * cups")
        )
        failed = await worker.call("run_preflight")
        print(
            "Expected"
            + failed["details"]["output_snippet"]
            .partition("Expected")[2]
            .partition("*")[0]
            .rstrip()
        )
        await worker.call("apply_patch", **patch(4, "7.5", "8.25"))
        print(
            "run_preflight: exit code",
            (await worker.call("run_preflight"))["commands"][0]["exit_code"],
        )
        # --8<-- [end:patch]

        # --8<-- [start:audit]
        log = await planner.call("read_audit_log", limit=50)
        print(
            "read_audit_log:",
            *[entry["error_code"] or entry["tool_name"] for entry in log["entries"]],
        )
        await in_a_terminal("audit", "verify", str(folder / "audit-log.jsonl"))
        for agent in (planner, worker):
            await agent.call("end_session")
        await worker.call("read_file", path="till.py")
        # --8<-- [end:audit]


asyncio.run(main())
