"""What holds for every command: help, exit codes, errors without a traceback, plain text in a pipe."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from failsoft import __version__
from tests.doors import ExitCode, entries, exit_code_of, known_commands
from tests.zygote import PYTHON

COMMANDS = list(known_commands())
GROUPED = [f"{name} {inner}" for name, command in known_commands().items() for inner in command.functions]
GROUPS = {name.partition(" ")[0] for name in GROUPED}
ESCAPE = "\x1b"
HEAVY = ("mcp", "prometheus_client", "starlette", "uvicorn", "sqlite3", "yaml", "jsonschema", "pydantic_settings")
NOT_FOR_HELP = ("pydantic", "loguru", "rich")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_is_plain_and_shows_examples(inside, name):
    ran = inside(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ESCAPE not in ran.out
    assert name in {*GROUPS, "demo"} or f"  Examples:\n    failsoft {name}" in ran.out
    assert "Exit codes" not in ran.out


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_the_help_ends_with_the_exit_codes(inside, option):
    ran = inside(option)
    assert (ran.code, ran.err) == (0, "")
    assert ESCAPE not in ran.out
    reported = re.findall(r"^ +(\d+) +(\S.*)$", ran.out[ran.out.index("Exit codes:") :], re.MULTILINE)
    assert reported == [(str(code.value), code.meaning) for code in ExitCode]


def test_these_commands_alone_are_groups():
    """A file without a function of its name is a group, so that a stray module would become a command."""
    assert sorted(GROUPS) == ["audit", "monitoring", "plans", "state"]
    assert all(command.help[0].isupper() for command in known_commands().values())


def test_the_help_lists_every_command(inside):
    listed = re.findall(
        r"^  (\w+) {2,}\S", inside("--help").out.split("Commands:")[1].split("Exit codes")[0], re.MULTILINE
    )
    assert sorted(listed) == COMMANDS


def test_the_help_fits_a_terminal_of_80_columns_and_cuts_no_line_short(inside):
    text = inside("--help").out
    assert [line for line in text.splitlines()[1:] if len(line) > 80 or line.endswith("...")] == []
    assert [name for name in COMMANDS if not re.search(rf"^  {name} +\S.*[.?]$", text, re.MULTILINE)] == []


def test_without_a_command_the_commands_are_listed(inside):
    ran = inside()
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    assert "Commands:" in ran.err


def test_the_version_is_printed(inside):
    ran = inside("--version")
    assert (ran.code, ran.out) == (0, f"failsoft {__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["serv"], "INVALID_PARAM", "failsoft serve --help"),
        (["quux"], "INVALID_PARAM", "failsoft --help"),
        (["audit", "verfy"], "INVALID_PARAM", "failsoft audit verify --help"),
        (["audit"], "INVALID_PARAM", "failsoft audit --help"),
        (["codes", "--fromat", "json"], "INVALID_PARAM", "failsoft codes --help"),
        (["codes", "--format", "xml"], "INVALID_PARAM", "failsoft codes --help"),
        (["call"], "INVALID_PARAM", "failsoft call --help"),
        (["serve", "docs", "--port", "many"], "INVALID_PARAM", "failsoft serve --help"),
        (["proxy"], "INVALID_PARAM", "failsoft proxy --help"),
        (["serve", "docs", "--workers", "0"], "INVALID_PARAM", "failsoft serve --help"),
    ],
)
def test_a_misspelt_command_line_is_answered_with_a_better_one(inside, arguments, code, hint):
    ran = inside(*arguments)
    assert (ran.code, ran.out) == (ExitCode.USAGE, "")
    first, *more = ran.err.splitlines()
    assert first.startswith(f"{code}: ")
    assert f"  next: {hint}" in more
    assert f"  more: failsoft explain {code}" in more


def test_a_defect_of_failsoft_is_no_traceback(run, folder):
    (folder / "broken.py").write_text("from tests.doors import codes_module as it\ndel it.entries\n")
    ran = run("codes", "--app", "broken:it")
    assert (ran.code, ran.out) != (ExitCode.OK, "")
    assert "Traceback" not in ran.err


OWN = [kind for kind in entries() if kind.__module__.startswith("failsoft.")]


def test_every_error_leads_to_an_exit_code_that_is_not_success():
    assert [kind.code for kind in OWN if exit_code_of(kind(message="It failed.")) == ExitCode.OK] == []


@pytest.mark.parametrize("arguments", [["codes"], ["codes", "--format", "json"], ["--help"]])
def test_a_reader_that_has_left_is_no_error(folder, arguments):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody:
        command = [PYTHON, "-m", "failsoft", *arguments]
        done = subprocess.run(command, cwd=folder, stdout=nobody, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (ExitCode.READER_LEFT, "")


@pytest.mark.parametrize(("where", "code"), [("/dev/full", ExitCode.FAILED), ("&-", ExitCode.OK)])
def test_output_that_cannot_be_written_is_no_traceback(folder, where, code):
    done = subprocess.run(
        ["bash", "-c", f"{PYTHON} -m failsoft codes >{where}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert done.stderr.startswith("STORAGE_ERROR: " if code else "")


def test_output_for_a_terminal_without_unicode_does_not_end_a_command(run):
    ran = run("call", "get_book", "title=größe", "--app", "library:Library", env={"PYTHONIOENCODING": "ascii"})
    assert ran.code == ExitCode.FAILED
    assert r"gr\xf6\xdfe" in ran.out
    assert ran.out.isascii()


def test_light_commands_load_nothing_heavy(folder):
    """One after the other in one process, as what is loaded stays; the last one may load more."""
    commands = [["--help"], ["quux"], ["explain", "DOC_NOT_FOUND"], ["explain", "NO_SUCH"]]
    program = (
        "import contextlib, io, sys; from tests.doors import run\n"
        f"for arguments in {commands!r}:\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):\n"
        "        run(arguments)\n"
        f"    print(*sorted(sys.modules.keys() & { ({*HEAVY, *NOT_FOR_HELP})!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    help_, *light, last = (set(line.split()) for line in done.stdout.splitlines())
    assert help_ == set()
    assert [loaded & set(HEAVY) for loaded in light] == [set()] * len(light)
    assert last & {"mcp", "prometheus_client", "starlette", "uvicorn"} == set()


def test_the_documented_exit_codes_are_those_of_the_code():
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md").read_text()
    assert re.findall(r"^\| (\d+) \| (.+) \|$", page, re.MULTILINE) == [
        (str(code.value), code.meaning) for code in ExitCode
    ]


def test_the_page_documents_every_command():
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md").read_text()
    documented = re.findall(r"^## `failsoft ([\w ]+)`$", page, re.MULTILINE)
    assert sorted(documented) == sorted([*(name for name in COMMANDS if name not in GROUPS), *GROUPED])


def test_the_installed_command_is_the_same(folder):
    script = Path(sys.executable).with_name("failsoft")
    if not script.exists():
        pytest.skip("failsoft is not installed into this environment, only on its path")
    done = subprocess.run([script, "--version"], cwd=folder, env=os.environ, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("failsoft ")
