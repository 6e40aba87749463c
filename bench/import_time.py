"""What `import failsoft` costs beside `import pydantic`, each in fresh processes that take turns.

Byte code is compiled before anything is measured. What counts is the CPU time of the import statement itself, without
the start of the interpreter.
"""

from __future__ import annotations

import asyncio
import compileall
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

from measure import Figure, benchmark, figure, ms, ratios

STATEMENTS = {
    "import pydantic": "import pydantic",
    "import failsoft": "import failsoft",
    "the first tool class": "from failsoft import BaseTool",
    "the first tool": "from sample_tool import Documents; Documents()",
}
USED_LATER = ("mcp", "prometheus_client", "typer", "rich", "starlette", "jsonschema", "rapidfuzz", "pydantic")
GOAL = "<= 2"
_TIMED = "import time\nbegan = time.process_time()\n{}\nprint(time.process_time() - began)"
_LOADED = "import failsoft, sys\nprint(*(name for name in {!r} if name in sys.modules))"


def compile_packages() -> None:
    """Write the byte code of what is imported, as an installer does."""
    for name in ("failsoft", "pydantic", "pydantic_settings", "loguru", "prometheus_client"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            compileall.compile_dir(str(Path(spec.origin).parent), quiet=2)


async def _run(code: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, cwd=Path(__file__).parent, stdout=subprocess.PIPE
    )
    output, _ = await process.communicate()
    if process.returncode != 0:
        msg = f"this failed in a fresh process: {code}"
        raise RuntimeError(msg)
    return output.decode().strip()


@benchmark("Import time, byte code compiled", rounds=(20, 2))
async def measure(given: Any) -> list[Figure]:
    """Return the time of each import, and its ratio to pydantic's."""
    compile_packages()
    seconds: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for number in range(given.rounds + 1):
        for name, statement in STATEMENTS.items():
            taken = float(await _run(_TIMED.format(statement)))
            if number:
                seconds[name].append(taken)
    found = [figure(name, ms(values), "ms") for name, values in seconds.items()]
    ratio = ratios(seconds["import failsoft"], seconds["import pydantic"])
    loaded = await _run(_LOADED.format(USED_LATER))
    note = f"loads {loaded}" if loaded else f"loads none of {', '.join(USED_LATER)}"
    return [*found, figure("import failsoft", ratio, "of pydantic", goal=GOAL, note=note)]
