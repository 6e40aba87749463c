"""What the protocol's conformance suite says of the tasks extension."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.programs.node import Node
from tests.server.http.process.ledger import Serving

EXPECTED = {
    "tasks-capability-negotiation": set(),
    "tasks-dispatch-and-envelope": set(),
    "tasks-lifecycle": {"sep-2663-tasks-get-status-failed"},
    "tasks-mrtr-composition": set(),
    "tasks-request-headers": {"tasks-headers-tolerate-mcp-method-on-tools-call"},
}
"""The scenarios, and which checks fail by intention: a defect of a handler is a failure of the tool and not of the
protocol, and the first text of a result is the whole response.

Left out are `tasks-wire-fields` and `tasks-request-state-removal`, which pass; `tasks-mrtr-input`, since tasks ask
nothing; and `tasks-required-task-error`: a tool whose calls all become jobs is there for clients without tasks, too.
"""


class Suite(Serving):
    """`failsoft serve` with the tools of the suite."""

    program = ("-m", "failsoft", "serve", "--app", "tests.slow.jobs.conformance_tasks:ConformanceTasks")


def test_the_conformance_suite_finds_nothing_unexpected_about_tasks(node: Node, tmp_path: Path) -> None:
    server = Suite("--port", "0", FAILSOFT_STATE_URL=f"sqlite:{tmp_path}/state.db", FAILSOFT_REPEATS="off")
    try:
        url = f"{server.url()}/mcp"

        def checks(scenario: str) -> dict[str, str]:
            done = node.run("conformance", "server", "--url", url, "--scenario", scenario, "--force", cwd=tmp_path)
            plain = re.sub(r"\x1b\[\d+m", "", done.stdout)
            return dict(re.findall(r"^\S+Z \[([\w-]+) *\] (\w+)", plain, re.MULTILINE))

        with ThreadPoolExecutor(4) as pool:
            found = dict(zip(EXPECTED, pool.map(checks, EXPECTED), strict=True))
    finally:
        server.close()
    assert {
        name: {check for check, said in each.items() if said != "SUCCESS"} for name, each in found.items()
    } == EXPECTED
    assert sum(map(len, found.values())) > 20
