"""Issues that are written here stand in a message as they are; a quotation in them is no other's sentence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import failsoft
from failsoft import ConfigurationError

SOURCE = Path(failsoft.__file__).parent


def issues() -> Iterator[tuple[str, str]]:
    """Yield the issues of configuration errors with where they are, each value in them being capitalized."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "issue":
                found = node.value
                parts = found.values if isinstance(found, ast.JoinedStr) else [found]
                if all(isinstance(part, ast.Constant | ast.FormattedValue) for part in parts):
                    text = "".join(map(_written, parts))
                    yield f"{file.relative_to(SOURCE)}:{node.value.lineno}", text


def _written(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    value = ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else ""
    return "a clause or a key" if value in {"issue", "fault", "'.'.join((*path, name))"} else "Foreign"


def test_no_issue_written_here_is_quoted() -> None:
    written = {place: (issue, ConfigurationError(issue=issue).message) for place, issue in issues()}
    quoted = {place for place, (issue, message) in written.items() if message != f"Configuration error: {issue}."}
    assert not quoted, "what a value says goes into parentheses, what it names into quotation marks"


@pytest.mark.parametrize("issue", ['no such name: "A b"', "a.toml: 'x'; 'Y' is not accepted", 'one; "A"; "B"'])
def test_a_quotation_after_a_colon_is_not_quoted_again(issue: str) -> None:
    assert ConfigurationError(issue=issue).message == f"Configuration error: {issue}."


@pytest.mark.parametrize(
    "issue", ["gone: Call it", 'gone. "Call it" now', "gone: 'Call", "gone; `call`", 'gone: "Call']
)
def test_what_could_be_a_sentence_of_its_own_is_quoted(issue: str) -> None:
    assert ConfigurationError(issue=issue).message.startswith('Configuration error: "gone')
