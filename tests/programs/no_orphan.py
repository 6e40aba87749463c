"""How a program is started that must not outlive the tests, even where these are killed."""

from __future__ import annotations

import shutil

__all__ = ["NO_ORPHAN"]

_SETPRIV = shutil.which("setpriv")
NO_ORPHAN = [_SETPRIV, "--pdeathsig", "KILL", "--"] if _SETPRIV else []
"""Words before a command: the kernel kills what it starts when the thread that started it ends."""
