"""Recovery files that no parser takes are a mistake in the configuration, not a defect of failsoft."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from failsoft import ConfigurationError, RecoveryManager, Runtime, Settings
from tests.doors import read_toml_table

TEXTS = {
    "digits": f"defaults.retry.attempts = {'9' * 5_000}",
    "nesting": f"defaults = {'[' * 5_000}",
    "a long key": f"defaults.retry.attempts{'.a' * 3_000} = 1",
    "binary": "\x00\x01",
    "a large number": f"defaults.retry.base_s = 1{'0' * 400}",
    "infinite": "defaults.retry.base_s = inf",
}


def refusal(file: Path) -> Exception | None:
    try:
        Runtime(settings=Settings(recovery_file=file), recovery=RecoveryManager()).read_configuration()
    except Exception as error:  # noqa: BLE001 - what kind it is, is the question
        return error
    return None


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_that_is_no_configuration_is_a_configuration_error(tmp_path, name):
    file = tmp_path / "recovery.toml"
    file.write_text(TEXTS[name])
    assert isinstance(refusal(file), ConfigurationError)


def unreadable(folder: Path, kind: str) -> Path:
    """Return something in the place of a file that a reader must not wait for, or read to its end."""
    path = folder / "options.toml"
    match kind:
        case "a FIFO":
            os.mkfifo(path)
        case "/dev/zero":
            path.symlink_to("/dev/zero")
        case "a folder":
            path.mkdir()
        case "a huge file":
            with path.open("wb") as stream:
                stream.truncate(20_000_000_000)
    return path


@pytest.mark.parametrize("kind", ["nothing", "a FIFO", "/dev/zero", "a folder", "a huge file"])
def test_what_is_no_file_of_usual_size_is_refused_at_once(tmp_path, kind):
    path = unreadable(tmp_path, kind)
    assert isinstance(refusal(path), ConfigurationError)
    with pytest.raises(ConfigurationError, match=r"options\.toml"):
        read_toml_table(path, dict[str, int])


def test_all_faults_of_a_table_are_named_by_their_keys(tmp_path):
    path = tmp_path / "options.toml"
    path.write_text("sizes.a = 'x'\nsizes.b = 1.5\nsizes.c = 3\n")
    with pytest.raises(ConfigurationError) as caught:
        read_toml_table(path, dict[str, dict[str, int]])
    assert [key for key in ("sizes.a", "sizes.b", "sizes.c") if key in caught.value.message] == ["sizes.a", "sizes.b"]
    path.write_text("sizes.a = 1")
    assert read_toml_table(path, dict[str, dict[str, int]]) == {"sizes": {"a": 1}}
