"""The settings of the edit, flux and workspace toolsets: defaults, variables, and values that are refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from failsoft import ConfigurationError, ToolsetSettings
from tests.doors import EditSettings, FluxSettings, WorkspaceSettings


@dataclass(frozen=True)
class Expected:
    """What the settings of a toolset are: all defaults, a text with its value for each, and texts that are refused."""

    settings: type[ToolsetSettings]
    defaults: dict[str, Any]
    accepted: dict[str, tuple[str, Any]]
    refused: dict[str, str]


EDIT = Expected(
    settings=EditSettings,
    defaults={
        "max_edits": 1_000,
        "max_file_bytes": 10_000_000,
        "max_diff_bytes": 100_000,
        "hard_links": False,
        "lock_timeout_s": 10.0,
    },
    accepted={
        "max_edits": ("5", 5),
        "max_file_bytes": ("1000", 1_000),
        "max_diff_bytes": ("2000", 2_000),
        "hard_links": ("1", True),
        "lock_timeout_s": ("0.5", 0.5),
    },
    refused={
        "max_edits": "0",
        "max_file_bytes": "0",
        "max_diff_bytes": "10",
        "hard_links": "perhaps",
        "lock_timeout_s": "-1",
    },
)
FLUX = Expected(
    settings=FluxSettings,
    defaults={
        "tables": None,
        "keep_s": 86_400.0,
        "keep_count": 100,
        "workers": 2,
        "queue": 256,
        "preload": ("textbook",),
        "models_in_memory": 8,
        "worker_tasks": 10_000,
        "worker_bytes": 2_000_000_000,
        "templates": (),
        "diamond": "diamond",
        "rast_url": None,
        "modelseedpy_python": None,
        "modelseedpy_templates": None,
    },
    accepted={
        "tables": ("data/dnngior.whl", Path("data/dnngior.whl")),
        "templates": ("carveme.whl, data", ("carveme.whl", "data")),
        "diamond": ("/opt/diamond", "/opt/diamond"),
        "rast_url": ("https://rast.example/rpc", "https://rast.example/rpc"),
        "modelseedpy_python": ("/opt/seed/bin/python", Path("/opt/seed/bin/python")),
        "modelseedpy_templates": ("/opt/seed/templates", Path("/opt/seed/templates")),
        "keep_s": ("60", 60.0),
        "keep_count": ("5", 5),
        "workers": ("1", 1),
        "queue": ("0", 0),
        "preload": ("textbook, iJO1366", ("textbook", "iJO1366")),
        "models_in_memory": ("2", 2),
        "worker_tasks": ("7", 7),
        "worker_bytes": ("500000000", 500_000_000),
    },
    refused={
        "keep_s": "0",
        "keep_count": "0",
        "workers": "0",
        "queue": "-1",
        "models_in_memory": "0",
        "worker_tasks": "0",
        "worker_bytes": "1000",
        "rast_url": "rast.example",
    },
)
WORKSPACE = Expected(
    settings=WorkspaceSettings,
    defaults={
        "roles": ("ANTIGRAVITY:read+plan+approve", "WINDSURF:read+write"),
        "role": None,
        "principals": (),
        "session_s": 28_800.0,
        "plan_s": 604_800.0,
        "max_file_bytes": 10_000_000,
        "reports": "docs/reports",
        "hard_links": False,
        "policies": ("generic",),
        "preflight": (),
        "preflight_s": 300.0,
        "preflight_processes": 1_000,
        "preflight_memory_mb": None,
    },
    accepted={
        "policies": ("rust, house", ("rust", "house")),
        "preflight": ('[["cargo", "test"]]', (("cargo", "test"),)),
        "preflight_s": ("60", 60.0),
        "preflight_processes": ("50", 50),
        "preflight_memory_mb": ("4096", 4096),
        "roles": ("READER:read, WRITER:read+write", ("READER:read", "WRITER:read+write")),
        "role": ("WINDSURF", "WINDSURF"),
        "principals": ("ada:READER", ("ada:READER",)),
        "session_s": ("60", 60.0),
        "plan_s": ("60", 60.0),
        "max_file_bytes": ("1000", 1_000),
        "reports": ("reports", "reports"),
        "hard_links": ("1", True),
    },
    refused={
        "preflight": '["cargo hunter2"]',
        "preflight_s": "0",
        "preflight_processes": "0",
        "preflight_memory_mb": "0",
        "session_s": "0",
        "plan_s": "0",
        "max_file_bytes": "0",
        "hard_links": "perhaps",
    },
)
TOOLSETS = {"edit": EDIT, "flux": FLUX, "workspace": WORKSPACE}
ALL = [(name, key) for name, expected in TOOLSETS.items() for key in sorted(expected.defaults)]
REFUSED = [(name, key) for name, expected in TOOLSETS.items() for key in sorted(expected.refused)]


@pytest.mark.parametrize("name", TOOLSETS)
def test_the_defaults_are_the_documented_ones(name: str) -> None:
    assert TOOLSETS[name].settings.load().model_dump() == TOOLSETS[name].defaults


@pytest.mark.parametrize(("name", "key"), ALL)
def test_every_setting_is_read_from_its_variable(name: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = TOOLSETS[name]
    text, value = expected.accepted[key]
    monkeypatch.setenv(f"FAILSOFT_{name.upper()}_{key.upper()}", text)
    assert expected.settings.load().model_dump() == {**expected.defaults, key: value}


@pytest.mark.parametrize(("name", "key"), REFUSED)
def test_a_bad_value_names_the_variable_and_is_not_repeated(
    name: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = f"FAILSOFT_{name.upper()}_{key.upper()}"
    monkeypatch.setenv(variable, TOOLSETS[name].refused[key])
    with pytest.raises(ConfigurationError) as caught:
        TOOLSETS[name].settings.load()
    assert caught.value.issue.startswith(f"{variable} ")
    assert "hunter2" not in repr(caught.value)
