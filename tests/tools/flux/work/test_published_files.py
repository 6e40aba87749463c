"""Model files as others publish them: whatever COBRApy reads is read, and what it cannot read is explained."""

from __future__ import annotations

import io
import re
from functools import cache

import pytest

from failsoft.tools.flux import Flux
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab
from tests.tools.flux.small_data import textbook

pytestmark = IN_FLUX


@cache
def written() -> str:
    """Return the textbook model in SBML, with a group of reactions, as a subsystem has."""
    from cobra.core import Group  # noqa: PLC0415 - COBRApy takes more than a second, for these tests alone
    from cobra.io import write_sbml_model  # noqa: PLC0415 - the same

    model = textbook()
    model.add_groups([Group("glycolysis", name="Glycolysis", members=[model.reactions.get_by_id("ENO")])])
    file = io.StringIO()
    write_sbml_model(model, file)
    return file.getvalue()


def is_read_by_cobra(text: str) -> bool:
    """Return whether COBRApy reads a text as the textbook model."""
    from cobra.io import read_sbml_model  # noqa: PLC0415 - as above

    return len(read_sbml_model(text).reactions) == len(textbook().reactions)


def test_species_without_a_boundary_condition_are_read_as_by_cobra(lab: Lab, rooted: Flux) -> None:
    text = re.sub(r' boundaryCondition="(?:true|false)"', "", written())
    if not is_read_by_cobra(text):
        pytest.fail("COBRApy has to read the file of this test")
    (root,) = rooted.roots
    (root / "carveme.xml").write_text(text)
    answer = lab.call(rooted, "load_model", {"path": "carveme.xml"})
    assert (answer["success"], answer.get("num_reactions")) == (True, 95)


def test_a_group_with_an_id_of_another_form_is_read_as_by_cobra(lab: Lab, rooted: Flux) -> None:
    text, count = re.subn(r'groups:id="[^"]*"', 'groups:id="|PWY-1042| glycolysis IV"', written())
    if not count or not is_read_by_cobra(text):
        pytest.fail("COBRApy has to read the file of this test")
    (root,) = rooted.roots
    (root / "gapseq.xml").write_text(text)
    answer = lab.call(rooted, "load_model", {"path": "gapseq.xml"})
    assert (answer["success"], answer.get("num_reactions")) == (True, 95)


def test_a_mat_file_without_a_model_is_explained_without_python_objects(lab: Lab, rooted: Flux) -> None:
    from scipy.io import savemat  # noqa: PLC0415 - beside COBRApy

    (root,) = rooted.roots
    savemat(root / "numbers.mat", {"numbers": [1, 2, 3]})
    error = lab.call(rooted, "load_model", {"path": "numbers.mat"})
    assert error["error_code"] == "INVALID_INPUT_FILE"
    assert not re.search(r" at 0x[0-9a-f]+|BytesIO", f"{error['message']} {error['details']}")


def test_bounds_that_are_assumed_on_reading_are_a_warning(lab: Lab, rooted: Flux) -> None:
    text = re.sub(r' fbc:(?:lower|upper)FluxBound="[^"]*"', "", written())
    (root,) = rooted.roots
    (root / "unbounded.xml").write_text(text)
    answer = lab.call(rooted, "load_model", {"path": "unbounded.xml"})
    if not answer["success"]:
        raise RuntimeError
    assert any("1000" in warning.replace(",", "") for warning in answer["metadata"]["warnings"])
