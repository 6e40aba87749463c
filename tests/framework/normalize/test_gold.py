"""Exceptions of the libraries that tools use: every public class has its category, real ones their facts."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.doors import catalogue_module as catalogue, normalize
from tests.each import each
from tests.framework.normalize.gold import MODULES, TABLE, judged

pytestmark = pytest.mark.xdist_group("libraries")  # one worker imports them, which takes two seconds
OUR_BUGS = {"UsageError", "InternalClientError", "InvalidOperation"}
"""Classes that say that the tool itself is wrong."""


def outdated() -> list[str]:
    """Return the libraries that are not the ones that the table was written for: those of constraints.txt."""
    text = (Path(__file__).parents[3] / "constraints.txt").read_text()
    pinned = dict(
        re.findall(
            r"^(anthropic|asyncpg|grpcio|openai|psycopg|pymongo|pymysql|pyyaml)==(\S+)",
            text,
            re.MULTILINE,
        )
    )
    assert len(pinned) == 8
    return [name for name, pin in pinned.items() if version(name) != pin]


@pytest.mark.skipif(bool(outdated()), reason=f"other versions than the table was written for: {outdated()}")
def test_every_public_class_has_the_category_of_the_gold_table():
    assert judged() == json.loads(TABLE.read_text())


def test_nothing_common_falls_to_internal():
    internal = {name for by_category in judged().values() for name in by_category.get("internal", [])}
    assert internal == OUR_BUGS


def test_every_category_of_the_table_exists():
    known = {entry.category for entry in catalogue.entries()}
    assert {category for by_category in judged().values() for category in by_category} <= known
    assert json.loads(TABLE.read_text()).keys() == MODULES.keys()


def caught(function: Any, *arguments: Any) -> BaseException:
    try:
        function(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever it raises is the case
        return error
    raise AssertionError


@each("exc, code, wait, effect", lambda: import_module("tests.framework.normalize.real").REAL)
def test_a_real_exception_has_its_code_its_wait_and_its_phase(exc, code, wait, effect):
    error = normalize(exc)
    assert (error.code, error.retry_after_seconds, error.effect) == (code, wait, effect)


@pytest.mark.parametrize(
    ("exc", "retry"),
    [
        (subprocess.CalledProcessError(3, "x", stderr="no such colour"), "after_fix"),
        (subprocess.CalledProcessError(3, "x"), "never"),
        (subprocess.CalledProcessError(-9, "x"), "after_delay"),
    ],
    ids=["with a reason", "without one", "killed"],
)
def test_a_program_that_failed_is_not_worth_the_same_call_again(exc, retry):
    assert normalize(exc).retry == retry


@pytest.mark.parametrize("command", [["/nonexistent/program"], [sys.executable, "-c", ""]], ids=["program", "folder"])
def test_a_program_that_cannot_be_started_is_for_the_operator(command, tmp_path):
    folder = tmp_path / "gone" if len(command) > 1 else tmp_path
    error = normalize(caught(functools.partial(subprocess.run, command, cwd=folder, check=True)))
    assert (error.code, error.effect, error.retry) == ("CONFIG_ERROR", "none", "never")


def test_a_file_that_a_tool_opens_itself_is_still_not_found():
    assert normalize(caught(open, "/nonexistent/file")).code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("exc", "line"),
    [
        (caught(json.loads, '{\n"a": }'), 2),
        (caught(tomllib.loads, "a = 1\nb = "), None),
        (caught(yaml.safe_load, "a: 1\nb: [1\n"), 3),
        (caught(ET.fromstring, "<a>\n<b>\n</a>"), 3),
    ],
    ids=["json", "toml", "yaml", "xml"],
)
def test_the_place_of_a_fault_in_a_text_is_kept_for_developers(exc, line):
    error = normalize(exc)
    assert error.code == "BAD_OUTPUT"
    assert line is None or error.details["line"] == line
