"""Flux balance analysis, and the diagnosis of what does not grow."""
