"""`failsoft worker`: runs jobs of servers on this machine."""

from __future__ import annotations

import os

import typer

from failsoft.cli.commands.serve import LoggedSource
from failsoft.cli.errors import ExitCode, report
from failsoft.cli.options import App, Root, Toolsets
from failsoft.cli.target import Target
from failsoft.composition import install
from failsoft.framework.errors import Unavailable
from failsoft.framework.logs.log_output import announce
from failsoft.recovery.state.store import default_file


def worker(
    toolsets: Toolsets = None,
    *,
    app: App = None,
    root: Root = None,
) -> None:
    """Run the jobs of servers that have FAILSOFT_FLEET_URL.

    A worker has the same application, FAILSOFT_FLEET_URL and FAILSOFT_STATE_URL as the servers, and runs
    FAILSOFT_JOB_PROCESSES jobs at once. At SIGTERM or Ctrl-C it takes no more, and waits at most
    FAILSOFT_SHUTDOWN_GRACE_S for those that run.

    Examples:
      failsoft worker --app library:Library
      FAILSOFT_JOB_PROCESSES=16 failsoft worker --app library:Library
    """
    target = Target(toolsets or (), app, root=root)
    source = target.source()
    from failsoft.server.worker import run_worker  # noqa: PLC0415 - a second, not spent on a misspelt toolset

    if not os.environ.get("FAILSOFT_STATE_URL"):
        install(durable=default_file())  # as servers of this machine do
    project = target.project
    name = project.name if project is not None else None
    try:
        run_worker(LoggedSource(source), name=name, on_ready=_announce)
    except Unavailable as error:
        raise typer.Exit(report(error, code=ExitCode.NOT_STARTED, is_server=True)) from error


def _announce(queue: str) -> None:
    announce(f"failsoft worker runs jobs of {queue} (Ctrl-C ends it)")
