"""`failsoft explain`: what a code means, why it is raised, and what to do about it."""

from __future__ import annotations

from typing import Annotated

import typer

from failsoft.cli.completion import complete_codes
from failsoft.cli.known_codes import find_code
from failsoft.cli.options import App, Toolsets
from failsoft.cli.screen.terminal import open_screen
from failsoft.framework.errors.catalogue import render_page

__all__ = ["explain"]


def explain(
    code: Annotated[
        str, typer.Argument(metavar="CODE", help="The code, for example DOC_NOT_FOUND.", autocompletion=complete_codes)
    ],
    toolsets: Toolsets = None,
    *,
    app: App = None,
) -> None:
    """Explain an error code: when it is raised, and what the caller and the operator can do.

    The text is that of the documentation. For the codes of your own application, pass --app.

    Examples:
      failsoft explain DOC_NOT_FOUND
      failsoft explain BOOK_NOT_FOUND --app library
    """
    open_screen().markdown(render_page(find_code(code, toolsets or (), app)))
