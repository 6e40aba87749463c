"""What the policies and the preflight commands refuse (seed 001, section 2)."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors import Actor, InvalidArgument, PreconditionFailed, Public

__all__ = ["PolicyViolation", "PreflightFailed", "RustPolicyViolation"]


class PolicyViolation(InvalidArgument):
    """The new content breaks a policy of this server.

    Raised when: a policy finds something in the content of a write that was not in the file before: a secret, a merge
    marker, a stub, or whatever a policy of your own looks for. Nothing was written.
    Caller: mend the lines that `violations` names, and write again.
    Operator: the policies are those of `FAILSOFT_WORKSPACE_POLICIES`.
    Example:
        >>> code_of(PolicyViolation(policies="generic", found="line 3: merge-marker, resolve the conflict"))
        'POLICY_VIOLATION'
    """

    policies: Public[str]
    found: Public[str]
    code: ClassVar[str] = "POLICY_VIOLATION"
    message: str = "The new content breaks the policy {policies}: {found}."
    since: ClassVar[str] = "0.1.0"


class RustPolicyViolation(InvalidArgument):
    """The new content breaks the policy for Rust.

    Raised when: a write brings `unsafe` into a file that ends with `.rs`, or `unwrap` or `expect` outside of tests.
    Nothing was written.
    Caller: mend the lines that `violations` names, and write again.
    Operator: the policies are those of `FAILSOFT_WORKSPACE_POLICIES`.
    Example:
        >>> code_of(RustPolicyViolation(policies="rust", found="line 3: unsafe, write it in safe Rust"))
        'RUST_POLICY_VIOLATION'
    """

    policies: Public[str]
    found: Public[str]
    code: ClassVar[str] = "RUST_POLICY_VIOLATION"
    message: str = "The new content breaks the policy {policies}: {found}."
    since: ClassVar[str] = "0.1.0"


class PreflightFailed(PreconditionFailed):
    """A preflight command of this server failed.

    Raised when: one of them ends with another status than 0, is ended by a signal or after its time, or cannot be
    started. The ones after it are not run. What it left behind in the workspace is not known.
    Caller: mend what the end of the output shows, and call `run_preflight` again; where the command could not be
    started, tell the person you work for.
    Operator: the commands are those of `FAILSOFT_WORKSPACE_PREFLIGHT`, their time `FAILSOFT_WORKSPACE_PREFLIGHT_S`.
    Example:
        >>> code_of(PreflightFailed(command="cargo test", outcome="ended with status 101"))
        'PREFLIGHT_FAILED'
    """

    command: Public[str]
    outcome: Public[str]
    exit_code: Public[int | None] = None
    duration_s: Public[float | None] = None
    output_snippet: Public[str] = ""
    code: ClassVar[str] = "PREFLIGHT_FAILED"
    message: str = "The preflight command '{command}' {outcome}."
    hints: ClassVar[tuple[str, ...]] = ("Mend what the end of its output shows",)
    since: ClassVar[str] = "0.1.0"
    actor: ClassVar[Actor] = "caller"
