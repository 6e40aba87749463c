"""One call from the command line."""

from __future__ import annotations

import re

import pytest

from tests.doors import ExitCode

APP = ("--app", "library:Library")


def test_an_answer_is_printed_as_it_goes_over_the_wire(run):
    ran = run("call", "get_book", "title=Dune", *APP)
    assert (ran.code, ran.err) == (0, "")
    assert (ran.json["success"], ran.json["data"]) == (True, 2)


def test_a_failure_is_printed_whole_and_ends_with_1(run):
    ran = run("call", "get_book", "title=Duna", *APP)
    assert (ran.code, ran.err) == (ExitCode.FAILED, "")
    error = ran.json["error"]
    assert (error["code"], error["effect"], error["retry"]) == ("BOOK_NOT_FOUND", "none", {"when": "after_fix"})
    assert error["next_step"] == {"tool": "list_books", "arguments": {}}


def test_numbers_are_read_by_the_schema(run):
    assert run("call", "list_books", "limit=1", *APP).json["data"] == ["Dune"]


def test_all_faults_of_the_arguments_are_reported_at_once(run):
    ran = run("call", "list_books", "limit=many", "sort=title", *APP)
    assert ran.code == ExitCode.FAILED
    assert ran.json["error"]["code"] == "INVALID_PARAM"
    found = {fault["path"]: fault["reason"] for fault in ran.json["error"]["violations"]}
    assert found == {"limit": "type", "sort": "unexpected"}


def test_arguments_come_as_json_and_a_word_replaces_one(run):
    assert run("call", "list_books", "--json", '{"limit": 1}', *APP).json["data"] == ["Dune"]
    assert run("call", "list_books", "--json", '{"limit": 1}', "limit=2", *APP).json["data"] == ["Dune", "Emma"]


def test_arguments_come_from_standard_input(run):
    assert run("call", "list_books", "--json", "-", *APP, stdin='{"limit": 1}').json["data"] == ["Dune"]


def test_an_answer_fits_in_one_line_if_it_is_asked_to(run):
    assert len(run("call", "list_books", "--compact", *APP).out.splitlines()) == 1


def test_an_installed_toolset_is_found_by_its_operation(run):
    ran = run("call", "get_documentation", "path=intro.md", "--root", "docs")
    assert ran.code == 0
    assert ran.json["metadata"]["recovery"]["changed"] == {"path": "intro.mdx"}


