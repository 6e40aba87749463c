"""What refused calls of toolsets cost, where the measurement itself takes seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from failsoft.tools.flux import Flux
from tests.laws.test_cost_of_refusals import hold


@pytest.mark.anyio
async def test_a_hostile_list_or_object_of_flux_costs_no_more_than_a_few_times_its_parsing(tmp_path: Path) -> None:
    await hold(Flux(tmp_path))


GROWTH_AT_MOST = 100_000_000

HOSTILE = """
import asyncio, json, resource, sys
from pathlib import Path
from failsoft.tools.docs import Docs
from failsoft.tools.edit import Edit
from failsoft.tools.flux import Flux
from failsoft.tools.workspace import Workspace

root = Path(sys.argv[1])
(root / "a.txt").write_text("abc\\n" * 1_000)
proteins = [f"p{n}" for n in range(30_000)]
calls = [
    (Edit, "multi_edit", {"file_path": str(root / "a.txt"), "edits": edits})
    for edits in (
        [{"old_string": "abc", "new_string": "abcd" * 200_000, "replace_all": True}],
        [{"old_string": "c", "new_string": "cc", "replace_all": True}, *({"old_string": "c" * 2**n, "new_string":
            "c" * 2**(n + 4), "replace_all": True} for n in range(1, 15))],
        [{"old_string": 3, "new_string": 4}] * 10_000,
        [{"old_string": "abc", "new_string": "abcd"}] * 10_000,
        [{"old_string": "zzz" * 1_000_000, "new_string": "y"}],
    )
] + [
    (Workspace, "submit_plan", {"title": "t", "files": ["*?" * 180] * 10_000}),
    (Workspace, "write_file", {"path": "b.txt", "content": "a b\\n" * 900_000}),
    (Docs, "get_documentation", {"path": ["x"] * 300_000}),
    (Flux, "build_model", {"template": "GramNegative", "protein_sequences": dict.fromkeys(proteins, "MK1V" * 30)}),
    (Flux, "build_model", {"template": "GramNegative", "protein_sequences": {f"p{n}": [] for n in range(100_000)}}),
    (Flux, "build_media", {"compounds": ["x"] * 200_000, "custom_bounds": {f"c{n}": [0] for n in range(80_000)}}),
    (Flux, "run_fva", {"model_id": "textbook", "reactions": [[]] * 300_000}),
]

async def main():
    tools = {kind: kind(root) for kind in (Docs, Edit, Flux, Workspace)}
    for kind, name, arguments in calls:  # once with little, so that the imports are not counted
        await tools[kind].execute_with_error_handling(name, {})
    bodies = [(kind, name, json.dumps(arguments)) for kind, name, arguments in calls]
    calls.clear()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for kind, name, body in bodies:
        response = await tools[kind].execute_with_error_handling(name, json.loads(body))
        assert not response.success, name
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_hostile_inputs_do_not_make_the_process_grow(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", HOSTILE, str(tmp_path)], check=True, capture_output=True, timeout=300)
    assert int(ran.stdout) <= GROWTH_AT_MOST
