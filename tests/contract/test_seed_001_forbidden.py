"""Seed 001, section 11: what is forbidden, looked for in our own source.

Four rules, each with a list of the exceptions that it has, and why. An entry that is not needed any more fails, too.
"""

from __future__ import annotations

import ast
import builtins
import functools
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src/failsoft"
ANOTHER_PROCESS = (
    SOURCE / "tools/flux/work",
    SOURCE / "jobs/processes/worker.py",
)
"""Code of worker processes: whatever they raise comes back to the pool, which makes a typed error of it."""
Finding: TypeAlias = tuple[str, str]
"""The file, and the function or class in which it is."""

BUILTIN = {
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
}
LOGGING = {"critical", "debug", "error", "exception", "info", "log", "print", "success", "trace", "warn", "warning"}


@functools.cache
def parsed(file: Path) -> list[tuple[ast.AST, str]]:
    """Return a file's statements and handlers, each with the function or class that it is in."""
    return list(within(ast.parse(file.read_text(encoding="utf-8"))))


@functools.cache
def comments(file: Path) -> frozenset[int]:
    """Return the lines of a file that have a comment."""
    with file.open("rb") as stream:
        return frozenset(
            token.start[0] for token in tokenize.tokenize(stream.readline) if token.type == tokenize.COMMENT
        )


def within(tree: ast.AST, owner: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Yield every statement and handler with the name of the function or class that it is in."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            continue  # an expression: none has a statement in it
        is_named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        name = f"{owner}.{node.name}".lstrip(".") if is_named else owner  # type: ignore[attr-defined]
        yield node, name
        yield from within(node, name)


def raw_errors(node: ast.AST, _file: Path) -> bool:
    """`raise Exception(...)`, or any other builtin: the caller gets no code.

    A bare `raise` passes on what was caught; AssertionError marks unreachable code.
    """
    if not isinstance(node, ast.Raise) or node.exc is None:
        return False
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(raised, ast.Name) and raised.id in BUILTIN - {"AssertionError"}


def returned_failures(node: ast.AST, _file: Path) -> bool:
    """`return {"ok": False}`, `{"success": False}` or `{"error": ...}`: a failure that looks like a result."""
    if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Dict):
        return False
    pairs = {
        key.value: value
        for key, value in zip(node.value.keys, node.value.values, strict=True)
        if isinstance(key, ast.Constant)
    }
    says_no = any(
        isinstance(value := pairs.get(key), ast.Constant) and value.value is False for key in ("ok", "success")
    )
    return says_no or "error" in pairs


def logged_and_forgotten(node: ast.AST, _file: Path) -> bool:
    """An `except` that says something in the log, or prints it, and does nothing else."""
    if not isinstance(node, ast.ExceptHandler):
        return False
    body = [statement for statement in node.body if not _is_nothing(statement)]
    return bool(body) and all(_is_logging(statement) for statement in body)


def swallowed(node: ast.AST, file: Path) -> bool:
    """An `except` that does nothing, or a `suppress` of everything, that does not say why.

    A comment has to be on one of its lines, or right above or below. Another turn of a loop after one kind of error
    is not nothing: that is how one tries again.
    """
    if isinstance(node, ast.ExceptHandler):
        is_nothing = all(_is_nothing(statement, narrow=not _is_broad(node.type)) for statement in node.body)
        lines = range(node.lineno - 1, node.body[-1].lineno + 2)
    elif isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        is_nothing = any("suppress" in ast.unparse(call.func) and any(map(_is_broad, call.args)) for call in calls)
        lines = range(node.lineno - 1, node.body[-1].lineno + 2)
    else:
        return False
    return is_nothing and comments(file).isdisjoint(lines)


def _is_broad(kind: ast.expr | None) -> bool:
    return kind is None or (isinstance(kind, ast.Name) and kind.id in {"Exception", "BaseException"})


