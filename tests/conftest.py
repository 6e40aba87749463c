"""What every test is given: a clean environment, a clean catalogue, and hypothesis without a clock."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from failsoft.framework.errors.base import ToolError, registry

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
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(autouse=True)
def _own_catalogue(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hide the error classes of other test modules, and forget those that the test itself declares.

    One process imports many test modules, and all of them write into one catalogue.
    """
    before = dict(registry)
    foreign = [code for code, error in before.items() if _is_of_another_test(error, request)]
    for code in foreign:
        del registry[code]
    yield
    loaded = {code: error for code, error in registry.items() if error.__module__.startswith("failsoft.")}
    registry.clear()
    registry.update(before | loaded)


def _is_of_another_test(error: type[ToolError], request: pytest.FixtureRequest) -> bool:
    return error.__module__.rpartition(".")[2].startswith("test_") and error.__module__ != request.module.__name__


@pytest.fixture
def anyio_backend() -> str:
    """Run async tests on asyncio, the only loop that failsoft supports."""
    return "asyncio"


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking at the collected tests again and again: a fifth of the run's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
