"""Policies: what may not be written into a workspace. Each is a class of its own, and third parties add theirs."""

from __future__ import annotations

from failsoft.tools.workspace.policies.checking import PolicyCheck
from failsoft.tools.workspace.policies.loading import load_policies
from failsoft.tools.workspace.policies.port import Finding, Policy

__all__ = ["Finding", "Policy", "PolicyCheck", "load_policies"]
