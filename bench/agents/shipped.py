"""The toolsets that ship, on a folder of their own, as a world: sessions begun, a plan approved, a model loaded."""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

from pydantic_core import to_jsonable_python

from failsoft import BaseTool, Runtime
from failsoft.framework.call.bound import BoundOperation
from failsoft.framework.settings import Settings
from failsoft.server import mcp_server
from failsoft.tools.docs import Docs
from failsoft.tools.edit import Edit
from failsoft.tools.workspace import Workspace

__all__ = ["FILES", "OTHER_FILES", "Shipped", "shipped_contenders"]

FILES = {
    "guide/intro.md": "---\ntitle: Introduction\n---\n# Introduction\nWhat it is for.\n",
    "guide/setup.md": "---\ntitle: Setup\n---\n# Setup\nHow to install it.\n",
    "guide/faq.md": "---\ntitle: Questions\n---\n# Questions\nAsked often.\n",
    "reference/errors.md": "---\ntitle: Errors\n---\n# Errors\nWhat each one means.\n",
    "menu.txt": "tea 2.00\ncoffee 2.50\nwater 1.00\n",
    "src/app.py": "import util\n\n\ndef main():\n    total = util.add(1, 2)\n    print(total)\n    print(total)\n",
    "src/util.py": "def add(a, b):\n    return a + b\n",
}
OTHER_FILES = {
    "handbook/returns.md": "---\ntitle: Returns\n---\n# Returns\nWithin thirty days.\n",
    "handbook/shipping.md": "---\ntitle: Shipping\n---\n# Shipping\nThree working days.\n",
    "handbook/index.md": "---\ntitle: Handbook\n---\n# Handbook\nStart here.\n",
    "prices.csv": "sku,price\nsoup,4.10\nbread,2.20\nsalt,0.90\n",
    "lib/order.ts": "export function total(lines: number[]) {\n  return lines.reduce((a, b) => a + b, 0);\n}\n",
    "lib/tax.ts": "export const RATE = 0.19;\nexport const REDUCED = 0.07;\n",
}
_ROLES = ("ANTIGRAVITY:read+plan+approve", "AUDITOR:read+approve", "WINDSURF:read+write")
"""Nobody approves the plans of their own role."""
_CHECK = """
import sys
for number, line in enumerate(open("menu.txt"), 1):
    if len(line.split()) < 2:
        sys.exit(f"menu.txt:{number}: no price")
"""
_KEPT = (".failsoft", "audit-log.jsonl", ".state")


