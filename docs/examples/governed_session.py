# --8<-- [start:server]
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

served = Path("served").absolute()
folder = served / "project"
folder.mkdir(parents=True)
(folder / "menu.txt").write_text("tea 2.00\ncoffee 2.50\nwater 1.00\n")
check = Path("check_menu.py").absolute()
check.write_text("""\
import re, sys
for line in open("menu.txt"):
    if not re.fullmatch(r"[a-z]+ [0-9]+[.][0-9]{2}\\n", line):
        sys.exit(f"no price: {line.rstrip()}")
""")

server = StdioServerParameters(
    command=sys.executable,
    args=["-m", "failsoft", "serve", "workspace", "--root", str(served)],
    env={**os.environ, "FAILSOFT_WORKSPACE_PREFLIGHT": json.dumps([[sys.executable, str(check)]])},
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
        """Return the data; for a failure print its code, and return the whole envelope."""
        result = await self.client.call_tool(tool, {**self.session, **arguments})
        answer: dict[str, Any] = result.structured_content
        if result.is_error:
            step = answer.get("next_step", {}).get("tool")
            print(f"{tool}: {answer['error_code']}, effect {answer['effect']}, next {step}")
            return answer
        return answer["data"]


# --8<-- [end:agent]


# --8<-- [start:patches]
def patch(before: str, after: str) -> str:
    return f"@@ -1,2 +1,2 @@\n-{before}\n+{after}\n coffee 2.50\n"


# --8<-- [end:patches]
# --8<-- [start:swap]
def put_another_folder_there() -> None:
    folder.rename(served / "aside")
    folder.mkdir()


def put_it_back() -> None:
    folder.rmdir()
    (served / "aside").rename(folder)


# --8<-- [end:swap]


# --8<-- [start:main]
async def main() -> None:
    async with Client(server) as client:
        planner, worker = (Agent(client) for _ in range(2))
        # --8<-- [end:main]

        # --8<-- [start:plan]
        await planner.begin("ANTIGRAVITY")
        plan = await planner.call("submit_plan", title="Tea costs more", files=["menu.txt"], body="2.20 from now on.")
        await planner.call("approve_plan", plan_hash=plan["plan_hash"])  # an author cannot approve their own plan
        # --8<-- [end:plan]

        # --8<-- [start:approve]
        await worker.begin("WINDSURF")
        await worker.call("apply_patch", path="menu.txt", patch=patch("tea 2.00", "tea 2.20"))

        approve = ["failsoft", "plans", "approve", plan["plan_hash"], "--root", str(folder)]
        person = await asyncio.create_subprocess_exec(sys.executable, "-m", *approve, stdout=asyncio.subprocess.PIPE)
        said, _ = await person.communicate()
        print("failsoft plans approve:", said.decode().splitlines()[-1])
        (found,) = (await planner.call("list_plans"))["plans"]
        print("list_plans:", found["title"], found["files"], found["approved"])
        # --8<-- [end:approve]

        # --8<-- [start:patch]
        written = await worker.call("apply_patch", path="menu.txt", patch=patch("tea 2.00", "tea 2,20"))
        print("apply_patch:", written["path"], written["bytes"], "bytes")
        failed = await worker.call("run_preflight")
        print(failed["details"]["output_snippet"].rstrip())

        await worker.call("apply_patch", path="menu.txt", patch=patch("tea 2,20", "tea 2.20"))
        (passed,) = (await worker.call("run_preflight"))["commands"]
        print("run_preflight: exit code", passed["exit_code"])
        # --8<-- [end:patch]

        # --8<-- [start:lock]
        await worker.call("write_file", path="prices.txt", content="tea 2.20\n")  # the plan does not cover it

        put_another_folder_there()
        broken = await worker.call("read_file", path="menu.txt")
        print("invariant:", broken["invariant_id"])
        put_it_back()
        locked = await worker.call("read_file", path="menu.txt")
        # --8<-- [end:lock]

        # --8<-- [start:report]
        step = locked["next_step"]
        report_arguments = {
            **step["arguments"],
            "title": "The folder was replaced",
            "body": "Put back by hand. Nothing is lost.",
        }
        report = await worker.call(step["tool"], **report_arguments)
        print("write_failure_report:", report["path"])
        print("locked by", report["error_id"] == broken["error_id"], "locked now", report["locked"])

        log = await planner.call("read_audit_log", limit=50)
        print("read_audit_log:", log["chain"], [one["error_code"] for one in log["entries"] if one["error_code"]])
        for agent in (planner, worker):
            await agent.call("end_session")
        await worker.call("read_file", path="menu.txt")
        # --8<-- [end:report]


asyncio.run(main())
print((folder / "menu.txt").read_text().splitlines())
