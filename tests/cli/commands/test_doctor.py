"""What the doctor sees."""

from __future__ import annotations

import re
import sys
from importlib.metadata import requires

import pytest

from failsoft import Settings
from failsoft.tools.docs import Docs
from tests.cli.conftest import Ran, run_in
from tests.doors import ExitCode

SECRET = {"FAILSOFT_AUTH_TOKEN": "swordfish", "FAILSOFT_ALERT_WEBHOOK_URL": "https://example.org/swordfish"}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Return what is reported where nothing is set."""
    return run_in(tmp_path_factory.mktemp("healthy"), "doctor", "--json")


@pytest.fixture(scope="module")
def in_a_pipe(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Return what is reported as text, with secrets and a misspelt variable set."""
    return run_in(tmp_path_factory.mktemp("pipe"), "doctor", env={**SECRET, "FAILSOFT_MAX_THREDS": "7"})


def test_a_healthy_installation_is_reported_as_such(healthy):
    assert (healthy.code, healthy.err) == (ExitCode.OK, "")
    assert (healthy.json["healthy"], healthy.json["remarks"]) == (True, [])


def test_every_setting_is_listed_with_its_source(inside):
    env = {"FAILSOFT_MAX_THREADS": "7", "DEBUG_STACK": "true"}
    rows = {row["name"]: row for row in inside("doctor", "--json", env=env).json["settings"]}
    assert rows.keys() == Settings.model_fields.keys()
    assert (rows["max_threads"]["value"], rows["max_threads"]["source"]) == (7, "FAILSOFT_MAX_THREADS")
    assert (rows["max_response_bytes"]["value"], rows["max_response_bytes"]["source"]) == (1_000_000, "default")
    assert rows["debug_stack"]["variable"] == "FAILSOFT_DEBUG_STACK"
    assert (rows["debug_stack"]["value"], rows["debug_stack"]["source"]) == (True, "DEBUG_STACK")  # an alias


def test_secrets_are_not_shown(inside, in_a_pipe):
    for ran in (in_a_pipe, inside("doctor", "--json", env=SECRET)):
        assert (ran.code, "swordfish" in ran.out + ran.err) == (ExitCode.OK, False)


def test_every_dependency_is_listed_with_its_version(healthy):
    names = {re.match(r"[\w.-]+", need)[0] for need in requires("failsoft") if "extra ==" not in need}
    versions = healthy.json["versions"]
    assert versions.keys() == names | {"failsoft", "python"}
    assert all(versions.values())


def test_the_way_of_a_call_is_shown_for_every_operation(run):
    toolsets = {row["name"]: row for row in run("doctor", "--json", "--app", "library:Library").json["toolsets"]}
    assert toolsets["docs"]["package"] == "failsoft"
    assert toolsets["docs"]["operations"].keys() == set(Docs().operations)
    for chain in (*toolsets["docs"]["operations"].values(), *toolsets["library"]["operations"].values()):
        assert (chain[0], chain[-1]) == ("observe", "handler")


def remarks_of(ran):
    return [(remark["severity"], remark["about"]) for remark in ran.json["remarks"]]


def test_the_application_is_shown_before_the_settings_and_other_toolsets(run):
    shown = run("doctor", "--app", "library:Library").out
    assert shown.startswith("Toolset library:")
    assert shown.index("list_books") < shown.index("Settings:") < shown.index("Toolsets:")


def test_a_toolset_whose_extra_is_left_out_is_remarked_on_and_nothing_is_broken(inside, monkeypatch):
    monkeypatch.setitem(sys.modules, "cobra", None)
    ran = inside("doctor", "--json")
    assert ran.code == ExitCode.OK
    assert remarks_of(ran) == [("warning", "extra flux")]
    assert "pip install 'failsoft[flux]'" in ran.json["remarks"][0]["message"]
    assert remarks_of(inside("doctor", "flux", "--json")) == [("error", "extra flux")]


@pytest.mark.parametrize(
    ("module", "extra", "env"),
    [
        ("redis", "redis", {"FAILSOFT_STATE_URL": "redis://localhost"}),
        ("psycopg", "postgres", {"FAILSOFT_DOCS_DATABASE_URL": "postgresql://localhost/docs"}),
        ("tree_sitter", "policies", {"FAILSOFT_WORKSPACE_POLICIES": '["rust"]'}),
    ],
)
def test_an_extra_that_a_setting_needs_is_one_row(inside, monkeypatch, module, extra, env):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "failsoft.recovery.state.redis", raising=False)
    ran = inside("doctor", "--json", env=env)
    assert remarks_of(ran) == [("error", f"extra {extra}")]


def test_a_toolset_that_is_left_out_is_named_in_one_line(inside, monkeypatch):
    monkeypatch.setitem(sys.modules, "cobra", None)
    ran = inside("tools")
    assert (ran.code, ran.err.count("\n")) == (ExitCode.OK, 1)
    assert "pip install 'failsoft[flux]'" in ran.err


def test_a_bad_setting_is_broken_and_the_rest_is_still_shown_and_not_blamed(inside):
    env = {"FAILSOFT_MAX_THREADS": "many", "FAILSOFT_LOG_LEVEL": "DEBUG", "FAILSOFT_AUTH_TOKEN": "swordfish"}
    ran = inside("doctor", "--json", env=env)
    assert (ran.code, ran.err) == (ExitCode.FAILED, "")
    assert [(remark["severity"], remark["about"]) for remark in ran.json["remarks"]] == [("error", "settings")]
    assert "FAILSOFT_MAX_THREADS" in ran.json["remarks"][0]["message"]
    assert ran.json["versions"]["python"]
    rows = {row["name"]: row["value"] for row in ran.json["settings"]}
    assert (rows["max_threads"], rows["log_level"], rows["auth_token"]) == ("not usable", "(set)", "(set)")
    assert "swordfish" not in ran.out


