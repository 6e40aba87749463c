"""Serves a workspace to callers with tokens of their own: `python serving_workspace.py ROOT [WORKERS]`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp.server.auth.provider import AccessToken

from failsoft import serve
from failsoft.tools.workspace import Workspace

ROOT = "SERVED_ROOT"


class Directory:
    """Knows tokens of the form `name:secret`, and says whose they are."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token it is."""
        name, _, secret = token.partition(":")
        if secret != "secret":
            return None
        return AccessToken(token=token, client_id="app", scopes=[], subject=name, claims={"iss": "https://id.example"})


def workspace() -> Workspace:
    """Return the toolset, in each worker anew."""
    return Workspace(Path(os.environ[ROOT]))


def announce(url: str) -> None:
    """Tell the test where it is served."""
    sys.stderr.write(f"failsoft serves {url}/mcp\n")
    sys.stderr.flush()


if __name__ == "__main__":
    os.environ[ROOT] = sys.argv[1]
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    serve(workspace, transport="http", port=0, workers=workers, token_verifier=Directory(), on_ready=announce)
