"""Linting what tools say."""

from __future__ import annotations

from pathlib import Path

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
    assert {"operation": "hum", "code": "", "rule": "FS102", "name": "description"} in [
        {key: finding[key] for key in ("operation", "code", "rule", "name")} for finding in found.json
    ]
    assert "description" in ran.out


def test_a_parameter_without_an_annotation_is_a_finding_and_no_failed_import(run, folder):
    text = "import failsoft\n\n\n@failsoft.soft\ndef look(title):\n    'Look.'\n"
    (folder / "shelf_without_types.py").write_text(text)
    ran = run("lint", "--app", "shelf_without_types", "--json")
    (found,) = ran.json
    assert (ran.code, ran.err) == (ExitCode.FAILED, "")
    assert (found["operation"], found["name"]) == ("look", "annotation")
    assert f"{folder / 'shelf_without_types.py'}:4" in found["text"]


def test_a_rule_is_silenced_with_a_reason_for_one_tool_or_for_all(run, folder):
    project = folder / "pyproject.toml"
    for key, code in (
        ("description", ExitCode.OK),
        ("FS102", ExitCode.OK),
        ("description:hum", ExitCode.OK),
        ("description:sing", ExitCode.FAILED),
        ("title:hum", ExitCode.FAILED),
    ):
        project.write_text(f'[tool.failsoft.silence]\n"{key}" = "it hums"\n')
        assert (key, run("lint", "library:Mute").code) == (key, code)
    shown = Path(__file__).parents[3] / "docs" / "examples" / "silence.toml"
    project.write_text(shown.read_text())
    assert run("lint", "library:Mute").code == ExitCode.OK


def test_a_silence_for_a_tool_that_the_application_does_not_have_is_named(run, folder):
    silenced = '"description:hum" = "it hums"\n"title:hmu" = "misspelt"\n'
    (folder / "pyproject.toml").write_text(
        f'[tool.failsoft]\napp = "library:Mute"\n[tool.failsoft.silence]\n{silenced}'
    )
    ran = run("lint")
    assert (ran.code, "title:hmu" in ran.err, "description:hum" in ran.err) == (ExitCode.OK, True, False)
    assert run("lint", "library:Library").err == ""  # the silences are of another application


@pytest.mark.parametrize("line", ['"descriptoin" = "it hums"', '"description" = " "', '"description" = true'])
def test_a_silence_of_no_rule_or_without_a_reason_is_a_configuration_error(run, folder, line):
    (folder / "pyproject.toml").write_text(f"[tool.failsoft.silence]\n{line}\n")
    ran = run("lint", "library:Mute")
    assert (ran.code, ran.out) == (ExitCode.CONFIGURATION, "")
    assert ran.err.startswith("CONFIG_ERROR: ")
    assert "desc" in ran.err


@pytest.mark.parametrize("target", ["dosc", "library:Nobody", "nowhere:Library", "library:number"])
def test_what_cannot_be_loaded_is_a_configuration_error(run, target):
    ran = run("lint", target)
    assert (ran.code, ran.out) == (ExitCode.CONFIGURATION, "")
    assert ran.err.startswith("CONFIG_ERROR: ")
