"""How long models live, and that the packed base of a model is stored once for all copies that a caller makes of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from failsoft import Runtime
from failsoft.tools.flux import Flux
from tests.doors import FluxSettings, LocalState, MemoryBackend, SqliteBackend
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX

KEEP_S = 1_000.0


class Clock:
    """The time of the store."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Stored:
    """A toolset with a file to load, and its records."""

    def __init__(self, lab: Lab, root: Path, quota_bytes: int = 10_000_000) -> None:
        self.clock = Clock()
        self.records = MemoryBackend(self.clock)
        state = LocalState(self.clock, records=self.records, quota_bytes=quota_bytes)
        self.lab = lab
        self.tool = Flux(root=root, runtime=Runtime(state=state), settings=FluxSettings(keep_s=KEEP_S, keep_count=3))
        self.tool.workers = lab.workers

    def call(self, operation: str, principal: str = "ada", **arguments: Any) -> dict[str, Any]:
        return self.lab.call(self.tool, operation, arguments, principal=principal)

    def loaded(self) -> str:
        return str(self.call("load_model", path="own.json")["model_id"])

    def copied(self, model_id: str, principal: str = "ada") -> str:
        changes = {"model_id": model_id, "bounds": {"PGI": [-1, 1000]}}
        return str(self.call("modify_model", principal, **changes)["model_id"])

    def grows(self, model_id: str) -> bool:
        return bool(self.call("run_fba", model_id=model_id)["success"])

    @property
    def bases(self) -> int:
        """The number of bases that are stored."""
        found = asyncio.run(self.records.find(""))
        return sum("/flux-model-base:" in item.key for item in found)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    from cobra.io import save_json_model  # noqa: PLC0415 - COBRApy takes more than a second, for these tests alone

    save_json_model(textbook(), str(tmp_path / "own.json"))
    return tmp_path


@pytest.fixture
def stored(lab: Lab, root: Path) -> Stored:
    return Stored(lab, root)


def test_a_model_lives_for_the_time_that_the_settings_say_however_often_it_is_used(stored: Stored) -> None:
    model_id = stored.loaded()
    medium = stored.call("build_media", compounds=["cpd00027"])["media_id"]
    stored.clock.now = KEEP_S - 1
    assert stored.grows(model_id)
    assert stored.call("list_media")["total"] == 5
    stored.clock.now = KEEP_S + 1
    assert stored.call("run_fba", model_id=model_id)["error_code"] == "MODEL_NOT_FOUND"
    assert stored.call("delete_media", media_id=medium)["error_code"] == "MEDIA_NOT_FOUND"
    assert stored.call("list_models")["total"] == 0
    assert stored.call("list_media")["total"] == 4


def test_a_base_is_stored_once_and_lives_as_long_as_the_last_copy_that_needs_it(stored: Stored) -> None:
    parent = stored.loaded()
    stored.clock.now = KEEP_S - 1
    first = stored.copied(parent)
    stored.clock.now = 2 * KEEP_S - 2
    second = stored.copied(first)
    assert stored.call("run_fba", model_id=parent)["error_code"] == "MODEL_NOT_FOUND"
    assert stored.grows(first)
    stored.clock.now = 3 * KEEP_S - 3
    assert stored.grows(second)
    assert not stored.grows(first)
    assert stored.bases == 1


def test_a_base_outlives_the_model_that_it_came_with(stored: Stored) -> None:
    parent = stored.loaded()
    copy = stored.copied(parent)
    assert stored.bases == 1
    assert stored.call("delete_model", model_id=parent)["success"]
    assert stored.grows(copy)
    assert stored.call("delete_model", model_id=copy)["success"]
    assert stored.bases == 0


def test_the_oldest_model_leaves_its_base_to_its_copies(stored: Stored) -> None:
    parent = stored.loaded()
    copies = [stored.copied(parent) for _ in range(3)]
    assert not stored.grows(parent)
    assert all(map(stored.grows, copies))


def test_a_caller_who_copies_the_model_of_another_has_a_base_of_its_own(stored: Stored) -> None:
    parent = stored.loaded()
    copy = stored.copied(parent, "bob")
    assert stored.bases == 2
    assert stored.call("delete_model", "bob", model_id=parent)["success"]
    assert stored.grows(copy)
    assert stored.call("delete_model", "bob", model_id=copy)["success"]
    stored.clock.now = KEEP_S + 100
    assert stored.loaded()
    assert stored.bases == 1


def test_copies_count_against_the_quota_without_their_base(stored: Stored) -> None:
    parent = stored.loaded()
    used = stored.records.most_used()
    assert [stored.copied(parent) for _ in range(2)]
    assert stored.records.most_used() < 2 * used


def test_a_model_that_the_quota_has_no_space_for_leaves_nothing_behind(lab: Lab, root: Path) -> None:
    small = Stored(lab, root, quota_bytes=1_000)
    assert small.call("load_model", path="own.json")["error_code"] == "QUOTA_EXHAUSTED"
    assert small.call("list_models")["total"] == 0
    assert small.records.most_used() == 0


def test_models_made_at_the_same_time_share_one_base(stored: Stored) -> None:
    async def several() -> list[dict[str, Any]]:
        arguments = {"path": "own.json"}
        calls = (stored.lab.called(stored.tool, "load_model", arguments, principal="ada") for _ in range(3))
        return list(await asyncio.gather(*calls))

    made = [item["model_id"] for item in asyncio.run(several())]
    assert all(map(stored.grows, made))
    assert stored.bases == 1


def test_a_copy_that_is_made_while_its_parent_is_deleted_is_complete_or_refused(lab: Lab, root: Path) -> None:
    tool = Flux(root=root, runtime=Runtime(state=LocalState(records=SqliteBackend(root / "state.sqlite"))))
    tool.workers = lab.workers

    async def race(turns: int) -> set[bool]:
        done = set()
        for _ in range(turns):
            parent = (await lab.called(tool, "load_model", {"path": "own.json"}))["model_id"]
            changes = {"model_id": parent, "bounds": {"PGI": [-1, 1000]}}
            copy, deleted, again = await asyncio.gather(
                lab.called(tool, "modify_model", changes),
                lab.called(tool, "delete_model", {"model_id": parent}),
                lab.called(tool, "load_model", {"path": "own.json"}),
            )
            assert deleted["success"]
            assert copy["success"] or copy["error_code"] == "MODEL_NOT_FOUND"
            for made in (copy, again):
                if made["success"]:
                    assert (await lab.called(tool, "run_fba", {"model_id": made["model_id"]}))["success"]
                    assert (await lab.called(tool, "delete_model", {"model_id": made["model_id"]}))["success"]
            done.add(copy["success"])
        await tool.runtime.state.close()
        return done

    assert asyncio.run(race(3))
