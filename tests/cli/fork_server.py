"""Runs commands in processes forked from one that has failsoft loaded, so that none of them pays for the imports.

Reads a request a line as JSON (`arguments`, `folder`, `env`, and the paths `stdin`, `out` and `err`), and answers each
with a line: the exit code.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from typing import Any

PRELOADED = (
    *("failsoft.cli", "failsoft.client", "failsoft.server.http.app", "failsoft.server.stdio.serve"),
    *("failsoft.tools.docs", "failsoft.tools.edit", "failsoft.tools.workspace", "jsonschema", "rich.markdown"),
)


def main() -> int:
    """Serve requests until standard input ends; in a forked process, run the command and return its exit code."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            return _command(json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    return 0


def _command(request: dict[str, Any]) -> int:
    flags = (os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT | os.O_TRUNC] * 2)
    for descriptor, (name, flag) in enumerate(zip(("stdin", "out", "err"), flags, strict=True)):
        os.dup2(os.open(request[name], flag, 0o600), descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[0] = request["folder"]
    sys.argv = ["failsoft", *request["arguments"]]
    return int(importlib.import_module("failsoft.cli").main())


if __name__ == "__main__":
    sys.exit(main())
