"""Diagnostics for authors of tools: tracebacks of crashes, and reports of mistakes."""
