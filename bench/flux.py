"""What a `run_fba` call costs over cobra's own `optimize` on the same model in the same minute.

The call goes through validation, the store, a worker process and the checks of the solution; cobra's runs here in this
process. The hop alone is a task that does nothing. Last come 200 calls at once from 20 clients, each a different one.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from typing import Any

import cobra
import cobra.io
from measure import Figure, benchmark, figure, interleave, ms

from failsoft import BaseTool, CallContext, Runtime, operation
from failsoft.metrics import PrometheusRecorder
from failsoft.tools.flux import Flux
from failsoft.tools.flux.signatures import FluxSettings

CLIENTS, CALLS_EACH = 20, 10
MEDIUM = ["cpd00027", "cpd00007", "cpd00001", "cpd00009", "cpd00013", "cpd00067"]
GROWTH = {"textbook": 0.8739, "iJO1366": 0.9824}
"""What each model grows at."""


class Hop(BaseTool):
    """Goes to a worker and back."""

    def __init__(self, flux: Flux) -> None:
        super().__init__(runtime=flux.runtime)
        self.workers = flux.workers

    @operation(read_only=True)
    async def hop(self, call: CallContext) -> int:
        """Return the process id of a worker."""
        return int(await self.workers.run(call, os.getpid))


class Contest:
    """The same models here and there."""

    def __init__(self, models: list[str]) -> None:
        runtime = Runtime(metrics=PrometheusRecorder())
        self.flux = Flux(runtime=runtime, settings=FluxSettings(preload=tuple(models), keep_count=1_000))
        self.hopper = Hop(self.flux)
        self.here = {name: cobra.io.load_model(name) for name in models}
        self.there: dict[str, str] = {}

    async def prepare(self) -> None:
        """Load the models there."""
        for name in self.here:
            self.there[name] = (await checked(self.flux, "load_model", {"name": name}))["model_id"]

    def bare(self, name: str) -> Any:
        """Return the contender that asks cobra."""

        async def contender(times: int) -> None:
            for _ in range(times):
                growth = self.here[name].optimize().objective_value
                require(growth, name)

        return contender

    def call(self, name: str) -> Any:
        """Return the contender that calls `run_fba`."""

        async def contender(times: int) -> None:
            for _ in range(times):
                answer = await checked(self.flux, "run_fba", {"model_id": self.there[name]})
                require(answer["growth_rate"], name)

        return contender

    async def hop(self, times: int) -> None:
        """Go to a worker and back."""
        for _ in range(times):
            await checked(self.hopper, "hop", {})

    async def crowd(self) -> list[float]:
        """Return the seconds of 200 calls that 20 clients make at once; every answer is checked."""
        name = next(iter(self.there))
        media = await checked(self.flux, "build_media", {"compounds": MEDIUM})
        calls: list[tuple[str, dict[str, Any]]] = [
            ("run_fba", {"model_id": self.there[name]}),
            ("run_fba", {"model_id": self.there[name], "objective": "ATPM"}),
            ("modify_model", {"model_id": self.there[name], "bounds": {"EX_glc__D_e": [-5, 1000]}}),
            ("export_model_json", {"model_id": self.there[name], "section": "genes", "limit": 10}),
            ("get_compound_name", {"compound_id": "cpd00027"}),
            ("list_media", {}),
            ("search_compounds", {"query": "glucose"}),
            ("run_fba", {"model_id": self.there[name], "media_id": media["media_id"]}),
        ]
        taken: list[float] = []

        async def client(number: int) -> None:
            for turn in range(CALLS_EACH):
                tool, given = calls[(number + turn) % len(calls)]
                began = time.perf_counter()
                await checked(self.flux, tool, given)
                taken.append(time.perf_counter() - began)

        await asyncio.gather(*(client(number) for number in range(CLIENTS)))
        return taken


async def checked(tool: BaseTool, name: str, given: dict[str, Any]) -> Any:
    """Return the data of an answer that has to be a success."""
    response = await tool.execute_with_error_handling(name, given)
    if not response.success:
        msg = f"{name}: {response.error.code}: {response.error.message}"
        raise SystemExit(msg)
    return response.data


def require(growth: float, name: str) -> None:
    """Refuse a wrong answer."""
    if abs(growth - GROWTH[name]) > 1e-3:
        msg = f"{name} grows at {growth}"
        raise SystemExit(msg)


@benchmark("The flux toolset and bare cobra", rounds=(60, 3), models=(["textbook", "iJO1366"], ["textbook"]))
async def measure(given: Any) -> list[Figure]:
    """Return the figures."""
    contest = Contest(given.models)
    figures: list[Figure] = []
    try:
        await contest.prepare()
        for name in given.models:
            contenders = {"bare": contest.bare(name), "call": contest.call(name), "hop": contest.hop}
            seconds = await interleave(contenders, rounds=given.rounds, times=5)
            over = [ours - theirs for ours, theirs in zip(seconds["call"], seconds["bare"], strict=True)]
            figures += [
                figure(f"{name}: cobra's optimize", ms(seconds["bare"]), "ms"),
                figure(f"{name}: run_fba", ms(seconds["call"]), "ms"),
                figure(f"{name}: run_fba over optimize", ms(over), "ms", goal="<= 5"),
                figure(f"{name}: to a worker and back", ms(seconds["hop"]), "ms"),
            ]
        crowds = [await contest.crowd() for _ in range(max(1, given.rounds // 10))]
        medians, slowest = [statistics.median(taken) for taken in crowds], [max(taken) for taken in crowds]
        figures.append(figure("200 mixed calls of 20 clients: median of a call", ms(medians), "ms"))
        figures.append(figure("200 mixed calls of 20 clients: slowest call", ms(slowest), "ms"))
    finally:
        await contest.flux.shutdown()
    return figures
