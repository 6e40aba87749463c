"""Models are loaded, changed, listed, exported and deleted by id; any replica makes them anew from their recipe."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from failsoft.events import Events
from failsoft.tools.flux import Flux
from tests.doors import FluxSettings, LocalState, SqliteBackend, Workers, open_state, work_module
from tests.programs.flux import IN_FLUX
from tests.tools.flux import tasks
from tests.tools.flux.lab import AEROBIC, Lab, kill, workers_of

pytestmark = IN_FLUX


def test_a_model_is_loaded_and_listed_with_its_size(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool)
    assert len(model_id) < 30
    answer = lab.call(tool, "list_models")
    assert answer["total"] == 1
    (model,) = answer["models"]
    assert (model["model_id"], model["name"]) == (model_id, "textbook")
    assert (model["num_reactions"], model["num_genes"], model["num_exchange_reactions"]) == (95, 137, 20)
    assert model["objective"] == "Biomass_Ecoli_core"


@pytest.mark.parametrize(
    ("name", "closest"),
    [("Textbook", "textbook"), ("ijo1366", "iJO1366"), ("Textbok", None), ("../x", None), ("iML1515", None)],
)
def test_an_unknown_name_is_refused_and_only_its_case_is_corrected(
    lab: Lab, tool: Flux, name: str, closest: str | None
) -> None:
    error = lab.call(tool, "load_model", {"name": name})
    assert (error["error_code"], error["effect"]) == ("MODEL_NOT_FOUND", "none")
    assert error["details"]["available_models"] == ["textbook", "iJO1366", "salmonella"]
    step = {"tool": "load_model", "arguments": {"name": closest}}
    assert error.get("next_step") == (step if closest else None)


def test_a_changed_model_is_a_new_one(lab: Lab, tool: Flux) -> None:
    parent = lab.loaded(tool)
    answer = lab.call(
        tool,
        "modify_model",
        {
            "model_id": parent,
            "remove_reactions": ["PGK"],
            "knock_out_genes": ["b0351"],
            "bounds": {"EX_glc__D_e": [-5, None], "ACALD": [0, 0]},
            "objective": "ATPM",
        },
    )
    assert (answer["parent"], answer["num_reactions"], answer["objective"]) == (parent, 94, "ATPM")
    exported = lab.call(tool, "export_model_json", {"model_id": answer["model_id"], "section": "reactions"})
    by_id = {item["id"]: item for item in exported["model"]["reactions"]}
    assert "PGK" not in by_id
    assert (by_id["EX_glc__D_e"]["lower_bound"], by_id["EX_glc__D_e"]["upper_bound"]) == (-5.0, None)
    assert (by_id["ACALD"]["lower_bound"], by_id["ACALD"]["upper_bound"]) == (0.0, 0.0)
    assert lab.call(tool, "run_fba", {"model_id": parent})["growth_rate"] == pytest.approx(0.8739, abs=1e-3)


def test_a_gene_that_is_knocked_out_takes_its_reactions_with_it(lab: Lab, tool: Flux) -> None:
    changed = lab.modified(tool, lab.loaded(tool), knock_out_genes=["b2779"])  # enolase, without a stand-in
    error = lab.call(tool, "run_fba", {"model_id": changed, "objective": "ENO"})
    assert error["error_code"] == "FBA_INFEASIBLE"


def test_all_unknown_ids_are_named_at_once_with_candidates_and_no_guess(lab: Lab, tool: Flux) -> None:
    error = lab.call(
        tool,
        "modify_model",
        {
            "model_id": lab.loaded(tool),
            "remove_reactions": ["PGI", "PG"],
            "knock_out_genes": ["b99999", "PFKA"],
            "bounds": {"EX_glc_D_e": [0, 1]},
            "objective": "Biomass",
        },
    )
    assert (error["error_code"], error["effect"]) == ("INVALID_PARAM", "none")
    named = {item["path"]: item.get("allowed", []) for item in error["violations"]}
    assert named.keys() == {
        "remove_reactions.1",
        "knock_out_genes.0",
        "knock_out_genes.1",
        "bounds.EX_glc_D_e",
        "objective",
    }
    assert (named["bounds.EX_glc_D_e"], named["objective"]) == (["EX_glc__D_e"], ["Biomass_Ecoli_core"])
    assert named["knock_out_genes.1"][:1] == ["pfkA"]
    assert named["knock_out_genes.0"] == [], "no gene is spelled like it"
    assert "next_step" not in error
    assert not any("suggestion" in item for item in error["violations"])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, "INVALID_PARAM"),
        ({"bounds": {"PGI": [1]}}, "INVALID_BOUNDS_FORMAT"),
        ({"bounds": {"PGI": ["low", 1]}}, "INVALID_BOUNDS_FORMAT"),
        ({"bounds": {"PGI": [2, 1]}}, "BOUNDS_OUT_OF_ORDER"),
        ({"remove_reactions": ["PGI"], "bounds": {"PGI": [0, 1]}}, "INVALID_PARAM"),
        ({"model_id": "model_x", "objective": "PGI"}, "MODEL_NOT_FOUND"),
    ],
)
def test_changes_that_mean_nothing_are_refused(lab: Lab, tool: Flux, changes: dict[str, Any], code: str) -> None:
    error = lab.call(tool, "modify_model", {"model_id": lab.loaded(tool), **changes})
    assert (error["error_code"], error["effect"]) == (code, "none")
    assert lab.call(tool, "list_models")["total"] == 1


def test_a_deleted_model_is_gone_for_good(lab: Lab, tool: Flux) -> None:
    kept, deleted = lab.loaded(tool), lab.loaded(tool)
    assert lab.call(tool, "delete_model", {"model_id": deleted})["name"] == "textbook"
    error = lab.call(tool, "run_fba", {"model_id": deleted})
    assert error["error_code"] == "MODEL_NOT_FOUND"
    assert (error["details"]["available_models"], error["details"]["num_available"]) == ([kept], 1)
    assert lab.call(tool, "delete_model", {"model_id": deleted})["error_code"] == "MODEL_NOT_FOUND"


def test_a_mistyped_handle_is_never_guessed(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool)
    error = lab.call(tool, "run_fba", {"model_id": model_id[:-1] + "_"})
    assert error["next_step"] == {"tool": "list_models", "arguments": {}}
    assert error["details"]["available_models"] == [model_id]


def test_lists_belong_to_their_caller_and_ids_to_every_holder(lab: Lab, tool: Flux) -> None:
    mine = lab.loaded(tool, principal="ada")
    assert len(mine) > 40
    assert lab.call(tool, "list_models", principal="eve")["total"] == 0
    assert lab.call(tool, "list_models", principal=None)["total"] == 0
    assert lab.call(tool, "list_models", principal="ada")["total"] == 1
    assert lab.call(tool, "run_fba", {"model_id": mine}, principal="eve")["success"]


def test_above_the_bound_the_oldest_is_dropped_with_a_warning(lab: Lab) -> None:
    tool = lab.tool(flux_keep_count=2)
    first, *others = [lab.loaded(tool) for _ in range(2)]
    answer = lab.call(tool, "load_model", {"name": "textbook"})
    assert any(first in warning for warning in answer["metadata"]["warnings"])
    listed = [item["model_id"] for item in lab.call(tool, "list_models")["models"]]
    assert listed == [*others, answer["model_id"]]
    assert lab.call(tool, "run_fba", {"model_id": first})["error_code"] == "MODEL_NOT_FOUND"


def test_a_small_model_is_exported_whole(lab: Lab, tool: Flux) -> None:
    answer = lab.call(tool, "export_model_json", {"model_id": lab.loaded(tool)})
    assert {name: len(answer["model"][name]) for name in ("reactions", "metabolites", "genes")} == {
        "reactions": 95,
        "metabolites": 72,
        "genes": 137,
    }
    assert "next_offset" not in answer


def test_what_does_not_fit_is_paged_and_the_pages_make_the_whole(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool)
    small = {"max_response_bytes": 40_000}
    error = lab.call(tool, "export_model_json", {"model_id": model_id}, **small)
    assert (error["error_code"], error["next_step"]["tool"]) == ("RESULT_TOO_LARGE", "export_model_json")
    given, found, pages = dict(error["next_step"]["arguments"]), [], 0
    while True:
        page = lab.call(tool, "export_model_json", given, **small)
        assert page["success"], page
        found += [item["id"] for item in page["model"]["reactions"]]
        pages += 1
        if "next_offset" not in page:
            break
        given["offset"] = page["next_offset"]
    assert (len(found), len(set(found))) == (95, 95)
    assert pages > 1


def test_another_replica_makes_the_same_model_from_the_shared_store(lab: Lab, tmp_path: Path) -> None:
    """And a worker that has forgotten a model, or has died, makes it anew from the recipe."""
    url = f"sqlite:{tmp_path / 'state.sqlite'}"  # whose connections, unlike those of Redis, belong to no event loop
    one, other = (lab.tool(state=open_state(url, Events(), prefix="flux", limit_s=60.0)) for _ in range(2))
    model_id = lab.loaded(one, principal="ada")
    changed = lab.modified(one, model_id, bounds={"EX_glc__D_e": [-5, 1000]})
    for process_id in workers_of(lab.workers):
        kill(process_id)
    answer = lab.call(other, "run_fba", {"model_id": changed})
    assert answer["growth_rate"] == pytest.approx(0.4156, abs=1e-3)
    assert [item["model_id"] for item in lab.call(other, "list_models", principal="ada")["models"]] == [model_id]


def test_a_worker_that_keeps_one_model_makes_the_others_anew(lab: Lab) -> None:
    workers = Workers(FluxSettings(workers=1, models_in_memory=1))
    tool = lab.tool(workers=workers)
    try:
        first = lab.loaded(tool)
        second = lab.modified(tool, first, bounds={"EX_glc__D_e": [-5, 1000]})

        async def in_turn() -> list[float]:
            answers = [await lab.called(tool, "run_fba", {"model_id": item}) for item in (first, second) * 2]
            return [answer["growth_rate"] for answer in answers]

        assert asyncio.run(in_turn()) == pytest.approx([0.8739, 0.4156] * 2, abs=1e-3)
    finally:
        workers.close()


def test_genes_are_knocked_out_by_name(lab: Lab, tool: Flux) -> None:
    model_id = lab.loaded(tool)
    by_name = lab.modified(tool, model_id, knock_out_genes=["eno"])
    exported = lab.call(tool, "export_model_json", {"model_id": by_name})["model"]
    (enolase,) = [item for item in exported["reactions"] if item["id"] == "ENO"]
    assert (enolase["lower_bound"], enolase["upper_bound"]) == (0, 0)


def test_models_and_media_outlive_the_process_in_a_durable_store(lab: Lab, tmp_path: Path) -> None:
    def opened() -> Flux:
        return lab.tool(state=LocalState(records=SqliteBackend(tmp_path / "state.sqlite")))

    async def first() -> tuple[str, str]:
        tool = opened()
        model = await lab.called(tool, "load_model", {"name": "textbook"})
        media = await lab.called(tool, "build_media", {"compounds": AEROBIC})
        await tool.runtime.state.close()
        return model["model_id"], media["media_id"]

    async def second(model_id: str, media_id: str) -> dict[str, Any]:
        tool = opened()
        answer = await lab.called(tool, "run_fba", {"model_id": model_id, "media_id": media_id})
        await tool.runtime.state.close()
        return answer

    assert asyncio.run(second(*asyncio.run(first())))["growth_rate"] > 0.8


def test_a_computation_that_crashes_has_stored_no_model(lab: Lab, tool: Flux, monkeypatch: pytest.MonkeyPatch) -> None:
    model_id = lab.loaded(tool)
    monkeypatch.setattr(work_module, "change_model", tasks.crash)
    error = lab.call(tool, "modify_model", {"model_id": model_id, "knock_out_genes": ["b0720"]})
    assert (error["error_code"], error["effect"]) == ("UNKNOWN_ERROR", "none")
    assert lab.call(tool, "list_models")["total"] == 1
