"""Faults of files that a test expects, by their kind."""

from __future__ import annotations

import pytest

from tests.doors import FileFault


def raises(*kinds: str) -> pytest.RaisesExc[FileFault]:
    """Return a block that has to raise a fault of one of the kinds; of any kind if none is named."""
    return pytest.raises(FileFault, check=lambda fault: not kinds or fault.kind in kinds)
