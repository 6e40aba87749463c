"""Candidates for a path or name that was not found."""
