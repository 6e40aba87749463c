"""Serves over HTTP what is configured: in this process, or in several that share the port."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from starlette.applications import Starlette

from failsoft.framework.errors import ConfigurationError
from failsoft.framework.files import require_posix
from failsoft.framework.safe.author_reports import logger
from failsoft.metrics.board import Board, use
from failsoft.server.assembly import Assembly
from failsoft.server.http.access import check_exposure
from failsoft.server.http.process.process import AppFactory, bound_socket, run_server
from failsoft.server.lifecycle import require_sound
from failsoft.server.reload import keep_recovery


def serve_http(
    factory: AppFactory, *, port: int, insecure: bool, workers: int, on_ready: Callable[[str], None]
) -> None:
    """Serve the app until a signal ends it. The arguments are those of `failsoft.serve`.

    Raises:
        CONFIG_ERROR: The address cannot be used, or the server would be exposed without a token.
        INIT_ERROR: A toolset failed to start; of a governed one BOOTSTRAP_FAILURE, or SELF_AUDIT_FAILURE.
    """
    with ExitStack() as stack:
        folder = None
        if workers > 1:
            require_posix("Several workers need")
            from failsoft.server.http.process.workers import board_folder  # noqa: PLC0415 - only where it is used

            folder = stack.enter_context(board_folder())
        stack.callback(use, None)
        use(Board.create(folder, slot=0 if folder is None else -1))
        # With several workers this app is not served: it reports configuration errors once, before any of them starts.
        app = factory()
        assembly: Assembly = app.state.assembly
        check_exposure(factory.host, has_token=app.state.has_token, insecure=insecure)
        _warn_of_missing_principals(app, assembly)
        listener = stack.enter_context(bound_socket(factory.host, port))
        url = _url(factory.host, listener.getsockname()[1])
        if folder is None:
            run_server(app, listener, on_ready=partial(on_ready, url))
            return
        _check_shared_state(assembly)
        keep_recovery(assembly.tools, folder)
        require_sound(assembly.tools)
        from failsoft.server.http.process.workers import Supervisor  # noqa: PLC0415 - only where it is used

        ready = partial(on_ready, url)
        Supervisor(factory, listener, assembly, folder, workers=workers, on_ready=ready).run()


def _warn_of_missing_principals(app: Starlette, assembly: Assembly) -> None:
    """Log a warning if callers of a governed toolset have no principal, so that approvals are impossible."""
    governed = [tool.name for tool in assembly.tools if tool.governed]
    if governed and not app.state.has_token:
        logger.warning(
            "Serving {} without tokens: callers have no principal, so plans cannot be approved; set "
            "FAILSOFT_AUTH_TOKENS",
            ", ".join(governed),
        )


def _check_shared_state(assembly: Assembly) -> None:
    """Refuse, or log as an error, local state with several workers: keyed work could be done once per worker.

    Raises:
        CONFIG_ERROR: `FAILSOFT_STATE_WITHOUT_STORE` is `refuse`.
    """
    apart = [
        tool.name
        for tool in assembly.tools
        if tool.runtime.state.records(tool).is_local
        and (tool.governed or any(not bound.read_only for bound in tool.operations.values()))
    ]
    if not apart:
        return
    named = ", ".join(apart)
    issue = (
        f"each of several workers keeps keys and sessions of {named} in its own memory, so keyed work may be done twice"
    )
    if assembly.settings.state_without_store == "refuse":
        raise ConfigurationError(issue=issue, resolution="set FAILSOFT_STATE_URL, as sqlite:PATH or redis://...")
    logger.error("{}: set FAILSOFT_STATE_URL", issue[0].upper() + issue[1:])


def _url(host: str, port: int) -> str:
    return f"http://[{host.strip('[]')}]:{port}" if ":" in host else f"http://{host}:{port}"