class Shipped:
    """A folder, the toolsets on it, and what was done to the files.

    Args:
        files: What the folder holds at the beginning.
        fault: What happens to the folder before the first call, `change PATH`, `delete PATH` or `binary PATH`;
            `no-price PATH`: its first line loses its price, and the preflight looks for one.
        flux: A flux toolset and the names of what was made in it, shared by all worlds since loading takes long.
        settings: Those of the toolsets.
    """

    def __init__(
        self, files: dict[str, str], fault: str, flux: tuple[BaseTool, dict[str, str]] | None, settings: Settings
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="agents-")).resolve()
        self.state = Path(tempfile.mkdtemp(prefix="agents-state-"))
        self._write(files)
        self.fault = fault
        self.files = files
        runtime = Runtime(settings=settings)
        checks = [[sys.executable, "-c", _CHECK]] if fault.startswith("no-price") else []
        own = {"runtime": runtime, "state_folder": self.state}
        self.workspace = Workspace(self.folder, settings=Workspace.Settings(roles=_ROLES, preflight=checks), **own)
        self.tools: list[BaseTool] = [
            Docs(self.folder, cache_dir=self.state, **own),
            Edit(self.folder, **own),
            self.workspace,
        ]
        self.names = {"ROOT": str(self.folder)}
        self._ask: Any = None
        if flux is not None:
            self.tools = [flux[0]]
            self.names |= flux[1]

    def _write(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            place = self.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)

    async def prepare(self, call: Any = None) -> None:
        """Begin the sessions and approve a plan, as the client of `call` or from Python; then let the fault happen."""
        if "MODEL" in self.names:
            return
        self._ask = call
        for name, role in (("PLANNER", "ANTIGRAVITY"), ("REVIEWER", "AUDITOR"), ("ENDED", "WINDSURF")):
            begun = await self._call("begin_session", workspace_root=str(self.folder), role=role)
            self.names[name] = begun["session_id"]
        globs = ["*.txt", "*.csv", "src/**", "lib/**", "out/**", "guide/**"]
        plan = await self._call("submit_plan", title="Change it", files=globs, session_id=self.names["PLANNER"])
        approval = {"plan_hash": plan["plan_hash"], "session_id": self.names["REVIEWER"]}
        await self._call("approve_plan", **approval)
        await self._call("end_session", session_id=self.names["ENDED"])
        begun = await self._call("begin_session", workspace_root=str(self.folder), role="WINDSURF")
        self.names["WRITER"] = begun["session_id"]
        for path, text in self.files.items():
            self.names[f"SHA {path}"] = hashlib.sha256(text.encode()).hexdigest()
        what, _, path = self.fault.partition(" ")
        if what == "change":
            self._write({path: "# changed meanwhile\n" + self.files[path]})
        elif what == "delete":
            (self.folder / path).unlink()
        elif what == "binary":
            (self.folder / path).write_bytes(b"\xff\xfe\x00\x01" * 20)
        elif what == "no-price":
            self._write({path: self.files[path].replace(" ", "\n", 1)})

    async def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        if self._ask is not None:
            return dict((await self._ask(tool, arguments))[2]["data"])
        response = await self.workspace.execute_with_error_handling(tool, arguments)
        return dict(response.unwrap())

    def filled(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments with the names of this world in them: `$ROOT`, `$WRITER`, `$SHA menu.txt`."""
        text = json.dumps(arguments)
        for name in sorted(self.names, key=len, reverse=True):
            text = text.replace(f"${name}", self.names[name])
        return dict(json.loads(text))

    @property
    def effects(self) -> Counter[str]:
        """The files that are not as they were, as `PATH: TEXT`."""
        before = dict(self.files)
        what, _, path = self.fault.partition(" ")
        if what == "change":
            before[path] = "# changed meanwhile\n" + before[path]
        elif what in {"delete", "binary"}:
            del before[path]
        elif what == "no-price":
            before[path] = before[path].replace(" ", "\n", 1)
        found: Counter[str] = Counter()
        for place in self.folder.rglob("*"):
            name = str(place.relative_to(self.folder))
            if place.is_file() and not name.startswith(_KEPT) and not (what == "binary" and name == path):
                text = place.read_text()
                if before.pop(name, None) != text:
                    found[f"{name}: {text}"] += 1
        found.update(f"{name}: gone" for name in before)
        return found

    def close(self) -> None:
        """Remove the folders."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.state, ignore_errors=True)


def _handler(bound: BoundOperation[..., Any]) -> Callable[..., Any]:
    """Return an operation's handler as a plain function, which raises what the handler raises."""

    async def run(**arguments: Any) -> Any:
        given = {name: to_jsonable_python(value) for name, value in arguments.items()}
        return (await bound.tool.execute_with_error_handling(bound.name, given)).unwrap()  # type: ignore[attr-defined]  # a port says less

    hints = get_type_hints(bound.function, include_extras=True)
    signature = inspect.signature(bound.function)
    kept = [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in signature.parameters.items()
        if name not in {"self", bound.context_parameter}
    ]
    run.__signature__ = signature.replace(parameters=kept, return_annotation=Any)  # type: ignore[attr-defined]  # inspect reads it
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in kept} | {"return": Any}
    run.__name__, run.__doc__ = bound.name, bound.description
    return run


def _operations(world: Shipped) -> list[BoundOperation[..., Any]]:
    return [bound for tool in world.tools for bound in tool.operations.values()]


def shipped_contenders() -> dict[str, Callable[[Shipped], Any]]:
    """Return what makes a server of a world, by contender."""
    logging.disable(logging.CRITICAL)

    def ours(world: Shipped) -> Any:
        return mcp_server(world.tools)

    def sdk(world: Shipped) -> Any:
        from mcp.server import MCPServer  # noqa: PLC0415 - beside the other peer

        server = MCPServer("peer")
        for bound in _operations(world):
            server.add_tool(_handler(bound), name=bound.name)
        return server

    def fastmcp(world: Shipped) -> Any:
        from fastmcp import FastMCP  # noqa: PLC0415 - it may be missing
        from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware  # noqa: PLC0415 - the same

        server: Any = FastMCP("peer", middleware=[ErrorHandlingMiddleware()])
        for bound in _operations(world):
            server.tool(_handler(bound), name=bound.name)
        return server

    return {
        "failsoft, json text": ours,
        "failsoft, lean text": ours,
        "failsoft, structured": ours,
        "FastMCP 4 + errors": fastmcp,
        "MCPServer (SDK)": sdk,
    }
