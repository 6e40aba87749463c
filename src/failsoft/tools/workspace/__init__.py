"""The workspace toolset: governed work in sessions that have a role. `Workspace` is what a server offers."""

from __future__ import annotations

from failsoft.tools.workspace.files.file_errors import FileAlreadyExists, FileReadFailed, FileWriteFailed
from failsoft.tools.workspace.files.path_errors import InvalidPath, OutsideWorkspace, PathNotFound, PathTraversalBlocked
from failsoft.tools.workspace.patches.errors import PatchApplyFailed, PatchInvalid
from failsoft.tools.workspace.plans.errors import (
    PlanEnforcementFailed,
    PlanNotApproved,
    PlanNotFound,
    PlanScopeViolation,
)
from failsoft.tools.workspace.policies import Finding, Policy
from failsoft.tools.workspace.policies.errors import PolicyViolation, PreflightFailed, RustPolicyViolation
from failsoft.tools.workspace.sessions.errors import (
    InsufficientPermissions,
    RoleMismatch,
    SessionInitializationFailed,
    SessionLocked,
    SessionNotInitialized,
    UnauthorizedAction,
)
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
