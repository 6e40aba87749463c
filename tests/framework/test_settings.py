"""A setting is what the environment says, or its default; a bad value is named without being shown."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from failsoft import ConfigurationError, Settings
from tests.doors import unknown_variables
from tests.each import each

DEFAULTS = {
    "environment": "production",
    "detail": None,
    "wire_format": "auto",
    "answer": "lean",
    "output_schema": "short",
    "debug_stack": False,
    "max_response_bytes": 1_000_000,
    "max_request_bytes": 4 * 1024 * 1024,
    "default_timeout_s": 30.0,
    "slow_call_s": 5.0,
    "max_threads": 32,
    "max_abandoned_threads": 16,
    "metrics_enabled": True,
    "metrics_label_limit": 1_000,
    "metrics_principals": "off",
    "service_name": "failsoft",
    "log_level": "INFO",
    "log_json": None,
    "auth_token": None,
    "auth_tokens": None,
    "admin_token": None,
    "allowed_hosts": (),
    "header_timeout_s": 10.0,
    "body_timeout_s": 10.0,
    "max_connections": 1_000,
    "max_calls_per_principal": 100,
    "proxy_max_tools": 2_000,
    "job_inline_s": 2.0,
    "job_keep_s": 86_400.0,
    "job_timeout_s": 3_600.0,
    "job_processes": 4,
    "fleet_url": None,
    "shutdown_grace_s": 10.0,
    "worker_stall_s": 30.0,
    "objective": 0.99,
    "alert_webhook_url": None,
    "alert_alertmanager_url": None,
    "alert_dedup_s": 300.0,
    "audit_path": None,
    "audit_key": None,
    "audit_key_file": None,
    "audit_head_path": None,
    "audit_max_bytes": 16 * 1024 * 1024,
    "audit_keep_days": None,
    "audit_keep_bytes": None,
    "audit_archive": None,
    "audit_wait_s": 5.0,
    "recovery_file": None,
    "recovery": "",
    "state_url": None,
    "state_key": None,
    "state_prefix": "failsoft",
    "state_timeout_s": 0.25,
    "state_without_store": "warn",
    "state_quota_bytes": 256 * 1024 * 1024,
    "ask_timeout_s": 120.0,
    "ask_key": None,
    "repeats": "on",
    "capture": None,
    "capture_count": 200,
    "capture_bytes": 20_000_000,
    "capture_keep_s": 604_800.0,
    "error_docs_url": None,
}
ACCEPTED: dict[str, tuple[str, Any]] = {
    "environment": ("staging", "staging"),
    "detail": ("full", "full"),
    "wire_format": ("problem", "problem"),
    "answer": ("json", "json"),
    "output_schema": ("off", "off"),
    "debug_stack": ("1", True),
    "max_response_bytes": ("2000000", 2_000_000),
    "max_request_bytes": ("1000", 1_000),
    "default_timeout_s": ("0", 0.0),
    "slow_call_s": ("0.5", 0.5),
    "max_threads": ("8", 8),
    "max_abandoned_threads": ("2", 2),
    "metrics_enabled": ("off", False),
    "metrics_label_limit": ("50", 50),
    "metrics_principals": ("hash", "hash"),
    "service_name": ("shop", "shop"),
    "log_level": ("debug", "DEBUG"),
    "log_json": ("false", False),
    "auth_token": ("correct horse", SecretStr("correct horse")),
    "auth_tokens": ("ada:correct horse", SecretStr("ada:correct horse")),
    "admin_token": ("correct horse", SecretStr("correct horse")),
    "allowed_hosts": ("a.example, b.example:80,", ("a.example", "b.example:80")),
    "header_timeout_s": ("2.5", 2.5),
    "body_timeout_s": ("60", 60.0),
    "max_connections": ("100", 100),
    "max_calls_per_principal": ("20", 20),
    "proxy_max_tools": ("10", 10),
    "job_inline_s": ("0", 0.0),
    "job_keep_s": ("60", 60.0),
    "job_timeout_s": ("0", 0.0),
    "job_processes": ("0", 0),
    "fleet_url": ("temporal://host:7233/shop", "temporal://host:7233/shop"),
    "shutdown_grace_s": ("2.5", 2.5),
    "worker_stall_s": ("9", 9.0),
    "objective": ("0.999", 0.999),
    "alert_webhook_url": ("https://hooks.example/T0", SecretStr("https://hooks.example/T0")),
    "alert_alertmanager_url": ("http://am.example:9093", SecretStr("http://am.example:9093")),
    "alert_dedup_s": ("0", 0.0),
    "audit_path": ("logs/audit-log.jsonl", Path("logs/audit-log.jsonl")),
    "audit_key": ("sixteen letters!", SecretStr("sixteen letters!")),
    "audit_key_file": ("/run/secrets/audit", Path("/run/secrets/audit")),
    "audit_head_path": ("/mnt/audit.head", Path("/mnt/audit.head")),
    "audit_max_bytes": ("1000", 1_000),
    "audit_keep_days": ("30", 30.0),
    "audit_keep_bytes": ("1000", 1_000),
    "audit_archive": ("/mnt/archive", Path("/mnt/archive")),
    "audit_wait_s": ("0.5", 0.5),
    "recovery_file": ("recovery.toml", Path("recovery.toml")),
    "recovery": ("defaults.retry = false", "defaults.retry = false"),
    "state_url": ("redis://cache:6379/1", SecretStr("redis://cache:6379/1")),
    "state_key": ("0123456789abcdef", SecretStr("0123456789abcdef")),
    "state_prefix": ("shop:tools", "shop:tools"),
    "state_timeout_s": ("1.5", 1.5),
    "state_without_store": ("refuse", "refuse"),
    "state_quota_bytes": ("5000", 5_000),
    "ask_timeout_s": ("60", 60.0),
    "ask_key": ("k" * 32, SecretStr("k" * 32)),
    "repeats": ("off", "off"),
    "capture": ("failures", "failures"),
    "capture_count": ("5", 5),
    "capture_bytes": ("5000", 5_000),
    "capture_keep_s": ("60", 60.0),
    "error_docs_url": ("https://docs.example/errors", "https://docs.example/errors"),
}
REFUSED = {
    "audit_key": "hunter2",
    "audit_max_bytes": "10",
    "audit_keep_days": "0",
    "audit_keep_bytes": "10",
    "audit_wait_s": "0",
    "header_timeout_s": "0",
    "body_timeout_s": "-1",
    "max_connections": "7",
    "max_calls_per_principal": "0",
    "proxy_max_tools": "many",
    "environment": "prod",
    "wire_format": "hunter2 xml",
    "detail": "everything",
    "answer": "yaml",
    "output_schema": "maybe",
    "debug_stack": "maybe",
    "max_response_bytes": "12",
    "max_request_bytes": "many",
    "default_timeout_s": "-1",
    "slow_call_s": "0",
    "max_threads": "0",
    "max_abandoned_threads": "nan",
    "metrics_enabled": "perhaps",
    "metrics_label_limit": "0",
    "metrics_principals": "all",
    "service_name": "x" * 101,
    "log_level": "LOUD",
    "log_json": "2",
    "auth_token": "hunter2",
    "auth_tokens": "ada:hunter2",
    "admin_token": "hunter2",
    "shutdown_grace_s": "inf",
    "worker_stall_s": "0",
    "job_inline_s": "61",
    "job_keep_s": "0",
    "job_timeout_s": "inf",
    "job_processes": "-1",
    "fleet_url": "hunter2://host:7233/shop",
    "objective": "1",
    "alert_webhook_url": "hunter2://hooks.example",
    "alert_alertmanager_url": "hunter2",
    "alert_dedup_s": "-0.1",
    "state_url": "hunter2:6379",
    "state_key": "hunter2",
    "state_prefix": "with spaces",
    "state_timeout_s": "0",
    "state_without_store": "perhaps",
    "state_quota_bytes": "10",
    "ask_timeout_s": "0",
    "ask_key": "k" * 32 + ",short",
    "repeats": "perhaps",
    "capture": "everything",
    "capture_count": "0",
    "capture_bytes": "10",
    "capture_keep_s": "0",
    "error_docs_url": "docs.example",
}


def test_the_defaults_are_the_documented_ones() -> None:
    assert Settings.load().model_dump() == DEFAULTS


@each("name", sorted(DEFAULTS))
def test_every_setting_is_read_from_its_variable(name: str) -> None:
    text, value = ACCEPTED[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(f"FAILSOFT_{name.upper()}", text)
        found = Settings.load().model_dump()
    assert found == {**DEFAULTS, name: value}


@each("name", sorted(REFUSED))
def test_a_bad_value_names_the_variable_and_is_not_repeated(name: str) -> None:
    variable = f"FAILSOFT_{name.upper()}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(variable, REFUSED[name])
        with pytest.raises(ConfigurationError) as caught:
            Settings.load()
    error = caught.value
    assert error.code == "CONFIG_ERROR"
    assert error.issue.startswith(f"{variable} must ") or error.issue.startswith(f"{variable} ")
    assert "hunter2" not in repr(error)
    assert error.__context__ is None


def test_only_settings_that_take_any_text_have_no_bad_value() -> None:
    assert DEFAULTS.keys() - REFUSED.keys() == {
        *(
            "allowed_hosts",
            "audit_archive",
            "audit_head_path",
            "audit_key_file",
            "audit_path",
            "recovery",
            "recovery_file",
        ),
    }


def test_all_bad_values_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILSOFT_MAX_THREADS", "many")
    monkeypatch.setenv("FAILSOFT_DETAIL", "loud")
    with pytest.raises(ConfigurationError) as caught:
        Settings.load()
    assert "FAILSOFT_MAX_THREADS" in caught.value.issue
    assert "FAILSOFT_DETAIL" in caught.value.issue


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILSOFT_DETAIL", "")
    monkeypatch.setenv("FAILSOFT_MAX_THREADS", "")
    assert Settings.load().model_dump() == DEFAULTS


def test_debug_stack_has_an_older_name_and_the_proper_one_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG_STACK", "true")
    assert Settings.load().debug_stack is True
    monkeypatch.setenv("FAILSOFT_DEBUG_STACK", "false")
    assert Settings.load().debug_stack is False


def test_a_bad_value_under_the_older_name_names_the_older_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG_STACK", "verbose")
    with pytest.raises(ConfigurationError) as caught:
        Settings.load()
    assert caught.value.issue.startswith("DEBUG_STACK ")


@pytest.mark.parametrize(
    ("environment", "detail", "level"),
    [
        ("production", None, "minimal"),
        ("staging", None, "standard"),
        ("development", None, "full"),
        ("production", "full", "full"),
        ("development", "minimal", "minimal"),
        ("staging", "standard", "standard"),
    ],
)
def test_the_detail_level_follows_the_environment_unless_it_is_set(environment: Any, detail: Any, level: str) -> None:
    assert Settings(environment=environment, detail=detail).detail_level == level


def test_what_is_given_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILSOFT_MAX_THREADS", "8")
    assert Settings.load(max_threads=3).max_threads == 3


@pytest.mark.parametrize(
    ("variable", "accepted"),
    [
        ("FAILSOFT_MAX_THREADS", "must be a whole number"),
        ("FAILSOFT_SLOW_CALL_S", "must be a number"),
        ("FAILSOFT_DEBUG_STACK", "must be true or false"),
    ],
)
def test_a_value_of_another_type_is_refused_in_plain_words(
    monkeypatch: pytest.MonkeyPatch, variable: str, accepted: str
) -> None:
    monkeypatch.setenv(variable, "often")
    with pytest.raises(ConfigurationError) as caught:
        Settings.load()
    assert caught.value.issue == f"{variable} {accepted}"


@each("name", sorted(REFUSED))
def test_a_bad_value_that_is_given_names_the_setting_and_is_not_repeated(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings(**{name: REFUSED[name]})
    assert caught.value.issue.startswith(f"{name} ")
    assert "hunter2" not in repr(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(("name", "closest"), [("max_thread", "max_threads"), ("zzz", None)])
def test_a_setting_that_does_not_exist_is_refused_with_the_closest(name: str, closest: str | None) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings(**{name: 3})
    assert f"'{name}'" in caught.value.issue
    assert closest is None or f"'{closest}'" in caught.value.issue


def test_settings_survive_pickle_and_copy() -> None:
    settings = Settings(max_threads=3, auth_token="hunter2hunter2")
    assert pickle.loads(pickle.dumps(settings)) == settings == settings.model_copy()  # noqa: S301 - our own


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Settings().max_threads = 3


def test_repr_masks_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILSOFT_AUTH_TOKEN", "correct horse")
    monkeypatch.setenv("FAILSOFT_ALERT_WEBHOOK_URL", "https://hooks.example/battery")
    settings = Settings.load()
    shown = repr(settings) + str(settings) + settings.model_dump_json()
    assert "horse" not in shown
    assert "battery" not in shown


def test_a_misspelled_variable_is_found_with_the_one_that_was_meant() -> None:
    environ = {
        "FAILSOFT_ENVIROMENT": "staging",
        "FAILSOFT_XYZZY": "1",
        "FAILSOFT_DETAIL": "full",
        "FAILSOFT_TOKEN": "t",
    }
    assert unknown_variables([Settings], environ) == {
        "FAILSOFT_ENVIROMENT": "FAILSOFT_ENVIRONMENT",
        "FAILSOFT_XYZZY": "",
    }
