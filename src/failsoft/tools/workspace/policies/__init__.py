"""Policies: rules on what may be written into a workspace. Third parties add theirs through an entry point."""

from __future__ import annotations

from failsoft.tools.workspace.policies.enforcement import judge
from failsoft.tools.workspace.policies.loading import load_policies, rules_of
from failsoft.tools.workspace.policies.port import Finding, Policy

__all__ = ["Finding", "Policy", "judge", "load_policies", "rules_of"]
