"""The caller's side: `Client` raises the typed errors of a server, rebuilt from any of its formats."""

from __future__ import annotations

from failsoft.client.client import Client

__all__ = ["Client"]
