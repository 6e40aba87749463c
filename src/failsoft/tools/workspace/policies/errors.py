"""Errors of policies and preflight commands (seed 001, section 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from failsoft.framework.errors import InvalidArgument, PreconditionFailed, Public, Words


class PolicyViolation(InvalidArgument):
    """The new content breaks a policy of this server.

    Raised when: a policy finds something in the content of a write that was not in the file before: a secret, a merge
    marker, a stub, or what a policy of your own looks for. Nothing was written.
    Caller: correct the places that `details.findings` lists, and write again; or have a plan approved that waives the
    rule.
    Operator: the policies are those of `FAILSOFT_WORKSPACE_POLICIES`.
    """

    policies: Public[Words]
    found: Public[Words]
    findings: Public[Sequence[Mapping[str, Any]]] = ()
    code = "POLICY_VIOLATION"
    message = "Nothing was written: the new content breaks the policy {policies}: {found}."


class RustPolicyViolation(InvalidArgument):
    """The new content breaks the policy for Rust.

    Raised when: a write brings `unsafe` or `static mut` into a file named `*.rs`, or `unwrap`, `expect` or `panic!`
    outside of tests. Nothing was written.
    Caller: correct the places that `details.findings` lists, and write again; or have a plan approved that waives the
    rule.
    Operator: the policies are those of `FAILSOFT_WORKSPACE_POLICIES`.
    """

    policies: Public[Words]
    found: Public[Words]
    findings: Public[Sequence[Mapping[str, Any]]] = ()
    code = "RUST_POLICY_VIOLATION"
    message = "Nothing was written: the new content breaks the policy {policies}: {found}."


class PreflightFailed(PreconditionFailed):
    """A preflight command of this server failed.

    Raised when: a command exits with another status than 0, is ended by a signal or a time-out, or cannot be started.
    The commands after it are not run. What it left behind in the workspace is unknown.
    Caller: correct what the end of the output shows, and call `run_preflight` again; if the command could not be
    started, report it to the user.
    Operator: the commands are those of `FAILSOFT_WORKSPACE_PREFLIGHT`, their time `FAILSOFT_WORKSPACE_PREFLIGHT_S`.
    """

    command: Public[str]
    outcome: Public[Words]
    exit_code: Public[int | None] = None
    duration_s: Public[float | None] = None
    output_snippet: Public[str] = ""
    code = "PREFLIGHT_FAILED"
    message = "The preflight command {command} {outcome}."
    hints = ("Correct what the end of its output shows",)
    remedy = "Fix what the end of the output shows and"
    actor = "caller"
