"""The caller's side: `Client` raises the typed errors of a server, rebuilt from any of its formats."""

from __future__ import annotations

from failsoft.client.client import Client
from failsoft.client.questions import OnQuestion

__all__ = ["Client", "OnQuestion"]
