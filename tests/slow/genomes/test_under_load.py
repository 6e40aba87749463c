"""Many clients at once, each asking something else, while workers are killed: no wrong answer, and none missing."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest
from mcp import Client

from failsoft import mcp_server
from failsoft.tools.flux import Flux
from tests.doors import FluxSettings, Workers
from tests.programs.flux import IN_FLUX
from tests.thorough import THOROUGH
from tests.tools.flux.lab import Lab, is_running, kill, until, workers_of
from tests.tools.flux.work.test_solving import storm

pytestmark = [*IN_FLUX, pytest.mark.usefixtures("flux_python")]

CLIENTS = 20
CALLS_EACH = 10 if THOROUGH else 5
KILLS = 30 if THOROUGH else 6
WORKERS = 2
TYPED = {"COBRAPY_SOLVER_ERROR"}
"""What a call may be answered with whose worker was killed, and then the next one as well."""


class Bench:
    """Calls of every kind with what they have to answer.

    Args:
        tool: Has the models.
        lab: Makes them.
    """

    def __init__(self, tool: Flux, lab: Lab) -> None:
        model = lab.loaded(tool)
        slow = lab.modified(tool, model, bounds={"EX_glc__D_e": [-5, 1000]})
        poor = lab.fed(tool, ["cpd00027", "cpd00007", "cpd00001"])
        self.calls: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
            ("run_fba", {"model_id": model}, {"growth_rate": pytest.approx(0.8739, abs=1e-3)}),
            ("run_fba", {"model_id": slow}, {"growth_rate": pytest.approx(0.4156, abs=1e-3)}),
            ("run_fba", {"model_id": model, "objective": "ATPM"}, {"objective_value": pytest.approx(175, abs=1e-3)}),
            ("run_fba", {"model_id": model, "media_id": poor}, {"error_code": "FBA_INFEASIBLE"}),
            ("run_fba", {"model_id": model, "objective": "bio1"}, {"error_code": "OBJECTIVE_NOT_FOUND"}),
            ("run_fba", {"model_id": "model_x"}, {"error_code": "MODEL_NOT_FOUND"}),
            ("modify_model", {"model_id": model, "remove_reactions": ["PGI"]}, {"num_reactions": 94}),
            ("export_model_json", {"model_id": model, "section": "genes", "limit": 5}, {"next_offset": 5}),
            ("get_compound_name", {"compound_id": "cpd00027"}, {"name": "D-Glucose"}),
            ("get_compound_name", {"compound_id": "cpd27"}, {"error_code": "INVALID_ID_FORMAT"}),
            ("build_media", {"compounds": ["cpd00027"]}, {"num_compounds": 1}),
        ]

    async def ask(self, client: Client, number: int) -> str | None:
        """Make one call, hold the answer to what it has to be, and return its code if the worker was lost."""
        tool, arguments, expected = self.calls[number % len(self.calls)]
        answer = (await client.call_tool(tool, arguments)).structured_content
        assert answer is not None
        code = answer.get("error_code")
        if code in TYPED and code != expected.get("error_code"):
            return str(code)
        assert {name: answer.get(name) for name in expected} == expected, (tool, answer)
        return None


@pytest.mark.parametrize("kills", [0, KILLS])
def test_twenty_clients_at_once_get_the_answers_that_are_theirs(kills: int) -> None:
    workers = Workers(FluxSettings(workers=WORKERS, queue=CLIENTS))
    lab = Lab(workers)
    tool = lab.tool(flux_keep_count=1_000)
    bench = Bench(tool, lab)
    lost: list[str | None] = []
    killed: list[int] = []

    async def one(client: Client, number: int) -> None:
        lost.extend([await bench.ask(client, number * 3 + turn) for turn in range(CALLS_EACH)])

    async def killer() -> None:
        for _ in range(kills):
            for process_id in workers_of(workers)[:1]:
                with suppress(ProcessLookupError):  # it was replaced just now
                    kill(process_id)
                    killed.append(process_id)
            await asyncio.sleep(0.02)

    async def crowd() -> None:
        async with AsyncExitStack() as stack:
            server = mcp_server(tool)
            clients = [await stack.enter_async_context(Client(server)) for _ in range(CLIENTS)]
            await asyncio.gather(*(one(client, number) for number, client in enumerate(clients)), killer())
            # Whatever was killed: as many calls as there are workers find one each, and all of them live.
            afterwards = await asyncio.gather(*(bench.ask(clients[0], 0) for _ in range(WORKERS * 2)))
            assert afterwards == [None] * WORKERS * 2
            alive = await asyncio.to_thread(until, lambda: workers_of(workers), "a worker")
            assert all(map(is_running, alive))
            assert len(alive) <= WORKERS

    try:
        asyncio.run(asyncio.wait_for(crowd(), 120))
    finally:
        workers.close()
    assert len(lost) == CLIENTS * CALLS_EACH
    assert bool(killed) is bool(kills)
    assert kills or set(lost) == {None}
    assert not workers_of(workers)


def test_under_load_and_kill_9_every_call_is_answered_and_none_is_wrong(lab: Lab, tool: Flux) -> None:
    assert storm(lab, tool, clients=20, turns=10, kills=8) == 200