def _is_nothing(statement: ast.stmt, *, narrow: bool = False) -> bool:
    if isinstance(statement, ast.Continue):
        return not narrow
    if isinstance(statement, ast.Pass):
        return True
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_logging(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = statement.value.func
    return (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")) in LOGGING


def found(rule: Callable[[ast.AST, Path], bool], folder: Path) -> set[Finding]:
    """Return where a rule is broken."""
    broken: set[Finding] = set()
    for file in sorted(folder.rglob("*.py")):
        if rule is raw_errors and any(file.is_relative_to(place) for place in ANOTHER_PROCESS):
            continue
        broken |= {(str(file.relative_to(SOURCE)), owner) for node, owner in parsed(file) if rule(node, file)}
    return broken


_WALK = "the walk says what the kernel would say; its callers make a typed error of every OSError"
_KERNEL = "the errno of a system call that Python does not offer; its callers make a typed error of every OSError"
_GONE = "it signals the end of the other process; the pool makes a typed error of it"
_INPUT = "the file is the operator's; the loader makes a typed error of every fault"
_METRIC = "a recorder that breaks must not cost the call its answer; what it shows is missing where people look"
_START = "the server can do without; the first call that needs it reports it"
ALLOWED: dict[str, dict[Finding, str]] = {
    "raw_errors": {
        ("tools/docs/search/embedders.py", "_tokenizer_file"): "caught where the model is loaded",
        ("tools/files/resolving.py", "Walk._step"): _WALK,
        ("tools/files/resolving.py", "Walk._target"): _WALK,
        ("tools/edit/signatures.py", "_without_parents"): "a validator of pydantic: the caller gets a violation",
        ("tools/files/exchange.py", "exchanged"): _KERNEL,
        ("tools/files/exchange.py", "replaced"): _KERNEL,
        (
            "tools/workspace/supervisor.py",
            "_start",
        ): "a script of its own; the toolset makes a typed error of its report",
        ("tools/workspace/policies/judging.py", "_findings"): "caught below, with every other mistake of a policy",
    },
    "returned_failures": {},
    "logged_and_forgotten": {
        ("client/stdio.py", "_log_errors"): "the lines go to the log; a server whose lines are not read would stop",
        ("client/stdio.py", "_ended_after_this_process"): "only the end of a killed process needs it",
        ("proxy/clients.py", "Front.notify"): "a notification is a courtesy; the client asks again when it needs to",
        ("server/http/admission.py", "AdmissionMiddleware._counted"): "the client has disconnected",
        ("server/http/backchannel.py", "Backchannel._wait"): "the answer may still come to this process",
        ("server/http/backchannel.py", "Backchannel.deliver"): "the call that asked fails, not the one that answers",
        (
            "server/stdio_streams.py",
            "StdinReader._read",
        ): "the end of the input, however it comes, is passed on right behind",
        ("server/page/feed.py", "Feed._pump"): "readers see that the stream ends, and come again",
        ("jobs/desk.py", "JobDesk._entered"): "the job is stored, and started by whoever finds it",
        ("jobs/toolset.py", "Jobs._start_orphans"): "the next look may find the store",
        ("recovery/state/watched.py", "WatchedBackend._find_again"): "the store is asked again, whatever was raised",
        ("server/http/process/workers.py", "Supervisor.run"): "the workers serve on, and are looked at again",
        ("tools/docs/toolset.py", "Docs._warm_up"): _START,
        ("tools/files/transactions.py", "Files.recover"): _START,
        ("tools/flux/database/database.py", "Database._warm_up"): _START,
    },
    "swallowed": {
        ("metrics/recorder.py", "PrometheusRecorder.count"): _METRIC,
        ("metrics/recorder.py", "PrometheusRecorder.observe"): _METRIC,
        ("client/stdio.py", "_end"): "the process has ended already, which is what is wanted",
        ("proxy/upstream.py", "Upstream.stop"): "the connection is given up; a new one is made for the next call",
        ("jobs/processes/fork_server.py", "_fork"): "the process ends in the next line",
    },
}
"""By rule: where it may be broken, and why."""
RULES = {
    "raw_errors": (raw_errors, SOURCE / "tools"),
    "returned_failures": (returned_failures, SOURCE),
    "logged_and_forgotten": (logged_and_forgotten, SOURCE),
    "swallowed": (swallowed, SOURCE),
}


def test_nothing_that_is_forbidden_is_in_the_source() -> None:
    for name, (rule, folder) in RULES.items():
        still_there = {place for place in ALLOWED[name] if (SOURCE / place[0]).exists()}
        assert found(rule, folder) == still_there, name
    parsed.cache_clear()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("raw_errors", "def f():\n    raise Exception('x')"),
        ("raw_errors", "def f():\n    raise ValueError"),
        ("raw_errors", "async def f():\n    raise OSError(1, 'x') from error"),
        ("returned_failures", "def f():\n    return {'ok': False, 'error': 'x'}"),
        ("returned_failures", "def f():\n    return {'success': False}"),
        ("returned_failures", "def f():\n    return {'error': str(error)}"),
        ("logged_and_forgotten", "try:\n    f()\nexcept Exception as e:\n    print(e)"),
        ("logged_and_forgotten", "try:\n    f()\nexcept E:\n    logger.opt(exception=e).error('x')\n    pass"),
        ("swallowed", "try:\n    f()\nexcept Exception:\n    pass"),
        ("swallowed", "try:\n    f()\nexcept OSError:\n    pass"),
        ("swallowed", "for x in y:\n    try:\n        f()\n    except Exception:\n        continue"),
        ("swallowed", "with suppress(Exception):\n    f()"),
        ("swallowed", "with contextlib.suppress(BaseException):\n    f()"),
    ],
)
def test_what_is_forbidden_is_found(name: str, code: str, tmp_path: Path) -> None:
    assert broken(name, code, tmp_path)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("raw_errors", "def f():\n    raise"),
        ("raw_errors", "def f():\n    raise NotFound()"),
        ("returned_failures", "def f():\n    return {'ok': True}"),
        ("logged_and_forgotten", "try:\n    f()\nexcept E:\n    logger.error('x')\n    raise"),
        ("swallowed", "try:\n    f()\nexcept E:  # it is gone already\n    pass"),
        ("swallowed", "with suppress(FileNotFoundError):\n    f()"),
        ("swallowed", "while True:\n    try:\n        return f()\n    except SwappedError:\n        continue"),
    ],
)
def test_what_is_allowed_is_not(name: str, code: str, tmp_path: Path) -> None:
    assert not broken(name, code, tmp_path)


def broken(name: str, code: str, folder: Path) -> bool:
    """Return whether a rule finds something in a piece of code."""
    file = folder / "code.py"
    file.write_text(code)
    return any(RULES[name][0](node, file) for node, _ in parsed(file))
