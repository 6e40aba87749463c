"""Proteins are judged alike wherever they come from: their number, their letters, and where a fault is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import proteins_of_textbook, small_carveme

pytestmark = IN_FLUX

AT_MOST = 30_000
"""Proteins of one call."""
DNA = "ATGCGAGTGTTGAAGTTCGGCGGTACATCAGTGGCAAATGCAGAACGTTTTCTGCGTGTTGCCGATATTCTGGAAAGCAATGCC"
"""The beginning of thrA."""


def from_fasta(lab: Lab, tool: Flux, text: str, **more: Any) -> dict[str, Any]:
    """Return the answer for the proteins of a file."""
    (root,) = tool.roots
    (root / "proteins.faa").write_text(text)
    return lab.call(tool, "build_model", {"fasta_path": "proteins.faa", "template": "GramNegative", **more})


@pytest.mark.parametrize("is_file", [True, False], ids=["fasta", "arguments"])
def test_nucleotides_are_no_proteins(lab: Lab, rooted: Flux, *, is_file: bool) -> None:
    genes = {f"gene{number}": DNA * 5 for number in range(3)}
    if is_file:
        error = from_fasta(lab, rooted, "".join(f">{name}\n{text}\n" for name, text in genes.items()))
    else:
        error = lab.call(rooted, "build_model", {"protein_sequences": genes, "template": "GramNegative"})
    assert error["error_code"] == "INVALID_PROTEIN_SEQUENCES"


def test_a_fasta_file_may_not_hold_more_proteins_than_arguments_may(lab: Lab, rooted: Flux) -> None:
    error = from_fasta(lab, rooted, "".join(f">p{number}\nMKVLAAGIVG\n" for number in range(AT_MOST + 1)))
    assert (error["success"], error["error_type"]) == (False, "validation_error")


def test_too_many_proteins_are_not_called_none(lab: Lab, rooted: Flux) -> None:
    given = {f"p{number}": "MKVLAAGIVG" for number in range(AT_MOST + 1)}
    error = lab.call(rooted, "build_model", {"protein_sequences": given, "template": "GramNegative"})
    assert error["success"] is False
    assert error["error_code"] != "EMPTY_PROTEIN_SEQUENCES"


def test_a_fault_in_a_fasta_file_names_the_file_and_the_record(lab: Lab, rooted: Flux) -> None:
    error = from_fasta(lab, rooted, ">b0001\nMKV\n>b0002\nMK1V\n")
    assert error["error_code"] == "INVALID_PROTEIN_SEQUENCES"
    shown = json.dumps(error)
    assert ("proteins.faa" in shown, "b0002" in shown) == (True, True)
    assert not any(item["path"].startswith("protein_sequences") for item in error.get("violations", ()))


def test_each_fault_in_a_fasta_file_has_the_line_of_the_residue(lab: Lab, rooted: Flux) -> None:
    error = from_fasta(lab, rooted, ">b0001\nMKV\nMXV\n;comment\n\nMK1V\n>b0002\n>b0003\nMKV\n")
    assert [item["line"] for item in error["violations"]] == [3, 7]
    assert error["details"]["valid_sequences"] == ["b0003"]
    assert error["next_step"]["arguments"]["skip_invalid"] is True


@pytest.mark.parametrize("peptide", ["GAGAGAGAGA", "ACDEFGHIKLMNPQRSTVWY" * 2 + "GATTACA" * 9])
def test_proteins_of_few_kinds_of_residues_are_no_nucleotides(lab: Lab, rooted: Flux, peptide: str) -> None:
    params = {"protein_sequences": {"silk": peptide}, "template": "no such template"}
    assert lab.call(rooted, "build_model", params)["error_code"] == "INVALID_TEMPLATE_NAME"


def test_nothing_is_built_from_proteins_that_are_all_invalid(lab: Lab, rooted: Flux) -> None:
    error = from_fasta(lab, rooted, ">b0001\nMK*V\n", skip_invalid=True)
    assert (error["error_code"], error["details"]["total_invalid"]) == ("INVALID_PROTEIN_SEQUENCES", 1)
    assert "next_step" not in error


def test_proteins_come_as_arguments_or_from_a_file(lab: Lab, rooted: Flux) -> None:
    error = from_fasta(lab, rooted, ">b0001\nMKV\n", protein_sequences={"b0002": "MKV"})
    assert (error["error_code"], error["violations"][0]["path"]) == ("INVALID_PARAM", "fasta_path")
    error = lab.call(rooted, "build_model", {"template": "GramNegative"})
    assert error["error_code"] == "EMPTY_PROTEIN_SEQUENCES"


@pytest.fixture(scope="module")
def equipped(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Flux:
    """A toolset with small data of carveme, and a folder of files."""
    from tests.doors import FluxSettings  # noqa: PLC0415 - for these tests alone

    data = small_carveme(tmp_path_factory.mktemp("carveme"))
    made = Flux(root=tmp_path_factory.mktemp("root"), settings=FluxSettings(templates=(str(data),)))
    made.workers = lab.workers
    return made


def test_proteins_with_internal_stops_are_left_out_and_named_where_the_caller_says_so(lab: Lab, equipped: Flux) -> None:
    text = "".join(f">{name}\n{protein}\n" for name, protein in proteins_of_textbook().items())
    built = from_fasta(lab, equipped, f"{text}>pseudogene\nMKVL*AAGIVG\n", skip_invalid=True)
    assert built["success"] is True
    assert (built["num_left_out"], [item["id"] for item in built["left_out"]]) == (1, ["pseudogene"])
    assert built["num_recognized"] == built["num_proteins"] == len(proteins_of_textbook())


def test_a_draft_of_proteins_that_are_hardly_recognized_is_refused(lab: Lab, equipped: Flux) -> None:
    known = dict([*proteins_of_textbook().items()][:1])
    strange = {f"x{number}": text[::-1] for number, text in enumerate(proteins_of_textbook().values())}
    params = {"protein_sequences": {**known, **strange}, "template": "GramNegative"}
    error = lab.call(equipped, "build_model", params)
    assert (error["error_code"], error["details"]["recognized"]) == ("INVALID_PROTEIN_SEQUENCES", 1)
    assert error["details"]["recognized_share"] == round(1 / len(params["protein_sequences"]), 4)
    assert not any("alphabet" in text for text in error["suggestions"])


def test_the_operator_learns_of_everything_that_a_build_lacks(lab: Lab, tmp_path: Path) -> None:
    tool = lab.tool(flux_templates=(str(tmp_path),), flux_diamond=str(tmp_path / "diamond"))
    answer = asyncio.run(tool.build_model(protein_sequences={"p1": "MKVLAAGIVG"}, template="GramNegative"))
    error = answer.error.exception
    if len(error.missing) != 2:
        pytest.fail("the data and the program have to be missing")
    hint = error.operator_hint.casefold()
    assert ("carveme" in hint, "diamond" in hint) == (True, True)


def test_reference_data_in_an_archive_are_refused_at_start(tmp_path: Path) -> None:
    import zipfile  # noqa: PLC0415 - for this test alone

    from failsoft import ConfigurationError  # noqa: PLC0415 - the same
    from tests.doors import FluxSettings  # noqa: PLC0415 - the same
    from tests.tools.flux.small_data import COMPOUNDS, REACTIONS  # noqa: PLC0415 - the same

    archive = tmp_path / "some-1-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("some/files/compounds.tsv", COMPOUNDS)
        file.writestr("some/files/reactions.tsv", REACTIONS)
    refused = None
    try:
        Flux(settings=FluxSettings(tables=archive), cache_dir=tmp_path / "cache")
    except ConfigurationError as error:
        refused = error.code
    assert refused == "CONFIG_ERROR"
