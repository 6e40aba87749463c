"""Copies of plans in the workspace, `.failsoft/plans/HASH.json`, for review; never read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from failsoft.framework.threads import is_given_up
from failsoft.tools.files import CLOSED_FOLDER, FileFault, Files, destination
from failsoft.tools.workspace.plans import Plan

_BYTES_AT_MOST = 10_000_000


def write_copy(files: Files, plan: Plan) -> str | None:
    """Write the copy of a plan; return None, or why it could not be written. Blocking.

    Args:
        files: Confined to the workspace, its closed folder included.
        plan: The plan.
    """
    facts = {name: value for name, value in plan.shown_to("").items() if name != "own"}
    return _write(files, plan, {**facts, "workspace_root": plan.workspace_root})


def mark_withdrawn(files: Files, plan: Plan) -> str | None:
    """Replace the copy of a withdrawn plan by a note; return None, or why that failed. Blocking. Arguments as above."""
    return _write(files, plan, {"plan_hash": plan.plan_hash, "title": plan.title, "withdrawn": True})


def _write(files: Files, plan: Plan, facts: Mapping[str, Any]) -> str | None:
    path = f"{CLOSED_FOLDER}/plans/{plan.plan_hash}.json"
    data = (json.dumps(facts, indent=2, ensure_ascii=False) + "\n").encode(errors="replace")
    try:
        if destination(files.roots, path) != f"{plan.workspace_root}/{path}":
            raise FileFault(path, "outside")  # noqa: TRY301 - as the walk of such a path raises it
        with files.roots.parents(path), files.transaction([path], give_up=is_given_up) as work:
            if _exists(files, path):
                work.read(path, bytes_at_most=_BYTES_AT_MOST)
                work.replace(path, data)
            else:
                work.create(path, data)
            work.commit()
    except FileFault as fault:
        return fault.os_reason or ("a link leads elsewhere" if fault.is_outside else "another process holds it")
    return None


def _exists(files: Files, path: str) -> bool:
    with files.roots.resolve(path) as place:
        return place.facts() is not None
