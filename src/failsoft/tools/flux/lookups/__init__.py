"""Compounds and reactions by id or name."""
