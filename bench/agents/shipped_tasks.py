"""Tasks on the toolsets that ship: ways of breaking arguments, and what goes wrong with files, sessions and models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agents.tasks import Call, Task, broken

__all__ = ["changed", "flux_tasks", "shipped_tasks"]

_APP = "src/app.py: import util\n\n\ndef main():\n    total = util.add(1, 2)\n    print(total)\n    return total\n"
_EDIT = {"old_string": "    print(total)\n    print(total)\n", "new_string": "    print(total)\n    return total\n"}
_PATCH = "@@ -1,3 +1,3 @@\n-tea 2.00\n+tea 2.20\n coffee 2.50\n water 1.00\n"
_TEA = "menu.txt: tea 2.20\ncoffee 2.50\nwater 1.00\n"

MEANT: list[tuple[str, dict[str, Any], str]] = [
    ("get_documentation", {"path": "guide/intro.md"}, ""),
    ("search_documents", {"query": "install", "limit": 5, "mode": "lexical"}, ""),
    ("list_documents", {"prefix": "guide/", "limit": 10}, ""),
    (
        "promote_document",
        {"path": "guide/setup.md", "level": "important"},
        "guide/setup.md: ---\ntitle: Setup\npromotion_level: important\n---\n# Setup\nHow to install it.\n",
    ),
    ("validate_document", {"path": "guide/faq.md"}, ""),
    ("multi_edit", {"file_path": "$ROOT/src/app.py", "edits": [_EDIT], "backup": False}, _APP),
    ("read_file", {"path": "src/app.py", "first_line": 1, "session_id": "$WRITER"}, ""),
    ("list_files", {"path": "src", "session_id": "$WRITER"}, ""),
    (
        "write_file",
        {"path": "out/report.md", "content": "# Report\n", "session_id": "$WRITER"},
        "out/report.md: # Report\n",
    ),
    ("apply_patch", {"path": "menu.txt", "patch": _PATCH, "session_id": "$WRITER"}, _TEA),
    ("lint_plan", {"files": ["src/**"], "session_id": "$WRITER"}, ""),
]


def _all_ways(meant: list[tuple[str, dict[str, Any], str]]) -> Iterator[Task]:
    for tool, arguments, effect in meant:
        call = (tool, arguments)
        yield Task(tool, call, call, effect=effect)
        for how, given in broken(arguments):
            if how not in {"null", "missing session_id", "missing limit", "missing level"}:
                yield Task(f"{tool} {how}", call, (tool, given), effect=effect)


def changed(call: Call, **values: Any) -> Call:
    """Return a call with other values."""
    return call[0], {**call[1], **values}


def shipped_tasks() -> list[Task]:
    """Return the tasks on documents, edits and workspaces that were at hand while answers were improved."""
    found = list(_all_ways(MEANT))
    read: Call = ("get_documentation", {"path": "guide/intro.md"})
    found += [
        Task(f"document {wrong}", read, changed(read, path=wrong))
        for wrong in (
            "guide/intro.mdx",
            "guide/intor.md",
            "Guide/Intro.md",
            "intro.md",
            "/guide/intro.md",
            "guide/intro",
        )
    ]
    found.append(
        Task(
            "no such page",
            ("get_documentation", {"path": "legal/imprint.md"}),
            changed(read, path="legal/imprint.md"),
            stops=True,
        )
    )
    search: Call = ("search_documents", {"query": "install", "limit": 5, "mode": "lexical"})
    found += [
        Task("search limit 500", search, changed(search, limit=500)),
        Task("search limit 0", search, changed(search, limit=0)),
        Task("search mode keyword", search, changed(search, mode="keyword")),
        Task("search empty", search, changed(search, query="")),
        Task("search unbalanced", search, changed(search, query='(install AND "setup')),
        Task("search type", search, (search[0], {**search[1], "doc_types": ["guides"]})),
        Task("list cursor", ("list_documents", {"limit": 10}), ("list_documents", {"limit": 10, "cursor": "abc"})),
    ]
    promote: Call = ("promote_document", {"path": "guide/setup.md", "level": "important"})
    promoted = MEANT[3][2]
    found += [
        Task("level typo", promote, changed(promote, level="imporant"), effect=promoted),
        Task("level case", promote, changed(promote, level="Important"), effect=promoted),
        Task("level unknown", promote, changed(promote, level="urgent"), effect=promoted),
        Task("promote missing", promote, changed(promote, path="guide/set-up.md"), effect=promoted),
        Task("promote stale", promote, changed(promote, expected_hash="0" * 64), effect=promoted),
    ]
    edit: Call = ("multi_edit", {"file_path": "$ROOT/src/app.py", "edits": [_EDIT]})
    found += [
        Task("edit relative", edit, changed(edit, file_path="src/app.py"), effect=_APP),
        Task("edit other file", edit, changed(edit, file_path="$ROOT/src/ap.py"), effect=_APP),
        Task("edit parents", edit, changed(edit, file_path="$ROOT/lib/../src/app.py"), effect=_APP),
        Task("edit stale", edit, changed(edit, expected_hash="0" * 64), effect=_APP),
        Task("edit not there", edit, changed(edit, edits=[{**_EDIT, "old_string": "print(totals)\n"}]), effect=_APP),
        Task(
            "edit indented",
            edit,
            changed(edit, edits=[{**_EDIT, "old_string": "\tprint(total)\n\tprint(total)\n"}]),
            effect=_APP,
        ),
        Task("edit twice", edit, changed(edit, edits=[{**_EDIT, "old_string": "    print(total)\n"}]), effect=_APP),
        Task("edit no text", edit, changed(edit, edits=[{**_EDIT, "old_string": ""}]), effect=_APP),
        Task("edit none", edit, changed(edit, edits=[]), effect=_APP),
        Task("edit text for list", edit, changed(edit, edits="print(total)"), effect=_APP),
        Task(
            "edit other names",
            edit,
            changed(edit, edits=[{"old_text": _EDIT["old_string"], "new_text": _EDIT["new_string"]}]),
            effect=_APP,
        ),
        Task(
            "edit outside",
            ("multi_edit", {"file_path": "/etc/hosts", "edits": [_EDIT]}),
            changed(edit, file_path="/etc/hosts"),
            stops=True,
        ),
        Task("edit binary", edit, edit, "binary src/app.py", stops=True),
        Task("edit deleted", edit, edit, "delete src/app.py", stops=True),
    ]
    read_file: Call = ("read_file", {"path": "src/app.py", "session_id": "$WRITER"})
    found += [
        Task("read typo", read_file, changed(read_file, path="src/ap.py")),
        Task("read absolute", read_file, changed(read_file, path="$ROOT/src/app.py")),
        Task("read outside", read_file, changed(read_file, path="/etc/passwd"), stops=True),
        Task("read parents", read_file, changed(read_file, path="src/../../src/app.py"), stops=True),
        Task("read folder", read_file, changed(read_file, path="src")),
        Task("read past the end", read_file, changed(read_file, first_line=900)),
        Task("read ended session", read_file, changed(read_file, session_id="$ENDED")),
        Task("read unknown session", read_file, changed(read_file, session_id="sess-1")),
        Task("read binary", read_file, read_file, "binary src/app.py", stops=True),
    ]
    new: Call = ("write_file", {"path": "out/a.md", "content": "A\n", "session_id": "$WRITER"})
    over: Call = (
        "write_file",
        {"path": "menu.txt", "content": "tea 3.00\n", "expected_hash": "$SHA menu.txt", "session_id": "$WRITER"},
    )
    without = {name: value for name, value in over[1].items() if name != "expected_hash"}
    found += [
        Task("write as planner", new, changed(new, session_id="$PLANNER"), effect="out/a.md: A\n"),
        Task("write ended session", new, changed(new, session_id="$ENDED"), effect="out/a.md: A\n"),
        Task(
            "write not planned",
            ("write_file", {**new[1], "path": "secret/a.md"}),
            changed(new, path="secret/a.md"),
            stops=True,
        ),
        Task("write unknown plan", new, changed(new, plan_hash="deadbeef"), effect="out/a.md: A\n"),
        Task("write over", over, over, effect="menu.txt: tea 3.00\n"),
        Task("write over without hash", over, ("write_file", without), effect="menu.txt: tea 3.00\n"),
        Task("write over stale", over, over, "change menu.txt", effect="menu.txt: tea 3.00\n"),
        Task("write short hash", over, changed(over, expected_hash="abc"), effect="menu.txt: tea 3.00\n"),
        Task(
            "write audit log",
            ("write_file", {**new[1], "path": "audit-log.jsonl"}),
            changed(new, path="audit-log.jsonl"),
            stops=True,
        ),
    ]
    patch: Call = ("apply_patch", {"path": "menu.txt", "patch": _PATCH, "session_id": "$WRITER"})
    found += [
        Task("patch context", patch, changed(patch, patch=_PATCH.replace("coffee 2.50", "coffee 2.60")), effect=_TEA),
        Task("patch counts", patch, changed(patch, patch=_PATCH.replace("-1,3", "-1,9")), effect=_TEA),
        Task("patch no diff", patch, changed(patch, patch="tea 2.20"), effect=_TEA),
        Task("patch missing file", patch, changed(patch, path="menus.txt"), effect=_TEA),
        Task("patch stale", patch, changed(patch, expected_hash="0" * 64), effect=_TEA),
    ]
    begin: Call = ("begin_session", {"workspace_root": "$ROOT", "role": "WINDSURF"})
    plan: Call = ("lint_plan", {"files": ["src/**"], "session_id": "$WRITER"})
    found += [
        Task("role case", begin, changed(begin, role="windsurf")),
        Task("role unknown", begin, changed(begin, role="developer")),
        Task("root outside", begin, changed(begin, workspace_root="/etc")),
        Task("root number", begin, changed(begin, workspace_root=5)),
        Task("plan no session", plan, changed(plan, session_id=7)),
        Task("patch ended session", patch, changed(patch, session_id="$ENDED"), effect=_TEA),
        Task("edit one object", edit, changed(edit, edits=_EDIT), effect=_APP),
        Task("plan one object", plan, changed(plan, files={"path": "src/**"})),
        Task(
            "preflight",
            changed(over, content="tea 2.00\n"),
            ("run_preflight", {"session_id": "$WRITER"}),
            "no-price menu.txt",
            "menu.txt: tea 2.00\n",
        ),
    ]
    return found


_STARVED = (("on water", "$WATER"), ("without carbon", "$NO_CARBON"))


def flux_tasks() -> list[Task]:
    """Return the tasks on metabolic models that were at hand while answers were improved."""
    fba: Call = ("run_fba", {"model_id": "$MODEL"})
    genes: Call = ("delete_genes", {"model_id": "$MODEL", "genes": ["b2926"]})
    name: Call = ("get_compound_name", {"compound_id": "cpd00027"})
    media: Call = ("build_media", {"compounds": ["cpd00027", "cpd00007"], "default_uptake": 10.0})
    find: Call = ("search_compounds", {"query": "glucose", "limit": 3})
    return [
        Task("fba", fba, fba),
        Task("fba camel", fba, ("run_fba", {"modelId": "$MODEL"})),
        Task("fba other case", fba, ("run_FBA", fba[1])),
        Task("fba unknown model", fba, changed(fba, model_id="model_20260101_000000")),
        Task("fba published name", fba, changed(fba, model_id="textbook")),
        Task("fba unknown medium", fba, changed(fba, media_id="minimal_media")),
        Task("fba objective", fba, changed(fba, objective="BIOMASS")),
        Task("fba threshold text", changed(fba, flux_threshold=0.001), changed(fba, flux_threshold="0.001")),
        Task("genes unknown", genes, changed(genes, genes=["b2926x"])),
        Task("genes one text", genes, changed(genes, genes="b2926")),
        Task("genes as JSON", genes, changed(genes, genes='["b2926"]')),
        Task("compound number", name, changed(name, compound_id=27)),
        Task("compound name", name, changed(name, compound_id="glucose")),
        Task("compound short", name, changed(name, compound_id="cpd27")),
        Task(
            "compound unknown",
            ("get_compound_name", {"compound_id": "cpd99999"}),
            changed(name, compound_id="cpd99999"),
            stops=True,
        ),
        Task("media uptake unit", media, changed(media, default_uptake="10 mmol")),
        Task("media negative", media, changed(media, default_uptake=-10.0)),
        Task("media one text", changed(media, compounds=["cpd00027"]), changed(media, compounds="cpd00027")),
        Task("media unknown", media, changed(media, compounds=["cpd00027", "cpd99999"])),
        Task("find limit", find, changed(find, limit=1000)),
        Task("find empty", find, changed(find, query="")),
        Task("load name", ("load_model", {"name": "textbook"}), ("load_model", {"name": "iML1515"})),
        Task("load case", ("load_model", {"name": "textbook"}), ("load_model", {"name": "Textbook"})),
        Task("load path", ("load_model", {"name": "textbook"}), ("load_model", {"path": "models/none.xml"})),
        Task("load both", ("load_model", {"name": "textbook"}), ("load_model", {"name": "textbook", "path": "a.xml"})),
        *(Task(f"fba {of}", changed(fba, media_id=medium), changed(fba, media_id=medium)) for of, medium in _STARVED),
    ]
