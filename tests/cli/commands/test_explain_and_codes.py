"""Looking codes up."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from failsoft import DocumentNotFound
from tests.doors import ExitCode, entries, render_page


@pytest.mark.parametrize(
    "typed", ["DOC_NOT_FOUND", "doc_not_found", "doc-not-found", "DocumentNotFound", "DOCUMENT_NOT_FOUND"]
)
def test_the_page_of_a_code_is_the_one_in_the_docs(inside, typed):
    ran = inside("explain", typed)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.strip() == render_page(DocumentNotFound).strip()


def test_a_code_that_does_not_exist_leads_to_the_closest_one(inside):
    ran = inside("explain", "DOC_NOTFOUND")
    assert (ran.code, ran.out) == (ExitCode.FAILED, "")
    assert ran.err.startswith("NOT_FOUND: ")
    assert "  next: failsoft explain DOC_NOT_FOUND" in ran.err.splitlines()


@pytest.mark.parametrize(
    ("typed", "listing"),
    [
        ("QQQQQQQQ", "failsoft codes"),
        ("FS999", "failsoft rules"),
        ("fs1", "failsoft rules"),
        ("never-heard-of", "failsoft rules"),
    ],
)
def test_a_code_or_rule_that_is_like_no_other_leads_to_its_list(inside, typed, listing):
    ran = inside("explain", typed)
    assert ran.code == ExitCode.FAILED
    assert f"  next: {listing}" in ran.err.splitlines()


def test_the_codes_of_an_application_are_explained_too(run):
    assert "BOOK_NOT_FOUND" in run("explain", "BOOK_NOT_FOUND", "--app", "library:Library").out
    assert run("explain", "BOOK_NOT_FOUND").code == ExitCode.FAILED


def test_every_code_is_listed_as_json(inside):
    ran = inside("codes", "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    listed = {entry["code"]: entry for entry in ran.json}
    assert {kind.code for kind in entries() if kind.__module__.startswith("failsoft.")} <= listed.keys()
    areas = [entry["module"].startswith(("failsoft.framework.", "failsoft.recovery.")) for entry in ran.json]
    assert areas == sorted(areas, reverse=True)
    assert listed["DOC_NOT_FOUND"] | {"meaning": "", "hints": [], "message": ""} == {
        "code": "DOC_NOT_FOUND",
        "class": "DocumentNotFound",
        "module": "failsoft.framework.errors.core",
        "category": "not_found",
        "retry": "after_fix",
        "actor": "caller",
        "http_status": 404,
        "error_type": "not_found_error",
        "numeric_code": -32001,
        "critical": False,
        "fields": {"path": {"public": True}},
        "aliases": {"error_response": "DOCUMENT_NOT_FOUND"},
        "since": "0.1.0",
        "message": "",
        "hints": [],
        "meaning": "",
    }


def test_a_pipe_gets_one_line_a_code_whatever_the_width(inside):
    wide, narrow = (inside("codes", env={"COLUMNS": columns}).out for columns in ("200", "40"))
    assert wide == narrow
    codes = [line.split()[0] for line in wide.splitlines()[1:]]
    assert {"INVALID_PARAM", "UNKNOWN_ERROR"} <= set(codes)


def test_markdown_is_the_index_of_the_documentation_whatever_was_imported_before(run):
    index = Path(__file__).resolve().parents[3] / "docs" / "reference" / "errors" / "index.md"
    assert run("codes", "--format", "markdown").out == index.read_text()


def test_the_index_has_the_codes_of_the_framework_first_and_a_section_for_each_toolset():
    index = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "errors" / "index.md").read_text()
    framework, *toolsets = re.split(r"^## Errors of `(.+)`$", index, flags=re.MULTILINE)
    assert "`INTERNAL_ERROR`" in framework
    assert "`EMPTY_EDITS`" not in framework
    sections = dict(zip(toolsets[::2], toolsets[1::2], strict=True))
    assert list(sections) == sorted(sections)
    assert "`EMPTY_EDITS`" in sections["failsoft.tools.edit"]
    assert "`ROLE_MISMATCH`" in sections["failsoft.tools.workspace"]


def test_a_toolset_adds_its_own_codes_where_it_is_named_or_all_are_asked_for(run):
    def listed(*options):
        return {line.split()[0] for line in run("codes", *options).out.splitlines()[1:]}

    framework, edit, every = listed(), listed("edit"), listed("--all")
    assert "EMPTY_EDITS" not in framework
    assert "EMPTY_EDITS" in edit
    assert "ROLE_VIOLATION" not in edit
    assert framework < edit < every


def test_the_codes_of_an_application_are_listed_too(run):
    listed = json.loads(run("codes", "--format", "json", "--app", "library:Library").out)
    assert "BOOK_NOT_FOUND" in {entry["code"] for entry in listed}


def test_an_application_that_cannot_be_loaded_is_a_configuration_error(run):
    ran = run("codes", "--app", "nowhere:Library")
    assert (ran.code, ran.out) == (ExitCode.CONFIGURATION, "")
    assert ran.err.startswith("CONFIG_ERROR: ")
