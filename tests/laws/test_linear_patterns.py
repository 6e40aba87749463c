"""Every pattern over foreign text takes time in proportion to its length: CPU time at 10 kB and at 100 kB."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from failsoft import ConfigurationError, InvalidParameter
from failsoft.tools.docs import Docs
from tests.doors import (
    DocTypeConfig,
    DocTypes,
    JsonSchemaArguments,
    glob_pattern,
    headings,
    load_policies,
    parse_document,
    redact_text,
)
from tests.each import each

UNITS = [
    *(
        "a",
        "aA0-",
        "a ",
        "(",
        "{",
        "[",
        "'",
        '"',
        "/*",
        "//",
        "#",
        'r#"',
        "<",
        "\\",
        "password=",
        "password: ",
        "todo!(",
    ),
    *("<<<<<<<", "fn ", "x.unwrap()", "_", "eyJ", "&'a ", "://a:", "https://a@", "?key=", "-u a:", "--token ", "<a>"),
    *(
        "Bearer ",
        "cookie: a",
        "authorization: ",
        "hooks.slack.com/services/",
        "SG.",
        "key-",
        "=",
        ":",
        "token token ",
        "password is ",
        "token\t",
    ),
]
POLICIES = {"generic": "a.txt", "rust": "a.rs", "python": "a.py", "typescript": "a.ts"}
PARSING = {"python", "rust", "typescript"}
CODE = [
    "eval(x)\n",
    "try:\n    f()\nexcept E:\n    pass\n",
    "try { f() } catch {}\n",
    "catch (e) {",
    "except:\n",
    "// @ts-ignore\n",
]
"""Source of the languages that are parsed, besides what all policies are given."""
HEADINGS = ["# a", "#", "# *", "# `", "# [", "# ![", "[a](", "> ", "*a ", "&#", "# \t ", "[["]
LINES = [
    "# a\n",
    "a\n=\n",
    "> # a\n",
    "- [a](b)\n",
    "```\n",
    "~~~ a\n",
    "<!--\n",
    "---\n",
    "a: b\n",
    "# a {#b}\n",
    "[a]: b\n",
    "![a](b",
]


def grows_in_proportion(work: Callable[[str], object], unit: str) -> bool:
    def cost(length: int) -> float:
        text = unit * (length // len(unit))
        started = time.process_time()
        work(text)
        return time.process_time() - started

    small = min(cost(10_000) for _ in range(3))
    return any(cost(100_000) <= 30 * max(small, 0.001) for _ in range(3))


@each("unit", UNITS)
def test_redaction_is_linear(unit: str) -> None:
    assert grows_in_proportion(redact_text, unit)


@pytest.mark.parametrize("name", ["generic", "python"])  # the others: tests/slow/benchmarks
def test_policies_are_linear(name: str) -> None:
    assert slow_units(name) == []


def slow_units(name: str) -> list[str]:
    """Return the texts that cost a policy more than their length says."""
    if name in PARSING:
        pytest.importorskip("tree_sitter", reason="the extra 'policies' is not installed")
    (policy,) = load_policies((name,))
    return [
        unit
        for unit in [*UNITS, *(CODE if name in PARSING else [])]
        if not grows_in_proportion(lambda text: list(policy.findings(POLICIES[name], text)), unit)
    ]


def test_reading_a_page_is_linear(tmp_path: Path) -> None:
    tool = Docs(tmp_path)

    def read(text: str) -> None:
        (tmp_path / "page.md").write_text(text)
        asyncio.run(tool.execute_with_error_handling("get_documentation", {"path": "page.md"}))

    read("warm")
    assert [unit for unit in [*HEADINGS, *LINES] if not grows_in_proportion(read, unit)] == []


def read_title(text: str) -> object:
    return parse_document("a.md", text.encode())


PLACES = [("# ", ""), ("# a", "x"), ("# ", "]"), ("[a](", "x"), ("[", "x")]
REPEATED = [
    " ",
    "\t",
    " #",
    "<a",
    "![",
    "[",
    "](",
    "[a](",
    "[a](b",
    "{#",
    " {#",
    "`",
    "**",
    "\\[",
    "[a]:",
    "![a](",
    "[a][",
    " href='",
]


@pytest.mark.parametrize("read", [headings, read_title])  # links: tests/slow/benchmarks
def test_reading_the_headings_of_one_long_line_is_linear(read: Callable[[str], object]) -> None:
    assert slow_lines(read) == []


def slow_lines(read: Callable[[str], object]) -> list[tuple[str, str, str]]:
    """Return the long lines that cost more than their length says: how they begin, what is repeated, how they end."""
    return [
        (start, unit, end)
        for start, end in PLACES
        for unit in REPEATED
        if not grows_in_proportion(lambda text: read(f"{start}{text}{end}"), unit)  # noqa: B023 - called at once
    ]


def test_globs_of_a_configuration_are_matched_in_bounded_time() -> None:
    pattern = glob_pattern("*a" * 30 + "b")
    assert grows_in_proportion(pattern.fullmatch, "a")
    assert glob_pattern("**/" * 200 + "a").fullmatch("b/" * 500) is None
    with pytest.raises(ConfigurationError):
        glob_pattern("**/a/" * 5)


SLOW = "^(a+)+$"
"""Takes exponential time in an engine that backtracks."""


def test_patterns_of_json_schemas_are_matched_in_linear_time(tmp_path: Path) -> None:
    slow = {"type": "string", "pattern": SLOW}
    arguments = JsonSchemaArguments("tool", {"type": "object", "properties": {"a": slow}})
    assert arguments.validate({"a": "aaa"}) == {"a": "aaa"}
    with pytest.raises(InvalidParameter) as raised:
        arguments.validate({"a": "a" * 10_000 + "!"})
    assert [item.path for item in raised.value.violations] == ["a"]

    schema = {"properties": {"name": slow}, "patternProperties": {SLOW: {}}}
    config = {"name": "p", "docs_root": ".", "doc_types": [{"name": "t", "paths": ["*.md"], "schema": schema}]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "page.md").write_text(f"---\nname: {'a' * 100}!\n{'a' * 100}b: 1\n---\n# a\n")
    tool = Docs(tmp_path)

    async def validate() -> Any:
        active = await tool.execute_with_error_handling("activate_project", {"config_path": "config.json"})
        params = {"path": "page.md", "project": active.to_dict()["data"]["project"]}
        return await tool.execute_with_error_handling("validate_document", params)

    assert "name" in json.dumps(asyncio.run(validate()).to_dict())


def test_a_pattern_with_look_ahead_still_works_for_tools_and_is_refused_in_a_configuration() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=.*[0-9])a"}}}
    arguments = JsonSchemaArguments("tool", schema)
    assert arguments.validate({"a": "a1"}) == {"a": "a1"}
    with pytest.raises(InvalidParameter):
        arguments.validate({"a": "ab"})
    with pytest.raises(ConfigurationError, match="look-around"):
        DocTypes.from_config([DocTypeConfig(name="t", schema=schema)], {"t": schema})
