"""`failsoft replay`: makes a captured call again with today's code, and writes it as a test."""

from __future__ import annotations

import asyncio
import json
import pdb  # noqa: T100 - what --pdb asks for
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from failsoft.cli.errors import ExitCode, usage
from failsoft.cli.options import App, AsJson
from failsoft.cli.screen import Screen, divert_output
from failsoft.cli.target import Target
from failsoft.framework.call.toolset import BaseTool
from failsoft.framework.captures.stored import Capture, read_capture
from failsoft.framework.safe.author_reports import Report, watch_reports
from failsoft.framework.safe.tracebacks import author_link
from failsoft.framework.text import bounded, printable
from failsoft.replay import Replayed, run_again, settings_as_then
from failsoft.server.sources import find_toolsets, import_module

_SOURCE = '''"""A call of `{operation}` that failed with {code} ({error_id}); written by `failsoft replay`."""

import json

from failsoft.testing import replayed

CALL = json.loads(
    r\'\'\'
{call}
\'\'\'
)


def test_{name}_does_not_fail_as_in_{error_id}() -> None:
    ended = replayed({app}, CALL)
    assert ended.outcome != "same", str(ended)
    assert not ended.is_defect, str(ended)
'''
_LEFT_OUT = {"origin", "redacted", "not_replayable", "withheld", "timestamp"}


def replay(
    error_id: Annotated[str, typer.Argument(metavar="ERROR_ID", help="The error id of a failed call.")],
    *,
    app: App = None,
    as_json: AsJson = False,
    debug: Annotated[bool, typer.Option("--pdb", help="Open the debugger where the call failed.")] = False,
    include_writes: Annotated[
        bool, typer.Option("--include-writes", help="Make the call even if it may change something.")
    ] = False,
    test: Annotated[
        Path | None, typer.Option("--pytest", metavar="FILE", help="Write the call as a failing test.")
    ] = None,
) -> None:
    """Make a failed call again, and say whether it fails as before.

    It gets the arguments, settings and injected faults of the captured call (FAILSOFT_CAPTURE). Marked effects and
    idempotency keys are answered from the capture, never done again; what the handler reads elsewhere is as it is now.
    The tools are those of --app, of the project, or those that the call was made of. The exit code is 0 if the call
    works now, 1 if it fails, as before or otherwise, and 2 if it cannot be made again.

    Examples:
      failsoft replay 6f1d2c0a9b3e4d57
      failsoft replay 6f1d2c0a9b3e4d57 --app library --pytest tests/test_get_book.py
    """
    if test is not None and (test.exists() or test.is_symlink()):
        raise usage(message=f"{test} exists already.", hint="name another FILE")
    if test is not None and not test.parent.is_dir():
        raise usage(message=f"There is no folder {test.parent}.", hint="make it, or name another FILE")
    capture = read_capture(error_id.strip().lower())
    screen = Screen()
    if capture.not_replayable and as_json:
        screen.json(_facts(capture, None))  # its error follows
    reports: list[Report] = []
    with divert_output(), watch_reports(reports.append), settings_as_then(capture):
        target = _named_tools(capture, app)
        ended = asyncio.run(run_again(capture, target.tools(), include_writes=include_writes))
    if test is not None:
        with test.open("x", encoding="ascii") as file:
            file.write(_source_of_test(capture, _named_app(capture, target)))
        typer.echo(f"wrote {printable(str(test))}", err=True)
    if as_json:
        screen.json(_facts(capture, ended))
    else:
        _show(capture, ended, screen)
    for report in reports:
        typer.echo(f"\n{report.kind}: {report}", err=True)
    for sentence in ended.not_repeated:
        typer.echo(sentence, err=True)
    if debug and ended.error is not None:
        _debug(ended.error)
    if ended.outcome != "worked":
        raise typer.Exit(ExitCode.FAILED)


def _named_tools(capture: Capture, app: str | None) -> Target:
    """Return the target of a replay: `--app`, the project's application, else the toolset that was called."""
    target = Target((), app, command=f"failsoft replay {capture.error_id} {{}}")
    if target.is_named:
        return target
    if capture.tool in find_toolsets() and capture.toolset_class.startswith("failsoft.tools."):
        return Target((capture.tool,), root=[Path(root) for root in capture.roots])
    if capture.toolset_class.startswith("failsoft."):
        raise usage(
            message=f"'{capture.operation}' is a tool of another server, behind `failsoft proxy` or an adapter.",
            hint=f"failsoft replay {capture.error_id} --app MODULE:ATTRIBUTE, if an application has it too",
        )
    _require_class(capture)
    return Target((), capture.toolset_class, command=target.command)


def _require_class(capture: Capture) -> None:
    """Refuse a capture that names a function in place of the class of a toolset: it would be called.

    Raises:
        INVALID_PARAM: It names something else than a class of tools, or a module.
        CONFIG_ERROR: The module cannot be imported.
    """
    module, _, name = capture.toolset_class.partition(":")
    found: Any = import_module(module)
    for part in filter(None, name.split(".")):
        found = vars(found).get(part)
    if name and not (isinstance(found, type) and issubclass(found, BaseTool)):
        raise usage(
            message=f"The capture names '{bounded(capture.toolset_class)}', which is not a class of tools.",
            hint=f"failsoft replay {capture.error_id} --app MODULE:ATTRIBUTE",
        )


def _named_app(capture: Capture, target: Target) -> str:
    """Return the name of a target for a test: `module:attribute`, or the toolset that was called."""
    project = target.project
    return target.app or (project.app if project is not None else capture.tool)


def _source_of_test(capture: Capture, app: str) -> str:
    """Return the source of a test that fails while the call ends as it did, or with a defect.

    Args:
        capture: The call.
        app: `module:attribute` of the application, or the name of an installed toolset.
    """
    call = json.dumps(capture.model_dump(exclude=_LEFT_OUT, exclude_defaults=True, exclude_unset=True), indent=1)
    return _SOURCE.format(
        operation=_word(capture.operation),
        code=_word(capture.code),
        error_id=capture.error_id,
        call=call.replace("'", "\\u0027"),  # JSON text is ASCII, so that nothing in it ends the literal
        name=_word(capture.operation),
        app=json.dumps(app),
    )


def _word(text: str) -> str:
    """Return a name that can be part of an identifier."""
    return re.sub(r"[^A-Za-z0-9_]", "_", text)


def _facts(capture: Capture, ended: Replayed | None) -> dict[str, Any]:
    facts: dict[str, Any] = {"error_id": capture.error_id, "tool": capture.tool, "operation": capture.operation}
    if ended is not None:
        facts["outcome"] = ended.outcome
    facts["before"] = capture.before
    if ended is not None:
        facts["now"] = ended.now
    return {**facts, "redacted": capture.redacted}


def _show(capture: Capture, ended: Replayed, screen: Screen) -> None:
    said = {"same": "fails as before", "different": "fails otherwise", "worked": "works now"}[ended.outcome]
    screen.heading(f"{capture.operation} {said}")
    facts = ("code", "category", "effect", "origin")
    ends = (("before", ended.before), ("now", ended.now))
    screen.rows(("", *facts), [(name, *(end[fact] for fact in facts)) for name, end in ends if end is not None])


def _debug(error: BaseException) -> None:
    """Open the debugger in the author's innermost frame, with what was raised as `__exception__`."""
    link = author_link(error)
    if link is not None:
        link.tb_next = None
    debugger = pdb.Pdb(stdout=sys.stdout)
    debugger.reset()
    debugger.interaction(None, error.__traceback__ if link is None else link)
