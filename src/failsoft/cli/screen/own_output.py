"""Standard output kept for a command's answer: what tools print goes to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress


@contextmanager
def divert_output() -> Iterator[None]:
    """Send to standard error what is printed while the block lasts, by Python, C code or child processes."""
    sys.stdout.flush()
    with redirect_stdout(sys.stderr):
        try:
            shown, errors = sys.__stdout__.fileno(), sys.stderr.fileno()  # type: ignore[union-attr]  # caught below
        except (AttributeError, OSError, ValueError):  # embedded, or in a test: no descriptors to divert
            yield
            return
        kept = os.dup(shown)
        os.dup2(errors, shown)
        try:
            yield
        finally:
            with suppress(OSError, ValueError):
                sys.stderr.flush()
            os.dup2(kept, shown)
            os.close(kept)
