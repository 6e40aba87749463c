"""What a governed workspace does not start without: real conditions, the typed failure, and the exit code."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from failsoft import AuditLog, BootstrapFailure, Runtime, SelfAuditFailure
from failsoft.tools.workspace import Workspace
from tests.doors import REQUIRED, ExitCode, Lifecycle, as_tools
from tests.server.test_self_audit import refused
from tests.tools.chosen import chosen
from tests.zygote import PYTHON

KEY = "sixteen letters, or more"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts take root")


def workspace(root: Path, **settings: Any) -> Workspace:
    general, own = chosen(Workspace, settings)
    return Workspace(root, runtime=Runtime(settings=general), settings=own, state_folder=root / ".state")


@pytest.mark.anyio
async def test_a_workspace_that_is_sound_starts_with_its_log(tmp_path: Path) -> None:
    async with Lifecycle([workspace(tmp_path)], shutdown_limit_s=30).running() as lifecycle:
        assert lifecycle.is_ready
        assert (tmp_path / "audit-log.jsonl").exists()


@pytest.mark.anyio
async def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    settings = {"audit_path": str(tmp_path / "gone" / "log.jsonl"), "workspace_preflight": '[["no-such-program"]]'}
    error = await refused(workspace(tmp_path, **settings))
    assert isinstance(error, SelfAuditFailure)
    assert "no-such-program" in error.message
    assert "audit log" in error.message
    assert error.__cause__ is not None


@pytest.mark.anyio
async def test_a_sealed_log_whose_key_is_not_given_is_a_fault(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit-log.jsonl", key=KEY.encode())
    await log.record({"code": "X"})
    log.close()
    assert isinstance(await refused(workspace(tmp_path)), SelfAuditFailure)
    async with Lifecycle([workspace(tmp_path, audit_key=KEY)], shutdown_limit_s=30).running() as lifecycle:
        assert lifecycle.is_ready


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk that is mounted read-only."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    done = subprocess.run(["mount", "--bind", folder, folder], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mount: {done.stderr.strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@as_root
@pytest.mark.anyio
async def test_a_log_on_a_read_only_disk_is_a_fault(read_only: Path) -> None:
    error = await refused(Workspace(read_only, state_folder=read_only.parent / "state"))
    assert isinstance(error, SelfAuditFailure)
    assert "read-only" in error.message


@pytest.mark.anyio
async def test_a_folder_that_has_gone_is_a_fault(tmp_path: Path) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    tool = workspace(folder, audit_path=str(tmp_path / "log.jsonl"))
    folder.rmdir()
    assert isinstance(await refused(tool), SelfAuditFailure)


def test_a_governed_toolset_that_cannot_be_made_is_a_bootstrap_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILSOFT_WORKSPACE_POLICIES", "generic,rsut")
    with pytest.raises(BootstrapFailure) as caught:
        as_tools(Workspace)
    assert "'rust'" in caught.value.message
    assert caught.value.operator_hint


# As its operator sees it.


def served(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PYTHON, "-m", "failsoft", *arguments],
        cwd=folder,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


OVER = {
    "stdio": (),
    "http": ("--transport", "http", "--port", "0"),
    "workers": ("--transport", "http", "--port", "0", "--workers", "2"),
}


@pytest.mark.parametrize("arguments", OVER.values(), ids=OVER)
def test_its_operator_gets_the_canonical_envelope_and_an_exit_code(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    log = str(tmp_path / "gone" / "log.jsonl")
    ran = served(tmp_path, "serve", "workspace", "--root", ".", *arguments, FAILSOFT_AUDIT_PATH=log)
    assert (ran.returncode, ran.stdout) == (ExitCode.NOT_STARTED, "")
    assert "Traceback" not in ran.stderr
    (envelope,) = [json.loads(line) for line in ran.stderr.splitlines() if line.startswith('{"error_code"')]
    assert tuple(envelope) == REQUIRED
    assert (envelope["error_code"], envelope["session_id"]) == ("SELF_AUDIT_FAILURE", None)
    assert "audit log" in envelope["human_message"]
    assert "SELF_AUDIT_FAILURE: " in ran.stderr
    assert "--host" not in ran.stderr  # the system refused a file, and no address


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("FAILSOFT_WORKSPACE_POLICIES", "rsut"),
        ("FAILSOFT_WORKSPACE_PREFLIGHT", "cargo test"),
        ("FAILSOFT_WORKSPACE_ROLES", "A:fly"),
    ],
)
def test_a_setting_that_cannot_be_used_is_reported_likewise(tmp_path: Path, variable: str, value: str) -> None:
    ran = served(tmp_path, "serve", "workspace", "--root", ".", **{variable: value})
    assert ran.returncode == ExitCode.NOT_STARTED
    (envelope,) = [json.loads(line) for line in ran.stderr.splitlines() if line.startswith('{"error_code"')]
    assert envelope["error_code"] == "BOOTSTRAP_FAILURE"
    assert variable in envelope["human_message"]


@pytest.mark.parametrize("root", ["gone", "file"])
def test_a_folder_that_is_none_is_reported_likewise(tmp_path: Path, root: str) -> None:
    (tmp_path / "file").touch()
    ran = served(tmp_path, "serve", "workspace", "--root", root)
    assert ran.returncode == ExitCode.NOT_STARTED
    (envelope,) = [json.loads(line) for line in ran.stderr.splitlines() if line.startswith('{"error_code"')]
    assert (envelope["error_code"], envelope["cause"]["code"]) == ("BOOTSTRAP_FAILURE", "CONFIG_ERROR")


@pytest.mark.parametrize(("root", "severity", "code"), [(("--root", "."), "error", 1), ((), "warning", 0)])
def test_the_doctor_looks_at_the_same(tmp_path: Path, root: tuple[str, ...], severity: str, code: int) -> None:
    ran = served(tmp_path, "doctor", "--json", *root, FAILSOFT_WORKSPACE_PREFLIGHT='[["no-such-program"]]')
    found = json.loads(ran.stdout)
    assert ran.returncode == code
    reported = [one for one in found["remarks"] if "no-such-program" in one["message"]]
    assert [(one["severity"], one["about"]) for one in reported] == [(severity, "toolset workspace")]
    assert not (tmp_path / "audit-log.jsonl").exists()
