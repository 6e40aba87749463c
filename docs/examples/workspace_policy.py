"""A policy of one's own, asked as the workspace toolset asks it."""

# --8<-- [start:policy]
from collections.abc import Iterator

from failsoft.tools.workspace import Finding


class NoTabs:
    """Indentation is blanks."""

    name = "no-tabs"

    def findings(self, path: str, text: str) -> Iterator[Finding]:
        """Yield each line that a tab begins."""
        if path.endswith(".py"):
            for number, line in enumerate(text.splitlines(), start=1):
                if line.startswith("\t"):
                    yield Finding("tab", number, "indent it with four blanks")


# --8<-- [end:policy]


assert list(NoTabs().findings("src/app.py", "def f():\n\treturn 1\n")) == [
    Finding("tab", 2, "indent it with four blanks")
]
