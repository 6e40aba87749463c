"""`failsoft probe`: rates how any MCP server fails."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from failsoft.cli.errors import ExitCode, report, usage
from failsoft.cli.options import App, AsJson, Token, Url
from failsoft.cli.remote import bearer, mcp_address
from failsoft.cli.screen import divert_output, is_terminal
from failsoft.cli.target import Target, find_silences
from failsoft.framework.errors import Unavailable
from failsoft.framework.safe.author_reports import logger
from failsoft.framework.safe.secret_names import is_secret_name
from failsoft.framework.text import bounded

if TYPE_CHECKING:
    from failsoft.probe.calls import Bounds
    from failsoft.probe.probing import Probe
    from failsoft.probe.report import ProbeReport
    from failsoft.proxy.targets import UpstreamTarget
    from failsoft.rules import Silences

_OWN = (sys.executable, "-m", "failsoft")


def probe(  # noqa: PLR0913 - what a user may set
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOOLSET... | -- COMMAND...]", help="Installed toolsets, or a command that starts a server."
        ),
    ] = None,
    *,
    ctx: typer.Context,
    app: App = None,
    url: Url = None,
    token: Token = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file with servers: `mcpServers`, as MCP clients read it.")
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", help="The seed of the faults: the same seed gives the same report.")
    ] = 0,
    tool: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this tool; can be repeated.")] = None,
    max_calls: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="The largest number of calls.")] = 400,
    max_seconds: Annotated[float, typer.Option(metavar="SECONDS", min=1, help="The time limit in seconds.")] = 120,
    rate: Annotated[
        float | None, typer.Option(metavar="NUMBER", min=0.01, help="The largest number of calls per second.")
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="Seconds that an answer may take.")] = 10,
    include_writes: Annotated[
        bool, typer.Option("--include-writes", help="Also call tools that do not say that they only read.")
    ] = False,
    include_destructive: Annotated[
        bool, typer.Option("--include-destructive", help="Call all tools, also those that say that they destroy.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before tools are called that may change something.")
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Probe it again behind `failsoft proxy`, and show both.")
    ] = False,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as one HTML file.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the findings as JUnit XML.")] = None,
    fail_under: Annotated[
        float | None,
        typer.Option(metavar="PERCENT", min=0, max=100, help="Exit with 1 only if recoverability is below this."),
    ] = None,
) -> None:
    """Rate how a server fails: can a model go on from its answers?

    Tools that say that they only read are called with faults made from their schemas: missing, misspelt and unexpected
    arguments, wrong types, values, ids and tool names, control characters, large results, cancellation, two calls at
    once. Each answer is rated by the rules of `failsoft rules`, and a scripted reader does what its text says.
    Recoverability is the share of faults that it repaired within two calls.

    Of the environment, a started server gets what is safe to inherit: no token and no key. Ctrl-C ends it with the
    report of what there is. The exit code is 1 if there are findings.

    Examples:
      failsoft probe docs
      failsoft probe -- npx -y @modelcontextprotocol/server-filesystem .
      failsoft probe --url http://127.0.0.1:9000/mcp --html report.html
    """
    targets, is_ours = _targets(ctx, words or [], app, url, token, config)
    silences = find_silences()
    for file in filter(None, (html, junit)):
        if not file.parent.is_dir():  # told before the calls are made, and not after them
            raise usage(message=f"There is no folder {file.parent}.", hint="make it, or name another FILE")
    _ask(include_writes=include_writes, include_destructive=include_destructive, yes=yes)
    from failsoft.probe.calls import Bounds  # noqa: PLC0415 - a second that `failsoft --help` saves

    bounds = Bounds(
        seed=seed,
        tools=tuple(tool or ()),
        max_calls=max_calls,
        max_seconds=max_seconds,
        rate=rate,
        timeout_s=timeout,
        writes=include_writes or include_destructive,
        destructive=include_destructive,
    )
    places = _places(words or [], app) if is_ours else {}
    runner = _Runner(bounds, silences, places)
    try:
        found = runner.probed(targets)
        behind = [_behind_proxy(target) for target in targets]
        proxied = runner.probed(behind) if compare and not runner.is_ended else None
    except Unavailable as error:
        raise typer.Exit(report(error, code=ExitCode.NOT_STARTED)) from error
    from failsoft.cli.probe_report import show, write  # noqa: PLC0415 - as above

    write(found, proxied, html=html, junit=junit)
    show(found, proxied, as_json=as_json)
    raise typer.Exit(ExitCode.INTERRUPTED if runner.is_ended else _code(found, fail_under))


def _targets(
    ctx: typer.Context, words: list[str], app: str | None, url: str | None, token: str | None, config: Path | None
) -> tuple[list[UpstreamTarget], bool]:
    """Return the servers that a command line names, and whether they are toolsets of failsoft.

    Raises:
        INVALID_PARAM: None is named, or in more than one way.
        CONFIG_ERROR: A toolset does not exist, or the file cannot be used.
    """
    from failsoft.proxy.targets import UpstreamTarget, from_command, from_file, from_url  # noqa: PLC0415 - as above

    after_dashes = _after_dashes(ctx)
    is_command = bool(after_dashes) and after_dashes == words
    is_toolset = bool(words) and not is_command
    named = [is_toolset or app is not None, bool(after_dashes), url is not None, config is not None]
    if sum(named) > 1:
        raise usage(
            message="Give one of: toolsets or --app, --url, --config, a command after --.", hint="failsoft probe --help"
        )
    if url is not None:
        return [from_url(mcp_address(url), headers=bearer(token))], False
    if config is not None:
        return from_file(config), False
    if is_command:
        return [from_command(words)], False
    target = Target(words, app, command="failsoft probe {}")
    if not target.is_named:
        raise usage(
            message="There is nothing to probe: name a toolset, an application, a URL or a command.",
            hint="failsoft probe docs",
        )
    target.sources()  # a misspelt name ends it here
    served = [*words, *(["--app", app] if app else [])]
    settings = {
        name: value for name, value in os.environ.items() if name.startswith("FAILSOFT_") and not _is_kept_back(name)
    }
    name = (words[0] if words else "app").partition(":")[0]
    command = (*_OWN, "serve", *served)
    return [UpstreamTarget(name=Path(name).stem[:40] or "app", command=command, environment=settings)], True


def _after_dashes(ctx: typer.Context) -> list[str]:
    """Return the words after `--`: a command."""
    given = ctx.find_root().obj or []
    return given[given.index("--") + 1 :] if "--" in given else []


def _is_kept_back(name: str) -> bool:
    return is_secret_name(name) or any(part in name for part in ("TOKEN", "KEY", "SECRET", "PASSWORD", "_URL", "_DSN"))


def _ask(*, include_writes: bool, include_destructive: bool, yes: bool) -> None:
    """Ask before anything is called that may change something.

    Raises:
        INVALID_PARAM: There is no terminal to ask on, and no --yes.
    """
    if yes or not (include_writes or include_destructive):
        return
    option = "--include-destructive" if include_destructive else "--include-writes"
    if not (sys.stdin is not None and sys.stdin.isatty()):
        raise usage(message=f"{option} calls tools that may change something.", hint=f"add --yes to {option}")
    what = "Tools that destroy" if include_destructive else "Tools that may change something"
    typer.confirm(f"{what} will be called with made-up arguments. Go on?", abort=True, err=True)


def _places(words: Sequence[str], app: str | None) -> Mapping[str, str]:
    """Return `file:line` of each of our tools; without those that cannot be found."""
    import inspect  # noqa: PLC0415 - of this alone

    from failsoft.framework.call.bound import Toolbox  # noqa: PLC0415 - as above

    places: dict[str, str] = {}
    with divert_output():
        for bound in Toolbox(Target(words, app).tools()):
            try:
                function = inspect.unwrap(bound.function)
                file, line = inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
            except (OSError, TypeError):
                continue
            path = Path(file or "")
            shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
            places[bound.name] = f"{shown}:{line}"
    return places


def _behind_proxy(target: UpstreamTarget) -> UpstreamTarget:
    """Return the same server behind `failsoft proxy`."""
    words: list[str] = [*_OWN, "proxy", "--name", target.name]
    if target.url:
        variables = {f"PROBE_HEADER_{number}": value for number, value in enumerate(target.headers.values())}
        for name, variable in zip(target.headers, variables, strict=True):
            words += ["--header", f"{name}: ${{{variable}}}"]  # every user of the machine sees a command line
        command = (*words, "--url", target.url)
        return replace(target, command=command, url="", headers={}, environment=variables)
    given = [part for name in target.environment for part in ("--env", name)]
    return replace(target, command=(*words, *given, "--", *target.command))


class _Runner:
    """Runs probes, and ends them on Ctrl-C with what there is.

    Args:
        bounds: What each may do.
        silences: What the project silences.
        places: `file:line` by the tool's name.
    """

    def __init__(self, bounds: Bounds, silences: Silences, places: Mapping[str, str]) -> None:
        self._bounds, self._silences, self._places = bounds, silences, places
        self._started: list[tuple[str, Probe]] = []
        self.is_ended = False

    def probed(self, targets: Sequence[UpstreamTarget]) -> ProbeReport:
        """Return the report about these servers; each has its share of the bounds.

        Raises:
            UNAVAILABLE: One cannot be started, or never answers.
        """
        from failsoft.probe.report import merged  # noqa: PLC0415 - as above

        self._started = []
        with _quiet(), _Progress(self._bounds.max_calls) as progress:
            asyncio.run(self._all(targets, progress))
        whole = merged([(name, one.report) for name, one in self._started])
        whole.complete = whole.complete and not self.is_ended
        whole.finish(self._silences, self._places)
        return whole

    async def _all(self, targets: Sequence[UpstreamTarget], progress: Callable[[int, str], None]) -> None:
        from failsoft.probe.connection import Connection  # noqa: PLC0415 - as above
        from failsoft.probe.probing import Probe, require_tools  # noqa: PLC0415 - as above

        count = len(targets)
        share = replace(
            self._bounds,
            max_calls=max(1, self._bounds.max_calls // count),
            max_seconds=self._bounds.max_seconds / count,
        )
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()

        def end() -> None:
            self.is_ended = True
            if task is not None:
                task.cancel()

        if sys.platform != "win32":
            loop.add_signal_handler(signal.SIGINT, end)
        for target in targets:
            one = Probe(Connection(target, timeout_s=self._bounds.timeout_s), share, progress, is_alone=count == 1)
            self._started.append((target.name, one))
            try:
                await one.run()
            except asyncio.CancelledError:
                if not self.is_ended:
                    raise
                return
        require_tools(share.tools, (tool["name"] for _, one in self._started for tool in one.report.tools))


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what the clients log of a server that breaks: the report says it."""
    logger.disable("failsoft")
    of_sdk = logging.getLogger("mcp")
    level, of_sdk.level = of_sdk.level, logging.CRITICAL
    try:
        yield
    finally:
        of_sdk.level = level
        logger.enable("failsoft")


class _Progress:
    """A line on standard error: the calls made, and the tool that is called now."""

    def __init__(self, most: int) -> None:
        self._most, self._last = most, 0
        self._is_live = is_terminal(sys.stderr)

    def __enter__(self) -> Callable[[int, str], None]:
        return self._report

    def __exit__(self, *about: object) -> None:
        if self._is_live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _report(self, calls: int, tool: str) -> None:
        text = f"probing: {calls} of at most {self._most} calls, {bounded(tool, 60)}"
        if self._is_live:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        elif calls == 1 or calls - self._last >= 50:  # noqa: PLR2004 - a line now and then in a log
            self._last = calls
            typer.echo(text, err=True)


def _code(found: ProbeReport, fail_under: float | None) -> ExitCode:
    if fail_under is not None:
        is_below = found.recoverability is not None and found.recoverability * 100 < fail_under
        return ExitCode.FAILED if is_below else ExitCode.OK
    return ExitCode.FAILED if found.findings else ExitCode.OK
