"""Linting what tools say."""

from __future__ import annotations

import pytest

from tests.doors import ExitCode


def test_tools_that_say_what_to_do_pass(run):
    ran = run("lint", "library:Library")
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    ran = run("lint", "docs", "library:Library", "--json")
    assert (ran.code, ran.err, ran.json) == (ExitCode.OK, "", [])


def test_an_application_is_named_by_an_option_or_by_the_project(run, folder):
    assert run("lint", "--app", "library:Library").code == ExitCode.OK
    assert run("lint").code == ExitCode.USAGE
    (folder / "pyproject.toml").write_text('[tool.failsoft]\napp = "library:Mute"\n')
    assert run("lint").code == ExitCode.FAILED


def test_every_finding_is_printed_and_ends_with_1(run):
    ran = run("lint", "library:Mute")
    assert (ran.code, ran.err) == (ExitCode.FAILED, "")
    found = run("lint", "library:Mute", "--json")
    assert found.code == ExitCode.FAILED
    assert {"operation": "hum", "code": "", "rule": "description"} in [
        {key: finding[key] for key in ("operation", "code", "rule")} for finding in found.json
    ]
    assert "description" in ran.out


def test_a_parameter_without_an_annotation_is_a_finding_and_no_failed_import(run, folder):
    text = "import failsoft\n\n\n@failsoft.soft\ndef look(title):\n    'Look.'\n"
    (folder / "shelf_without_types.py").write_text(text)
    ran = run("lint", "--app", "shelf_without_types", "--json")
    (found,) = ran.json
    assert (ran.code, ran.err) == (ExitCode.FAILED, "")
    assert (found["operation"], found["rule"]) == ("look", "annotation")
    assert f"{folder / 'shelf_without_types.py'}:4" in found["text"]


@pytest.mark.parametrize("target", ["dosc", "library:Nobody", "nowhere:Library", "library:number"])
def test_what_cannot_be_loaded_is_a_configuration_error(run, target):
    ran = run("lint", target)
    assert (ran.code, ran.out) == (ExitCode.CONFIGURATION, "")
    assert ran.err.startswith("CONFIG_ERROR: ")
