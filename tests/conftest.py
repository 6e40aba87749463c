"""What every test is given: a clean environment, a clean catalogue, and hypothesis without a clock."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from failsoft.framework.errors.base import registry

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("short", settings.get_profile("default"), max_examples=15)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_configure() -> None:
    """Take the caller's settings out of the environment, once for each worker, before anything is imported."""
    for name in [name for name in os.environ if name.startswith(("FAILSOFT_", "PROMETHEUS_"))]:
        del os.environ[name]


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give the run cache folders of its own: a test must not find what another run, or the user, has left."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True)
def _own_catalogue() -> Iterator[None]:
    """Forget the error classes that a test declares: a code can be taken only once."""
    before = dict(registry)
    yield
    if len(registry) != len(before):
        for code in registry.keys() - before.keys():
            if not registry[code].__module__.startswith("failsoft."):
                del registry[code]


@pytest.fixture
def anyio_backend() -> str:
    """Run async tests on asyncio, the only loop that failsoft supports."""
    return "asyncio"
