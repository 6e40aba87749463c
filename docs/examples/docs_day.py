# --8<-- [start:server]
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

SITE = Path(__file__).with_name("site")


def git(folder: Path, *arguments: str) -> None:
    who = (
        "-c",
        "user.name=docs",
        "-c",
        "user.email=docs@example.org",
        "-c",
        "commit.gpgsign=false",
    )
    command = ["git", *who, *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603 - git


def team_repository(folder: Path) -> None:
    """Put the site under version control, and rename a page as a team would."""
    shutil.copytree(SITE, folder)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "The site")
    git(folder, "mv", "docs/en/guides/assets.mdx", "docs/en/guides/images.mdx")
    git(folder, "commit", "-qm", "Call the page on pictures what it is about")


# --8<-- [end:server]


# --8<-- [start:agent]
class Agent:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer, and print its warnings, its recovery, or its error."""
        answer: dict[str, Any] = (
            await self.client.call_tool(tool, arguments)
        ).structured_content
        about = answer.get("metadata", {})
        for warning in about.get("warnings", []):
            print(f"{tool}: warning: {warning}")
        if "recovery" in about:
            print(f"{tool}: served by the rule {about['recovery']['rule']}")
        if not answer["success"]:
            error = answer["error"]
            print(f"{tool}: {error['code']}: {error['message']}")
        return answer


# --8<-- [end:agent]


# --8<-- [start:main]
async def main(base: Path) -> None:
    team_repository(base / "site")
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "failsoft", "serve", "docs", "--root", str(base)],
        env={
            **os.environ,
            "FAILSOFT_WIRE_FORMAT": "tool_response",
            "XDG_CACHE_HOME": str(base / "cache"),
        },
    )
    async with Client(server) as client:
        agent = Agent(client)
        # --8<-- [end:main]

        # --8<-- [start:activate]
        project = (
            await agent.call("activate_project", config_path="site/config.json")
        )["data"]
        print(
            project["project"],
            project["documents"],
            "documents:",
            *project["doc_types"],
        )
        # --8<-- [end:activate]

        # --8<-- [start:search]
        found = (
            await agent.call(
                "search_documents", query="Why does text jump while pictures load?"
            )
        )["data"]
        print("found:", found["results"][0]["path"])
        section = await agent.call(
            "get_documentation", path="guides/images.mdx#required-attributes"
        )
        print(section["data"]["documents"][0]["content"].strip())
        page = (await agent.call("get_documentation", path="guides/images.mdx"))[
            "data"
        ]["documents"][0]
        print("links:", *page["links"])
        # --8<-- [end:search]

        # --8<-- [start:missing]
        served = await agent.call("get_documentation", path="guides/assets.mdx")
        print("read:", served["data"]["documents"][0]["path"])
        missed = await agent.call("get_documentation", path="guides/cachign.mdx")
        step = missed["error"]["next_step"]
        print("next:", step["tool"], step["arguments"])
        # --8<-- [end:missing]

        # --8<-- [start:validate]
        await agent.call("validate_document", path="guides/cms.mdx")
        await agent.call("validate_document", path="guides/caching.mdx")
        caching = base / "site/docs/en/guides/caching.mdx"
        caching.write_text(caching.read_text().replace("descripton", "description"))
        valid = (await agent.call("validate_document", path="guides/caching.mdx"))[
            "data"
        ]
        print("valid:", valid["valid"], "as", valid["doc_type"])
        # --8<-- [end:validate]

        # --8<-- [start:promote]
        promoted = (
            await agent.call(
                "promote_document", path="guides/caching.mdx", level="important"
            )
        )["data"]
        print("level:", promoted["previous_level"], "->", promoted["level"])
        print(caching.read_text().splitlines()[:5])
        foreign = (await agent.call("search_external_docs", query="front matter yaml"))[
            "data"
        ]
        print("external:", foreign["results"][0]["path"])
        await agent.call(
            "promote_document", path=foreign["results"][0]["path"], level="important"
        )
        # --8<-- [end:promote]


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(Path(folder).resolve()))
