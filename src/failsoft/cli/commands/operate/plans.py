"""`failsoft plans`: List, approve and withdraw the plans of a workspace.

The person at the terminal decides, not a session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import typer

from failsoft.cli.errors import missing, usage
from failsoft.cli.options import AsJson, beginning
from failsoft.cli.screen import Screen
from failsoft.cli.store import with_store
from failsoft.cli.target import audited
from failsoft.framework.errors import ConfigurationError, NotFound
from failsoft.framework.state.backend import Backend
from failsoft.framework.state.records import Records, scope_of
from failsoft.framework.text import printable
from failsoft.tools.workspace.plans.register import PREFIX_AT_LEAST, REGISTER_KIND, Plan, PlanRegister
from failsoft.tools.workspace.toolset import AUDIT_LOG

T = TypeVar("T")
Registers: TypeAlias = Sequence[tuple[PlanRegister, str, str]]
"""Registers, each with the workspace that it is for and the scope of its records."""
Found: TypeAlias = Sequence[tuple[PlanRegister, Plan, str]]


def _complete_plans(incomplete: str) -> Sequence[str]:
    """Return the hashes of the plans of the workspaces in this folder with this prefix."""
    try:
        return beginning(incomplete, {plan.plan_hash for _, plan, _ in _with_plans(_all, None)})
    except Exception:  # noqa: BLE001 - a shell shows nothing rather than an error in the middle of a line
        return []


Hash = Annotated[
    str,
    typer.Argument(
        metavar="PLAN_HASH", help="A plan, by its hash or the beginning of it.", autocompletion=_complete_plans
    ),
]
MaybeHash = Annotated[
    str | None,
    typer.Argument(metavar="PLAN_HASH", help="Show only this plan, with its text.", autocompletion=_complete_plans),
]
Folder = Annotated[
    Path | None,
    typer.Option("--root", metavar="DIR", help="The workspace, or a folder above it; by default the current one."),
]
_APPROVED_BY_AT_LEAST = 16
"""Characters of a hash that name a plan to approve: an author can make another plan that shares a few."""
_PERSON = "terminal"
"""The approver of what a person approves here; no author has this name. The audit log has the name of the user."""


def list(  # noqa: A001 - the name of the command
    plan_hash: MaybeHash = None, *, root: Folder = None, as_json: AsJson = False
) -> None:
    """List the plans of the workspaces in a folder, the newest first.

    They are read from the state store of the server: the one that FAILSOFT_STATE_URL names, or else the file of
    `failsoft serve` in the user's state folder.
    """
    found = [plan for _, plan, _ in _with_plans(_all, root)]
    if plan_hash is not None:
        found = [_chosen(found, plan_hash)]
    screen = Screen()
    if as_json:
        screen.json([{**plan.shown_to(""), "workspace_root": plan.workspace_root} for plan in found])
        return
    if plan_hash is not None:
        _show(found[0], whole=True)
    elif found:
        columns = ["plan_hash", "state", "title", "role", "workspace"]
        rows = [
            [plan.plan_hash, _state(plan), printable(plan.title), printable(plan.role), plan.workspace_root]
            for plan in found
        ]
        screen.rows(columns, rows)
    else:
        screen.text("no plans")


def approve(plan_hash: Hash, *, root: Folder = None, as_json: AsJson = False) -> None:
    """Approve a plan, so that its files may be written. Read it first, with `failsoft plans list PLAN_HASH`.

    Examples:
      failsoft plans approve 3f9a2c71b05de846
      failsoft plans approve 3f9a2c71b05de846 --root /srv/project
    """
    _decide(
        plan_hash, root, lambda register, plan: register.approve(*_named(plan), _PERSON), "approved", as_json=as_json
    )


def withdraw(plan_hash: Hash, *, root: Folder = None, as_json: AsJson = False) -> None:
    """Withdraw a plan and its approval, whoever submitted it: writes under it are refused."""
    _decide(plan_hash, root, lambda register, plan: register.remove(*_named(plan), None), "withdrawn", as_json=as_json)


def _decide(
    plan_hash: str,
    root: Path | None,
    change: Callable[[PlanRegister, Plan], Awaitable[str]],
    done: str,
    *,
    as_json: bool,
) -> None:
    """Make a decision on a plan and print it, once it is in the audit log of the server."""

    async def work(registers: Registers) -> tuple[str, Plan]:
        is_approval = done == "approved"
        at_least = _APPROVED_BY_AT_LEAST if is_approval else PREFIX_AT_LEAST
        register, plan, scope = await _one(registers, plan_hash, at_least)
        operation = "approve_plan" if is_approval else "withdraw_plan"
        about = {"workspace_root": plan.workspace_root, "plan_hash": plan.plan_hash}
        await audited(operation, tool="workspace", log=_log_of(scope, plan.workspace_root), **about)
        return await change(register, plan), plan

    outcome, plan = _with_plans(work, root)
    if outcome == "missing":
        raise _unknown(plan.plan_hash)
    if as_json:
        approved = {"approved": True} if done == "approved" else {"withdrawn": True}
        Screen().json({**plan.shown_to(""), **approved, "workspace_root": plan.workspace_root})
    else:
        _show(plan, state=done)


def _named(plan: Plan) -> tuple[str, str]:
    return plan.workspace_root, plan.plan_hash


def _log_of(scope: str, workspace: str) -> Path | None:
    """Return the audit log of the server whose records have a scope: in its folder, the workspace or one above it.

    None for a server of several folders, as the scope has only their hash.
    """
    server, toolset, _ = scope.split("/")
    folders = (Path(workspace), *Path(workspace).parents)
    served = next((one for one in folders if scope_of(server, toolset, [one], "") == f"{scope}/"), None)
    return None if served is None else served / AUDIT_LOG


def _show(plan: Plan, *, state: str = "", whole: bool = False) -> None:
    """Print a plan, with its state after a change; what its author wrote is printed without control characters."""
    waived = f", without the rules {', '.join(plan.waive)}" if plan.waive else ""
    lines = [
        f"{plan.plan_hash}  {state or _state(plan)}  {printable(plan.title)}",
        f"  {plan.workspace_root}: {', '.join(map(printable, plan.files))}{waived}",
        f"  by {printable(plan.role)}, {plan.submitted_at}",
    ]
    if whole and plan.body:
        lines += ["", *(printable(line) for line in plan.body.splitlines())]
    Screen().text("\n".join(lines))


def _state(plan: Plan) -> str:
    return "not approved" if plan.approver is None else "approved"


def _unknown(plan_hash: str, known: Sequence[str] = ()) -> NotFound:
    return missing(
        kind="plan",
        name=plan_hash,
        known=known,
        command="failsoft plans list {}",
        listing="failsoft plans list --root DIR",
    )


async def _one(registers: Registers, plan_hash: str, at_least: int) -> tuple[PlanRegister, Plan, str]:
    found = await _all(registers)
    chosen = _chosen([plan for _, plan, _ in found], plan_hash, at_least)
    return next(one for one in found if one[1] is chosen)


def _chosen(plans: Sequence[Plan], plan_hash: str, at_least: int = PREFIX_AT_LEAST) -> Plan:
    """Return the only plan whose hash begins so.

    Raises:
        NOT_FOUND: There is none.
        INVALID_PARAM: There are several, or the beginning is too short.
    """
    if len(plan_hash) < at_least:
        message = f"'{plan_hash}' is too short: give at least {at_least} characters of the hash."
        raise usage(message=message, hint="failsoft plans list")
    matching = [plan for plan in plans if plan.plan_hash.startswith(plan_hash.lower())]
    if not matching:
        raise _unknown(plan_hash, [plan.plan_hash for plan in plans])
    if len(matching) > 1:
        message = f"{len(matching)} plans begin with '{plan_hash}', or one is kept by {len(matching)} servers."
        raise usage(message=message, hint="failsoft plans list")
    return matching[0]


async def _all(registers: Registers) -> Found:
    """Return each plan with its register, the newest first."""
    found = [
        (register, plan, scope)
        for register, root, scope in registers
        for plan in await register.read(root, await register.entries(root))
    ]
    return sorted(found, key=lambda one: one[1].clock, reverse=True)


def _with_plans(work: Callable[[Registers], Awaitable[T]], root: Path | None) -> T:
    """Run work over the registers of the workspaces in a folder, in the state store of the servers.

    Raises:
        CONFIG_ERROR: The folder does not exist; there is no shared store, or it cannot be used.
    """
    folder = (root or Path()).resolve()
    if not folder.is_dir():
        raise ConfigurationError(issue=f"--root {folder} is not a folder", resolution="make it, or name another")

    async def run(backend: Backend, _prefix: str) -> T:
        registers: Registers = ()
        for record in await backend.find(""):
            scope, _, key = record.key.rpartition("/")
            if key.startswith(f"{REGISTER_KIND}:") and isinstance(record.value, dict):
                workspace = str(record.value.get("workspace_root"))
                if Path(workspace).is_relative_to(folder):
                    records = Records(backend, lambda prefix=f"{scope}/": prefix)  # type: ignore[misc]  # bound now
                    registers = (*registers, (PlanRegister(records), workspace, scope))
        return await work(registers)

    return with_store(run)
