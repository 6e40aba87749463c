"""What the tests of the toolset share: toolsets with one set of workers, and calls as a server makes them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from failsoft import Runtime
from failsoft.tools.flux import Flux
from tests.doors import LOCAL_PRINCIPAL, CallScope, LocalState, ModelStore, ReferenceData, StateStore, Workers
from tests.framework.wellformed import check_wellformed
from tests.tools.chosen import chosen
from tests.zygote import program_of

__all__ = ["AEROBIC", "Lab", "children", "until"]

PATIENCE_S = 60.0
AEROBIC = ["cpd00027", "cpd00007", "cpd00001", "cpd00009", "cpd00013", "cpd00067"]
"""Glucose, oxygen, water, phosphate, ammonium, protons: all that the textbook model needs."""


class Lab:
    """Toolsets that share their workers, since starting those is what costs time."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self._made: dict[tuple[type[Flux], str], Flux] = {}

    def tool(
        self, kind: type[Flux] = Flux, *, state: StateStore | None = None, workers: Workers | None = None, **given: Any
    ) -> Flux:
        """Return a toolset with these settings and without models; the settings of the workers are their own.

        Making one takes 60 ms. So the one that was returned before is used again, with other settings and parts.
        """
        general, own = chosen(kind, given)
        tool = None if state or workers else self._made.get((kind, repr(general)))
        if tool is None:
            tool = kind(runtime=Runtime(settings=general, state=state), settings=own)
            tool.workers = workers or self.workers
        if not (state or workers):
            self._made[kind, repr(general)] = tool
            tool.settings = own
            tool.models = ModelStore(LocalState().records(tool), keep_s=own.keep_s, at_most=own.keep_count)
            tool.reference_data = ReferenceData(own)
        return tool

    def call(self, tool: Flux, operation: str, params: dict[str, Any] | None = None, **scope: Any) -> dict[str, Any]:
        """Return the answer to one call, after every check that a client could make."""
        return asyncio.run(self.called(tool, operation, params, **scope))

    async def called(
        self, tool: Flux, operation: str, params: dict[str, Any] | None = None, **scope: Any
    ) -> dict[str, Any]:
        """Return the same where an event loop runs already."""
        bound = tool.operations[operation]
        facts = {"max_response_bytes": 1_000_000, "toolbox": tool.toolbox, "principal": LOCAL_PRINCIPAL, **scope}
        return check_wellformed(await bound.call(params or {}, CallScope(**facts)), bound)

    def loaded(self, tool: Flux, name: str = "textbook", **scope: Any) -> str:
        """Return the id of a published model."""
        answer = self.call(tool, "load_model", {"name": name}, **scope)
        assert answer["success"], answer
        model_id: str = answer["model_id"]
        return model_id

    def read(self, tool: Flux, model: Any) -> str:
        """Return the id of a model of COBRApy that is written below the root of a toolset, and loaded from there."""
        from cobra.io import write_sbml_model  # noqa: PLC0415 - it takes more than a second, for some tests alone

        (root,) = tool.roots
        write_sbml_model(model, str(root / "own.xml"))
        answer = self.call(tool, "load_model", {"path": "own.xml"})
        assert answer["success"], answer
        model_id: str = answer["model_id"]
        return model_id

    def fed(self, tool: Flux, compounds: Iterable[str] = AEROBIC, **bounds: list[float]) -> str:
        """Return the id of a medium; every compound may come in at 10 unless something else is said."""
        given = {"compounds": list(compounds), "default_uptake": 10.0, "custom_bounds": bounds}
        answer = self.call(tool, "build_media", given)
        assert answer["success"], answer
        media_id: str = answer["media_id"]
        return media_id

    def modified(self, tool: Flux, model_id: str, **changes: Any) -> str:
        """Return the id of a changed copy of a model."""
        answer = self.call(tool, "modify_model", {"model_id": model_id, **changes})
        assert answer["success"], answer
        changed_id: str = answer["model_id"]
        return changed_id


def children(process_id: int) -> list[int]:
    """Return the process ids of the children of a process."""
    try:
        return [int(item) for item in Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()]
    except OSError:
        return []


def until(holds: Callable[[], Any], what: str) -> Any:
    """Wait for a condition and return what it gave; the test fails if it never holds."""
    end = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.005)
    return found


def is_running(process_id: int) -> bool:
    """Return whether there is such a process that is not a zombie."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def workers_of(workers: Workers) -> list[int]:
    """Return the process ids of the workers that run."""
    fork_server = workers._processes._fork_server._process
    return [] if fork_server is None else [item for item in children(program_of(fork_server.pid)) if is_running(item)]


def kill(process_id: int) -> None:
    """End a process as the kernel does when memory is short."""
    os.kill(process_id, 9)
