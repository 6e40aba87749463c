"""Models are built from proteins, and whatever cannot be is refused in the order of the seed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from failsoft.tools.flux import Flux
from tests.doors import FluxSettings, ReferenceData, diamond_search as search, rast_module, template_universe
from tests.ports import reserved_ports
from tests.programs.flux import IN_FLUX
from tests.programs.rast import RastServer
from tests.tools.flux.lab import Lab, is_running, until
from tests.tools.flux.small_data import FUNCTIONS, proteins_of_textbook, small_carveme, small_modelseedpy

pytestmark = IN_FLUX

SOUND = {"b0002": "MRVLKFGGTSVANAERFLRVADILESNARQGQVATVLSAPAKITNHLVAM"}


@pytest.fixture(scope="module")
def carveme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_carveme(tmp_path_factory.mktemp("carveme"))


@pytest.fixture
def with_modelseedpy(lab: Lab, tmp_path: Path, rast: RastServer) -> Flux:
    """A toolset with a template of ModelSEEDpy, RAST, and a Python without ModelSEEDpy."""
    return lab.tool(**modelseedpy(tmp_path, rast, Path(sys.executable)))


def modelseedpy(folder: Path, rast: RastServer, python: Path) -> dict[str, Any]:
    """Return the settings of a toolset that builds by ModelSEEDpy."""
    rast.functions = dict.fromkeys(SOUND, "Kinase")
    templates = small_modelseedpy(folder)
    return {
        "flux_modelseedpy_templates": templates,
        "flux_modelseedpy_python": python,
        "flux_rast_url": rast.url,
    }


def build(lab: Lab, tool: Flux, sequences: Any, template: str = "GramNegative", **more: Any) -> dict[str, Any]:
    return lab.call(tool, "build_model", {"protein_sequences": sequences, "template": template, **more})


def test_no_sequences_are_refused(lab: Lab, tool: Flux) -> None:
    error = build(lab, tool, {}, "no such template")
    assert error["error_code"] == "EMPTY_PROTEIN_SEQUENCES"
    assert error["jsonrpc_error_code"] == -32000


def test_every_bad_sequence_is_named_with_the_places_in_it(lab: Lab, tool: Flux) -> None:
    given = {"a": "MKV*", "b": "", "c d": "MKV", "d": "mkv", "e": "MXKBB1UZJ", "f": "MKV", "g": "M*K", "or": "MKV"}
    error = build(lab, tool, given)
    assert error["error_code"] == "INVALID_PROTEIN_SEQUENCES"
    details = error["details"]
    assert (details["total_sequences"], details["total_invalid"], details["valid_sequences"]) == (8, 5, ["a", "d", "f"])
    said = details["invalid_sequences"]
    assert said["b"] == "Empty sequence"
    assert "position 2" in said["g"]
    assert [f"position {place}" in said["e"] for place in (2, 4, 5, 6, 8)] == [True] * 5
    assert list(said) == ["c d", "or", "b", "e", "g"]  # ids are judged before sequences
    assert {item["path"] for item in error["violations"]} == {f"protein_sequences.{name}" for name in said}


def test_all_faults_come_at_once_and_sequences_before_the_template(lab: Lab, tool: Flux) -> None:
    error = build(lab, tool, {"a": "MK1"}, "GramNegativ")
    assert error["error_code"] == "INVALID_PROTEIN_SEQUENCES"
    assert [item["path"] for item in error["violations"]] == ["protein_sequences.a", "template"]


def test_an_unknown_template_is_refused_with_the_closest(lab: Lab, tool: Flux) -> None:
    error = build(lab, tool, SOUND, "gram-negative")
    assert error["error_code"] == "INVALID_TEMPLATE_NAME"
    assert error["details"]["closest"] == "GramNegative"
    assert {"GramNegative", "GramPositive", "Core"} <= set(error["details"]["allowed_templates"])
    assert any("GramNegative" in text for text in error["suggestions"])


def test_without_data_the_template_is_not_loaded(lab: Lab, tmp_path: Path) -> None:
    tool = lab.tool(flux_templates=(str(tmp_path),))
    for more in ({}, {"annotate_with_rast": True}):
        error = build(lab, tool, SOUND, **more)
        assert (error["error_code"], error["effect"]) == ("TEMPLATE_NOT_LOADED", "none")
        assert error["details"]["missing"]
        assert error["next_step"]["tool"] == "load_model"
        assert "again" not in error["message"]  # building again would fail again


def test_without_diamond_the_template_is_not_loaded(lab: Lab, carveme: Path, tmp_path: Path) -> None:
    tool = lab.tool(flux_templates=(str(carveme),), flux_diamond=str(tmp_path / "diamond"))
    error = build(lab, tool, SOUND)
    assert error["error_code"] == "TEMPLATE_NOT_LOADED"
    assert error["details"]["missing"] == ["the program diamond"]


def test_a_template_that_other_data_have_is_distinguished(lab: Lab, carveme: Path) -> None:
    error = build(lab, lab.tool(flux_templates=(str(carveme),)), SOUND, "Core")
    assert error["error_code"] == "TEMPLATE_NOT_LOADED"
    assert "GramNegative" in error["details"]["loaded_templates"]


def test_proteins_become_the_reactions_that_proteins_like_them_bring(lab: Lab, carveme: Path) -> None:
    proteins = proteins_of_textbook()
    del proteins["b2779"]  # enolase
    del proteins["b0116"]  # the subunit that two complexes share
    tool = lab.tool(flux_templates=(str(carveme),))
    built = build(lab, tool, proteins, model_name="small")
    assert (built["source"], built["template"], built["name"]) == ("carveme", "GramNegative", "small")
    assert built["objective"] == "Biomass_Ecoli_core"
    assert built["growth_on_complete_medium"] > 1
    exported = lab.call(tool, "export_model_json", {"model_id": built["model_id"], "section": "reactions"})
    rules = {item["id"]: item["gene_reaction_rule"] for item in exported["model"]["reactions"]}
    assert not {"ENO", "PDH", "AKGDH"} & set(rules)
    in_rules = set(" ".join(rules.values()).replace("(", "").replace(")", "").split()) - {"and", "or"}
    not_whole = {"b0114", "b0115", "b0726", "b0727"}  # the other parts of those two complexes
    not_needed = {"b0451", "b0875", "b2579", "b3739"}  # where another way needs no gene, or fewer
    assert in_rules == set(proteins) - not_whole - not_needed
    assert built["num_genes"] == len(in_rules)
    assert rules["PFK"] == "b1723 or b3916"
    assert rules["SUCDi"] == "b0721 and b0722 and b0723 and b0724"
    assert rules["EX_glc__D_e"] == ""


def test_a_draft_grows_once_its_gaps_are_filled(lab: Lab, carveme: Path) -> None:
    proteins = {name: text for name, text in proteins_of_textbook().items() if name != "b2779"}
    tool = lab.tool(flux_templates=(str(carveme),))
    draft = build(lab, tool, proteins)["model_id"]
    media = lab.fed(tool)
    refused = lab.call(tool, "run_fba", {"model_id": draft, "media_id": media})
    assert refused["next_step"] == {"tool": "gapfill_model", "arguments": {"model_id": draft, "media_id": media}}
    filled = lab.call(tool, "gapfill_model", {"model_id": draft, "media_id": media, "target_growth": 0.5})
    assert filled["universe"] == "carveme"
    assert 1 <= filled["num_reactions_added"] <= 5
    grown = lab.call(tool, "run_fba", {"model_id": filled["model_id"], "media_id": media})
    assert grown["growth_rate"] == pytest.approx(filled["growth_rate"], abs=1e-4)
    assert grown["growth_rate"] >= 0.5


def test_ids_of_rast_survive_in_gene_rules(lab: Lab, carveme: Path) -> None:
    proteins = {f"fig|1.1.peg.{name}": text for name, text in list(proteins_of_textbook().items())[:20]}
    tool = lab.tool(flux_templates=(str(carveme),))
    built = build(lab, tool, proteins)
    exported = lab.call(tool, "export_model_json", {"model_id": built["model_id"], "section": "genes"})
    genes = {gene["id"] for gene in exported["model"]["genes"]}
    assert len(genes) > 15
    assert {gene.replace("fig_", "fig|") for gene in genes} < set(proteins)


def test_odd_lengths_are_warned_of(lab: Lab, carveme: Path) -> None:
    odd = {**proteins_of_textbook(), "tiny": "MKV", "giant": "MKVLA" * 2_001}
    built = build(lab, lab.tool(flux_templates=(str(carveme),)), odd)
    said = [text for text in built["metadata"]["warnings"] if "residues" in text]
    assert len(said) == 2
    assert "tiny" in said[0]
    assert "giant" in said[1]


def test_a_draft_whose_universe_is_gone_cannot_be_gapfilled(lab: Lab, carveme: Path, tmp_path: Path) -> None:
    tool = lab.tool(flux_templates=(str(carveme),))
    built = build(lab, tool, proteins_of_textbook())
    media = lab.fed(tool)
    tool.reference_data = ReferenceData(FluxSettings(templates=(str(tmp_path),)))
    error = lab.call(tool, "gapfill_model", {"model_id": built["model_id"], "media_id": media})
    assert (error["error_code"], error["effect"]) == ("TEMPLATE_NOT_LOADED", "none")
    assert error["details"]["missing"] == ["the data of carveme"]


def test_rast_gives_the_functions_that_modelseedpy_needs(with_modelseedpy: Flux, lab: Lab, rast: RastServer) -> None:
    error = build(lab, with_modelseedpy, SOUND, annotate_with_rast=True)
    assert error["error_code"] == "MODELSEEDPY_ERROR"
    probe, question = rast.asked
    assert probe["params"] == []
    assert {item["id"] for item in question["params"][0]["features"]} == set(SOUND)


def test_proteins_that_rast_hardly_knows_are_refused(with_modelseedpy: Flux, lab: Lab, rast: RastServer) -> None:
    rast.functions = {}
    error = build(lab, with_modelseedpy, SOUND, annotate_with_rast=True)
    assert error["error_code"] == "INVALID_PROTEIN_SEQUENCES"
    assert (error["details"]["recognized"], error["details"]["recognized_share"]) == (0, 0.0)


@pytest.mark.parametrize(
    ("status", "body"), [(500, b"oops"), (200, b"<html>"), (200, b'{"error": {"message": "no"}}'), (503, b"")]
)
def test_rast_that_fails_is_unavailable(
    with_modelseedpy: Flux, lab: Lab, rast: RastServer, status: int, body: bytes
) -> None:
    rast.status, rast.body = status, body
    error = build(lab, with_modelseedpy, SOUND, annotate_with_rast=True)
    assert (error["error_code"], error["effect"]) == ("RAST_UNAVAILABLE", "none")


def test_rast_that_is_slow_or_down_is_unavailable(
    lab: Lab, tmp_path: Path, rast: RastServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = modelseedpy(tmp_path, rast, Path(sys.executable))
    monkeypatch.setattr(rast_module, "_PROBE_S", 0.2)
    rast.gate.clear()
    assert build(lab, lab.tool(**settings), SOUND, annotate_with_rast=True)["error_code"] == "RAST_UNAVAILABLE"
    with reserved_ports(1) as (port,):
        tool = lab.tool(**{**settings, "flux_rast_url": f"http://127.0.0.1:{port}/"})
        assert build(lab, tool, SOUND, annotate_with_rast=True)["error_code"] == "RAST_UNAVAILABLE"


def test_everything_that_annotation_lacks_is_named_where_the_proteins_would_do(lab: Lab, carveme: Path) -> None:
    proteins = dict([*proteins_of_textbook().items()][:5])
    tool = lab.tool(flux_templates=(str(carveme),), flux_modelseedpy_python=carveme / "python")
    error = build(lab, tool, proteins, annotate_with_rast=True)
    assert error["error_code"] == "RAST_UNAVAILABLE"
    parts = ("ModelSEEDpy", "the template 'GramNegative' of ModelSEEDpy", "a RAST service")
    assert all(part in error["details"]["reason"] for part in parts)
    assert lab.call(tool, error["next_step"]["tool"], error["next_step"]["arguments"])["success"]


def test_a_template_that_is_built_from_functions_asks_for_annotation(
    lab: Lab, tmp_path: Path, rast: RastServer
) -> None:
    settings = modelseedpy(tmp_path, rast, Path(sys.executable))
    (tmp_path / "Own.json").write_text("{}")
    error = build(lab, lab.tool(**settings), SOUND, "Own")
    assert (error["error_code"], error["violations"][0]["path"]) == ("INVALID_PARAM", "annotate_with_rast")
    assert error["violations"][0]["suggestion"] is True


def test_modelseedpy_that_fails_says_at_what(lab: Lab, with_modelseedpy: Flux) -> None:
    error = build(lab, with_modelseedpy, SOUND, annotate_with_rast=True)
    assert (error["error_code"], error["error_type"]) == ("MODELSEEDPY_ERROR", "library_error")
    details = error["details"]
    assert (details["library"], details["template_requested"]) == ("ModelSEEDpy", "GramNegative")
    if find_spec("modelseedpy") is None:
        assert (details["operation"], details["exception_type"]) == ("import modelseedpy", "ModuleNotFoundError")


def test_modelseedpy_builds_from_a_template_that_it_is_given(lab: Lab, tmp_path: Path, rast: RastServer) -> None:
    python = os.environ.get("FLUX_MODELSEEDPY_PYTHON", "")
    if not python and find_spec("modelseedpy") is None:
        pytest.skip("ModelSEEDpy is not installed (nor is FLUX_MODELSEEDPY_PYTHON a Python that has it)")
    tool = lab.tool(**modelseedpy(tmp_path, rast, Path(python or sys.executable)))
    rast.functions = FUNCTIONS
    built = build(lab, tool, dict.fromkeys(FUNCTIONS, "MKV"), annotate_with_rast=True)
    assert (built["source"], built["objective"]) == ("modelseedpy", "bio1")
    exported = lab.call(tool, "export_model_json", {"model_id": built["model_id"], "section": "reactions"})
    rules = {item["id"]: item["gene_reaction_rule"] for item in exported["model"]["reactions"]}
    assert (rules["rxn00001_c0"], rules["rxn00003_c0"]) == ("fig_1.1.peg.1", "fig_1.1.peg.3")
    gappy = lab.modified(tool, built["model_id"], remove_reactions=["rxn00003_c0"])
    filled = lab.call(tool, "gapfill_model", {"model_id": gappy, "media_id": lab.fed(tool)})
    assert [item["id"] for item in filled["reactions_added"]] == ["rxn00003_c0"]
    assert filled["universe"] == "modelseedpy"


def test_the_reactions_of_a_template_of_modelseedpy_are_a_universe(tmp_path: Path) -> None:
    universe = template_universe(small_modelseedpy(tmp_path) / "GramNegative.json")
    assert universe.exchanges == {"cpd00027_e0": "EX_cpd00027_e0"}
    step = universe.reactions["rxn00003_c0"]
    assert (step.coefficients, step.low, step.high) == ({"cpd00027_c0": -1.0, "cpd00035_c0": 2.0}, 0.0, 1_000.0)


def test_sequences_stay_out_of_logs_and_answers(lab: Lab, carveme: Path) -> None:
    secret = "MWWWYYYCCCHHHMWWWYYYCCCHHH"
    lines: list[str] = []
    logger.enable("failsoft")
    sink = logger.add(lambda message: lines.append(str(message) + str(message.record)), level="TRACE")
    try:
        tool = lab.tool(flux_templates=(str(carveme),), environment="development")
        answers = [
            build(lab, tool, {"a": secret}),
            build(lab, tool, {"a": secret + "X"}),
            build(lab, tool, {"a": secret}, "x"),
        ]
    finally:
        logger.remove(sink)
        logger.disable("failsoft")
    assert lines
    assert secret not in "".join(lines)
    assert secret not in json.dumps([{k: v for k, v in item.items() if k != "next_step"} for item in answers])


def test_diamond_ends_with_the_call(lab: Lab, carveme: Path, tmp_path: Path) -> None:
    slow = tmp_path / "diamond"
    slow.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    slow.chmod(0o755)
    tool = lab.tool(flux_templates=(str(carveme),), flux_diamond=str(slow))

    async def cancelled() -> int:
        call = asyncio.create_task(
            lab.called(tool, "build_model", {"protein_sequences": SOUND, "template": "GramNegative"})
        )
        started = tmp_path / "pid"
        await asyncio.to_thread(until, lambda: started.exists() and started.read_text().strip(), "the start of diamond")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return int((tmp_path / "pid").read_text())

    process_id = asyncio.run(cancelled())
    until(lambda: not is_running(process_id), "the end of diamond")


def test_diamond_that_fails_is_an_upstream_error(lab: Lab, carveme: Path, tmp_path: Path) -> None:
    broken = tmp_path / "diamond"
    broken.write_text("#!/bin/sh\necho no such database >&2\nexit 1\n")
    broken.chmod(0o755)
    error = build(lab, lab.tool(flux_templates=(str(carveme),), flux_diamond=str(broken)), SOUND)
    assert (error["error_code"], error["effect"]) == ("UPSTREAM_ERROR", "none")


def test_diamond_that_takes_too_long_is_killed(carveme: Path, tmp_path: Path) -> None:
    slow = tmp_path / "diamond"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    with pytest.raises(TimeoutError):
        search(SOUND, carveme, program=str(slow), limit_s=0.2)
