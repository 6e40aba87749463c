"""The workspace toolset: governed work in sessions that have a role. `Workspace` is what a server offers."""

from __future__ import annotations

from failsoft.tools.workspace.errors import (
    FileAlreadyExists,
    FileReadFailed,
    FileWriteFailed,
    InsufficientPermissions,
    InvalidPath,
    OutsideWorkspace,
    PatchApplyFailed,
    PatchInvalid,
    PathNotFound,
    PathTraversalBlocked,
    PlanEnforcementFailed,
    PlanNotApproved,
    PlanNotFound,
    PlanScopeViolation,
    PolicyViolation,
    PreflightFailed,
    RoleMismatch,
    RustPolicyViolation,
    SessionInitializationFailed,
    SessionLocked,
    SessionNotInitialized,
    UnauthorizedAction,
)
from failsoft.tools.workspace.policies import Finding, Policy
from failsoft.tools.workspace.toolset import Workspace

__all__ = [
    "FileAlreadyExists",
    "FileReadFailed",
    "FileWriteFailed",
    "Finding",
    "InsufficientPermissions",
    "InvalidPath",
    "OutsideWorkspace",
    "PatchApplyFailed",
    "PatchInvalid",
    "PathNotFound",
    "PathTraversalBlocked",
    "PlanEnforcementFailed",
    "PlanNotApproved",
    "PlanNotFound",
    "PlanScopeViolation",
    "Policy",
    "PolicyViolation",
    "PreflightFailed",
    "RoleMismatch",
    "RustPolicyViolation",
    "SessionInitializationFailed",
    "SessionLocked",
    "SessionNotInitialized",
    "UnauthorizedAction",
    "Workspace",
]
