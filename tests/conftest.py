"""What every test is given: a clean environment, a clean catalogue, and hypothesis without a clock."""

from __future__ import annotations

import atexit
import gc
import os
import re
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from loguru import logger

from failsoft import ToolError
from tests.doors import protected_files, registry
from tests.programs.chromium import chromium  # noqa: F401 - a fixture
from tests.programs.flux import flux_lab, flux_python, flux_workers  # noqa: F401 - fixtures
from tests.programs.foreign import foreign  # noqa: F401 - a fixture
from tests.programs.nginx import nginx  # noqa: F401 - a fixture
from tests.programs.node import node  # noqa: F401 - a fixture
from tests.programs.postgres import mortal_postgres, postgres, postgres_url  # noqa: F401 - fixtures
from tests.programs.promtool import promtool  # noqa: F401 - a fixture
from tests.programs.redis import own_redis, redis_server, redis_session  # noqa: F401 - fixtures
from tests.programs.temporal import temporal, temporal_session  # noqa: F401 - fixtures

ROOT = Path(__file__).resolve().parents[1]
SLOW = ROOT / "tests" / "slow"
GROUPS = {"flux", "libraries", "postgres", "transports"}
"""Each is run by one worker, since its tests share what is expensive to start or to import."""

settings.register_profile("default", deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("full", settings.get_profile("default"), max_examples=100)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def _prepare_environment() -> None:
    """Take the caller's settings, git's and proxies out of the environment, and let programs import `tests`.

    Ctrl-C is not ignored, as it is in the background of a script: programs would inherit that.
    """
    own = ("FAILSOFT_", "GIT_", "PROMETHEUS_")
    for name in [name for name in os.environ if name.startswith(own) or name.lower().endswith("_proxy")]:
        del os.environ[name]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))


def _make_temporary_folder() -> None:
    """Give the run a temporary folder, which is removed at its end, beside that of pytest.

    Its path is short (that of a socket has 108 bytes) and plain, and other users may enter it, as PostgreSQL needs to.
    """
    usual, common = Path(tempfile.gettempdir()), Path("/tmp")  # noqa: S108 - mkdtemp makes a folder in it
    is_open = all(folder.stat().st_mode & stat.S_IXOTH for folder in (usual, *usual.parents))
    if not (is_open and re.fullmatch(r"[\w/.-]{1,40}", str(usual), re.ASCII)) and os.access(common, os.W_OK):
        usual = common
    folder = Path(tempfile.mkdtemp(prefix="failsoft-tests-", dir=usual))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(usual))
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


_prepare_environment()  # now: the conftest of a folder below may start a program when it is imported
if "PYTEST_XDIST_WORKER" not in os.environ:  # which inherits it
    _make_temporary_folder()


def pytest_configure(config: pytest.Config) -> None:
    """Give the tests of one `xdist_group` to one worker."""
    if config.getoption("dist", "no") == "load":
        config.option.dist = "loadgroup"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no slow test where none is wanted."""
    return True if collection_path == SLOW and config.getoption("markexpr") == "not slow" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in the folder of slow tests, before markers select; name the groups in the ids."""
    for item in items:
        if SLOW in item.path.parents:
            item.add_marker("slow")
        group = item.get_closest_marker("xdist_group")
        if group is not None and hasattr(item.config, "workerinput"):
            _name_group(item, group.args[0])


def _name_group(item: pytest.Item, group: str) -> None:
    """End an id with the group, where the scheduler of xdist looks for it: 3.8 itself fails to with pytest 9.2."""
    assert group in GROUPS
    nodeid = f"{item.nodeid}@{group}"
    if hasattr(item, "_id"):
        item._id = type(item._id).parse(nodeid)
    else:
        item._nodeid = nodeid


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Report a test by its own id where workers' reports arrive, so that `--last-failed` finds it."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        name, _, group = report.nodeid.rpartition("@")
        report.nodeid = name if group in GROUPS else report.nodeid


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give the run cache folders of its own: a test must not find what another run, or the user, has left."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module", autouse=True)
def _catalogue_of_the_module(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hide the error classes of other test modules: one process imports many, and all write into one catalogue."""
    hidden = {code: error for code, error in registry.items() if _is_of_another_test(error, request)}
    for code in hidden:
        del registry[code]
    yield
    registry.update(hidden)


@pytest.fixture(autouse=True)
def _own_catalogue(_catalogue_of_the_module: None) -> Iterator[None]:
    """Forget the error classes that the test itself declares."""
    before = registry.copy()
    yield
    if registry.keys() != before.keys():
        loaded = {code: error for code, error in registry.items() if error.__module__.startswith("failsoft.")}
        registry.clear()
        registry.update(before | loaded)


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    """Silence failsoft's log again if the test has not: loguru's own sink shows values, which may be hostile."""
    before = _logs()
    yield
    if _logs() != before:
        (logger.enable if before else logger.disable)("failsoft")


def _logs() -> bool:
    return ("failsoft.", True) in logger._core.activation_list  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _own_protected_files() -> Iterator[None]:
    """Forget which files the servers of the test protect: every file operation compares its file with all of them."""
    owners = protected_files._by_owner
    known = set(map(id, owners.keyrefs()))
    yield
    for reference in owners.keyrefs():
        if id(reference) not in known and (owner := reference()) is not None:
            owners.pop(owner, None)


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