@pytest.mark.parametrize("where", [("--root", "docs"), ("--toolset", "docs"), APP])
def test_an_unknown_operation_is_answered_with_the_closest(run, where):
    name, closest = ("get_bok", "get_book") if where == APP else ("list_document", "list_documents")
    ran = run("call", name, *where)
    assert ran.code == ExitCode.FAILED
    assert ran.json["error"]["code"] == "UNKNOWN_TOOL"
    assert ran.json["error"]["violations"][0]["suggestion"] == closest


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["get_book", "Dune", *APP], ExitCode.USAGE),
        (["get_book", "--json", "{", *APP], ExitCode.USAGE),
        (["get_book", "title=Dune", "--app", "library"], ExitCode.CONFIGURATION),
        (["get_book", "title=Dune", "--app", "library:Libary"], ExitCode.CONFIGURATION),
        (["get_book", "title=Dune", "--app", "library:number"], ExitCode.CONFIGURATION),
        (["get_book", "title=Dune", "--toolset", "dosc"], ExitCode.CONFIGURATION),
        (["list_documents", "--root", "no-such-folder"], ExitCode.CONFIGURATION),
        (["wait", "--app", "library:Stuck"], ExitCode.NOT_STARTED),
    ],
)
def test_what_cannot_be_called_is_a_typed_error_and_no_traceback(run, arguments, code):
    ran = run("call", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.split(":")[0].isupper()
    assert "Traceback" not in ran.err


def test_an_application_that_ends_the_program_is_a_configuration_error(run, folder):
    (folder / "leaving.py").write_text("import sys\nsys.exit(0)\n")
    ran = run("call", "anything", "--app", "leaving:app")
    assert (ran.code, ran.out) == (ExitCode.CONFIGURATION, "")
    assert ran.err.startswith("CONFIG_ERROR: ")


def test_a_bad_setting_is_named(run):
    ran = run("call", "get_book", "title=Dune", *APP, env={"FAILSOFT_MAX_THREADS": "many"})
    assert (ran.code, ran.out) == (ExitCode.CONFIGURATION, "")
    assert "FAILSOFT_MAX_THREADS" in ran.err
    assert "many" not in ran.err


def test_the_wire_format_is_the_one_that_is_set(run):
    ran = run("call", "get_book", "title=Duna", *APP, env={"FAILSOFT_WIRE_FORMAT": "problem"})
    assert (ran.code, ran.json["status"]) == (ExitCode.FAILED, 404)


def test_the_error_of_an_argument_written_as_an_option_shows_its_form(run):
    ran = run("call", "list_documents", "--limit", "5")
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    assert any(line.startswith("  next: limit=") for line in ran.err.splitlines())


def test_a_toolset_that_does_not_exist_is_answered_with_the_same_call_of_the_closest(run):
    ran = run("call", "list_documents", "--toolset", "dosc")
    assert ran.code == ExitCode.CONFIGURATION
    assert "  next: failsoft call list_documents --toolset docs" in ran.err.splitlines()


def test_a_crash_is_shown_to_its_author_and_not_to_the_caller(run):
    ran = run("call", "peek", "title=Duna", "--app", "library:Crashing")
    assert ran.code == ExitCode.FAILED
    assert ran.json["error"]["code"] == "UNKNOWN_ERROR"
    assert "Duna" not in ran.out
    stack = ran.err[ran.err.index("Traceback") :].splitlines()
    assert stack[1].endswith("in peek")
    assert "library.py" in stack[1]
    assert stack[-1] == "KeyError: 'Duna'"
    assert "failsoft/framework" not in ran.err
    assert ran.json["error"]["error_id"] in ran.err


def test_a_start_up_that_fails_is_reported_with_file_and_line(run, folder):
    (folder / "bad_start.py").write_text(
        "import os\nfrom failsoft import BaseTool, operation\n\n\n"
        "class Bad(BaseTool):\n    async def startup(self) -> None:\n"
        "        self.url = os.environ['NO_SUCH_URL']\n\n    @operation\n    async def go(self) -> None: ...\n"
    )
    for command in (("call", "go"), ("serve",)):
        ran = run(*command, "--app", "bad_start")
        assert (ran.code, ran.out) == (ExitCode.NOT_STARTED, "")
        assert re.search(r"cause: KeyError: 'NO_SUCH_URL' \(.*bad_start\.py:7 in startup\)", ran.err), ran.err


def test_what_a_handler_prints_does_not_mix_with_the_answer(run):
    ran = run("call", "peek", "title=Dune", "--app", "library:Crashing")
    assert ran.json["data"] == 2
    assert "looking for Dune" in ran.err
    assert "a child process prints as well" in ran.err


NOTES = """
from failsoft import BaseTool, operation
from failsoft import ToolsetSettings

class NotesSettings(ToolsetSettings):
    path: str = "notes.txt"

class Notes(BaseTool):
    Settings = NotesSettings

    @operation(read_only=True)
    async def place(self) -> str:
        return self.settings.path
"""


def test_a_misspelt_setting_of_the_toolset_is_named(run, folder):
    (folder / "notes.py").write_text(NOTES)
    ran = run("call", "place", "--app", "notes:Notes", env={"FAILSOFT_NOTES_PAHT": "other.txt"})
    assert (ran.code, ran.json["data"]) == (0, "notes.txt")
    assert ran.err == "warning: No setting is named FAILSOFT_NOTES_PAHT; did you mean FAILSOFT_NOTES_PATH?\n"
    assert run("call", "place", "--app", "notes:Notes", env={"FAILSOFT_NOTES_PATH": "other.txt"}).err == ""
