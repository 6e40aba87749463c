"""What is stored of a model is read when the model is used, and stored once however often it is changed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.doors import Held, LocalState, SqliteBackend, Write
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX

CHANGES = 4


class Counting(SqliteBackend):
    """A store that counts the bytes of JSON that are read and written."""

    read_bytes = 0
    written_bytes = 0

    async def read(self, key: str) -> Held:
        held = await super().read(key)
        self.read_bytes += len(json.dumps(held.value))
        return held

    async def find(self, prefix: str) -> Any:
        found = await super().find(prefix)
        self.read_bytes += sum(len(json.dumps(record.value)) for record in found)
        return found

    async def swap(self, key: str, version: str, write: Write) -> Held | None:
        self.written_bytes += len(json.dumps(write.value))
        return await super().swap(key, version, write)


async def of_a_file_and_its_changes(lab: Lab, tool: Flux, store: Counting) -> tuple[int, int, int]:
    """Return the bytes written for a file's model and for changed copies of it, and those read to list them all."""
    loaded = await lab.called(tool, "load_model", {"path": "own.json"})
    of_file = store.written_bytes
    for number in range(CHANGES):
        changes = {"model_id": loaded["model_id"], "bounds": {"PGI": [-number, 1000]}}
        assert (await lab.called(tool, "modify_model", changes))["success"]
    of_copies, before = store.written_bytes - of_file, store.read_bytes
    listed = await lab.called(tool, "list_models")
    assert listed["total"] == 1 + CHANGES
    of_list = store.read_bytes - before
    await tool.runtime.state.close()
    return of_file, of_copies, of_list


@pytest.fixture
def sizes(lab: Lab, tmp_path: Path) -> tuple[int, int, int]:
    from cobra.io import save_json_model  # noqa: PLC0415 - COBRApy takes more than a second, for these tests alone

    from failsoft import Runtime  # noqa: PLC0415 - beside it

    (tmp_path / "root").mkdir()
    save_json_model(textbook(), str(tmp_path / "root" / "own.json"))
    store = Counting(tmp_path / "state.sqlite")
    tool = Flux(root=tmp_path / "root", runtime=Runtime(state=LocalState(records=store)))
    tool.workers = lab.workers
    return asyncio.run(of_a_file_and_its_changes(lab, tool, store))


def test_listing_models_does_not_read_the_models(sizes: tuple[int, int, int]) -> None:
    of_file, _, of_list = sizes
    assert of_list < of_file


def test_a_changed_copy_of_a_model_does_not_store_the_whole_model_again(sizes: tuple[int, int, int]) -> None:
    of_file, of_copies, _ = sizes
    assert of_copies < of_file
