"""The pytest plugin: fixtures for tests of tools. Outside of the package, and it imports failsoft only when asked.

pytest loads the plugins of whatever is installed. Importing anything under `failsoft` would cost every test run of the
environment some 50 ms, those included that have nothing to do with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from failsoft import Runtime
    from failsoft.testing import CapturedEvents, InstantClock

__all__: list[str] = []


@pytest.fixture
def failsoft_clock() -> Iterator[InstantClock]:
    """An `InstantClock`, whose runs share one loop: `failsoft_clock.run(tool.get_book(title="Dune"))`."""
    from failsoft.testing import InstantClock  # noqa: PLC0415 - see above

    with InstantClock() as clock:
        yield clock


@pytest.fixture
def failsoft_runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """A `Runtime` that depends on no variable of the environment and shares nothing with other tests."""
    import os  # noqa: PLC0415 - the plugin's import costs nothing but pytest

    for name in [name for name in os.environ if name.upper().startswith(("FAILSOFT_", "DEBUG_STACK", "PROMETHEUS_"))]:
        monkeypatch.delenv(name)
    from failsoft.testing import fresh_runtime  # noqa: PLC0415 - see above

    return fresh_runtime()


@pytest.fixture
def failsoft_events(failsoft_runtime: Runtime) -> Iterator[CapturedEvents]:
    """The events of `failsoft_runtime`, kept."""
    from failsoft.testing import CapturedEvents  # noqa: PLC0415 - see above

    with CapturedEvents(failsoft_runtime) as captured:
        yield captured
