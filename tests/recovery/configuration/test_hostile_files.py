"""Recovery files that no parser takes are a mistake in the configuration, not a defect of failsoft."""

from __future__ import annotations

from pathlib import Path

import pytest

from failsoft import ConfigurationError, RecoveryManager, Runtime, Settings

TEXTS = {
    "digits": f"defaults.retry.attempts = {'9' * 5_000}",
    "nesting": f"defaults = {'[' * 5_000}",
    "binary": "\x00\x01",
    "infinite": "defaults.retry.base_s = inf",
}


def refusal(file: Path) -> Exception | None:
    try:
        Runtime(settings=Settings(recovery_file=file), recovery=RecoveryManager()).read_configuration()
    except Exception as error:  # noqa: BLE001 - what kind it is, is the question
        return error
    return None


@pytest.mark.parametrize("name", ["nesting", "binary", "infinite"])
def test_a_file_that_is_no_configuration_is_a_configuration_error(tmp_path, name):
    file = tmp_path / "recovery.toml"
    file.write_text(TEXTS[name])
    assert isinstance(refusal(file), ConfigurationError)


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="a recovery file with a number of 5,000 digits raises Python's ValueError; it should be CONFIG_ERROR",
)
def test_a_number_of_thousands_of_digits_is_a_configuration_error(tmp_path):
    file = tmp_path / "recovery.toml"
    file.write_text(TEXTS["digits"])
    assert isinstance(refusal(file), ConfigurationError)
