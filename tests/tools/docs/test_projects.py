"""Projects: configuration, activation, handles, and what lies outside the served folder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from failsoft import Runtime
from failsoft.events import Events
from failsoft.tools.docs import Docs
from tests.doors import CallScope, config_schema, glob_pattern, open_state


def project(base: Path, folder: str, **config: Any) -> str:
    """Write a project with one page named for its folder, and return the path of its configuration."""
    (base / folder / "docs").mkdir(parents=True, exist_ok=True)
    (base / folder / "docs/page.md").write_text(f"# Page of {folder}\n")
    (base / folder / "config.json").write_text(json.dumps({"name": folder, "docs_root": "docs", **config}))
    return f"{folder}/config.json"


SERVED: list[Docs] = []


def served(base: Path, **options: Any) -> Docs:
    """Return a toolset, which ends with the test."""
    SERVED.append(Docs(base, cache_dir=base.parent / "cache", state_folder=base.parent / "state", **options))
    return SERVED[-1]


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    yield
    while SERVED:
        SERVED.pop().projects.close()


def call(docs: Docs, operation: str, scope: CallScope | None = None, /, **params: Any) -> dict[str, Any]:
    return asyncio.run(docs.operations[operation].call(params, scope)).to_dict()  # type: ignore[arg-type]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    folder.mkdir()
    return folder


def test_the_published_schema_is_the_one_in_force() -> None:
    published = json.loads((Path(__file__).parents[3] / "docs/schemas/docs-project.json").read_text())
    assert published == config_schema()
    jsonschema.Draft202012Validator.check_schema(published)


def test_the_example_project_is_the_one_on_the_page_and_is_valid(base: Path) -> None:
    root = Path(__file__).parents[3]
    text = (root / "docs/examples/handbook/config.json").read_text()
    assert text.rstrip("\n") in (root / "docs/toolsets/docs.md").read_text()
    jsonschema.validate(json.loads(text), config_schema())
    docs = Docs(root / "docs/examples/handbook", runtime=Runtime(), cache_dir=base / "cache")
    answer = call(docs, "activate_project", config_path="config.json")
    assert answer["data"]["documents"] == 4


def test_several_projects_are_used_side_by_side(base: Path) -> None:
    docs = served(base)
    handles = [call(docs, "activate_project", config_path=project(base, name))["data"]["project"] for name in "ab"]
    titles = [
        call(docs, "get_documentation", path="page.md", project=handle)["data"]["documents"][0]["title"]
        for handle in handles
    ]
    assert titles == ["Page of a", "Page of b"]


def test_the_only_client_means_the_project_activated_last_and_others_that_of_the_root(base: Path) -> None:
    docs = served(base)
    (base / "page.md").write_text("# Root")
    local, remote = CallScope(principal="local"), CallScope(principal="someone")
    path = project(base, "a")

    def title(scope: CallScope) -> str:
        return str(call(docs, "get_documentation", scope, path="page.md")["data"]["documents"][0]["title"])

    assert title(local) == "Root"
    call(docs, "activate_project", remote, config_path=path)
    assert title(local) == "Root"
    call(docs, "activate_project", local, config_path=path)
    assert (title(local), title(remote)) == ("Page of a", "Root")


def test_two_projects_of_one_name_have_different_handles_that_stay(base: Path) -> None:
    docs = served(base)
    paths = [project(base, "a", name="Same"), project(base, "b", name="Same")]
    first = [call(docs, "activate_project", config_path=path)["data"]["project"] for path in paths]
    again = [call(docs, "activate_project", config_path=path)["data"]["project"] for path in paths]
    assert first == again
    assert len(set(first)) == 2


def test_a_handle_is_known_to_another_process_with_the_same_state(base: Path, tmp_path_factory: Any) -> None:
    shared = Runtime(state=open_state(f"sqlite:{tmp_path_factory.mktemp('state') / 's.sqlite'}", Events()))
    handle = call(served(base, runtime=shared), "activate_project", config_path=project(base, "a"))["data"]["project"]
    other = served(base, runtime=shared)
    assert call(other, "get_documentation", path="page.md", project=handle)["success"]


def test_a_configuration_outside_the_root_is_refused(base: Path) -> None:
    project(base.parent, "outside")
    docs = served(base)
    paths = ("../outside/config.json", "/etc/passwd", "a/../../outside/config.json")
    codes = {path: call(docs, "activate_project", config_path=path)["error"]["code"] for path in paths}
    assert codes == dict.fromkeys(paths, "PERMISSION_DENIED")


def test_folders_outside_the_root_are_refused(base: Path) -> None:
    docs = served(base)
    for config in ({"docs_root": "../.."}, {"docs_root": "/etc"}, {"external_docs": "../../x"}):
        path = project(base, "a", **config)
        assert call(docs, "activate_project", config_path=path)["error"]["code"] == "PERMISSION_DENIED", config


def test_a_link_out_of_the_root_is_refused(base: Path) -> None:
    project(base.parent, "outside")
    (base / "linked").symlink_to("../outside")
    error = call(served(base), "activate_project", config_path="linked/config.json")["error"]
    assert error["code"] == "PERMISSION_DENIED"


def test_an_unknown_key_is_refused_with_the_closest(base: Path) -> None:
    docs = served(base)
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"doc_typs": []}, "doc_typs", "doc_types"),
        ({"search": {"Mode": "lexical"}}, "search.Mode", "mode"),
        ({"doc_types": [{"Name": "x"}]}, "doc_types.0.Name", "name"),
    ]
    for config, path, suggestion in cases:
        error = call(docs, "activate_project", config_path=project(base, "a", **config))["error"]
        assert error["code"] == "CONFIG_ERROR"
        assert (path, suggestion) in {(item["path"], item.get("suggestion")) for item in error["violations"]}


def test_a_faulty_configuration_is_a_configuration_error(base: Path) -> None:
    docs, path = served(base), project(base, "a")
    for text in ("", "[]", "{", "\xff", '{"name": "a", "docs_root": "nowhere"}'):
        (base / path).write_text(text, encoding="latin-1")
        assert call(docs, "activate_project", config_path=path)["error"]["code"] == "CONFIG_ERROR", text


def test_a_missing_configuration_is_refused_with_the_one_that_there_is(base: Path) -> None:
    path = project(base, "a")
    error = call(served(base), "activate_project", config_path="a/confg.json")["error"]
    assert error["next_step"] == {"tool": "activate_project", "arguments": {"config_path": path}}


def test_a_path_that_no_file_can_have_is_the_callers_to_correct(base: Path) -> None:
    path = project(base, "a")
    error = call(served(base), "activate_project", config_path=f"{path}\0")["error"]
    assert error["code"] == "INVALID_PARAM"
    assert error["next_step"] == {"tool": "activate_project", "arguments": {"config_path": path}}


def test_types_come_from_front_matter_then_from_paths(base: Path) -> None:
    path = project(base, "a", doc_types=[{"name": "guide", "paths": ["guide/**"]}, {"name": "api", "paths": ["*.md"]}])
    (base / "a/docs/guide").mkdir()
    (base / "a/docs/guide/deep.md").write_text("deep")
    (base / "a/docs/guide/own.md").write_text("---\ntype: api\n---\n")
    docs = served(base)
    call(docs, "activate_project", config_path=path)
    listed = call(docs, "list_documents")["data"]["documents"]
    assert {item["path"]: item["doc_type"] for item in listed} == {
        "guide/deep.md": "guide",
        "guide/own.md": "api",
        "page.md": "api",
    }
    types = call(docs, "list_doc_types")["data"]["doc_types"]
    assert [(item["name"], item["documents"]) for item in types] == [("guide", 1), ("api", 2)]


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("guide/**", "guide/a/b.md", True),
        ("guide/*", "guide/a/b.md", False),
        ("**/b.md", "b.md", True),
        ("**/b.md", "a/c/b.md", True),
        ("guide", "guide/a.md", True),
        ("guide/", "guide2/a.md", False),
        ("?.md", "a.md", True),
        ("*.md", "a/b.md", False),
        ("a+b/*.md", "a+b/c.md", True),
    ],
)
def test_a_glob_stays_within_names_unless_it_has_two_stars(glob: str, path: str, fits: bool) -> None:
    assert (glob_pattern(glob).fullmatch(path) is not None) is fits


def test_every_document_is_listed_page_by_page(base: Path) -> None:
    for number in range(25):
        (base / f"{number:02}.md").write_text("x")
    docs = served(base)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        data = call(docs, "list_documents", limit=7, **cursor)["data"]
        seen += [item["path"] for item in data["documents"]]
        assert data["total"] == 25
        if "next_cursor" not in data:
            break
        cursor = {"cursor": data["next_cursor"]}
    assert seen == [f"{number:02}.md" for number in range(25)]
    assert call(docs, "list_documents", cursor="nonsense")["error"]["code"] == "INVALID_PARAM"
