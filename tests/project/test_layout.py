"""The shape of the source: sizes, names, and imports that never run in circles."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import grimp

import failsoft.recovery

HEAVY = ("mcp", "prometheus_client", "typer", "rich", "starlette", "pydantic_settings", "jsonschema", "sqlite3", "yaml")
LINES_AT_MOST = {"src": 400, "src/failsoft/framework": 350, "bench": 400, "scripts": 400, "tests": 530}
LONG_ON_PURPOSE = dict.fromkeys(
    (f"bench/agents/adversarial/second/{name}.py" for name in ("publisher", "university")),
    "the cases of one server, as data, kept as their authors wrote them",
)
MODULES_AT_MOST = 14
OF_NO_AREA = {"bench", "chaos", "contract", "e2e", "laws", "programs", "project", "slow", "typing"}
SUBJECTS_OF_SLOW_TESTS = {
    "benchmarks",
    "clients",
    "cold",
    "crashes",
    "fuzz",
    "genomes",
    "jobs",
    "models",
    "packages",
    "page",
    "probe",
    "races",
    "site",
    "soak",
    "telemetry",
}
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc"}


def test_no_source_file_is_longer_than_one_idea(root: Path) -> None:
    long = {
        str(path.relative_to(root)): lines
        for area, limit in LINES_AT_MOST.items()
        for path in (root / area).rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > limit
    }
    assert long.keys() == LONG_ON_PURPOSE.keys()


def test_no_folder_holds_more_than_fourteen_modules(root: Path) -> None:
    counted = Counter(path.parent for path in (root / "src" / "failsoft").rglob("*.py") if path.name != "__init__.py")
    assert {str(folder.relative_to(root)): count for folder, count in counted.items() if count > MODULES_AT_MOST} == {}


def test_tests_mirror_the_rooms_by_name(root: Path) -> None:
    """A folder of tests of an area is a package of that area, so that the tests of a room are found by its name."""
    areas = [path for path in (root / "src" / "failsoft").iterdir() if (path / "__init__.py").exists()]
    assert _folders(root / "tests") <= {area.name for area in areas} | OF_NO_AREA
    assert _folders(root / "tests" / "slow") <= SUBJECTS_OF_SLOW_TESTS
    tested = {
        path.relative_to(root / "tests") for area in areas for path in (root / "tests" / area.name).rglob("test_*.py")
    }
    folders = {path.parent for path in tested}
    assert {
        str(folder) for folder in folders if not (root / "src" / "failsoft" / folder / "__init__.py").exists()
    } == set()


def test_what_is_slow_is_in_the_folder_of_slow_tests(root: Path) -> None:
    marked = [
        str(path.relative_to(root)) for path in (root / "tests").rglob("*.py") if "mark." + "slow" in path.read_text()
    ]
    assert marked == []


def _folders(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_dir() and path.name != "__pycache__"}


def test_every_package_says_what_it_holds_and_the_tree_of_the_layout_shows_it(root: Path) -> None:
    source = root / "src" / "failsoft"
    page = (root / "docs/explanation/adr/0001-layout-and-call-path.md").read_text()
    drawn = re.findall(r"^ *(\w+)/ +\S", page.split("```")[1], re.MULTILINE)
    assert drawn == [init.parent.name for init in sorted(source.rglob("__init__.py"), key=lambda init: init.parent)]


def test_every_module_is_named_for_what_it_holds(root: Path) -> None:
    vague = [str(path.relative_to(root)) for path in (root / "src").rglob("*.py") if path.stem in SAYS_NOTHING]
    assert vague == []


def test_two_classes_never_share_a_name(root: Path) -> None:
    sources = [path.read_text() for path in (root / "src").rglob("*.py")]
    named = [name for source in sources for name in re.findall(r"^ *class (\w+)[(:\[]", source, re.MULTILINE)]
    assert {name for name, times in Counter(named).items() if times > 1} == set()


def test_no_two_modules_import_each_other_even_by_a_detour() -> None:
    """Imports inside functions count; classes of one room may name each other in annotations.

    Between rooms, imports under TYPE_CHECKING count too: see the contracts of import-linter.
    """
    graph = grimp.build_graph("failsoft", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert _circles(imports) == []


def _circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return what is left once modules that import nothing, or that nothing imports, were taken away repeatedly."""
    left = {module: set(found) for module, found in imports.items()}
    while free := [module for module, found in left.items() if not found & left.keys()]:
        for module in free:
            del left[module]
    importers = {module: {other for other, found in left.items() if module in found} for module in left}
    while free := [module for module, found in importers.items() if not found & importers.keys()]:
        for module in free:
            del importers[module]
    return [sorted(importers)] if importers else []


def test_a_circle_would_be_found() -> None:
    assert _circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


NOT_AT_START = (
    "filelock",
    "prometheus_client",
    "failsoft.recovery.strategies.chaos",
    "failsoft.recovery.strategies.rate_limit",
)


ON_IMPORT = "composition failsoft framework framework.call framework.call.runtime framework.files"
"""All that `import failsoft` loads beside the standard library: a thirtieth of what `import mcp` takes."""


LOADING = f"""
import sys

def loaded(names):
    return sorted(sys.modules.keys() & names)

before = set(sys.modules)
import failsoft
others = {{name for name in sys.modules.keys() - before if name.partition(".")[0] not in sys.stdlib_module_names}}
print(*sorted(name.removeprefix("failsoft.") for name in others if not name.startswith("failsoft._")))
print("import failsoft:", loaded({{"asyncio", "logging", "multiprocessing", "ssl"}}))
from failsoft import BaseTool, DocumentNotFound, operation
print("from failsoft import:", loaded({set(HEAVY)!r}))
from failsoft import asgi_app
from failsoft.tools.docs import Docs
asgi_app(Docs)
print("asgi_app(Docs):", loaded({set(NOT_AT_START)!r}))
"""


def test_imports_load_nothing_heavy_and_the_server_of_a_toolset_only_what_it_uses(root: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=True, cwd=root / "docs")
    assert ran.stdout.splitlines() == [
        ON_IMPORT,
        "import failsoft: []",
        "from failsoft import: []",
        "asgi_app(Docs): []",
    ]


def test_every_public_name_of_recovery_loads() -> None:
    assert [name for name in failsoft.recovery.__all__ if not hasattr(failsoft.recovery, name)] == []
