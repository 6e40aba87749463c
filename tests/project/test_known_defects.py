"""Known defects: each is a test of the right behavior, with a strict mark that says what is wrong."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REASON_AT_LEAST = 20
NAMED = re.compile(
    r"#\d+|\b(?:issue|ticket|bug|PR|pull request|commit|TODO|FIXME) ?#?\d*\b(?=\W*$)|https?://|\b(?=[a-f]*\d)[0-9a-f]{7,40}\W*$|@\w+\W*$"
)
"""An issue, a commit, an address or a person: of none of them will a reader know what is meant."""

MARK = """
import pytest

@pytest.mark.xfail({arguments})
def test_it() -> None:
    assert False
"""
RIGHT = 'strict=True, raises=AssertionError, reason="one and one are three; they should be two"'
PLANTED = {
    "no strict": MARK.format(arguments=RIGHT.replace("strict=True, ", "")),
    "not strict": MARK.format(arguments=RIGHT.replace("True", "False")),
    "strict by a name": MARK.format(arguments=RIGHT.replace("True", "STRICT")),
    "no raises": MARK.format(arguments=RIGHT.replace("raises=AssertionError, ", "")),
    "no reason": MARK.format(arguments="strict=True, raises=AssertionError"),
    "a short reason": MARK.format(arguments='strict=True, raises=AssertionError, reason="broken"'),
    "a reason by a name": MARK.format(arguments="strict=True, raises=AssertionError, reason=WHY"),
    "a formatted reason": MARK.format(arguments=RIGHT.replace('reason="', 'reason=f"{WHY} ')),
    "an issue": MARK.format(arguments=RIGHT.replace('two"', 'two, see #12"')),
    "a commit": MARK.format(arguments=RIGHT.replace('two"', 'two since 856b08e"')),
    "a person": MARK.format(arguments=RIGHT.replace('two"', 'two, says @ada"')),
    "a condition": MARK.format(arguments=f"CONDITION, {RIGHT}"),
    "more arguments": MARK.format(arguments=f"{RIGHT}, run=False"),
    "no arguments": MARK.replace("({arguments})", ""),
    "of a class": MARK.format(arguments=RIGHT).replace("def test_it() -> None:", "class TestIt:"),
    "with @each": MARK.format(arguments=RIGHT).replace("\ndef", "\n@each(number=[1, 2])\ndef"),
    "a mark with a name": f"import pytest\n\nWRONG = pytest.mark.xfail({RIGHT})\n",
    "a mark of a file": f"import pytest\n\npytestmark = pytest.mark.xfail({RIGHT})\n",
    "a call": 'import pytest\n\n\ndef test_it() -> None:\n    pytest.xfail("it is not worth much")\n',
    "an imported name": "from pytest import mark, xfail\n\n@mark.xfail\ndef test_it() -> None:\n    assert False\n",
    "a mark by its name": 'import pytest\n\nMARK = getattr(pytest.mark, "xfail")\n',
}


def faults_of(tree: ast.Module) -> list[str]:
    """Return what is wrong with the marks of a file, with their lines."""
    right = {id(mark.func) for mark in placed(tree) if isinstance(mark, ast.Call) and not fault_of(mark)}
    faults = [f"{mark.lineno}: {fault_of(mark)}" for mark in placed(tree) if fault_of(mark)]
    said = {int(fault.split(":")[0]) for fault in faults}
    for node in ast.walk(tree):
        if is_xfail(node) and id(node) not in right and node.lineno not in said:
            faults.append(f"{node.lineno}: xfail that is neither a decorator of a test nor a mark of `pytest.param`")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [ast.unparse(decorator) for decorator in node.decorator_list]
            if any("xfail" in name for name in names) and any(re.match(r"each\b", name) for name in names):
                faults.append(f"{node.lineno}: together with @each, whose group of failures is no AssertionError")
    return faults


def is_xfail(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="xfail") | ast.Name(id="xfail") | ast.Constant(value="xfail") | ast.alias(name="xfail"):
            return True
    return False


def placed(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the marks that are decorators of functions or the `marks` of a `pytest.param`."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(decorator_list=found) | ast.AsyncFunctionDef(decorator_list=found):
                pass
            case ast.Call(func=function, keywords=keywords) if ast.unparse(function) == "pytest.param":
                found = [keyword.value for keyword in keywords if keyword.arg == "marks"]
            case _:
                continue
        for one in found:
            if any(is_xfail(part) for part in ast.walk(one.func if isinstance(one, ast.Call) else one)):
                yield one


def fault_of(mark: ast.expr) -> str:
    """Return what is wrong with a mark, "" if nothing is."""
    if not isinstance(mark, ast.Call) or ast.unparse(mark.func) != "pytest.mark.xfail":
        return "not written as `pytest.mark.xfail(...)`"
    if mark.args or {keyword.arg for keyword in mark.keywords} != {"strict", "raises", "reason"}:
        return "not exactly `strict`, `raises` and `reason`"
    given = {keyword.arg: keyword.value for keyword in mark.keywords}
    reason = given["reason"].value if isinstance(given["reason"], ast.Constant) else None
    if ast.unparse(given["strict"]) != "True":
        return "not `strict=True`"
    if not isinstance(reason, str) or len(reason) < REASON_AT_LEAST:
        return f"no reason of at least {REASON_AT_LEAST} characters, written out"
    return f"the reason names {found[0]!r}" if (found := NAMED.search(reason)) else ""


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_a_mark_that_says_too_little_is_found(planted: str) -> None:
    assert faults_of(ast.parse(planted))


@pytest.mark.parametrize(
    "arguments", [RIGHT, RIGHT.replace('"one', '("one "\n"and').replace('two"', 'two")')], ids=["a line", "two lines"]
)
def test_a_mark_that_says_all_is_accepted(arguments: str) -> None:
    assert faults_of(ast.parse(MARK.format(arguments=arguments))) == []


def test_every_known_defect_is_strict_and_says_what_is_wrong(root: Path) -> None:
    wrong = [
        f"{path.relative_to(root)}:{fault}"
        for path in sorted((root / "tests").rglob("*.py"))
        if path != Path(__file__) and "xfail" in (text := path.read_text(encoding="utf-8"))
        for fault in faults_of(ast.parse(text))
    ]
    assert wrong == []
