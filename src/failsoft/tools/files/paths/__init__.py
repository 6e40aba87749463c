"""Paths below a root, resolved without following links out of it."""
