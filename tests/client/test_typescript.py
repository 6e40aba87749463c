"""The TypeScript client as a package; `tests/slow/clients/test_typescript.py` runs it."""

from __future__ import annotations

import json
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "clients" / "typescript"


def test_the_package_has_no_dependency_at_run_time():
    package = json.loads((PACKAGE / "package.json").read_text())
    assert "dependencies" not in package
    assert set(package["peerDependencies"]) == {"@modelcontextprotocol/sdk", "@modelcontextprotocol/client"}
