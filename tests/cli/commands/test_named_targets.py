"""A target that the command line names is never ignored, and the security check looks at what will be served."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.doors import ExitCode

NOBODY = "http://127.0.0.1:9"
"""No server answers there: a command that asks it has ignored the other target."""
AT_HOME = """
from pathlib import Path

from library import Library


class AtHome(Library):
    '''Books in the home folder.'''

    roots = (Path.home(),)
"""


@pytest.fixture
def home(folder: Path) -> Path:
    """Return a home folder; `shelf:AtHome` is an application whose root it is."""
    (folder / "shelf.py").write_text(AT_HOME)
    made = folder / "home"
    made.mkdir()
    return made


def about(run: Run, *arguments: str, **variables: str) -> set[tuple[str, str]]:
    """Return what the security check finds."""
    ran = run("doctor", "--security", "--json", *arguments, env=variables)
    assert ran.code in {ExitCode.OK, ExitCode.FAILED}, ran.err
    return {(one["about"], one["message"]) for one in ran.json["findings"]}


@pytest.mark.parametrize(
    "arguments",
    [
        ("tools", "docs"),
        ("tools", "--app", "library:Library"),
        ("lint", "docs"),
        ("lint", "--app", "library:Library"),
        ("call", "get_book", "title=Dune", "--app", "library:Library"),
        ("call", "list_documents", "--toolset", "docs"),
    ],
    ids=" ".join,
)
def test_a_url_goes_with_no_other_target(inside: Run, arguments: tuple[str, ...]) -> None:
    assert inside(*arguments, "--url", NOBODY).code == ExitCode.USAGE


def test_the_name_of_a_module_in_the_folder_is_corrected(inside: Run) -> None:
    ran = inside("lint", "library")
    assert ran.code == ExitCode.CONFIGURATION
    assert "next: failsoft lint --app library" in ran.err


def test_a_file_is_an_application(run: Run) -> None:
    assert "name one: library:Library" in run("tools", "library.py").err


def test_a_call_of_an_operation_that_no_installed_toolset_has_names_the_option_for_own_tools(inside: Run) -> None:
    assert "--app MODULE:CLASS" in inside("call", "get_book", "title=Dune").err


def test_the_security_check_of_an_unknown_toolset_is_refused(run: Run) -> None:
    assert run("doctor", "--security", "nosuch").code == ExitCode.CONFIGURATION


def test_the_security_check_of_an_application_that_cannot_be_loaded_is_refused(run: Run) -> None:
    assert run("doctor", "--security", "--app", "nosuch:Library").code == ExitCode.CONFIGURATION


def test_the_security_check_looks_at_the_application_of_the_project(run: Run, folder: Path, home: Path) -> None:
    variables = {"HOME": str(home), "XDG_STATE_HOME": str(folder / "state")}
    named = {found for found in about(run, "--app", "shelf:AtHome", **variables) if found[0] == str(home)}
    if not named:
        raise RuntimeError
    (folder / "pyproject.toml").write_text('[tool.failsoft]\napp = "shelf:AtHome"\n')

    assert named <= about(run, **variables)


def test_the_security_check_of_one_target_leaves_out_the_others(run: Run, folder: Path) -> None:
    (folder / "served").mkdir()

    assert "/" not in {path for path, _ in about(run, "--app", "library:Library")}
    assert "/" not in {path for path, _ in about(run, "docs", "--root", "served")}


def test_the_security_check_names_roles_that_let_one_client_approve_its_plans(run: Run) -> None:
    target = ("workspace", "--root", "docs")
    apart = about(run, *target, FAILSOFT_WORKSPACE_ROLES="LEAD:read+plan,WINDSURF:read+write")
    together = about(run, *target, FAILSOFT_WORKSPACE_ROLES="LEAD:read+plan,REVIEW:read+approve,WINDSURF:read+write")

    assert together - apart != set()


@pytest.mark.parametrize("command", [("list",), ("open", "bank"), ("close", "bank"), ("reset", "bank")])
def test_the_state_of_a_running_server_is_asked_for_by_its_url(inside: Run, command: tuple[str, ...]) -> None:
    ran = inside("state", *command, "--url", NOBODY)
    assert ran.code == ExitCode.FAILED
    assert ran.err.startswith("UNAVAILABLE: No failsoft server answers at http://127.0.0.1:9/")


ROLES = "LEAD:read+plan,REVIEW:read+approve,WINDSURF:read+write"


def test_the_start_names_what_is_left_open_beside_a_governed_toolset(run: Run) -> None:
    ran = run("serve", "edit", "workspace", "--root", "docs", env={"FAILSOFT_WORKSPACE_ROLES": ROLES})

    assert (ran.code, "FAILSOFT_WORKSPACE_ROLES" in ran.err) == (ExitCode.OK, True)
    assert "multi_edit" in ran.err


def test_a_role_is_refused_where_no_toolset_takes_it(run: Run) -> None:
    ran = run("serve", "docs", "--root", "docs", "--role", "WINDSURF")

    assert (ran.code, "--role" in ran.err) == (ExitCode.CONFIGURATION, True)
    assert run("serve", "workspace", "--root", "docs", "--role", "WINDSURF").code == ExitCode.OK
