"""Checks of installations and running servers."""
