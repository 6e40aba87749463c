"""What `failsoft doctor --security` finds open, and that closing it is noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from failsoft import AuditLog, Settings
from tests.doors import ExitCode, default_key_file, findings, made_key

TOKENS = "alice:long-enough-1,bob:long-enough-2"


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return settings with which nothing is open."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made_key()
    (tmp_path / "logs").mkdir(mode=0o700)
    return {"auth_tokens": TOKENS, "audit_path": tmp_path / "logs" / "audit-log.jsonl"}


def about(roots: list[Path], **settings: Any) -> set[str]:
    return {finding.about for finding in findings(Settings(**settings), roots, [])}


def test_nothing_is_found_where_nothing_is_open(closed: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    assert about([tmp_path / "root"], **closed) == set()


@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [
        ("auth_tokens", None, "FAILSOFT_AUTH_TOKENS"),
        ("allowed_hosts", ("*",), "FAILSOFT_ALLOWED_HOSTS"),
        ("state_url", "redis://cache.example:6379", "FAILSOFT_STATE_URL"),
        ("debug_stack", True, "FAILSOFT_DEBUG_STACK"),
        ("detail", "full", "FAILSOFT_DETAIL"),
        ("audit_path", None, "FAILSOFT_AUDIT_PATH"),
    ],
)
def test_a_setting_that_leaves_something_open_is_named(
    closed: dict[str, Any], setting: str, value: Any, named: str
) -> None:
    assert about([], **{**closed, setting: value}) == {named}


def test_one_token_for_all_is_named(closed: dict[str, Any]) -> None:
    assert about([], **{**closed, "auth_tokens": None, "auth_token": "long enough"}) == {"FAILSOFT_AUTH_TOKEN"}


def test_files_that_other_users_may_read_or_change_are_named(closed: dict[str, Any]) -> None:
    default_key_file().chmod(0o644)
    closed["audit_path"].parent.chmod(0o777)
    assert about([], **closed) == {str(default_key_file()), str(closed["audit_path"].parent)}


def test_a_missing_key_is_named(closed: dict[str, Any]) -> None:
    default_key_file().unlink()
    assert about([], **closed) == {str(default_key_file())}
    assert about([], **closed, audit_key="sixteen letters!") == set()


def test_a_root_that_contains_the_servers_own_files_is_named(closed: dict[str, Any], tmp_path: Path) -> None:
    assert about([tmp_path], **closed) == {str(tmp_path)}


def test_the_command_lists_them_and_ends_with_1(inside: Any, folder: Path) -> None:
    log = AuditLog(folder / "audit-log.jsonl")
    ran = inside("doctor", "--security", "--json", env={"FAILSOFT_AUDIT_PATH": str(log.path)})
    assert (ran.code, ran.err, ran.json["closed"]) == (ExitCode.FAILED, "", False)
    assert "FAILSOFT_AUTH_TOKENS" in {finding["about"] for finding in ran.json["findings"]}
    assert "FAILSOFT_AUTH_TOKENS" in inside("doctor", "--security").out


@pytest.mark.parametrize("mode", [0o644, 0o660], ids=oct)
def test_a_state_store_that_others_may_read_is_named(closed: dict[str, Any], tmp_path: Path, mode: int) -> None:
    file = tmp_path / "state.sqlite"
    file.touch()
    file.chmod(mode)
    assert str(file) in about([], **closed, state_url=f"sqlite:{file}")


def test_the_files_that_the_server_relies_on_are_listed_with_mode_and_owner(inside: Any, folder: Path) -> None:
    log = AuditLog(folder / "audit-log.jsonl")
    log.path.touch(mode=0o640)
    store = folder / "state.sqlite"
    store.touch(mode=0o600)
    env = {"FAILSOFT_AUDIT_PATH": str(log.path), "FAILSOFT_STATE_URL": f"sqlite:{store}"}
    files = {one["path"]: one for one in inside("doctor", "--security", "--json", env=env).json["files"]}
    assert {path: files[str(path)]["mode"] for path in (log.path, store)} == {log.path: "640", store: "600"}
    assert files[str(store)]["owner"] == store.owner()
    assert "in clear" in files[str(store)]["holds"]
    assert str(store) in inside("doctor", "--security", env=env).out


def test_a_store_in_a_folder_that_others_may_write_is_named(closed: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    file = folder / "state.sqlite"
    file.touch(mode=0o600)
    folder.chmod(0o777)
    assert str(file) in about([], **closed, state_url=f"sqlite:{file}")
