"""`failsoft explain`: what a code means, why it is raised, and who mends it how."""

from __future__ import annotations

from typing import Annotated

import typer

from failsoft.cli.known_codes import find_code
from failsoft.cli.options import App
from failsoft.cli.terminal import open_screen
from failsoft.framework.catalogue import render_page

__all__ = ["explain"]


def explain(
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code, as in DOC_NOT_FOUND.")],
    app: App = None,
) -> None:
    """Say what an error code means and how it is mended.

    The page is the one in the documentation. The codes of an application of yours are known with --app.
    """
    open_screen().markdown(render_page(find_code(code, app)))
