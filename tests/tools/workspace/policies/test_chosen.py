"""Which policies judge a write, how they are chosen, and the codes of what they find."""

from __future__ import annotations

import json
from typing import Any

import pytest

from failsoft import ConfigurationError
from failsoft.tools.workspace import Workspace
from tests.tools.workspace.site import Site

UNWRAP = "fn main() {\n    let x = y.unwrap();\n}\n"


def written(site: Site, tool: Workspace, content: str) -> dict[str, Any]:
    site.allow(tool)
    site.begin(tool)
    return site.call(tool, "write_file", {"path": "a.rs", "content": content})


def test_only_the_generic_policy_is_on_by_default(site: Site, tool: Workspace) -> None:
    assert written(site, tool, UNWRAP).get("success") is True


def test_findings_of_two_policies_carry_both_codes(site: Site) -> None:
    tool = site.tool(workspace_policies="generic,rust")
    answer = written(site, tool, f"{UNWRAP}// TODO: later\n")

    assert {finding["policy"] for finding in answer["details"]["findings"]} == {"generic", "rust"}
    wrong = [code for code in ("POLICY_VIOLATION", "RUST_POLICY_VIOLATION") if f'"{code}"' not in json.dumps(answer)]
    assert wrong == []


def test_policies_and_preflight_are_lists_of_one_form(monkeypatch: pytest.MonkeyPatch) -> None:
    policies, preflight = takes(monkeypatch, "POLICIES", '["generic"]'), takes(monkeypatch, "PREFLIGHT", '[["true"]]')

    assert policies is preflight


def test_a_list_in_the_wrong_form_is_refused_as_such(site: Site) -> None:
    with pytest.raises(ConfigurationError) as raised:
        site.tool(workspace_policies='["generic", "nosuch"]')

    assert '["generic"' not in str(raised.value)


def takes(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> bool:
    """Return whether a server begins with this value of a setting."""
    with monkeypatch.context() as surroundings:
        surroundings.setenv(f"FAILSOFT_WORKSPACE_{name}", value)
        try:
            Workspace()
        except ConfigurationError:
            return False
    return True