def test_each_bad_setting_is_a_remark_or_a_line_of_its_own(inside):
    env = {"FAILSOFT_MAX_THREADS": "many", "FAILSOFT_STATE_TIMEOUT_S": "soon"}
    messages = [remark["message"] for remark in inside("doctor", "--json", env=env).json["remarks"]]
    assert [message.partition(" ")[0] for message in messages] == sorted(env)
    ran = inside("state", "list", env=env)
    lines = [line.split()[1] for line in ran.err.splitlines() if line.startswith("  fault: ")]
    assert (ran.code, lines) == (ExitCode.CONFIGURATION, sorted(env))


def test_a_toolset_that_is_not_installed_is_refused_as_by_other_commands(inside):
    for words in (["doctor", "dosc"], ["doctor", "--security", "dosc"], ["lint", "dosc"]):
        ran = inside(*words)
        assert (ran.code, ran.out, "did you mean 'docs'?" in ran.err) == (ExitCode.CONFIGURATION, "", True)


def test_settings_are_listed_by_what_sets_them(in_a_pipe):
    assert re.search(r"^FAILSOFT_MAX_THREADS +\S", in_a_pipe.out, re.MULTILINE)


def test_an_application_that_cannot_be_loaded_is_broken(run):
    ran = run("doctor", "--json", "--app", "library:Nobody")
    assert ran.code == ExitCode.FAILED
    assert [(remark["severity"], remark["about"]) for remark in ran.json["remarks"]] == [("error", "library:Nobody")]


def test_what_works_and_should_perhaps_not_is_a_warning(inside):
    found = {
        "FAILSOFT_MAX_THREDS": {"FAILSOFT_MAX_THREDS": "7"},
        "debug_stack": {"FAILSOFT_DEBUG_STACK": "true"},
        "detail": {"FAILSOFT_DETAIL": "full"},
        "cache": {"XDG_CACHE_HOME": "/dev/null/nowhere"},
    }
    ran = inside("doctor", "--json", env={name: value for env in found.values() for name, value in env.items()})
    assert (ran.code, ran.json["healthy"]) == (ExitCode.OK, True)
    remarks = [(remark["severity"], remark["about"]) for remark in ran.json["remarks"]]
    assert sorted(remarks) == sorted(("warning", about) for about in found)


def test_a_variable_that_names_no_setting_is_reported_with_the_one_that_may_be_meant(inside):
    """What all variables begin with makes none of them alike."""
    meant = {"FAILSOFT_WIRE_FROMAT": ["FAILSOFT_WIRE_FORMAT"], "FAILSOFT_TYPO": []}
    remarks = inside("doctor", "--json", env=dict.fromkeys(meant, "1")).json["remarks"]
    assert {remark["about"]: re.findall("FAILSOFT_\\w+", remark["message"]) for remark in remarks} == meant


def test_stacks_and_details_are_nothing_special_in_development(inside):
    env = {"FAILSOFT_ENVIRONMENT": "development", "FAILSOFT_DEBUG_STACK": "true"}
    assert inside("doctor", "--json", env=env).json["remarks"] == []


def test_the_mode_of_the_metrics_is_reported(inside, healthy):
    assert healthy.json["metrics"] == {"mode": "on"}
    assert inside("doctor", "--json", env={"FAILSOFT_METRICS_ENABLED": "false"}).json["metrics"] == {"mode": "off"}


def test_a_state_store_that_does_not_answer_is_broken(inside):
    ran = inside("doctor", "--json", env={"FAILSOFT_STATE_URL": "redis://127.0.0.1:1/0"})
    assert (ran.code, ran.json["state"]) == (ExitCode.FAILED, {"mode": "shared", "available": False})
    (remark,) = ran.json["remarks"]
    assert remark["about"] == "FAILSOFT_STATE_URL"
    assert re.search(r"redis://127.0.0.1:1/0: \w+ \(lost\)", remark["message"])


def test_a_store_that_no_server_has_made_yet_is_not_made(inside, tmp_path):
    file = tmp_path / "missing" / "s.sqlite"
    (remark,) = inside("doctor", "--json", env={"FAILSOFT_STATE_URL": f"sqlite:{file}"}).json["remarks"]
    assert (remark["severity"], str(file) in remark["message"]) == ("warning", True)
    assert not file.parent.exists()


def test_an_audit_log_that_cannot_be_kept_is_broken(inside):
    ran = inside("doctor", "--json", env={"FAILSOFT_AUDIT_PATH": "/dev/null/nowhere/log.jsonl"})
    assert (ran.code, ran.json["audit"]["usable"]) == (ExitCode.FAILED, False)
    assert [remark["about"] for remark in ran.json["remarks"]] == ["FAILSOFT_AUDIT_PATH"]


def test_an_audit_log_that_is_whole_is_usable(inside, tmp_path):
    log = tmp_path / "log.jsonl"
    ran = inside("doctor", "--json", env={"FAILSOFT_AUDIT_PATH": str(log)})
    assert (ran.code, ran.json["audit"]) == (ExitCode.OK, {"mode": "on", "path": str(log), "usable": True})


def test_in_a_pipe_it_is_plain(in_a_pipe):
    assert in_a_pipe.code == ExitCode.OK
    assert "\x1b" not in in_a_pipe.out
    assert re.search(r"^warning +FAILSOFT_MAX_THREDS ", in_a_pipe.out, re.MULTILINE)
