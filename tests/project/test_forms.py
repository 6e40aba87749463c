"""The forms for issues and pull requests: a forge can show them, and what they ask people to run exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.doors import known_commands

FORMS = ["bug", "feature"]
KINDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_asks_for_named_and_labelled_answers(root: Path, name: str) -> None:
    form = yaml.safe_load((root / f".github/ISSUE_TEMPLATE/{name}.yml").read_text())
    assert form.keys() == {"name", "description", "body"}
    assert {element["type"] for element in form["body"]} <= KINDS
    asked = [element for element in form["body"] if element["type"] != "markdown"]
    assert [element for element in asked if not element["attributes"]["label"]] == []
    assert len({element["id"] for element in asked}) == len(asked) > 1


def test_a_bug_is_reported_with_the_call_the_version_and_what_was_recorded(root: Path) -> None:
    form = yaml.safe_load((root / ".github/ISSUE_TEMPLATE/bug.yml").read_text())
    required = {element.get("id"): element.get("validations", {}).get("required", False) for element in form["body"]}
    assert required == {None: False, "call": True, "expected": True, "doctor": True, "find": False}
    assert "security" in form["body"][0]["attributes"]["value"]


def test_issues_are_opened_with_a_form_alone(root: Path) -> None:
    folder = root / ".github/ISSUE_TEMPLATE"
    assert yaml.safe_load((folder / "config.yml").read_text()) == {"blank_issues_enabled": False}
    assert sorted(path.stem for path in folder.iterdir()) == sorted([*FORMS, "config"])


def test_the_commands_and_files_that_the_forms_name_exist(root: Path) -> None:
    text = "\n".join(path.read_text() for path in sorted((root / ".github").rglob("*.*")) if path.is_file())
    commands = set(re.findall(r"`failsoft (\w+)", text))
    assert commands == {"call", "doctor", "find"}
    assert commands <= known_commands().keys()
    page = (root / "docs/reference/cli.md").read_text()
    assert "| `--log` |" in page.split("## `failsoft find`")[1].split("\n## ")[0]
    assert "| `--app` |" in page.split("## `failsoft doctor`")[1].split("\n## ")[0]
    named = re.findall(r"(?:tests|scripts|changelog\.d)(?:/[\w.]+)?", text)
    assert [path for path in named if not (root / path).exists()] == []
