"""Show which conditions of the tests are checked, so that a change of the suite can be shown to lose none.

    CONDITIONS=after PYTHONPATH=. pytest -p scripts.conditions ...    # writes after.PID for each process
    scripts/conditions.py REVISION[:FOLDER] after.*    # what REVISION asserts (there) and these runs did not check

A condition is an asserted expression (the parts of `and`, and of a comparison of tuples, count one by one), an expected
exception, or the filter of a loop that collects failures, turned around: `[e for e in all if e.code != code]` checks
`e.code == code`. It is reached if its line was executed, or if it stands in a test that passed, outside of loops and
branches: on Python 3.11 a tracer loses the lines after some cancellations. Conditions are compared by their text, then
by their text without the names of variables. What is listed as lost is to be read: a condition may have been rewritten.
Needs `coverage`.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
_PASSED = "-passed"
_OPPOSITE = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
}  # fmt: skip


class Condition(NamedTuple):
    """What is checked, and where; `by_assert` is false for the filter of a loop."""

    text: str
    shape: str
    place: str
    line: int
    by_assert: bool


def conditions(source: str, place: str) -> Iterator[Condition]:
    """Yield the conditions of a test file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert):
            yield from (_condition(part, place, node.lineno, by_assert=True) for part in _parts(node.test))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"pytest.raises", "pytest.warns"}:
            yield _condition(node, place, node.lineno, by_assert=True)
        elif isinstance(node, (ast.If, ast.IfExp)):
            yield from _filter(node.test, place)
        elif isinstance(node, ast.comprehension):
            for test in node.ifs:
                yield from _filter(test, place)


def _filter(test: ast.expr, place: str) -> Iterator[Condition]:
    for turned in (test, _negated(test)):
        yield from (_condition(part, place, test.lineno, by_assert=False) for part in _parts(turned))


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    """Yield what has to hold, one by one."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for value in test.values:
            yield from _parts(value)
    elif (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq)
        and isinstance(test.left, ast.Tuple)
        and isinstance(test.comparators[0], ast.Tuple)
        and len(test.left.elts) == len(test.comparators[0].elts)
    ):
        for left, right in zip(test.left.elts, test.comparators[0].elts, strict=True):
            yield ast.Compare(left, [ast.Eq()], [right])
    else:
        yield test


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return ast.BoolOp(ast.And(), [_negated(value) for value in test.values])
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return ast.Compare(test.left, [_OPPOSITE[type(test.ops[0])]()], test.comparators)
    return ast.UnaryOp(ast.Not(), test)


class _Shape(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(node.id if node.id[0].isupper() else "_")


def _condition(part: ast.expr, place: str, line: int, *, by_assert: bool) -> Condition:
    text = ast.unparse(part)
    shape = ast.unparse(_Shape().visit(ast.parse(text, mode="eval")))
    return Condition(text, shape, place, line, by_assert)


def before(revision: str) -> list[Condition]:
    """Return what the tests of a revision assert, whether or not it was reached."""
    revision, _, folder = revision.partition(":")
    git = ("git", "-C", str(ROOT))
    listing = [*git, "ls-tree", "-r", "--name-only", revision, folder or "tests"]
    names = subprocess.run(listing, capture_output=True, check=True)  # noqa: S603 - git alone
    found: list[Condition] = []
    for name in names.stdout.decode().splitlines():
        if name.endswith(".py"):
            shown = subprocess.run([*git, "show", f"{revision}:{name}"], capture_output=True, check=True)  # noqa: S603 - the same
            found += [one for one in conditions(shown.stdout.decode(), name) if one.by_assert]
    return found


def reached(files: list[str]) -> list[Condition]:
    """Return the conditions on the lines that runs have executed."""
    from coverage import CoverageData

    lines: dict[str, set[int]] = {}
    passed: dict[str, set[str]] = {}
    for file in files:
        for test in Path(f"{file}{_PASSED}").read_text().splitlines():
            name, _, function = test.partition("::")
            passed.setdefault(str(ROOT / name), set()).add(function.rpartition("::")[2])
        data = CoverageData(basename=file)
        data.read()
        for name in data.measured_files():
            lines.setdefault(name, set()).update(data.lines(name) or ())
    found: list[Condition] = []
    for name, executed in sorted(lines.items()):
        source = Path(name).read_text()
        seen = executed | certain(source, passed.get(name, set()))
        found += [one for one in conditions(source, str(Path(name).relative_to(ROOT))) if one.line in seen]
    return found


def certain(source: str, passed: set[str]) -> set[int]:
    """Return the lines of statements that tests cannot have passed without executing."""
    found: set[int] = set()

    def walk(body: list[ast.stmt]) -> None:
        for statement in body:
            found.add(statement.lineno)
            if isinstance(statement, (ast.With, ast.AsyncWith, ast.Try)):
                walk(statement.body)
            if isinstance(statement, ast.Try):
                walk(statement.finalbody)
            if isinstance(statement, (ast.With, ast.AsyncWith)):
                found.update(item.context_expr.lineno for item in statement.items)

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in passed:
            walk(node.body)
    return found


def lost(then: list[Condition], now: list[Condition]) -> list[Condition]:
    """Return the conditions of then that now has less often, by text and by shape."""
    texts, shapes = Counter(one.text for one in now), Counter(one.shape for one in now)
    left = []
    for one in then:
        if texts[one.text] > 0:
            texts[one.text] -= 1
            shapes[one.shape] -= 1
        else:
            left.append(one)
    missing = []
    for one in left:
        if shapes[one.shape] > 0:
            shapes[one.shape] -= 1
        else:
            missing.append(one)
    return missing


def main(arguments: list[str]) -> int:
    """Print what is lost, a line each; return 1 if anything is."""
    revision, *files = (word for word in arguments if not word.endswith(_PASSED))
    then, now = before(revision), reached(files)
    missing = lost(then, now)
    for one in missing:
        print(f"{one.place}:{one.line}: {one.text}")
    asserted = sum(one.by_assert for one in now)
    print(f"{len(then)} asserted at {revision}; {asserted} asserted and reached now; {len(missing)} to look at")
    return 1 if missing else 0


if os.environ.get("CONDITIONS") and __name__ != "__main__":
    from coverage import Coverage

    _output = f"{os.environ['CONDITIONS']}.{os.getpid()}"
    _coverage = Coverage(data_file=_output, include=[str(ROOT / "tests" / "*")], config_file=False)
    _coverage.start()
    _passed: set[str] = set()


def pytest_runtest_logreport(report: Any) -> None:
    """Remember a test that has passed."""
    if report.when == "call" and report.passed:
        _passed.add(report.nodeid.partition("[")[0].partition("@")[0])


def pytest_unconfigure(config: Any) -> None:  # noqa: ARG001 - as pytest calls it
    """Write what this process has executed."""
    _coverage.stop()
    _coverage.save()
    Path(f"{_output}{_PASSED}").write_text("\n".join(sorted(_passed)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
